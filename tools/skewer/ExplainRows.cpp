// Finds rows of tables that are never read: unused memory and, in learned tables, unused parameters.
#include "dialect/IR/Term.h"
#include "dialect/Subscript/Program.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "tools/skewer/ExplainLayer.h"

using namespace mlir;
using namespace skewer::attn;
using namespace skewer::subscript;

namespace skewer::driver {
namespace {

constexpr int64_t kMostPoints = 1 << 21;

class RowReader {
public:
  explicit RowReader(const AttentionView &view) : space(view.space), mask(view.mask) {
    for (const std::vector<std::string> *side : {&space.query, &space.key})
      positions.insert(side->begin(), side->end());
  }

  /// Marks the rows that the subscript reads; all rows if they are not known.
  void mark(const Expr &row, const std::optional<Expr> &guard, const AxisSizes &sizes, std::vector<bool> &read) const {
    Expr condition = logicalAnd(mask ? *mask : Expr(1), guard ? *guard : Expr(1));
    Domain domain = domainOf(sizes);
    if (enumerate(row, condition, domain, read))
      return;
    auto bounds = bound(row, domain, condition.isConstant() ? std::nullopt : std::optional<Expr>(condition));
    if (bounds && bounds->exact && bounds->range.low >= 0 && bounds->range.high < static_cast<int64_t>(read.size()))
      std::fill(read.begin() + bounds->range.low, read.begin() + bounds->range.high + 1, true);
    else
      read.assign(read.size(), true);
  }
  bool isTableRow(const Expr &subscript) const {
    if (subscript.isSymbol() || subscript.isConstant())
      return false;
    std::set<std::string> symbols = symbolsOf(subscript);
    return std::any_of(symbols.begin(), symbols.end(), [&](const std::string &s) { return positions.count(s) > 0; });
  }

private:
  static bool enumerate(const Expr &row, const Expr &condition, const Domain &domain, std::vector<bool> &read) {
    std::set<std::string> names = symbolsOf(row);
    names.merge(symbolsOf(condition));
    std::vector<std::string> symbols(names.begin(), names.end());
    std::vector<subscript::Range> ranges;
    int64_t points = 1;
    for (const std::string &symbol : symbols) {
      auto range = domain.find(symbol);
      if (range == domain.end() || range->second.high < range->second.low)
        return false;
      ranges.push_back(range->second);
      if (__builtin_mul_overflow(points, range->second.high - range->second.low + 1, &points) || points > kMostPoints)
        return false;
    }
    Program program(symbols);
    size_t rowAt = program.add(row), conditionAt = program.add(condition);
    std::vector<int64_t> values(symbols.size());
    std::vector<bool> found = read;
    for (int64_t point = 0; point < points; ++point) {
      int64_t rest = point;
      for (size_t k = symbols.size(); k-- > 0;) {
        int64_t extent = ranges[k].high - ranges[k].low + 1;
        values[k] = ranges[k].low + rest % extent;
        rest /= extent;
      }
      program.run(values);
      auto holds = program.value(conditionAt);
      if (!holds)
        return false;
      if (!*holds)
        continue;
      auto value = program.value(rowAt);
      if (!value || *value < 0 || *value >= static_cast<int64_t>(found.size()))
        return false;
      found[*value] = true;
    }
    read = std::move(found);
    return true;
  }

  ScoreSpace space;
  std::optional<Expr> mask;
  std::set<std::string> positions;
};

} // namespace

std::vector<UnreadRows> unreadRowsOf(AttentionOp attention) {
  auto function = attention->getParentOfType<func::FuncOp>();
  auto view = viewOf(attention);
  RowReader reader(*view);
  // Tables in order of first appearance. The rows that a table's terms read are combined.
  std::vector<std::pair<Value, size_t>> tables;
  std::map<std::pair<const void *, size_t>, std::vector<bool>> read;
  for (TermOp term : termsOf(attention)) {
    auto said = termOf(term);
    const ResolvedEinsum &resolved = said->einsum;
    for (auto [operand, subscripts] : llvm::zip(term.getInputs(), resolved.subscripts)) {
      std::vector<int64_t> shape = shapeOf(operand);
      for (size_t d = 0; d < subscripts.size(); ++d) {
        if (shape[d] == kRuntime || shape[d] > kMostPoints)
          continue;
        auto key = std::make_pair(operand.getAsOpaquePointer(), d);
        bool isRow = reader.isTableRow(subscripts[d]);
        auto [entry, isNew] = read.emplace(key, std::vector<bool>(shape[d], false));
        if (isNew)
          tables.push_back({operand, d});
        if (isRow)
          reader.mark(subscripts[d], resolved.guard, resolved.sizes, entry->second);
        else
          entry->second.assign(shape[d], true); // an axis, or a product of axes
      }
    }
  }
  std::vector<UnreadRows> result;
  for (auto [operand, dimension] : tables) {
    const std::vector<bool> &rows = read[{operand.getAsOpaquePointer(), dimension}];
    UnreadRows unread{nameOfOperand(operand, function), static_cast<int64_t>(rows.size()), {}};
    for (int64_t row = 0; row < unread.rows; ++row) {
      if (rows[row])
        continue;
      if (!unread.runs.empty() && unread.runs.back().high == row - 1)
        unread.runs.back().high = row;
      else
        unread.runs.push_back({row, row});
    }
    if (!unread.runs.empty())
      result.push_back(std::move(unread));
  }
  return result;
}

} // namespace skewer::driver
