// Returns the texts of the statuses.
#include "codegen/ABI/Status.h"
#include "codegen/ABI/Emit.h"
#include "codegen/ABI/Layout.h"

const char *skewer::statusText(int status) {
  constexpr int kBadIndex = int(Status::BadIndex);
  if (status > kBadIndex && status < kBadIndex + int(kMaximumBadIndices))
    status = kBadIndex;
  switch (static_cast<Status>(status)) {
#define SKEWER_STATUS(c, cpp, text)                                                                                    \
  case Status::cpp:                                                                                                    \
    return text;
    SKEWER_STATUSES(SKEWER_STATUS)
    SKEWER_PREPARED_STATUSES(SKEWER_STATUS)
    SKEWER_LAYER_STATUSES(SKEWER_STATUS)
    SKEWER_CUDA_STATUSES(SKEWER_STATUS)
  case Status::BeforePrepared:
  case Status::BeforeCuda:
    break;
#undef SKEWER_STATUS
  }
  return "unknown status";
}

std::string skewer::statusText(int status, const KernelPlan &plan) {
  std::vector<size_t> ranged = rangedInputs(plan);
  size_t which = status - int(Status::BadIndex);
  if (status < int(Status::BadIndex) || which >= ranged.size())
    return statusText(status);
  const TensorArgument &input = plan.inputs[ranged[which]];
  return "an element of '" + input.name + "' is outside " + textOf(*input.range) +
         ", the range that the kernel declares for it";
}
