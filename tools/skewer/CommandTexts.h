// The help texts of the commands, with examples. Options.cpp prints them.
#pragma once
#include "tools/skewer/Options.h"

namespace skewer::driver {

/// Returns the help text of the driver as a whole.
const char *overview();
const char *overviewOf(Command);

} // namespace skewer::driver
