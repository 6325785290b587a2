// The commands of the driver; each returns the process's exit code.
#pragma once
#include "tools/skewer/Options.h"

namespace skewer::driver {

int compile(const Options &);
int run(const Options &);
int bench(const Options &);
int explain(const Options &);
int plot(const Options &);
int schemes(const Options &);
int target(const Options &);

} // namespace skewer::driver
