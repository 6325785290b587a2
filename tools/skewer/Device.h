// A GPU of this machine: memory, copies, timing. `run` and `bench` use it for GPU targets. CUDA's driver is loaded on
// demand, so that the program starts without one.
#pragma once
#include "codegen/GPU/GpuTarget.h"
#include "llvm/ADT/STLFunctionalExtras.h"
#include "llvm/Support/Error.h"
#include <memory>
#include <string>

namespace skewer::driver {

/// The first GPU that the driver shows (CUDA_VISIBLE_DEVICES chooses). Its primary context is current in this thread.
class Device {
public:
  /// Opens the GPU. The error says why there is none: no driver, no GPU.
  static llvm::Expected<std::unique_ptr<Device>> open();
  ~Device();

  const std::string &name() const { return deviceName; }
  /// Returns the compute capability: 90 for 9.0.
  int capability() const { return deviceCapability; }
  /// Returns the known target that fits best: the one for exactly this GPU, else the newest older one. An error if
  /// there is none.
  llvm::Expected<gpu::GpuTarget> target() const;
  /// Returns the stream on which all work runs.
  void *stream() const { return queue; }

  /// A piece of the GPU's memory, aligned to 256 bytes.
  class Memory {
  public:
    Memory() = default;
    Memory(Device &device, uint64_t address) : device(&device), address(address) {}
    Memory(Memory &&other) : device(other.device), address(other.address) { other.address = 0; }
    Memory &operator=(Memory &&other) {
      std::swap(device, other.device);
      std::swap(address, other.address);
      return *this;
    }
    ~Memory();
    void *data() const { return reinterpret_cast<void *>(address); }

  private:
    Device *device = nullptr;
    uint64_t address = 0;
  };
  llvm::Expected<Memory> allocate(size_t bytes);
  llvm::Error copyTo(const Memory &, const void *from, size_t bytes);
  llvm::Error copyFrom(const Memory &, void *to, size_t bytes);
  /// Waits until all queued work has run; errors of kernels are reported here.
  llvm::Error wait();
  /// Returns the seconds between the beginning and the end of the work that `work` queues on the stream, by the GPU's
  /// own clock.
  llvm::Expected<double> time(llvm::function_ref<llvm::Error()> work);
  /// Returns the current clock of the multiprocessors in MHz, by NVML; without NVML the highest clock; 0 if unknown.
  double clock() const;

private:
  Device();
  struct Driver;
  llvm::Error failed(const char *call, int error) const;
  std::unique_ptr<Driver> driver;
  std::string deviceName;
  int deviceCapability = 0, number = 0;
  void *context = nullptr, *queue = nullptr, *begin = nullptr, *end = nullptr;
};

} // namespace skewer::driver
