// Makes kernels foreign functions of XLA, for skewer.jax.
#pragma once
#include "Kernel.h"
#include "XlaFfi.h"

namespace skewer::python {

/// Registers a kernel under the key that the handler for all layers looks up. The kernel must not move as long as
/// programs call it.
void registerForXla(int64_t key, const Kernel &);

/// Calls a layer for XLA. The attribute `call` is an array of numbers: the layer's key, workers, q0, k0, head0, and the
/// run-time sizes. A further argument, i32[3], replaces these origins. XLA's threads call the handler without the
/// interpreter's lock.
xla::Error *callFromXla(xla::CallFrame *);

} // namespace skewer::python
