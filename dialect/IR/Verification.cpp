// What the verifiers of several operations share: parsing, sizes, and the proof that reads stay inside.
#include "dialect/IR/Verification.h"
#include "dialect/Subscript/Arithmetic.h"
#include "llvm/ADT/DenseSet.h"

using namespace mlir;
using namespace skewer::attn;
using namespace skewer::subscript;

// Room for byte offsets of 8-byte elements, with a bit to spare for sums of two.
static constexpr int64_t kMostElements = int64_t(1) << 58;

std::string skewer::attn::printShape(ArrayRef<int64_t> shape) {
  std::string text;
  for (int64_t size : shape)
    text += (text.empty() ? "" : "x") + (size == kRuntime ? "?" : std::to_string(size));
  return text.empty() ? "no dimension" : text;
}

std::string skewer::attn::printNames(const std::set<std::string> &names) {
  std::string text;
  size_t left = names.size();
  for (const std::string &name : names)
    text += "'" + name + "'" + (--left > 1 ? ", " : left == 1 ? " and " : "");
  return text.empty() ? "nothing" : text;
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
/// Visits every node once, shared ones too: composed expressions are graphs.
void visit(const Expr &e, llvm::DenseSet<const void *> &seen, llvm::function_ref<void(const Expr &)> action) {
  if (!seen.insert(e.identity()).second)
    return;
  action(e);
  for (const Expr &operand : e.operands())
    visit(operand, seen, action);
}

/// Refuses what cannot be evaluated: reads of tensors that the operation does not have, and divisors that may be 0.
LogicalResult verifyEvaluates(Operation *op, const Twine &role, const Expr &expression, const Domain &domain) {
  LogicalResult result = success();
  llvm::DenseSet<const void *> seen;
  visit(expression, seen, [&](const Expr &e) {
    if (failed(result))
      return;
    if (e.kind() == Kind::Read) {
      result = op->emitOpError() << role << " reads '" << e.name()
                                 << "', which is not an operand of this operation (attn_c3)";
      return;
    }
    if (e.kind() != Kind::FloorDiv && e.kind() != Kind::Mod)
      return;
    const Expr &divisor = e.operands()[1];
    if (divisor.isConstant() ? divisor.value() > 0
                             : proveWithin(divisor, {1, INT64_MAX}, domain).outcome == Proof::Proven)
      return;
    result = op->emitOpError() << role << " divides by " << print(divisor)
                               << ", which is not known to be positive (attn_c4)";
  });
  return result;
}

std::string printPoint(const Assignment &point, const std::set<std::string> &symbols) {
  std::string text;
  for (const auto &[axis, value] : point)
    if (symbols.count(axis))
      text += (text.empty() ? "at " : ", ") + axis + " = " + std::to_string(value) + "";
  return text;
}
std::string printIndices(int64_t size) { return size == 1 ? "index 0 only" : "indices 0.." + std::to_string(size - 1); }
} // namespace

std::optional<Expr> skewer::attn::verifyExpression(Operation *op, StringRef role, StringRef text,
                                                   const std::set<std::string> &axes, const AxisSizes &sizes) {
  ParseError why;
  auto expression = parse(std::string_view(text), &why);
  if (!expression) {
    op->emitOpError() << role << " \"" << text << "\" does not parse at byte " << why.position << ": " << why.message
                      << " (attn_c3)";
    return std::nullopt;
  }
  for (const std::string &symbol : symbolsOf(*expression))
    if (!axes.count(symbol)) {
      op->emitOpError() << role << " names '" << symbol << "', which is no axis here; the axes are " << printNames(axes)
                        << " (attn_c3)";
      return std::nullopt;
    }
  if (failed(verifyEvaluates(op, role, *expression, domainOf(sizes))))
    return std::nullopt;
  return expression;
}

std::optional<Einsum> skewer::attn::verifySpec(Operation *op, StringRef role, StringRef text, StringRef constraint) {
  ParseError why;
  auto spec = parseEinsum(std::string_view(text), &why);
  if (!spec)
    op->emitOpError() << role << " \"" << text << "\" does not parse at byte " << why.position << ": " << why.message
                      << " (" << constraint << ")";
  return spec;
}

/// Axes and products only, each axis once.
static LogicalResult verifyNamesOnce(Operation *op, StringRef role, const Dimensions &dimensions,
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
  ParseError why;
  auto dimensions = parseDimensions(std::string_view(text), &why);
  if (!dimensions) {
    op->emitOpError() << role << " \"" << text << "\" does not parse at byte " << why.position << ": " << why.message
                      << " (" << constraint << ")";
    return std::nullopt;
  }
  if (failed(verifyNamesOnce(op, role, *dimensions, constraint)))
    return std::nullopt;
  return dimensions;
}

/// The length of a product: kRuntime where its first axis is of run-time size, nothing where another is, or on
/// overflow.
static std::optional<int64_t> lengthOf(const Dimension &dimension, const AxisSizes &sizes) {
  int64_t product = 1;
  bool runtime = false;
  for (size_t k = 0; k < dimension.axes.size(); ++k) {
    auto size = sizes.find(dimension.axes[k]);
    if (size == sizes.end())
      return std::nullopt;
    if (size->second == kRuntime) {
      if (k > 0)
        return std::nullopt;
      runtime = true;
      continue;
    }
    auto next = checkedMultiply(product, size->second);
    if (!next)
      return std::nullopt;
    product = *next;
  }
  return runtime ? kRuntime : product;
}

static LogicalResult verifyLength(Operation *op, const Twine &which, const Dimension &dimension, int64_t size,
                                  const AxisSizes &sizes, StringRef constraint) {
  if (!dimension.isProduct() && !dimension.index.isConstant(0))
    return success(); // an index expression: verifyReads
  auto length = lengthOf(dimension, sizes);
  if (!length)
    return op->emitOpError() << which << " is '" << print(Dimensions{dimension})
                             << "', but only the first axis of a product may be of run-time size (" << constraint
                             << ")";
  if (*length == size || (!dimension.isProduct() && size != kRuntime))
    return success();
  auto sizeText = [](int64_t s) { return s == kRuntime ? std::string("run-time size") : "size " + std::to_string(s); };
  return op->emitOpError() << which << " has " << sizeText(size) << ", but '" << print(Dimensions{dimension})
                           << "' makes " << sizeText(*length) << " (" << constraint << ")";
}

std::optional<AxisSizes> skewer::attn::verifyOperands(Operation *op, const Einsum &spec,
                                                      const std::vector<std::vector<int64_t>> &shapes,
                                                      const AxisSizes &given, const SubscriptConstraints &constraints) {
  if (spec.operands.size() != shapes.size()) {
    op->emitOpError() << "subscripts " << spec.operands.size() << (spec.operands.size() == 1 ? " operand" : " operands")
                      << ", but has " << shapes.size() << " (" << constraints.operands << ")";
    return std::nullopt;
  }
  for (size_t k = 0; k < shapes.size(); ++k)
    if (spec.operands[k].size() != shapes[k].size()) {
      op->emitOpError() << "operand #" << k << " has " << shapes[k].size() << " dimensions, but is subscripted '"
                        << print(spec.operands[k]) << "', which has " << spec.operands[k].size() << " ("
                        << constraints.operands << ")";
      return std::nullopt;
    }
  ParseError why;
  auto sizes = resolveSizes(spec, shapes, given, &why);
  if (!sizes) {
    op->emitOpError() << why.message << " (" << constraints.sizes << ")";
    return std::nullopt;
  }
  for (size_t k = 0; k < shapes.size(); ++k)
    for (size_t d = 0; d < shapes[k].size(); ++d)
      if (failed(verifyLength(op, "dimension " + Twine(d) + " of operand #" + Twine(k), spec.operands[k][d],
                              shapes[k][d], *sizes, constraints.sizes)))
        return std::nullopt;
  return sizes;
}

LogicalResult skewer::attn::verifyReads(Operation *op, const Einsum &spec,
                                        const std::vector<std::vector<int64_t>> &shapes, const AxisSizes &sizes,
                                        const std::optional<Expr> &guard, const SubscriptConstraints &constraints) {
  Domain domain = domainOf(sizes);
  for (size_t k = 0; k < spec.operands.size(); ++k)
    for (size_t d = 0; d < spec.operands[k].size(); ++d) {
      const Dimension &dimension = spec.operands[k][d];
      if (dimension.isProduct() || dimension.index.isConstant(0))
        continue; // verifyLength
      const Expr &index = dimension.index;
      std::string role = "subscript " + std::to_string(d) + " of operand #" + std::to_string(k);
      if (failed(verifyEvaluates(op, role, index, domain)))
        return failure();
      int64_t size = shapes[k][d];
      if (size == kRuntime)
        return op->emitOpError() << role << " is the index expression " << print(index)
                                 << ", but the dimension has run-time size; only a compile-time size can be proven "
                                    "against ("
                                 << constraints.range << ")";
      Proof proof = proveWithin(index, {0, size - 1}, domain, guard);
      if (proof.outcome == Proof::Proven)
        continue;
      if (proof.outcome == Proof::Unknown)
        return op->emitOpError() << role << ", " << print(index) << ", is not proven to stay inside the dimension, "
                                 << printIndices(size) << " (" << constraints.range
                                 << "); give every axis it names a compile-time size, or clamp it";
      std::string point = printPoint(proof.counterexample, symbolsOf(index));
      InFlightDiagnostic diagnostic =
          op->emitOpError() << "operand #" << k << " is read outside dimension " << d << ": " << print(index)
                            << " reads " << proof.value << (point.empty() ? "" : " ") << point
                            << ", but the dimension has " << printIndices(size) << " (" << constraints.range << ")";
      Diagnostic &note = diagnostic.attachNote();
      if (proof.range)
        note << print(index) << " runs from " << proof.range->low << " to " << proof.range->high << "; ";
      note << (guard ? "the guard leaves this point in; narrow it, correct the index, or clamp it"
                     : "correct the index, clamp it, or leave the point out with 'where'");
      return diagnostic;
    }
  return success();
}

LogicalResult skewer::attn::verifyResult(Operation *op, const Dimensions &dimensions, const AxisSizes &sizes, Type type,
                                         StringRef constraint) {
  if (failed(verifyNamesOnce(op, "result", dimensions, constraint)))
    return failure();
  std::vector<int64_t> shape = shapeOf(type);
  if (shape.size() != dimensions.size())
    return op->emitOpError() << "result has " << shape.size() << " dimensions, but is subscripted '"
                             << print(dimensions) << "', which has " << dimensions.size() << " (" << constraint << ")";
  for (size_t d = 0; d < shape.size(); ++d)
    if (failed(
            verifyLength(op, "dimension " + Twine(d) + " of the result", dimensions[d], shape[d], sizes, constraint)))
      return failure();
  return success();
}
