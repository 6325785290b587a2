// Builds nodes (Node.h) from the operations of a level 1 function. The reference's Interpreter calls it once for each
// function. An operation that it does not know is a failure with a reason, not a wrong number.
#pragma once
#include "codegen/Reference/IndexText.h"
#include "codegen/Reference/Node.h"
#include "codegen/Reference/Reference.h"
#include "dialect/IR/Reductions.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "llvm/ADT/DenseMap.h"

namespace skewer::reference {

/// Returns the f64 that is nearest to a number (BuildNumbers.cpp).
double toDouble(llvm::APFloat);

class NodeBuilder {
public:
  NodeBuilder(std::vector<std::unique_ptr<Node>> &nodes, Failure &failure) : nodes(nodes), failure(failure) {}
  /// Returns the nodes of the function's results. If a result has no node, returns none and reports the failure.
  std::vector<Node *> build(mlir::func::FuncOp, std::vector<Tensor> inputs);

private:
  Node *build(mlir::Operation *);
  Node *einsum(mlir::Operation *, llvm::StringRef spec, mlir::ValueRange inputs, mlir::DictionaryAttr sizes,
               std::optional<llvm::StringRef> guard, bool moves);
  /// Builds a softmax or a logsumexp.
  Node *rows(mlir::Operation *);
  Node *position(attn::PositionOp);
  Node *constant(mlir::arith::ConstantOp);
  Node *splat(mlir::tensor::SplatOp);
  bool integer(mlir::Operation *);
  Node *pointwise(mlir::Operation *);
  Node *movement(mlir::Operation *);
  Node *apply(attn::ApplyOp);
  Node *extremum(attn::ExtremumOp);
  Node *concat(attn::ConcatOp);
  /// Returns the result's shape if its type has no run-time size.
  std::optional<std::vector<int64_t>> shapeOf(mlir::Value);
  /// Does the same for positions along `axes`: a run-time dimension has the size that the type of an argument names, or
  /// that of the axis in `read`.
  std::optional<std::vector<int64_t>> shapeOf(attn::PositionOp, const SpecDimensions &axes, const AxisSizes &read);
  Node *fail(mlir::Operation *, const std::string &why);
  std::vector<Node *> fail(const std::string &why);
  /// Returns the index operands of an operation by the names in its texts.
  IndexSources sourcesOf(mlir::Operation *);
  /// Adds the sizes of axes that only the reads of index operands determine.
  void addSizesOfReads(const Expression &, const IndexSources &, AxisSizes &sizes);
  template <typename T> T *own(std::unique_ptr<T> node) {
    T *raw = node.get();
    nodes.push_back(std::move(node));
    return raw;
  }

  std::vector<std::unique_ptr<Node>> &nodes;
  Failure &failure;
  llvm::DenseMap<mlir::Value, Node *> known;
  llvm::DenseMap<mlir::Value, int64_t> integers;                           // values of type index
  llvm::DenseMap<mlir::Value, std::shared_ptr<const IndexSource>> indices; // arguments of i32
  std::map<std::string, int64_t> runtimeSizes;                             // by their names in the arguments' shapes
  std::optional<int64_t> runtimeSize; // set if all run-time sizes of the arguments are equal
};

} // namespace skewer::reference
