// Index maps of operations that only move elements, computed from shapes and attributes alone. The operations'
// `getIndexMap` calls these functions, and so does the language's type checker, where no operation exists yet.
#pragma once
#include "dialect/IR/Attn.h"

namespace skewer::attn {

IndexMap indexMapOfPad(llvm::ArrayRef<int64_t> input, llvm::ArrayRef<int64_t> low, llvm::ArrayRef<int64_t> high,
                       double value);
IndexMap indexMapOfReshape(llvm::ArrayRef<int64_t> input, llvm::ArrayRef<int64_t> result);
IndexMap indexMapOfSlice(llvm::ArrayRef<int64_t> offsets, llvm::ArrayRef<int64_t> strides);
IndexMap indexMapOfSkew(llvm::ArrayRef<int64_t> result);

} // namespace skewer::attn
