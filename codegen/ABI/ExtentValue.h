// Computes extents of run-time size from the sizes that a caller gives.
#pragma once
#include "llvm/ADT/STLFunctionalExtras.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/IR/IRBuilder.h"

namespace skewer {

/// Returns the value of an extent's name (dialect/IR/KernelPlan.h): a size, or sums and products of lengths, whose
/// bounds keep the value within 63 bits. `sizeOf` returns the i64 of a size.
llvm::Value *extentValue(llvm::IRBuilderBase &, llvm::StringRef name,
                         llvm::function_ref<llvm::Value *(llvm::StringRef size)> sizeOf);

} // namespace skewer
