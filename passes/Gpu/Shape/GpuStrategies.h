// The strategies by which a GPU kernel may compute a term. A term's form decides which of them fit it.
#pragma once
#include "passes/Gpu/Shape/GpuShape.h"

namespace skewer::gpu {

/// Returns the strategy that computes an attention's term of this number: the one that its schedule names, if it is in
/// `fitting`; else the first of these.
llvm::StringRef chosenStrategy(attn::AttentionOp, size_t number, llvm::ArrayRef<llvm::StringRef> fitting);

} // namespace skewer::gpu
