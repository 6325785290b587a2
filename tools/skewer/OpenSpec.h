// Opens a spec from the place that the options give: a file for the command line, or a text for the C API.
#pragma once
#include "codegen/Compiler/Compiler.h"
#include "tools/skewer/Options.h"

namespace skewer::driver {

/// Opens one of the specs of the options: a file, or the text in the options under that name. Null after a message.
std::unique_ptr<Compilation> openSpecOf(const Options &, const std::string &spec, const Target &);

} // namespace skewer::driver
