// The engine for bf16 whose sums stay in vector registers, and the pairs of all engines for bf16.
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/X86Vector/X86VectorDialect.h"
#include "passes/Cpu/Engines/Bf16Pairs.h"
#include "passes/Cpu/Engines/Bf16Weights.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace skewer;

static VectorType pairsOf(const VectorBuilder &b) { return VectorType::get({2 * b.lanes}, b.builder.getBF16Type()); }

static bool holdsFloats(Value memory) { return cast<MemRefType>(memory.getType()).getElementType().isF32(); }

Value skewer::roundedPairs(VectorBuilder &b, Value first, Value second) {
  auto name = b.builder.getStringAttr("llvm.x86.avx512bf16.cvtne2ps2bf16.512");
  auto rounded = LLVM::CallIntrinsicOp::create(b.builder, pairsOf(b), name, ValueRange{second, first});
  return vector::BitCastOp::create(b.builder, b.vector, rounded.getResult(0));
}

Value Bf16Pairs::loadSteps(VectorBuilder &b, Value memory, Value at, int64_t count, double) const {
  if (holdsFloats(memory)) {
    Value second = count > b.lanes ? b.loadFirst(memory, b.add(at, b.lanes), count - b.lanes) : b.constant(0);
    return roundedPairs(b, b.loadFirst(memory, at, std::min(count, b.lanes)), second);
  }
  return loadAsSteps(b, pairsOf(b), memory, at, count);
}

Value Bf16Pairs::addProducts(VectorBuilder &b, Value x, Value y, Value sum) const {
  auto pairs = [&](Value steps) -> Value { return vector::BitCastOp::create(b.builder, pairsOf(b), steps); };
  return x86vector::DotBF16Op::create(b.builder, b.vector, sum, pairs(x), pairs(y));
}

Value Bf16Pairs::loadStep(VectorBuilder &b, const RowSource &source, Value step) const {
  auto number = [&](int64_t value) -> Value {
    return arith::ConstantIntOp::create(b.builder, b.builder.getI32Type(), value);
  };
  auto bitsAt = [&](Value d) -> Value {
    Value x = memref::LoadOp::create(b.builder, source.memory, b.add(source.base, b.mul(d, source.depthStride)));
    if (holdsFloats(source.memory))
      x = arith::TruncFOp::create(b.builder, b.builder.getBF16Type(), x);
    Value bits = arith::BitcastOp::create(b.builder, b.builder.getI16Type(), x);
    return arith::ExtUIOp::create(b.builder, b.builder.getI32Type(), bits);
  };
  // Nothing behind the row is read.
  auto bitsIfAny = [&](Value d, Value other) {
    Value exists = b.less(d, b.index(source.depth));
    return b.select(exists, bitsAt(b.select(exists, d, other)), number(0));
  };
  int64_t behind = 2 * stepsOf(source.depth) - source.depth; // elements of steps behind the row
  Value first = b.mul(step, 2), second = b.add(first, 1);
  Value low = behind < 2 ? bitsAt(first) : bitsIfAny(first, b.index(0));
  Value high = behind == 0 ? bitsAt(second) : bitsIfAny(second, behind < 2 ? first : b.index(0));
  Value bits = arith::OrIOp::create(b.builder, low, arith::ShLIOp::create(b.builder, high, number(16)));
  return arith::BitcastOp::create(b.builder, b.f32, bits);
}

namespace {
class Bf16Dot : public Bf16Pairs, public Bf16Weights {
public:
  Bf16Dot() : Bf16Pairs("bf16_dot") {}
  const WeightEngine *forWeights() const override { return this; }
  void addProduct(VectorBuilder &, const AddedProduct &) const override;

protected:
  Value addWeights(VectorBuilder &, Value total, Value steps) const override;

private:
  void addVectors(VectorBuilder &, const AddedProduct &, const TilePart &) const;
  static int64_t vectorsTogether(const AddedProduct &);
};

/// Adds the products of pairs of weights and pairs of 1. This is one instruction, which is fast where this engine is
/// chosen; AMX's machines have a slow one, beside tiles that need its port.
Value Bf16Dot::addWeights(VectorBuilder &b, Value total, Value steps) const {
  Value ones = arith::ConstantOp::create(b.builder, b.builder.getFloatAttr(b.builder.getBF16Type(), 1));
  Value pairs = vector::BroadcastOp::create(b.builder, pairsOf(b), ones);
  return addProducts(b, steps, vector::BitCastOp::create(b.builder, b.vector, pairs), total);
}

/// Returns how many vectors of the width are multiplied at once: as many as registers hold, in passes of equal width.
int64_t Bf16Dot::vectorsTogether(const AddedProduct &product) {
  constexpr int64_t kRegisters = 32; // of AVX-512, which every target of the engine has
  int64_t most = std::max<int64_t>(1, (kRegisters - 1) / (product.rows + 1));
  return llvm::divideCeil(product.vectors, llvm::divideCeil(product.vectors, most));
}

void Bf16Dot::addProduct(VectorBuilder &b, const AddedProduct &product) const {
  int64_t together = vectorsTogether(product);
  for (int64_t v = 0; v < product.vectors; v += together)
    addVectors(b, product, {0, product.rows, v, std::min(together, product.vectors - v)});
}

/// Adds the products of some vectors of the width, in chains of at most kChain steps.
void Bf16Dot::addVectors(VectorBuilder &b, const AddedProduct &product, const TilePart &part) const {
  const ProductOperand &weights = product.weights, &values = product.values, &target = product.target;
  Value panels = b.add(values.base, part.vector * values.stride);
  b.loop(product.first, product.end, kChain, [&](Value chain) {
    Value end = b.minimum(b.add(chain, kChain), product.end);
    SmallVector<Value> none(part.rows * part.vectors, b.constant(0));
    SmallVector<Value> sums = b.loop(chain, end, kStepsOfTurn, none, [&](Value step, ValueRange before) {
      if (product.beside && part.vector == 0)
        product.beside(step);
      ProductOperand rows{weights.memory, b.add(weights.base, step), weights.stride};
      ProductOperand columns{values.memory, b.add(panels, b.mul(step, b.lanes)), values.stride};
      return addTurn(b, part, rows, columns, kStepsOfTurn, SmallVector<Value>(before));
    });
    for (int64_t r = 0; r < part.rows; ++r)
      for (int64_t v = 0; v < part.vectors; ++v) {
        Value at = b.add(target.base, r * target.stride + (part.vector + v) * b.lanes);
        b.store(b.addf(b.load(target.memory, at), sums[r * part.vectors + v]), target.memory, at);
      }
  });
}
} // namespace

const VectorEngine &bf16DotVectors() {
  static const Bf16Dot engine;
  return engine;
}
