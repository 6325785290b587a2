// Loads CUDA's driver and NVML with dlopen, as far as the driver of Skewer needs them.
#include "tools/skewer/Device.h"
#include <dlfcn.h>

namespace skewer::driver {
namespace {
constexpr int kClockRate = 13, kMajor = 75, kMinor = 76; // CUdevice_attribute
constexpr int kNoDeviceError = 100;                      // CUDA_ERROR_NO_DEVICE
constexpr int kSmClock = 1;                              // nvmlClockType_t

llvm::Error problem(const llvm::Twine &text) { return llvm::createStringError(llvm::inconvertibleErrorCode(), text); }
} // namespace

/// The driver's functions as cuda.h declares them, with handles as plain pointers.
struct Device::Driver {
  int (*init)(unsigned) = nullptr;
  int (*errorName)(int, const char **) = nullptr;
  int (*deviceCount)(int *) = nullptr;
  int (*deviceGet)(int *, int) = nullptr;
  int (*deviceName)(char *, int, int) = nullptr;
  int (*deviceAttribute)(int *, int, int) = nullptr;
  int (*retain)(void **, int) = nullptr;
  int (*release)(int) = nullptr;
  int (*setCurrent)(void *) = nullptr;
  int (*synchronize)() = nullptr;
  int (*allocate)(uint64_t *, size_t) = nullptr;
  int (*free)(uint64_t) = nullptr;
  int (*copyTo)(uint64_t, const void *, size_t) = nullptr;
  int (*copyFrom)(void *, uint64_t, size_t) = nullptr;
  int (*streamCreate)(void **, unsigned) = nullptr;
  int (*streamDestroy)(void *) = nullptr;
  int (*eventCreate)(void **, unsigned) = nullptr;
  int (*eventDestroy)(void *) = nullptr;
  int (*eventRecord)(void *, void *) = nullptr;
  int (*eventWait)(void *) = nullptr;
  int (*eventTime)(float *, void *, void *) = nullptr;

  /// Looks up all functions; returns the name of a missing one, or null.
  const char *find(void *library) {
    const char *missing = nullptr;
    auto take = [&](const char *name, auto &function) {
      function = reinterpret_cast<std::remove_reference_t<decltype(function)>>(dlsym(library, name));
      if (!function && !missing)
        missing = name;
    };
    take("cuInit", init);
    take("cuGetErrorName", errorName);
    take("cuDeviceGetCount", deviceCount);
    take("cuDeviceGet", deviceGet);
    take("cuDeviceGetName", deviceName);
    take("cuDeviceGetAttribute", deviceAttribute);
    take("cuDevicePrimaryCtxRetain", retain);
    take("cuDevicePrimaryCtxRelease_v2", release);
    take("cuCtxSetCurrent", setCurrent);
    take("cuCtxSynchronize", synchronize);
    take("cuMemAlloc_v2", allocate);
    take("cuMemFree_v2", free);
    take("cuMemcpyHtoD_v2", copyTo);
    take("cuMemcpyDtoH_v2", copyFrom);
    take("cuStreamCreate", streamCreate);
    take("cuStreamDestroy_v2", streamDestroy);
    take("cuEventCreate", eventCreate);
    take("cuEventDestroy_v2", eventDestroy);
    take("cuEventRecord", eventRecord);
    take("cuEventSynchronize", eventWait);
    take("cuEventElapsedTime", eventTime);
    return missing;
  }
};

Device::Device() : driver(std::make_unique<Driver>()) {}

llvm::Error Device::failed(const char *call, int error) const {
  const char *name = nullptr;
  if (!driver->errorName || driver->errorName(error, &name) || !name)
    name = "an unknown error";
  return problem(llvm::Twine(call) + ": " + name + " (" + llvm::Twine(error) + ")");
}

llvm::Expected<std::unique_ptr<Device>> Device::open() {
  void *library = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL); // stays loaded
  if (!library)
    return problem(llvm::Twine("libcuda.so.1, NVIDIA's driver, cannot be loaded: ") + dlerror());
  std::unique_ptr<Device> device(new Device);
  Driver &driver = *device->driver;
  if (const char *missing = driver.find(library))
    return problem(llvm::Twine("libcuda.so.1 has no function ") + missing + "; install a newer driver");
  int count = 0, major = 0, minor = 0;
  int error = driver.init(0);
  if (error == kNoDeviceError || (!error && (driver.deviceCount(&count) || count < 1)))
    return problem("NVIDIA's driver finds no GPU");
  if (error)
    return device->failed("cuInit", error);
  char name[256] = "";
  if ((error = driver.deviceGet(&device->number, 0)) ||
      (error = driver.deviceName(name, sizeof name, device->number)) ||
      (error = driver.deviceAttribute(&major, kMajor, device->number)) ||
      (error = driver.deviceAttribute(&minor, kMinor, device->number)))
    return device->failed("cuDeviceGetAttribute", error);
  device->deviceName = name;
  device->deviceCapability = 10 * major + minor;
  if ((error = driver.retain(&device->context, device->number)))
    return device->failed("cuDevicePrimaryCtxRetain", error);
  if ((error = driver.setCurrent(device->context)))
    return device->failed("cuCtxSetCurrent", error);
  if ((error = driver.streamCreate(&device->queue, /*CU_STREAM_NON_BLOCKING*/ 1)))
    return device->failed("cuStreamCreate", error);
  if ((error = driver.eventCreate(&device->begin, 0)) || (error = driver.eventCreate(&device->end, 0)))
    return device->failed("cuEventCreate", error);
  return device;
}

Device::~Device() {
  if (begin)
    driver->eventDestroy(begin);
  if (end)
    driver->eventDestroy(end);
  if (queue)
    driver->streamDestroy(queue);
  if (context)
    driver->release(number);
}

llvm::Expected<gpu::GpuTarget> Device::target() const {
  const gpu::GpuTarget *best = nullptr;
  int bestNumber = 0;
  for (const gpu::GpuTarget &target : gpu::knownGpuTargets()) {
    llvm::StringRef rest = llvm::StringRef(target.name).drop_front(3);
    int known = 0;
    rest.consumeInteger(10, known);
    bool isExact = !rest.empty();
    // In the list, a target for exactly one GPU follows the target with the same number without the letter.
    if (known >= bestNumber && (isExact ? known == deviceCapability : known <= deviceCapability))
      best = &target, bestNumber = known;
  }
  if (!best)
    return problem("'" + deviceName + "' has compute capability " + llvm::Twine(deviceCapability / 10) + "." +
                   llvm::Twine(deviceCapability % 10) + "; the oldest GPUs that code is made for have 8.0");
  return *best;
}

Device::Memory::~Memory() {
  if (address)
    device->driver->free(address);
}

llvm::Expected<Device::Memory> Device::allocate(size_t bytes) {
  uint64_t address = 0;
  if (int error = driver->allocate(&address, std::max<size_t>(bytes, 1)))
    return failed("cuMemAlloc", error);
  return Memory(*this, address);
}
llvm::Error Device::copyTo(const Memory &to, const void *from, size_t bytes) {
  if (int error = driver->copyTo(reinterpret_cast<uint64_t>(to.data()), from, bytes))
    return failed("cuMemcpyHtoD", error);
  return llvm::Error::success();
}
llvm::Error Device::copyFrom(const Memory &from, void *to, size_t bytes) {
  if (int error = driver->copyFrom(to, reinterpret_cast<uint64_t>(from.data()), bytes))
    return failed("cuMemcpyDtoH", error);
  return llvm::Error::success();
}
llvm::Error Device::wait() {
  if (int error = driver->synchronize())
    return failed("cuCtxSynchronize", error);
  return llvm::Error::success();
}

llvm::Expected<double> Device::time(llvm::function_ref<llvm::Error()> work) {
  if (int error = driver->eventRecord(begin, queue))
    return failed("cuEventRecord", error);
  if (llvm::Error error = work())
    return error;
  float milliseconds = 0;
  if (int error = driver->eventRecord(end, queue))
    return failed("cuEventRecord", error);
  if (int error = driver->eventWait(end))
    return failed("cuEventSynchronize", error);
  if (int error = driver->eventTime(&milliseconds, begin, end))
    return failed("cuEventElapsedTime", error);
  return milliseconds * 1e-3;
}

double Device::clock() const {
  // NVML numbers GPUs by their place on the bus, CUDA by speed: with several GPUs, the clock may be another GPU's.
  if (void *library = dlopen("libnvidia-ml.so.1", RTLD_NOW | RTLD_LOCAL)) {
    auto init = reinterpret_cast<int (*)()>(dlsym(library, "nvmlInit_v2"));
    auto find = reinterpret_cast<int (*)(unsigned, void **)>(dlsym(library, "nvmlDeviceGetHandleByIndex_v2"));
    auto read = reinterpret_cast<int (*)(void *, int, unsigned *)>(dlsym(library, "nvmlDeviceGetClockInfo"));
    void *handle = nullptr;
    unsigned mhz = 0;
    if (init && find && read && init() == 0 && find(0, &handle) == 0 && read(handle, kSmClock, &mhz) == 0)
      return mhz;
  }
  int khz = 0;
  return driver->deviceAttribute(&khz, kClockRate, number) == 0 ? khz * 1e-3 : 0;
}

} // namespace skewer::driver
