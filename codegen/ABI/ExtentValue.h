// Emits code that computes extents of run-time size from the sizes that a caller gives. The checks of entries use it.
#pragma once
#include "llvm/ADT/STLFunctionalExtras.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/IR/IRBuilder.h"

namespace skewer {

/// Emits the value of an extent's name (dialect/IR/KernelPlan.h): a size, or sums and products of lengths. The bounds
/// of lengths keep the value within 63 bits. `sizeOf` returns the i64 of a size.
llvm::Value *extentValue(llvm::IRBuilderBase &, llvm::StringRef name,
                         llvm::function_ref<llvm::Value *(llvm::StringRef size)> sizeOf);

} // namespace skewer
