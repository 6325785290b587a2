// Trees of real-valued functions: construction, evaluation, and the linear forms that they depend on.
#include "dialect/Language/RealFunction.h"
#include "llvm/Support/ErrorHandling.h"
#include <array>
#include <cmath>
#include <functional>
#include <numeric>

namespace skewer::language {
using subscript::Expr;

static RealPtr finish(RealFunction f) {
  for (const RealPtr &operand : f.operands) {
    f.depth = std::max(f.depth, operand->depth + 1);
    f.size = __builtin_add_overflow(f.size, operand->size, &f.size) ? SIZE_MAX : f.size;
  }
  return std::make_shared<const RealFunction>(std::move(f));
}

RealPtr makeReal(double number, bool whole, const Node *node) {
  RealFunction f;
  f.number = number, f.whole = whole, f.node = node;
  return finish(std::move(f));
}

RealPtr makeReal(Expr index, const Node *node) {
  RealFunction f;
  f.kind = RealKind::Index, f.index = std::move(index), f.whole = true, f.node = node;
  return finish(std::move(f));
}

static bool isCondition(RealKind kind) { return kind >= RealKind::Less && kind <= RealKind::Not; }

/// Returns whether the kind makes a whole number of whole numbers. A condition and a rounding make one of any numbers.
static bool keepsWhole(RealKind kind) {
  switch (kind) {
  case RealKind::Single:
  case RealKind::Double:
  case RealKind::Negate:
  case RealKind::Add:
  case RealKind::Subtract:
  case RealKind::Multiply:
  case RealKind::FloorDivide:
  case RealKind::Modulo:
  case RealKind::Minimum:
  case RealKind::Maximum:
  case RealKind::Abs:
  case RealKind::Relu:
    return true;
  default:
    return false;
  }
}

RealPtr makeReal(RealKind kind, std::vector<RealPtr> operands, const Node *node) {
  RealFunction f;
  f.kind = kind, f.node = node;
  bool all = true;
  for (const RealPtr &operand : operands)
    all &= operand->whole;
  if (isCondition(kind) || kind == RealKind::Floor || kind == RealKind::Ceil || kind == RealKind::Round)
    f.whole = true;
  else if (kind == RealKind::Select)
    f.whole = operands[1]->whole && operands[2]->whole;
  else
    f.whole = all && keepsWhole(kind);
  f.operands = std::move(operands);
  return finish(std::move(f));
}

std::optional<RealKind> realOperator(std::string_view name) {
  static const std::map<std::string_view, RealKind> operators = {
      {"+", RealKind::Add},          {"-", RealKind::Subtract}, {"*", RealKind::Multiply},  {"/", RealKind::Divide},
      {"//", RealKind::FloorDivide}, {"%", RealKind::Modulo},   {"^", RealKind::Power},     {"<", RealKind::Less},
      {"<=", RealKind::LessEqual},   {"==", RealKind::Equal},   {"!=", RealKind::NotEqual}, {"and", RealKind::And},
      {"or", RealKind::Or},
  };
  auto found = operators.find(name);
  return found == operators.end() ? std::nullopt : std::optional<RealKind>(found->second);
}

std::optional<RealKind> realFunction(std::string_view name) {
  static const std::map<std::string_view, RealKind> functions = {
      {"f32", RealKind::Single},      {"f64", RealKind::Double},    {"min", RealKind::Minimum},
      {"max", RealKind::Maximum},     {"select", RealKind::Select}, {"abs", RealKind::Abs},
      {"floor", RealKind::Floor},     {"ceil", RealKind::Ceil},     {"exp", RealKind::Exp},
      {"log", RealKind::Log},         {"sqrt", RealKind::Sqrt},     {"rsqrt", RealKind::Rsqrt},
      {"sin", RealKind::Sin},         {"cos", RealKind::Cos},       {"tanh", RealKind::Tanh},
      {"round", RealKind::Round},     {"erf", RealKind::Erf},       {"relu", RealKind::Relu},
      {"sigmoid", RealKind::Sigmoid},
  };
  auto found = functions.find(name);
  return found == functions.end() ? std::nullopt : std::optional<RealKind>(found->second);
}

const Expr *findIndex(const RealFunction &f, llvm::function_ref<bool(const Expr &)> isWanted) {
  if (f.kind == RealKind::Index && isWanted(f.index))
    return &f.index;
  for (const RealPtr &operand : f.operands)
    if (const Expr *found = findIndex(*operand, isWanted))
      return found;
  return nullptr;
}

using Replace = llvm::function_ref<std::optional<Expr>(const Expr &)>;

static Expr replacing(const Expr &e, Replace replace) {
  if (auto other = replace(e))
    return *other;
  std::vector<Expr> operands;
  for (const Expr &operand : e.operands())
    operands.push_back(replacing(operand, replace));
  return operands.empty() ? e : e.withOperands(std::move(operands));
}

static RealPtr withIndices(const RealPtr &f, Replace replace, std::map<const RealFunction *, RealPtr> &made) {
  RealPtr &other = made[f.get()]; // an argument that a scheme uses twice is shared
  if (other)
    return other;
  RealFunction copy = *f;
  if (copy.kind == RealKind::Index)
    copy.index = replacing(copy.index, replace);
  for (RealPtr &operand : copy.operands)
    operand = withIndices(operand, replace, made);
  return other = std::make_shared<const RealFunction>(std::move(copy));
}

RealPtr withIndices(const RealPtr &f, Replace replace) {
  std::map<const RealFunction *, RealPtr> made;
  return withIndices(f, replace, made);
}

void collectWholes(const RealFunction &f, std::vector<int64_t> &wholes) {
  if (f.kind == RealKind::Number && f.whole && f.made)
    wholes.push_back(static_cast<int64_t>(f.number));
  for (const RealPtr &operand : f.operands)
    collectWholes(*operand, wholes);
}

bool isOfTensors(const RealFunction &f) {
  if (f.kind == RealKind::Select)
    return isOfTensors(*f.operands[1]) && isOfTensors(*f.operands[2]);
  // f64(…) is computed at compile time.
  if (isCondition(f.kind) || f.kind == RealKind::Double || f.kind == RealKind::FloorDivide ||
      f.kind == RealKind::Modulo)
    return false;
  return llvm::all_of(f.operands, [](const RealPtr &operand) { return isOfTensors(*operand); });
}

bool isArithmetic(const RealFunction &f) {
  switch (f.kind) {
  case RealKind::Number:
  case RealKind::Index:
    return true;
  case RealKind::Negate:
  case RealKind::Add:
  case RealKind::Subtract:
  case RealKind::Multiply:
  case RealKind::Divide:
    for (const RealPtr &operand : f.operands)
      if (!isArithmetic(*operand))
        return false;
    return true;
  default:
    return false;
  }
}

RealProgram::RealProgram(const RealFunction &f, const std::vector<std::string> &axes, bool single) : indices(axes) {
  add(f, single);
}

size_t RealProgram::add(const RealFunction &f, bool single) {
  auto found = known.find({&f, single});
  if (found != known.end())
    return found->second;
  Instruction instruction{f.kind, {0, 0, 0}, f.number, single};
  if (f.kind == RealKind::Index)
    instruction.operands[0] = indices.add(f.index);
  for (size_t k = 0; k < f.operands.size(); ++k)
    instruction.operands[k] = add(*f.operands[k], single && f.kind != RealKind::Double);
  code.push_back(instruction);
  registers.push_back(0);
  return known[{&f, single}] = code.size() - 1;
}

using FunctionOfOne = double (*)(double);
constexpr std::pair<RealKind, FunctionOfOne> kFunctionsOfOne[] = {
    {RealKind::Single, [](double a) { return static_cast<double>(static_cast<float>(a)); }},
    {RealKind::Negate, [](double a) { return -a; }},
    {RealKind::Not, [](double a) { return static_cast<double>(a == 0); }},
    {RealKind::Rsqrt, [](double a) { return 1 / std::sqrt(a); }},
    {RealKind::Relu, [](double a) { return a < 0 ? 0 : a; }},
    {RealKind::Sigmoid, [](double a) { return 1 / (1 + std::exp(-a)); }},
    {RealKind::Abs, std::fabs},
    {RealKind::Floor, std::floor},
    {RealKind::Ceil, std::ceil},
    {RealKind::Round, std::nearbyint},
    {RealKind::Exp, std::exp},
    {RealKind::Log, std::log},
    {RealKind::Sqrt, std::sqrt},
    {RealKind::Sin, std::sin},
    {RealKind::Cos, std::cos},
    {RealKind::Tanh, std::tanh},
    {RealKind::Erf, std::erf}};

/// Returns the function of one number that the kind stands for; null if it stands for none.
static FunctionOfOne functionOfOne(RealKind kind) {
  static const auto functions = [] {
    std::array<FunctionOfOne, static_cast<size_t>(RealKind::Sigmoid) + 1> byKind = {};
    for (auto [kind, function] : kFunctionsOfOne)
      byKind[static_cast<size_t>(kind)] = function;
    return byKind;
  }();
  return functions[static_cast<size_t>(kind)];
}

/// Computes a kind of two or three operands.
static double combine(RealKind kind, double a, double b, double c) {
  switch (kind) {
  case RealKind::Add:
    return a + b;
  case RealKind::Subtract:
    return a - b;
  case RealKind::Multiply:
    return a * b;
  case RealKind::Divide:
    return a / b;
  case RealKind::FloorDivide:
    return std::floor(a / b);
  case RealKind::Modulo:
    return a - std::floor(a / b) * b;
  case RealKind::Power:
    return std::pow(a, b);
  case RealKind::Less:
    return a < b;
  case RealKind::LessEqual:
    return a <= b;
  case RealKind::Equal:
    return a == b;
  case RealKind::NotEqual:
    return a != b;
  case RealKind::And:
    return a != 0 && b != 0;
  case RealKind::Or:
    return a != 0 || b != 0;
  case RealKind::Minimum:
    return std::isnan(a) || a < b ? a : b;
  case RealKind::Maximum:
    return std::isnan(a) || a > b ? a : b;
  case RealKind::Select:
    return a != 0 ? b : c;
  default:
    llvm_unreachable("the kind has fewer than two operands");
  }
}

double RealProgram::run(const std::vector<int64_t> &point) {
  indices.run(point);
  for (size_t k = 0; k < code.size(); ++k) {
    const Instruction &instruction = code[k];
    const size_t *operands = instruction.operands; // of an index: the register of `indices`
    double result = 0;
    if (instruction.kind == RealKind::Number) {
      result = instruction.number;
    } else if (instruction.kind == RealKind::Index) {
      auto value = indices.value(operands[0]);
      result = value ? static_cast<double>(*value) : NAN;
    } else if (instruction.kind == RealKind::Double) {
      registers[k] = registers[operands[0]]; // not rounded
      continue;
    } else if (FunctionOfOne function = functionOfOne(instruction.kind)) {
      result = function(registers[operands[0]]);
    } else {
      result = combine(instruction.kind, registers[operands[0]], registers[operands[1]], registers[operands[2]]);
    }
    registers[k] = instruction.single ? static_cast<double>(static_cast<float>(result)) : result;
  }
  return registers.back();
}

namespace {
/// Replaces the linear forms in a function's index expressions by symbols.
class FormFinder {
public:
  FormFinder(RealForms &found, const subscript::Domain &domain) : found(found), domain(domain) {}
  bool good = true;

  std::optional<Expr> operator()(const Expr &e) {
    auto affine = subscript::asAffine(e, domain);
    if (!affine) {
      good &= e.kind() != subscript::Kind::Read;
      return std::nullopt;
    }
    if (affine->coefficients.empty())
      return Expr(affine->constant);
    // j - i and i - j, and 2*j - 2*i, are one form. In an offset, the last name, which is the key's, has a positive
    // coefficient.
    int64_t scale = 0;
    for (const auto &[name, coefficient] : affine->coefficients)
      scale = std::gcd(scale, std::abs(coefficient));
    if (affine->coefficients.rbegin()->second < 0)
      scale = -scale;
    Expr form = 0;
    subscript::Range range{0, 0};
    for (const auto &[name, coefficient] : affine->coefficients) {
      auto axis = domain.find(name);
      if (axis == domain.end()) {
        good = false;
        return e;
      }
      int64_t c = coefficient / scale;
      Expr term = Expr(c) * Expr::symbol(name);
      form = form == Expr(0) ? term : c < 0 ? form + term : term + form;
      __int128 low = static_cast<__int128>(c) * (c > 0 ? axis->second.low : axis->second.high) + range.low;
      __int128 high = static_cast<__int128>(c) * (c > 0 ? axis->second.high : axis->second.low) + range.high;
      if (low < -(int64_t(1) << 60) || high > (int64_t(1) << 60)) {
        good = false;
        return e;
      }
      range = {static_cast<int64_t>(low), static_cast<int64_t>(high)};
    }
    size_t place = 0;
    while (place < found.forms.size() && found.forms[place] != form)
      ++place;
    if (place == found.forms.size()) {
      found.forms.push_back(form);
      found.ranges.push_back(range);
      found.symbols.push_back(formSymbol(place));
    }
    return Expr(scale) * Expr::symbol(found.symbols[place]) + Expr(affine->constant);
  }

private:
  RealForms &found;
  const subscript::Domain &domain;
};
} // namespace

std::string formSymbol(size_t k) { return "form" + std::to_string(k); }

int64_t RealForms::points() const {
  int64_t points = 1;
  for (const subscript::Range &range : ranges)
    if (__builtin_mul_overflow(points, range.high - range.low + 1, &points))
      return INT64_MAX;
  return points;
}

std::vector<Expr> RealForms::rows() const {
  std::vector<Expr> rows;
  for (size_t k = 0; k < forms.size(); ++k)
    rows.push_back(forms[k] - Expr(ranges[k].low));
  return rows;
}

/// Returns the function with a symbol in place of each quotient and remainder. The ranges of the symbols are added to
/// the domain; `back` maps them back.
static RealPtr withoutDivisions(const RealPtr &f, subscript::Domain &domain, subscript::Substitution &back) {
  return withIndices(f, [&](const Expr &e) -> std::optional<Expr> {
    bool divides = e.kind() == subscript::Kind::FloorDiv || e.kind() == subscript::Kind::Mod;
    auto bounds = divides ? subscript::bound(e, domain) : std::nullopt;
    if (!bounds)
      return std::nullopt;
    std::string symbol = subscript::print(e); // it has several words, so it is not an axis
    domain.insert({symbol, bounds->range});
    back.insert({symbol, e});
    return Expr::symbol(symbol);
  });
}

static std::optional<RealForms> findForms(const RealPtr &f, const subscript::Domain &domain) {
  RealForms forms;
  FormFinder finder(forms, domain);
  forms.function = withIndices(f, finder);
  return finder.good ? std::optional<RealForms>(std::move(forms)) : std::nullopt;
}

std::optional<RealForms> formsOf(const RealPtr &f, const subscript::Domain &domain) {
  auto plain = findForms(f, domain);
  if (!plain || plain->forms.size() < 2)
    return plain;
  // On a map whose positions have one number each, j // W - i // W and j % W - i % W take fewer values than i and j.
  subscript::Domain divided = domain;
  subscript::Substitution back;
  auto byParts = findForms(withoutDivisions(f, divided, back), divided);
  if (back.empty() || !byParts || byParts->points() >= plain->points())
    return plain;
  for (Expr &form : byParts->forms)
    form = subscript::substitute(form, back);
  return byParts;
}

RealPtr choiceOf(const RealPtr &f) {
  constexpr size_t kMaximumSize = 1 << 13; // each choice that moves outwards doubles the expression around it
  if (f->kind == RealKind::Select)
    return f;
  for (size_t k = 0; k < f->operands.size() && f->size < kMaximumSize; ++k)
    if (RealPtr choice = choiceOf(f->operands[k])) {
      std::vector<RealPtr> first = f->operands, second = f->operands;
      first[k] = choice->operands[1], second[k] = choice->operands[2];
      return makeReal(RealKind::Select,
                      {choice->operands[0], makeReal(f->kind, std::move(first), f->node),
                       makeReal(f->kind, std::move(second), f->node)},
                      f->node);
    }
  return nullptr;
}

} // namespace skewer::language
