// The list of engines.
#include "passes/Gpu/Engines/Engines.h"

namespace skewer::gpu {

std::unique_ptr<Engine> makeMmaSync(const EngineSetup &);
std::unique_ptr<Engine> makeWgmma(const EngineSetup &);

std::unique_ptr<Engine> makeEngine(llvm::StringRef name, const EngineSetup &setup) {
  struct Named {
    llvm::StringLiteral name;
    std::unique_ptr<Engine> (*make)(const EngineSetup &);
  };
  static const Named engines[] = {{kMmaSync, makeMmaSync}, {kWgmma, makeWgmma}, {kWgmmaAhead, makeWgmma}};
  for (const Named &one : engines)
    if (name == one.name)
      return one.make(setup);
  return nullptr;
}

} // namespace skewer::gpu
