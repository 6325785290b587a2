// attn-split-softmax: the weights of concatenated scores become the softmax of each part, times the part's share, and
// slices of weights become weights of slices (SliceSoftmax.h).
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "passes/Analysis/AxisProducts.h"
#include "passes/Fusion/BuildEinsum.h"
#include "passes/Fusion/SliceSoftmax.h"
#include "passes/Fusion/Views.h"
#include "passes/Passes.h"

namespace skewer {
#define GEN_PASS_DEF_ATTNSPLITSOFTMAX
#include "passes/Passes.h.inc"
} // namespace skewer

using namespace mlir;
using namespace skewer;
using namespace skewer::attn;
using namespace skewer::subscript;

namespace {

// Below every lse of f32 scores except that of a part without a visible key: the difference of two infinities would be
// NaN.
constexpr double kLeast = -3e38;

/// Returns whether the elements of a tensor are equal along a dimension, as far as index maps alone show it.
bool areAlike(Value numbers, size_t along) {
  std::vector<Expr> place = mapIndices(shapeOf(numbers).size()); // where the source is read
  Domain domain;
  for (auto [d, size] : llvm::enumerate(shapeOf(numbers)))
    if (size != kRuntime)
      domain["d" + std::to_string(d)] = {0, size - 1};
  auto depends = [&] {
    return llvm::any_of(place, [&](const Expr &e) { return symbolsOf(e).count("d" + std::to_string(along)); });
  };
  while (depends()) {
    auto map = numbers.getDefiningOp() ? mapOf(numbers.getDefiningOp()) : std::nullopt;
    if (!map || !map->inside.isConstant(1))
      return false;
    place = mapAt(*map, place).subscripts;
    for (Expr &subscript : place)
      subscript = simplify(subscript, domain);
    numbers = numbers.getDefiningOp()->getOperand(0);
  }
  return true;
}

/// Returns the tensor below rearranges that only name dimensions.
Value unnamed(Value tensor) {
  while (auto named = tensor.getDefiningOp<RearrangeOp>()) {
    auto spec = parseEinsum(std::string_view(named.getSpec()));
    if (named.getType() != named.getInput().getType() || !spec || !spec->result ||
        !llvm::equal(spec->operands[0], *spec->result,
                     [](const Dimension &x, const Dimension &y) { return x.isAxis() && x.axes == y.axes; }))
      break;
    tensor = named.getInput();
  }
  return tensor;
}

/// Returns the concatenation of scores, also if a number of each row (its maximum) is subtracted from it: that changes
/// no weight.
ConcatOp concatenated(SoftmaxOp softmax) {
  Value scores = unnamed(softmax.getInput());
  auto difference = scores.getDefiningOp<arith::SubFOp>();
  if (difference)
    scores = unnamed(difference.getLhs());
  auto concat = scores.getDefiningOp<ConcatOp>();
  bool isKnown = concat && (!difference || areAlike(difference.getRhs(), concat.getDimension()));
  return isKnown ? concat : ConcatOp();
}

class Split {
public:
  explicit Split(SoftmaxOp softmax) : softmax(softmax), concat(concatenated(softmax)), b(softmax.getLoc(), softmax) {}

  /// Splits the softmax; returns false, and changes nothing, if an operation reads the weights of several parts
  /// together.
  bool run() {
    if (!concat || !findParts())
      return false;
    llvm::SmallVector<std::pair<SliceOp, size_t>> reads;
    for (Operation *user : softmax->getUsers()) {
      auto slice = dyn_cast<SliceOp>(user);
      auto part = slice ? partOf(slice) : std::nullopt;
      if (!part)
        return false;
      reads.emplace_back(slice, *part);
    }
    std::vector<Value> weights(starts.size());
    for (auto [slice, part] : reads) {
      if (!weights[part])
        weights[part] = weightsOf(part);
      read(slice, weights[part], starts[part]);
    }
    Operation *dead = softmax;
    while (dead && dead->getNumOperands() && isOpTriviallyDead(dead)) { // up to the parts, which are still read
      Operation *above = dead->getOperand(0).getDefiningOp();
      dead->erase();
      dead = above;
    }
    return true;
  }

private:
  bool findParts() {
    auto dimensions = parseDimensions(std::string_view(softmax.getAxes()));
    along = concat.getDimension();
    if (!dimensions || concat.getInputs().size() < 2 || along >= dimensions->size() || !(*dimensions)[along].isAxis() ||
        (*dimensions)[along].axes[0] != softmax.getOver())
      return false;
    for (const Dimension &dimension : *dimensions)
      if (!dimension.isAxis())
        return false;
    int64_t start = 0;
    for (Value part : concat.getInputs()) {
      starts.push_back(start);
      int64_t size = shapeOf(part)[along];
      if (size == kRuntime)
        return false;
      start += size;
    }
    return true;
  }

  int64_t sizeOf(size_t part) { return shapeOf(concat.getInputs()[part])[along]; }

  /// Returns the part that holds all that the slice reads.
  std::optional<size_t> partOf(SliceOp slice) {
    int64_t first = slice.getOffsets()[along];
    int64_t last = first + slice.getStrides()[along] * (shapeOf(slice.getResult())[along] - 1);
    for (size_t part = 0; part < starts.size(); ++part)
      if (first >= starts[part] && last < starts[part] + sizeOf(part))
        return part;
    return std::nullopt;
  }

  /// Returns the mask over a part's keys; null if it leaves all of them.
  StringAttr maskOf(size_t part) {
    auto mask = softmax.getMask() ? parse(std::string_view(*softmax.getMask())) : std::nullopt;
    auto dimensions = parseDimensions(std::string_view(softmax.getAxes()));
    if (!mask)
      return {};
    Domain domain;
    for (auto [dimension, size] : llvm::zip(*dimensions, shapeOf(concat.getInputs()[part])))
      if (size != kRuntime)
        domain[dimension.axes[0]] = {0, size - 1};
    std::string over = softmax.getOver().str();
    Expr own = simplify(substitute(*mask, {{over, Expr::symbol(over) + Expr(starts[part])}}), domain);
    return own.isConstant(1) ? StringAttr() : b.getStringAttr(print(own));
  }

  Value logSumExp(size_t part) {
    Value scores = concat.getInputs()[part];
    StringAttr mask = maskOf(part);
    std::vector<int64_t> shape = shapeOf(scores);
    bool isOne = shape[along] == 1 && !mask;
    shape.erase(shape.begin() + int64_t(along));
    RankedTensorType type = tensorType(shape, b.getF32Type());
    if (isOne) {
      RankedTensorType own = type.clone(getElementTypeOrSelf(scores));
      Value number = ReshapeOp::create(b, own, scores);
      return own == type ? number : arith::ExtFOp::create(b, type, number);
    }
    auto result = LogSumExpOp::create(b, type, softmax.getAxesAttr(), softmax.getOverAttr(), mask,
                                      softmax.getSizesAttr(), ArrayAttr(), scores, ValueRange());
    bindIndices(result);
    return result;
  }

  Value number(double value, Value like) { return numberLike(b, b.getLoc(), like, value); }

  /// Returns exp(lse of the part) divided by the sum over all parts, relative to the greatest lse; 0 if no key is
  /// visible.
  Value shareOf(size_t part) {
    if (!greatest) {
      for (size_t k = 0; k < starts.size(); ++k)
        sums.push_back(logSumExp(k));
      greatest = number(kLeast, sums[0]);
      for (Value sum : sums)
        greatest = arith::MaximumFOp::create(b, greatest, sum);
      for (Value &sum : sums) {
        sum = math::ExpOp::create(b, arith::SubFOp::create(b, sum, greatest));
        all = all ? arith::AddFOp::create(b, all, sum) : sum;
      }
      all = arith::MaximumFOp::create(b, all, number(1, all));
    }
    return arith::DivFOp::create(b, sums[part], all);
  }

  Value weightsOf(size_t part) {
    Value scores = concat.getInputs()[part], share = shareOf(part);
    auto weights = SoftmaxOp::create(b, scores.getType(), softmax.getAxesAttr(), softmax.getOverAttr(), maskOf(part),
                                     softmax.getSizesAttr(), ArrayAttr(), scores, ValueRange());
    bindIndices(weights);
    auto type = cast<RankedTensorType>(scores.getType());
    if (!type.getElementType().isF32())
      share = arith::TruncFOp::create(b, cast<RankedTensorType>(share.getType()).clone(type.getElementType()), share);
    return arith::MulFOp::create(b, weights, repeated(share, type));
  }

  /// Repeats row numbers for each element of a row.
  Value repeated(Value rows, RankedTensorType type) {
    Einsum spec;
    Dimensions result;
    for (int64_t d = 0; d < type.getRank(); ++d)
      result.emplace_back().axes = {"x" + std::to_string(d)};
    spec.operands = {result};
    spec.operands[0].erase(spec.operands[0].begin() + int64_t(along));
    spec.result = result;
    AxisSizes sizes{{"x" + std::to_string(along), type.getDimSize(int64_t(along))}};
    return RearrangeOp::create(b, type, b.getStringAttr(print(spec)), sizesTo(b.getContext(), sizes), rows);
  }

  void read(SliceOp slice, Value weights, int64_t start) {
    SmallVector<int64_t> offsets(slice.getOffsets());
    offsets[along] -= start;
    bool isWhole = slice.getType() == weights.getType() && llvm::all_of(offsets, [](int64_t x) { return x == 0; });
    Value result = weights;
    if (!isWhole)
      result = SliceOp::create(b, slice.getType(), weights, offsets, slice.getStrides());
    slice.getResult().replaceAllUsesWith(result);
    slice.erase();
  }

  SoftmaxOp softmax;
  ConcatOp concat;
  ImplicitLocOpBuilder b;
  size_t along = 0;
  std::vector<int64_t> starts; // of the parts
  SmallVector<Value> sums;     // row sums of the parts' exponentials, divided by exp(greatest); all: of all parts
  Value greatest, all;
};

struct SplitSoftmax : skewer::impl::AttnSplitSoftmaxBase<SplitSoftmax> {
  void runOnOperation() override {
    for (SoftmaxOp softmax : llvm::make_early_inc_range(getOperation().getOps<SoftmaxOp>()))
      if (!sliceSoftmax(softmax))
        Split(softmax).run();
  }
};
} // namespace
