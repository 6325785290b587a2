// The values of the key axes in the lanes of a vector, and the largest number of a buffer (KeyLanes.h).
#include "passes/Cpu/KeyLanes.h"
#include "passes/Cpu/LaneIndices.h"
#include "passes/Emit/IntegerLanes.h"
#include "passes/Emit/VectorMath.h"
#include <limits>

using namespace mlir;
using namespace skewer;

Positions::Values skewer::keyLanes(VectorBuilder &b, const AttentionShape &shape, Value key, Value keys) {
  Positions::Values at;
  Value position = arith::AddIOp::create(b.builder, broadcastIndex(b, key), laneNumbers(b));
  if (keys && shape.bounds.keyLength)
    position = arith::MinSIOp::create(b.builder, position, broadcastIndex(b, b.add(keys, -1)));
  else if (keys && shape.keys % b.lanes)
    position = arith::MinSIOp::create(b.builder, position, integer(b, shape.keys - 1));
  for (auto [axis, name] : llvm::zip(shape.keyAxes, shape.space.key)) {
    if (axis.isWhole(shape.keys)) {
      at[name] = position;
      continue;
    }
    subscript::Expr value = floorDiv(subscript::Expr::symbol("position"), axis.inner);
    if (axis.inner * axis.extent < shape.keys)
      value = mod(value, axis.extent);
    at[name] = LaneIndices(b, {}, {{"position", position}}, {}).emit(value);
  }
  return at;
}

std::string skewer::keyInOrder(const AttentionShape &shape) {
  for (auto [axis, name] : llvm::zip(shape.keyAxes, shape.space.key))
    if (axis.isWhole(shape.keys))
      return name;
  return {};
}

Value skewer::ifFinite(VectorBuilder &b, Value x) {
  Value finite = b.compare(arith::CmpFPredicate::OEQ, b.subf(x, x), b.constantScalar(0));
  return b.select(finite, x, b.constantScalar(0));
}

Value skewer::largestIn(VectorBuilder &b, Value buffer, Value from, Value to) {
  float none = -std::numeric_limits<float>::infinity();
  Value whole = b.add(from, b.mul(b.floorDiv(b.sub(to, from), b.lanes), b.lanes));
  Value largest = b.loop(from, whole, b.lanes, ValueRange{b.constant(none)}, [&](Value x, ValueRange carried) {
    return SmallVector<Value>{larger(b, b.load(buffer, x), carried[0])};
  })[0];
  Value maximum = b.loop(whole, to, 1, ValueRange{reduceMax(b, largest)}, [&](Value x, ValueRange carried) {
    return SmallVector<Value>{larger(b, b.scalar(buffer, x), carried[0])};
  })[0];
  return ifFinite(b, maximum);
}

Value skewer::largestOf(VectorBuilder &b, Value buffer, Value from, int64_t count) {
  Value none = b.constant(-std::numeric_limits<float>::infinity());
  int64_t whole = count / b.lanes * b.lanes;
  Value largest = b.loop(b.index(0), b.index(whole), b.lanes, ValueRange{none}, [&](Value x, ValueRange carried) {
    return SmallVector<Value>{larger(b, b.load(buffer, b.add(from, x)), carried[0])};
  })[0];
  if (whole < count) {
    Value last = b.select(b.firstLanes(count - whole), b.load(buffer, b.add(from, whole)), none);
    largest = larger(b, last, largest);
  }
  return ifFinite(b, reduceMax(b, largest));
}
