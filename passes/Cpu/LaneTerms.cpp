// Terms and masks for which nothing is prepared but indices: rows picked by any function of positions, segments,
// documents, prefixes. A vector of keys at a time; what depends on the key alone stands in lines of integers.
#include "passes/Cpu/CpuKernel.h"
#include "passes/Cpu/LaneIndices.h"
#include <limits>

using namespace mlir;
using namespace skewer;
using namespace skewer::subscript;

void CpuKernel::planLanes() {
  auto lineOf = [&](const Expr &expression) {
    for (const IndexLine &line : indexLines)
      if (line.expression == expression)
        return Expr::symbol(line.name);
    IndexLine line;
    line.expression = expression;
    line.name = "index line " + std::to_string(indexLines.size());
    line.buffer = reserve(localBytes, keyVectors * lanes);
    indexLines.push_back(line);
    return Expr::symbol(line.name);
  };
  std::function<Expr(const Expr &)> hoist = [&](const Expr &e) -> Expr {
    if (!usesAny(e, shape.space.key) || e.isSymbol())
      return e;
    if (!usesAny(e, shape.space.query))
      return lineOf(e);
    std::vector<Expr> parts;
    if (e.kind() == Kind::Add) {
      addends(e, parts);
      Expr ofKey = 0, rest = 0;
      for (const Expr &part : parts) {
        bool alone = usesAny(part, shape.space.key) && !usesAny(part, shape.space.query);
        Expr &sum = alone ? ofKey : rest;
        Expr one = alone ? part : hoist(part);
        sum = sum.isConstant(0) ? one : sum + one;
      }
      return ofKey.isConstant(0) ? rest : rest + hoist(ofKey);
    }
    for (const Expr &operand : e.operands())
      parts.push_back(hoist(operand));
    return e.withOperands(parts);
  };
  for (auto [number, term] : llvm::enumerate(shape.others)) {
    if (term.bias != BiasKind::Lanes)
      continue;
    LaneTerm lane;
    lane.term = number;
    for (const Expr &offset : term.offsets) {
      auto [base, place] = splitPlace(offset, shape.space);
      lane.bases.push_back(base);
      lane.places.push_back(hoist(place));
    }
    if (term.value)
      lane.value = hoist(*term.value);
    if (term.guard)
      lane.guard = hoist(*term.guard);
    laneTerms.push_back(std::move(lane));
  }
  for (const MaskPart &part : shape.masks)
    if (part.kind == BiasKind::Lanes)
      laneMasks.push_back(hoist(part.predicate));
  if (!laneTerms.empty() || !laneMasks.empty())
    lineBias = true;
  lineMask |= !laneMasks.empty();
  liveVectors = reserve(localBytes, laneMasks.empty() ? 0 : keyBlock + tileVectors * lanes);
}

static Value integersIn(CpuKernel &kernel, const Buffer &buffer) {
  OpBuilder &builder = kernel.b.builder;
  auto type = MemRefType::get({ShapedType::kDynamic}, builder.getI32Type());
  return memref::ViewOp::create(builder, kernel.b.builder.getLoc(), type, kernel.local, kernel.b.index(buffer.offset),
                                ValueRange{kernel.b.index(buffer.floats)});
}

/// Once a head. Lanes behind the last key hold what it has.
void CpuKernel::prepareIndexLines() {
  for (const IndexLine &line : indexLines) {
    Value target = integersIn(*this, line.buffer);
    b.loop(b.index(0), b.index(keyVectors * lanes), 1, [&](Value key) {
      Value inside = b.minimum(key, b.index(shape.keys - 1));
      Value number = indexOf(line.expression, axesAt({}, inside));
      Value narrow = arith::IndexCastOp::create(b.builder, b.builder.getI32Type(), number);
      memref::StoreOp::create(b.builder, narrow, target, ValueRange{key});
    });
  }
}

/// Adds to one row's line; a key that a mask hides is -inf there.
void CpuKernel::addLanes(Value line, Value position, Value lowKey, Value highKey) {
  if (laneTerms.empty() && laneMasks.empty())
    return;
  std::map<std::string, Value> at = axesAt(position, {});
  Value nothing = b.constant(-std::numeric_limits<float>::infinity());
  std::vector<Value> lines;
  for (const IndexLine &known : indexLines)
    lines.push_back(integersIn(*this, known.buffer));
  b.loop(lowKey, highKey, lanes, [&](Value key) {
    std::map<std::string, Value> lanesAt = keyLanes(key, /*inside=*/true);
    for (auto [known, integers] : llvm::zip(indexLines, lines))
      lanesAt[known.name] = b.loadIntegers(integers, key);
    LaneIndices indices(b, at, std::move(lanesAt), reads);
    Value where = b.add(line, b.sub(key, lowKey));
    Value before = b.load(lineBuffer, where), sum = before;
    for (const LaneTerm &lane : laneTerms) {
      const OtherTerm &term = shape.others[lane.term];
      Value guard = lane.guard ? indices.emitPredicate(*lane.guard) : Value();
      Value x = b.constant(term.scale * kLog2e);
      for (auto [place, argument] : llvm::enumerate(term.arguments))
        x = b.mulf(x,
                   b.gather(arguments[argument], baseOf(lane.bases[place]), indices.emit(lane.places[place]), guard));
      if (lane.value)
        x = b.mulf(x, arith::SIToFPOp::create(b.builder, b.vector, indices.emit(*lane.value)));
      sum = b.addf(sum, guard ? b.select(guard, x, b.constant(0)) : x);
    }
    if (lineMask && !laneTerms.empty())
      sum = b.select(b.compare(arith::CmpFPredicate::OEQ, before, nothing), nothing, sum);
    Value seen;
    for (const Expr &mask : laneMasks) {
      Value one = indices.emitPredicate(mask);
      seen = seen ? arith::AndIOp::create(b.builder, seen, one).getResult() : one;
    }
    if (seen) {
      sum = b.select(seen, sum, nothing);
      Value live = b.view(local, b.index(liveVectors.offset), liveVectors.floats), at = b.sub(key, lowKey);
      b.store(b.select(seen, b.constant(1), b.load(live, at)), live, at);
    }
    b.store(sum, lineBuffer, where);
  });
}

/// Before the lines of a block of rows and keys are made: no key is known to be visible.
void CpuKernel::forgetLive() {
  lowBlock = highBlock = Value();
  if (laneMasks.empty())
    return;
  Value live = b.view(local, b.index(liveVectors.offset), liveVectors.floats);
  b.loop(b.index(0), b.index(liveVectors.floats), lanes, [&](Value at) { b.store(b.constant(0), live, at); });
}

/// After: the first and the last vector of keys that some row of the block sees. What is outside is not computed.
void CpuKernel::findLive(Value lowKey, Value highKey) {
  if (laneMasks.empty())
    return;
  Value vectors = b.divide(b.add(b.sub(highKey, lowKey), lanes - 1), lanes);
  auto found = b.loop(b.index(0), vectors, 1, ValueRange{highKey, lowKey}, [&](Value vector, ValueRange range) {
    Value seen = isLive(vector, 1), first = b.add(lowKey, b.mul(vector, lanes));
    Value low = b.select(seen, b.minimum(range[0], first), range[0]);
    return SmallVector<Value>{low, b.select(seen, b.minimum(b.add(first, lanes), highKey), range[1])};
  });
  lowBlock = found[0];
  highBlock = found[1];
}

/// Whether some row of the block sees some key of these vectors, counted from the block's first.
Value CpuKernel::isLive(Value vector, int64_t vectors) {
  Value live = b.view(local, b.index(liveVectors.offset), liveVectors.floats), any = b.constant(0);
  for (int64_t v = 0; v < vectors; ++v)
    any = b.larger(b.load(live, b.mul(b.add(vector, v), lanes)), any);
  return b.compare(arith::CmpFPredicate::OGT, b.reduceMax(any), b.constantScalar(0));
}
