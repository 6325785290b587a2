// Implements skewer_reference and skewer_check of the C API with the float64 reference; Requests.cpp calls it. Both
// functions report errors by Messages.h and return a command's exit code.
#pragma once
#include "tools/libskewer/skewer.h"
#include "tools/skewer/Options.h"
#include "tools/skewer/WriteFiles.h"

namespace skewer::driver {

/// Computes the results in float64, each as a file NAME.npy. `tensors` are the operands in the spec's order; `origins`
/// are q0, k0 and head0, or null.
int reference(const Options &, const std::vector<skewer_tensor> &tensors, const int64_t *origins,
              std::vector<OutputFile> &files);
/// Prints the distances of the results from the reference as JSON.
int check(const Options &, const std::vector<skewer_tensor> &tensors, const int64_t *origins,
          const std::vector<skewer_tensor> &results);

} // namespace skewer::driver
