// Finds targets by name, and suggests the nearest name for an unknown one.
#include "codegen/Compiler/Targets.h"
#include "codegen/ABI/Dispatch.h"
#include "codegen/Compiler/Messages.h"
#include "codegen/GPU/GpuTarget.h"
#include "dialect/Language/Diagnostics.h"
#include "passes/Schedule/Machine.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/raw_ostream.h"

namespace skewer {

std::string nearestTarget(llvm::StringRef name) {
  std::vector<std::string> names{"host"};
  for (const Target &known : knownTargets())
    names.push_back(known.name);
  for (const gpu::GpuTarget &known : gpu::knownGpuTargets())
    names.push_back(known.name);
  if (llvm::is_contained(names, name.lower()))
    return " (did you mean '" + name.lower() + "'?)";
  return language::suggestion(name.lower(), names);
}

std::optional<Target> targetNamed(const std::string &name) {
  llvm::Expected<Target> found = readTarget(name);
  if (!found && TargetName(name).isFile()) {
    sayError(found.takeError());
    return std::nullopt;
  }
  std::optional<Target> target = llvm::expectedToOptional(std::move(found));
  if (!target) {
    std::string known = "host";
    for (const Target &processor : knownTargets())
      known += ", " + processor.name;
    known += ", a machine file MY.json; GPUs:";
    for (const gpu::GpuTarget &gpu : gpu::knownGpuTargets())
      known += " " + gpu.name;
    sayError("--target: unknown processor '" + name + "'" + nearestTarget(name) + "; known: " + known +
             "; an older or another one runs the code of a level that it has, such as x86-64-v3, or is described in a "
             "machine file");
  }
  return target;
}

std::optional<std::vector<Target>> targetsNamed(const std::string &names) {
  std::vector<Target> targets;
  llvm::SmallVector<llvm::StringRef> parts;
  llvm::StringRef(names).split(parts, ',');
  for (llvm::StringRef name : parts) {
    std::optional<Target> target = targetNamed(name.str());
    if (!target)
      return std::nullopt;
    for (const Target &other : targets)
      if (other.name == target->name) {
        sayError("--target: '" + name + "' is given twice");
        return std::nullopt;
      }
    targets.push_back(std::move(*target));
  }
  return inOrderOfChoice(std::move(targets));
}

std::optional<std::vector<gpu::GpuTarget>> takeGpuTargets(std::string &targets) {
  std::vector<gpu::GpuTarget> gpus;
  std::string others;
  llvm::SmallVector<llvm::StringRef> names;
  llvm::StringRef(targets).split(names, ',');
  for (llvm::StringRef name : names) {
    if (!gpu::isGpuName(name)) {
      others += (others.empty() ? "" : ",") + name.str();
      continue;
    }
    auto target = gpu::findGpuTarget(name);
    if (!target) {
      std::vector<std::string> names;
      for (const gpu::GpuTarget &known : gpu::knownGpuTargets())
        names.push_back(known.name);
      sayError("--target: unknown GPU '" + name + "'" + nearestTarget(name) + "; known: " + llvm::join(names, ", "));
      return std::nullopt;
    }
    if (llvm::any_of(gpus, [&](const gpu::GpuTarget &other) { return other.name == target->name; })) {
      sayError("--target: '" + name + "' is given twice");
      return std::nullopt;
    }
    gpus.push_back(std::move(*target));
  }
  targets = others;
  return gpus;
}

} // namespace skewer
