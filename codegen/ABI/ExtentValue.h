// Extents of run-time size as arithmetic on the sizes that a caller gives.
#pragma once
#include "llvm/ADT/STLFunctionalExtras.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/IR/IRBuilder.h"

namespace skewer {

/// An extent's name (dialect/IR/KernelPlan.h): a size, or sums and products of lengths, whose bounds keep them within
/// 63 bits. `sizeOf` gives the i64 of a size.
llvm::Value *extentValue(llvm::IRBuilderBase &, llvm::StringRef name,
                         llvm::function_ref<llvm::Value *(llvm::StringRef size)> sizeOf);

} // namespace skewer
