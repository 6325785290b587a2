// The commands of the driver, one function each. main.cpp calls them, and the C API calls some of them
// (libskewer/Requests.cpp). Each returns the exit code of the process. They print messages and output through
// Messages.h, so that the library can catch both.
#pragma once
#include "tools/skewer/Options.h"
#include "tools/skewer/WriteFiles.h"

namespace skewer::driver {

int compile(const Options &);
int run(const Options &);
int bench(const Options &);
int explain(const Options &);
/// Draws a picture; prints it if the options name no file for it.
int plot(const Options &);
int report(const Options &);
int schemes(const Options &);
int format(const Options &);
int target(const Options &);

} // namespace skewer::driver
