// Names and sizes in the text of an einsum: the typer replaces names in index expressions by their values and
// determines the sizes of all axes.
#include "dialect/Language/EinsumText.h"
#include "dialect/Language/Typer.h"
#include "dialect/Subscript/Arithmetic.h"

using namespace llvm;

namespace skewer::language {
using subscript::AxisSizes;
using subscript::Expr;
using subscript::kRuntime;

namespace {
StringRef lengthOf(StringRef symbol) {
  return symbol.starts_with("len'") ? symbol.drop_front(3).trim('\'') : StringRef();
}

/// Replaces lengths by 0 until the sizes are known, because lengths are not axes.
subscript::Einsum withoutLengths(subscript::Einsum spec) {
  for (auto &operand : spec.operands)
    for (subscript::Dimension &dimension : operand) {
      if (dimension.isProduct())
        continue;
      subscript::Substitution lengths;
      for (const std::string &symbol : subscript::symbolsOf(dimension.index))
        if (!lengthOf(symbol).empty())
          lengths.insert({symbol, Expr(0)});
      dimension.index = subscript::substitute(dimension.index, lengths);
    }
  return spec;
}

} // namespace

std::string withLengthSymbols(StringRef text) {
  std::string result = text.str();
  for (size_t at = 0; (at = result.find("len", at)) != std::string::npos; at += 3) {
    if (at > 0 && (isAlnum(result[at - 1]) || result[at - 1] == '_'))
      continue;
    StringRef before = StringRef(result).take_front(at);
    if (before.count('(') <= before.count(')')) // outside of parentheses it is an axis: "len (a b)"
      continue;
    size_t open = result.find_first_not_of(' ', at + 3);
    if (open == std::string::npos || result[open] != '(')
      continue;
    size_t close = result.find(')', open);
    if (close == std::string::npos)
      continue;
    for (size_t k = at + 3; k <= close; ++k)
      if (!isAlnum(result[k]))
        result[k] = '\'';
  }
  return result;
}
void learnSizes(const subscript::Einsum &spec, ArrayRef<std::vector<int64_t>> shapes, AxisSizes &sizes) {
  for (bool changed = true; changed;) {
    changed = false;
    for (size_t k = 0; k < spec.operands.size() && k < shapes.size(); ++k)
      for (size_t d = 0; d < spec.operands[k].size() && d < shapes[k].size(); ++d) {
        const std::string *unknown = nullptr;
        int64_t product = 1;
        bool solvable = true;
        for (const std::string &axis : spec.operands[k][d].axes) {
          auto found = sizes.find(axis);
          if (found != sizes.end())
            product = found->second > 0 ? subscript::checkedMultiply(product, found->second).value_or(0) : 0;
          else if (unknown)
            solvable = false;
          else
            unknown = &axis;
        }
        int64_t size = shapes[k][d];
        bool lone = spec.operands[k][d].isAxis();
        if (!unknown || !solvable || (size == kRuntime ? !lone : product <= 0 || size % product))
          continue;
        sizes[*unknown] = size == kRuntime ? kRuntime : size / product;
        changed = true;
      }
  }
}

bool Einsums::keywordSizes(const Node &node, AxisSizes &given, ArrayRef<StringRef> others) {
  for (const Keyword &k : node.keywords) {
    if (is_contained(others, k.name))
      continue;
    auto size = typer.expressions.evaluateWhole(*k.value, "the size of axis '" + k.name.str() + "'");
    if (!size)
      return false;
    if (*size < 1)
      return error(k.value->text,
                   "axis '" + k.name.str() + "' has a size of at least 1, found " + std::to_string(*size)),
             false;
    given[k.name.str()] = *size;
  }
  return true;
}

/// Replaces params and scalars in index expressions by their values, so that only axes and lengths remain.
bool Einsums::substituteNames(subscript::Einsum &spec, StringRef text, ArrayRef<std::string> written,
                              const AxisSizes &given) {
  std::set<std::string> axes(written.begin(), written.end());
  for (const auto &operand : spec.operands)
    axes.merge(axesOf(operand));
  axes.merge(axesOf(*spec.result));
  for (const auto &[axis, size] : given)
    axes.insert(axis);
  for (const auto &[axis, size] : given)
    if (!is_contained(written, axis)) {
      error(text, "no axis '" + axis + "' in this text" + suggestion(axis, spec.axes()));
      return false;
    }
  for (const subscript::Dimension &dimension : *spec.result)
    if (!dimension.isProduct() && !dimension.index.isConstant(0))
      return error(text.slice(dimension.begin, dimension.end),
                   "an index expression cannot be a dimension of the result"),
             false;
  for (auto &operand : spec.operands)
    for (subscript::Dimension &dimension : operand) {
      if (dimension.isProduct())
        continue;
      StringRef place = text.slice(dimension.begin, dimension.end);
      subscript::Substitution substitution;
      for (const std::string &symbol : subscript::symbolsOf(dimension.index)) {
        if (!lengthOf(symbol).empty())
          continue;
        size_t within = place.find(symbol);
        StringRef at = within == StringRef::npos ? place : place.substr(within, symbol.size());
        auto standsIn = [&](const std::string &name, StringRef call) {
          auto read = standInFor(name, call, axes);
          if (read)
            substitution.insert({symbol, *read});
          return read.has_value();
        };
        if (auto call = textCalls.find(symbol); call != textCalls.end()) {
          if (!standsIn(symbol, call->second))
            return false;
          continue;
        }
        const Value *value = typer.names.lookup(symbol);
        if (value && RealFunctions::isFunctionOfPositions(*value) && (axes.count(symbol) || findAxis(symbol)))
          return typer.names.ambiguous(at, symbol, *value), false;
        if (axes.count(symbol)) {
          if (typer.positions.partOf(symbol))
            substitution.insert({symbol, typer.positions.globalPosition(symbol)});
          continue;
        }
        if (value && value->is(ValueKind::Real)) { // a function with a name
          std::string standIn = "'" + symbol;
          textCalls[standIn] = at;
          if (!standsIn(standIn, at))
            return false;
          continue;
        }
        if (value && value->isPosition())
          substitution.insert({symbol, Expr(value->integer)});
        else if (value && value->is(ValueKind::Index))
          substitution.insert({symbol, value->index});
        else if (value && value->good())
          return error(at, "'" + symbol + "' in an index expression is a whole number or an axis, found " +
                               describe(*value) + (value->isWhole() ? ", which has more than 53 bits" : "")),
                 false;
        else if (value)
          return false; // already reported
        else if (!findAxis(symbol)) {
          std::vector<std::string> names = typer.names.visibleNames();
          names.insert(names.end(), axes.begin(), axes.end());
          error(at, "unknown name '" + symbol + "' in an index expression" + suggestion(symbol, names));
          diagnostics.note("an axis that no operand has takes its size as an argument: " + symbol + " = …");
          return false;
        }
      }
      dimension.index = subscript::substitute(dimension.index, substitution);
      auto read = replaceReads(dimension.index, place);
      if (!read)
        return false;
      dimension.index = *read;
    }
  return true;
}

/// Replaces an element of a list known at compile time, map[1], by its number. Other reads are not allowed in an index
/// expression, except reads of index operands.
std::optional<Expr> Einsums::replaceReads(const Expr &e, StringRef place) {
  std::vector<Expr> operands;
  for (const Expr &operand : e.operands()) {
    auto replaced = replaceReads(operand, place);
    if (!replaced)
      return std::nullopt;
    operands.push_back(*replaced);
  }
  if (e.kind() != subscript::Kind::Read || textCalls.count(e.name()))
    return operands.empty() ? e : e.withOperands(std::move(operands));
  for (const auto &[axis, part] : scope->parts)
    if (e == part.origin)
      return e;
  const Value *list = typer.names.lookup(e.name());
  if (list && list->is(ValueKind::Indices)) {
    if (operands.size() != list->dimensions.size()) {
      error(place, "index operand '" + e.name() + "' has " + std::to_string(list->dimensions.size()) +
                       " dimensions, found " + std::to_string(operands.size()) +
                       (operands.size() == 1 ? " index" : " indices"));
      return std::nullopt;
    }
    kernel.lookups.reads.insert({list->name, place});
    for (size_t d = 0; d < operands.size(); ++d)
      operands[d] = typer.positions.positionFor(operands[d], list->dimensions[d].size);
    operands.insert(operands.begin(), list->taken.begin(), list->taken.end());
    return Expr::read(list->name, std::move(operands)); // a scheme may give it another name
  }
  if (!list || !list->is(ValueKind::List)) {
    error(place, "'" + e.name() + "[…]' in an index expression is an element of a list or of an index operand, found " +
                     (list ? describe(*list) : "none of this name" + suggestion(e.name(), typer.names.visibleNames())));
    return std::nullopt;
  }
  int64_t count = list->items.size();
  bool known = operands.size() == 1 && operands[0].isConstant();
  if (known && operands[0].value() >= 0 && operands[0].value() < count && list->items[operands[0].value()].isPosition())
    return Expr(list->items[operands[0].value()].integer);
  auto isPosition = [](const Value &item) { return item.isPosition(); };
  if (known || operands.size() != 1 || count == 0 || !llvm::all_of(list->items, isPosition)) {
    error(place, "'" + e.name() + "[…]' needs one place, from 0 to " + std::to_string(count - 1) +
                     ", at which the list has a whole number");
    return std::nullopt;
  }
  auto values = std::make_shared<std::vector<int64_t>>();
  for (const Value &item : list->items)
    values->push_back(item.integer);
  return Expr::table(std::move(values), operands[0]); // checkEinsum proves that the lookup stays inside
}

/// Returns the axes of the text, in order, even those that later vanish from the index expressions.
std::vector<std::string> Einsums::writtenAxes(const subscript::Einsum &spec, StringRef text, const AxisSizes &given) {
  static const StringRef operators[] = {"floordiv", "mod", "and", "or", "not"};
  std::vector<std::string> axes;
  auto add = [&](const std::string &name) {
    if (!is_contained(axes, name))
      axes.push_back(name);
  };
  std::set<std::string> bare = axesOf(*spec.result);
  for (const auto &operand : spec.operands)
    bare.merge(axesOf(operand));
  for (const auto &operand : spec.operands)
    for (const subscript::Dimension &dimension : operand) {
      for (const std::string &axis : dimension.axes)
        add(axis);
      if (dimension.isProduct())
        continue;
      for (StringRef word : namesInExpression(text.slice(dimension.begin, dimension.end))) {
        std::string name = word.str();
        const Value *value = bare.count(name) || given.count(name) ? nullptr : typer.names.lookup(name);
        if (value)
          for (const auto &[axis, size] : value->axes) // a function of positions with a name
            add(axis);
        else if (!is_contained(operators, word) &&
                 (bare.count(name) || given.count(name) || findAxis(name) || typer.sizes.learnLater(name)))
          add(name);
      }
    }
  for (const subscript::Dimension &dimension : *spec.result)
    for (const std::string &axis : dimension.axes)
      add(axis);
  return axes;
}

/// Determines the sizes of all axes: from the operands and the call first, then from the axes of the kernel or scheme.
bool Einsums::einsumSizes(const Node &node, subscript::Einsum &spec, const std::vector<Value> &operands, StringRef text,
                          ArrayRef<std::string> written, AxisSizes &given, AxisSizes &all) {
  std::vector<std::vector<int64_t>> shapes;
  for (const Value &operand : operands) {
    shapes.emplace_back();
    for (const Dimension &d : operand.dimensions)
      shapes.back().push_back(d.size);
  }
  subscript::Einsum plain = withoutLengths(spec);
  if (!checkResultAxes(plain, text, given) || !adoptSizes(node, plain, text, shapes, written, given))
    return false;
  auto resolved = subscript::resolveSizes(plain, shapes, given);
  if (!resolved) {
    const subscript::ParseError &why = resolved.error();
    StringRef place = text.drop_front(std::min(why.position, text.size()));
    for (const auto &operand : spec.operands)
      for (const auto &dimension : operand)
        if (dimension.begin == why.position)
          place = text.slice(dimension.begin, dimension.end);
    if (place.size() == text.size() - why.position)
      place = place.take_while([](char c) { return isAlnum(c) || c == '_'; });
    error(place, why.message);
    for (size_t k = 0; k < operands.size(); ++k)
      diagnostics.note("operand '" + node.operands[k + 1]->text.take_front(40).str() + "' is " +
                       describe(operands[k].dimensions));
    return false;
  }
  all = std::move(*resolved);
  for (const std::string &axis : written)
    if (auto size = given.find(axis); size != given.end())
      all.insert(*size);
  return substituteLengths(spec, text, all);
}

/// Checks that every axis of the result belongs to an operand or has a given size.
bool Einsums::checkResultAxes(const subscript::Einsum &spec, StringRef text, const AxisSizes &given) {
  subscript::Einsum operandsOnly = spec;
  operandsOnly.result.reset();
  std::vector<std::string> ofOperands = operandsOnly.axes();
  for (const subscript::Dimension &dimension : *spec.result)
    for (const std::string &axis : dimension.axes) {
      if (is_contained(ofOperands, axis) || given.count(axis))
        continue;
      StringRef place = text.slice(dimension.begin, dimension.end);
      error(place.substr(std::min(place.find(axis), place.size()), axis.size()),
            "axis '" + axis + "' of the result is in no operand" + suggestion(axis, ofOperands));
      if (spec.result->size() == 1 && dimension.isAxis() && // "b h i d, b h j d -> bhij"
          llvm::all_of(axis, [&](char c) { return is_contained(ofOperands, std::string(1, c)); }))
        noteOnWord(axis);
      else
        diagnostics.note("to repeat the operands along it, give its size: " + axis + " = …");
      return false;
    }
  return true;
}

/// Adds the sizes that neither the operands nor the call determine: sizes of axes along which index operands are read,
/// and sizes of axes of the kernel or scheme. False after an error.
bool Einsums::adoptSizes(const Node &node, const subscript::Einsum &spec, StringRef text,
                         ArrayRef<std::vector<int64_t>> shapes, ArrayRef<std::string> written, AxisSizes &given) {
  AxisSizes known = given;
  learnSizes(spec, shapes, known);
  std::set<std::string> inProducts;
  for (const auto &operand : spec.operands)
    inProducts.merge(axesOf(operand));
  std::map<std::string, Axis> read;
  typer.positions.sizesOfReads(spec, read);
  auto placeOf = [&](const std::string &axis) {
    for (StringRef word : namesInExpression(text))
      if (word == axis)
        return word;
    return text;
  };
  std::vector<std::string> axes = spec.axes();
  axes.insert(axes.end(), written.begin(), written.end());
  for (const std::string &axis : axes) {
    if (known.count(axis))
      continue;
    auto along = read.find(axis);
    auto others = scope->sizes.find(axis);
    bool isOpen = others == scope->sizes.end() || others->second.size() > 1;
    bool isRead = isOpen && along != read.end() && !inProducts.count(axis);
    bool isAmbiguous = false;
    std::optional<Axis> found = isRead ? along->second : typer.sizes.adoptedAxis(placeOf(axis), axis, &isAmbiguous);
    if (!found && !isAmbiguous)
      found = typer.sizes.expectedAxis(node, spec, axis);
    if (!found && (state.isScouting || isAmbiguous))
      return false;
    if (!found && inProducts.count(axis)) // reported where the product is
      continue;
    if (!found)
      return error(placeOf(axis),
                   "axis '" + axis + "' has no size; no operand has it alone, so give it: " + axis + " = …"),
             false;
    known[axis] = given[axis] = found->size;
    learnSizes(spec, shapes, known); // a product may now determine another axis
  }
  return true;
}

/// Replaces the symbols of len(axis) in the index expressions by the length.
bool Einsums::substituteLengths(subscript::Einsum &spec, StringRef text, const AxisSizes &all) {
  std::vector<std::string> axes = withoutLengths(spec).axes();
  auto lengthOfAxis = [&](const std::string &axis, StringRef place) -> std::optional<int64_t> {
    auto size = all.find(axis);
    const Axis *outer = size == all.end() ? typer.sizes.axisOfBody(axis) : nullptr;
    int64_t length = size != all.end() ? size->second : outer ? outer->size : 0;
    if (const Part *part = typer.positions.partOf(axis); part && length == part->extent)
      length = part->length;
    if (length == 0)
      error(place, "len(" + axis + "): there is no axis '" + axis + "'" + suggestion(axis, axes));
    else if (length == kRuntime)
      error(place, "len(" + axis + ") is known at run time only, so it cannot be in an index expression");
    return length == 0 || length == kRuntime ? std::nullopt : std::optional(length);
  };
  for (auto &operand : spec.operands)
    for (subscript::Dimension &dimension : operand) {
      if (dimension.isProduct())
        continue;
      subscript::Substitution lengths;
      for (const std::string &symbol : subscript::symbolsOf(dimension.index)) {
        StringRef axis = lengthOf(symbol);
        if (axis.empty())
          continue;
        auto length = lengthOfAxis(axis.str(), text.slice(dimension.begin, dimension.end));
        if (!length)
          return false;
        lengths.insert({symbol, Expr(*length)});
      }
      dimension.index = subscript::substitute(dimension.index, lengths);
    }
  return true;
}

} // namespace skewer::language
