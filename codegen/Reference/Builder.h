// From the operations of a level 1 function to nodes.
#pragma once
#include "codegen/Reference/IndexText.h"
#include "codegen/Reference/Node.h"
#include "codegen/Reference/Reference.h"
#include "dialect/IR/Reductions.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "llvm/ADT/DenseMap.h"

namespace skewer::reference {

/// BuildNumbers.cpp: the nearest f64.
double toDouble(llvm::APFloat);

class NodeBuilder {
public:
  NodeBuilder(std::vector<std::unique_ptr<Node>> &nodes, Failure &failure) : nodes(nodes), failure(failure) {}
  /// The nodes of the function's results; none, with the failure reported, if there is one without.
  std::vector<Node *> build(mlir::func::FuncOp, std::vector<Tensor> inputs);

private:
  Node *build(mlir::Operation *);
  Node *einsum(mlir::Operation *, llvm::StringRef spec, mlir::ValueRange inputs, mlir::DictionaryAttr sizes,
               std::optional<llvm::StringRef> guard, bool moves);
  /// A softmax or a logsumexp.
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
  /// The result's shape where its type leaves nothing to run time.
  std::optional<std::vector<int64_t>> shapeOf(mlir::Value);
  Node *fail(mlir::Operation *, const std::string &why);
  std::vector<Node *> fail(const std::string &why);
  /// The index operands of an operation by the names that its texts have for them.
  IndexSources sourcesOf(mlir::Operation *);
  /// Sizes of axes by which index operands are read and that nothing else tells.
  void addSizesOfReads(const Expression &, const IndexSources &, std::map<std::string, int64_t> &sizes);
  template <typename T> T *own(std::unique_ptr<T> node) {
    T *raw = node.get();
    nodes.push_back(std::move(node));
    return raw;
  }

  std::vector<std::unique_ptr<Node>> &nodes;
  Failure &failure;
  llvm::DenseMap<mlir::Value, Node *> known;
  llvm::DenseMap<mlir::Value, int64_t> integers;                           // of type index
  llvm::DenseMap<mlir::Value, std::shared_ptr<const IndexSource>> indices; // arguments of i32
  std::map<std::string, int64_t> runtimeSizes; // by the names that the arguments' shapes have for them
  std::optional<int64_t> runtimeSize;          // where every run-time size of the arguments is the same
};

} // namespace skewer::reference
