// Real-valued functions of positions: they become integer tables as indices, and constant tensors as numbers.
#include "dialect/Language/Typer.h"
#include "dialect/Language/Steps.h"
#include <cmath>

using namespace llvm;

namespace skewer::language {
using subscript::Expr;

namespace {
/// The limits of tables. A table has an entry for each offset, never for each pair of positions.
constexpr int64_t kMaximumRows = 1 << 18;
constexpr int64_t kMaximumElements = 1 << 24;

std::string pointText(ArrayRef<Axis> axes, const std::vector<int64_t> &point) {
  std::string text;
  for (size_t k = 0; k < axes.size(); ++k)
    text += (text.empty() ? "" : ", ") + axes[k].name + " = " + std::to_string(point[k]);
  return text;
}

/// Calls `visit` at every point of the box, the last dimension fastest, until it returns false.
template <typename Visit> bool forEachPoint(ArrayRef<subscript::Range> box, Visit visit) {
  std::vector<int64_t> point;
  for (const subscript::Range &range : box)
    point.push_back(range.low);
  while (visit(point)) {
    size_t k = box.size();
    while (k > 0 && ++point[k - 1] > box[k - 1].high)
      --k, point[k] = box[k].low;
    if (k == 0)
      return true;
  }
  return false;
}
Value remembered(Value number, RealPtr made) {
  number.function = std::move(made);
  return number;
}
} // namespace

bool RealFunctions::isFunctionOfPositions(const Value &value) {
  return value.is(ValueKind::Number) || value.is(ValueKind::Index) || value.is(ValueKind::Real);
}

Value RealFunctions::realValue(const Node &node, RealKind kind, ArrayRef<Value> operands) {
  constexpr size_t kMaximumDepth = 400, kMaximumSize = 1 << 14;
  Value result;
  result.kind = ValueKind::Real;
  std::vector<RealPtr> functions;
  for (const Value &operand : operands) {
    functions.push_back(operand.is(ValueKind::Number)  ? numberLeaf(operand, node)
                        : operand.is(ValueKind::Index) ? makeReal(operand.index, &node)
                                                       : operand.function);
    result.axes.insert(operand.axes.begin(), operand.axes.end());
  }
  result.function = makeReal(kind, std::move(functions), &node);
  if (result.function->depth > kMaximumDepth)
    return error(node.text, "this function of positions has more than " + std::to_string(kMaximumDepth) +
                                " operations in one chain");
  if (result.function->size > kMaximumSize) // schemes that use an argument twice double the function
    return error(node.text, "this function of positions, written out, has more than " + std::to_string(kMaximumSize) +
                                " operations");
  return result;
}

/// Returns the first index operand that a function reads; nothing if it is a function of positions alone.
static std::optional<std::string> readOperand(const RealFunction &function) {
  const Expr *index = findIndex(function, [](const Expr &e) { return !subscript::readsOf(e).empty(); });
  return index ? std::optional(*subscript::readsOf(*index).begin()) : std::nullopt;
}

/// Returns the function with a symbol in place of each element of an index operand whose values have a range. The
/// symbols and their ranges are added to the domain, which has the ranges of the operands; `back` maps them back.
static RealPtr withoutReads(const RealPtr &function, subscript::Domain &domain, subscript::Substitution &back) {
  return withIndices(function, [&](const Expr &e) -> std::optional<Expr> {
    auto range = e.kind() == subscript::Kind::Read ? domain.find(subscript::elementsOf(e.name())) : domain.end();
    if (range == domain.end())
      return std::nullopt;
    std::string symbol = subscript::print(e); // no name of an axis has brackets
    domain.insert({symbol, range->second});
    back.insert({symbol, e});
    return Expr::symbol(symbol);
  });
}

/// Returns the symbols in the function's index expressions.
static std::set<std::string> symbolsIn(const RealFunction &function) {
  std::set<std::string> symbols;
  findIndex(function, [&](const Expr &e) {
    symbols.merge(subscript::symbolsOf(e));
    return false;
  });
  return symbols;
}

/// Returns the first constant table that the function may read out of bounds, even in a branch that is not selected.
static std::optional<subscript::TableOutside> tableOutsideIn(const RealFunction &function,
                                                             const subscript::Domain &domain) {
  std::optional<subscript::TableOutside> found;
  findIndex(function, [&](const Expr &e) {
    found = subscript::findTableOutside(e, domain);
    return found.has_value();
  });
  return found;
}

/// Returns the forms that a function depends on; nothing, after an error if `complain`, if a table over them would be
/// too large.
std::optional<RealForms> RealFunctions::smallForms(const Node &node, const Value &value, bool complain) {
  subscript::Domain domain = typer.positions.domainOf(value);
  subscript::Substitution back;
  RealPtr function = withoutReads(typer.positions.withoutOrigins(value.function, domain, back), domain, back);
  const std::set<std::string> symbols = symbolsIn(*function);
  for (const auto &[name, axis] : value.axes)
    if (axis.size == subscript::kRuntime && symbols.count(name)) {
      if (complain || !choiceOf(value.function)) // otherwise its branches are tried
        error(node.text, "a function of the position along '" + name + "' needs a size known at compile time; '" +
                             name + "' has the run-time size '" + axis.runtime + "'");
      return std::nullopt;
    }
  auto forms = formsOf(function, domain);
  if (forms)
    for (Expr &form : forms->forms)
      form = subscript::substitute(form, back);
  if (!forms) {
    if (complain)
      error(node.text, "this function of positions cannot be computed at compile time");
    return std::nullopt;
  }
  if (forms->points() <= kMaximumRows)
    return forms;
  if (!complain)
    return std::nullopt;
  std::string list;
  for (const Expr &form : forms->forms)
    list += (list.empty() ? "" : ", ") + subscript::print(form);
  error(node.text, "the table of this function would have " +
                       (forms->points() == INT64_MAX ? "more than 2^63" : std::to_string(forms->points())) +
                       " entries, at most " + std::to_string(kMaximumRows) + " are possible");
  diagnostics.note("it depends on " + list + "; write it as a function of one offset, such as j - i");
  return std::nullopt;
}

/// Returns a function of one form by the places of its steps, if the form takes too many values for a table, such as
/// the bucket of a difference of times.
std::optional<Expr> RealFunctions::asSteps(const Value &value) {
  constexpr size_t kMostSteps = 256;
  subscript::Domain domain = typer.positions.domainOf(value);
  subscript::Substitution back;
  RealPtr function = withoutReads(typer.positions.withoutOrigins(value.function, domain, back), domain, back);
  auto forms = formsOf(function, domain);
  if (!forms || forms->forms.size() != 1 || forms->points() <= kMaximumRows)
    return std::nullopt;
  forms->forms[0] = subscript::substitute(forms->forms[0], back);
  auto steps =
      typer.positions.isAlikeAtAllLengths(forms->forms[0]) ? language::asSteps(*forms, kMostSteps) : std::nullopt;
  return steps ? std::optional(subscript::simplify(*steps, typer.positions.domainOf(value))) : std::nullopt;
}

/// Returns a function of positions as an index expression. If whole-number algebra cannot express it, it becomes a
/// table over the offset.
std::optional<Expr> RealFunctions::asIndex(const Node &node, const Value &value, const std::string &what) {
  if (value.is(ValueKind::Index))
    return value.index;
  if (value.isWhole())
    return Expr(value.integer);
  if (!value.good())
    return std::nullopt;
  if (!value.is(ValueKind::Real)) {
    error(node.text, what + ", found " + describe(value));
    return std::nullopt;
  }
  if (!value.function->whole) {
    error(node.text, what + ", but this function of positions is real-valued");
    diagnostics.note("say how it is rounded: floor(…) or ceil(…)");
    return std::nullopt;
  }
  subscript::Domain domain = typer.positions.domainOf(value);
  subscript::Substitution back;
  if (auto operand =
          readOperand(*withoutReads(typer.positions.withoutOrigins(value.function, domain, back), domain, back))) {
    error(node.text,
          what + ", but this function is computed at compile time and reads the index operand '" + *operand + "'");
    if (const typed::Operand *found = kernel.indexOperand(*operand))
      diagnostics.note("where the values of '" + *operand + "' have a range, it is a table over them: " + *operand +
                       " : i32" + describe(found->dimensions) + " in low..high");
    return std::nullopt;
  }
  if (auto steps = asSteps(value))
    return steps;
  RealPtr choice = choiceOf(value.function);
  auto forms = smallForms(node, value, /*complain=*/!choice);
  if (!forms && choice) {
    // Branch by branch: a class token beside a map has a row of its own, and the map has a table over its offsets.
    auto condition = typer.predicates.conditionOf(node, choice->operands[0], value);
    Value yes = value, no = value;
    yes.function = choice->operands[1], no.function = choice->operands[2];
    auto first = condition ? asIndex(node, yes, what) : std::nullopt;
    auto second = first ? asIndex(node, no, what) : std::nullopt;
    return second ? std::optional(subscript::simplify(subscript::select(*condition, *first, *second),
                                                      typer.positions.domainOf(value)))
                  : std::nullopt;
  }
  if (!forms)
    return std::nullopt;
  RealProgram program(*forms->function, forms->symbols, /*single=*/true);
  auto values = std::make_shared<std::vector<int64_t>>();
  std::vector<Axis> names;
  for (const Expr &form : forms->forms)
    names.push_back({subscript::print(form), 0, ""});
  bool good = forEachPoint(forms->ranges, [&](const std::vector<int64_t> &point) {
    double result = program.run(point);
    if (!(std::fabs(result) < 9e15)) {
      error(node.text, "this function of positions has no value" +
                           (names.empty() ? std::string() : " at " + pointText(names, point)) + ", it is " +
                           (std::isnan(result) ? "not a number" : "too large for an index"));
      return false;
    }
    values->push_back(static_cast<int64_t>(result));
    return true;
  });
  if (!good)
    return std::nullopt;
  Expr row = 0;
  std::vector<Expr> rows = forms->rows();
  for (size_t k = 0; k < rows.size(); ++k)
    row = row * Expr(forms->ranges[k].high - forms->ranges[k].low + 1) + rows[k];
  typer.decisions.decidedTable(node, {values->begin(), values->end()}, *forms);
  domain = typer.positions.domainOf(value);
  return subscript::simplify(Expr::table(std::move(values), row), domain);
}

/// Keeps arithmetic on positions as arithmetic, which fusion treats as a factor. Every other function becomes a
/// constant tensor over the offsets that it depends on, evaluated in double precision and rounded once.
Value RealFunctions::realTensor(const Node &node, const Value &value) {
  subscript::Domain ofOrigins;
  subscript::Substitution back;
  auto forms = computing || isArithmetic(*value.function) ||
                       readOperand(*typer.positions.withoutOrigins(value.function, ofOrigins, back))
                   ? std::nullopt
                   : smallForms(node, value, false);
  if (!forms)
    return diagnostics.hasErrors() ? Value() : typeReal(node, *value.function, value);
  std::vector<float> numbers;
  RealProgram program(*forms->function, forms->symbols, /*single=*/false);
  bool missing = false;
  forEachPoint(forms->ranges, [&](const std::vector<int64_t> &point) {
    numbers.push_back(static_cast<float>(program.run(point)));
    missing |= std::isnan(numbers.back());
    return true;
  });
  if (missing) // NaN of a logarithm may be hidden by a mask; NaN of a list is a read out of bounds
    if (auto bad = tableOutsideIn(*value.function, typer.positions.domainOf(value)))
      return sayTableOutside(diagnostics, kernel.lookups, node.text, *bad), Value();
  size_t place = factors++;
  spelling = options.spelledOut.count(place) != 0;
  bool isAtRunTime = options.atRunTime.count(place) != 0;
  typed::Tensor *table = isAtRunTime ? tableAtRunTime(node, *forms) : nullptr;
  if (isAtRunTime && !table && forms->forms.size() > 1 && isOfTensors(*value.function)) {
    computing = true; // the values depend on several offsets, so they are computed where they are added
    Value computed = typer.arithmetic.toTensor(node, typeReal(node, *value.function, value));
    computing = spelling = false;
    return diagnostics.hasErrors() ? Value() : computed;
  }
  spelling = false;
  if (diagnostics.hasErrors())
    return {};
  if (!table)
    typer.decisions.decidedTable(node, {numbers.begin(), numbers.end()}, *forms, /*isTensor=*/true);
  if (forms->forms.empty())
    return Value::real(numbers[0]);
  Dimensions ofTable;
  subscript::Einsum spec;
  spec.operands.emplace_back();
  spec.result.emplace();
  std::set<std::string> symbols;
  std::vector<Expr> rows = forms->rows();
  for (size_t k = 0; k < rows.size(); ++k) {
    ofTable.push_back({forms->ranges[k].high - forms->ranges[k].low + 1});
    subscript::Dimension dimension;
    if (rows[k].isSymbol())
      dimension.axes = {rows[k].name()};
    else
      dimension.index = rows[k];
    for (const std::string &symbol : subscript::symbolsOf(rows[k]))
      symbols.insert(symbol);
    spec.operands[0].push_back(std::move(dimension));
  }
  Dimensions dimensions;
  subscript::AxisSizes sizes;
  auto add = [&](const Axis &axis) {
    if (!symbols.erase(axis.name))
      return;
    dimensions.push_back({axis.size, "", {{axis}}});
    subscript::Dimension dimension;
    dimension.axes = {axis.name};
    spec.result->push_back(dimension);
    if (none_of(spec.operands[0], [&](const subscript::Dimension &d) { return d.axes == dimension.axes; }))
      sizes[axis.name] = axis.size;
  };
  for (const Axis &axis : scope->axes)
    if (auto own = value.axes.find(axis.name); own != value.axes.end())
      add(own->second);
  for (const auto &[name, axis] : value.axes)
    add(axis);
  if (!table)
    table = append(node, typed::Constant{std::move(numbers)}, {}, ofTable);
  typed::Tensor *read = append(node, typed::Einsum(subscript::print(spec), sizes), table, dimensions);
  Value result = tensorValue(read, std::move(dimensions));
  result.order.isWritten = false;
  return result;
}

/// Returns the function as operations on tensors.
Value RealFunctions::typeReal(const Node &node, const RealFunction &f, const Value &value) {
  if (f.kind == RealKind::Double) {
    // Operations on tensors are in f32, so f64 needs a table.
    if (auto operand = readOperand(f))
      return error(f.node ? f.node->text : node.text,
                   "'f64' computes at compile time, but this reads the index operand '" + *operand +
                       "'; at run time arithmetic is in f32");
    Value part = value;
    part.function = makeReal(RealKind::Double, f.operands, f.node);
    return smallForms(f.node ? *f.node : node, part, true) ? realTensor(node, part) : Value();
  }
  std::vector<Value> operands;
  if (f.kind == RealKind::Select) {
    auto condition = typer.predicates.conditionOf(f.node ? *f.node : node, f.operands[0], value);
    Value yes = value, no = value; // each branch may be a table, although both together depend on too much
    yes.function = f.operands[1], no.function = f.operands[2];
    yes = realTensor(node, yes), no = realTensor(node, no);
    if (!condition || !yes.good() || !no.good())
      return {};
    return typer.choices.selectTensors(f.node ? *f.node : node, *condition, value, yes, no);
  }
  for (const RealPtr &operand : f.operands) {
    operands.push_back(typeReal(node, *operand, value));
    if (!operands.back().good())
      return {};
  }
  const Node &place = f.node ? *f.node : node;
  switch (f.kind) {
  case RealKind::Number:
    return remembered(f.whole ? Value::whole(static_cast<int64_t>(f.number)) : Value::real(f.number), // at most 53 bits
                      f.made);
  case RealKind::Index: {
    Value index;
    index.kind = ValueKind::Index;
    index.index = f.index;
    for (const std::string &symbol : subscript::symbolsOf(f.index))
      if (auto axis = value.axes.find(symbol); axis != value.axes.end())
        index.axes.insert(*axis);
    return index;
  }
  case RealKind::Single:
    return operands[0];
  case RealKind::Negate:
    return operands[0].is(ValueKind::Number) ? Value::real(-operands[0].number)
                                             : typer.arithmetic.arithmetic(place, "neg", operands[0], operands[0]);
  default:
    break;
  }
  for (StringRef op : {"+", "-", "*", "/", "^"})
    if (realOperator(op) == f.kind) {
      if (operands[0].is(ValueKind::Number) && operands[1].is(ValueKind::Number))
        return typer.expressions.evaluateNumbers(place, op, operands[0], operands[1]);
      return typer.arithmetic.arithmetic(place, op, operands[0], operands[1]);
    }
  for (StringRef name : {"min", "max"})
    if (realFunction(name) == f.kind)
      return typer.arithmetic.arithmetic(place, name, operands[0], operands[1]);
  if (StringRef name = Functions::elementwiseName(f.kind); !name.empty())
    return typer.functions.elementwiseFunction(place, name, typer.arithmetic.toTensor(place, operands[0]));
  smallForms(node, value, true); // reports why no table is possible
  return {};
}

/// Evaluates tabulate(expression, t = 100, k = 24): a constant tensor over the given axes.
Value RealFunctions::typeTabulate(const Node &node) {
  StringRef usage = "tabulate(sin(t * 100^(-k/24)), t = 10, k = 24)";
  if (node.operands.size() != 1 || node.keywords.empty()) {
    error(node.text, "'tabulate' takes a function of positions, and its axes with their sizes");
    diagnostics.note("usage: " + usage.str());
    return {};
  }
  int64_t elements = 1;
  std::vector<Axis> axes;
  std::vector<subscript::Range> box;
  std::vector<std::string> names;
  Dimensions dimensions;
  for (const Keyword &k : node.keywords) {
    auto size = typer.expressions.evaluateWhole(*k.value, "the size of axis '" + k.name.str() + "'");
    if (!size)
      return {};
    if (*size < 1 || *size > kMaximumElements / elements)
      return error(k.value->text,
                   "a table has 1 to 2^24 elements; axis '" + k.name.str() + "' = " + std::to_string(*size));
    if (is_contained(names, k.name))
      return error(k.name, "axis '" + k.name.str() + "' is given twice");
    elements *= *size;
    axes.push_back({k.name.str(), *size, ""});
    box.push_back({0, *size - 1});
    names.push_back(k.name.str());
    dimensions.push_back({*size, "", {{axes.back()}}});
  }
  typer.sizes.learnFromCall(axes);
  Scope inner = scope->withAxes(axes); // outer axes have a length, but no position
  for (const std::string &name : names)
    inner.parts.erase(name);
  Scope *outer = scope;
  scope = &inner;
  ++state.tabulating;
  Value value = evaluate(*node.operands[0]);
  --state.tabulating;
  scope = outer;
  outer->returnFrom(inner);
  if (!value.good())
    return {};
  if (!isFunctionOfPositions(value))
    return error(node.operands[0]->text,
                 "'tabulate' takes a function of the positions along its axes, found " + describe(value));
  for (const auto &[name, axis] : value.axes)
    if (!is_contained(names, name))
      return error(node.operands[0]->text, "'" + name + "' is no axis of this table" + suggestion(name, names));
  Value function = value.is(ValueKind::Real) ? value : realValue(node, RealKind::Double, value);
  RealProgram program(*function.function, names, /*single=*/false);
  std::vector<float> numbers;
  numbers.reserve(elements);
  bool good = forEachPoint(box, [&](const std::vector<int64_t> &point) {
    numbers.push_back(static_cast<float>(program.run(point)));
    if (std::isfinite(numbers.back()))
      return true;
    error(node.operands[0]->text, "the value at " + pointText(axes, point) + " is no finite number of type f32");
    return false;
  });
  if (!good)
    return {};
  typed::Tensor *table = append(node, typed::Constant{std::move(numbers)}, {}, dimensions);
  return tensorValue(table, std::move(dimensions));
}

} // namespace skewer::language
