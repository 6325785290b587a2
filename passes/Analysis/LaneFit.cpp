// Compares the bounds of index expressions with the range of a vector lane.
#include "passes/Analysis/LaneFit.h"
#include "dialect/Subscript/Bits.h"
#include "passes/Analysis/AttentionShape.h"
#include "passes/Analysis/AxisProducts.h"

using namespace mlir;
using namespace skewer;
using namespace skewer::subscript;

static constexpr int64_t kMostValue = 1 << 30;

bool skewer::fitsLanes(const Expr &expression, const Domain &domain) {
  // Elements of run-time operands are i32, and an index along an axis of run-time size is below 2^31.
  if (expression.kind() != Kind::Read && !(expression.isSymbol() && !domain.count(expression.name()))) {
    auto bounds = bound(expression, domain, std::nullopt, 0);
    if (!bounds || bounds->range.low < -kMostValue || bounds->range.high > kMostValue)
      return false;
  }
  bool divides = expression.kind() == Kind::FloorDiv || expression.kind() == Kind::Mod;
  if (divides && exponentOf(expression.operands()[1])) {
    auto exponent = bound(*exponentOf(expression.operands()[1]), domain, std::nullopt, 0);
    return exponent && exponent->range.low >= 0 && fitsLanes(expression.operands()[0], domain) &&
           fitsLanes(*exponentOf(expression.operands()[1]), domain);
  }
  if (divides && !expression.operands()[1].isConstant()) {
    auto divisor = bound(expression.operands()[1], domain, std::nullopt, 0);
    if (!divisor || divisor->range.high > kMostDivisor)
      return false;
  }
  return llvm::all_of(expression.operands(), [&](const Expr &operand) { return fitsLanes(operand, domain); });
}

void skewer::addends(const Expr &expression, std::vector<Expr> &parts) {
  if (expression.kind() != Kind::Add)
    return parts.push_back(expression);
  for (const Expr &operand : expression.operands())
    addends(operand, parts);
}

std::pair<Expr, Expr> skewer::splitPlace(const Expr &offset, const attn::ScoreSpace &space) {
  std::vector<Expr> parts;
  addends(offset, parts);
  Expr base = 0, place = 0;
  for (const Expr &part : parts) {
    Expr &side = usesAny(part, space.query) || usesAny(part, space.key) ? place : base;
    side = side.isConstant(0) ? part : side + part;
  }
  return {base, place};
}

/// Adds the 32-bit range for the elements of run-time operands that declare no range.
static void addWords(const Expr &expression, Domain &domain) {
  for (const std::string &operand : readsOf(expression))
    domain.insert({elementsOf(operand), {INT32_MIN, INT32_MAX}});
}

bool skewer::fitsLanes(const OtherTerm &term, const attn::ScoreSpace &space) {
  if (!term.contracted.empty() || term.application)
    return false;
  Domain domain = attn::domainOf(space);
  for (const Expr *e : {term.factor ? &*term.factor : nullptr, term.guard ? &*term.guard : nullptr})
    addWords(e ? *e : Expr(0), domain);
  for (const Expr &offset : term.offsets)
    addWords(offset, domain);
  for (const Expr &offset : term.offsets)
    if (!fitsLanes(splitPlace(offset, space).second, domain))
      return false;
  return (!term.factor || fitsLanes(*term.factor, domain)) && (!term.guard || fitsLanes(*term.guard, domain));
}

static int64_t readsByLane(const Expr &expression, const attn::ScoreSpace &space) {
  int64_t reads = 0;
  for (const Expr &operand : expression.operands())
    reads += readsByLane(operand, space);
  bool table = expression.kind() == Kind::Table;
  if ((table || expression.kind() == Kind::Read) && usesAny(expression, space.query) && usesAny(expression, space.key))
    reads += table || llvm::any_of(llvm::ArrayRef<Expr>(expression.operands()).drop_back(),
                                   [&](const Expr &subscript) { return usesAny(subscript, space.key); });
  return reads;
}

int64_t skewer::readsByLane(const OtherTerm &term, const attn::ScoreSpace &space) {
  int64_t reads = (term.factor ? ::readsByLane(*term.factor, space) : 0) +
                  (term.guard ? ::readsByLane(*term.guard, space) : 0);
  for (const Expr &offset : term.offsets)
    reads += ::readsByLane(offset, space);
  return reads;
}
