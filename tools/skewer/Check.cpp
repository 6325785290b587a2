// Compares results element by element, and finds the tolerance of a layer by evaluating it with disturbed roundings.
#include "tools/skewer/Check.h"
#include "codegen/Reference/Reference.h"
#include "tools/skewer/Messages.h"
#include "tools/skewer/Progress.h"
#include "llvm/ADT/ScopeExit.h"
#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <set>

namespace skewer::driver {
namespace {

/// Returns the smallest number that rounds to infinity in a type.
double endOf(ElementType type) {
  switch (type) {
  case ElementType::F32:
    return 0x1.ffffffp127;
  case ElementType::F16:
    return 65520;
  case ElementType::BF16:
    return 0x1.ffp127;
  case ElementType::I32:
  case ElementType::I8:
  case ElementType::F8E4M3:
    break;
  }
  return INFINITY;
}

struct Comparer {
  explicit Comparer(ElementType type) : end(endOf(type)) {}
  Comparison result;
  double worst = -1;
  const double end;

  /// Returns the distance of the finite side from the end of the type if one side is infinite and the other nearly
  /// infinite; nothing otherwise. A few roundings decide on which side of the end a number is.
  std::optional<double> acrossTheEnd(double expected, double got) {
    double number = std::isinf(got) ? expected : got;
    bool isNear = std::isfinite(expected) && std::isfinite(number) && std::fabs(number) > end * (1 - 0x1p-10);
    if (!isNear || std::signbit(expected) != std::signbit(got))
      return std::nullopt;
    result.largest = std::max(result.largest, std::min(std::fabs(expected), end));
    return std::max(end - std::fabs(number), 0.0);
  }

  void add(double exact, double got, const std::vector<int64_t> &leading, int64_t last) {
    // The reference's numbers end where float64 ends, the type's numbers earlier.
    double expected = std::fabs(exact) >= end ? std::copysign(INFINITY, exact) : exact;
    if (std::isfinite(expected))
      result.largest = std::max(result.largest, std::fabs(expected));
    result.expected.count(expected);
    result.got.count(got);
    double difference = INFINITY;
    if ((std::isnan(expected) && std::isnan(got)) || expected == got)
      difference = 0;
    else if (std::isfinite(expected) && std::isfinite(got))
      difference = std::fabs(expected - got);
    else if (auto lacking = acrossTheEnd(exact, got))
      difference = *lacking;
    else
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
    result.error = finite == 0 ? 0 : result.largest > 0 ? finite / result.largest : finite;
    return result;
  }
};

/// Returns the leading indices of row `row`.
std::vector<int64_t> indicesOf(int64_t row, llvm::ArrayRef<int64_t> shape) {
  std::vector<int64_t> indices(shape.empty() ? 0 : shape.size() - 1);
  for (size_t k = indices.size(); k-- > 0;) {
    indices[k] = row % shape[k];
    row /= shape[k];
  }
  return indices;
}

} // namespace

void NonFinite::count(double value) {
  nans += std::isnan(value);
  infinities += std::isinf(value);
}
NonFinite countNonFinite(llvm::ArrayRef<double> values) {
  NonFinite counted;
  for (double value : values)
    counted.count(value);
  return counted;
}
std::string textOf(const NonFinite &counted) {
  if (!counted.any())
    return "no element";
  std::string text = counted.nans ? fmt::format("{} NaN", counted.nans) : "";
  if (counted.infinities)
    text += fmt::format("{}{} infinite", text.empty() ? "" : " and ", counted.infinities);
  return text + (counted.nans + counted.infinities == 1 ? " element" : " elements");
}

void noteOperands(const std::string &kernel, const KernelPlan &plan, const Operands &operands, uint64_t seed) {
  if (!operands.seeded.empty())
    sayNote(fmt::format("kernel '{}': seeded ({}): {}", kernel, seed, fmt::join(operands.seeded, ", ")));
  for (auto [argument, input] : llvm::zip(plan.inputs, operands.inputs))
    if (NonFinite counted = countNonFinite(input.values); counted.any())
      sayNote(fmt::format("kernel '{}': operand '{}' has {}", kernel, argument.name, textOf(counted)));
}

void Comparison::noteNonFinite(const std::string &kernel) const {
  if (got.any() || expected.any())
    sayWarning(fmt::format("kernel '{}': not finite: {} of the result, {} of what it is compared with", kernel,
                           textOf(got), textOf(expected)));
}

Comparison compareWith(const Array &expected, ElementType type, const void *got) {
  Comparer comparer(type);
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

namespace {
/// Computes the reference's rows of a result, and the largest change that roundings make to them.
class Judge {
public:
  static llvm::Expected<Judge> create(mlir::func::FuncOp function, const Operands &operands, const Judgement &how,
                                      size_t result) {
    Judge judge(function, operands, how, result);
    std::vector<int64_t> shape = judge.interpreter->resultShape(result);
    if (shape.empty()) { // a number, or an operation that the interpreter does not support; a row says which
      if (auto row = judge.interpreter->row({}, result); !row)
        return wrong(fmt::format("the reference cannot judge it: {}", row.reason));
    }
    if (shape != operands.outputShapes[result])
      return wrong(fmt::format("the reference's result has shape {}, the kernel's {}", textOf(shape),
                               textOf(operands.outputShapes[result])));
    judge.shape = std::move(shape);
    judge.width = judge.shape.empty() ? 1 : judge.shape.back();
    judge.allRows = judge.width ? *elementsOf(judge.shape) / judge.width : 0;
    int64_t limit = how.rows;
    if (limit == 0) {
      double each = std::max(how.flops, 1.0) / static_cast<double>(std::max<int64_t>(judge.allRows, 1));
      limit = std::max<int64_t>(16, static_cast<int64_t>(std::min(1e8 / each, 1e9)));
    }
    judge.rows = reference::sampleRows(judge.shape, limit, how.seed);
    return std::move(judge);
  }

  llvm::Expected<std::vector<double>> row(const std::vector<int64_t> &leading) {
    auto values = interpreter->row(leading, result);
    if (!values)
      return wrong(fmt::format("the reference cannot judge row {}: {}", textOf(leading), values.reason));
    return std::move(*values);
  }

  /// Returns the largest change that roundings make to an element in any of a few evaluations: of some rows, among them
  /// row `also`. Leaves out elements that `type` cannot hold. Stops early if `isEnough` accepts the change found so
  /// far, which only grows.
  llvm::Expected<double> largestMove(size_t also, ElementType type,
                                     llvm::function_ref<bool(double)> isEnough = [](double) { return false; }) {
    if (rows.empty() || !width || isEnough(0))
      return 0;
    if (how.stopsWithin) { // one evaluation of the row with the largest error is mostly enough
      auto move = largestMoveOf({rows[also]}, /*draws=*/1, type, isEnough);
      if (!move || isEnough(*move))
        return move;
    }
    // Neighbours of that row, along the last of its indices, use the same keys and values: those of the same head.
    // Other rows may each need another image's projections.
    std::set<std::vector<int64_t>> chosen = {rows[also]};
    if (size_t rank = rows[also].size()) {
      std::vector<int64_t> neighbour = rows[also];
      for (int64_t k = 0, count = std::min(kNeighbours, shape[rank - 1]); k < count; ++k) {
        neighbour[rank - 1] = k * shape[rank - 1] / count;
        chosen.insert(neighbour);
      }
    }
    double each = std::max(how.flops, 1.0) / static_cast<double>(std::max<int64_t>(allRows, 1));
    size_t count = each <= kCheapFlops ? std::min(rows.size(), static_cast<size_t>(kFlopsOfDraw / each)) : 0;
    for (size_t k = 0; k < count; ++k)
      chosen.insert(rows[k * rows.size() / count]);
    return largestMoveOf({chosen.begin(), chosen.end()}, kDraws, type, isEnough);
  }

  std::vector<int64_t> shape;
  int64_t width = 0, allRows = 0;
  std::vector<std::vector<int64_t>> rows; // leading indices of the judged rows

private:
  static constexpr int64_t kNeighbours = 12, kDraws = 8;
  static constexpr double kCheapFlops = 1e6, kFlopsOfDraw = 2.5e7; // limits for a row and for all other rows

  llvm::Expected<double> largestMoveOf(const std::vector<std::vector<int64_t>> &chosen, int64_t draws, ElementType type,
                                       llvm::function_ref<bool(double)> isEnough) {
    std::vector<std::vector<double>> expected;
    for (const std::vector<int64_t> &leading : chosen) {
      auto values = row(leading);
      if (!values)
        return values.takeError();
      expected.push_back(std::move(*values));
    }
    double largest = 0;
    llvm::scope_exit undisturbed([&] { interpreter->disturb({}); });
    for (int64_t draw = 0; draw < draws && !isEnough(largest); ++draw) {
      interpreter->disturb(
          reference::Roundings{how.seed + static_cast<uint64_t>(draw), how.isOnGpu ? kRoundingsOfTf32 : 1});
      for (auto [leading, values] : llvm::zip(chosen, expected)) {
        auto moved = row(leading);
        if (!moved)
          return moved.takeError();
        for (auto [x, y] : llvm::zip(values, *moved)) {
          double difference = x - y;
          bool isHeld = std::isfinite(difference) && std::max(std::fabs(x), std::fabs(y)) < endOf(type);
          largest = std::max(largest, isHeld ? std::fabs(difference) : 0);
        }
      }
    }
    return largest;
  }

  Judge(mlir::func::FuncOp function, const Operands &operands, const Judgement &how, size_t result)
      : how(how), result(result) {
    std::vector<reference::Tensor> inputs;
    // Lengths come after all other operands. The function is already specialised to their values, so it does not take
    // them.
    for (const Array &input : llvm::ArrayRef(operands.inputs).take_front(function.getNumArguments()))
      inputs.push_back({input.shape, input.values});
    interpreter = std::make_unique<reference::Interpreter>(function, std::move(inputs));
  }

  static llvm::Error wrong(const std::string &why) {
    return llvm::createStringError(std::errc::invalid_argument, "%s", why.c_str());
  }

  Judgement how;
  size_t result;
  std::unique_ptr<reference::Interpreter> interpreter;
};

/// Returns the distance of two numbers of a type that are smaller than its normal ones.
double stepOf(ElementType type) {
  return type == ElementType::F16 ? 0x1p-24 : type == ElementType::BF16 ? 0x1p-133 : 0x1p-149;
}

/// Returns the tolerance relative to the largest value, from the change that roundings make. A kernel may always round
/// its result once. A kernel of f32 may round three times: the weighted sum, the inverse of the sum of weights, and
/// their product. `rounded` is the type whose unit applies, `type` that of the result: if they differ, the factors of
/// the result's sums are rounded, and they may be off by what such a result is.
double toleranceFrom(double move, double largest, ElementType rounded, ElementType type) {
  double unit = rounded == ElementType::BF16 ? 0x1p-8 : rounded == ElementType::F16 ? 0x1p-11 : 3 * 0x1p-24;
  if (rounded != type)
    move = std::max(move, reference::kRoundingDeviation * std::sqrt(3) * unit * largest);
  double absolute = std::max(kRoomOfTolerance * move, stepOf(type) / 2);
  return std::max(unit, largest > 0 ? absolute / largest : absolute);
}

/// Returns the type whose rounding unit applies to a result. A GPU rounds the factors of a product to the operands'
/// type, so that an lse of f32 has as few bits as the operands.
ElementType roundedTo(mlir::func::FuncOp function, ElementType type, const Judgement &how) {
  for (mlir::Type argument : function.getArgumentTypes()) {
    auto tensor = llvm::dyn_cast<mlir::RankedTensorType>(argument);
    if (!how.isOnGpu || !tensor || type == ElementType::BF16)
      continue;
    if (tensor.getElementType().isBF16())
      type = ElementType::BF16;
    else if (tensor.getElementType().isF16())
      type = ElementType::F16;
  }
  return type;
}
} // namespace

llvm::Expected<Comparison> compareWithReference(mlir::func::FuncOp function, const Operands &operands, ElementType type,
                                                const void *got, const Judgement &how, size_t result) {
  nowDoing("evaluating the float64 reference of kernel '" + function.getName() + "'");
  auto judge = Judge::create(function, operands, how, result);
  if (!judge)
    return judge.takeError();
  Comparer comparer(type);
  size_t worst = 0;
  for (size_t number = 0; number < judge->rows.size(); ++number) {
    const std::vector<int64_t> &leading = judge->rows[number];
    auto expected = judge->row(leading);
    if (!expected)
      return expected.takeError();
    int64_t row = 0;
    for (size_t k = 0; k < leading.size(); ++k)
      row = row * judge->shape[k] + leading[k];
    double before = comparer.worst;
    for (int64_t k = 0; k < static_cast<int64_t>(expected->size()) && k < judge->width; ++k)
      comparer.add((*expected)[k], unpack(type, got, row * judge->width + k), leading, k);
    if (comparer.worst > before)
      worst = number;
    ++comparer.result.rows;
  }
  comparer.result.allRows = judge->allRows;
  Comparison comparison = comparer.finish();
  if (how.setsTolerance) {
    ElementType rounded = roundedTo(function, type, how);
    auto toleranceOf = [&](double move) { return toleranceFrom(move, comparison.largest, rounded, type); };
    auto isEnough = [&](double move) { return how.stopsWithin && comparison.within(toleranceOf(move)); };
    auto move = judge->largestMove(worst, type, isEnough);
    if (!move)
      return move.takeError();
    comparison.tolerance = toleranceOf(*move);
  }
  return comparison;
}

llvm::Expected<double> toleranceOf(mlir::func::FuncOp function, const Operands &operands, ElementType type,
                                   const Judgement &how, double largest, size_t result) {
  auto judge = Judge::create(function, operands, how, result);
  if (!judge)
    return judge.takeError();
  auto move = judge->largestMove(0, type);
  if (!move)
    return move.takeError();
  return toleranceFrom(*move, largest, roundedTo(function, type, how), type);
}

} // namespace skewer::driver
