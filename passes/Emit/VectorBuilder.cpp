// Emits loops, loads and arithmetic on one-dimensional vectors.
#include "passes/Emit/VectorBuilder.h"
#include "passes/Emit/NarrowFloats.h"

using namespace mlir;
using namespace skewer;

VectorBuilder::VectorBuilder(ImplicitLocOpBuilder &b, int64_t l) : builder(b), lanes(l) {
  f32 = b.getF32Type();
  vector = VectorType::get({lanes}, f32);
  integers = VectorType::get({lanes}, b.getI32Type());
  contract = arith::FastMathFlagsAttr::get(b.getContext(), arith::FastMathFlags::contract);
}

Value VectorBuilder::index(int64_t value) { return arith::ConstantIndexOp::create(builder, value); }
Value VectorBuilder::add(Value x, Value y) { return arith::AddIOp::create(builder, x, y); }
Value VectorBuilder::add(Value x, int64_t y) { return y ? add(x, index(y)) : x; }
Value VectorBuilder::sub(Value x, Value y) { return arith::SubIOp::create(builder, x, y); }
Value VectorBuilder::mul(Value x, int64_t y) { return y == 1 ? x : mul(x, index(y)); }
Value VectorBuilder::mul(Value x, Value y) { return arith::MulIOp::create(builder, x, y); }
Value VectorBuilder::floorDiv(Value x, int64_t y) {
  return y == 1 ? x : arith::FloorDivSIOp::create(builder, x, index(y)).getResult();
}
Value VectorBuilder::divide(Value x, int64_t y) {
  return y == 1 ? x : arith::DivUIOp::create(builder, x, index(y)).getResult();
}
Value VectorBuilder::remainder(Value x, int64_t y) {
  return y == 1 ? index(0) : arith::RemUIOp::create(builder, x, index(y)).getResult();
}
Value VectorBuilder::minimum(Value x, Value y) { return arith::MinSIOp::create(builder, x, y); }
Value VectorBuilder::maximum(Value x, Value y) { return arith::MaxSIOp::create(builder, x, y); }
Value VectorBuilder::less(Value x, Value y) { return arith::CmpIOp::create(builder, arith::CmpIPredicate::slt, x, y); }

void VectorBuilder::loop(Value low, Value high, int64_t step, const Body &body) {
  auto loop = scf::ForOp::create(builder, low, high, index(step));
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPointToStart(loop.getBody());
  body(loop.getInductionVar());
}
SmallVector<Value> VectorBuilder::loop(Value low, Value high, int64_t step, ValueRange initial,
                                       const CarryingBody &body) {
  auto loop = scf::ForOp::create(builder, low, high, index(step), initial);
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPointToStart(loop.getBody());
  SmallVector<Value> next = body(loop.getInductionVar(), loop.getRegionIterArgs());
  if (!initial.empty()) // a loop that carries nothing has its end already
    scf::YieldOp::create(builder, next);
  return SmallVector<Value>(loop.getResults());
}
void VectorBuilder::when(Value condition, const std::function<void()> &then, const std::function<void()> &otherwise) {
  auto branch = scf::IfOp::create(builder, condition, static_cast<bool>(otherwise));
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPointToStart(branch.thenBlock());
  then();
  if (otherwise) {
    builder.setInsertionPointToStart(branch.elseBlock());
    otherwise();
  }
}

SmallVector<Value> skewer::choose(VectorBuilder &b, Value condition, TypeRange types, MakeValues yes, MakeValues no) {
  auto branch = scf::IfOp::create(b.builder, types, condition, true);
  OpBuilder::InsertionGuard guard(b.builder);
  b.builder.setInsertionPointToStart(branch.thenBlock());
  scf::YieldOp::create(b.builder, yes());
  b.builder.setInsertionPointToStart(branch.elseBlock());
  scf::YieldOp::create(b.builder, no());
  return SmallVector<Value>(branch.getResults());
}

Value VectorBuilder::scalar(Value buffer, Value at) {
  return widened(builder, memref::LoadOp::create(builder, buffer, at));
}
void VectorBuilder::storeScalar(Value value, Value buffer, Value at) {
  memref::StoreOp::create(builder, value, buffer, at);
}
static VectorType vectorOf(Value buffer, int64_t lanes) {
  return VectorType::get({lanes}, cast<MemRefType>(buffer.getType()).getElementType());
}
Value VectorBuilder::load(Value buffer, Value at) {
  return widened(builder, vector::LoadOp::create(builder, vectorOf(buffer, lanes), buffer, at));
}
void VectorBuilder::store(Value value, Value buffer, Value at) { vector::StoreOp::create(builder, value, buffer, at); }
Value VectorBuilder::loadBroadcast(Value buffer, Value at) { return broadcast(scalar(buffer, at)); }

Value VectorBuilder::firstLanes(int64_t count) {
  auto type = VectorType::get({lanes}, builder.getI1Type());
  SmallVector<bool> bits;
  for (int64_t lane = 0; lane < lanes; ++lane)
    bits.push_back(lane < count);
  return arith::ConstantOp::create(builder, DenseElementsAttr::get(type, ArrayRef<bool>(bits)));
}
Value VectorBuilder::loadFirst(Value buffer, Value at, int64_t count) {
  return count >= lanes ? load(buffer, at) : loadMasked(buffer, at, firstLanes(count));
}
Value VectorBuilder::loadMasked(Value buffer, Value at, Value mask) {
  VectorType type = vectorOf(buffer, lanes);
  Value none = arith::ConstantOp::create(builder, cast<TypedAttr>(builder.getZeroAttr(type)));
  return widened(builder, vector::MaskedLoadOp::create(builder, type, buffer, at, mask, none));
}
void VectorBuilder::storeFirst(Value value, Value buffer, Value at, int64_t count) {
  if (count >= lanes)
    return store(value, buffer, at);
  vector::MaskedStoreOp::create(builder, buffer, at, firstLanes(count), value);
}
void VectorBuilder::prefetch(Value buffer, Value at) {
  memref::PrefetchOp::create(builder, buffer, at, /*isWrite=*/false, /*localityHint=*/2, /*isDataCache=*/true);
}
Value VectorBuilder::view(Value bytes, Value offset, int64_t floats) {
  auto type = MemRefType::get({ShapedType::kDynamic}, f32);
  return memref::ViewOp::create(builder, type, bytes, offset, ValueRange{index(floats)});
}

Value VectorBuilder::constant(float value) {
  return arith::ConstantOp::create(builder, DenseElementsAttr::get(vector, value));
}
Value VectorBuilder::constantScalar(float value) {
  return arith::ConstantOp::create(builder, builder.getF32FloatAttr(value));
}
Value VectorBuilder::number(Value index) {
  return arith::SIToFPOp::create(builder, f32, arith::IndexCastOp::create(builder, builder.getI64Type(), index));
}
Value VectorBuilder::widen(Value x) { return arith::ExtFOp::create(builder, builder.getF64Type(), x); }
Value VectorBuilder::narrow(Value x) { return arith::TruncFOp::create(builder, f32, x); }
Value VectorBuilder::broadcast(Value x) { return vector::BroadcastOp::create(builder, vector, x); }
Value VectorBuilder::addf(Value x, Value y) { return arith::AddFOp::create(builder, x, y, contract); }
Value VectorBuilder::subf(Value x, Value y) { return arith::SubFOp::create(builder, x, y, contract); }
Value VectorBuilder::mulf(Value x, Value y) { return arith::MulFOp::create(builder, x, y, contract); }
Value VectorBuilder::divf(Value x, Value y) { return arith::DivFOp::create(builder, x, y); }
Value VectorBuilder::fma(Value x, Value y, Value z) { return vector::FMAOp::create(builder, x, y, z); }
Value VectorBuilder::compare(arith::CmpFPredicate predicate, Value x, Value y) {
  return arith::CmpFOp::create(builder, predicate, x, y);
}
Value VectorBuilder::select(Value condition, Value yes, Value no) {
  return arith::SelectOp::create(builder, condition, yes, no);
}
