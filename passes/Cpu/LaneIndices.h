// Emits index expressions for one key a lane. Strategies call it where a position depends on the key.
#pragma once
#include "dialect/Subscript/Analysis.h"
#include "passes/Analysis/LaneFit.h"
#include "passes/Emit/EmitIndex.h"
#include "passes/Emit/VectorBuilder.h"

namespace skewer {

/// Emits expressions that `fitsLanes` allows. Parts that differ from lane to lane become 32-bit vector arithmetic.
/// IndexEmitter emits the rest once; its promises hold here too.
class LaneIndices {
public:
  /// `symbols` are values of type `index` that all lanes share. `lanes` are vectors of i32 for the other symbols; the
  /// vector of the axis `inOrder`, if any, increases by one from lane to lane, except behind the end of the axis.
  /// `find` finds the run-time index operands.
  LaneIndices(VectorBuilder &b, std::map<std::string, mlir::Value> symbols, std::map<std::string, mlir::Value> lanes,
              FindIndices find, std::string inOrder = {})
      : b(b), symbols(std::move(symbols)), lanes(std::move(lanes)), find(std::move(find)),
        inOrder(std::move(inOrder)) {}

  mlir::Value emit(const subscript::Expr &);          // vector of i32
  mlir::Value emitPredicate(const subscript::Expr &); // vector of i1

private:
  bool varies(const subscript::Expr &) const;
  mlir::Value splat(int64_t);
  mlir::Value quotient(mlir::Value, mlir::Value divisor);
  mlir::Value divide(mlir::Value, const subscript::Expr &divisor, bool remainder);
  mlir::Value eachLane(const subscript::Expr &);
  mlir::Value readLanes(const subscript::Expr &);
  IndexEmitter::Read reads();
  mlir::Value alike(const subscript::Expr &); // the same in all lanes; of type index
  mlir::Value build(const subscript::Expr &);

  VectorBuilder &b;
  std::map<std::string, mlir::Value> symbols, lanes;
  FindIndices find;
  std::string inOrder;
  std::map<const void *, mlir::Value> emitted;
};

} // namespace skewer
