// Sorts the axes of an einsum into batch, rows, columns and depth.
#include "passes/Stages/Matmul.h"
#include "dialect/Subscript/Analysis.h"
#include "passes/Analysis/Elementwise.h"
#include "passes/Analysis/Strides.h"

using namespace mlir;
using namespace skewer;
using subscript::Expr;
using subscript::kRuntime;

namespace {

/// Products smaller than this are not worth packing: a register tile has at least 4 rows of 4 to 48 columns. Two steps
/// are enough if arithmetic follows, because it is applied to the sums before they are stored. On an Emerald Rapids
/// core, products of 2 to 7 steps and 256 columns take 0.54 of the time with arithmetic behind them, and 1.3 without.
constexpr int64_t kFewRows = 8, kFewColumns = 16, kFewDepth = 8, kFewDepthThenArithmetic = 2;
/// The most columns, in elements, that each worker packs for itself: 16 MiB.
constexpr int64_t kMostOwnColumns = 1 << 22;

/// Returns the element offset as coefficients of the axes; nothing if it is not affine.
std::optional<subscript::Affine> offsetOf(ArrayRef<Expr> subscripts, Value operand) {
  auto shape = cast<RankedTensorType>(operand.getType()).getShape();
  if (!shape.empty() && llvm::is_contained(shape.drop_front(), ShapedType::kDynamic))
    return std::nullopt;
  return subscript::asAffine(rowMajor(subscripts, shape));
}

/// Returns whether an operand is always as long as its type says.
bool isFixed(Value operand) {
  return llvm::all_of(attn::extentsOf(operand), [](const Expr &extent) { return extent.isConstant(); });
}
/// Returns whether the strides of these axes are constant: no dimension of run-time length comes later in memory.
bool hasFixedSteps(ArrayRef<Expr> subscripts, Value operand, const std::vector<std::string> &axes) {
  std::vector<Expr> extents = attn::extentsOf(operand);
  bool isBehind = false; // a dimension of run-time length comes later in memory
  for (size_t d = subscripts.size(); d-- > 0; isBehind |= !extents[d].isConstant())
    for (const std::string &symbol : subscript::symbolsOf(subscripts[d]))
      if (isBehind && llvm::is_contained(axes, symbol))
        return false;
  return true;
}

bool reads(const subscript::Affine &offset, const std::string &axis) {
  auto found = offset.coefficients.find(axis);
  return found != offset.coefficients.end() && found->second != 0;
}

} // namespace

std::optional<Matmul> skewer::matmulOf(attn::EinsumOp op) {
  if (op.getInputs().size() != 2)
    return std::nullopt;
  attn::ResolvedEinsum resolved = resolve(op);
  if (resolved.guard || !resolved.spec.result || resolved.subscripts.size() != 2)
    return std::nullopt;
  std::vector<std::string> all;
  for (const subscript::Dimension &dimension : *resolved.spec.result)
    all.insert(all.end(), dimension.axes.begin(), dimension.axes.end());
  std::optional<subscript::Affine> offsets[2];
  for (unsigned input : {0u, 1u}) {
    offsets[input] = offsetOf(resolved.subscripts[input], op.getInputs()[input]);
    if (!offsets[input])
      return std::nullopt;
  }
  Matmul result;
  // Vectors go along the columns, so the operand that reads the result's last axis has the columns.
  bool last = !all.empty() && reads(*offsets[0], all.back());
  result.rowsInput = last ? 1 : 0;
  result.columnsInput = last ? 0 : 1;
  if (!isFixed(op.getInputs()[result.columnsInput]))
    return std::nullopt;
  const subscript::Affine &rows = *offsets[result.rowsInput], &columns = *offsets[result.columnsInput];
  std::vector<std::string> rowAxes;
  for (const std::string &axis : all) {
    bool isRow = reads(rows, axis), isColumn = reads(columns, axis);
    if (!isRow && !isColumn && resolved.sizes.at(axis) != 1)
      return std::nullopt;
    bool isBatch = isRow && isColumn && resolved.sizes.at(axis) != 1;
    (isBatch ? result.batch : isColumn ? result.columnAxes : rowAxes).push_back(axis);
  }
  size_t fixed = rowAxes.size();
  while (fixed > 0 && resolved.sizes.at(rowAxes[fixed - 1]) != kRuntime)
    --fixed;
  // Rows of a run-time length have an end; of several axes, the outermost has it.
  subscript::Substitution lengths = attn::axisExtentsOf(op);
  for (size_t k = rowAxes.size(); k-- > fixed;)
    if (lengths.count(rowAxes[k])) {
      fixed = k;
      break;
    }
  result.outer.assign(rowAxes.begin(), rowAxes.begin() + fixed);
  result.rowAxes.assign(rowAxes.begin() + fixed, rowAxes.end());
  result.depthAxes = resolved.contracted;
  llvm::sort(result.depthAxes, [&](const std::string &a, const std::string &b) {
    auto step = [&](const std::string &axis) {
      auto found = columns.coefficients.find(axis);
      return found == columns.coefficients.end() ? 0 : found->second;
    };
    return step(a) > step(b);
  });
  for (const std::string &axis : result.depthAxes)
    if (!reads(rows, axis) || !reads(columns, axis))
      return std::nullopt;
  auto multiply = [&](const std::vector<std::string> &axes, int64_t &product) {
    for (const std::string &axis : axes)
      if (resolved.sizes.at(axis) == kRuntime || __builtin_mul_overflow(product, resolved.sizes.at(axis), &product))
        return false;
    return true;
  };
  if (!multiply(result.rowAxes, result.rows) || !multiply(result.columnAxes, result.columns) ||
      !multiply(result.depthAxes, result.depth))
    return std::nullopt;
  auto columnStride = evenStride(columns.coefficients, result.columnAxes, resolved.sizes);
  auto depthStride = evenStride(columns.coefficients, result.depthAxes, resolved.sizes);
  bool thenArithmetic = op->hasOneUse() && isElementwise(*op->user_begin());
  if (!columnStride || !depthStride || result.rows < kFewRows || result.columns < kFewColumns ||
      result.depth < (thenArithmetic ? kFewDepthThenArithmetic : kFewDepth))
    return std::nullopt;
  if (!result.batch.empty() && result.columns > kMostOwnColumns / result.depth)
    return std::nullopt;
  result.columnStride = *columnStride;
  result.columnDepthStride = *depthStride;
  result.columnBase = columns.constant;
  if (hasFixedSteps(resolved.subscripts[result.rowsInput], op.getInputs()[result.rowsInput], result.depthAxes))
    result.rowDepthStride = evenStride(rows.coefficients, result.depthAxes, resolved.sizes);
  return result;
}
