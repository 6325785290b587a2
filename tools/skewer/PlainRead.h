// Measures a lower bound on the time of a call: a plain read of a kernel's operands, run beside its calls. A layer that
// reads its keys and values once, such as a decoding step, takes at least as long as this read.
#pragma once
#include "tools/skewer/ThreadPool.h"
#include "llvm/ADT/ArrayRef.h"
#include <cstddef>
#include <cstdint>
#include <utility>

namespace skewer::driver {

/// Reads every byte once. The memory is divided into pieces of 64 KiB, and each worker reads a run of them. Returns a
/// sum of the read values, so that the compiler cannot remove the read. `ahead` is the prefetch distance in bytes; 0:
/// no prefetch.
uint64_t readPlainly(llvm::ArrayRef<std::pair<const void *, size_t>> memory, ThreadPool &, size_t ahead);

/// Returns the seconds of such a read: the faster of one without prefetch and one with it.
double secondsOfPlainRead(llvm::ArrayRef<std::pair<const void *, size_t>> memory, ThreadPool &);

} // namespace skewer::driver
