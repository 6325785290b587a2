// Emits index expressions as arithmetic on `index` values. All lowerings compute positions, masks and guards with it.
#pragma once
#include "dialect/Subscript/Expr.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/Value.h"
#include <functional>
#include <map>
#include <optional>
#include <string>

namespace skewer {

/// Emits index expressions at the insertion point of a builder. It uses only ops of arith and memref that lower to LLVM
/// without an expansion pass. The value of an expression equals `subscript::evaluate` if that succeeds. If it fails (a
/// table read outside its rows, a divisor that is not positive), the value is unspecified, but nothing traps and no
/// memory outside the table is read. So code may compute a branch that a select does not take.
class IndexEmitter {
public:
  /// Returns the value (type `index`) of an element of a run-time integer operand at subscripts of type `index`; null
  /// if there is no such operand.
  using Read = std::function<mlir::Value(const std::string &operand, mlir::ValueRange subscripts)>;

  /// Creates an emitter. `symbols` gives the value, of type `index`, of each symbol. Tables become private constants of
  /// the module that contains the insertion point; equal tables share one.
  IndexEmitter(mlir::OpBuilder &builder, mlir::Location location, std::map<std::string, mlir::Value> symbols,
               Read read = {})
      : builder(builder), location(location), symbols(std::move(symbols)), read(std::move(read)) {}

  /// Emits an expression as a value of type `index`; a comparison gives 1 or 0. Returns null if a symbol has no value,
  /// or if a Read occurs without `read`; `failure()` then says which.
  mlir::Value emit(const subscript::Expr &);
  /// Emits, as an `i1`, whether the expression is not 0. Returns null in the same cases as `emit`.
  mlir::Value emitPredicate(const subscript::Expr &);
  /// Returns the reason why the last call returned null: lowercase, without a full stop.
  const std::string &failure() const { return reason; }

private:
  mlir::Value build(const subscript::Expr &);
  mlir::Value buildPredicate(const subscript::Expr &);
  mlir::Value operand(const subscript::Expr &, size_t);
  mlir::Value constant(int64_t);
  mlir::Value divide(mlir::Value, const subscript::Expr &divisor, bool remainder);
  mlir::Value table(const subscript::Expr &);
  // Each function emits one kind of expression; null after a failure.
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
  std::map<const void *, mlir::Value> emitted;    // values in one call: shared subexpressions are computed once
  std::map<const void *, mlir::Value> predicates; // the same for predicates
  std::string reason;
};

/// A run-time index operand at level 4.
struct IndexMemory {
  mlir::Value memory;                     // memref<?xi32>, flat, row-major
  llvm::SmallVector<mlir::Value> extents; // of each dimension, of type index
};
/// Finds the memory of an operand; returns nothing for a name that is not an operand.
using FindIndices = std::function<std::optional<IndexMemory>(const std::string &operand)>;
/// Returns a `Read` that loads elements of the operands that `find` knows. It clamps subscripts to the extents, since a
/// read whose value a select or an `and` does not use may have any subscript, but must stay inside the memory.
IndexEmitter::Read loadsFrom(mlir::OpBuilder &, mlir::Location, FindIndices find);
/// Returns the flat position of an element at subscripts, each clamped to its extent.
mlir::Value clampedPosition(mlir::OpBuilder &, mlir::Location, const IndexMemory &, mlir::ValueRange subscripts);

} // namespace skewer
