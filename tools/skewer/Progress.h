// What a person at a terminal sees while something takes long: what is being done, and for how long already.
#pragma once
#include "llvm/ADT/Twine.h"

namespace skewer::driver {

/// Shows on standard error what the process does, from two seconds on and once a second, as long as the object lives; where
/// standard error is a terminal, and not at all elsewhere: logs and pipes hold what they held. One at a time.
class ProgressLine {
public:
  ProgressLine();
  ~ProgressLine();
  ProgressLine(const ProgressLine &) = delete;
  ProgressLine &operator=(const ProgressLine &) = delete;
};

/// Says what is done from now on: "compiling kernel 'layer' for zen4". The line shows it with the seconds since the
/// command began. Costs nothing where no line is shown.
void nowDoing(const llvm::Twine &what);

/// Takes the line off the terminal: before something else is written there.
void clearProgress();

} // namespace skewer::driver
