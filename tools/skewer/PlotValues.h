// Computes single values inside a kernel with the float64 reference, for the pictures of `plot`.
#pragma once
#include "codegen/Reference/Reference.h"
#include "dialect/IR/Attn.h"
#include "mlir/IR/BuiltinOps.h"
#include "tools/skewer/Inputs.h"
#include "llvm/Support/Error.h"
#include <map>

namespace skewer::driver {

/// The rows of one tensor of a function, computed on demand.
class TensorValues {
public:
  /// Reads `tensor`, which `function` computes before or without any attention.
  TensorValues(mlir::func::FuncOp function, mlir::Value tensor, const Operands &);
  /// Reads the contraction of a term, without its scale, factor and guard. Its subscripts are the leading axes of its
  /// operands, then the query and the key dimension.
  TensorValues(mlir::func::FuncOp function, attn::TermOp term, const Operands &);

  const std::vector<int64_t> &shape() const { return resultShape; }
  /// Returns, for a term, the axes before the query and the key dimension.
  const std::vector<std::string> &leadingAxes() const { return leading; }
  /// Returns the elements along the last dimension.
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
