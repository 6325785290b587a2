// Describes this machine from what the operating system and the CPU report. Nothing is measured, so a machine always
// has the same description.
#include "passes/Schedule/Machine.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/TargetParser/Host.h"
#if defined(__linux__)
#include <unistd.h>
#endif

using namespace skewer;

/// Returns the text of a file without the newline. It reads a stream, since files of /sys have no size before they are
/// read.
static std::string lineOf(const llvm::Twine &path) {
  auto buffer = llvm::MemoryBuffer::getFileAsStream(path);
  return buffer ? (*buffer)->getBuffer().trim().str() : "";
}

/// Returns the bytes of a size in the form of /sys, "1024K"; 0 if the text has another form.
static int64_t bytesOf(llvm::StringRef text) {
  int64_t unit = text.consume_back("K") ? 1 << 10 : text.consume_back("M") ? 1 << 20 : 1, number;
  return text.getAsInteger(10, number) || number < 0 || number > (1 << 30) ? 0 : number * unit;
}

HostCaches skewer::readCaches(llvm::StringRef folder) {
  HostCaches caches;
  for (int index = 0; index < 8; ++index) {
    std::string cache = (folder + "/index" + std::to_string(index)).str();
    std::string type = lineOf(cache + "/type"), level = lineOf(cache + "/level");
    if (type != "Data" && type != "Unified")
      continue;
    int64_t bytes = bytesOf(lineOf(cache + "/size"));
    (level == "1" ? caches.l1 : level == "2" ? caches.l2 : caches.l3) = bytes;
  }
  return caches;
}

HostCaches skewer::hostCaches() {
  HostCaches caches = readCaches("/sys/devices/system/cpu/cpu0/cache");
#if defined(_SC_LEVEL1_DCACHE_SIZE)
  auto ask = [](int64_t &bytes, int name) {
    if (bytes <= 0)
      bytes = std::max<int64_t>(0, sysconf(name));
  };
  ask(caches.l1, _SC_LEVEL1_DCACHE_SIZE);
  ask(caches.l2, _SC_LEVEL2_CACHE_SIZE);
  ask(caches.l3, _SC_LEVEL3_CACHE_SIZE);
#endif
  return caches;
}

/// Sets the caches of this machine. A file describes a family whose members have different caches, so the reported
/// sizes win, unless they are out of range, as under a hypervisor that reports none.
static void useCaches(Machine &machine, const HostCaches &caches) {
  for (auto [name, bytes] : {std::pair("l1_size", caches.l1), std::pair("l2_size", caches.l2)})
    for (const MachineField &field : machineFields())
      if (field.name == name && double(bytes) >= field.least && double(bytes) <= field.most && caches.l1 <= caches.l2)
        machine.set(name, static_cast<double>(bytes), "as this machine says");
}

Machine skewer::hostMachine() {
  std::string cpu = llvm::sys::getHostCPUName().str();
  auto features = llvm::sys::getHostCPUFeatures();
  auto has = [&](llvm::StringRef feature) { return features.lookup(feature); };
  bool wide = has("avx512f") && has("avx512vl") && has("avx512bw") && has("avx512dq");
  bool medium = has("avx2") && has("fma");
  llvm::StringRef level = wide ? "x86-64-v4" : medium ? "x86-64-v3" : "x86-64-v2";
  Machine machine = *llvm::find_if(knownMachines(), [&](const Machine &known) { return known.target.name == level; });
  // A hypervisor may hide instructions that a CPU of this name has: use only those that are available.
  for (const Machine &known : knownMachines())
    if (llvm::is_contained(known.cpus, cpu) && (known.target.lanes < 16 || wide))
      machine = known;
  if (!has("amx-tile") || !has("amx-bf16"))
    machine.set("amx_rate", 0, "as this machine says");
  machine.about = "this machine, after the description " + machine.target.name;
  machine.cpus = {cpu};
  machine.target.name = "host";
  machine.target.cpu = cpu;
  std::vector<std::string> flags;
  for (const auto &feature : features)
    flags.push_back((feature.getValue() ? "+" : "-") + feature.getKey().str());
  llvm::sort(flags);
  machine.target.features = llvm::join(flags, ",");
  useCaches(machine, hostCaches());
  return machine;
}
