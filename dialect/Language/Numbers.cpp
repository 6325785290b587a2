// Checks of whole numbers and positions: they must fit 64 bits, and indices must stay inside constant tables.
#include "dialect/Language/Typer.h"

using namespace llvm;

namespace skewer::language {
using subscript::Expr;

/// Returns the ranges of the axes that a function of positions depends on, and of the kernel's index operands.
subscript::Domain Typer::domainOf(const Value &value) const {
  subscript::Domain domain;
  for (const auto &[name, axis] : value.axes)
    if (axis.size != subscript::kRuntime)
      domain[name] = {0, axis.size - 1};
  kernel.addRanges(domain);
  return domain;
}

/// Checks that every part of an index expression fits 64 bits; false after an error.
bool Typer::fits64(StringRef place, const Expr &index, const subscript::Domain &domain) {
  if (!subscript::findOverflow(index, domain))
    return true;
  error(place, "this may not fit 64 bits, which whole numbers and positions are computed in");
  diagnostics.note("a number with a point, 2.0 for 2, makes it real-valued: rounded, and without such a limit");
  return false;
}

/// Returns the first divisor that is not certain to be positive.
static std::optional<Expr> doubtfulDivisor(const Expr &e, const subscript::Domain &domain,
                                           std::set<const void *> &seen) {
  if (!seen.insert(e.identity()).second)
    return std::nullopt;
  if (e.kind() == subscript::Kind::FloorDiv || e.kind() == subscript::Kind::Mod)
    if (const Expr &divisor = e.operands()[1];
        subscript::proveWithin(divisor, {1, INT64_MAX}, domain).outcome != subscript::Proof::Proven)
      return divisor;
  for (const Expr &operand : e.operands())
    if (auto found = doubtfulDivisor(operand, domain, seen))
      return found;
  return std::nullopt;
}

/// Checks that an index expression of an einsum's text has a value everywhere; false after an error.
bool Typer::isDefined(StringRef place, const Expr &index, const subscript::Domain &domain) {
  std::set<const void *> seen;
  if (auto divisor = doubtfulDivisor(index, domain, seen)) {
    error(place, "positions are divided by a whole number of at least 1, found " + subscript::print(*divisor));
    return false;
  }
  return fits64(place, index, domain);
}

/// Returns a new index expression if it fits; an error if it may exceed 64 bits, or is so long that the algebra would
/// not end, because schemes that use an argument twice double it. Published layers have at most 200 operations.
Value Typer::whereItFits(const Node &node, Value index) {
  constexpr size_t kMaximumSize = 1 << 12;
  if (subscript::sizeOf(index.index) > kMaximumSize)
    return error(node.text, "this function of positions, written out, has more than " + std::to_string(kMaximumSize) +
                                " operations");
  return fits64(node.text, index.index, domainOf(index)) ? index : Value();
}

/// Returns the element of a list at a position, as a function of the position: each comparison selects one half.
static RealPtr pickedFrom(ArrayRef<Value> items, const RealPtr &place, int64_t first, const Node &node) {
  if (items.size() == 1)
    return numberLeaf(items[0], node);
  size_t half = items.size() / 2;
  int64_t middle = first + static_cast<int64_t>(half);
  RealPtr before = makeReal(RealKind::Less, {place, makeReal(double(middle), true, &node)}, &node);
  return makeReal(RealKind::Select,
                  {before, pickedFrom(items.take_front(half), place, first, node),
                   pickedFrom(items.drop_front(half), place, middle, node)},
                  &node);
}

/// Returns (a, b, c)[place], an element of a list. At a position, whole numbers become a constant table, and other
/// numbers a constant tensor.
Value Typer::elementOf(const Node &node, const Value &list) {
  const Node &place = *node.operands[1];
  Value index = evaluate(place);
  if (!index.good())
    return {};
  int64_t size = list.items.size();
  std::string places =
      "the list has " + std::to_string(size) + " elements, so places run from 0 to " + std::to_string(size - 1);
  if (index.is(ValueKind::Number)) {
    if (!index.isWhole())
      return error(place.text, "the place in a list is a whole number, found " + describe(index));
    if (index.integer < 0 || index.integer >= size)
      return error(place.text, places + ", found " + std::to_string(index.integer));
    Value item = list.items[index.integer];
    if (index.function && llvm::all_of(list.items, [](const Value &one) { return one.is(ValueKind::Number); }))
      item.function = pickedFrom(list.items, index.function, 0, node);
    return item.isWhole() ? decided(node, item) : (decided(node, index), item);
  }
  auto all = [&](auto &&which) { return all_of(list.items, which); };
  if (list.items.empty() || !all([](const Value &item) { return item.is(ValueKind::Number); }))
    return error(place.text, "the place in a list is a whole number known at compile time, found " + describe(index));
  if (tabulating && index.is(ValueKind::Index) && !all([](const Value &item) { return item.isPosition(); })) {
    subscript::Proof proof = subscript::proveWithin(index.index, {0, size - 1}, domainOf(index));
    if (proof.outcome != subscript::Proof::Proven)
      return error(place.text,
                   places + (proof.outcome == subscript::Proof::Refuted ? ", found " + std::to_string(proof.value)
                                                                        : "; this is not proven to be one"));
    Value value = index;
    value.kind = ValueKind::Real;
    value.function = pickedFrom(list.items, makeReal(index.index, &place), 0, node);
    return value;
  }
  if (!all([](const Value &item) { return item.isPosition(); })) {
    std::vector<float> numbers;
    for (const Value &item : list.items)
      numbers.push_back(static_cast<float>(item.number));
    typed::Tensor *constant = append(node, typed::Constant{std::move(numbers)}, {}, {Dimension{size}});
    return typeRead(node, tensorValue(constant, {Dimension{size}}));
  }
  auto row = asIndex(place, index, "the place in a list is a whole number or an expression of positions");
  if (!row)
    return {};
  auto values = std::make_shared<std::vector<int64_t>>();
  for (const Value &item : list.items)
    values->push_back(item.integer);
  Value value;
  value.kind = ValueKind::Index;
  value.axes = index.axes;
  value.index = Expr::table(values, *row);
  // A condition may still keep the place inside. If it is not certain now, it is checked again where it is used.
  if (subscript::findTableOutside(value.index, domainOf(value)))
    kernel.lookups.tables.insert({*values, place.text});
  return value;
}

} // namespace skewer::language
