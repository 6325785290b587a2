// Makes kernels foreign functions of XLA.
#pragma once
#include "Kernel.h"
#include "XlaFfi.h"

namespace skewer::python {

/// Registers a kernel under the key that the handler for all layers looks up. The kernel must not move as long as
/// programs call it.
void registerForXla(int64_t key, const Kernel &);

/// The handler. Its attribute `call` is an array of numbers: the layer's key, workers, q0, k0, head0, and the run-time
/// sizes. A further argument, i32[3], replaces these origins. XLA's threads call it without the interpreter's lock.
xla::Error *callFromXla(xla::CallFrame *);

} // namespace skewer::python
