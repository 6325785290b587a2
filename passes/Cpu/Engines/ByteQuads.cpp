// Packs four integers of 8 bits in a step, and multiplies steps (ByteQuads.h).
#include "passes/Cpu/Engines/ByteQuads.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "passes/Emit/IntegerLanes.h"

using namespace mlir;
using namespace skewer;

static constexpr int64_t kBytesOfStep = 4;
static constexpr auto kSigns = static_cast<int32_t>(0x80808080); // the sign bits of a step

static VectorType quadsOf(const VectorBuilder &b) {
  return VectorType::get({kBytesOfStep * b.lanes}, b.builder.getI8Type());
}

/// Returns sum + x · y in each lane, for elements of x from 0 to 255.
static Value multiplyRaised(VectorBuilder &b, Value x, Value y, Value sum) {
  auto bytes = [&](Value steps) -> Value { return vector::BitCastOp::create(b.builder, quadsOf(b), steps); };
  auto name = b.builder.getStringAttr("llvm.x86.avx512.vpdpbusd.512");
  return LLVM::CallIntrinsicOp::create(b.builder, b.integers, name, ValueRange{sum, bytes(x), bytes(y)}).getResult(0);
}

Value ByteQuads::raised(VectorBuilder &b, Value steps) {
  if (!isa<VectorType>(steps.getType())) {
    Value bits = arith::BitcastOp::create(b.builder, b.builder.getI32Type(), steps);
    Value signs = arith::ConstantIntOp::create(b.builder, b.builder.getI32Type(), kSigns);
    return arith::BitcastOp::create(b.builder, b.f32, arith::XOrIOp::create(b.builder, bits, signs));
  }
  Value bits = arith::BitcastOp::create(b.builder, b.integers, steps);
  return arith::BitcastOp::create(b.builder, b.vector, arith::XOrIOp::create(b.builder, bits, integer(b, kSigns)));
}

Value ByteQuads::loadSteps(VectorBuilder &b, Value memory, Value at, int64_t count, double) const {
  return loadAsSteps(b, quadsOf(b), memory, at, count);
}

Value ByteQuads::loadStep(VectorBuilder &b, const RowSource &source, Value step) const {
  Value first = b.mul(step, kBytesOfStep), zero = arith::ConstantIntOp::create(b.builder, b.builder.getI32Type(), 0),
        all;
  int64_t behind = kBytesOfStep * stepsOf(source.depth) - source.depth; // elements of steps behind the row
  for (int64_t part = 0; part < kBytesOfStep; ++part) {
    Value d = b.add(first, part), exists, place = d;
    if (part + behind >= kBytesOfStep) { // nothing behind the row is read
      exists = b.less(d, b.index(source.depth));
      place = b.select(exists, d, b.index(0));
    }
    Value x = memref::LoadOp::create(b.builder, source.memory, b.add(source.base, b.mul(place, source.depthStride)));
    Value bits = arith::ExtUIOp::create(b.builder, b.builder.getI32Type(), x);
    if (exists)
      bits = b.select(exists, bits, zero);
    if (part)
      bits = arith::ShLIOp::create(b.builder, bits,
                                   arith::ConstantIntOp::create(b.builder, b.builder.getI32Type(), 8 * part));
    all = all ? arith::OrIOp::create(b.builder, all, bits).getResult() : bits;
  }
  return arith::BitcastOp::create(b.builder, b.f32, all);
}

Value ByteQuads::addProducts(VectorBuilder &b, Value x, Value y, Value sum) const {
  return multiplyRaised(b, x, y, sum);
}

void ByteQuads::packPanel(VectorBuilder &b, const PanelSource &source, const PanelTarget &target, Value panel) const {
  VectorEngine::packPanel(b, source, target, panel);
  Value base = b.add(target.base, b.mul(panel, target.stride));
  Value halves = arith::BitcastOp::create(b.builder, b.vector, integer(b, kSigns)); // 128 in each element
  int64_t steps = stepsOf(source.depth);
  Value sums = b.loop(b.index(0), b.index(steps), 1, ValueRange{integer(b, 0)}, [&](Value step, ValueRange before) {
    Value line = b.load(target.memory, b.add(base, b.mul(step, b.lanes)));
    return SmallVector<Value>{multiplyRaised(b, halves, line, before[0])};
  })[0];
  Value corrections = arith::SubIOp::create(b.builder, integer(b, 0), sums);
  b.store(arith::BitcastOp::create(b.builder, b.vector, corrections), target.memory, b.add(base, steps * b.lanes));
}

SmallVector<Value> ByteQuads::integerSums(VectorBuilder &b, const TileProduct &product) const {
  const ProductOperand &panels = product.panels;
  SmallVector<Value> start;
  for (int64_t v = 0; v < product.tile.vectors; ++v) {
    int64_t line = (product.tile.vector + v) * panels.stride + product.steps * b.lanes;
    Value corrections = b.load(panels.memory, b.add(panels.base, line));
    start.push_back(arith::BitcastOp::create(b.builder, b.integers, corrections));
  }
  SmallVector<Value> sums;
  for (int64_t r = 0; r < product.tile.rows; ++r)
    sums.append(start);
  return addSteps(b, product, product.tile, b.index(0), product.steps, std::move(sums));
}

Value ByteQuads::numbersOf(VectorBuilder &b, Value stored) const {
  Value sums = arith::BitcastOp::create(b.builder, b.integers, stored);
  return arith::SIToFPOp::create(b.builder, b.vector, sums);
}

SmallVector<Value> ByteQuads::multiply(VectorBuilder &b, const TileProduct &product, const HeldSums &) const {
  SmallVector<Value> numbers;
  for (Value sum : integerSums(b, product)) {
    Value number = arith::SIToFPOp::create(b.builder, b.vector, sum);
    numbers.push_back(product.scale == 1 ? number : b.mulf(number, b.constant(product.scale)));
  }
  return numbers;
}

void ByteQuads::multiplyInto(VectorBuilder &b, const TileProduct &product, const ProductOperand &target) const {
  SmallVector<Value> sums = integerSums(b, product);
  for (int64_t r = 0; r < product.tile.rows; ++r)
    for (int64_t v = 0; v < product.tile.vectors; ++v)
      b.store(arith::BitcastOp::create(b.builder, b.vector, sums[r * product.tile.vectors + v]), target.memory,
              b.add(target.base, r * target.stride + v * b.lanes));
}
