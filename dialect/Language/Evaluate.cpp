// Evaluation of expressions: numbers in double precision, index expressions symbolically, tensors as the operations
// that compute them. The typer calls it for every expression of a statement.
#include "dialect/Language/Typer.h"
#include "dialect/Language/Habits.h"
#include "dialect/Subscript/Arithmetic.h"
#include "dialect/Subscript/Bits.h"
#include <cmath>

using namespace llvm;

namespace skewer::language {
using subscript::Expr;

Value Expressions::evaluate(const Node &node) {
  // Nested schemes add to the depth. This many levels fit a stack of 2 MiB, measured in a release build.
  constexpr unsigned kMaximumDepth = 600;
  if (depth >= kMaximumDepth)
    return error(node.text, "this expression and the schemes that it is in are nested deeper than " +
                                std::to_string(kMaximumDepth) + " levels");
  ++depth;
  StringRef outer = std::exchange(state.placeAtHand, node.text);
  Value value = evaluateNode(node);
  if (!value.good())
    typer.sizes.scoutParts(node);
  state.placeAtHand = outer;
  --depth;
  return value;
}

/// Returns whether the node is a literal number or the name of a whole number.
bool Expressions::isPlainNumber(const Node &node) {
  if (node.kind == NodeKind::Unary && node.name == "-")
    return isPlainNumber(*node.operands[0]);
  const Value *value = node.kind == NodeKind::Name ? typer.names.lookup(node.name.str()) : nullptr;
  return node.kind == NodeKind::Number || (value && value->isWhole());
}

Value Expressions::evaluateNode(const Node &node) {
  switch (node.kind) {
  case NodeKind::Number:
    return node.isInteger ? Value::whole(node.integer) : Value::real(node.number);
  case NodeKind::Name:
    return evaluateName(node);
  case NodeKind::String: {
    Value value;
    value.kind = ValueKind::Text;
    value.name = node.name.str();
    return value;
  }
  case NodeKind::Unary:
    return evaluateUnary(node);
  case NodeKind::Binary:
    return evaluateBinary(node);
  case NodeKind::Call:
    return evaluateCall(node);
  case NodeKind::Where:
    return typer.absent.typeWhere(node);
  case NodeKind::Conditional:
    return typer.choices.typeConditional(node, *node.operands[1], *node.operands[0], *node.operands[2]);
  case NodeKind::Tuple: {
    Value list;
    list.kind = ValueKind::List;
    for (const NodePtr &item : node.operands) {
      list.items.push_back(evaluate(*item));
      if (!list.items.back().good())
        return {};
    }
    return list;
  }
  case NodeKind::Subscript: {
    const Node &named = *node.operands[0];
    // The value, even if an axis has this name.
    const Value *known = named.kind == NodeKind::Name ? typer.names.lookup(named.name.str()) : nullptr;
    Value base = known ? *known : evaluate(named);
    if (!base.good())
      return {};
    if (node.operands.size() == 2 && node.operands[1]->kind == NodeKind::Ellipsis && !base.is(ValueKind::Indices))
      return base; // k[...]: the value, even if an axis has its name
    // mask[None, None]: converts the function of positions to a tensor.
    if ((base.is(ValueKind::Index) || base.is(ValueKind::Real)) &&
        llvm::any_of(llvm::drop_begin(node.operands), [](const NodePtr &index) {
          return index->kind == NodeKind::Slice || index->kind == NodeKind::Ellipsis ||
                 (index->kind == NodeKind::Name && index->name == "None");
        }))
      base = typer.arithmetic.toTensor(named, base);
    if (base.is(ValueKind::Tensor)) {
      for (size_t k = 1; k < node.operands.size(); ++k)
        if (node.operands[k]->kind == NodeKind::Slice || node.operands[k]->kind == NodeKind::Ellipsis ||
            (node.operands[k]->kind == NodeKind::Name && node.operands[k]->name == "None"))
          return typer.moves.typeSlice(node, base);
      // x[0]: the other dimensions are taken whole, as in NumPy.
      if (node.operands.size() - 1 < base.dimensions.size() &&
          llvm::all_of(llvm::drop_begin(node.operands), [&](const NodePtr &index) { return isPlainNumber(*index); }))
        return typer.moves.typeSlice(node, base);
      return typer.einsums.typeRead(node, base);
    }
    if (base.is(ValueKind::Indices))
      return typer.positions.typeIndexRead(node, base);
    if (!base.is(ValueKind::List) || node.operands.size() != 2)
      return error(node.text, "only tensors and lists have elements, found " + describe(base));
    return elementOf(node, base);
  }
  case NodeKind::Slice:
  case NodeKind::Ellipsis:
    return error(node.text, "a slice is only possible in the brackets after a tensor");
  }
  return {};
}

Value Expressions::evaluateName(const Node &node) {
  std::string name = node.name.str();
  const Symbol *symbol = resolver.symbols.of(node);
  SymbolKind kind = symbol ? symbol->kind : SymbolKind::Unknown;
  if (kind == SymbolKind::Contested)
    return {}; // the resolver has reported it
  const Axis *axis = findAxis(name);
  const Value *value = kind == SymbolKind::Axis && axis ? nullptr : typer.names.lookup(name);
  if (value && kind == SymbolKind::Either && axis) {
    if (RealFunctions::isFunctionOfPositions(*value))
      return typer.names.ambiguous(node.text, name, *value);
    value = nullptr; // where a position is meant, a tensor of that name does not compete
  }
  if (value && axis && !(symbol && symbol->isSettled) && scope->among.count(name))
    return typer.names.ambiguous(node.text, name, *value);
  if (value)
    return *value;
  if (scope)
    if (auto clash = scope->clashes.find(name); clash != scope->clashes.end())
      return typer.names.clashing(node.text, name, clash->second);
  if (axis)
    return typer.names.positionAlong(node, name, *axis);
  if (name == "inf")
    return Value::real(INFINITY);
  if (scope && scope != &state.globals && typer.sizes.learnLater(name)) // a statement further down names it
    return evaluateName(node);
  return typer.names.unknownName(node);
}

Value Expressions::evaluateUnary(const Node &node) {
  Value operand = evaluate(*node.operands[0]);
  if (!operand.good())
    return {};
  if (node.name == "not") {
    if (operand.isWhole()) {
      RealPtr how = typer.reals.madeBy(node, RealKind::Not, operand);
      return typer.reals.made(node, RealKind::Not, operand,
                              Value::whole(typer.decisions.decided(node, operand.integer == 0, how)));
    }
    if (operand.is(ValueKind::Real) && operand.function->whole)
      return typer.reals.realValue(node, RealKind::Not, operand);
    if (Predicates::isConditionOnValues(operand))
      return typer.functions.applied(node, *attn::findElementFunction(state.context, "=="), {operand, Value::whole(0)});
    if (!operand.is(ValueKind::Index))
      return error(node.operands[0]->text, "'not' takes a condition, found " + describe(operand));
    operand.index = logicalNot(operand.index);
    return operand;
  }
  if (operand.is(ValueKind::Number)) {
    if (!operand.isInteger)
      return typer.reals.made(node, RealKind::Negate, operand, Value::real(-operand.number));
    if (auto negated = subscript::checkedSubtract(0, operand.integer))
      return typer.reals.made(node, RealKind::Negate, operand, Value::whole(*negated));
    return error(node.text, "this integer does not fit 64 bits");
  }
  if (operand.is(ValueKind::Index)) {
    operand.index = -operand.index;
    return operand;
  }
  if (operand.is(ValueKind::Real))
    return typer.reals.realValue(node, RealKind::Negate, operand);
  if (operand.is(ValueKind::Tensor))
    return typer.arithmetic.arithmetic(node, "neg", operand, operand);
  return error(node.text, "'-' takes a number or a tensor, found " + describe(operand));
}

Value Expressions::evaluateBinary(const Node &node) {
  Value left = evaluate(*node.operands[0]), right = evaluate(*node.operands[1]);
  if (!left.good() || !right.good())
    return {};
  StringRef op = node.name;
  for (auto [value, operand] : {std::pair(&left, &node.operands[0]), std::pair(&right, &node.operands[1])})
    if (!RealFunctions::isFunctionOfPositions(*value) && !value->is(ValueKind::Tensor))
      return typer.names.notAnOperand((*operand)->text, op.str(), *value);
  if (left.is(ValueKind::Number) && right.is(ValueKind::Number))
    return evaluateNumbers(node, op, left, right);
  bool indices = (left.is(ValueKind::Index) || left.isPosition()) && (right.is(ValueKind::Index) || right.isPosition());
  if (op == "<<" || op == ">>" || op == "&")
    return evaluateBits(node, op, left, right);
  if (indices && op != "/" && op != "^")
    return evaluateIndices(node, op, left, right);
  if (RealFunctions::isFunctionOfPositions(left) && RealFunctions::isFunctionOfPositions(right)) {
    for (auto [value, operand] : {std::pair(&left, &node.operands[0]), std::pair(&right, &node.operands[1])})
      if ((op == "//" || op == "%" || op == "and" || op == "or") &&
          !(value->is(ValueKind::Real) ? value->function->whole : value->is(ValueKind::Index) || value->isInteger))
        return error((*operand)->text, "'" + op.str() + "' takes whole numbers and positions, found " +
                                           describe(*value) +
                                           (value->is(ValueKind::Real) ? "; floor(…) makes it whole" : ""));
    if ((op == "//" || op == "%") && !(right.isWhole() && right.integer > 0))
      return error(node.operands[1]->text,
                   "positions are divided by a whole number of at least 1, found " + describe(right));
    bool swap = op == ">" || op == ">=";
    StringRef name = op == ">" ? "<" : op == ">=" ? "<=" : op;
    return typer.reals.realValue(node, *realOperator(name),
                                 swap ? ArrayRef<Value>{right, left} : ArrayRef<Value>{left, right});
  }
  if (op == "*")
    if (auto kept = typer.choices.timesCondition(node, left, right))
      return *kept;
  if (op == "+" || op == "-" || op == "*" || op == "/" || op == "^")
    return typer.arithmetic.arithmetic(node, op, std::move(left), std::move(right));
  if (op == "<" || op == "<=" || op == ">" || op == ">=" || op == "==" || op == "!=")
    return typer.predicates.compare(node, op, std::move(left), std::move(right));
  if (op == "and" || op == "or")
    return typer.predicates.joinTruths(node, op, std::move(left), std::move(right));
  const Value &wrong = left.is(ValueKind::Tensor) ? left : right;
  error(node.text, "'" + op.str() + "' takes whole numbers and positions, found " + describe(wrong));
  diagnostics.note(op == "//" ? "of a tensor that is floor(x / y)" : "of a tensor that is x - floor(x / y) * y");
  return {};
}

/// Evaluates bit operations on whole numbers: numbers, positions and elements of index operands.
Value Expressions::evaluateBits(const Node &node, StringRef op, const Value &a, const Value &b) {
  bool isMask = op == "&";
  auto isIndex = [](const Value &value) { return value.is(ValueKind::Index) || value.isPosition(); };
  for (auto [value, operand] : {std::pair(&a, &node.operands[0]), std::pair(&b, &node.operands[1])})
    if (!isIndex(*value)) {
      error((*operand)->text, "'" + op.str() + "' takes whole numbers and positions, found " + describe(*value));
      if (isMask && (value->is(ValueKind::Tensor) || value->is(ValueKind::Real)))
        diagnostics.note("conditions are joined by 'and'");
      return {};
    }
  constexpr int64_t kMostBits = 62;
  if (isMask) {
    auto masked = b.isWhole() ? subscript::bitAnd(a.is(ValueKind::Index) ? a.index : Expr(a.integer), b.integer)
                              : std::nullopt;
    if (!masked) {
      error(node.operands[1]->text,
            "'&' takes a mask that is a whole number from 0 to 2^62 - 1, found " + describe(b));
      diagnostics.note("conditions are joined by 'and'");
      return {};
    }
    return bitsOf(node, a, b, *masked);
  }
  Expr shift = b.is(ValueKind::Index) ? b.index : Expr(b.integer),
       shifted = a.is(ValueKind::Index) ? a.index : Expr(a.integer);
  if (subscript::proveWithin(shift, {0, kMostBits}, typer.positions.domainOf(b)).outcome != subscript::Proof::Proven)
    return error(node.operands[1]->text, "bits are shifted by 0 to 62 places, found " +
                                             (b.isWhole() ? std::to_string(b.integer) : subscript::print(shift)));
  return bitsOf(node, a, b, op == "<<" ? subscript::shiftLeft(shifted, shift) : subscript::shiftRight(shifted, shift));
}

/// Returns the whole number or the index expression that `bits` computes from both.
Value Expressions::bitsOf(const Node &node, const Value &a, const Value &b, const Expr &bits) {
  if (a.is(ValueKind::Number) && b.is(ValueKind::Number)) {
    auto number = subscript::evaluate(bits, {});
    if (!number)
      return error(node.text, "the result does not fit 64 bits");
    Value value = Value::whole(*number);
    // x & mask consists of divisions, and each of them is a decision.
    if (a.function || b.function)
      value.function = makeReal(NAN, false, &node);
    return value.function ? typer.decisions.decided(node, value) : value;
  }
  Value value;
  value.kind = ValueKind::Index;
  value.axes = a.axes;
  value.axes.insert(b.axes.begin(), b.axes.end());
  value.index = bits;
  return typer.positions.whereItFits(node, std::move(value));
}

/// Compares whole numbers as such, because those of more than 53 bits are not exact as doubles.
static bool lessThan(const Value &a, const Value &b) {
  return a.isInteger && b.isInteger ? a.integer < b.integer : a.number < b.number;
}

Value Expressions::evaluateNumbers(const Node &node, StringRef op, const Value &a, const Value &b) {
  auto decide = [&](bool truth, StringRef written, ArrayRef<Value> operands) {
    RealKind kind = *realOperator(written.str());
    return typer.reals.made(
        node, kind, operands,
        Value::whole(typer.decisions.decided(node, truth, typer.reals.madeBy(node, kind, operands))));
  };
  if (op == "and" || op == "or")
    return decide(op == "and" ? a.number != 0 && b.number != 0 : a.number != 0 || b.number != 0, op, {a, b});
  bool less = lessThan(a, b), greater = lessThan(b, a);
  if (op == "<" || op == "<=" || op == ">" || op == ">=" || op == "==" || op == "!=")
    return op == "<"    ? decide(less, "<", {a, b})
           : op == "<=" ? decide(!greater, "<=", {a, b})
           : op == ">"  ? decide(greater, "<", {b, a})
           : op == ">=" ? decide(!less, "<=", {b, a})
           : op == "==" ? decide(!less && !greater, "==", {a, b})
                        : decide(less || greater, "!=", {a, b});
  bool whole = a.isInteger && b.isInteger;
  if (op == "<<" || op == ">>" || op == "&")
    return evaluateBits(node, op, a, b);
  if (op == "//" || op == "%") {
    if (!whole || b.integer <= 0)
      return state.untaken && (whole || std::isnan(a.number) || std::isnan(b.number))
                 ? Value::real(NAN)
                 : error(node.text, "'" + op.str() + "' takes whole numbers and a divisor of at least 1, found " +
                                        describe(a) + " and " + describe(b));
    return typer.decisions.decided(
        node, typer.reals.made(node, *realOperator(op.str()), {a, b},
                               Value::whole(op == "//" ? subscript::floorDivide(a.integer, b.integer)
                                                       : subscript::floorModulo(a.integer, b.integer))));
  }
  std::optional<int64_t> exact;
  if (whole && op == "+")
    exact = subscript::checkedAdd(a.integer, b.integer);
  else if (whole && op == "-")
    exact = subscript::checkedSubtract(a.integer, b.integer);
  else if (whole && op == "*")
    exact = subscript::checkedMultiply(a.integer, b.integer);
  else if (whole && op == "/" && b.integer != 0 && b.integer != -1 &&
           typer.decisions.decidedWhole(node, a.integer % b.integer == 0,
                                        typer.reals.madeBy(node, RealKind::Modulo, {a, b})))
    exact = a.integer / b.integer;
  else if (whole && op == "^" && b.integer >= 0 && b.integer < 64) {
    exact = 1;
    for (int64_t k = 0; exact && k < b.integer; ++k)
      exact = subscript::checkedMultiply(*exact, a.integer);
  }
  if (exact) {
    Value result = typer.reals.made(node, *realOperator(op.str()), {a, b}, Value::whole(*exact));
    bool isSum = op == "+" || op == "-" || (op == "*" && !(a.function && b.function));
    return isSum || !result.function ? result : typer.decisions.decided(node, result);
  }
  if (whole && (op == "+" || op == "-" || op == "*"))
    return state.untaken ? Value::real(NAN) : error(node.text, "the result does not fit 64 bits");
  double result = op == "+"   ? a.number + b.number
                  : op == "-" ? a.number - b.number
                  : op == "*" ? a.number * b.number
                  : op == "/" ? a.number / b.number
                              : std::pow(a.number, b.number);
  bool infinite = (std::isinf(a.number) || std::isinf(b.number)) && !std::isnan(result);
  if (!std::isfinite(result) && !infinite && !state.untaken)
    return error(node.text, "the result is not a finite number");
  return typer.reals.made(node, *realOperator(op.str()), {a, b}, Value::real(result));
}

Value Expressions::evaluateIndices(const Node &node, StringRef op, const Value &a, const Value &b) {
  auto expression = [](const Value &v) { return v.is(ValueKind::Index) ? v.index : Expr(v.integer); };
  Expr x = expression(a), y = expression(b);
  if ((op == "//" || op == "%") && !(b.isWhole() && b.integer > 0))
    return error(node.operands[1]->text, "positions are divided by a whole number of at least 1, found " + describe(b));
  Value value;
  value.kind = ValueKind::Index;
  value.axes = a.axes;
  value.axes.insert(b.axes.begin(), b.axes.end());
  value.index = op == "+"     ? x + y
                : op == "-"   ? x - y
                : op == "*"   ? x * y
                : op == "//"  ? floorDiv(x, y)
                : op == "%"   ? mod(x, y)
                : op == "<"   ? less(x, y)
                : op == "<="  ? lessEqual(x, y)
                : op == ">"   ? less(y, x)
                : op == ">="  ? lessEqual(y, x)
                : op == "=="  ? subscript::equal(x, y)
                : op == "!="  ? subscript::notEqual(x, y)
                : op == "and" ? logicalAnd(x, y)
                              : logicalOr(x, y);
  return typer.positions.whereItFits(node, std::move(value));
}

std::optional<int64_t> Expressions::evaluateWhole(const Node &node, StringRef what) {
  Value value = evaluate(node);
  if (!value.good())
    return std::nullopt;
  if (!value.isWhole()) {
    error(node.text, what.str() + " is a whole number known at compile time, found " + describe(value));
    return std::nullopt;
  }
  return value.integer;
}

std::optional<std::vector<int64_t>> Expressions::evaluateWholes(const Node &node, StringRef what) {
  Value list = evaluate(node);
  if (!list.good())
    return std::nullopt;
  if (!list.is(ValueKind::List)) {
    error(node.text, what.str() + " is a list of whole numbers, [0, 1] for instance, found " + describe(list));
    return std::nullopt;
  }
  std::vector<int64_t> wholes;
  for (auto [place, item] : enumerate(list.items)) {
    if (!item.isWhole()) {
      bool isWritten = node.kind == NodeKind::Tuple; // otherwise it belongs to a name
      error(isWritten ? node.operands[place]->text : node.text,
            what.str() + " is a list of whole numbers known at compile time, found " + describe(item));
      return std::nullopt;
    }
    wholes.push_back(item.integer);
  }
  return wholes;
}

const Node *Expressions::keyword(const Node &call, StringRef name) const {
  for (const Keyword &k : call.keywords)
    if (k.name == name)
      return k.value.get();
  return nullptr;
}

bool Expressions::checkArguments(const Node &call, size_t minimum, size_t maximum, ArrayRef<StringRef> keywords,
                                 StringRef usage) {
  if (call.operands.size() < minimum || call.operands.size() > maximum) {
    error(call.text, "'" + call.name.str() + "' takes " + std::to_string(minimum) +
                         (maximum == minimum ? "" : " or more") + (maximum == 1 ? " argument" : " arguments") +
                         ", found " + std::to_string(call.operands.size()));
    diagnostics.note("usage: " + usage.str());
    return false;
  }
  for (const Keyword &k : call.keywords)
    if (!is_contained(keywords, k.name)) {
      std::vector<std::string> names;
      for (StringRef name : keywords)
        names.push_back(name.str());
      StringRef instead = insteadOfArgument(call.name, k.name);
      error(k.name, "'" + call.name.str() + "' has no argument '" + k.name.str() + "'" + suggestion(k.name, names));
      diagnostics.note(instead.empty() ? "usage: " + usage.str() : instead.str());
      return false;
    }
  return true;
}

std::optional<Value> Expressions::tensorArgument(const Node &call, size_t position, bool movesElements,
                                                 bool readsPlaces) {
  Value value = evaluate(*call.operands[position]);
  if (value.is(ValueKind::Index) || value.is(ValueKind::Real))
    value = typer.arithmetic.toTensor(*call.operands[position], value);
  if (!value.good())
    return std::nullopt;
  if (!value.is(ValueKind::Tensor)) {
    error(call.operands[position]->text, "argument " + std::to_string(position + 1) + " of '" + call.name.str() +
                                             "' is a tensor, found " + describe(value));
    if (value.is(ValueKind::List) && !value.items.empty())
      diagnostics.note(value.items[0].is(ValueKind::Tensor)
                           ? "each tensor is an argument of its own: " + call.name.str() + "(…, …)"
                           : "the elements of a list are read at a position: [0.5, 0.25][h]");
    return std::nullopt;
  }
  if (readsPlaces && !typer.moves.requireOrder(call.operands[position]->text, value, "'" + call.name.str() + "'"))
    return std::nullopt;
  if (movesElements)
    return value;
  const Node &place = *call.operands[position];
  if (!typer.absent.refuseAbsent(place.text, value, "'" + call.name.str() + "' reads"))
    return std::nullopt;
  value = typer.absent.written(place, std::move(value));
  return value.good() ? std::optional(value) : std::nullopt;
}

/// Calls a function of one of the parts.
template <auto Part, auto Function> static Value typedBy(TyperParts &typer, const Node &node) {
  return ((typer.*Part).*Function)(node);
}

Value Expressions::evaluateCall(const Node &node) {
  static const std::map<StringRef, Value (*)(TyperParts &, const Node &)> forms = {
      {"einsum", typedBy<&TyperParts::einsums, &Einsums::typeEinsum>},
      {"softmax", typedBy<&TyperParts::reductions, &Reductions::typeSoftmax>},
      {"sum", typedBy<&TyperParts::reductions, &Reductions::typeSum>},
      {"mean", typedBy<&TyperParts::reductions, &Reductions::typeMean>},
      {"cumsum", typedBy<&TyperParts::reductions, &Reductions::typeCumulativeSum>},
      {"logsumexp", typedBy<&TyperParts::reductions, &Reductions::typeLogSumExp>},
      {"skew", typedBy<&TyperParts::moves, &Moves::typeSkew>},
      {"pad", typedBy<&TyperParts::moves, &Moves::typePad>},
      {"tabulate", typedBy<&TyperParts::reals, &RealFunctions::typeTabulate>},
      {"concat", typedBy<&TyperParts::moves, &Moves::typeConcat>},
      {"reshape", typedBy<&TyperParts::moves, &Moves::typeReshape>},
      {"gather", typedBy<&TyperParts::moves, &Moves::typeGather>},
      {"rearrange", typedBy<&TyperParts::moves, &Moves::typeRearrange>},
      {"broadcast", typedBy<&TyperParts::moves, &Moves::typeRearrange>},
      {"position", typedBy<&TyperParts::names, &NameMeanings::typePosition>},
      {"highest", typedBy<&TyperParts::positions, &Positions::typeEndOfRange>},
      {"lowest", typedBy<&TyperParts::positions, &Positions::typeEndOfRange>},
  };
  // Schemes of the file hide built-in schemes and functions; a built-in scheme does not see schemes of the file.
  const KnownSchemes::ByName &schemes = resolver.schemes.seenBy(scope && scope->isBuiltin);
  auto scheme = schemes.find(node.name.str());
  if (scheme != schemes.end())
    return typer.schemes.inlineScheme(node, *scheme->second);
  if (auto form = forms.find(node.name); form != forms.end())
    return form->second(typer, node);
  if (typer.functions.isFunction(node.name))
    return typer.functions.typeFunction(node);
  if (const attn::ElementFunction *function = attn::findElementFunction(state.context, node.name))
    return typer.functions.typeApplied(node, *function);
  std::vector<std::string> names = {"exp",   "log",   "sqrt",  "sigmoid", "tanh", "relu", "abs",
                                    "min",   "max",   "clamp", "select",  "len",  "sin",  "cos",
                                    "rsqrt", "floor", "ceil",  "round",   "erf",  "f32",  "f64"};
  for (const auto &[name, form] : forms)
    names.push_back(name.str());
  for (const auto &[name, definition] : schemes)
    names.push_back(name);
  for (const std::string &name :
       attn::ElementFunctions::of(state.context->getLoadedDialect<attn::AttnDialect>()).names())
    names.push_back(name);
  return typer.names.unknownCall(node, names);
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
Value Expressions::elementOf(const Node &node, const Value &list) {
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
    return item.isWhole() ? typer.decisions.decided(node, item) : (typer.decisions.decided(node, index), item);
  }
  auto all = [&](auto &&which) { return all_of(list.items, which); };
  if (list.items.empty() || !all([](const Value &item) { return item.is(ValueKind::Number); }))
    return error(place.text, "the place in a list is a whole number known at compile time, found " + describe(index));
  if (state.tabulating && index.is(ValueKind::Index) && !all([](const Value &item) { return item.isPosition(); })) {
    subscript::Proof proof = subscript::proveWithin(index.index, {0, size - 1}, typer.positions.domainOf(index));
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
    return typer.einsums.typeRead(node, tensorValue(constant, {Dimension{size}}));
  }
  auto row = typer.reals.asIndex(place, index, "the place in a list is a whole number or an expression of positions");
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
  if (subscript::findTableOutside(value.index, typer.positions.domainOf(value)))
    kernel.lookups.tables.insert({*values, place.text});
  return value;
}

} // namespace skewer::language
