// --target.
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
    messages() << llvm::toString(found.takeError()) << "\n";
    return std::nullopt;
  }
  std::optional<Target> target = llvm::expectedToOptional(std::move(found));
  if (!target) {
    messages() << "skewer: error: --target: unknown processor '" << name << "'" << nearestTarget(name)
               << "; known: host";
    for (const Target &known : knownTargets())
      messages() << ", " << known.name;
    messages() << ", a machine file MY.json; GPUs:";
    for (const gpu::GpuTarget &known : gpu::knownGpuTargets())
      messages() << " " << known.name;
    messages() << "\n";
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
        messages() << "skewer: error: --target: '" << name << "' is given twice\n";
        return std::nullopt;
      }
    targets.push_back(std::move(*target));
  }
  return inOrderOfChoice(std::move(targets));
}

} // namespace skewer::driver
