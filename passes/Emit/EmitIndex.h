// An index expression as arithmetic on `index` values.
#pragma once
#include "dialect/Subscript/Expr.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/Value.h"
#include <functional>
#include <map>
#include <optional>
#include <string>

namespace skewer {

/// Emits index expressions at a builder's insertion point. Only ops of arith and memref come out, and only such that
/// lower to LLVM without an expansion pass. The values of an expression equal `subscript::evaluate` wherever that
/// succeeds; where it fails (a table read outside its rows, a divisor that is not positive) the value is unspecified
/// but nothing traps and no memory outside the table is read: so a branch that a select does not take may be computed.
class IndexEmitter {
public:
  /// The value (type `index`) of an element of a run-time integer operand at subscripts of type `index`.
  /// Null where there is no such operand.
  using Read = std::function<mlir::Value(const std::string &operand, mlir::ValueRange subscripts)>;

  /// `symbols`: the value, of type `index`, of each symbol. Tables become private constants of the module that holds
  /// the insertion point; equal tables share one.
  IndexEmitter(mlir::OpBuilder &builder, mlir::Location location, std::map<std::string, mlir::Value> symbols,
               Read read = {})
      : builder(builder), location(location), symbols(std::move(symbols)), read(std::move(read)) {}

  /// Of type `index`; a comparison gives 1 or 0. Null where a symbol has no value or a Read occurs without `read`:
  /// `failure()` then says which.
  mlir::Value emit(const subscript::Expr &);
  /// Of type `i1`: whether the expression is not 0. Null as `emit`.
  mlir::Value emitPredicate(const subscript::Expr &);
  /// Why the last call gave null: lowercase, without a full stop.
  const std::string &failure() const { return reason; }

private:
  mlir::Value build(const subscript::Expr &);
  mlir::Value buildPredicate(const subscript::Expr &);
  mlir::Value operand(const subscript::Expr &, size_t);
  mlir::Value constant(int64_t);
  mlir::Value divide(mlir::Value, const subscript::Expr &divisor, bool remainder);
  mlir::Value table(const subscript::Expr &);
  // Of one kind of expression each; null after a failure.
  mlir::Value compute(const subscript::Expr &);
  mlir::Value symbol(const subscript::Expr &);
  mlir::Value arithmetic(const subscript::Expr &);
  mlir::Value absolute(const subscript::Expr &);
  mlir::Value select(const subscript::Expr &);
  mlir::Value readElement(const subscript::Expr &);

  mlir::OpBuilder &builder;
  mlir::Location location;
  std::map<std::string, mlir::Value> symbols;
  Read read;
  std::map<const void *, mlir::Value> emitted;    // within one call: shared subexpressions are computed once
  std::map<const void *, mlir::Value> predicates; // likewise
  std::string reason;
};

/// A run-time index operand at level 4.
struct IndexMemory {
  mlir::Value memory;                     // memref<?xi32>, flat, row-major
  llvm::SmallVector<mlir::Value> extents; // of each dimension, of type index
};
/// Where the operands are; nothing for a name that is none of them.
using FindIndices = std::function<std::optional<IndexMemory>(const std::string &operand)>;
/// Loads of elements of the operands that `find` knows. Subscripts are clamped to the extents: what no select takes, or
/// an `and` does not need, may be read anywhere, but must be read inside.
IndexEmitter::Read loadsFrom(mlir::OpBuilder &, mlir::Location, FindIndices find);
/// The flat position of an element at subscripts, each clamped to its extent.
mlir::Value clampedPosition(mlir::OpBuilder &, mlir::Location, const IndexMemory &, mlir::ValueRange subscripts);

} // namespace skewer
