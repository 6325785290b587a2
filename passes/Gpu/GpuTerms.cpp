// What is added to single scores: terms that are no matrix product, by their index expressions; and masks.
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "passes/Gpu/GpuKernel.h"
#include <limits>

using namespace mlir;
using namespace skewer;
using namespace skewer::gpu;
using subscript::Expr;

constexpr double kInfinity = std::numeric_limits<double>::infinity();

std::map<std::string, Value> GpuKernel::axesOf(Value position, const std::vector<std::string> &names,
                                               const std::vector<MapAxis> &map) {
  std::map<std::string, Value> values;
  Value flat = b.toIndex(position);
  for (auto [place, name] : llvm::enumerate(names)) {
    Value value = b.divide(flat, map[place].inner);
    values[name] = place == 0 ? value : b.remainder(value, map[place].extent);
  }
  return values;
}

std::map<std::string, Value> GpuKernel::axesAt(unsigned row, Value key) {
  // Positions behind the last one are computed as the last one: their scores are not used, but nothing may be read
  // outside for them.
  const AttentionShape &attention = shape.attention;
  if (queryAxes[row].empty()) {
    Value query = b.minimum(b.add(threadRow, 8 * int64_t(row)), b.i32(attention.queries - 1));
    queryAxes[row] = axesOf(query, attention.space.query, attention.queryAxes);
  }
  std::map<std::string, Value> at = leading;
  at.insert(queryAxes[row].begin(), queryAxes[row].end());
  Value inside = b.minimum(key, b.i32(attention.keys - 1));
  auto keyAxes = axesOf(inside, attention.space.key, attention.keyAxes);
  at.insert(keyAxes.begin(), keyAxes.end());
  return at;
}

Value GpuKernel::numberOf(const Expr &expression, const std::map<std::string, Value> &at) {
  subscript::Domain domain = subscript::domainOf(shape.attention.space.sizes);
  Value value = emitIndex(expression, at);
  auto bounds = subscript::bound(expression, domain, std::nullopt, /*enumerationLimit=*/0);
  bool small = bounds && bounds->range.low > INT32_MIN && bounds->range.high < INT32_MAX;
  Value integer = small ? b.toI32(value) : b.toI64(value);
  return arith::SIToFPOp::create(b, b.getF32Type(), integer);
}

Type GpuKernel::elementOf(unsigned argument) {
  ElementType type = shape.plan.inputs[shape.inputs[argument]].type;
  return type == ElementType::F16    ? Type(b.getF16Type())
         : type == ElementType::BF16 ? Type(b.getBF16Type())
                                     : Type(b.getF32Type());
}

Value GpuKernel::operandProduct(const ElementTerm &term, const std::map<std::string, Value> &at, Value guard) {
  Value result;
  for (size_t place = 0; place < term.arguments.size(); ++place) {
    if (term.isTaken(place))
      continue;
    Value element = elementAt(term, place, at, guard);
    result = result ? b.mulf(result, element) : element;
  }
  return result;
}

Value GpuKernel::elementAt(const ElementTerm &term, size_t place, const std::map<std::string, Value> &at, Value guard) {
  Value offset = emitIndex(term.offsets[place], at);
  if (guard)
    offset = b.select(guard, offset, b.index(0));
  Type type = elementOf(term.arguments[place]);
  return b.widen(b.load(b.globalAt(inputs[shape.inputs[term.arguments[place]]], b.toI64(offset), type), type));
}

Value GpuKernel::multiplier(const ElementTerm &term, const std::map<std::string, Value> &at, Value guard) {
  Value result = term.factor ? numberOf(*term.factor, at) : Value();
  if (!term.application)
    return result;
  SmallVector<Value> arguments;
  for (const attn::Application::Argument &argument : term.application->arguments)
    arguments.push_back(argument.operand >= 0 ? elementAt(term, size_t(argument.operand), at, guard)
                                              : numberOf(argument.position, at));
  Value applied = term.application->function->emit(b, b.getLoc(), arguments);
  return result ? b.mulf(result, applied) : applied;
}

Value GpuKernel::elementTerm(const ElementTerm &term, std::map<std::string, Value> at) {
  Value guard = term.guard ? emitPredicate(*term.guard, at) : Value();
  Value value = operandProduct(term, at, guard);
  if (Value by = multiplier(term, at, guard))
    value = value ? b.mulf(value, by) : by;
  value = value ? b.mulf(value, b.f32(term.scale * kLog2E)) : b.f32(term.scale * kLog2E);
  return guard ? b.select(guard, value, b.f32(0)) : value;
}

SmallVector<Value> GpuKernel::contractedTerm(const ElementTerm &term, ArrayRef<std::map<std::string, Value>> at) {
  int64_t total = 1;
  for (const auto &[axis, size] : term.contracted)
    total *= size;
  SmallVector<Value> guards;
  for (const auto &where : at)
    guards.push_back(term.guard ? emitPredicate(*term.guard, where) : Value());
  SmallVector<Value> zeros(at.size(), b.f32(0));
  SmallVector<Value> sums = b.loop(b.i32(0), b.i32(total), 1, zeros, [&](Value flat, ValueRange before) {
    std::map<std::string, Value> contracted;
    Value rest = b.toIndex(flat);
    for (const auto &[axis, size] : llvm::reverse(term.contracted)) {
      contracted[axis] = b.remainder(rest, size);
      rest = b.divide(rest, size);
    }
    SmallVector<Value> next;
    for (auto [number, where] : llvm::enumerate(at)) {
      std::map<std::string, Value> symbols = where;
      symbols.insert(contracted.begin(), contracted.end());
      next.push_back(b.addf(before[number], operandProduct(term, symbols, guards[number])));
    }
    return next;
  });
  for (auto [number, where] : llvm::enumerate(at)) {
    Value value = b.mulf(sums[number], b.f32(term.scale * kLog2E));
    if (Value by = multiplier(term, where, guards[number]))
      value = b.mulf(value, by);
    sums[number] = guards[number] ? b.select(guards[number], value, b.f32(0)) : value;
  }
  return sums;
}

std::vector<std::map<std::string, Value>> GpuKernel::axesOfTile(Value firstKey) {
  std::vector<std::map<std::string, Value>> at;
  for (int64_t column = 0; column < tile.keys / 8; ++column)
    for (int64_t k = 0; k < 4; ++k) {
      Value key = b.add(b.add(firstKey, b.shiftLeft(inGroup, 1)), 8 * column + k % 2);
      at.push_back(axesAt(unsigned(k / 2), key));
    }
  return at;
}

void GpuKernel::addTerms(std::vector<Accumulator> &scores, Value firstKey) {
  bool lookUp = llvm::any_of(lookups, [](const LookupPlan &part) { return part.use == LookupUse::EachScore; });
  if (shape.elements.empty() && !lookUp)
    return;
  std::vector<std::map<std::string, Value>> at = axesOfTile(firstKey);
  addLookups(scores, at);
  addElementTerms(scores, at);
}

void GpuKernel::addElementTerms(std::vector<Accumulator> &scores, ArrayRef<std::map<std::string, Value>> at) {
  for (const ElementTerm &term : shape.elements) {
    SmallVector<Value> added;
    if (term.contracted.empty())
      for (const auto &where : at)
        added.push_back(elementTerm(term, where));
    else
      added = contractedTerm(term, at);
    for (size_t n = 0; n < at.size(); ++n)
      scores[n / 4][n % 4] = b.addf(scores[n / 4][n % 4], added[n]);
  }
}

Value GpuKernel::crossedByMask(Value firstKey) {
  const AttentionShape &attention = shape.attention;
  if (!attention.masks.empty())
    return arith::ConstantIntOp::create(b, 1, 1); // any pair may be hidden
  if (!lowVisible && !highVisible)
    return {};
  // Block and tile decide, so that the warps of a block do alike.
  Value crossed;
  auto cross = [&](Value condition) {
    crossed = crossed ? Value(arith::OrIOp::create(b, crossed, condition)) : condition;
  };
  Value lastKey = b.add(firstKey, tile.keys - 1), lastRow = b.add(blockRow, tile.rows - 1);
  if (highVisible)
    cross(b.less(highVisible, b.sub(lastKey, blockRow)));
  if (lowVisible)
    cross(b.less(b.sub(firstKey, lastRow), lowVisible));
  return crossed;
}

Value GpuKernel::isSeen(size_t number, Value firstKey) {
  const AttentionShape &attention = shape.attention;
  auto row = unsigned(number % 4 / 2);
  Value key = b.add(b.add(firstKey, b.shiftLeft(inGroup, 1)), int64_t(8 * (number / 4) + number % 2));
  Value query = b.add(threadRow, int64_t(8 * row)), seen;
  auto require = [&](Value condition) { seen = seen ? b.both(seen, condition) : condition; };
  if (attention.keys % tile.keys)
    require(b.less(key, b.i32(attention.keys)));
  if (highVisible)
    require(b.lessEqual(b.sub(key, query), highVisible));
  if (lowVisible)
    require(b.lessEqual(lowVisible, b.sub(key, query)));
  for (const MaskPart &part : attention.masks)
    require(emitPredicate(part.predicate, axesAt(row, key)));
  return seen;
}

static int64_t bitOf(size_t number) { return int32_t(1u << number % 32); }

SmallVector<Value> GpuKernel::seenBits(Value firstKey) {
  SmallVector<Value> words;
  for (size_t number = 0; !shape.attention.masks.empty() && number < size_t(tile.keys / 8 * 4); ++number) {
    Value bit = b.select(isSeen(number, firstKey), b.i32(bitOf(number)), b.i32(0));
    if (number % 32)
      words.back() = arith::OrIOp::create(b, words.back(), bit);
    else
      words.push_back(bit);
  }
  return words;
}

void GpuKernel::hideMasked(std::vector<Accumulator> &scores, Value firstKey, Value crossed, ArrayRef<Value> bits) {
  int64_t keys = shape.attention.keys;
  bool ragged = keys % tile.keys != 0;
  if (!ragged && !crossed)
    return;
  auto hide = [&] {
    SmallVector<Value> hidden = flattened(scores);
    for (auto [number, score] : llvm::enumerate(hidden)) {
      Value seen =
          bits.empty() ? isSeen(number, firstKey) : b.notEqual(b.bitAnd(bits[number / 32], bitOf(number)), b.i32(0));
      score = b.select(seen, score, b.f32(-kInfinity));
    }
    return hidden;
  };
  if (!bits.empty()) {
    scores = gathered(hide());
    return;
  }
  // Only a tile that the edge of the mask, or of the keys, crosses is looked at key by key.
  Value looked = crossed;
  if (ragged) {
    Value last = b.lessEqual(b.i32(keys), b.add(firstKey, tile.keys - 1));
    looked = looked ? Value(arith::OrIOp::create(b, looked, last)) : last;
  }
  SmallVector<Value> flat = flattened(scores);
  scores = gathered(b.choose(looked, TypeRange(ValueRange(flat)), hide, [&] { return flat; }));
}
