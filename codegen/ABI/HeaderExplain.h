// Writes the part of a kernel's header that explains a status: the function NAME_explain(). Header.cpp calls it.
#pragma once
#include "codegen/ABI/Layout.h"
#include "llvm/Support/raw_ostream.h"

namespace skewer {

/// Writes the text that the NAME_explain() functions of all kernels share.
void writeExplainShared(llvm::raw_ostream &);
/// Writes NAME_explain(args, exec, status, buffer, bytes). It is inline, so that it adds nothing to the object.
void writeExplain(llvm::raw_ostream &, const KernelPlan &, const ArgumentLayout &);

} // namespace skewer
