// Emits how a work item begins (WorkItems.h).
#include "passes/Cpu/WorkItems.h"
#include "passes/Cpu/Strategy.h"

using namespace mlir;
using namespace skewer;

/// Returns the expressions that determine where the keys and values of a head lie; empty if no two consecutive heads
/// can share them.
std::vector<subscript::Expr> WorkItems::basesOfKeys() const {
  if (shape.value.picked || llvm::any_of(shape.content, [](const ContentTerm &term) { return bool(term.key.picked); }))
    return {};
  std::vector<subscript::Expr> bases = {shape.value.base};
  for (const ContentTerm &term : shape.content)
    bases.push_back(term.key.base);
  for (const auto &bound : {shape.bounds.low, shape.bounds.high}) // they limit what is packed
    if (bound)
      bases.push_back(*bound);
  bool added = false;
  for (const auto &strategy : strategies) {
    if (const Walk *keys = strategy->packedKeys().walk)
      bases.push_back(keys->base);
    added |= strategy->changesValues();
  }
  if (shape.space.leading.empty() || added)
    return {};
  subscript::Domain domain = subscript::domainOf(shape.space.sizes);
  for (const subscript::Expr &base : bases)
    if (auto affine = subscript::asAffine(base, domain);
        affine && affine->coefficients.count(shape.space.leading.back()))
      return {};
  return bases;
}

/// Returns whether the keys or values differ from those of the head before.
Value WorkItems::keysChange(ArrayRef<subscript::Expr> bases) {
  SmallVector<Value> own;
  for (const subscript::Expr &base : bases)
    own.push_back(positions.baseOf(base));
  Value change;
  positions.atHead(b.maximum(b.add(positions.head(), -1), b.index(0)), [&] {
    for (auto [base, here] : llvm::zip(bases, own)) {
      Value other = arith::CmpIOp::create(b.builder, arith::CmpIPredicate::ne, positions.baseOf(base), here);
      change = change ? arith::OrIOp::create(b.builder, change, other).getResult() : other;
    }
  });
  return change;
}

WorkItem WorkItems::enter(Value item, Value first) {
  if (g.headsTogether > 1)
    return enterPhase(item, first);
  int64_t items = g.chunks * g.parts; // of a head
  Value chunk = b.remainder(item, items);
  positions.enterHead(b.divide(item, items));
  Value firstOfHead = arith::CmpIOp::create(b.builder, arith::CmpIPredicate::eq, chunk, b.index(0));
  Value firstOfRun = arith::CmpIOp::create(b.builder, arith::CmpIPredicate::eq, item, first);
  Value prepares = arith::OrIOp::create(b.builder, firstOfHead, firstOfRun), packs = prepares;
  // Heads of a group share their packed keys.
  if (auto bases = basesOfKeys(); !bases.empty())
    packs =
        arith::OrIOp::create(b.builder, firstOfRun, arith::AndIOp::create(b.builder, firstOfHead, keysChange(bases)));
  return {chunk, packs, prepares, firstOfRun, {}};
}

/// Enters a work item if heads take turns: they take a phase one after the other, each with its own packed keys and
/// values; then comes the next phase. The first items of a worker are one of each head, whichever head it begins with.
WorkItem WorkItems::enterPhase(Value item, Value first) {
  Value turn = b.remainder(item, g.headsTogether), rest = b.divide(item, g.headsTogether);
  Value phase = b.remainder(rest, g.chunks);
  positions.enterHead(b.add(b.mul(b.divide(rest, g.chunks), g.headsTogether), turn));
  content.enterTurn(turn);
  values.enterTurn(turn);
  auto isZero = [&](Value x) {
    return arith::CmpIOp::create(b.builder, arith::CmpIPredicate::eq, x, b.index(0)).getResult();
  };
  Value early = b.less(b.sub(item, first), b.index(g.headsTogether));
  Value prepares = arith::OrIOp::create(b.builder, isZero(phase), early);
  Value changes = arith::OrIOp::create(b.builder, isZero(turn), isZero(b.sub(item, first)));
  return {phase, prepares, prepares, {}, changes};
}
