// Kernels as foreign functions of XLA.
#pragma once
#include "XlaFfi.h"

namespace skewer::python {

/// What one handler for all layers knows them by.
void registerForXla(int64_t key, uintptr_t entry, uintptr_t workspaceBytes, size_t inputs, size_t results,
                    size_t sizes);

/// The handler. Its attribute `call` is an array of numbers: the layer's key, workers, q0, k0, head0, and the run-time
/// sizes; a further argument, i32[3], takes the place of these origins. Called by XLA's threads, without the interpreter.
xla::Error *callFromXla(xla::CallFrame *);

} // namespace skewer::python
