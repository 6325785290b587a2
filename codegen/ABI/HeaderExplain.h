// The part of a kernel's header that says which argument a status is about.
#pragma once
#include "codegen/ABI/Layout.h"
#include "llvm/Support/raw_ostream.h"

namespace skewer {

/// Returns the text that the NAME_explain() functions of all kernels have in common.
void writeExplainShared(llvm::raw_ostream &);
/// NAME_explain(args, exec, status, buffer, bytes): inline, so that it costs the object nothing.
void writeExplain(llvm::raw_ostream &, const KernelPlan &, const ArgumentLayout &);

} // namespace skewer
