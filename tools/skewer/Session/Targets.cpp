// --target.
#include "tools/skewer/Session/Targets.h"
#include "llvm/Support/raw_ostream.h"

namespace skewer::driver {

std::optional<Target> targetNamed(const std::string &name) {
  std::optional<Target> target = findTarget(name);
  if (!target) {
    llvm::errs() << "skewer: error: --target: unknown processor '" << name << "'; known: host";
    for (const Target &known : knownTargets())
      llvm::errs() << ", " << known.name;
    llvm::errs() << "\n";
  }
  return target;
}

} // namespace skewer::driver
