// The generic path: every operation of a level 1 function as loops over buffers, for what did not fuse.
//
// Each intermediate tensor has a buffer in the shared workspace; element-wise operations are linalg.generic, operations
// with index expressions are loops whose innermost run is a vector where the subscripts allow it. Sums are in f32.
#pragma once
#include "dialect/IR/Attn.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"
#include "passes/Lowering/KernelPlan.h"
#include "llvm/ADT/DenseMap.h"
#include <functional>

namespace skewer::generic {

/// Elements of a vector: one register of AVX2, half of one of AVX-512.
constexpr int64_t kLanes = 8;

/// A tensor at level 4.
struct Storage {
  mlir::Value memory;           // memref<?xT>, flat, row-major; null for one number everywhere
  std::optional<double> number; // that number
  std::vector<Extent> shape;
  mlir::Type element;
  bool masked =
      false; // zeros may stand for weights that a mask took away: what they are multiplied with does not count
};

struct Axis {
  std::string name;
  Extent extent;
};
/// Values of axes (and `size_x` for the run-time size of axis x) while a loop's body is emitted.
using Symbols = std::map<std::string, mlir::Value>;

/// One operand of a product.
struct Factor {
  const Storage *storage;
  std::vector<subscript::Expr> subscripts;
};

/// target[subscripts] = finish(Σ over `contracted` of Π factors, where the guard holds), over the `parallel` axes.
struct Contraction {
  std::vector<Factor> factors;
  std::vector<Axis> parallel, contracted;
  std::optional<subscript::Expr> guard;
  const Storage *target = nullptr;
  std::vector<subscript::Expr> targetSubscripts;
  std::function<mlir::Value(mlir::Value)> finish; // of an f32 or of a vector of them; may be absent
};

class Kernel {
public:
  Kernel(mlir::ModuleOp module, mlir::func::FuncOp function);
  /// Adds the phase function, attaches the plan and removes the level 1 function. False after a diagnostic.
  bool emit();

private:
  bool fail(mlir::Operation *, const llvm::Twine &);

  //===- What is known before code is emitted (GenericShapes.cpp) -----------------===//
  bool describe(mlir::Operation *); // fills in `storage`, but for the memory
  std::optional<std::vector<Extent>> shapeOf(mlir::Operation *);
  /// The size of each axis, run-time sizes by name. Nothing where a run-time size has no name.
  std::optional<std::map<std::string, Extent>> extentsOf(const attn::ResolvedEinsum &, mlir::ValueRange operands);
  std::optional<std::vector<Extent>> extentsOf(const subscript::Dimensions &, const std::map<std::string, Extent> &);
  /// Offsets of all intermediates in the shared workspace, and their memory.
  bool planWorkspace();

  //===- What each operation becomes; false after a diagnostic --------------------===//
  bool emit(mlir::Operation *);
  bool emitEinsum(attn::EinsumOp);
  bool emitIndexMap(attn::IndexMapOpInterface);
  bool emitPosition(attn::PositionOp);
  bool emitSoftmax(attn::SoftmaxOp);
  bool emitAttention(attn::AttentionOp);
  bool emitElementwise(mlir::Operation *);
  void copy(const Storage &from, const Storage &to);

  //===- Contractions (GenericContraction.cpp) -------------------------------------===//
  void contract(const Contraction &, Symbols &);
  /// Σ over `contracted` alone, as one f32.
  mlir::Value dot(const Contraction &, Symbols &);
  mlir::Value addProduct(mlir::Value sum, const Contraction &, const Symbols &, const std::string &vectorAxis);
  /// How a factor's address moves with an axis: 0, 1 (consecutive), or nothing that a vector could use.
  std::optional<int> step(const Storage &, llvm::ArrayRef<subscript::Expr>, const std::string &axis);
  bool vectorises(const Contraction &, const Axis &);

  //===- Building blocks (GenericLoops.cpp) ----------------------------------------===//
  mlir::Value index(int64_t);
  mlir::Value real(double);
  mlir::Value extent(const Extent &);
  mlir::Value elements(llvm::ArrayRef<Extent>);
  void loop(mlir::Value low, mlir::Value high, int64_t step, const std::function<void(mlir::Value)> &body);
  void loops(llvm::ArrayRef<Axis>, Symbols &, const std::function<void()> &body);
  /// The same, carrying values from one iteration to the next; the results of the last one.
  llvm::SmallVector<mlir::Value> carry(llvm::ArrayRef<Axis>, Symbols &, mlir::ValueRange start,
                                       const std::function<llvm::SmallVector<mlir::Value>(mlir::ValueRange)> &body);
  mlir::Value flat(const Storage &, llvm::ArrayRef<mlir::Value> indices);
  mlir::Value position(const Storage &, llvm::ArrayRef<subscript::Expr>, const Symbols &);
  mlir::Value value(const subscript::Expr &, const Symbols &);     // index
  mlir::Value predicate(const subscript::Expr &, const Symbols &); // i1
  /// An element as f32, or a vector of `kLanes` consecutive ones.
  mlir::Value load(const Storage &, mlir::Value position, bool vector = false);
  void store(mlir::Value, const Storage &, mlir::Value position);
  mlir::Value widen(mlir::Value);
  mlir::Value narrow(mlir::Value, mlir::Type element);
  mlir::Value spread(mlir::Value scalar); // to a vector
  mlir::Value guarded(mlir::Value predicate, mlir::Value otherwise, const std::function<mlir::Value()> &body);
  void addRuntimeSizes(const std::map<std::string, Extent> &, Symbols &);

  mlir::ModuleOp module;
  mlir::func::FuncOp source;
  mlir::ImplicitLocOpBuilder b;
  KernelPlan plan;
  llvm::DenseMap<mlir::Value, Storage> storage;
  llvm::DenseMap<mlir::Operation *, Storage> scoreRows; // of attentions: one row of scores
  std::map<std::string, mlir::Value> sizes;             // run-time sizes
  mlir::Value shared, output;
  mlir::Operation *last = nullptr; // the operation whose result is the function's
  std::string emissionFailure;
};

} // namespace skewer::generic
