// Finds the targets that --target names.
#include "tools/skewer/Session/Targets.h"
#include "codegen/ABI/Dispatch.h"
#include "codegen/GPU/GpuTarget.h"
#include "dialect/Language/Diagnostics.h"
#include "tools/skewer/Messages.h"
#include "llvm/Support/raw_ostream.h"

namespace skewer::driver {

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
  if (!found && isMachineFile(name)) {
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

} // namespace skewer::driver
