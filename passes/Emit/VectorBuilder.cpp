// Emits loops, loads and arithmetic on one-dimensional vectors.
#include "passes/Emit/VectorBuilder.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/IR/BuiltinOps.h"
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

Value VectorBuilder::scalar(Value buffer, Value at) {
  return widened(builder, memref::LoadOp::create(builder, buffer, at));
}
void VectorBuilder::storeScalar(Value value, Value buffer, Value at) {
  memref::StoreOp::create(builder, value, buffer, at);
}
VectorType VectorBuilder::vectorOf(Value buffer) const {
  return VectorType::get({lanes}, cast<MemRefType>(buffer.getType()).getElementType());
}
Value VectorBuilder::load(Value buffer, Value at) {
  return widened(builder, vector::LoadOp::create(builder, vectorOf(buffer), buffer, at));
}
void VectorBuilder::store(Value value, Value buffer, Value at) { vector::StoreOp::create(builder, value, buffer, at); }
void VectorBuilder::storeStreamed(Value value, Value buffer, Value at) {
  vector::StoreOp::create(builder, value, buffer, at, /*nontemporal=*/true, llvm::MaybeAlign(lanes * 4));
}
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
  VectorType type = vectorOf(buffer);
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
Value VectorBuilder::loadIntegers(Value buffer, Value at) {
  return vector::LoadOp::create(builder, integers, buffer, at);
}
Value VectorBuilder::loadIntegers(Value buffer, Value at, Value mask) {
  Value first = vector::BroadcastOp::create(builder, integers, memref::LoadOp::create(builder, buffer, at));
  return vector::MaskedLoadOp::create(builder, integers, buffer, at, mask, first);
}
Value VectorBuilder::gatherIntegers(Value buffer, Value at, Value indices) {
  Value none = arith::ConstantOp::create(builder, cast<TypedAttr>(builder.getZeroAttr(integers)));
  return vector::GatherOp::create(builder, integers, buffer, ValueRange{at}, indices, firstLanes(lanes), none);
}
Value VectorBuilder::gather(Value buffer, Value at, Value indices, Value mask) {
  auto type = cast<ShapedType>(buffer.getType()).getElementType();
  auto result = VectorType::get({lanes}, type);
  if (!mask)
    mask = firstLanes(lanes);
  Value none = arith::ConstantOp::create(builder, cast<TypedAttr>(builder.getZeroAttr(result)));
  return widened(builder, vector::GatherOp::create(builder, result, buffer, ValueRange{at}, indices, mask, none));
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
// The selection x > other ? x : other is exactly vmaxps with `other` as the second operand.
Value VectorBuilder::larger(Value x, Value other) {
  return select(compare(arith::CmpFPredicate::OGT, x, other), x, other);
}
Value VectorBuilder::smaller(Value x, Value other) {
  return select(compare(arith::CmpFPredicate::OLT, x, other), x, other);
}

/// Returns x · 2^whole in the lanes that are set in `mask`, and 0 in others; in all lanes if `mask` is null.
Value VectorBuilder::scaled(Value x, Value whole, Value mask) {
  Type i16 = builder.getI16Type(), i32 = builder.getI32Type();
  Value word = arith::ConstantIntOp::create(builder, i16, -1);
  if (mask)
    word = vector::ExtractOp::create(
        builder, vector::BitCastOp::create(builder, VectorType::get({1}, i16), mask).getResult(), 0);
  Value rounding = arith::ConstantIntOp::create(builder, i32, 4); // the rounding mode of the thread's control register
  return LLVM::CallIntrinsicOp::create(builder, vector, builder.getStringAttr("llvm.x86.avx512.mask.scalef.ps.512"),
                                       ValueRange{x, whole, constant(0), word, rounding})
      .getResult(0);
}

static VectorType pairsOf(Value buffer, int64_t lanes) {
  return VectorType::get({2 * lanes}, cast<MemRefType>(buffer.getType()).getElementType());
}
Value VectorBuilder::loadPairs(Value buffer, Value at) {
  return vector::LoadOp::create(builder, pairsOf(buffer, lanes), buffer, at);
}
void VectorBuilder::storePairs(Value value, Value buffer, Value at) {
  vector::StoreOp::create(builder, value, buffer, at);
}
Value VectorBuilder::addProductsOfPairs(Value x, Value y, Value sum) {
  return LLVM::CallIntrinsicOp::create(builder, vector, builder.getStringAttr("llvm.x86.avx512bf16.dpbf16ps.512"),
                                       ValueRange{sum, x, y})
      .getResult(0);
}

// 1.5·2^23. A float of this size has no fraction, and its low bits hold an integer.
static constexpr float kRounds = 0x1.8p23f;

VectorBuilder::Multiple VectorBuilder::nearestMultiple(Value x, float inverse) {
  Value rounded = fma(x, constant(inverse), constant(kRounds));
  return {arith::SubFOp::create(builder, rounded, constant(kRounds)), rounded};
}

/// Returns the integer of a multiple, shifted to the exponent bits of a float.
Value VectorBuilder::asExponent(const Multiple &multiple) {
  Value bits = arith::BitcastOp::create(builder, integers, multiple.rounded);
  return arith::ShLIOp::create(builder, bits, integer(23));
}

Value VectorBuilder::powerOfTwo(const Multiple &multiple) {
  if (canScale())
    return scaled(constant(1), multiple.whole, {});
  Value bits = arith::AddIOp::create(builder, asExponent(multiple), integer(0x3f800000));
  return arith::BitcastOp::create(builder, vector, bits);
}

// The coefficients minimise the largest relative error (Remez by weighted least squares, rounded one after another).
Value VectorBuilder::exp(Value x, bool large) {
  constexpr float kLowest = -87.3365448f; // its exponential is the smallest normal number
  Value low = constant(kLowest), inside = x;
  // Clamp x so that the exponent below stays in range. The comparison keeps a NaN in x.
  if (!canScale())
    inside = select(compare(arith::CmpFPredicate::OLT, x, low), low, x);
  Multiple multiple = nearestMultiple(inside, 1.44269502f); // the multiple of ln 2
  Value rest;
  // Subtract ln 2 in two parts. The first has so few bits that its multiples are exact. Without FMA, a multiple of ln 2
  // in one part would be rounded before the subtraction.
  if (large || !hasFma())
    rest = fma(multiple.whole, constant(2.12194440e-4f), fma(multiple.whole, constant(-0.693359375f), inside));
  else
    rest = fma(multiple.whole, constant(-0.693147182f), inside);
  Value power = constant(0x1.6a4748p-10f); // the exponential of the rest, by Horner's scheme
  for (float c : {0x1.1239a2p-7f, 0x1.5558b6p-5f, 0x1.555492p-3f, 0x1.fffffcp-2f, 1.0f, 1.0f})
    power = fma(power, rest, constant(c));
  if (canScale())
    return scaled(power, multiple.whole, compare(arith::CmpFPredicate::UGE, x, low));
  Value bits =
      arith::AddIOp::create(builder, arith::BitcastOp::create(builder, integers, power), asExponent(multiple));
  power = arith::BitcastOp::create(builder, vector, bits);
  // A masked key has weight exactly 0. An unordered comparison would hide a NaN; this ordered one keeps it.
  power = select(compare(arith::CmpFPredicate::OLT, x, low), constant(0), power);
  return select(compare(arith::CmpFPredicate::UNO, x, x), x, power);
}
Value VectorBuilder::reduceAdd(Value x) {
  return vector::ReductionOp::create(builder, vector::CombiningKind::ADD, x, arith::FastMathFlags::reassoc);
}
Value VectorBuilder::reduceMax(Value x) {
  for (int64_t half = lanes / 2; half > 0; half /= 2) {
    auto part = [&](int64_t first) -> Value {
      return vector::ExtractStridedSliceOp::create(builder, x, first, half, 1);
    };
    x = larger(part(half), part(0));
  }
  return vector::ExtractOp::create(builder, x, 0);
}
Value VectorBuilder::laneNumbers() {
  SmallVector<int32_t> numbers;
  for (int64_t lane = 0; lane < lanes; ++lane)
    numbers.push_back(lane);
  return arith::ConstantOp::create(builder, DenseElementsAttr::get(integers, ArrayRef<int32_t>(numbers)));
}
Value VectorBuilder::integer(int32_t value) {
  return arith::ConstantOp::create(builder, DenseElementsAttr::get(integers, value));
}
Value VectorBuilder::permute(Value x, Value pattern) {
  StringRef name = lanes == 16 ? "llvm.x86.avx512.permvar.sf.512" : "llvm.x86.avx2.permps";
  return LLVM::CallIntrinsicOp::create(builder, vector, builder.getStringAttr(name), ValueRange{x, pattern})
      .getResult(0);
}
Value VectorBuilder::integerTable(ArrayRef<int32_t> values) {
  auto module = builder.getInsertionBlock()->getParentOp()->getParentOfType<ModuleOp>();
  auto attribute = DenseElementsAttr::get(
      RankedTensorType::get({static_cast<int64_t>(values.size())}, builder.getI32Type()), values);
  auto type = MemRefType::get({static_cast<int64_t>(values.size())}, builder.getI32Type());
  size_t count = 0;
  memref::GlobalOp found;
  for (auto global : module.getOps<memref::GlobalOp>()) {
    count += global.getSymName().starts_with("row_table_");
    if (!found && global.getInitialValueAttr() == attribute)
      found = global;
  }
  if (!found) {
    OpBuilder::InsertionGuard guard(builder);
    builder.setInsertionPointToStart(module.getBody());
    found = memref::GlobalOp::create(builder, "row_table_" + std::to_string(count), builder.getStringAttr("private"),
                                     type, attribute, /*constant=*/true,
                                     /*alignment=*/builder.getI64IntegerAttr(64));
  }
  return memref::GetGlobalOp::create(builder, type, found.getSymName());
}
Value VectorBuilder::tableElement(Value table, Value at) {
  return arith::IndexCastOp::create(builder, builder.getIndexType(), memref::LoadOp::create(builder, table, at));
}
Value VectorBuilder::broadcastIndex(Value x) {
  Value narrow = arith::IndexCastOp::create(builder, builder.getI32Type(), x);
  return vector::BroadcastOp::create(builder, integers, narrow);
}
