// Checks that the verifiers of several operations share: shapes, sizes, and the texts in operations.
#include "dialect/IR/Verification.h"
#include "dialect/Subscript/Arithmetic.h"
#include "dialect/Subscript/Checks.h"
#include "llvm/ADT/DenseSet.h"

using namespace mlir;
using namespace skewer::attn;
using namespace skewer::subscript;

// The limit leaves room for byte offsets of 8-byte elements, with one bit to spare for the sum of two.
static constexpr int64_t kMostElements = int64_t(1) << 58;

std::string skewer::attn::printShape(ArrayRef<int64_t> shape) {
  std::string text;
  for (int64_t size : shape) {
    if (!text.empty())
      text += 'x';
    text += size == kRuntime ? "?" : std::to_string(size);
  }
  return text.empty() ? "no dimension" : text;
}

std::string skewer::attn::printNames(const std::set<std::string> &names) {
  std::string text;
  size_t left = names.size();
  for (const std::string &name : names)
    text += "'" + name + "'" + (--left > 1 ? ", " : left == 1 ? " and " : "");
  return text.empty() ? "nothing" : text;
}

std::string skewer::attn::printPoint(const Assignment &point, const std::set<std::string> &symbols) {
  std::string text;
  for (const auto &[axis, value] : point)
    if (symbols.count(axis) || axis.find('[') != std::string::npos) // an axis, or the element of an index operand
      text += (text.empty() ? "at " : ", ") + axis + " = " + std::to_string(value);
  return text;
}

std::vector<std::vector<int64_t>> skewer::attn::shapesOf(ValueRange values) {
  std::vector<std::vector<int64_t>> shapes;
  for (Value value : values)
    shapes.push_back(shapeOf(value));
  return shapes;
}

LogicalResult skewer::attn::verifyShapes(Operation *op) {
  auto check = [&](Type type, const Twine &which) -> LogicalResult {
    int64_t elements = 1;
    std::vector<int64_t> shape = shapeOf(type);
    for (int64_t size : shape) {
      if (size == kRuntime)
        continue;
      if (size < 1)
        return op->emitOpError() << which << " has shape " << printShape(shape)
                                 << "; every dimension must hold at least one element (attn_c1)";
      auto product = checkedMultiply(elements, size);
      if (!product || *product > kMostElements)
        return op->emitOpError() << which << " has shape " << printShape(shape)
                                 << ", more elements than memory can address (attn_c1)";
      elements = *product;
    }
    return success();
  };
  for (auto [k, type] : llvm::enumerate(op->getOperandTypes()))
    if (failed(check(type, "operand #" + Twine(k))))
      return failure();
  for (auto [k, type] : llvm::enumerate(op->getResultTypes()))
    if (failed(check(type, "result #" + Twine(k))))
      return failure();
  return success();
}

LogicalResult skewer::attn::verifySizes(Operation *op, DictionaryAttr sizes) {
  if (!sizes)
    return success();
  for (NamedAttribute entry : sizes) {
    auto size = dyn_cast<IntegerAttr>(entry.getValue());
    if (!size || !(size.getType().isSignlessInteger(64) || size.getType().isIndex()) || size.getInt() < 1 ||
        size.getInt() > kMostElements)
      return op->emitOpError() << "size of axis '" << entry.getName().getValue() << "' is " << entry.getValue()
                               << "; expected a positive 64-bit integer (attn_c2)";
  }
  return success();
}

namespace {
/// Visits every node once, also if it is shared, because composed expressions are graphs.
void visit(const Expr &e, llvm::DenseSet<const void *> &seen, llvm::function_ref<void(const Expr &)> action) {
  if (!seen.insert(e.identity()).second)
    return;
  action(e);
  for (const Expr &operand : e.operands())
    visit(operand, seen, action);
}

} // namespace

LogicalResult skewer::attn::verifyEvaluates(Operation *op, const Twine &role, const Expr &expression,
                                            const Domain &positions, const std::optional<Expr> &where) {
  Domain domain = positions;
  addRanges(domain, kernelIndices(op));
  LogicalResult result = verifyIndexReads(op, role, expression, domain, where);
  llvm::DenseSet<const void *> seen;
  visit(expression, seen, [&](const Expr &e) {
    if (failed(result))
      return;
    if (e.kind() != Kind::FloorDiv && e.kind() != Kind::Mod)
      return;
    const Expr &divisor = e.operands()[1];
    if (divisor.isConstant() ? divisor.value() > 0
                             : proveWithin(divisor, {1, INT64_MAX}, domain).outcome == Proof::Proven)
      return;
    result = op->emitOpError() << role << " divides by " << print(divisor)
                               << ", which is not known to be positive (attn_c4)";
  });
  if (failed(result))
    return failure();
  if (auto bad = findTableOutside(expression, domain, where)) {
    const Expr &row = bad->table.operands()[0];
    InFlightDiagnostic diagnostic = op->emitOpError() << role << " looks up row " << print(row) << " of "
                                                      << abbreviateTables(print(bad->table)) << ", which ";
    std::string point = printPoint(bad->proof.counterexample, symbolsOf(row));
    if (bad->proof.outcome == Proof::Refuted)
      diagnostic << "is " << bad->proof.value << (point.empty() ? "" : " ") << point;
    else
      diagnostic << "is not proven to stay inside";
    return diagnostic << ", but the table has rows 0.." << bad->table.table().size() - 1 << " (attn_c12)";
  }
  if (auto part = findOverflow(expression, domain))
    return op->emitOpError() << role << " computes " << abbreviateTables(print(*part))
                             << ", which may not fit 64 bits (attn_c13)";
  return success();
}

std::optional<Expr> skewer::attn::verifyExpression(Operation *op, StringRef role, StringRef text,
                                                   const std::set<std::string> &axes, const AxisSizes &sizes,
                                                   const std::optional<Expr> &where) {
  auto expression = parse(std::string_view(text));
  if (!expression) {
    op->emitOpError() << role << " \"" << text << "\" does not parse at byte " << expression.error().position << ": "
                      << expression.error().message << " (attn_c3)";
    return std::nullopt;
  }
  for (const std::string &symbol : symbolsOf(*expression))
    if (!axes.count(symbol)) {
      op->emitOpError() << role << " names '" << symbol << "', which is no axis here; the axes are " << printNames(axes)
                        << " (attn_c3)";
      return std::nullopt;
    }
  if (failed(verifyEvaluates(op, role, *expression, subscript::domainOf(sizes), where)))
    return std::nullopt;
  return expression;
}

std::optional<Einsum> skewer::attn::verifySpec(Operation *op, StringRef role, StringRef text, StringRef constraint) {
  auto spec = parseEinsum(std::string_view(text));
  if (!spec)
    op->emitOpError() << role << " \"" << text << "\" does not parse at byte " << spec.error().position << ": "
                      << spec.error().message << " (" << constraint << ")";
  return spec;
}

std::optional<Einsum> skewer::attn::verifySpecWithResult(Operation *op, StringRef text, StringRef constraint) {
  auto spec = verifySpec(op, "spec", text, constraint);
  if (spec && !spec->result) {
    op->emitOpError() << "spec \"" << text << "\" has no '->' and result (" << constraint << ")";
    return std::nullopt;
  }
  return spec;
}

LogicalResult skewer::attn::verifyNamesOnce(Operation *op, StringRef role, const Dimensions &dimensions,
                                            StringRef constraint) {
  std::set<std::string> seen;
  for (const Dimension &dimension : dimensions) {
    if (!dimension.isProduct() && !dimension.index.isConstant(0))
      return op->emitOpError() << role << " has the index expression " << print(dimension.index)
                               << "; expected axes or products of axes (" << constraint << ")";
    for (const std::string &axis : dimension.axes)
      if (!seen.insert(axis).second)
        return op->emitOpError() << role << " names the axis '" << axis << "' twice (" << constraint << ")";
  }
  return success();
}

std::optional<Dimensions> skewer::attn::verifyDimensions(Operation *op, StringRef role, StringRef text,
                                                         StringRef constraint) {
  auto dimensions = parseDimensions(std::string_view(text));
  if (!dimensions) {
    op->emitOpError() << role << " \"" << text << "\" does not parse at byte " << dimensions.error().position << ": "
                      << dimensions.error().message << " (" << constraint << ")";
    return std::nullopt;
  }
  if (failed(verifyNamesOnce(op, role, *dimensions, constraint)))
    return std::nullopt;
  return dimensions;
}
