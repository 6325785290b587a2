// A spec from wherever the options say that it is.
#pragma once
#include "tools/skewer/Options.h"
#include "tools/skewer/Session/Compilation.h"

namespace skewer::driver {

/// One of the options' specs: a file, or the options' own text under that name. Null after a message.
std::unique_ptr<Compilation> openSpecOf(const Options &, const std::string &spec, const Target &);

} // namespace skewer::driver
