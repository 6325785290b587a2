// The strategy "gathered_products": Σ_d Π operand[f(i, j, d)], a contraction that no class of terms takes apart, for a
// vector of keys at a time. Operands that move with the key are gathered; others are one number for all lanes. An
// example is a pair bias that the layer projects, z[i, j, c]·w[c, h].
#include "passes/Analysis/AxisProducts.h"
#include "passes/Analysis/LaneFit.h"
#include "passes/Cpu/KeyLanes.h"
#include "passes/Cpu/LaneIndices.h"
#include "passes/Cpu/Strategies/Others.h"
#include "passes/Cpu/TermStrategy.h"
#include "passes/Emit/IntegerLanes.h"
#include <limits>

using namespace mlir;
using namespace skewer;
using subscript::Expr;

namespace {
class GatheredProducts : public CpuStrategy {
public:
  GatheredProducts(CpuKernel &kernel, const OtherTerm &term) : CpuStrategy(kernel), term(term) {
    for (const Expr &offset : term.offsets)
      places.push_back(splitPlace(offset, shape.space));
  }
  LineUse lineUse() const override { return LineUse::Adds; }

  void addToLine(const BiasRow &row) override {
    Positions::Values at = positions.axesAt(row.position, {});
    b.loop(row.lowKey, row.highKey, lanes, [&](Value key) {
      Positions::Values lanesAt = keyLanes(b, shape, key, positions.keys());
      LaneIndices indices(b, at, lanesAt, positions.indices, keyInOrder(shape));
      Value guard = term.guard ? indices.emitPredicate(*term.guard) : Value();
      Value x = b.mulf(sum(0, at, lanesAt, guard), b.constant(term.scale));
      if (term.factor)
        x = b.mulf(x, arith::SIToFPOp::create(b.builder, b.vector, indices.emit(*term.factor)));
      x = guard ? b.select(guard, x, b.constant(0)) : x;
      Value where = b.add(row.line, b.sub(key, row.lowKey)), before = b.load(row.memory, where);
      Value after = b.addf(before, x), nothing = b.constant(-std::numeric_limits<float>::infinity());
      if (kernel.lines.hide())
        after = b.select(b.compare(arith::CmpFPredicate::OEQ, before, nothing), nothing, after);
      b.store(after, row.memory, where);
    });
  }

private:
  /// Returns the sum over the contracted axes from number `level` on. A sum of more than `kChunk` steps is added up in
  /// chains.
  Value sum(size_t level, Positions::Values at, const Positions::Values &lanesAt, Value guard) {
    if (level == term.contracted.size())
      return product(at, lanesAt, guard);
    const std::string &axis = term.contracted[level].first;
    int64_t size = term.contracted[level].second;
    auto chain = [&](Value from, Value to) {
      return b.loop(from, to, 1, ValueRange{b.constant(0)}, [&](Value step, ValueRange total) {
        at[axis] = step;
        return SmallVector<Value>{b.addf(total[0], sum(level + 1, at, lanesAt, guard))};
      })[0];
    };
    int64_t chunk = chunkOf(kChunk, size);
    if (size <= chunk)
      return chain(b.index(0), b.index(size));
    return b.loop(b.index(0), b.index(size), chunk, ValueRange{b.constant(0)}, [&](Value from, ValueRange total) {
      return SmallVector<Value>{b.addf(total[0], chain(from, b.minimum(b.add(from, chunk), b.index(size))))};
    })[0];
  }

  /// Returns the product of the operands at one step. Lanes in which the guard is false read nothing.
  Value product(const Positions::Values &at, const Positions::Values &lanesAt, Value guard) {
    LaneIndices indices(b, at, lanesAt, positions.indices, keyInOrder(shape));
    Value result;
    for (auto [place, argument] : llvm::zip(places, term.arguments)) {
      Value memoryOf = memory.arguments[argument], base = positions.indexOf(place.first, at), x;
      if (guard || usesAny(place.second, shape.space.key))
        x = gather(b, memoryOf, base, indices.emit(place.second), guard);
      else
        x = b.loadBroadcast(memoryOf, b.add(base, positions.indexOf(place.second, at)));
      result = result ? b.mulf(result, x) : x;
    }
    return result;
  }

  const OtherTerm &term;
  std::vector<std::pair<Expr, Expr>> places; // of each operand: the part of heads and steps, and that of positions
};

class GatheredProductsStrategy : public TermStrategy {
public:
  StringRef name() const override { return "gathered_products"; }

  bool fits(const TermForm &form, const AttentionShape &shape) const override {
    if (!form.as<OtherTerm>())
      return false;
    const OtherTerm &term = *form.as<OtherTerm>();
    if (term.contracted.empty() || term.application || term.offsets.empty())
      return false;
    subscript::Domain domain = attn::domainOf(shape.space);
    for (const auto &[axis, size] : term.contracted) {
      if (size == subscript::kRuntime)
        return false;
      domain[axis] = {0, size - 1};
    }
    return llvm::all_of(
               term.offsets,
               [&](const Expr &offset) { return fitsLanes(splitPlace(offset, shape.space).second, domain); }) &&
           (!term.factor || fitsLanes(*term.factor, domain)) && (!term.guard || fitsLanes(*term.guard, domain));
  }

  TermWork work(const TermForm &form, const AttentionShape &shape, const TileSizes &,
                const Target &target) const override {
    const OtherTerm &term = *form.as<OtherTerm>();
    double steps = double(shape.queries) * double(shape.keys), operands = double(term.offsets.size());
    for (const auto &[axis, size] : term.contracted)
      steps *= double(size);
    return {steps * operands, steps * operands * target.gatherCycles};
  }

  std::unique_ptr<CpuStrategy> make(CpuKernel &kernel, const TermForm &form) const override {
    return std::make_unique<GatheredProducts>(kernel, *form.as<OtherTerm>());
  }
};
} // namespace

std::unique_ptr<TermStrategy> skewer::makeGatheredProducts() { return std::make_unique<GatheredProductsStrategy>(); }
