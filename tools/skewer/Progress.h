// Shows a person at a terminal what a long command is doing, and for how long.
#pragma once
#include "llvm/ADT/Twine.h"

namespace skewer::driver {

/// Shows the current activity on standard error while the object lives: from two seconds on, once a second. Shows
/// nothing if standard error is not a terminal, so that logs and pipes stay unchanged. Only one at a time.
class ProgressLine {
public:
  ProgressLine();
  ~ProgressLine();
  ProgressLine(const ProgressLine &) = delete;
  ProgressLine &operator=(const ProgressLine &) = delete;
};

/// Sets the activity from now on: "compiling kernel 'layer' for zen4". The line shows it with the seconds since the
/// command began. Costs nothing if no line is shown.
void nowDoing(const llvm::Twine &what);

/// Removes the line from the terminal before other text is written there.
void clearProgress();

} // namespace skewer::driver
