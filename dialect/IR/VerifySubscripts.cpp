// Checks that the verifiers of several operations share: operands and results against their subscripts, and the proof
// that reads stay inside.
#include "dialect/IR/Verification.h"
#include "dialect/Subscript/Arithmetic.h"

using namespace mlir;
using namespace skewer::attn;
using namespace skewer::subscript;

static std::string describeRows(int64_t size) {
  return size == 1 ? "index 0 only" : "indices 0.." + std::to_string(size - 1);
}

/// Returns the length of a product: kRuntime if its first axis has a run-time size; nothing if another axis has one, or
/// on overflow.
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
    return success(); // verifyReads checks index expressions
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
  AxisSizes known = given;
  addSizesOfReads(spec, indicesOf(op), known);
  auto sizes = resolveSizes(spec, shapes, known);
  if (!sizes) {
    op->emitOpError() << sizes.error().message << " (" << constraints.sizes << ")";
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
  Domain domain = subscript::domainOf(sizes);
  IndexOperands indices = kernelIndices(op); // an attention's mask may read other operands than the term
  addRanges(domain, indices);
  for (size_t k = 0; k < spec.operands.size(); ++k)
    for (size_t d = 0; d < spec.operands[k].size(); ++d) {
      const Dimension &dimension = spec.operands[k][d];
      if (dimension.isProduct() || dimension.index.isConstant(0))
        continue; // verifyLength checks products
      const Expr &index = dimension.index;
      std::string role = "subscript " + std::to_string(d) + " of operand #" + std::to_string(k);
      if (failed(verifyEvaluates(op, role, index, domain, guard)))
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
      if (std::string unbounded = unboundedReads(index, indices); proof.outcome == Proof::Unknown && !unbounded.empty())
        return op->emitOpError() << role << ", " << print(index) << ", is not proven to stay inside the dimension, "
                                 << describeRows(size) << ", as " << unbounded << " declares no range ("
                                 << constraints.range << "); give the argument 'attn.range'";
      if (proof.outcome == Proof::Unknown)
        return op->emitOpError() << role << ", " << print(index) << ", is not proven to stay inside the dimension, "
                                 << describeRows(size) << " (" << constraints.range
                                 << "); give every axis it names a compile-time size, or clamp it";
      std::string point = printPoint(proof.counterexample, symbolsOf(index));
      InFlightDiagnostic diagnostic =
          op->emitOpError() << "operand #" << k << " is read outside dimension " << d << ": " << print(index)
                            << " reads " << proof.value << (point.empty() ? "" : " ") << point
                            << ", but the dimension has " << describeRows(size) << " (" << constraints.range << ")";
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
