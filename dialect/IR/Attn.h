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
/// How an operation that only moves elements does so. `subscripts[k]` is the operand's index in dimension k, a function
/// of the result's indices, which are the symbols d0, d1, …. Where `inside` is 0 the element is `padding`.
struct IndexMap {
  std::vector<subscript::Expr> subscripts;
  subscript::Expr inside = 1;
  double padding = 0;
};

/// Attributes of a kernel's arguments: the name, and of an index operand the values that the caller promises,
/// `array<i64: low, high>`, both inclusive.
constexpr llvm::StringLiteral kArgumentName = "attn.name", kArgumentRange = "attn.range",
                              kArgumentDeviation = "attn.deviation";
/// Of a tensor that the caller promises to be the same at every call (a weight, a table): what is made of such tensors
/// alone may be made once.
constexpr llvm::StringLiteral kArgumentConst = "attn.const";

/// Of an operand of floating point numbers whose seeded values do not lie around 0: their mean, an f64, or the two ends
/// between which they are as likely everywhere, `array<f64: low, high>`.
constexpr llvm::StringLiteral kArgumentMean = "attn.mean", kArgumentBetween = "attn.between";

/// Of an index operand of one element that is no tensor of the caller's: the word of the argument struct that holds it,
/// "q0", "k0" or "head0".
constexpr llvm::StringLiteral kArgumentOrigin = "attn.origin";

/// Of a kernel: its lengths, run-time sizes with a bound, by name: {N = 4096 : i64}. Types, and what is proven, are
/// those of the bounds; a layer of any length lies as compactly as one that is compiled for it.
constexpr llvm::StringLiteral kLengths = "attn.lengths";
/// Of an operation there: the extents of its result's dimensions, an `attn.shape` in which 0 is what the type says; and
/// those of its axes that no operand has, by name.
constexpr llvm::StringLiteral kExtents = "attn.extents", kAxisExtents = "attn.axis_extents";
/// Of an index operand of one element that is no tensor of the caller's: it is the length of its name.
constexpr llvm::StringLiteral kArgumentLength = "attn.length";

/// Of a module that was lowered: what the kernel is, an #attn.plan.
constexpr llvm::StringLiteral kPlan = "attn.plan";

/// Of a GPU module: how its kernels are launched, an #attn.program.
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
/// Axis sizes from an optional dictionary attribute of integers.
subscript::AxisSizes sizesFrom(mlir::DictionaryAttr);
mlir::DictionaryAttr sizesTo(mlir::MLIRContext *, const subscript::AxisSizes &);
/// A tensor's shape with `subscript::kRuntime` for run-time sizes.
std::vector<int64_t> shapeOf(mlir::Value);
std::vector<int64_t> shapeOf(mlir::Type);

/// The extents of a tensor's dimensions over reads of the kernel's lengths, "2*N[0] - 1"; where there is none, what the
/// type says. Of an argument of a kernel or the first result of an operation.
std::vector<subscript::Expr> extentsOf(mlir::Value);
/// Those of an operation's axes that have a length (`attn.axis_extents`).
subscript::Substitution axisExtentsOf(mlir::Operation *);
/// The element that holds a length.
subscript::Expr readOfLength(const std::string &name);

/// Run-time index operands by name: what `seg[b, i]` in a text reads.
using IndexOperands = std::map<std::string, mlir::Value>;
/// Those of an einsum, softmax, position, attention or term; none of any other operation.
IndexOperands indicesOf(mlir::Operation *);
/// Those that a kernel (or the one around an operation) has: its arguments of i32, by `attn.name`, and each attn.index
/// (that is before the operation).
IndexOperands kernelIndices(mlir::Operation *);
/// Makes the operation's `indices` those of the kernel's that its texts read: to be called whenever a text that may
/// read some is new.
void bindIndices(mlir::Operation *);
/// The range that the kernel declares for an index operand.
std::optional<subscript::Range> rangeOf(mlir::Value indexOperand);
void addRanges(subscript::Domain &, const IndexOperands &);
/// Adds the sizes of axes that the spec's index expressions read index operands by, and that no operand has.
void addSizesOfReads(const subscript::Einsum &, const IndexOperands &, subscript::AxisSizes &);

/// A read of an index operand that is not proven to stay inside it.
struct ReadOutside {
  subscript::Expr read;
  size_t dimension = 0;
  int64_t size = 0;             // of that dimension
  std::optional<int64_t> value; // where its subscript is known to leave: what it may be
};
/// The first one of an expression; `where` holds wherever the expression matters.
std::optional<ReadOutside> findReadOutside(const subscript::Expr &, const IndexOperands &, const subscript::Domain &,
                                           const std::optional<subscript::Expr> &where);
/// The first one of an einsum, a softmax or a position.
std::optional<ReadOutside> findReadOutside(mlir::Operation *);

/// What a softmax and a logsumexp have in common: the rows of one dimension of a tensor, less what a mask hides.
struct RowReduction {
  llvm::StringRef axes, over;
  std::optional<llvm::StringRef> mask;
  mlir::DictionaryAttr sizes;
  mlir::Value input;
  bool operator==(const RowReduction &o) const {
    return axes == o.axes && over == o.over && mask == o.mask && sizes == o.sizes && input == o.input;
  }
};
/// Nothing if the operation is neither.
std::optional<RowReduction> rowReductionOf(mlir::Operation *);

/// What an einsum, with its operands' shapes, says. The operation's verifier has proven that it parses and resolves.
struct ResolvedEinsum {
  subscript::Einsum spec;
  subscript::AxisSizes sizes;                           // of every axis
  std::vector<std::vector<subscript::Expr>> subscripts; // of each operand, over the axes
  std::vector<std::string> contracted;
  std::optional<subscript::Expr> guard;
};
/// Also for rearrange specs. Nothing if the text does not parse or the sizes do not resolve; `error` says why.
std::optional<ResolvedEinsum> resolve(llvm::StringRef spec, mlir::ValueRange operands, mlir::DictionaryAttr sizes,
                                      std::optional<llvm::StringRef> guard, subscript::ParseError *error = nullptr,
                                      const IndexOperands &indices = {});
ResolvedEinsum resolve(EinsumOp);

/// The score's space of an attention: its axes by role.
struct ScoreSpace {
  std::vector<std::string> leading, query, key; // e.g. {b, h}, {iy, ix}, {jy, jx}
  subscript::AxisSizes sizes;                   // of all axes, kRuntime for run-time sizes
  std::vector<std::string> value;               // axes of the values that are not keys or leading: {e}
  subscript::Domain elements;                   // ranges of the kernel's run-time index operands
  int64_t queries() const, keys() const;        // products of the sizes
};
ScoreSpace scoreSpace(AttentionOp);
/// A term's subscripts over the space's axes (on the value side those of the values' own too) and its contracted axes.
ResolvedEinsum resolve(TermOp);
/// The terms of the score, then those of the values.
llvm::SmallVector<TermOp> termsOf(AttentionOp);

/// What a schedule for a processor may call the way in which a term is computed, but for those of plugins.
llvm::ArrayRef<llvm::StringLiteral> cpuStrategies();
} // namespace skewer::attn
