// attn-split-products: rewrites products with weights as products of the weights of one softmax, or of one function,
// with one tensor of values. The patterns that move factors of the weights stand in MoveFactors.cpp.
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Transforms/GreedyPatternRewriteDriver.h"
#include "passes/Analysis/AxisProducts.h"
#include "passes/Fusion/BuildEinsum.h"
#include "passes/Fusion/ProductPatterns.h"
#include "passes/Fusion/Summands.h"
#include "passes/Fusion/Views.h"
#include "passes/Passes.h"

namespace skewer {
#define GEN_PASS_DEF_ATTNSPLITPRODUCTS
#include "passes/Passes.h.inc"
} // namespace skewer

using namespace mlir;
using namespace skewer;
using namespace skewer::attn;
using namespace skewer::subscript;

// Differential Transformer has two (arXiv:2410.05258). Each becomes an attention of its own.
static constexpr size_t kMostSoftmaxes = 4;
// Operations between a softmax and its product; a tensor that is read twice on the way is visited twice.
static constexpr unsigned kMostOperations = 12;

static size_t softmaxesIn(Value tensor, unsigned depth) {
  Operation *op = depth < kMostOperations ? tensor.getDefiningOp() : nullptr;
  if (isa_and_nonnull<SoftmaxOp>(op))
    return 1;
  if (isa_and_nonnull<arith::NegFOp>(op))
    return softmaxesIn(op->getOperand(0), depth + 1);
  if (isa_and_nonnull<arith::MulFOp, arith::DivFOp>(op)) {
    size_t left = softmaxesIn(op->getOperand(0), depth + 1), right = softmaxesIn(op->getOperand(1), depth + 1);
    return right && (left || isa<arith::DivFOp>(op)) ? 0 : left + right;
  }
  if (!isa_and_nonnull<arith::AddFOp, arith::SubFOp>(op))
    return 0;
  size_t left = softmaxesIn(op->getOperand(0), depth + 1);
  size_t right = left ? softmaxesIn(op->getOperand(1), depth + 1) : 0;
  return right && left + right <= kMostSoftmaxes ? left + right : 0;
}

size_t skewer::softmaxesIn(Value tensor) { return ::softmaxesIn(tensor, 0); }

static bool isMadeOfSums(Value tensor, Value of, unsigned depth) {
  Operation *op = depth < kMostOperations ? tensor.getDefiningOp() : nullptr;
  if (!op)
    return false;
  if (auto sum = dyn_cast<EinsumOp>(op); sum && sum.getInputs().size() == 1 && !resolve(sum).contracted.empty())
    return sum.getInputs()[0] == of;
  return llvm::any_of(op->getOperands(), [&](Value operand) {
    return isa<RankedTensorType>(operand.getType()) && isMadeOfSums(operand, of, depth + 1);
  });
}

bool skewer::isMadeOfSums(Value tensor, Value of) { return ::isMadeOfSums(tensor, of, 0); }

bool skewer::feedsProductsOnly(Operation *op) {
  return llvm::all_of(op->getUsers(), [](Operation *user) { return isa<EinsumOp>(user); });
}

bool skewer::isWide(Value tensor) { return getElementTypeOrSelf(tensor).isF32(); }

RankedTensorType skewer::widened(Value tensor) {
  auto type = cast<RankedTensorType>(tensor.getType());
  return RankedTensorType::get(type.getShape(), Float32Type::get(type.getContext()));
}

bool skewer::arePlain(const Dimensions &dimensions) {
  return llvm::all_of(dimensions, [](const Dimension &dimension) { return dimension.isProduct(); });
}

/// Returns the einsum of these operands.
static Einsum textOf(ArrayRef<NamedTensor> operands, const Dimensions &result) {
  Einsum spec{{}, result};
  llvm::append_range(spec.operands, llvm::make_second_range(operands));
  return spec;
}

bool Product::canWrite(ArrayRef<NamedTensor> operands, const Dimensions &result) const {
  return llvm::none_of(untoldAxes(textOf(operands, result)),
                       [&](const std::string &axis) { return resolved.sizes.at(axis) == kRuntime; });
}

Value Product::einsum(ArrayRef<NamedTensor> operands, const Dimensions &result, Type type, bool guarded) const {
  Einsum spec = textOf(operands, result);
  EinsumOp whole = op;
  auto made = EinsumOp::create(rewriter, whole.getLoc(), type, rewriter.getStringAttr(print(spec)),
                               sizesTo(whole.getContext(), untoldSizes(spec, resolved.sizes)),
                               guarded ? whole.getGuardAttr() : StringAttr(),
                               llvm::to_vector(llvm::make_first_range(operands)));
  bindIndices(made);
  return made;
}

EinsumOp Product::with(unsigned number, Value tensor) const {
  auto one = cast<EinsumOp>(rewriter.clone(*op));
  one.getInputsMutable()[number].set(tensor);
  return one;
}

LogicalResult ProductPattern::matchAndRewrite(EinsumOp op, PatternRewriter &rewriter) const {
  Product product(op, rewriter);
  if (!product.resolved.spec.result || product.resolved.contracted.empty())
    return rewriter.notifyMatchFailure(op, "nothing is summed over");
  if (!readsIndices && !op.getIndices().empty())
    return rewriter.notifyMatchFailure(op, "an operand is read through index operands");
  return rewrite(product);
}

std::optional<std::pair<Dimensions, Dimensions>> skewer::readAlike(const TensorRead &whole, const TensorRead &part) {
  std::pair<Dimensions, Dimensions> named;
  std::vector<std::string> places;
  for (auto [number, dimension] : llvm::enumerate(whole.first)) {
    places.push_back(print({dimension}));
    named.first.emplace_back().axes = {"o" + std::to_string(number)};
  }
  for (auto [dimension, size] : llvm::zip(part.first, part.second)) {
    auto place = llvm::find(places, print({dimension}));
    if (place == places.end() || whole.second[place - places.begin()] != size)
      return std::nullopt;
    named.second.push_back(named.first[place - places.begin()]);
    place->clear(); // a diagonal has two dimensions with one index
  }
  return named;
}

namespace {
// a[f] · s[f] · b -> (a · s)[f] · b        if `a` has all dimensions of `s` (a page and its scale)
struct GatherRows : ProductPattern {
  explicit GatherRows(MLIRContext *context) : ProductPattern(context, /*benefit=*/7, /*readsIndices=*/true) {}
  LogicalResult rewrite(Product &product) const override {
    EinsumOp op = product.op;
    const std::vector<Dimensions> &operands = product.resolved.spec.operands;
    if (operands.size() < 3)
      return failure();
    for (size_t whole = 0; whole < operands.size(); ++whole)
      for (size_t part = 0; part < operands.size(); ++part) {
        if (part == whole || arePlain(operands[part]) || operands[part].size() > operands[whole].size())
          continue;
        auto read = readAlike({operands[whole], shapeOf(op.getInputs()[whole])},
                              {operands[part], shapeOf(op.getInputs()[part])});
        if (!read)
          continue;
        SmallVector<NamedTensor> rows{{op.getInputs()[whole], read->first}, {op.getInputs()[part], read->second}}, rest;
        for (auto [number, input] : llvm::enumerate(op.getInputs()))
          if (number != part)
            rest.push_back({input, operands[number]});
        if (!product.canWrite(rows, read->first) || !product.canWrite(rest, product.result()))
          continue;
        rest[whole - (part < whole)].first =
            product.einsum(rows, read->first, widened(op.getInputs()[whole]), false);
        product.rewriter.replaceOp(op, product.einsum(rest, product.result(), op.getType(), true));
        return success();
      }
    return failure();
  }
};

// map(w) · v -> w · v, read at other dimensions        for the weights w of a softmax that are only taken apart, joined
//                                                      or put into another order
struct ReadWeights : ProductPattern {
  explicit ReadWeights(MLIRContext *context) : ProductPattern(context, /*benefit=*/8, /*readsIndices=*/true) {}
  LogicalResult rewrite(Product &product) const override {
    EinsumOp op = product.op;
    for (auto [number, input] : llvm::enumerate(op.getInputs())) {
      SmallVector<IndexMap> maps;
      Value weights = input;
      while (Operation *made = weights.getDefiningOp()) {
        auto map = mapOf(made);
        if (!map || !map->inside.isConstant(1))
          break;
        maps.push_back(*map);
        weights = made->getOperand(0);
      }
      if (maps.empty() || !arePlain(product.dimensions(number)) || !softmaxesIn(weights))
        continue;
      auto dimensions = below(product, number, maps, weights);
      if (!dimensions)
        continue;
      SmallVector<NamedTensor> operands;
      for (auto [other, tensor] : llvm::enumerate(op.getInputs()))
        operands.push_back({tensor, product.dimensions(other)});
      operands[number] = {weights, *dimensions};
      if (!product.canWrite(operands, product.result()))
        continue;
      product.rewriter.replaceOp(op, product.einsum(operands, product.result(), op.getType(), true));
      return success();
    }
    return failure();
  }

  /// Returns the dimensions of the tensor below the maps by the axes of the product; nothing if they are not products of
  /// the same axes.
  static std::optional<Dimensions> below(const Product &product, size_t number, ArrayRef<IndexMap> maps,
                                         Value tensor) {
    const Dimensions &before = product.dimensions(number);
    const AxisSizes &sizes = product.resolved.sizes;
    std::vector<std::string> singles;
    SmallVector<Expr> at;
    for (const Dimension &dimension : before) {
      at.push_back(flatIndex(dimension, sizes));
      llvm::copy_if(dimension.axes, std::back_inserter(singles), [&](auto &axis) { return sizes.at(axis) == 1; });
    }
    Dimensions dimensions;
    Domain domain = domainOf(sizes);
    std::vector<int64_t> shape = shapeOf(tensor);
    for (const IndexMap &map : maps) {
      std::vector<Expr> read = mapAt(map, at).subscripts;
      at.assign(read.begin(), read.end());
    }
    for (auto [subscript, extent] : llvm::zip(at, shape))
      dimensions.push_back(dimensionFor(simplify(subscript, domain), sizes, extent));
    restoreSingles(dimensions, shape, singles);
    size_t axes = 0;
    for (const Dimension &dimension : dimensions)
      axes += dimension.axes.size();
    if (!arePlain(dimensions) || axes != axesOf(dimensions).size() || axesOf(dimensions) != axesOf(before))
      return std::nullopt;
    return dimensions;
  }
};

// w · v -> round(w · v in f32)        if the product of 16 bits is about to be split: it is rounded once
struct WidenResult : ProductPattern {
  explicit WidenResult(MLIRContext *context) : ProductPattern(context, /*benefit=*/6) {}
  LogicalResult rewrite(Product &product) const override {
    EinsumOp op = product.op;
    auto isSplit = [](Value input) {
      Operation *made = input.getDefiningOp();
      return isa_and_nonnull<arith::AddFOp, arith::SubFOp, arith::MulFOp, arith::DivFOp>(made) &&
             (softmaxesIn(input) ||
              (isa<arith::DivFOp>(made) && isMadeOfSums(made->getOperand(1), made->getOperand(0))));
    };
    if (isWide(op) || llvm::none_of(op.getInputs(), isSplit))
      return failure();
    auto wide = cast<EinsumOp>(product.rewriter.clone(*op));
    wide.getResult().setType(widened(op));
    product.rewriter.replaceOpWithNewOp<arith::TruncFOp>(op, op.getType(), wide);
    return success();
  }
};

// w · v · o -> (w · v) · o        if `o` has no axis of the keys of a softmax's weights `w`: a last projection, a gate
struct MultiplyLater : ProductPattern {
  explicit MultiplyLater(MLIRContext *context) : ProductPattern(context, /*benefit=*/6, /*readsIndices=*/true) {}
  LogicalResult rewrite(Product &product) const override {
    EinsumOp op = product.op;
    if (op.getInputs().size() < 3 || op.getGuard() || !arePlain(product.result()))
      return failure();
    for (auto [number, input] : llvm::enumerate(op.getInputs()))
      if (softmaxesIn(input) && arePlain(product.dimensions(number)))
        return split(product, number);
    return failure();
  }

  static LogicalResult split(Product &product, size_t weights) {
    EinsumOp op = product.op;
    auto row = rowOf(op.getInputs()[weights]);
    if (!row || *row >= product.dimensions(weights).size())
      return failure();
    std::set<std::string> keys = axesOf({product.dimensions(weights)[*row]}), needed = axesOf(product.result());
    SmallVector<NamedTensor> first{{op.getInputs()[weights], product.dimensions(weights)}}, later;
    for (auto [number, input] : llvm::enumerate(op.getInputs()))
      if (number != weights)
        (readsAny(product.dimensions(number), keys) ? first : later).push_back({input, product.dimensions(number)});
    if (first.size() < 2 || later.empty())
      return failure();
    for (const NamedTensor &one : later) {
      if (!arePlain(one.second))
        return failure();
      needed.merge(axesOf(one.second));
    }
    Dimensions dimensions; // of the weighed values
    SmallVector<int64_t> shape;
    std::set<std::string> held;
    for (const NamedTensor &one : first)
      for (const Dimension &dimension : one.second)
        for (const std::string &axis : dimension.axes)
          if (needed.count(axis) && !keys.count(axis) && held.insert(axis).second)
            addProduct({axis}, product.resolved.sizes, dimensions, shape);
    SmallVector<NamedTensor> rest{{Value(), dimensions}};
    llvm::append_range(rest, later);
    if (!product.canWrite(first, dimensions) || !product.canWrite(rest, product.result()))
      return failure();
    if (isDearer(product, first, rest))
      return failure();
    auto type = RankedTensorType::get(shape, Float32Type::get(op.getContext()));
    rest.front().first = product.einsum(first, dimensions, type, false);
    product.rewriter.replaceOp(op, product.einsum(rest, product.result(), op.getType(), false));
    return success();
  }

  /// Returns whether the weights, the first of `first`, had better meet the later tensors before the values: heads that
  /// are mixed after the softmax would weigh the values of every head.
  static bool isDearer(Product &product, ArrayRef<NamedTensor> first, ArrayRef<NamedTensor> rest) {
    auto axesIn = [](ArrayRef<NamedTensor> tensors) {
      std::set<std::string> axes;
      for (const NamedTensor &one : tensors)
        axes.merge(axesOf(one.second));
      return axes;
    };
    auto elements = [&](const std::set<std::string> &axes, std::set<std::string> more) {
      more.insert(axes.begin(), axes.end());
      double count = 1; // axes of run-time sizes count as one
      for (const std::string &axis : more)
        if (auto size = product.resolved.sizes.find(axis); size != product.resolved.sizes.end() && size->second > 0)
          count *= double(size->second);
      return count;
    };
    std::set<std::string> weights = axesIn(first.take_front()), values = axesIn(first.drop_front()),
                          later = axesIn(rest.drop_front()), result = axesOf(product.result()), kept;
    for (const std::set<std::string> *axes : {&weights, &later})
      for (const std::string &axis : *axes)
        if (values.count(axis) || result.count(axis))
          kept.insert(axis);
    return elements(weights, values) + elements(axesIn(rest), {}) > elements(weights, later) + elements(kept, values);
  }

  /// Returns the dimension along which the softmax of these weights runs.
  static std::optional<size_t> rowOf(Value weights) {
    while (!weights.getDefiningOp<SoftmaxOp>()) {
      auto operands = weights.getDefiningOp()->getOperands();
      weights = *llvm::find_if(operands, [](Value operand) { return ::softmaxesIn(operand, 0) > 0; });
    }
    auto softmax = weights.getDefiningOp<SoftmaxOp>();
    auto dimensions = parseDimensions(std::string_view(softmax.getAxes()));
    auto over = parseDimensions(std::string_view(softmax.getOver()));
    if (!dimensions || !over)
      return std::nullopt;
    std::set<std::string> axes = axesOf(*over);
    for (size_t d = 0; d < dimensions->size(); ++d)
      if (axesOf({(*dimensions)[d]}) == axes)
        return d;
    return std::nullopt;
  }

  static bool readsAny(const Dimensions &dimensions, const std::set<std::string> &axes) {
    return llvm::any_of(dimensions, [&](const Dimension &dimension) {
      std::set<std::string> own(dimension.axes.begin(), dimension.axes.end());
      if (!dimension.isProduct())
        own = symbolsOf(dimension.index);
      return llvm::any_of(own, [&](const std::string &axis) { return axes.count(axis) > 0; });
    });
  }
};

// Σ q · k · e -> e ∘ Σ q · k        if `e` has one number for each element of the result
struct SplitPairs : ProductPattern {
  explicit SplitPairs(MLIRContext *context) : ProductPattern(context, /*benefit=*/5) {}
  LogicalResult rewrite(Product &product) const override {
    EinsumOp op = product.op;
    if (op.getInputs().size() < 3 || !isWide(op))
      return failure();
    for (auto [number, dimensions] : llvm::enumerate(product.resolved.spec.operands)) {
      if (!arePlain(dimensions) || print(dimensions) != print(product.result()) ||
          op.getInputs()[number].getType() != op.getType() || dimensions.size() < 2)
        continue;
      SmallVector<NamedTensor> rest;
      for (auto [other, input] : llvm::enumerate(op.getInputs()))
        if (other != number)
          rest.push_back({input, product.dimensions(other)});
      if (!product.canWrite(rest, product.result()))
        continue;
      Value sum = product.einsum(rest, product.result(), op.getType(), true);
      product.rewriter.replaceOpWithNewOp<arith::MulFOp>(op, sum, op.getInputs()[number]);
      return success();
    }
    return failure();
  }
};

// w · a · b -> w · (a ∘ b)        if one of `a` and `b` has the axes of both: one tensor of values
struct GatherValues : ProductPattern {
  explicit GatherValues(MLIRContext *context) : ProductPattern(context, /*benefit=*/4) {}
  LogicalResult rewrite(Product &product) const override {
    if (product.op.getInputs().size() < 3)
      return failure();
    for (unsigned weights = 0; weights < product.op.getInputs().size(); ++weights)
      if (isWeights(product.op.getInputs()[weights]) && succeeded(gather(product, weights)))
        return success();
    return failure();
  }

  static bool isWeights(Value tensor) {
    Operation *made = tensor.getDefiningOp();
    return softmaxesIn(tensor) || (made && isa<arith::ArithDialect>(made->getDialect())) ||
           (isa_and_nonnull<EinsumOp>(made) && cast<EinsumOp>(made).getGuard());
  }

  /// Returns whether no axis appears twice, as in the diagonal of a matrix: a tensor with these dimensions has all
  /// elements.
  static bool areDistinct(const Dimensions &dimensions) {
    size_t count = 0;
    for (const Dimension &dimension : dimensions)
      count += dimension.axes.size();
    return count == axesOf(dimensions).size();
  }

  static LogicalResult gather(Product &product, unsigned weights) {
    EinsumOp op = product.op;
    std::set<std::string> kept = axesOf(product.result()), own = axesOf(product.dimensions(weights)), others;
    SmallVector<NamedTensor> rest;
    size_t base = 0;
    for (auto [other, tensor] : llvm::enumerate(op.getInputs()))
      if (other != weights) {
        rest.push_back({tensor, product.dimensions(other)});
        others.merge(axesOf(product.dimensions(other)));
        if (rest.back().second.size() >= rest[base].second.size())
          base = rest.size() - 1;
      }
    const auto &[values, dimensions] = rest[base];
    // A scale for each block of keys is read at an index of the values' position, (j // 8).
    auto isOfAxes = [&](const Dimension &dimension) {
      return dimension.isProduct() ||
             llvm::all_of(symbolsOf(dimension.index), [&](auto &axis) { return others.count(axis) > 0; });
    };
    bool hasQuery = llvm::any_of(own, [&](auto &axis) { return kept.count(axis) && !others.count(axis); });
    bool areValues = arePlain(dimensions) && areDistinct(dimensions) && axesOf(dimensions) == others &&
                     llvm::all_of(rest, [&](auto &one) { return llvm::all_of(one.second, isOfAxes); });
    NamedTensor ofWeights{op.getInputs()[weights], product.dimensions(weights)};
    if (!hasQuery || !areValues || !product.canWrite(rest, dimensions) ||
        !product.canWrite({ofWeights, rest[base]}, product.result()))
      return failure();
    Value gathered = product.einsum(rest, dimensions, widened(values), false);
    product.rewriter.replaceOp(
        op, product.einsum({ofWeights, {gathered, dimensions}}, product.result(), op.getType(), true));
    return success();
  }
};

// (p - q) · v -> p · v - q · v        for softmaxes p and q: two attentions, and no weights in memory
struct SplitSum : ProductPattern {
  explicit SplitSum(MLIRContext *context) : ProductPattern(context, /*benefit=*/3) {}
  LogicalResult rewrite(Product &product) const override {
    EinsumOp op = product.op;
    for (unsigned number = 0; number < op.getInputs().size(); ++number) {
      Operation *sum = op.getInputs()[number].getDefiningOp();
      if (!isa_and_nonnull<arith::AddFOp, arith::SubFOp>(sum) || softmaxesIn(op.getInputs()[number]) < 2 ||
          !feedsProductsOnly(sum))
        continue;
      Value left = product.with(number, sum->getOperand(0)), right = product.with(number, sum->getOperand(1));
      if (isa<arith::AddFOp>(sum))
        product.rewriter.replaceOpWithNewOp<arith::AddFOp>(op, left, right);
      else
        product.rewriter.replaceOpWithNewOp<arith::SubFOp>(op, left, right);
      return success();
    }
    return failure();
  }
};

struct SplitProducts : skewer::impl::AttnSplitProductsBase<SplitProducts> {
  void runOnOperation() override {
    RewritePatternSet patterns(&getContext());
    patterns.add<ReadWeights, GatherRows, MultiplyLater, WidenResult, SplitPairs, GatherValues, SplitSum>(&getContext());
    populateMoveFactorPatterns(patterns);
    GreedyRewriteConfig config;
    // Folding is left out: constants and moves are other passes' work.
    config.setUseTopDownTraversal(true).enableFolding(false).enableConstantCSE(false);
    config.setRegionSimplificationLevel(GreedySimplifyRegionLevel::Disabled);
    config.setMaxIterations(GreedyRewriteConfig::kNoLimit);
    if (failed(applyPatternsGreedily(getOperation(), std::move(patterns), config)))
      signalPassFailure();
  }
};
} // namespace
