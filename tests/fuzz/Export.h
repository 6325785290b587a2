// A judged spec as files, for judges that share no code with the compiler.
#pragma once
#include "dialect/IR/KernelPlan.h"
#include "tests/fuzz/Differential.h"
#include "tools/skewer/Inputs.h"
#include "llvm/ADT/STLFunctionalExtras.h"

namespace skewer::fuzz {

/// A case that `writeCase` writes.
struct Case {
  const Subject &subject;
  const KernelPlan &plan;
  std::string kernel; // its name in the text
  mlir::func::FuncOp einsumForm;
  const driver::Operands &operands;
  double tolerance;
  llvm::function_ref<driver::Array(size_t)> resultOf;
};

/// Writes to the folder, which is made: layer.attn, operand-NAME.npy for each operand, kernel-NUMBER.npy and
/// reference-NUMBER.npy for each result (in float64), and case.json, which names them (format: README.md).
llvm::Error writeCase(const std::string &folder, const Case &);

} // namespace skewer::fuzz
