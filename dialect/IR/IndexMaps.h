// How elements move, told from shapes and attributes alone: for operations, and for what is no operation yet.
#pragma once
#include "dialect/IR/Attn.h"

namespace skewer::attn {

IndexMap indexMapOfPad(llvm::ArrayRef<int64_t> input, llvm::ArrayRef<int64_t> low, llvm::ArrayRef<int64_t> high,
                       double value);
IndexMap indexMapOfReshape(llvm::ArrayRef<int64_t> input, llvm::ArrayRef<int64_t> result);
IndexMap indexMapOfSlice(llvm::ArrayRef<int64_t> offsets, llvm::ArrayRef<int64_t> strides);
IndexMap indexMapOfSkew(llvm::ArrayRef<int64_t> result);

} // namespace skewer::attn
