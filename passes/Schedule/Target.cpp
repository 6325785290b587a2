// The processors that the cost model knows, and which of them this machine is.
#include "passes/Schedule/Target.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/TargetParser/Host.h"

using namespace skewer;

/// Figures from the makers' optimisation guides (AMD 57647, 58455; Intel 248966); FMA rates and FADD pipes confirmed by
/// measurement on Zen 5 and Cascade Lake (`separateAdd`: 2 FMA + 2 FADD a cycle sustained, against 2 in all). Zen 5's
/// cache rates are measured (45-61 from L2, 24-27 from L3); the others are from the guides, lowered by the same share.
///
/// Memory: a socket's channels divided by its cores, from the data sheets of each generation's largest common model:
/// EPYC 9755 (12 x DDR5-6000, 128 cores), EPYC 9654 (12 x DDR5-4800, 96), Xeon 8280 (6 x DDR4-2933, 28), Xeon 8480+
/// (8 x DDR5-4800, 56). One core alone gets more. The x86-64 levels have the usual figure of these.
static std::vector<Target> makeTargets() {
  //                     lanes, registers, FMAs, own FADD, L1, L2, L2 rate, L3 rate, GHz, memory
  Target zen5{"zen5", "znver5", "", 16, 32, 2, true, 48 << 10, 1 << 20, 53, 25, 4.1, 4.5};
  Target zen4{"zen4", "znver4", "", 16, 32, 1, true, 32 << 10, 1 << 20, 32, 20, 3.7, 4.8};
  Target cascadeLake{"cascadelake", "cascadelake", "", 16, 32, 2, false, 32 << 10, 1 << 20, 40, 10, 2.4, 5};
  Target sapphireRapids{"sapphirerapids", "sapphirerapids", "", 16, 32, 2, false, 48 << 10, 2 << 20, 40, 10, 2.8, 5.5};
  Target v4{"x86-64-v4", "x86-64-v4", "", 16, 32, 2, false, 32 << 10, 1 << 20, 40, 10, 2.5, 5};
  Target v3{"x86-64-v3", "x86-64-v3", "", 8, 16, 2, false, 32 << 10, 512 << 10, 32, 12, 3, 5};
  Target v2{"x86-64-v2", "x86-64-v2", "", 4, 16, 2, false, 32 << 10, 256 << 10, 20, 10, 3, 5};
  return {v3, v4, zen5, zen4, cascadeLake, sapphireRapids, v2};
}

llvm::ArrayRef<Target> skewer::knownTargets() {
  static const std::vector<Target> targets = makeTargets();
  return targets;
}

std::optional<Target> skewer::findTarget(llvm::StringRef name) {
  if (name == "host")
    return hostTarget();
  for (const Target &target : knownTargets())
    if (name == target.name)
      return target;
  return std::nullopt;
}

Target skewer::hostTarget() {
  llvm::StringRef cpu = llvm::sys::getHostCPUName();
  auto features = llvm::sys::getHostCPUFeatures();
  auto has = [&](llvm::StringRef feature) { return features.lookup(feature); };
  bool wide = has("avx512f") && has("avx512vl") && has("avx512bw") && has("avx512dq");
  bool medium = has("avx2") && has("fma");
  Target target = *findTarget(wide ? "x86-64-v4" : medium ? "x86-64-v3" : "x86-64-v2");
  for (const Target &known : knownTargets())
    if (cpu == known.cpu && (known.lanes < 16 || wide))
      target = known;
  // A hypervisor may hide instructions that the CPU's name promises: only what is there is used.
  target.name = "host";
  target.cpu = cpu.str();
  std::vector<std::string> flags;
  for (const auto &feature : features)
    flags.push_back((feature.getValue() ? "+" : "-") + feature.getKey().str());
  llvm::sort(flags);
  target.features = llvm::join(flags, ",");
  return target;
}
