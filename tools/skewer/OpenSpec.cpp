// Opens a spec from a file or from a text in memory.
#include "tools/skewer/OpenSpec.h"

namespace skewer::driver {

std::unique_ptr<Compilation> openSpecOf(const Options &options, const std::string &spec, const Target &target) {
  return options.text ? Compilation::createFromText(*options.text, spec, options.parameters, target)
                      : Compilation::create(spec, options.parameters, target);
}

} // namespace skewer::driver
