// The description of a lowered kernel: its arguments, its phases and the workspace they need. The lowering writes it
// onto the module; the ABI and the driver read it.
#pragma once
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/BuiltinOps.h"
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace skewer::attn {
class SizeAttr;
}

namespace skewer {

/// F8E4M3 is the format E4M3 of the Open Compute Project: 4 bits of exponent, 3 of the fraction, no infinities; the
/// largest number is 448.
enum class ElementType { F32, F16, BF16, I32, I8, F8E4M3 };
int64_t bytesOf(ElementType);
const char *nameOf(ElementType); // "f32", "f16", "bf16", "i32", "i8", "f8e4m3"
/// Returns whether a kernel computes results of a type; numbers of 8 bits and integers are for operands alone.
bool mayBeResult(ElementType);
/// Returns the type in MLIR.
mlir::Type typeOf(ElementType, mlir::MLIRContext *);
/// Returns the element type that a type in MLIR is; nothing if there is no such element type.
std::optional<ElementType> elementNamedBy(mlir::Type);
/// Returns the type of a tensor's elements, or of the type itself if it is not a tensor.
ElementType elementTypeOf(mlir::Type);

/// A size: known at compile time, the name of a run-time size, or an expression of lengths such as "2*N - 1".
struct Extent {
  std::string name; // empty: fixed
  int64_t fixed = 1;
};
/// Returns the run-time sizes in an extent's name or expression; none for an empty name.
std::vector<std::string> sizesIn(llvm::StringRef name);
/// Returns the extent for the given sizes; nothing if a size has no value or the result does not fit 63 bits.
std::optional<int64_t> valueOf(llvm::StringRef name, const std::map<std::string, int64_t> &sizes);

/// Returns the extents in an `attn.shape`: an integer is a fixed extent, a string a run-time size.
std::vector<Extent> extentsOf(llvm::ArrayRef<mlir::Attribute>);

/// The range of an index operand's elements, both ends inclusive.
struct IndexRange {
  int64_t low = 0, high = 0;
  /// The two ends if they depend on lengths; else empty. `low` and `high` then hold the union over all lengths.
  std::vector<Extent> ends = {};
};
/// Returns the range for the given sizes; an empty range (`high` below `low`) if no value remains.
IndexRange rangeAt(const IndexRange &, const std::map<std::string, int64_t> &sizes);

/// The words of the argument struct that hold the origin of a part.
constexpr const char *kOrigins[] = {"q0", "k0", "head0"};

/// One tensor argument: row-major, contiguous.
struct TensorArgument {
  std::string name;
  ElementType type = ElementType::F32;
  std::vector<Extent> shape;
  std::optional<IndexRange> range = std::nullopt; // of an i32: checked at entry
  std::optional<double> deviation = std::nullopt; // standard deviation of seeded values; 1 where nothing is declared
  std::optional<double> mean = std::nullopt;      // of seeded values; 0 where nothing is declared
  std::optional<std::pair<double, double>> between = std::nullopt; // seeded values are uniform there instead
  /// For an origin: the number of its word in the argument struct (0: q0, 1: k0, 2: head0). An origin is an i32[1]
  /// whose value comes from that word, not from a tensor of the caller.
  std::optional<unsigned> origin = std::nullopt;
  /// Whether the argument is a length: an i32[1] that holds the run-time size of its name. Its range is from 1 to the
  /// bound.
  /// No tensor of the caller holds it.
  bool isLength = false;
  /// The caller promises that it is the same at every call. A result that depends on such tensors alone may be kept.
  bool isConst = false;
  /// Returns whether the caller has it in memory.
  bool isTensor() const { return !origin && !isLength; }
};

/// fixed + scaled * (product of the named run-time sizes).
struct SizeExpression {
  int64_t fixed = 0, scaled = 0;
  std::vector<std::string> factors;
};

attn::SizeAttr attributeOf(mlir::MLIRContext *, const SizeExpression &);
SizeExpression sizeOf(attn::SizeAttr);

/// The parallel part of a stage: `function(inputs…, outputs…, sizes…, shared, local, begin, end)` does the work items
/// begin … end-1 of `items`. Items of one phase are independent. A phase begins when the previous phase is done.
struct Phase {
  std::string function, title; // symbol of the func.func; what it does ("pack", "attend")
  SizeExpression items;
  bool prepares = false; // reads `const` inputs and prepared memory alone, and writes to prepared memory
};

/// A stage: one or more phases that make one tensor. `bytes` is the size of its buffer in the shared workspace, 0 if it
/// writes an output of the kernel. Buffers of stages whose lifetimes do not overlap share memory.
struct StagePlan {
  std::string title; // "attention", "einsum", "elementwise", …
  unsigned line = 0; // of the spec; 0: unknown
  SizeExpression bytes;
};

/// Signature of a phase's func.func at level 4, in this order: each input memref<?xT> (flat, row-major), each output
/// memref<?xT>, each run-time size index, shared workspace memref<?xi8>, this worker's workspace memref<?xi8>, prepared
/// memory memref<?xi8> where there is some, begin index, end index.
struct KernelPlan {
  std::string name;
  std::vector<TensorArgument> inputs;
  std::vector<TensorArgument> outputs; // at least one
  std::vector<std::string> sizes;      // run-time sizes, in order of declaration
  std::vector<StagePlan> stages;       // in the order in which they run
  std::vector<Phase> phases;
  SizeExpression sharedBytes; // multiple of 64
  int64_t localBytes = 0;     // for each worker; multiple of 64
  int64_t preparedBytes = 0;  // left by phases with `prepares`, kept between calls; multiple of 64

  /// Returns whether the caller may prepare constants once (`NAME_prepare` of docs/abi.md), even if this target
  /// prepares nothing.
  bool hasConst() const;
  /// Returns the upper bound of a run-time size; nothing if it has none.
  std::optional<int64_t> boundOf(llvm::StringRef size) const;
  /// Returns the upper bound of an extent, if every size in it has a bound.
  std::optional<int64_t> boundOf(const Extent &) const;
};

/// Stores the plan as the module's attribute `attn.plan`, an #attn.plan. If the plan breaks a constraint (plan_c1 to
/// plan_c10), emits an error at the module that names the constraint, and stores nothing.
llvm::LogicalResult attachPlan(mlir::ModuleOp, const KernelPlan &);
/// Returns the module's plan; nothing if the module has none.
std::optional<KernelPlan> planOf(mlir::ModuleOp);
/// Returns a plan with the arguments, outputs and sizes of a level 1-3 function (attn.name, attn.shape, attn.sizes).
KernelPlan signatureOf(mlir::func::FuncOp);

} // namespace skewer
