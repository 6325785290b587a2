// What the C API asks of the float64 reference. Both say what is wrong by Messages.h and return a command's exit code.
#pragma once
#include "tools/libskewer/skewer.h"
#include "tools/skewer/Options.h"
#include "tools/skewer/WriteFiles.h"

namespace skewer::driver {

/// The results in float64, each a file NAME.npy. `tensors` are the operands in the spec's order, `origins` q0, k0 and
/// head0, or null.
int reference(const Options &, const std::vector<skewer_tensor> &tensors, const int64_t *origins,
              std::vector<OutputFile> &files);
/// Prints how far the results are from the reference, as JSON.
int check(const Options &, const std::vector<skewer_tensor> &tensors, const int64_t *origins,
          const std::vector<skewer_tensor> &results);

} // namespace skewer::driver
