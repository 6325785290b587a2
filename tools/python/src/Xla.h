// Kernels as foreign functions of XLA.
#pragma once
#include "Kernel.h"
#include "XlaFfi.h"

namespace skewer::python {

/// What one handler for all layers knows them by. The kernel stays where it is for as long as programs call it.
void registerForXla(int64_t key, const Kernel &);

/// The handler. Its attribute `call` is an array of numbers: the layer's key, workers, q0, k0, head0, and the run-time
/// sizes; a further argument, i32[3], takes the place of these origins. Called by XLA's threads, without the
/// interpreter.
xla::Error *callFromXla(xla::CallFrame *);

} // namespace skewer::python
