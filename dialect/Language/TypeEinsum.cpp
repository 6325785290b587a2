// einsum("…", operands…, axis = size), and reads T[index, …], which become einsums.
#include "dialect/Language/EinsumText.h"
#include "dialect/Language/Typer.h"
#include "dialect/Subscript/Arithmetic.h"
#include "dialect/Subscript/PartOfDimension.h"
#include "llvm/ADT/ScopeExit.h"

using namespace llvm;

namespace skewer::language {
using subscript::AxisSizes;
using subscript::Expr;
using subscript::kRuntime;

static std::string plural(size_t count, const std::string &what) {
  return std::to_string(count) + " " + what + (count == 1 ? "" : "s");
}

/// Checks that the text has as many operands and dimensions as there are, and that its result names no axis twice.
bool Einsums::checkRanks(const Node &node, const subscript::Einsum &spec, const std::vector<Value> &operands,
                         StringRef text) {
  if (operands.size() != spec.operands.size())
    return error(text, "the text is about " + plural(spec.operands.size(), "operand") + ", but " +
                           std::to_string(operands.size()) + (operands.size() == 1 ? " is given" : " are given")),
           false;
  for (size_t k = 0; k < operands.size(); ++k) {
    const auto &list = spec.operands[k];
    size_t rank = operands[k].dimensions.size();
    if (rank == list.size())
      continue;
    error(list.empty() ? text : text.slice(list.front().begin, list.back().end),
          "the text reads '" + node.operands[k + 1]->text.take_front(40).str() + "' by " +
              plural(list.size(), "dimension") + ", but it is " + describe(operands[k]) + " of " +
              std::to_string(rank));
    if (list.size() == 1 && list[0].isAxis() && list[0].axes[0].size() == rank)
      noteOnWord(list[0].axes[0]);
    return false;
  }
  std::set<std::string> seen;
  for (const subscript::Dimension &dimension : *spec.result)
    for (const std::string &axis : dimension.axes)
      if (!seen.insert(axis).second)
        return error(text.slice(dimension.begin, dimension.end), "the result names axis '" + axis + "' twice"), false;
  return true;
}

/// Checks that `1` and `()` stand for dimensions of size 1; false after an error.
bool Einsums::checkOnes(const subscript::Einsum &spec, ArrayRef<Value> operands, StringRef text) {
  for (size_t k = 0; k < operands.size() && k < spec.operands.size(); ++k)
    for (size_t d = 0; d < spec.operands[k].size() && d < operands[k].dimensions.size(); ++d) {
      const subscript::Dimension &dimension = spec.operands[k][d];
      const Dimension &own = operands[k].dimensions[d];
      StringRef place = text.slice(dimension.begin, dimension.end);
      StringRef inner = place;
      bool isOne = place == "1" || (inner.consume_front("(") && inner.consume_back(")") && inner.trim().empty());
      if (dimension.isProduct() || !isOne || own.size == 1)
        continue;
      error(place, "'" + place.str() + "' is a dimension of size 1, but this one of " + describe(operands[k]) +
                       " has the size " + (own.isRuntime() ? own.runtime : std::to_string(own.size)));
      diagnostics.note("to read it at its first place, write (0); to sum over it, give it a name");
      return false;
    }
  return true;
}

/// Names the axes that the text writes as numbers; the numbers are their sizes.
bool Einsums::nameNumbers(subscript::Einsum &spec, StringRef text, const std::vector<Value> &operands,
                          const std::map<std::string, int64_t> &numbers, AxisSizes &given) {
  for (size_t k = 0; k < operands.size() && k < spec.operands.size(); ++k)
    for (size_t d = 0; d < spec.operands[k].size() && d < operands[k].dimensions.size(); ++d) {
      const subscript::Dimension &dimension = spec.operands[k][d];
      auto number = dimension.isAxis() ? numbers.find(dimension.axes[0]) : numbers.end();
      if (number != numbers.end() && operands[k].dimensions[d].size != number->second)
        return error(text.slice(dimension.begin, dimension.end), "the text has " + std::to_string(number->second) +
                                                                     " here, but this dimension of " +
                                                                     describe(operands[k].dimensions) + " is another"),
               false;
    }
  if (const subscript::Dimension *twice = renameNumberAxes(spec, numbers, given))
    return error(text.slice(twice->begin, twice->end), "a number stands twice in a list; give its axes names"), false;
  return true;
}

/// Adds a note on a word such as "bhid" that was meant as four axes.
void Einsums::noteOnWord(StringRef word) {
  std::string spaced;
  for (char c : word)
    spaced += (spaced.empty() ? "" : " ") + std::string(1, c);
  bool lower = llvm::all_of(word, [](char c) { return c >= 'a' && c <= 'z'; });
  diagnostics.note("'" + word.str() + "' is one axis" +
                   (lower ? "; a text is without spaces everywhere, or with spaces: "
                          : ", since it is not in lower case; with spaces it is several: ") +
                   spaced);
}

/// Returns the names in an einsum's text, which may be wrong; for a text without spaces, its letters.
static std::set<std::string> namesIn(StringRef text) {
  std::set<std::string> names;
  bool isLetters = text.find_first_of(" (") == StringRef::npos;
  auto isPart = [](char c) { return isAlnum(c) || c == '_'; };
  while (!(text = text.drop_until(isPart)).empty()) {
    StringRef name = isLetters ? text.take_front(1) : text.take_while(isPart);
    text = text.drop_front(name.size());
    names.insert(name.str());
  }
  return names;
}

Value Einsums::typeEinsum(const Node &node) {
  if (node.operands.empty() || node.operands[0]->kind != NodeKind::String) {
    error(node.operands.empty() ? node.text : node.operands[0]->text, "the first argument of 'einsum' is its text");
    diagnostics.note("usage: einsum(\"b h i d, b h j d -> b h i j\", q, k)");
    return {};
  }
  StringRef text = node.operands[0]->name;
  // A wrong text leaves its axes without a size. Later uses of these axes are not reported as further mistakes.
  llvm::scope_exit known([&] { scope->unknown.merge(namesIn(text)); });
  ParsedText parsed = resolver.texts.of(text);
  if (parsed.isRefused)
    return {};
  std::optional<subscript::Einsum> &spec = parsed.spec;
  std::map<std::string, StringRef> &calls = parsed.calls;
  const std::map<std::string, int64_t> &numbers = parsed.numbers;
  if (!spec)
    return error(text.drop_front(std::min(parsed.spec.error().position, text.size())).take_front(1), parsed.spec.error().message);
  if (!spec->result)
    return error(text, "an einsum says its result: \"… -> b h i j\"");
  std::vector<Value> operands;
  bool isComplete = true;
  for (size_t k = 1; k < node.operands.size(); ++k) {
    auto operand = typer.expressions.tensorArgument(node, k, /*movesElements=*/false, /*readsPlaces=*/false);
    if (operand && k <= spec->operands.size())
      operand = typer.moves.arrangedBy(*node.operands[k], std::move(*operand), spec->operands[k - 1], "'einsum'");
    isComplete &= operand.has_value();
    if (!isComplete && !state.isScouting)
      return {};
    operands.push_back(operand.value_or(Value()));
  }
  AxisSizes given, all;
  SmallVector<StringRef> others{"where"};
  if (!is_contained(spec->axes(), "sum"))
    others.push_back("sum");
  if (!isComplete) {
    if (keywordSizes(node, given, others) && nameNumbers(*spec, text, operands, numbers, given))
      typer.sizes.learnFromOthers(node, *spec, operands, given);
    return {};
  }
  if (!checkRanks(node, *spec, operands, text) || !checkOnes(*spec, operands, text))
    return {};
  auto meant = meantSums(node, *spec, text);
  if (!meant || !keywordSizes(node, given, others) || !typer.names.nameIndices(*spec, text, given) ||
      !nameNumbers(*spec, text, operands, numbers, given))
    return {};
  for (size_t k = 0; k < operands.size(); ++k)
    for (size_t d = 0; d < operands[k].dimensions.size(); ++d) {
      subscript::Dimension &dimension = spec->operands[k][d];
      if (dimension.isAxis() && typer.positions.readsWhole(dimension.axes[0], operands[k].dimensions[d].size)) {
        dimension.index = Expr::symbol(dimension.axes[0]); // the substitution adds its origin
        dimension.axes.clear();
      } else if (const Part *part = dimension.isAxis() ? typer.positions.partOf(dimension.axes[0]) : nullptr;
                 part && operands[k].dimensions[d].size != part->extent) {
        const Dimension &own = operands[k].dimensions[d];
        return error(text.slice(dimension.begin, dimension.end),
                     "axis '" + dimension.axes[0] + "' is a part, " + std::to_string(part->extent) + " long of " +
                         std::to_string(part->length) + ", and this dimension is " +
                         (own.isRuntime() ? "the run-time size '" + own.runtime + "'" : std::to_string(own.size)) +
                         ": expected the length of the part or of the whole");
      }
    }
  textCalls = std::move(calls);
  const std::vector<std::string> written = writtenAxes(*spec, text, given);
  if (!substituteNames(*spec, text, written, given) || !einsumSizes(node, *spec, operands, text, written, given, all) ||
      !typer.names.checkAxisNames(*spec, text, all) || !evaluateCalls(*spec, all))
    return {};
  subscript::Domain domain = subscript::domainOf(all);
  kernel.addRanges(domain);
  for (const auto &operand : spec->operands)
    for (const subscript::Dimension &dimension : operand)
      if (!typer.positions.isDefined(text.slice(dimension.begin, dimension.end), dimension.index, domain))
        return {};
  warnOfLoneSums(*spec, text, all, *meant);
  Value value = buildEinsum(node, *spec, operands, given, all, written);
  if (!value.good())
    return {};
  known.release();
  std::map<std::string, Axis> axes; // also those that are summed over
  for (size_t k = 0; k < operands.size(); ++k)
    for (size_t d = 0; d < operands[k].dimensions.size(); ++d)
      if (const subscript::Dimension &dimension = spec->operands[k][d]; dimension.isAxis())
        axes[dimension.axes[0]] = {dimension.axes[0], operands[k].dimensions[d].size,
                                   operands[k].dimensions[d].runtime};
  for (const auto &[name, size] : all)
    axes.insert({name, {name, size, ""}});
  for (const auto &[name, axis] : axes)
    if (is_contained(written, name) && (axis.size == kRuntime) == !axis.runtime.empty())
      typer.sizes.rememberAxis(axis, /*isPosition=*/false);
  const Node *condition = typer.expressions.keyword(node, "where");
  if (!condition)
    return value;
  std::vector<std::string> summed;
  llvm::copy_if(written, std::back_inserter(summed),
                [&](const std::string &axis) { return !axesOf(*spec->result).count(axis); });
  return typer.choices.onlyWhere(*condition, value, axes, summed);
}

/// Returns an index expression as the operation has it: simplified, and bounded by the size of its dimension.
Expr Einsums::builtIndex(const subscript::Dimension &dimension, const Dimension &own, const AxisSizes &all,
                         const subscript::Domain &domain, const std::map<std::string, Axis> &readAxes) const {
  if (dimension.isProduct())
    return dimension.index;
  const Expr &written = dimension.index;
  Expr index = typer.decisions.simplified(written, domain);
  // If simplification removes a read (seg[b, i] != seg[b, j] of one token), the written text still gives the lengths of
  // its axes of run-time size.
  std::set<std::string> left = subscript::symbolsOf(index);
  for (const std::string &symbol : subscript::symbolsOf(written))
    if (auto read = readAxes.find(symbol);
        read != readAxes.end() && !read->second.runtime.empty() && !left.count(symbol))
      index = written;
  // "(h // 1)" is the axis h, but does not name the dimension, because it may read only a part of it.
  auto axis = index.isSymbol() ? all.find(index.name()) : all.end();
  if (axis == all.end() || axis->second == kRuntime || own.isRuntime() || axis->second == own.size)
    return index;
  // Reading beyond the dimension is an error unless a mask hides it. That check needs the index as it was written.
  return axis->second > own.size ? written : subscript::partOfDimension(index, own.size);
}

/// Checks that a dimension of run-time size is one axis, which has that size everywhere. False after an error at
/// `place`.
bool Einsums::nameRuntime(const subscript::Dimension &dimension, const Dimension &own, const AxisSizes &all,
                          StringRef place, std::map<std::string, std::string> &runtimes) {
  if (!own.isRuntime())
    return true;
  if (!dimension.isAxis())
    return error(place, "a dimension of run-time size '" + own.runtime +
                            "' is one axis, not a product or an index expression"),
           false;
  const std::string &name = dimension.axes[0];
  auto [entry, fresh] = runtimes.insert({name, own.runtime});
  if (!fresh && entry->second != own.runtime)
    return error(place, "axis '" + name + "' has the run-time size '" + entry->second + "' elsewhere, but '" +
                            own.runtime + "' here"),
           false;
  if (all.at(name) != kRuntime)
    return error(place, "axis '" + name + "' has size " + std::to_string(all.at(name)) +
                            " elsewhere, but the run-time size '" + own.runtime + "' here"),
           false;
  return true;
}

/// Returns the dimensions of an einsum's result. Nothing after an error.
std::optional<Dimensions> Einsums::einsumResult(const subscript::Einsum &spec, StringRef text, const AxisSizes &all,
                                                const std::map<std::string, std::string> &runtimes) {
  Dimensions result;
  for (const subscript::Dimension &dimension : *spec.result) {
    Dimension own;
    own.size = 1;
    Naming naming;
    auto refuse = [&](const std::string &message) {
      error(text.slice(dimension.begin, dimension.end), message);
      return std::nullopt;
    };
    for (const std::string &axis : dimension.axes) {
      int64_t size = all.at(axis);
      auto runtime = runtimes.find(axis);
      std::string runtimeName = size != kRuntime            ? ""
                                : runtime != runtimes.end() ? runtime->second
                                : findAxis(axis)            ? findAxis(axis)->runtime
                                                            : axis;
      naming.push_back({axis, size, runtimeName});
      if (size == kRuntime && dimension.axes.size() > 1)
        return refuse("an axis of run-time size is a dimension by itself");
      std::optional<int64_t> product = kRuntime;
      if (size != kRuntime)
        product = subscript::checkedMultiply(own.size, size);
      if (!product)
        return refuse("the size of this product does not fit 64 bits");
      own.size = *product;
      if (size == kRuntime)
        own.runtime = runtimeName;
    }
    if (!naming.empty())
      own.namings.push_back(naming);
    result.push_back(std::move(own));
  }
  return result;
}

/// Adds an operand of ones for axes of the text that no index expression depends on any more, such as (h // 4) of one
/// group. A sum over such an axis adds the same element once for each of its positions; the operand of ones keeps the
/// axis.
void Einsums::addOnes(const Node &node, subscript::Einsum &spec, std::vector<Value> &operands, const AxisSizes &all,
                      ArrayRef<std::string> written) {
  std::vector<std::string> left = spec.axes();
  for (const std::string &axis : written) {
    if (is_contained(left, axis) || all.at(axis) == 1)
      continue;
    const Axis *outer = all.at(axis) == kRuntime ? findAxis(axis) : nullptr;
    Dimensions line = {{all.at(axis), outer ? outer->runtime : "", {}}};
    operands.push_back(tensorValue(typer.arithmetic.splat(node, 1, line), line));
    spec.operands.push_back({});
    spec.operands.back().emplace_back().axes = {axis};
  }
}

/// Builds an einsum. `written` are the axes of its text, including axes that simplification may remove from the index
/// expressions.
Value Einsums::buildEinsum(const Node &node, subscript::Einsum &spec, std::vector<Value> operands,
                           const AxisSizes &given, const AxisSizes &all, ArrayRef<std::string> written) {
  subscript::Domain domain = subscript::domainOf(all);
  std::map<std::string, Axis> readAxes;
  typer.positions.sizesOfReads(spec, readAxes);
  std::map<std::string, std::string> runtimes;
  std::vector<std::vector<int64_t>> shapes;
  typed::Places places;
  std::vector<typed::Tensor *> inputs;
  StringRef text =
      !node.operands.empty() && node.operands[0]->kind == NodeKind::String ? node.operands[0]->name : StringRef();
  for (size_t k = 0; k < operands.size(); ++k)
    for (size_t d = 0; d < spec.operands[k].size(); ++d)
      spec.operands[k][d].index =
          builtIndex(spec.operands[k][d], operands[k].dimensions[d], all, domain, readAxes);
  const size_t count = operands.size();
  addOnes(node, spec, operands, all, written);
  for (size_t k = 0; k < operands.size(); ++k) {
    inputs.push_back(operands[k].tensor);
    shapes.emplace_back();
    places.dimensions.emplace_back();
    places.operandNames.push_back(
        (k >= count ? StringRef() : text.data() ? node.operands[k + 1]->text : node.operands[0]->text)
            .take_front(40)
            .str());
    for (size_t d = 0; d < spec.operands[k].size(); ++d) {
      const subscript::Dimension &dimension = spec.operands[k][d];
      const Dimension &own = operands[k].dimensions[d];
      shapes.back().push_back(own.size);
      places.dimensions.back().push_back(text.data() && k < count           ? text.slice(dimension.begin, dimension.end)
                                         : node.kind == NodeKind::Subscript ? node.operands[d + 1]->text
                                                                            : node.text); // sum(x, axis)
      if (!nameRuntime(dimension, own, all, places.dimensions.back().back(), runtimes))
        return {};
    }
  }
  AxisSizes fromOperands, attribute;
  learnSizes(spec, shapes, fromOperands);
  for (const std::string &axis : spec.axes())
    if (!fromOperands.count(axis) && all.at(axis) != kRuntime)
      attribute[axis] = all.at(axis);
  for (const auto &[name, axis] : readAxes) {
    const std::string &size = axis.runtime;
    if (size.empty())
      continue;
    auto [entry, fresh] = runtimes.insert({name, size});
    if (entry->second != size || all.at(name) != kRuntime)
      return error(node.text, "an index operand is read along axis '" + name + "' of the run-time size '" + size +
                                  "', but elsewhere its size is " +
                                  (entry->second != size ? entry->second : std::to_string(all.at(name))));
  }
  auto result = einsumResult(spec, text, all, runtimes);
  if (!result)
    return {};
  typed::Einsum einsum(subscript::print(spec), attribute);
  places.calls = diagnostics.openCalls();
  einsum.places = std::make_shared<const typed::Places>(std::move(places));
  typed::Tensor *tensor = append(node, std::move(einsum), inputs, *result);
  typer.sizes.rememberAxes(*result);
  return tensorValue(tensor, std::move(*result));
}

/// Returns the axes of run-time size in the result on which only numbers depend, as b in mask[b % 4, i, j]. An operand
/// must give their lengths.
static std::vector<Axis> runtimeAxesWithoutOperand(const subscript::Einsum &spec,
                                                   const std::map<std::string, Axis> &axes) {
  std::set<std::string> told;
  for (const subscript::Dimension &dimension : spec.operands[0]) {
    if (dimension.isAxis())
      told.insert(dimension.axes[0]);
    // An index operand gives the lengths of the axes along which it is read.
    for (const Expr &read : subscript::readNodes(dimension.index))
      for (const Expr &at : read.operands())
        if (at.isSymbol())
          told.insert(at.name());
  }
  std::vector<Axis> untold;
  for (const subscript::Dimension &dimension : *spec.result)
    if (const Axis &axis = axes.at(dimension.axes[0]); axis.size == kRuntime && !told.count(axis.name))
      untold.push_back(axis);
  return untold;
}

/// Checks a dimension that is read at a bare axis, and so read whole; false, after an error, if all known sizes of the
/// axis are different.
bool Einsums::checkRead(StringRef place, StringRef tensor, const Axis &axis) {
  auto known = scope->sizes.find(axis.name);
  if (known == scope->sizes.end() || is_contained(known->second, axis))
    return true;
  const Axis &other = known->second.front();
  auto size = [](const Axis &own) { return own.runtime.empty() ? std::to_string(own.size) : own.runtime; };
  error(place, "axis '" + axis.name + "' has size " + size(other) + ", but this dimension of '" +
                   tensor.take_front(40).str() + "' has " + size(axis));
  diagnostics.note(other.runtime.empty() && axis.runtime.empty() && other.size < axis.size
                       ? "to read its first " + size(other) + " places alone, cut it: x[:" + size(other) +
                             "], or x[:, :" + size(other) + "] of the second dimension"
                       : "another axis takes another name");
  return false;
}

/// Reads slope[h] or table[j - i + N - 1, h]: a tensor over the axes that the indices name, in the order in which they
/// first name them. Axes that one index names together have no order. An axis that is an index by itself is as long as
/// the dimension.
Value Einsums::typeRead(const Node &node, const Value &base) {
  if (node.operands.size() - 1 != base.dimensions.size())
    return error(node.text, "'" + node.operands[0]->text.take_front(40).str() + "' has " +
                                std::to_string(base.dimensions.size()) + " dimensions, found " +
                                std::to_string(node.operands.size() - 1) +
                                (node.operands.size() - 1 == 1 ? " index" : " indices"));
  if (!typer.moves.requireOrder(node.operands[0]->text, base, "a subscript"))
    return {};
  subscript::Einsum spec;
  spec.operands.emplace_back();
  std::map<std::string, Axis> axes;
  std::set<std::string> told;     // axes that are an index by themselves
  std::vector<std::string> order; // in which the indices name the axes
  bool isOrdered = true;
  Order byPlaces{false};
  struct Picked { // an index that is a tensor, and the axis of the rows that it picks from
    const Node *place;
    Value index;
    Axis rows;
  };
  std::vector<Picked> picked;
  for (size_t k = 1; k < node.operands.size(); ++k) {
    const Node &written = *node.operands[k];
    const Dimension &own = base.dimensions[k - 1];
    typer.sizes.learnFromRead(written, own);
    Value index = evaluate(written);
    if (!index.good())
      return {};
    bool picks = index.is(ValueKind::Tensor);
    if (picks) {
      if (!isNamed(index.dimensions) || own.isRuntime() || !base.present.empty() || !base.finite.empty())
        return error(written.text,
                     "an index that is a tensor has a name for each dimension, and reads a dimension of known "
                                   "size of a tensor without absent elements");
      if (!typer.absent.refuseAbsent(written.text, index, "a subscript reads"))
        return {};
      picked.push_back({&written, std::move(index), {"row" + std::to_string(k) + "'", own.size, ""}});
      index = typer.names.positionAlong(written, picked.back().rows.name, picked.back().rows);
    }
    auto expression = typer.reals.asIndex(written, index, "an index is a whole number or an expression of positions");
    if (!expression)
      return {};
    size_t before = order.size();
    for (const Axis &axis : scope->axes)
      if (index.axes.count(axis.name) && !is_contained(order, axis.name))
        order.push_back(axis.name);
    for (const auto &[name, axis] : index.axes)
      if (!is_contained(order, name))
        order.push_back(name);
    isOrdered &= order.size() < before + 2;
    // Indices of one bracket have an order; axes of one offset do not.
    for (size_t earlier = 0; earlier < before; ++earlier)
      for (size_t own = before; own < order.size(); ++own)
        byPlaces.hints.push_back({order[earlier], order[own]});
    *expression = typer.positions.positionFor(*expression, own.size);
    subscript::Dimension dimension;
    // A function that is the position itself, floor(sqrt(i)) of two positions, does not tell the size of the axis.
    bool isBare = expression->isSymbol() && (picks || index.isAxis) && !typer.positions.partOf(expression->name());
    bool isWhole = isBare || own.isRuntime() ||
                   (expression->isSymbol() && index.axes[expression->name()].size == own.size);
    if (expression->isSymbol() && (isWhole || typer.positions.partOf(expression->name())))
      dimension.axes = {expression->name()};
    else
      dimension.index = expression->isSymbol() ? subscript::partOfDimension(*expression, own.size) : *expression;
    if (isBare) {
      Axis axis{expression->name(), own.size, own.runtime};
      if (!picks && !checkRead(written.text, node.operands[0]->text, axis))
        return {};
      if (!told.insert(axis.name).second && !(axes[axis.name] == axis))
        return error(written.text, "axis '" + axis.name + "' is an index of two dimensions, of sizes " +
                                       describe(Dimensions{{axes[axis.name].size, axes[axis.name].runtime}}) +
                                       " and " + describe(Dimensions{{own.size, own.runtime}}));
      axes[axis.name] = axis;
    }
    axes.insert(index.axes.begin(), index.axes.end());
    spec.operands[0].push_back(std::move(dimension));
  }
  for (const auto &[name, axis] : axes)
    if (!told.count(name) && !typer.sizes.relyOnSize(node.text, name))
      return {};
  if (!isOrdered) // any order will do, because nothing depends on it
    for (auto [d, dimension] : enumerate(typer.choices.inOrder(axes)))
      order[d] = dimension.namings[0][0].name;
  AxisSizes given;
  spec.result.emplace();
  for (const std::string &name : order) {
    given[name] = axes[name].size;
    subscript::Dimension dimension;
    dimension.axes = {name};
    spec.result->push_back(dimension);
  }
  for (size_t d = 0; d < spec.operands[0].size(); ++d) {
    const subscript::Dimension &dimension = spec.operands[0][d];
    if (!dimension.isAxis())
      continue;
    const Axis &axis = axes.at(dimension.axes[0]);
    if (axis.size == base.dimensions[d].size)
      continue;
    if (axis.size == kRuntime || base.dimensions[d].size == kRuntime)
      return error(node.operands[d + 1]->text, "axis '" + axis.name + "' and this dimension have different sizes");
    // The axis is shorter (or longer) than the dimension, so the read uses an index expression.
    spec.operands[0][d].axes.clear();
    spec.operands[0][d].index = Expr::symbol(axis.name) + Expr(0);
    if (axis.size > base.dimensions[d].size)
      return error(node.operands[d + 1]->text, "axis '" + axis.name + "' runs from 0 to " +
                                                   std::to_string(axis.size - 1) + ", but this dimension has size " +
                                                   std::to_string(base.dimensions[d].size));
  }
  // Selects the row whose number the index equals; 0 if no row has that number.
  auto amongRows = [&](Value value) -> Value {
    for (auto &[place, index, rows] : picked) {
      const std::string name = rows.name;
      auto isRows = [&](const Axis &axis) { return axis.name == name; };
      scope->sizes.erase(name);
      erase_if(scope->axes, isRows);
      if (!value.good())
        continue;
      for (const std::vector<std::string> &hint : byPlaces.hints)
        for (const Dimension &own : index.dimensions)
          if (hint[0] == name || hint[1] == name)
            value.order.hints.push_back({hint[0] == name ? print(own.namings[0]) : hint[0],
                                         hint[1] == name ? print(own.namings[0]) : hint[1]});
      Value hit = typer.functions.applied(*place, *attn::findElementFunction(state.context, "=="),
                                          {std::move(index), typer.names.positionAlong(*place, name, rows)});
      value = hit.good() ? typer.predicates.chooseByValues(*place, *place, hit, std::move(value), Value::whole(0))
                         : Value();
      if (!value.good())
        continue;
      Reductions::AlongAxes along{std::move(value), {}, {}, {name}};
      for (const Dimension &own : along.operand.dimensions) {
        auto named = find_if(own.namings, [&](const Naming &naming) {
          return naming.size() == 1 && isRows(naming[0]);
        });
        along.whole.push_back(false);
        along.naming.push_back(named == own.namings.end() ? std::nullopt
                                                          : std::optional<size_t>(named - own.namings.begin()));
      }
      Node sum{NodeKind::Call, node.text, node.text, 0, 0, false, {}, {}};
      sum.operands.push_back(std::make_unique<Node>(Node{NodeKind::Name, node.text, node.text, 0, 0, false, {}, {}}));
      value = typer.reductions.sumAlong(sum, along, typer.reductions.withoutAxes(along), along.operand);
    }
    if (!picked.empty() && value.good()) {
      diagnostics.remark(node.text,
                         "a tensor chooses the row that is read here: each of its elements is compared with every "
                         "row's number, and memory holds a number for each element and row");
      diagnostics.note(
          "an index that is computed from positions and from an i32 operand with a range costs none of this");
    }
    return value;
  };
  auto isWhole = [](const subscript::Dimension &dimension) { return dimension.isAxis(); };
  if (llvm::all_of(spec.operands[0], isWhole) && subscript::print(spec.operands[0]) == subscript::print(*spec.result)) {
    // The whole tensor unchanged, with names.
    Value named = base;
    for (size_t d = 0; d < named.dimensions.size(); ++d)
      named.dimensions[d].namings = {{axes.at(spec.operands[0][d].axes[0])}};
    named.order = byPlaces;
    typer.sizes.rememberAxes(named.dimensions);
    return amongRows(std::move(named));
  }
  std::vector<Value> operands = {base};
  for (const Axis &axis : runtimeAxesWithoutOperand(spec, axes)) {
    Dimensions line = {{kRuntime, axis.runtime, {{axis}}}};
    operands.push_back(tensorValue(typer.arithmetic.splat(node, 1, line), line));
    spec.operands.push_back({});
    spec.operands.back().emplace_back().axes = {axis.name};
  }
  Value value = buildEinsum(node, spec, operands, given, given);
  value.order = byPlaces;
  if (!picked.empty())
    return amongRows(std::move(value));
  if (!value.good() || (base.present.empty() && base.finite.empty()))
    return value;
  subscript::Substitution axisPlaces = renaming(value.dimensions, placeNamings(value.dimensions)), places;
  for (size_t d = 0; d < base.dimensions.size(); ++d)
    places[placeName(d)] =
        subscript::substitute(subscript::flatIndex(spec.operands[0][d], given), axisPlaces);
  typer.absent.moveConditions(value, base, places);
  return value;
}

} // namespace skewer::language
