// Single values inside a kernel, by the float64 reference.
#pragma once
#include "codegen/Reference/Reference.h"
#include "dialect/IR/Attn.h"
#include "mlir/IR/BuiltinOps.h"
#include "tools/skewer/Inputs.h"
#include "llvm/Support/Error.h"
#include <map>

namespace skewer::driver {

/// Rows of one tensor of a function, computed when asked for.
class TensorValues {
public:
  /// `tensor` is defined in `function`, before or without any attention.
  TensorValues(mlir::func::FuncOp function, mlir::Value tensor, const Operands &);
  /// The contraction of a term (its scale, factor and guard left out), subscripted by the leading axes that its
  /// operands have, then the query and the key dimension.
  TensorValues(mlir::func::FuncOp function, attn::TermOp term, const Operands &);

  const std::vector<int64_t> &shape() const { return resultShape; }
  /// Of a term: the axes in front of the query and the key dimension.
  const std::vector<std::string> &leadingAxes() const { return leading; }
  /// The elements along the last dimension.
  llvm::Expected<std::vector<double>> row(const std::vector<int64_t> &leading);

private:
  void interpret(mlir::func::FuncOp copy, mlir::Value result, const Operands &);

  mlir::OwningOpRef<mlir::ModuleOp> holder;
  std::unique_ptr<reference::Interpreter> interpreter;
  std::vector<int64_t> resultShape;
  std::vector<std::string> leading;
  std::map<std::vector<int64_t>, std::vector<double>> known;
};

} // namespace skewer::driver
