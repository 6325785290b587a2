// What memory allows: a plain read of a kernel's operands, beside its calls. A layer that reads its keys and values
// once, such as a step of decoding, takes as long as that at least.
#pragma once
#include "tools/skewer/ThreadPool.h"
#include "llvm/ADT/ArrayRef.h"
#include <cstddef>
#include <cstdint>
#include <utility>

namespace skewer::driver {

/// Reads every byte once: each worker a run of the pieces of 64 KiB that they are divided into. Returns a sum of what it
/// read, so that none of it may be left out. `ahead`: bytes ahead of what is read that are asked for; 0: none are.
uint64_t readPlainly(llvm::ArrayRef<std::pair<const void *, size_t>> memory, ThreadPool &, size_t ahead);

/// The same, with the seconds that it took: the quicker of a read as it comes and one that asks ahead.
double secondsOfPlainRead(llvm::ArrayRef<std::pair<const void *, size_t>> memory, ThreadPool &);

} // namespace skewer::driver
