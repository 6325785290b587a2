// The attn dialect: include this to use its operations and attributes.
#pragma once
#include "dialect/Subscript/Einsum.h"
#include "mlir/Bytecode/BytecodeOpInterface.h"
#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/Dialect.h"
#include "mlir/IR/OpDefinition.h"
#include "mlir/IR/OpImplementation.h"
#include "mlir/IR/RegionKindInterface.h"
#include "mlir/Interfaces/InferTypeOpInterface.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

namespace skewer::attn {
/// The index map of an operation that only moves elements. The result's indices are the symbols d0, d1, ….
/// `subscripts[k]` is the operand's index in dimension k as a function of them. Where `inside` is 0, the element is
/// `padding`.
struct IndexMap {
  std::vector<subscript::Expr> subscripts;
  subscript::Expr inside = 1;
  double padding = 0;
};

/// Attributes of a kernel's arguments. `attn.name` is the name. `attn.range` belongs to an index operand: the values
/// that the caller promises, `array<i64: low, high>`, both inclusive.
constexpr llvm::StringLiteral kArgumentName = "attn.name", kArgumentRange = "attn.range",
                              kArgumentDeviation = "attn.deviation";
/// Marks a tensor that the caller promises to be the same at every call (a weight, a table). A result that depends on
/// such tensors alone may be computed once.
constexpr llvm::StringLiteral kArgumentConst = "attn.const";

/// Attributes of a floating-point operand whose seeded values are not centered at 0: their mean (an f64), or the two
/// ends of their uniform distribution, `array<f64: low, high>`.
constexpr llvm::StringLiteral kArgumentMean = "attn.mean", kArgumentBetween = "attn.between";

/// Marks an index operand of one element that is not a tensor of the caller: the word of the argument struct that holds
/// its value, "q0", "k0" or "head0".
constexpr llvm::StringLiteral kArgumentOrigin = "attn.origin";

/// Attribute of a kernel: its lengths (run-time sizes with a bound) by name, {N = 4096 : i64}. Types and proofs use the
/// bounds. A layer of any length has the same compact memory layout as a layer that is compiled for that length.
constexpr llvm::StringLiteral kLengths = "attn.lengths";
/// Attributes of an operation in such a kernel. `attn.extents`: the extents of its result's dimensions, an `attn.shape`
/// in which 0 means "as the type says". `attn.axis_extents`: the extents, by name, of its axes that no operand has.
constexpr llvm::StringLiteral kExtents = "attn.extents", kAxisExtents = "attn.axis_extents";
/// Marks an index operand of one element that is not a tensor of the caller: its value is the length of its name.
constexpr llvm::StringLiteral kArgumentLength = "attn.length";

/// Attribute of a lowered module: the description of the kernel, an #attn.plan.
constexpr llvm::StringLiteral kPlan = "attn.plan";

/// Attribute of a GPU module: the launches of its kernels, an #attn.program.
constexpr llvm::StringLiteral kProgram = "attn.program";

// The assembly of run-time index operands, after the word `indices`: `(seg = %seg : tensor<?x40xi32>)`.
mlir::ParseResult parseIndices(mlir::OpAsmParser &, mlir::ArrayAttr &names,
                               llvm::SmallVectorImpl<mlir::OpAsmParser::UnresolvedOperand> &operands,
                               llvm::SmallVectorImpl<mlir::Type> &types);
void printIndices(mlir::OpAsmPrinter &, mlir::Operation *, mlir::ArrayAttr names, mlir::OperandRange operands,
                  mlir::TypeRange types);
} // namespace skewer::attn

#include "dialect/IR/AttnAttrInterfaces.h.inc"
#include "dialect/IR/AttnDialect.h.inc"
#include "dialect/IR/AttnInterfaces.h.inc"
#define GET_ATTRDEF_CLASSES
#include "dialect/IR/AttnAttributes.h.inc"
#define GET_OP_CLASSES
#include "dialect/IR/AttnOps.h.inc"

namespace skewer::attn {
/// Returns the axis sizes in an optional dictionary attribute of integers.
subscript::AxisSizes sizesFrom(mlir::DictionaryAttr);
/// Returns axis sizes as a dictionary attribute of i64 integers, as the operations state them.
mlir::DictionaryAttr sizesTo(mlir::MLIRContext *, const subscript::AxisSizes &);
/// Returns a tensor's shape with `subscript::kRuntime` for run-time sizes.
std::vector<int64_t> shapeOf(mlir::Value);
std::vector<int64_t> shapeOf(mlir::Type);

/// Returns the extents of a tensor's dimensions as expressions over reads of the kernel's lengths, "2*N[0] - 1"; the
/// type's size where no extent is declared. The tensor is an argument of a kernel or the first result of an operation.
std::vector<subscript::Expr> extentsOf(mlir::Value);
/// Returns the extents of an operation's axes that have a length (`attn.axis_extents`).
subscript::Substitution axisExtentsOf(mlir::Operation *);
/// Returns a read of the element that holds a length.
subscript::Expr readOfLength(const std::string &name);

/// Run-time index operands by name: `seg[b, i]` in a text reads the operand `seg`.
using IndexOperands = std::map<std::string, mlir::Value>;
/// Returns the index operands of an einsum, softmax, position, attention or term; none for any other operation.
IndexOperands indicesOf(mlir::Operation *);
/// Returns the index operands of a kernel, or of the kernel around an operation: its i32 arguments, by `attn.name`, and
/// each attn.index (for an operation: each one before it).
IndexOperands kernelIndices(mlir::Operation *);
/// Sets the operation's `indices` to the index operands of the kernel that its texts read. Call this after each change
/// of a text that may read some.
void bindIndices(mlir::Operation *);
/// Returns the range that the kernel declares for an index operand.
std::optional<subscript::Range> rangeOf(mlir::Value indexOperand);
void addRanges(subscript::Domain &, const IndexOperands &);
/// Adds the sizes of axes that no operand has but that subscript an index operand in the spec's index expressions.
void addSizesOfReads(const subscript::Einsum &, const IndexOperands &, subscript::AxisSizes &);

/// A read of an index operand that is not proven to stay inside it.
struct ReadOutside {
  subscript::Expr read;
  size_t dimension = 0;
  int64_t size = 0;             // of that dimension
  std::optional<int64_t> value; // where the subscript is known to leave: a value that it may have
};
/// Returns the first such read in an expression; `where` holds wherever the expression matters.
std::optional<ReadOutside> findReadOutside(const subscript::Expr &, const IndexOperands &, const subscript::Domain &,
                                           const std::optional<subscript::Expr> &where);
/// Returns the first such read in an einsum, a softmax or a position.
std::optional<ReadOutside> findReadOutside(mlir::Operation *);

/// The common part of a softmax and a logsumexp: rows along one dimension of a tensor, without the elements that a mask
/// hides.
struct RowReduction {
  llvm::StringRef axes, over;
  std::optional<llvm::StringRef> mask;
  mlir::DictionaryAttr sizes;
  mlir::Value input;
  bool operator==(const RowReduction &o) const {
    return axes == o.axes && over == o.over && mask == o.mask && sizes == o.sizes && input == o.input;
  }
};
/// Returns nothing if the operation is neither of the two.
std::optional<RowReduction> rowReductionOf(mlir::Operation *);

/// An einsum's parsed text with the sizes that its operands' shapes give. The operation's verifier has proven that the
/// text parses and resolves.
struct ResolvedEinsum {
  subscript::Einsum spec;
  subscript::AxisSizes sizes;                           // of every axis
  std::vector<std::vector<subscript::Expr>> subscripts; // of each operand, over the axes
  std::vector<std::string> contracted;
  std::optional<subscript::Expr> guard;
};
/// Resolves einsum and rearrange specs. Returns nothing if the text does not parse or the sizes do not resolve.
std::optional<ResolvedEinsum> resolve(llvm::StringRef spec, mlir::ValueRange operands, mlir::DictionaryAttr sizes,
                                      std::optional<llvm::StringRef> guard,
                                      const IndexOperands &indices = {});
ResolvedEinsum resolve(EinsumOp);

/// The space of an attention's scores: its axes by role.
struct ScoreSpace {
  std::vector<std::string> leading, query, key; // e.g. {b, h}, {iy, ix}, {jy, jx}
  subscript::AxisSizes sizes;                   // of all axes, kRuntime for run-time sizes
  std::vector<std::string> value;               // axes of the values that are not keys or leading: {e}
  subscript::Domain elements;                   // ranges of the kernel's run-time index operands
  int64_t queries() const, keys() const;        // products of the sizes
};
ScoreSpace scoreSpace(AttentionOp);
/// Returns a term's subscripts over the space's axes (on the value side also over the values' own axes), and its
/// contracted axes.
ResolvedEinsum resolve(TermOp);
/// Returns the terms of the score, then the terms of the values.
llvm::SmallVector<TermOp> termsOf(AttentionOp);
} // namespace skewer::attn
