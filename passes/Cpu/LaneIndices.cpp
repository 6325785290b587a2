// Emits index expressions for one key a lane (LaneIndices.h).
#include "passes/Cpu/LaneIndices.h"
#include "dialect/Subscript/Bits.h"
#include "passes/Emit/IntegerLanes.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace skewer;
using subscript::Expr;
using subscript::Kind;

/// Loads the lanes that are set in `mask`; the others have the element of lane 0.
static Value loadWhere(VectorBuilder &b, Value buffer, Value at, Value mask) {
  Value first = vector::BroadcastOp::create(b.builder, b.integers, memref::LoadOp::create(b.builder, buffer, at));
  return vector::MaskedLoadOp::create(b.builder, b.integers, buffer, at, mask, first);
}
static Value gatherIntegers(VectorBuilder &b, Value buffer, Value at, Value indices) {
  Value none = arith::ConstantOp::create(b.builder, cast<TypedAttr>(b.builder.getZeroAttr(b.integers)));
  return vector::GatherOp::create(b.builder, b.integers, buffer, ValueRange{at}, indices, b.firstLanes(b.lanes), none);
}

bool LaneIndices::varies(const Expr &expression) const {
  for (const std::string &symbol : subscript::symbolsOf(expression))
    if (lanes.count(symbol))
      return true;
  return false;
}

Value LaneIndices::splat(int64_t value) {
  return arith::ConstantOp::create(b.builder, DenseElementsAttr::get(b.integers, int32_t(value)));
}

Value LaneIndices::emit(const Expr &expression) {
  emitted.clear();
  return build(expression);
}

IndexEmitter::Read LaneIndices::reads() {
  return find ? loadsFrom(b.builder, b.builder.getLoc(), find) : IndexEmitter::Read();
}

Value LaneIndices::alike(const Expr &expression) {
  return IndexEmitter(b.builder, b.builder.getLoc(), symbols, reads()).emit(expression);
}

/// Reads elements of a run-time operand whose last subscript alone differs from lane to lane: loads them if they are
/// consecutive, else gathers them. Returns null for other reads. Lanes behind the last element hold an element that the
/// operand has.
Value LaneIndices::readLanes(const Expr &expression) {
  ArrayRef<Expr> subscripts = expression.operands();
  std::optional<IndexMemory> operand = find ? find(expression.name()) : std::nullopt;
  if (!operand || operand->extents.size() != subscripts.size() ||
      llvm::any_of(subscripts.drop_back(), [&](const Expr &e) { return varies(e); }))
    return {};
  SmallVector<Value> row;
  for (const Expr &subscript : subscripts.drop_back())
    row.push_back(alike(subscript));
  Value extent = operand->extents.back(), lane = build(subscripts.back());
  Value behind = arith::SubIOp::create(b.builder, broadcastIndex(b, extent), splat(1));
  if (!subscripts.back().isSymbol() || subscripts.back().name() != inOrder) {
    row.push_back(b.index(0));
    Value inside = arith::MinSIOp::create(b.builder, arith::MaxSIOp::create(b.builder, lane, splat(0)), behind);
    return gatherIntegers(b, operand->memory, clampedPosition(b.builder, b.builder.getLoc(), *operand, row), inside);
  }
  Value first = vector::ExtractOp::create(b.builder, lane, ArrayRef<int64_t>{0});
  row.push_back(arith::IndexCastOp::create(b.builder, b.builder.getIndexType(), first));
  Value place = clampedPosition(b.builder, b.builder.getLoc(), *operand, row);
  Value number =
      arith::AddIOp::create(b.builder, vector::BroadcastOp::create(b.builder, b.integers, first), laneNumbers(b));
  Value inside = arith::CmpIOp::create(b.builder, arith::CmpIPredicate::sle, number, behind);
  return loadWhere(b, operand->memory, place, inside);
}

/// Returns a quotient of x, at most 2^30 of either sign, by d, from 1 to kMostDivisor, such that x - quotient * d is
/// from -d to d. Processors have no division of integer vectors, so this adds two estimates. Each is a product with the
/// inverse in f32, has a relative error of at most e = 2^-22 (four roundings: of d, of its inverse, of x, of the
/// product), and is then truncated towards 0. The first estimate leaves a rest of less than d + e*x, which is d + 2^8,
/// with the sign of x, or of at most 2^8 with the other sign. Likewise the second one leaves a rest of less than
/// d + e*(d + 2^8) with the sign of the first rest, or of at most e*(d + 2^8) with the other sign. Since e*(d + 2^8) is
/// less than 1 and rests are integers, these are at most d, and 0.
Value LaneIndices::quotient(Value dividend, Value divisor) {
  auto real = [&](Value x) { return arith::SIToFPOp::create(b.builder, b.vector, x).getResult(); };
  Value inverse = arith::DivFOp::create(b.builder, b.constant(1), real(divisor));
  auto estimate = [&](Value x) {
    return arith::FPToSIOp::create(b.builder, b.integers, b.mulf(real(x), inverse)).getResult();
  };
  Value first = estimate(dividend);
  Value rest = arith::SubIOp::create(b.builder, dividend, arith::MulIOp::create(b.builder, first, divisor));
  return arith::AddIOp::create(b.builder, first, estimate(rest));
}

/// Returns floordiv, or mod if `remainder`. A division by a constant becomes a product.
Value LaneIndices::divide(Value dividend, const Expr &divisor, bool remainder) {
  bool known = divisor.isConstant() && divisor.value() > 0;
  if (known && llvm::isPowerOf2_64(divisor.value())) {
    if (remainder)
      return arith::AndIOp::create(b.builder, dividend, splat(divisor.value() - 1));
    return arith::ShRSIOp::create(b.builder, dividend, splat(llvm::Log2_64(divisor.value())));
  }
  if (auto exponent = subscript::exponentOf(divisor)) { // a dividend has at most 31 bits
    Value places = arith::MinSIOp::create(b.builder, build(*exponent), splat(31));
    if (!remainder)
      return arith::ShRSIOp::create(b.builder, dividend, places);
    Value above = arith::ShLIOp::create(b.builder, splat(1), places);
    return arith::AndIOp::create(b.builder, dividend, arith::SubIOp::create(b.builder, above, splat(1)));
  }
  Value by = build(divisor);
  if (!known)
    by = arith::MaxSIOp::create(b.builder, by, splat(1));
  Value quotient =
      known ? arith::DivSIOp::create(b.builder, dividend, by).getResult() : this->quotient(dividend, by);
  Value rest = arith::SubIOp::create(b.builder, dividend, arith::MulIOp::create(b.builder, quotient, by));
  if (!known) { // the rest may be as large as the divisor, with either sign
    Value above = arith::CmpIOp::create(b.builder, arith::CmpIPredicate::sge, rest, by);
    quotient = b.select(above, arith::AddIOp::create(b.builder, quotient, splat(1)), quotient);
    rest = b.select(above, arith::SubIOp::create(b.builder, rest, by), rest);
  }
  Value negative = arith::CmpIOp::create(b.builder, arith::CmpIPredicate::slt, rest, splat(0));
  Value corrected = remainder ? arith::AddIOp::create(b.builder, rest, by).getResult()
                              : arith::SubIOp::create(b.builder, quotient, splat(1)).getResult();
  return b.select(negative, corrected, remainder ? rest : quotient);
}

/// Emits one lane after the other: for reads of tables, and for reads of run-time operands at which more than the last
/// subscript differs from lane to lane.
Value LaneIndices::eachLane(const Expr &expression) {
  SmallVector<Value> operands;
  std::map<std::string, Value> names;
  std::vector<Expr> places;
  for (const Expr &operand : expression.operands()) {
    operands.push_back(build(operand));
    places.push_back(Expr::symbol("lane operand " + std::to_string(places.size())));
  }
  Expr one = expression.withOperands(places);
  Value result = splat(0);
  for (int64_t lane = 0; lane < b.lanes; ++lane) {
    for (auto [operand, place] : llvm::zip(operands, places)) {
      Value element = vector::ExtractOp::create(b.builder, operand, ArrayRef<int64_t>{lane});
      names[place.name()] = arith::IndexCastOp::create(b.builder, b.builder.getIndexType(), element);
    }
    Value value = IndexEmitter(b.builder, b.builder.getLoc(), names, reads()).emit(one);
    Value narrow = arith::IndexCastOp::create(b.builder, b.builder.getI32Type(), value);
    result = vector::InsertOp::create(b.builder, narrow, result, ArrayRef<int64_t>{lane});
  }
  return result;
}

Value LaneIndices::build(const Expr &expression) {
  if (expression.isConstant())
    return splat(expression.value());
  auto known = emitted.find(expression.identity());
  if (known != emitted.end())
    return known->second;
  Value value;
  auto operand = [&](size_t which) { return build(expression.operands()[which]); };
  if (!varies(expression)) {
    value = broadcastIndex(b, alike(expression));
    return emitted[expression.identity()] = value;
  }
  switch (expression.kind()) {
  case Kind::Symbol:
    value = lanes.at(expression.name());
    break;
  case Kind::Add:
    value = arith::AddIOp::create(b.builder, operand(0), operand(1));
    break;
  case Kind::Mul:
    value = arith::MulIOp::create(b.builder, operand(0), operand(1));
    break;
  case Kind::Min:
    value = arith::MinSIOp::create(b.builder, operand(0), operand(1));
    break;
  case Kind::Max:
    value = arith::MaxSIOp::create(b.builder, operand(0), operand(1));
    break;
  case Kind::FloorDiv:
  case Kind::Mod:
    value = divide(operand(0), expression.operands()[1], expression.kind() == Kind::Mod);
    break;
  case Kind::Abs: {
    Value inner = operand(0);
    value = arith::MaxSIOp::create(b.builder, inner, arith::SubIOp::create(b.builder, splat(0), inner));
    break;
  }
  case Kind::Select: {
    Value condition = emitPredicate(expression.operands()[0]);
    value = b.select(condition, operand(1), operand(2));
    break;
  }
  case Kind::Read:
    value = readLanes(expression);
    if (!value)
      value = eachLane(expression);
    break;
  case Kind::Table:
    value = eachLane(expression);
    break;
  default: // predicates, and constants, which cannot vary
    value = b.select(emitPredicate(expression), splat(1), splat(0));
  }
  return emitted[expression.identity()] = value;
}

Value LaneIndices::emitPredicate(const Expr &expression) {
  auto compare = [&](arith::CmpIPredicate predicate) -> Value {
    Value left = build(expression.operands()[0]), right = build(expression.operands()[1]);
    return arith::CmpIOp::create(b.builder, predicate, left, right);
  };
  auto operand = [&](size_t which) { return emitPredicate(expression.operands()[which]); };
  switch (expression.kind()) {
  case Kind::Less:
    return compare(arith::CmpIPredicate::slt);
  case Kind::LessEqual:
    return compare(arith::CmpIPredicate::sle);
  case Kind::Equal:
    return compare(arith::CmpIPredicate::eq);
  case Kind::NotEqual:
    return compare(arith::CmpIPredicate::ne);
  case Kind::And:
    return arith::AndIOp::create(b.builder, operand(0), operand(1));
  case Kind::Or:
    return arith::OrIOp::create(b.builder, operand(0), operand(1));
  case Kind::Not: {
    Value inner = operand(0);
    return arith::CmpIOp::create(
        b.builder, arith::CmpIPredicate::eq, inner,
        arith::ConstantOp::create(b.builder, cast<TypedAttr>(b.builder.getZeroAttr(inner.getType()))));
  }
  default:
    return arith::CmpIOp::create(b.builder, arith::CmpIPredicate::ne, build(expression), splat(0));
  }
}
