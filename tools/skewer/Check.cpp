// Comparison of results, element by element.
#include "tools/skewer/Check.h"
#include "codegen/Reference/Reference.h"
#include <algorithm>
#include <cmath>
#include <fmt/format.h>

namespace skewer::driver {
namespace {

struct Comparer {
  Comparison result;
  double largest = 0, worst = -1;

  void add(double expected, double got, const std::vector<int64_t> &leading, int64_t last) {
    if (std::isfinite(expected))
      largest = std::max(largest, std::fabs(expected));
    bool bothFinite = std::isfinite(expected) && std::isfinite(got);
    bool same = (std::isnan(expected) && std::isnan(got)) || expected == got;
    double difference = bothFinite ? std::fabs(expected - got) : same ? 0 : INFINITY;
    if (!bothFinite && !same)
      ++result.mismatches;
    if (difference > worst) {
      worst = difference;
      std::vector<int64_t> index = leading;
      index.push_back(last);
      result.where = fmt::format("{}: got {:.9g}, expected {:.9g}", textOf(index), got, expected);
    }
  }
  Comparison finish() {
    double finite = std::isfinite(worst) ? std::max(worst, 0.0) : INFINITY;
    result.error = finite == 0 ? 0 : largest > 0 ? finite / largest : finite;
    return result;
  }
};

/// The leading indices of row `row`.
std::vector<int64_t> indicesOf(int64_t row, llvm::ArrayRef<int64_t> shape) {
  std::vector<int64_t> indices(shape.empty() ? 0 : shape.size() - 1);
  for (size_t k = indices.size(); k-- > 0;) {
    indices[k] = row % shape[k];
    row /= shape[k];
  }
  return indices;
}

} // namespace

double defaultTolerance(const KernelPlan &plan, bool isOnGpu) {
  auto of = [&](ElementType type) {
    return type == ElementType::BF16 ? 1.5e-2 : type == ElementType::F16 ? 2e-3 : isOnGpu ? 1e-5 : 2e-6;
  };
  double tolerance = 0;
  for (const auto *arguments : {&plan.inputs, &plan.outputs})
    for (const TensorArgument &argument : *arguments)
      tolerance = std::max(tolerance, of(argument.type));
  return tolerance;
}

Comparison compareWith(const Array &expected, ElementType type, const void *got) {
  Comparer comparer;
  int64_t width = expected.shape.empty() ? 1 : expected.shape.back();
  int64_t rows = width ? static_cast<int64_t>(expected.values.size()) / width : 0;
  for (int64_t row = 0; row < rows; ++row) {
    std::vector<int64_t> leading = indicesOf(row, expected.shape);
    for (int64_t k = 0; k < width; ++k)
      comparer.add(expected.values[row * width + k], unpack(type, got, row * width + k), leading, k);
  }
  comparer.result.rows = comparer.result.allRows = rows;
  return comparer.finish();
}

llvm::Expected<Comparison> compareWithReference(mlir::func::FuncOp function, const Operands &operands, ElementType type,
                                                const void *got, int64_t rows, uint64_t seed, double flops,
                                                size_t result) {
  std::vector<reference::Tensor> inputs;
  for (const Array &input : operands.inputs)
    inputs.push_back({input.shape, input.values});
  reference::Interpreter interpreter(function, std::move(inputs));
  std::vector<int64_t> shape = interpreter.resultShape(result);
  if (shape.empty()) { // what the function holds is beyond the interpreter; a row says what
    std::string why;
    interpreter.row({}, &why, result);
    return llvm::createStringError(std::errc::invalid_argument, "%s",
                                   fmt::format("the reference cannot judge it: {}", why).c_str());
  }
  if (shape != operands.outputShapes[result])
    return llvm::createStringError(std::errc::invalid_argument, "%s",
                                   fmt::format("the reference's result has shape {}, the kernel's {}", textOf(shape),
                                               textOf(operands.outputShapes[result]))
                                       .c_str());
  int64_t width = shape.empty() ? 1 : shape.back();
  int64_t allRows = width ? *elementsOf(shape) / width : 0;
  int64_t limit = rows;
  if (limit == 0) {
    double each = std::max(flops, 1.0) / static_cast<double>(std::max<int64_t>(allRows, 1));
    limit = std::max<int64_t>(16, static_cast<int64_t>(std::min(1e8 / each, 1e9)));
  }
  Comparer comparer;
  for (const std::vector<int64_t> &leading : reference::sampleRows(shape, limit, seed)) {
    std::string why;
    auto expected = interpreter.row(leading, &why, result);
    if (!expected)
      return llvm::createStringError(
          std::errc::invalid_argument, "%s",
          fmt::format("the reference cannot judge row {}: {}", textOf(leading), why).c_str());
    int64_t row = 0;
    for (size_t k = 0; k < leading.size(); ++k)
      row = row * shape[k] + leading[k];
    for (int64_t k = 0; k < static_cast<int64_t>(expected->size()) && k < width; ++k)
      comparer.add((*expected)[k], unpack(type, got, row * width + k), leading, k);
    ++comparer.result.rows;
  }
  comparer.result.allRows = allRows;
  return comparer.finish();
}

} // namespace skewer::driver
