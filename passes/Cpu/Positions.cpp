// Emits index expressions at positions, and splits heads into tuples of leading axes (Positions.h).
#include "passes/Cpu/Positions.h"

using namespace mlir;
using namespace skewer;

void Positions::readFrom(FindIndices find) {
  indices = std::move(find);
  reads = loadsFrom(b.builder, b.builder.getLoc(), indices);
  mapWidth = shape.bounds.map ? indexOf(shape.bounds.map->width, {}) : Value();
  queryMapWidth = shape.bounds.map && shape.bounds.map->ofQueries ? indexOf(shape.bounds.map->queryWidth, {}) : Value();
  queriesOfCall = shape.bounds.queryLength ? baseOf(*shape.bounds.queryLength) : Value();
  keysOfCall = shape.bounds.keyLength ? baseOf(*shape.bounds.keyLength) : Value();
}

void Positions::enterHead(Value head) {
  current = head;
  const std::vector<std::string> &leading = shape.space.leading;
  for (size_t k = leading.size(); k-- > 0;) {
    axes[leading[k]] = k == 0 ? head : arith::RemUIOp::create(b.builder, head, leadingSizes[k]).getResult();
    if (k > 0)
      head = arith::DivUIOp::create(b.builder, head, leadingSizes[k]);
  }
}

void Positions::atHead(Value other, function_ref<void()> body) {
  Values ownAxes = axes;
  Value own = current;
  enterHead(other);
  body();
  axes = std::move(ownAxes);
  current = own;
}

Value Positions::copyOf(const std::vector<std::string> &copyAxes) {
  Value copy = b.index(0);
  for (const std::string &axis : copyAxes)
    copy = b.add(b.mul(copy, shape.space.sizes.at(axis)), axes.at(axis));
  return copy;
}

void Positions::enterCopy(const std::vector<std::string> &copyAxes, Value copy) {
  for (const std::string &axis : shape.space.leading)
    axes[axis] = b.index(0);
  for (const std::string &axis : llvm::reverse(copyAxes)) {
    axes[axis] = b.remainder(copy, shape.space.sizes.at(axis));
    copy = b.divide(copy, shape.space.sizes.at(axis));
  }
}

Value Positions::indexOf(const subscript::Expr &expression, const Values &at) {
  return IndexEmitter(b.builder, b.builder.getLoc(), at, reads).emit(expression);
}

Value Positions::predicate(const subscript::Expr &expression, const Values &at) {
  return IndexEmitter(b.builder, b.builder.getLoc(), at, reads).emitPredicate(expression);
}

Value Positions::baseOf(const subscript::Expr &expression) { return indexOf(expression, axes); }

Value Positions::keyPlace(const Walk &walk, Value key) {
  if (walk.picked)
    return indexOf(*walk.picked, axesAt({}, key));
  return b.add(baseOf(walk.base), b.mul(key, walk.key));
}

SmallVector<Value> Positions::keyPlaces(const Walk &walk, int64_t count, bool onePage,
                                        function_ref<Value(int64_t)> placeOf) {
  SmallVector<Value> places;
  for (int64_t n = 0; n < count; ++n)
    places.push_back(n && onePage ? b.add(places.front(), n * walk.runStep) : placeOf(n));
  return places;
}

Value Positions::axisOf(const MapAxis &axis, Value position) {
  return b.remainder(b.divide(position, axis.inner), axis.extent);
}

Positions::Values Positions::onMapAt(Value query) {
  Values at = axes;
  at[shape.bounds.map->query] = query;
  if (queryMapWidth) {
    at[LengthMap::kQueryRow] = arith::DivUIOp::create(b.builder, query, queryMapWidth);
    at[LengthMap::kQueryColumn] = arith::RemUIOp::create(b.builder, query, queryMapWidth);
  }
  return at;
}

Positions::Values Positions::axesAt(Value query, Value key) {
  Values at = axes;
  if (query)
    for (auto [axis, name] : llvm::zip(shape.queryAxes, shape.space.query))
      at[name] = axisOf(axis, query);
  if (key)
    for (auto [axis, name] : llvm::zip(shape.keyAxes, shape.space.key))
      at[name] = axisOf(axis, key);
  return at;
}
