// Shows a person at a terminal what a long command is doing, and for how long.
#pragma once
#include "llvm/ADT/Twine.h"
#include <string>

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

/// Sets the step of a command that has several: the line then begins with a bar, the number of the step and its name,
/// "N = 256". `done` of the `all` steps are finished.
void nowAtStep(size_t done, size_t all, const llvm::Twine &name);

/// Returns the part of the line about a step: "[##........] 3 of 8, N = 256: ".
std::string stepText(size_t done, size_t all, const std::string &name);

/// Removes the line from the terminal before other text is written there.
void clearProgress();

} // namespace skewer::driver
