// The texts of the statuses.
#include "codegen/ABI/Status.h"
#include "codegen/ABI/Emit.h"

const char *skewer::statusText(int status) {
  switch (static_cast<Status>(status)) {
#define SKEWER_STATUS(c, cpp, text)                                                                                    \
  case Status::cpp:                                                                                                    \
    return text;
    SKEWER_STATUSES(SKEWER_STATUS)
#undef SKEWER_STATUS
  }
  return "unknown status";
}
