// Emits integers, f32, loops and branches.
#include "passes/Gpu/GpuBuilder.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace skewer::gpu;

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
Value GpuBuilder::equal(Value x, Value y) { return createOrFold<arith::CmpIOp>(arith::CmpIPredicate::eq, x, y); }
Value GpuBuilder::notEqual(Value x, Value y) { return createOrFold<arith::CmpIOp>(arith::CmpIPredicate::ne, x, y); }
Value GpuBuilder::less(Value x, Value y) { return createOrFold<arith::CmpIOp>(arith::CmpIPredicate::slt, x, y); }
Value GpuBuilder::lessEqual(Value x, Value y) { return createOrFold<arith::CmpIOp>(arith::CmpIPredicate::sle, x, y); }
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
Value GpuBuilder::isNan(Value x) { return arith::CmpFOp::create(*this, arith::CmpFPredicate::UNO, x, x); }

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

void GpuBuilder::either(Value condition, llvm::function_ref<void()> yes, llvm::function_ref<void()> no) {
  auto branch = scf::IfOp::create(*this, condition, /*withElseRegion=*/true);
  OpBuilder::InsertionGuard guard(*this);
  setInsertionPointToStart(branch.thenBlock());
  yes();
  setInsertionPointToStart(branch.elseBlock());
  no();
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
