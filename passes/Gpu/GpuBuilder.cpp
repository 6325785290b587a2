// The operations of a thread of a GPU kernel.
#include "passes/Gpu/GpuBuilder.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace skewer::gpu;

SmallVector<Value> skewer::gpu::flattened(ArrayRef<Accumulator> sums) {
  SmallVector<Value> flat;
  for (const Accumulator &sum : sums)
    flat.append(sum.begin(), sum.end());
  return flat;
}

std::vector<Accumulator> skewer::gpu::gathered(ValueRange flat) {
  std::vector<Accumulator> sums;
  for (size_t k = 0; k < flat.size(); k += 4)
    sums.push_back({flat[k], flat[k + 1], flat[k + 2], flat[k + 3]});
  return sums;
}

//===- Integers ----------------------------------------------------------------===//

Value GpuBuilder::i32(int64_t value) { return arith::ConstantIntOp::create(*this, value, 32); }
Value GpuBuilder::i64(int64_t value) { return arith::ConstantIntOp::create(*this, value, 64); }
Value GpuBuilder::index(int64_t value) { return arith::ConstantIndexOp::create(*this, value); }
Value GpuBuilder::f32(double value) { return arith::ConstantOp::create(*this, getF32FloatAttr(float(value))); }

static Value sameType(GpuBuilder &b, Value like, int64_t value) {
  return like.getType().isIndex() ? b.index(value) : like.getType().isInteger(64) ? b.i64(value) : b.i32(value);
}

Value GpuBuilder::add(Value x, Value y) { return createOrFold<arith::AddIOp>(x, y); }
Value GpuBuilder::add(Value x, int64_t y) { return y ? add(x, sameType(*this, x, y)) : x; }
Value GpuBuilder::sub(Value x, Value y) { return createOrFold<arith::SubIOp>(x, y); }
Value GpuBuilder::mul(Value x, Value y) { return createOrFold<arith::MulIOp>(x, y); }
Value GpuBuilder::mul(Value x, int64_t y) { return mul(x, sameType(*this, x, y)); }
Value GpuBuilder::divide(Value x, int64_t y) {
  return llvm::isPowerOf2_64(y) ? shiftRight(x, llvm::Log2_64(y))
                                : createOrFold<arith::DivUIOp>(x, sameType(*this, x, y));
}
Value GpuBuilder::remainder(Value x, int64_t y) {
  return llvm::isPowerOf2_64(y) ? bitAnd(x, y - 1) : createOrFold<arith::RemUIOp>(x, sameType(*this, x, y));
}
Value GpuBuilder::shiftLeft(Value x, int64_t y) { return createOrFold<arith::ShLIOp>(x, sameType(*this, x, y)); }
Value GpuBuilder::shiftRight(Value x, int64_t y) { return createOrFold<arith::ShRUIOp>(x, sameType(*this, x, y)); }
Value GpuBuilder::bitAnd(Value x, int64_t y) { return createOrFold<arith::AndIOp>(x, sameType(*this, x, y)); }
Value GpuBuilder::both(Value x, Value y) { return createOrFold<arith::AndIOp>(x, y); }
Value GpuBuilder::minimum(Value x, Value y) { return createOrFold<arith::MinSIOp>(x, y); }
Value GpuBuilder::maximum(Value x, Value y) { return createOrFold<arith::MaxSIOp>(x, y); }
Value GpuBuilder::compare(arith::CmpIPredicate predicate, Value x, Value y) {
  return createOrFold<arith::CmpIOp>(predicate, x, y);
}
Value GpuBuilder::select(Value condition, Value x, Value y) { return createOrFold<arith::SelectOp>(condition, x, y); }
Value GpuBuilder::toIndex(Value x) { return createOrFold<arith::IndexCastOp>(getIndexType(), x); }
Value GpuBuilder::toI64(Value x) {
  return x.getType().isIndex() ? createOrFold<arith::IndexCastOp>(getI64Type(), x)
                               : createOrFold<arith::ExtSIOp>(getI64Type(), x);
}
Value GpuBuilder::toI32(Value x) { return createOrFold<arith::IndexCastOp>(getI32Type(), x); }

//===- Numbers -----------------------------------------------------------------===//

Value GpuBuilder::addf(Value x, Value y) { return createOrFold<arith::AddFOp>(x, y); }
Value GpuBuilder::subf(Value x, Value y) { return createOrFold<arith::SubFOp>(x, y); }
Value GpuBuilder::negf(Value x) { return createOrFold<arith::NegFOp>(x); }
Value GpuBuilder::mulf(Value x, Value y) { return createOrFold<arith::MulFOp>(x, y); }
Value GpuBuilder::fma(Value x, Value y, Value z) { return LLVM::FMAOp::create(*this, x, y, z); }
Value GpuBuilder::maxf(Value x, Value y) { return LLVM::MaxNumOp::create(*this, x, y); }
Value GpuBuilder::exp2(Value x) { return LLVM::Exp2Op::create(*this, getF32Type(), x, LLVM::FastmathFlags::afn); }
// Called by its name, since LLVM's own log2 has no instruction on GPUs, fast or not.
Value GpuBuilder::log2(Value x) {
  return LLVM::CallIntrinsicOp::create(*this, getF32Type(), getStringAttr("llvm.nvvm.lg2.approx.f"), x).getResult(0);
}
Value GpuBuilder::equalf(Value x, Value y) { return arith::CmpFOp::create(*this, arith::CmpFPredicate::OEQ, x, y); }

Value GpuBuilder::bitsOf(Value number) { return LLVM::BitcastOp::create(*this, getI32Type(), number); }
Value GpuBuilder::isNan(Value number) {
  return arith::CmpFOp::create(*this, arith::CmpFPredicate::UNO, number, number);
}
Value GpuBuilder::restOf(Value bits) {
  auto number = [&](Value bits) { return LLVM::BitcastOp::create(*this, getF32Type(), bits); };
  return bitsOf(subf(number(bits), number(bitAnd(nearestTf32(bits), int32_t(0xffffe000)))));
}
Value GpuBuilder::nearestTf32(Value bits) { return add(bits, i32(0x1000)); }

Value GpuBuilder::pack(Value low, Value high, Type element) {
  Value pair = LLVM::PoisonOp::create(*this, VectorType::get({2}, getF32Type()));
  pair = LLVM::InsertElementOp::create(*this, pair, low, i32(0));
  pair = LLVM::InsertElementOp::create(*this, pair, high, i32(1));
  Value narrowed = LLVM::FPTruncOp::create(*this, VectorType::get({2}, element), pair);
  return LLVM::BitcastOp::create(*this, getI32Type(), narrowed);
}
std::array<Value, 2> GpuBuilder::unpack(Value packed, Type element) {
  Value pair = LLVM::BitcastOp::create(*this, VectorType::get({2}, element), packed);
  std::array<Value, 2> numbers;
  for (int64_t k : {0, 1})
    numbers[size_t(k)] = widen(LLVM::ExtractElementOp::create(*this, pair, i32(k)));
  return numbers;
}
Value GpuBuilder::widen(Value x) {
  return x.getType().isF32() ? x : Value(LLVM::FPExtOp::create(*this, getF32Type(), x));
}
Value GpuBuilder::narrow(Value x, Type element) {
  return element.isF32() ? x : Value(LLVM::FPTruncOp::create(*this, element, x));
}

//===- The warp and the block --------------------------------------------------===//

Value GpuBuilder::shuffle(Value x, int64_t distance) {
  return NVVM::ShflOp::create(*this, x.getType(), i32(-1), x, i32(distance), i32(31), NVVM::ShflKind::bfly, nullptr);
}
Value GpuBuilder::shuffleFrom(Value x, Value from) {
  return NVVM::ShflOp::create(*this, x.getType(), i32(-1), x, from, i32(31), NVVM::ShflKind::idx, nullptr);
}
Value GpuBuilder::anyLane(Value condition) {
  return NVVM::VoteSyncOp::create(*this, getI1Type(), i32(-1), condition, NVVM::VoteSyncKind::any);
}
void GpuBuilder::barrier() { NVVM::Barrier0Op::create(*this); }
void GpuBuilder::warpBarrier() { NVVM::SyncWarpOp::create(*this, i32(-1)); }
void GpuBuilder::commitCopies() { NVVM::CpAsyncCommitGroupOp::create(*this); }
void GpuBuilder::waitForCopies(unsigned pending) { NVVM::CpAsyncWaitGroupOp::create(*this, pending); }

//===- Memory ------------------------------------------------------------------===//

Value GpuBuilder::sharedAt(Value byteOffset) {
  return LLVM::GEPOp::create(*this, shared.getType(), getI8Type(), shared, ArrayRef<LLVM::GEPArg>{byteOffset});
}
Value GpuBuilder::globalAt(Value pointer, Value elementOffset, Type element) {
  return LLVM::GEPOp::create(*this, pointer.getType(), element, pointer, ArrayRef<LLVM::GEPArg>{elementOffset});
}
Value GpuBuilder::load(Value pointer, Type type) { return LLVM::LoadOp::create(*this, type, pointer); }
void GpuBuilder::store(Value value, Value pointer) { LLVM::StoreOp::create(*this, value, pointer); }
void GpuBuilder::copyAsync(Value sharedPlace, Value global, Value inside) {
  Value bytes = select(inside, i32(16), i32(0));
  NVVM::CpAsyncOp::create(*this, sharedPlace, global, 16, NVVM::LoadCacheModifierKind::CG, bytes);
}

//===- Matrices ----------------------------------------------------------------===//

RowFragment GpuBuilder::loadMatrices(Value byteOffset, bool transposed) {
  auto type = LLVM::LLVMStructType::getLiteral(getContext(), SmallVector<Type>(4, getI32Type()));
  auto layout = transposed ? NVVM::MMALayout::col : NVVM::MMALayout::row;
  auto shape = NVVM::LdStMatrixShapeAttr::get(getContext(), 8, 8);
  Value loaded =
      NVVM::LdMatrixOp::create(*this, type, sharedAt(byteOffset), 4, layout, shape, NVVM::LdStMatrixEltType::B16);
  RowFragment fragment;
  for (int64_t k = 0; k < 4; ++k)
    fragment[size_t(k)] = LLVM::ExtractValueOp::create(*this, loaded, k);
  return fragment;
}

Accumulator GpuBuilder::multiply(const RowFragment &rows, const ColumnFragment &columns, const Accumulator &sum,
                                 Type element) {
  // NVVM's operation expects f16 as vectors, and bf16 and tf32 as i32.
  auto operands = [&](ArrayRef<Value> parts) {
    SmallVector<Value> values;
    for (Value part : parts)
      values.push_back(element.isF16() ? Value(LLVM::BitcastOp::create(*this, VectorType::get({2}, element), part))
                                       : part);
    return values;
  };
  auto type = LLVM::LLVMStructType::getLiteral(getContext(), SmallVector<Type>(4, getF32Type()));
  NVVM::MMATypes kind = element.isF16()    ? NVVM::MMATypes::f16
                        : element.isBF16() ? NVVM::MMATypes::bf16
                                           : NVVM::MMATypes::tf32;
  std::array<NVVM::MMATypes, 2> kinds{kind, kind};
  std::array<NVVM::MMALayout, 2> layouts{NVVM::MMALayout::row, NVVM::MMALayout::col};
  Value product = NVVM::MmaOp::create(
      *this, type, operands(rows), operands(columns), SmallVector<Value>(sum.begin(), sum.end()),
      ArrayRef<int64_t>{16, 8, element.isF32() ? 8 : 16}, std::nullopt, std::nullopt, kinds, layouts);
  Accumulator result;
  for (int64_t k = 0; k < 4; ++k)
    result[size_t(k)] = LLVM::ExtractValueOp::create(*this, product, k);
  return result;
}

//===- Control flow ------------------------------------------------------------===//

SmallVector<Value> GpuBuilder::loop(Value low, Value high, int64_t step, ArrayRef<Value> initial,
                                    llvm::function_ref<SmallVector<Value>(Value, ValueRange)> body) {
  auto loop = scf::ForOp::create(*this, low, high, i32(step), initial);
  OpBuilder::InsertionGuard guard(*this);
  setInsertionPointToStart(loop.getBody());
  SmallVector<Value> next = body(loop.getInductionVar(), loop.getRegionIterArgs());
  if (!initial.empty()) // without carried values the loop already has its yield
    scf::YieldOp::create(*this, next);
  return SmallVector<Value>(loop.getResults());
}

void GpuBuilder::when(Value condition, llvm::function_ref<void()> body) {
  auto branch = scf::IfOp::create(*this, condition, /*withElseRegion=*/false);
  OpBuilder::InsertionGuard guard(*this);
  setInsertionPointToStart(branch.thenBlock());
  body();
}

SmallVector<Value> GpuBuilder::choose(Value condition, TypeRange types, llvm::function_ref<SmallVector<Value>()> yes,
                                      llvm::function_ref<SmallVector<Value>()> no) {
  auto branch = scf::IfOp::create(*this, types, condition, /*withElseRegion=*/true);
  OpBuilder::InsertionGuard guard(*this);
  setInsertionPointToStart(branch.thenBlock());
  scf::YieldOp::create(*this, yes());
  setInsertionPointToStart(branch.elseBlock());
  scf::YieldOp::create(*this, no());
  return SmallVector<Value>(branch.getResults());
}
