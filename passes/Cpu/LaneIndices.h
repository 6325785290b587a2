// Index expressions for as many keys at once as a vector has lanes.
#pragma once
#include "dialect/Subscript/Analysis.h"
#include "passes/Analysis/LaneFit.h"
#include "passes/Emit/EmitIndex.h"
#include "passes/Emit/VectorBuilder.h"

namespace skewer {

/// Emits expressions that `fitsLanes` allows. What differs from lane to lane is 32-bit vector arithmetic, the rest is
/// emitted once by IndexEmitter, whose promises hold here too.
class LaneIndices {
public:
  /// `symbols`: values of type `index` that all lanes share; `lanes`: vectors of i32, for the others, of which that of
  /// the axis `inOrder`, if any, has one more in each lane but behind the axis' last; `find`: run-time index operands.
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
  mlir::Value alike(const subscript::Expr &); // in all lanes: of type index
  mlir::Value build(const subscript::Expr &);

  VectorBuilder &b;
  std::map<std::string, mlir::Value> symbols, lanes;
  FindIndices find;
  std::string inOrder;
  std::map<const void *, mlir::Value> emitted;
};

} // namespace skewer
