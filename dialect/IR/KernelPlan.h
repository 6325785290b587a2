// What a lowered kernel is: its arguments, its phases and the workspace they need. The lowering writes it onto the
// module, the ABI and the driver read it.
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

enum class ElementType { F32, F16, BF16, I32, I8 };
int64_t bytesOf(ElementType);
const char *nameOf(ElementType); // "f32", "f16", "bf16", "i32", "i8"
/// Of a tensor's elements, or of the type itself.
ElementType elementTypeOf(mlir::Type);

/// A size known at compile time, or the name of a run-time size, or an expression of lengths: "2*N - 1".
struct Extent {
  std::string name; // empty: fixed
  int64_t fixed = 1;
};
/// The run-time sizes that an extent's name, or expression, is made of; empty where it is none.
std::vector<std::string> sizesIn(llvm::StringRef name);
/// The extent where sizes have these values; nothing where one has none, or the number leaves 63 bits.
std::optional<int64_t> valueOf(llvm::StringRef name, const std::map<std::string, int64_t> &sizes);

/// `attn.shape`: an integer for a fixed extent, a string for a run-time size.
std::vector<Extent> extentsOf(llvm::ArrayRef<mlir::Attribute>);

/// What the elements of an index operand are, both ends inclusive.
struct IndexRange {
  int64_t low = 0, high = 0;
  /// The two ends, where lengths decide them; else empty. `low` and `high` then hold the values of all lengths together.
  std::vector<Extent> ends = {};
};
/// The range where sizes have these values; empty (`high` below `low`) where these leave no value.
IndexRange rangeAt(const IndexRange &, const std::map<std::string, int64_t> &sizes);

/// The words of the argument struct that say where a part begins.
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
  /// An origin: i32[1] that no tensor of the caller's holds, but a word of the argument struct. 0: q0, 1: k0, 2: head0.
  std::optional<unsigned> origin = std::nullopt;
  /// A length: i32[1] likewise, the run-time size of the same name; its range is from 1 to the bound.
  bool isLength = false;
  /// The caller promises that it is the same at every call: what is made of such tensors alone may be kept.
  bool isConst = false;
  /// Whether the caller has it in memory.
  bool isTensor() const { return !origin && !isLength; }
};

/// fixed + scaled * (product of the named run-time sizes).
struct SizeExpression {
  int64_t fixed = 0, scaled = 0;
  std::vector<std::string> factors;
};

attn::SizeAttr attributeOf(mlir::MLIRContext *, const SizeExpression &);
SizeExpression sizeOf(attn::SizeAttr);

/// A stage's parallel part: `function(inputs…, outputs…, sizes…, shared, local, begin, end)` does the work items
/// begin … end-1 of `items`. Items of one phase are independent; a phase begins when the one before it is done.
struct Phase {
  std::string function, title; // symbol of the func.func; what it does ("pack", "attend")
  SizeExpression items;
  bool prepares = false; // reads `const` inputs and prepared memory alone, and writes to prepared memory
};

/// What a stage is: one or more phases that make one tensor. `bytes`: of its buffer in the shared workspace, 0 where it
/// writes an output of the kernel. Buffers of stages that do not live together share memory.
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
  int64_t preparedBytes = 0;  // of what phases with `prepares` leave, which outlives a call; multiple of 64

  /// Whether the caller may have something made once (`NAME_prepare` of docs/abi.md), be it nothing for this target.
  bool hasConst() const;
  /// What a run-time size is at most; nothing where that is open.
  std::optional<int64_t> boundOf(llvm::StringRef size) const;
  /// What an extent is at most, where all that it is made of has a bound.
  std::optional<int64_t> boundOf(const Extent &) const;
};

/// Stores the plan as the module's attribute `attn.plan`, an #attn.plan. An error at the module says which of its
/// constraints (plan_c1 to plan_c10) it breaks; then nothing is stored.
llvm::LogicalResult attachPlan(mlir::ModuleOp, const KernelPlan &);
/// Reads it back; nothing if the module has none.
std::optional<KernelPlan> planOf(mlir::ModuleOp);
/// The plan's arguments, outputs and sizes from a level 1-3 function (attn.name, attn.shape, attn.sizes).
KernelPlan signatureOf(mlir::func::FuncOp);

} // namespace skewer
