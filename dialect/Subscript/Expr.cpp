// Nodes of index expressions and the functions that build them.
#include "dialect/Subscript/Arithmetic.h"

namespace skewer::subscript {

struct Expr::Node {
  Kind kind = Kind::Constant;
  int64_t value = 0;
  std::string name;
  std::vector<Expr> operands;
  std::shared_ptr<const std::vector<int64_t>> table;
  size_t hash = 0, tableHash = 0, size = 1, depth = 1;

  // Sizes saturate: substituting x + x for x sixty times makes a small graph whose tree has 2^60 nodes.
  void finish() {
    auto mix = [this](size_t h) { hash = (hash ^ h) * 0x9E3779B97F4A7C15ull + (hash >> 29); };
    mix(static_cast<size_t>(kind) + 1);
    mix(static_cast<size_t>(value));
    mix(std::hash<std::string>()(name));
    for (const Expr &operand : operands) {
      const Node &o = *operand.node;
      mix(o.hash);
      size = __builtin_add_overflow(size, o.size, &size) ? SIZE_MAX : size;
      depth = std::max(depth, o.depth + 1);
    }
    mix(tableHash);
  }
};

Expr::Expr() {
  static const std::shared_ptr<const Node> zero = [] {
    auto n = std::make_shared<Node>();
    n->finish();
    return n;
  }();
  node = zero;
}

Expr::Expr(int64_t value) {
  auto n = std::make_shared<Node>();
  n->value = value;
  n->finish();
  node = std::move(n);
}

Expr Expr::symbol(std::string name) {
  auto n = std::make_shared<Node>();
  n->kind = Kind::Symbol;
  n->name = std::move(name);
  n->finish();
  return Expr(std::shared_ptr<const Node>(std::move(n)));
}

/// Simplifies an operation away: constant operands, x + 0, x * 1, x * 0, select on a constant. Nothing if none applies.
static std::optional<Expr> fold(Kind kind, const std::vector<Expr> &o) {
  if (o.size() == 3 && kind == Kind::Select && o[0].isConstant())
    return o[0].value() ? o[1] : o[2];
  if (o.size() == 1 && o[0].isConstant() && (kind == Kind::Abs || kind == Kind::Not)) {
    if (auto v = apply(kind, o[0].value()))
      return Expr(*v);
    return std::nullopt;
  }
  if (o.size() != 2)
    return std::nullopt;
  if (o[0].isConstant() && o[1].isConstant()) {
    if (auto v = apply(kind, o[0].value(), o[1].value()))
      return Expr(*v);
    return std::nullopt;
  }
  for (int side : {0, 1}) {
    const Expr &constant = o[side], &other = o[1 - side];
    if ((kind == Kind::Add && constant.isConstant(0)) || (kind == Kind::Mul && constant.isConstant(1)))
      return other;
    if (kind == Kind::Mul && constant.isConstant(0))
      return Expr(0);
  }
  return std::nullopt;
}

Expr Expr::make(Kind kind, std::vector<Expr> operands) {
  if (auto folded = fold(kind, operands))
    return *folded;
  auto n = std::make_shared<Node>();
  n->kind = kind;
  n->operands = std::move(operands);
  n->finish();
  return Expr(std::shared_ptr<const Node>(std::move(n)));
}

Expr Expr::table(std::shared_ptr<const std::vector<int64_t>> values, Expr row, std::string name) {
  auto n = std::make_shared<Node>();
  n->kind = Kind::Table;
  n->name = std::move(name);
  n->operands.push_back(std::move(row));
  n->table = values ? std::move(values) : std::make_shared<const std::vector<int64_t>>();
  for (int64_t v : *n->table) // once: a table may be long and is shared by many nodes
    n->tableHash = (n->tableHash ^ static_cast<size_t>(v)) * 0x9E3779B97F4A7C15ull + 1;
  n->finish();
  return Expr(std::shared_ptr<const Node>(std::move(n)));
}

Expr Expr::read(std::string operand, std::vector<Expr> subscripts) {
  auto n = std::make_shared<Node>();
  n->kind = Kind::Read;
  n->name = std::move(operand);
  n->operands = std::move(subscripts);
  n->finish();
  return Expr(std::shared_ptr<const Node>(std::move(n)));
}

Expr Expr::withOperands(std::vector<Expr> operands) const {
  if (kind() != Kind::Table && kind() != Kind::Read)
    return make(kind(), std::move(operands));
  auto n = std::make_shared<Node>(*node);
  n->operands = std::move(operands);
  n->hash = 0, n->size = n->depth = 1;
  n->finish();
  return Expr(std::shared_ptr<const Node>(std::move(n)));
}

Kind Expr::kind() const { return node->kind; }
int64_t Expr::value() const { return node->value; }
const std::string &Expr::name() const { return node->name; }
const std::vector<Expr> &Expr::operands() const { return node->operands; }
const std::vector<int64_t> &Expr::table() const { return *node->table; }
size_t Expr::hash() const { return node->hash; }
size_t Expr::depth() const { return node->depth; }
const void *Expr::identity() const { return node.get(); }
size_t sizeOf(const Expr &e) { return e.node->size; }

bool Expr::operator==(const Expr &other) const {
  const Node &a = *node, &b = *other.node;
  if (&a == &b)
    return true;
  if (a.hash != b.hash || a.size != b.size || a.kind != b.kind || a.value != b.value || a.name != b.name ||
      a.operands.size() != b.operands.size() || !a.table != !b.table)
    return false;
  if (a.table && a.table != b.table && *a.table != *b.table)
    return false;
  return a.operands == b.operands;
}

bool Expr::operator<(const Expr &other) const {
  const Node &a = *node, &b = *other.node;
  if (&a == &b)
    return false;
  auto rank = [](Kind k) { return k == Kind::Symbol ? -1 : static_cast<int>(k); }; // symbols first
  if (a.kind != b.kind)
    return rank(a.kind) < rank(b.kind);
  if (a.value != b.value)
    return a.value < b.value;
  if (a.name != b.name)
    return a.name < b.name;
  if (a.size != b.size)
    return a.size < b.size;
  if (a.operands.size() != b.operands.size())
    return a.operands.size() < b.operands.size();
  for (size_t k = 0; k < a.operands.size(); ++k)
    if (a.operands[k] != b.operands[k])
      return a.operands[k] < b.operands[k];
  return a.table && b.table && *a.table < *b.table;
}

Expr operator+(const Expr &a, const Expr &b) { return Expr::make(Kind::Add, {a, b}); }
Expr operator-(const Expr &a) {
  // -(3*x) is -3*x, so that parsed and built expressions have the same sign of a coefficient.
  if (a.kind() == Kind::Mul && a.operands()[0].isConstant())
    if (auto negated = checkedSubtract(0, a.operands()[0].value()))
      return Expr(*negated) * a.operands()[1];
  return Expr(-1) * a;
}
Expr operator-(const Expr &a, const Expr &b) { return a + -b; }
Expr operator*(const Expr &a, const Expr &b) { return Expr::make(Kind::Mul, {a, b}); }
Expr floorDiv(const Expr &a, const Expr &b) { return Expr::make(Kind::FloorDiv, {a, b}); }
Expr mod(const Expr &a, const Expr &b) { return Expr::make(Kind::Mod, {a, b}); }
Expr min(const Expr &a, const Expr &b) { return Expr::make(Kind::Min, {a, b}); }
Expr max(const Expr &a, const Expr &b) { return Expr::make(Kind::Max, {a, b}); }
Expr clamp(const Expr &value, const Expr &low, const Expr &high) { return min(max(value, low), high); }
Expr abs(const Expr &a) { return Expr::make(Kind::Abs, {a}); }
Expr less(const Expr &a, const Expr &b) { return Expr::make(Kind::Less, {a, b}); }
Expr lessEqual(const Expr &a, const Expr &b) { return Expr::make(Kind::LessEqual, {a, b}); }
Expr equal(const Expr &a, const Expr &b) { return Expr::make(Kind::Equal, {a, b}); }
Expr notEqual(const Expr &a, const Expr &b) { return Expr::make(Kind::NotEqual, {a, b}); }
Expr logicalAnd(const Expr &a, const Expr &b) { return Expr::make(Kind::And, {a, b}); }
Expr logicalOr(const Expr &a, const Expr &b) { return Expr::make(Kind::Or, {a, b}); }
Expr logicalNot(const Expr &a) { return Expr::make(Kind::Not, {a}); }
Expr select(const Expr &condition, const Expr &ifTrue, const Expr &ifFalse) {
  return Expr::make(Kind::Select, {condition, ifTrue, ifFalse});
}

} // namespace skewer::subscript
