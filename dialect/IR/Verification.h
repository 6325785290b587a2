// Checks that the verifiers of several operations share. Every function emits an error that cites a constraint of
// SPEC.md.
#pragma once
#include "dialect/IR/Attn.h"

namespace skewer::attn {

/// The names of the constraints that an operation with subscripted operands cites.
struct SubscriptConstraints {
  llvm::StringRef parses, operands, sizes, range;
};

/// attn_c1: every compile-time dimension of every operand and result is at least 1, and the sizes multiply to less than
/// 2^62.
llvm::LogicalResult verifyShapes(mlir::Operation *);

/// attn_c2: `sizes` holds positive 64-bit integers only.
llvm::LogicalResult verifySizes(mlir::Operation *, mlir::DictionaryAttr sizes);

/// attn_c3: parses a guard, a mask or a factor. Checks that it names only `axes` and can be evaluated where `where`
/// holds. Messages call it `role`. Returns nothing after an error.
std::optional<subscript::Expr> verifyExpression(mlir::Operation *, llvm::StringRef role, llvm::StringRef text,
                                                const std::set<std::string> &axes, const subscript::AxisSizes &,
                                                const std::optional<subscript::Expr> &where = std::nullopt);

/// attn_c4, attn_c7, attn_c8, attn_c12, attn_c13: checks that the expression can be evaluated where `where` holds.
/// Refuses divisors that may be 0, reads of anything but an index operand, reads outside an index operand or a constant
/// table, and values that may not fit 64 bits.
llvm::LogicalResult verifyEvaluates(mlir::Operation *, const llvm::Twine &role, const subscript::Expr &,
                                    const subscript::Domain &,
                                    const std::optional<subscript::Expr> &where = std::nullopt);

/// attn_c6: each index operand is an argument of the kernel and has its name.
llvm::LogicalResult verifyIndices(mlir::Operation *, mlir::ArrayAttr names, mlir::ValueRange operands);
/// attn_c7, attn_c8: see `verifyEvaluates`. The domain contains the operands' ranges.
llvm::LogicalResult verifyIndexReads(mlir::Operation *, const llvm::Twine &role, const subscript::Expr &,
                                     const subscript::Domain &, const std::optional<subscript::Expr> &where);
/// Returns the operands without a range that the expression reads, as "'seg' and 'doc'"; an empty string if there is
/// none.
std::string unboundedReads(const subscript::Expr &, const IndexOperands &);

/// term_c6: checks that a term's function is known and that its arguments are positions or operands without contracted
/// axes. `axes` are the axes of the score.
llvm::LogicalResult verifyApplication(TermOp, const subscript::Einsum &, const std::set<std::string> &axes,
                                      const subscript::AxisSizes &, const std::optional<subscript::Expr> &where);

/// Checks that the dimensions are axes, products of axes or 1, and that each axis occurs once.
llvm::LogicalResult verifyNamesOnce(mlir::Operation *, llvm::StringRef role, const subscript::Dimensions &,
                                    llvm::StringRef constraint);

/// Parses a spec. Returns nothing after an error.
std::optional<subscript::Einsum> verifySpec(mlir::Operation *, llvm::StringRef role, llvm::StringRef text,
                                            llvm::StringRef constraint);
/// Parses the attribute `spec`, which states a result. Returns nothing after an error.
std::optional<subscript::Einsum> verifySpecWithResult(mlir::Operation *, llvm::StringRef text,
                                                      llvm::StringRef constraint);
/// Parses a list of dimensions that are all axes or products of axes, each axis named once. Returns nothing after an
/// error.
std::optional<subscript::Dimensions> verifyDimensions(mlir::Operation *, llvm::StringRef role, llvm::StringRef text,
                                                      llvm::StringRef constraint);

/// Returns the sizes of the axes from the operands' shapes and `given`. Checks the number of operands, their ranks, and
/// that each product of axes has the length of its dimension. Returns nothing after an error.
std::optional<subscript::AxisSizes> verifyOperands(mlir::Operation *, const subscript::Einsum &,
                                                   const std::vector<std::vector<int64_t>> &shapes,
                                                   const subscript::AxisSizes &given, const SubscriptConstraints &);

/// Proves that every index expression stays inside the dimension it reads where `guard` holds. On a counterexample the
/// message gives the point, and a note gives the range.
llvm::LogicalResult verifyReads(mlir::Operation *, const subscript::Einsum &,
                                const std::vector<std::vector<int64_t>> &shapes, const subscript::AxisSizes &,
                                const std::optional<subscript::Expr> &guard, const SubscriptConstraints &);

/// Checks that `dimensions`, without index expressions and with each axis once, has the shape of `type`.
llvm::LogicalResult verifyResult(mlir::Operation *, const subscript::Dimensions &, const subscript::AxisSizes &,
                                 mlir::Type type, llvm::StringRef constraint);

/// Returns "at i = 0, seg[b, i] = 3" for messages: the values of the axes in `symbols` and of elements of index
/// operands.
std::string printPoint(const subscript::Assignment &point, const std::set<std::string> &symbols);
/// `14x?x64` for messages.
std::string printShape(llvm::ArrayRef<int64_t> shape);
/// "a, b and c" for messages.
std::string printNames(const std::set<std::string> &names);
std::vector<std::vector<int64_t>> shapesOf(mlir::ValueRange);

/// program_c6 to program_c8: checks the attribute `attn.program` of an operation.
llvm::LogicalResult verifyProgram(mlir::Operation *, mlir::Attribute);

} // namespace skewer::attn
