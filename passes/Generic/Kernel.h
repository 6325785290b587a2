// The generic lowering: emits a kernel as stages (Stages.h), each with its own phases of loops over buffers. Engines
// override hooks for stages that they compute better than such loops (fused attentions, matrix products):
// passes/Cpu/CpuStages.h, passes/Gpu/GpuStages.h.
//
// The result of a stage has a buffer in the shared workspace, or is an output of the kernel. The innermost loop
// computes vectors if the subscripts allow it; the outermost axes are work items. Sums are in f32, in chains
// (Summation.h).
#pragma once
#include "dialect/IR/Term.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"
#include "passes/Emit/Buffer.h"
#include "passes/Emit/EmitIndex.h"
#include "passes/Emit/PhaseFunction.h"
#include "passes/Stages/Stages.h"
#include "llvm/ADT/DenseMap.h"
#include <functional>

namespace skewer {
struct PrefixSum;
namespace attn {
class ExtremumOp;
}
} // namespace skewer

namespace skewer::generic {

/// The number of elements of a vector: one register of AVX2, half of one of AVX-512.
constexpr int64_t kLanes = 8;

/// A tensor at level 4.
struct Storage {
  mlir::Value memory;           // memref<?xT>, flat, row-major, in the phase that is being emitted
  std::optional<Place> place;   // of the tensor, if it has a buffer
  std::optional<double> number; // the value of all elements, if they are one known number
  std::vector<Extent> shape;
  mlir::Type element;
  /// Whether zeros may stand for weights that a mask hides. A product with such a zero is 0, whatever the other factor.
  bool masked = false;
  bool finite = false; // a constant without NaN and infinity, so that its product with 0 is 0
};

/// Returns whether zeros of operand `number` of a product hide the other operands, which may be NaN or infinite.
bool hidesOthers(llvm::ArrayRef<const Storage *> operands, size_t number);

struct Axis {
  std::string name;
  Extent extent;
};
/// Values of axes (and `size_x` for the run-time size of axis x) while a loop's body is emitted.
using Symbols = std::map<std::string, mlir::Value>;

/// Returns the symbol of a run-time size in subscripts that were composed from several maps.
std::string symbolOf(const Extent &);

/// One operand of a product.
struct Factor {
  const Storage *storage;
  std::vector<subscript::Expr> subscripts;
  mlir::Value computed = {}; // the tensor, if it is not in memory: its elements are computed for each product
};

/// target[subscripts] = finish(Σ over `contracted` of Π factors at which the guard holds), over the `parallel` axes.
struct Contraction {
  std::vector<Factor> factors;
  std::vector<Axis> parallel, contracted;
  std::optional<subscript::Expr> guard;
  const Storage *target = nullptr;
  std::vector<subscript::Expr> targetSubscripts;
  std::function<mlir::Value(mlir::Value)> finish; // on an f32 or a vector of them; may be absent
};

/// A term of an attention at one query and key (for a term of the values, also one column), by its index expressions.
struct ScoreTerm {
  std::shared_ptr<const attn::Term> term;
  Contraction product;                // over the operands that are factors
  std::vector<Contraction> arguments; // single elements of each operand, for the function
};

class Kernel {
public:
  Kernel(mlir::ModuleOp module, mlir::func::FuncOp function);
  virtual ~Kernel() = default;
  /// Adds the phase functions, attaches the plan and removes the function. Returns false after a diagnostic.
  bool emit();

protected:
  bool fail(mlir::Operation *, const llvm::Twine &);

  //===- Hooks of an engine ------------------------------------------------===//
  /// Changes the function before it is divided into stages.
  virtual void prepare(mlir::func::FuncOp) {}
  /// Returns whether the engine computes an einsum as a matrix product.
  virtual bool isMatrixProduct(attn::EinsumOp) { return false; }
  /// Returns whether a product must check which elements of an operand are 0 (hidesOthers).
  bool asksForZeros(attn::EinsumOp);
  /// Called for each stage, in order, before buffers are planned. The results of earlier stages are `stored` by then.
  virtual void planStage(const Stage &) {}
  /// The memory that a stage needs in addition to its result.
  struct OwnMemory {
    struct Shared {
      Place *place;  // set to the place of the memory
      int64_t bytes; // 0: none
      std::vector<Extent> times = {};
      bool prepared = false; // in prepared memory, which phases with `prepares` write
    };
    llvm::SmallVector<Shared, 2> shared;
    int64_t localBytes = 0;
    const char *title = nullptr; // the name of the stage in the plan; null: the name of its kind
  };
  virtual OwnMemory ownMemory(const Stage &) { return {}; }
  /// One row of a softmax: its axes, the subscripts of an element in both tensors, and the mask. `emitSoftmaxRow`
  /// returns false if the row is computed element by element.
  struct SoftmaxRow {
    const Storage &input, &result;
    llvm::ArrayRef<Axis> inner;
    llvm::ArrayRef<subscript::Expr> subscripts;
    const std::optional<subscript::Expr> &mask;
    Symbols &symbols;
  };
  virtual bool emitSoftmaxRow(const SoftmaxRow &) { return false; }
  /// Returns the number of items of a phase that has `each` items for every index of the outer axes, which may have
  /// run-time sizes.
  static SizeExpression itemsOf(llvm::ArrayRef<Axis> outer, int64_t each);

  //===- Stages that can run before a call (Prepared.cpp) ---===//
  /// Returns whether the engine's phases support prepared memory, so that constant stages are separate from the others.
  virtual bool knowsPrepared() const { return false; }
  void findPrepared();
  bool mayPrepare = false; // whether stages may be prepared once
  /// Returns whether a tensor in memory is the same at every call.
  bool isConst(mlir::Value);
  /// Returns the memory that contains a place.
  mlir::Value memoryAt(const PhaseFunction &opened, const Place &place) {
    return place.prepared ? opened.prepared : opened.shared;
  }

  //===- Facts that are known before code is emitted (Shapes.cpp) ---===//
  bool describe(mlir::Operation *); // fills in `storage`, except for the memory
  std::optional<std::vector<Extent>> shapeOf(mlir::Operation *);
  std::optional<std::vector<Extent>> shapeOfType(mlir::Operation *);
  std::optional<std::vector<Extent>> shapeByText(mlir::Operation *);
  std::vector<Extent> shapeOfRows(attn::LogSumExpOp);
  std::optional<std::vector<Extent>> keepRuntimeSizes(mlir::Operation *, std::vector<Extent> shape);
  /// Returns the size of each axis, run-time sizes by name; nothing if a run-time size has no name.
  std::optional<std::map<std::string, Extent>> extentsOf(mlir::Operation *, const attn::ResolvedEinsum &);
  std::optional<std::vector<Extent>> extentsOf(const subscript::Dimensions &, const std::map<std::string, Extent> &);
  void setDomain(const std::map<std::string, Extent> &); // to the ranges of the axes of an operation
  void collectExtents(const attn::ResolvedEinsum &, mlir::ValueRange operands, std::map<std::string, Extent> &);
  /// Returns the sizes of the axes of an attention's score and values.
  std::optional<std::map<std::string, Extent>> extentsOf(attn::AttentionOp);
  /// Sets the offsets of all buffers in the shared workspace (PlanBuffers.cpp).
  bool planBuffers();

  //===- Phases (Phases.cpp) ---===//
  /// Returns the tensors in memory that a stage reads.
  llvm::SmallVector<mlir::Value> readsOf(const Stage &);
  /// Begins a phase that writes the result of the stage, and opens the memory of all tensors that the stage reads.
  void beginPhase(const Stage &, llvm::StringRef title);
  /// Sets the memory, in the phase, of all tensors that the stage reads or writes.
  void openMemory(const Stage &, const PhaseFunction &);
  mlir::Value memoryIn(const PhaseFunction &, mlir::Value);
  mlir::Value address(const Place &); // in bytes
  /// Makes work items of the first axes of a phase: as few axes as give enough items, but at most `most` axes. The body
  /// is emitted once, in a loop over the items, and gets the remaining axes.
  void items(llvm::ArrayRef<Axis>, size_t most, Symbols &, const std::function<void(llvm::ArrayRef<Axis>)> &body);

  //===- Code of each stage; false after a diagnostic --------------------------===//
  virtual bool emit(const Stage &);
  bool emitEinsum(attn::EinsumOp);
  Contraction contractionOf(const attn::ResolvedEinsum &, const std::map<std::string, Extent> &); // without operands
  bool emitConcat(const Stage &, attn::ConcatOp);
  bool emitSoftmax(attn::SoftmaxOp);
  bool emitLogSumExp(attn::LogSumExpOp);
  struct Rows;
  std::optional<Rows> rowsOf(mlir::Operation *);
  bool emitRows(attn::AttentionOp);
  struct ScoreRow;
  /// The plan of an attention that is computed by its index expressions (Terms.cpp).
  struct AttentionPlan {
    attn::ScoreSpace space;
    std::vector<Axis> outer, keys, width; // `outer`: leading axes and queries; `width`: columns of the values
    std::optional<subscript::Expr> mask;
    std::vector<ScoreTerm> terms, valueTerms;
    std::vector<subscript::Expr> value, result, lse, weights; // subscripts
    Symbols symbols;
  };
  std::optional<AttentionPlan> planAttention(attn::AttentionOp);
  mlir::Value sumOf(const std::vector<ScoreTerm> &, Symbols &, uint64_t sum = 0);
  /// Returns the score of a query and a key, as the softmax gets it, or their direct weight.
  mlir::Value scoreOf(attn::AttentionOp, const AttentionPlan &, Symbols &);
  bool emitElementwise(const Stage &);

  //===- Element by element (Elementwise.cpp) ---===//
  using Point = std::vector<subscript::Expr>;
  /// Returns an element of a tensor that is in memory or computed when it is read, as f32; with a `vectorAxis`,
  /// `kLanes` elements along that axis. Null after a diagnostic.
  mlir::Value element(mlir::Value tensor, const Point &, const Symbols &, const std::string &vectorAxis);
  mlir::Value produce(mlir::Operation *, const Point &, const Symbols &, const std::string &vectorAxis);
  mlir::Value arithmetic(mlir::Operation *, const Point &, const Symbols &, const std::string &vectorAxis);
  /// Returns the value of the arithmetic that a stage applies to its result `made`, at one point, or at `kLanes` points
  /// along an axis. Null after a failure.
  mlir::Value finished(const Stage &, const std::vector<subscript::Expr> &point, const Symbols &,
                       const std::string &vectorAxis, mlir::Value made);
  /// Returns whether a tensor is computed from positions when it is read. `precise` returns an element of it in f64,
  /// for products and sums of positions.
  bool dependsOnPosition(mlir::Value tensor);
  mlir::Value precise(mlir::Value tensor, const Point &, const Symbols &, const std::string &vectorAxis);
  /// Returns whether `element` can return vectors along an axis.
  bool vectorises(mlir::Value tensor, const Point &, const std::string &axis);
  bool vectorises(mlir::Operation *, const Point &, const std::string &axis);
  void addRuntimeSymbols(Symbols &);
  // Reads at any known distances, for vectors whose lanes are known at compile time (`pinned`; OperandRows.cpp).
  std::optional<llvm::SmallVector<int64_t>> lanePattern(const Storage &, const Point &, const std::string &axis);
  mlir::Value loadPattern(const Storage &, mlir::Value place, llvm::ArrayRef<int64_t> pattern);
  void computeRow(mlir::Value tensor, mlir::Value first, mlir::Value target, mlir::Value at, double scale,
                  int64_t lanes);
  /// Returns whether a tensor is in memory when a stage runs, and not computed when it is read.
  bool isStored(mlir::Value tensor) { return stored.contains(memoryOf(tensor)); }
  /// An index map, or a product of index maps, at a point of its result: the points of its operands, the condition that
  /// they are inside, and the value outside.
  struct Moved {
    std::vector<std::pair<mlir::Value, Point>> reads;
    subscript::Expr inside = 1;
    double padding = 0;
  };
  /// Returns this form of an operation; nothing if the operation is neither, or has no map.
  std::optional<Moved> moved(mlir::Operation *, const Point &);
  /// Returns the axes of dimensions at a point; nothing for a product of axes with a run-time size.
  std::optional<subscript::Substitution> axesAt(const subscript::Dimensions &, const subscript::AxisSizes &,
                                                const Point &);
  std::optional<subscript::Expr> positionAt(attn::PositionOp, const Point &);

  //===- Contractions (Contraction.cpp) ---===//
  void contract(const Contraction &, Symbols &);
  /// Returns the sum over the `contracted` axes at one point of the other axes, as one f32.
  mlir::Value dot(const Contraction &, Symbols &);
  mlir::Value elementOf(const Factor &, const Symbols &, const std::string &vectorAxis);
  mlir::Value addProduct(mlir::Value sum, const Contraction &, const Symbols &, const std::string &vectorAxis);
  /// Returns how the address of a factor moves with an axis: 0, or 1 (consecutive); nothing if no vector can use it.
  std::optional<int> step(const Storage &, llvm::ArrayRef<subscript::Expr>, const std::string &axis);
  bool vectorises(const Contraction &, const Axis &, int64_t lanes = kLanes);
  /// Moves an axis along which the operands have consecutive elements behind the other axes, if no other axis gives
  /// vectors.
  void turnToOperands(Contraction &);
  void contractAcross(const Contraction &, Symbols &);
  /// Finishes a sum, and stores it in the target's element at these symbols.
  void put(mlir::Value sum, const Contraction &, const Symbols &);

  //===- Along axes (PrefixSums.cpp, Extrema.cpp) ---===//
  void emitPrefixSum(Contraction, const PrefixSum &, Symbols &);
  void runAcross(const Contraction &, const PrefixSum &, int64_t size, Symbols &, const std::string &vectorAxis,
                 mlir::Value first, int64_t vectors);
  void runWithin(const Contraction &, const PrefixSum &, int64_t size, Symbols &);
  bool emitExtremum(attn::ExtremumOp);
  mlir::Value extremeOf(const Contraction &, bool least, Symbols &);

  //===- Building blocks (Loops.cpp) ---===//
  mlir::Value index(int64_t);
  mlir::Value real(double);
  mlir::Value real(double, bool vector);
  mlir::Value extent(const Extent &);
  mlir::Value elements(llvm::ArrayRef<Extent>);
  void loop(mlir::Value low, mlir::Value high, int64_t step, const std::function<void(mlir::Value)> &body);
  void loops(llvm::ArrayRef<Axis>, Symbols &, const std::function<void()> &body);
  /// Emits the same loops, carries values from one iteration to the next, and returns the results of the last one.
  llvm::SmallVector<mlir::Value> carry(llvm::ArrayRef<Axis>, Symbols &, mlir::ValueRange start,
                                       const std::function<llvm::SmallVector<mlir::Value>(mlir::ValueRange)> &body);
  /// Emits the same loops for sums, and returns `zeros` plus all that the body adds, `terms` at a time. For any axes,
  /// it is a tree of sums, each of at most `kChain` terms.
  llvm::SmallVector<mlir::Value> sums(llvm::ArrayRef<Axis>, Symbols &, mlir::ValueRange zeros, int64_t terms,
                                      const std::function<llvm::SmallVector<mlir::Value>(mlir::ValueRange)> &body);
  /// Returns zeros plus the sum over at most `steps` steps of `step` positions, up to `high`. The sum consists of
  /// chains of `chain` steps, each from zero. The chains are added in groups, and the groups in groups again.
  llvm::SmallVector<mlir::Value>
  sumsOfChains(mlir::Value high, int64_t step, int64_t steps, int64_t chain, mlir::ValueRange zeros,
               const std::function<llvm::SmallVector<mlir::Value>(mlir::Value at, mlir::ValueRange)> &body);
  mlir::Value flat(const Storage &, llvm::ArrayRef<mlir::Value> indices);
  mlir::Value position(const Storage &, llvm::ArrayRef<subscript::Expr>, const Symbols &);
  FindIndices indexOperands(); // finds the kernel's index operands in the phase that is being emitted
  IndexEmitter::Read reads();  // loads elements of these operands
  mlir::Value value(const subscript::Expr &, const Symbols &);     // index
  mlir::Value predicate(const subscript::Expr &, const Symbols &); // i1
  /// Loads an element as f32, or a vector of `kLanes` consecutive ones.
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
  std::vector<Stage> stages;
  llvm::DenseSet<mlir::Value> stored;   // arguments, numbers, results of stages
  llvm::DenseSet<mlir::Value> prepared; // results of stages that depend on `const` arguments alone
  subscript::Domain domain;             // of the axes of an element-wise loop
  int64_t vectorLanes = kLanes;
  bool packsRows = true;     // matrix products compute their operand rows while they pack them
  bool elementItems = false; // every element of a result is an item, and there are no vectors
  bool pinned = false;       // the domain of the vector axis is exactly the lanes
  llvm::DenseMap<mlir::Value, Storage> storage;
  llvm::DenseMap<mlir::Value, unsigned> outputOf; // values that are written to an output of the kernel; its number
  llvm::DenseMap<mlir::Operation *, std::string> globals;            // names of the constants' globals
  std::vector<std::tuple<mlir::Value, Point, mlir::Value>> computed; // elements that can be reused, see `element`
  // State of the phase that is being emitted.
  PhaseFunction phase;
  std::map<std::string, mlir::Value> sizes; // run-time sizes
  std::string emissionFailure;
};

} // namespace skewer::generic
