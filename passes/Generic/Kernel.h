// A kernel as stages (Stages.h), each with phases of its own: loops over buffers. What an engine does better than such
// loops (fused attentions, matrix products) it takes by overriding the hooks: passes/Cpu/CpuStages.h,
// passes/Gpu/GpuStages.h.
//
// The result of a stage has a buffer in the shared workspace, or is the kernel's output. The loops' innermost run is a
// vector where the subscripts allow it; the outermost axes count work items. Sums are in f32, in chains (Summation.h).
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

/// Elements of a vector: one register of AVX2, half of one of AVX-512.
constexpr int64_t kLanes = 8;

/// A tensor at level 4.
struct Storage {
  mlir::Value memory;           // memref<?xT>, flat, row-major, in the phase that is being emitted
  std::optional<Place> place;   // of a buffer
  std::optional<double> number; // that number
  std::vector<Extent> shape;
  mlir::Type element;
  bool masked =
      false; // zeros may stand for weights that a mask took away: what they are multiplied with does not count
  bool finite = false; // a constant without NaN and infinity, so that 0 times it is 0
};

/// Whether zeros of one operand of a product say that the others do not count: they may be NaN or infinite.
bool hidesOthers(llvm::ArrayRef<const Storage *> operands, size_t number);

struct Axis {
  std::string name;
  Extent extent;
};
/// Values of axes (and `size_x` for the run-time size of axis x) while a loop's body is emitted.
using Symbols = std::map<std::string, mlir::Value>;

/// The symbol of a run-time size inside subscripts that were composed of several maps'.
std::string symbolOf(const Extent &);

/// One operand of a product.
struct Factor {
  const Storage *storage;
  std::vector<subscript::Expr> subscripts;
  mlir::Value computed = {}; // the tensor, if it is in no memory: its elements are computed where they are multiplied
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

/// A term of an attention at one query, key and, if it is one of the values, column: by its index expressions.
struct ScoreTerm {
  std::shared_ptr<const attn::Term> term;
  Contraction product;                // over the operands that are factors
  std::vector<Contraction> arguments; // single elements of each operand, for the function
};

class Kernel {
public:
  Kernel(mlir::ModuleOp module, mlir::func::FuncOp function);
  virtual ~Kernel() = default;
  /// Adds the phase functions, attaches the plan and removes the function. False after a diagnostic.
  bool emit();

protected:
  bool fail(mlir::Operation *, const llvm::Twine &);

  //===- What an engine does by itself ------------------------------------------------===//
  /// Changes of the function before it is divided into stages.
  virtual void prepare(mlir::func::FuncOp) {}
  /// Whether an einsum is made as a matrix product.
  virtual bool isMatrixProduct(attn::EinsumOp) { return false; }
  /// Whether a product asks of an operand which of its elements are 0.
  bool asksForZeros(attn::EinsumOp);
  /// Called for each stage, in order, before buffers are planned; what earlier stages make is `stored` by then.
  virtual void planStage(const Stage &) {}
  /// Memory that a stage wants besides its result's.
  struct OwnMemory {
    struct Shared {
      Place *place;  // is set to where it lies
      int64_t bytes; // 0: none
      std::vector<Extent> times = {};
      bool prepared = false; // in prepared memory: what phases with `prepares` write
    };
    llvm::SmallVector<Shared, 2> shared;
    int64_t localBytes = 0;
    const char *title = nullptr; // what the stage is called in the plan, if not by its kind
  };
  virtual OwnMemory ownMemory(const Stage &) { return {}; }
  /// One row of a softmax: its axes, where an element stands in both tensors, and the mask. False: element by element.
  struct SoftmaxRow {
    const Storage &input, &result;
    llvm::ArrayRef<Axis> inner;
    llvm::ArrayRef<subscript::Expr> subscripts;
    const std::optional<subscript::Expr> &mask;
    Symbols &symbols;
  };
  virtual bool emitSoftmaxRow(const SoftmaxRow &) { return false; }
  /// Items of a phase that has `each` of them for every index of the outer axes, which may be of run-time size.
  static SizeExpression itemsOf(llvm::ArrayRef<Axis> outer, int64_t each);

  //===- What may be made before a call (Prepared.cpp) ---===//
  /// Whether constant stages are apart from the others: the engine's phases know prepared memory.
  virtual bool knowsPrepared() const { return false; }
  void findPrepared();
  bool mayPrepare = false; // something may be made once
  /// Whether a tensor in memory is the same at every call.
  bool isConst(mlir::Value);
  /// The memory that a place is an offset in.
  mlir::Value memoryAt(const PhaseFunction &opened, const Place &place) {
    return place.prepared ? opened.prepared : opened.shared;
  }

  //===- What is known before code is emitted (Shapes.cpp) ---===//
  bool describe(mlir::Operation *); // fills in `storage`, but for the memory
  std::optional<std::vector<Extent>> shapeOf(mlir::Operation *);
  std::optional<std::vector<Extent>> shapeOfType(mlir::Operation *);
  std::optional<std::vector<Extent>> shapeByText(mlir::Operation *);
  std::vector<Extent> shapeOfRows(attn::LogSumExpOp);
  std::optional<std::vector<Extent>> keepRuntimeSizes(mlir::Operation *, std::vector<Extent> shape);
  /// The size of each axis, run-time sizes by name. Nothing where a run-time size has no name.
  std::optional<std::map<std::string, Extent>> extentsOf(mlir::Operation *, const attn::ResolvedEinsum &);
  std::optional<std::vector<Extent>> extentsOf(const subscript::Dimensions &, const std::map<std::string, Extent> &);
  void setDomain(const std::map<std::string, Extent> &); // to what the axes of an operation run over
  void collectExtents(const attn::ResolvedEinsum &, mlir::ValueRange operands, std::map<std::string, Extent> &);
  /// Of the axes of an attention's score and values.
  std::optional<std::map<std::string, Extent>> extentsOf(attn::AttentionOp);
  /// Offsets of all buffers in the shared workspace (PlanBuffers.cpp).
  bool planBuffers();

  //===- Phases (Phases.cpp) ---===//
  /// The tensors in memory that a stage reads.
  llvm::SmallVector<mlir::Value> readsOf(const Stage &);
  /// Begins a phase in which `result` is written; memory of what the stage reads is at hand.
  void beginPhase(const Stage &, llvm::StringRef title);
  /// Gives everything that the stage reads or writes its memory in the phase.
  void openMemory(const Stage &, const PhaseFunction &);
  mlir::Value memoryIn(const PhaseFunction &, mlir::Value);
  mlir::Value address(const Place &); // in bytes
  /// The phase's work items: the first axes, as few as give enough of them but no more than `most`. The body is emitted
  /// once, in a loop over the items, and gets the remaining axes.
  void items(llvm::ArrayRef<Axis>, size_t most, Symbols &, const std::function<void(llvm::ArrayRef<Axis>)> &body);

  //===- What each stage becomes; false after a diagnostic --------------------------===//
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
  /// An attention that is computed by its index expressions (Terms.cpp).
  struct AttentionPlan {
    attn::ScoreSpace space;
    std::vector<Axis> outer, keys, width; // leading axes and queries; the values' columns
    std::optional<subscript::Expr> mask;
    std::vector<ScoreTerm> terms, valueTerms;
    std::vector<subscript::Expr> value, result, lse, weights; // subscripts
    Symbols symbols;
  };
  std::optional<AttentionPlan> planAttention(attn::AttentionOp);
  mlir::Value sumOf(const std::vector<ScoreTerm> &, Symbols &, uint64_t sum = 0);
  /// What the softmax sees of a query and a key, or their direct weight.
  mlir::Value scoreOf(attn::AttentionOp, const AttentionPlan &, Symbols &);
  bool emitElementwise(const Stage &);

  //===- Element by element (Elementwise.cpp) ---===//
  using Point = std::vector<subscript::Expr>;
  /// An element of a tensor that is in memory or computed on the way, as f32; along `vectorAxis` (if not empty)
  /// `kLanes` of them. Null after a diagnostic.
  mlir::Value element(mlir::Value tensor, const Point &, const Symbols &, const std::string &vectorAxis);
  mlir::Value produce(mlir::Operation *, const Point &, const Symbols &, const std::string &vectorAxis);
  mlir::Value arithmetic(mlir::Operation *, const Point &, const Symbols &, const std::string &vectorAxis);
  /// Arithmetic behind what a stage finishes, at one point of it, or at `kLanes` points along an axis. Null after a
  /// failure.
  mlir::Value finished(const Stage &, const std::vector<subscript::Expr> &point, const Symbols &,
                       const std::string &vectorAxis, mlir::Value made);
  /// Whether it is computed from positions on the way; and the element in f64, of products and sums of positions.
  bool dependsOnPosition(mlir::Value tensor);
  mlir::Value precise(mlir::Value tensor, const Point &, const Symbols &, const std::string &vectorAxis);
  /// Whether `element` can give vectors along an axis.
  bool vectorises(mlir::Value tensor, const Point &, const std::string &axis);
  bool vectorises(mlir::Operation *, const Point &, const std::string &axis);
  void addRuntimeSymbols(Symbols &);
  // Where the lanes of a vector are known at compile time (`pinned`): any reads at known distances (OperandRows.cpp).
  std::optional<llvm::SmallVector<int64_t>> lanePattern(const Storage &, const Point &, const std::string &axis);
  mlir::Value loadPattern(const Storage &, mlir::Value place, llvm::ArrayRef<int64_t> pattern);
  void computeRow(mlir::Value tensor, mlir::Value first, mlir::Value target, mlir::Value at, double scale,
                  int64_t lanes);
  /// Whether a tensor is in memory when a stage runs, and not computed on the way.
  bool isStored(mlir::Value tensor) { return stored.contains(memoryOf(tensor)); }
  /// An index map, or a product of some, at a point of its result: the points of its operands, where they are inside,
  /// and what is outside.
  struct Moved {
    std::vector<std::pair<mlir::Value, Point>> reads;
    subscript::Expr inside = 1;
    double padding = 0;
  };
  /// Nothing if the operation is neither, or says no map.
  std::optional<Moved> moved(mlir::Operation *, const Point &);
  /// The axes of dimensions at a point. Nothing for a product of axes with a run-time size.
  std::optional<subscript::Substitution> axesAt(const subscript::Dimensions &, const subscript::AxisSizes &,
                                                const Point &);
  std::optional<subscript::Expr> positionAt(attn::PositionOp, const Point &);

  //===- Contractions (Contraction.cpp) ---===//
  void contract(const Contraction &, Symbols &);
  /// Σ over `contracted` alone, as one f32.
  mlir::Value dot(const Contraction &, Symbols &);
  mlir::Value elementOf(const Factor &, const Symbols &, const std::string &vectorAxis);
  mlir::Value addProduct(mlir::Value sum, const Contraction &, const Symbols &, const std::string &vectorAxis);
  /// How a factor's address moves with an axis: 0, 1 (consecutive), or nothing that a vector could use.
  std::optional<int> step(const Storage &, llvm::ArrayRef<subscript::Expr>, const std::string &axis);
  bool vectorises(const Contraction &, const Axis &, int64_t lanes = kLanes);
  /// Puts the axis that the operands' elements lie side by side along behind the others, where no other gives vectors.
  void turnToOperands(Contraction &);
  void contractAcross(const Contraction &, Symbols &);
  /// Finishes a sum, and stores it where the target's element at these symbols is.
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
  /// The same, carrying values from one iteration to the next; the results of the last one.
  llvm::SmallVector<mlir::Value> carry(llvm::ArrayRef<Axis>, Symbols &, mlir::ValueRange start,
                                       const std::function<llvm::SmallVector<mlir::Value>(mlir::ValueRange)> &body);
  /// The same for sums: `zeros` and what the body adds, `terms` at a time. Whatever the axes, a tree of sums of which
  /// none has more than `kChain` terms.
  llvm::SmallVector<mlir::Value> sums(llvm::ArrayRef<Axis>, Symbols &, mlir::ValueRange zeros, int64_t terms,
                                      const std::function<llvm::SmallVector<mlir::Value>(mlir::ValueRange)> &body);
  /// zeros + `steps` steps of `step` positions, or fewer, up to `high`: chains of `chain` steps from zero each, which are
  /// added up in groups, and those in groups again.
  llvm::SmallVector<mlir::Value>
  sumsOfChains(mlir::Value high, int64_t step, int64_t steps, int64_t chain, mlir::ValueRange zeros,
               const std::function<llvm::SmallVector<mlir::Value>(mlir::Value at, mlir::ValueRange)> &body);
  mlir::Value flat(const Storage &, llvm::ArrayRef<mlir::Value> indices);
  mlir::Value position(const Storage &, llvm::ArrayRef<subscript::Expr>, const Symbols &);
  FindIndices indexOperands(); // the kernel's, in the phase that is being emitted
  IndexEmitter::Read reads(); // loads of the kernel's index operands in the phase that is being emitted
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
  std::vector<Stage> stages;
  llvm::DenseSet<mlir::Value> stored;   // arguments, numbers, stages' results
  llvm::DenseSet<mlir::Value> prepared; // those of stages that `const` arguments alone determine
  subscript::Domain domain;             // of the axes of an element-wise loop
  int64_t vectorLanes = kLanes;
  bool packsRows = true;     // matrix products compute their rows on the way
  bool elementItems = false; // every element of a result is an item, and nothing is a vector
  bool pinned = false;       // the domain of the vectors' axis is their lanes
  llvm::DenseMap<mlir::Value, Storage> storage;
  llvm::DenseMap<mlir::Value, unsigned> outputOf; // what is written to one of the kernel's outputs, and to which
  llvm::DenseMap<mlir::Operation *, std::string> globals;            // of constants
  std::vector<std::tuple<mlir::Value, Point, mlir::Value>> computed; // elements at hand, see `element`
  // Of the phase that is being emitted.
  PhaseFunction phase;
  std::map<std::string, mlir::Value> sizes; // run-time sizes
  std::string emissionFailure;
};

} // namespace skewer::generic
