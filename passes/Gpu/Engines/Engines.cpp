// The list of engines.
#include "passes/Gpu/Engines/Engines.h"

namespace skewer::gpu {

EngineParts makeMmaSync(const EngineSetup &);

std::optional<EngineParts> makeEngine(llvm::StringRef name, const EngineSetup &setup) {
  struct Named {
    llvm::StringLiteral name;
    EngineParts (*make)(const EngineSetup &);
  };
  static const Named engines[] = {{kMmaSync, makeMmaSync}};
  for (const Named &one : engines)
    if (name == one.name)
      return one.make(setup);
  return std::nullopt;
}

} // namespace skewer::gpu
