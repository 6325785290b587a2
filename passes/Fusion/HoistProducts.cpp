// attn-hoist-products: a sum inside a term that few positions distinguish is computed once, before the attention.
#include "mlir/IR/Builders.h"
#include "passes/Analysis/AxisProducts.h"
#include "passes/Analysis/TermClass.h"
#include "passes/Fusion/BuildEinsum.h"
#include "passes/Fusion/Provenance.h"
#include "passes/Passes.h"

namespace skewer {
#define GEN_PASS_DEF_ATTNHOISTPRODUCTS
#include "passes/Passes.h.inc"
} // namespace skewer

using namespace mlir;
using namespace skewer;
using namespace skewer::attn;
using namespace skewer::subscript;

// If a sum depends on offsets alone, schedules compute its numbers before the scores, once for each head or each call. A
// sum of fewer steps than this is then not worth a stage of its own.
static constexpr int64_t kFewSteps = 8;

namespace {
int64_t times(int64_t product, int64_t size) { // run-time sizes count as 1 on both sides of a comparison
  int64_t result;
  return __builtin_mul_overflow(product, std::max<int64_t>(size, 1), &result) ? INT64_MAX : result;
}

int64_t elementsOf(const std::vector<int64_t> &shape) {
  int64_t elements = 1;
  for (int64_t size : shape)
    elements = times(elements, size);
  return elements;
}

/// The sum of one term as a tensor of its own, with an axis for each subscript by which positions and heads read the
/// operands.
class HoistedProduct {
public:
  /// `read` must outlive the product, and describes the operation until the sum is hoisted.
  explicit HoistedProduct(const Term &read) : read(read), term(read.op), space(*read.space), resolved(read.einsum) {}

  /// Makes the term read the hoisted sum; returns false if the sum is better, or must be, computed pair by pair.
  bool hoist() {
    if (resolved.contracted.empty() || term.getFunction() || !isWorthIt() || !findAxes() || !isSmaller())
      return false;
    Value tensor = build();
    if (!tensor)
      return false;
    readFrom(tensor);
    return true;
  }

private:
  struct Axis {
    Expr subscript; // how the term reads the dimension
    int64_t size;
    std::string name;
    size_t place; // in the result; keys are last, so that they are contiguous
  };

  /// Returns false for products of a query vector with a key vector, or with a row of a table: the kernels are built
  /// for those.
  bool isWorthIt() {
    TermAnalysis analysis = analyse(read);
    switch (analysis.kind) {
    case TermKind::Materialised:
    case TermKind::KeyOnly:
      return true;
    case TermKind::ScalarOffset:
      return analysis.depth >= kFewSteps;
    case TermKind::PerToken:
      return analysis.query < 0;
    default:
      return false;
    }
  }

  bool findAxes() {
    for (auto [operand, subscripts] : llvm::zip(term.getInputs(), resolved.subscripts))
      if (usesAny(subscripts, space.query) && usesAny(subscripts, space.key) &&
          usesAny(subscripts, resolved.contracted)) {
        vectorsOfPairs = &subscripts;
        elementsOfPairs = elementsOf(shapeOf(operand));
      }
    for (auto [operand, subscripts] : llvm::zip(term.getInputs(), resolved.subscripts)) {
      bool sums = usesAny(subscripts, resolved.contracted);
      summed.push_back(sums);
      for (auto [subscript, extent] : llvm::zip(subscripts, shapeOf(operand)))
        if (sums && !findAxis(subscript, extent))
          return false;
    }
    // If one subscript depends on one side and another on both sides, the term multiplies vectors of queries, or of keys,
    // by rows of a table that pairs pick. It has no table of numbers that pairs pick.
    auto sides = [&](const Axis &axis) {
      return usesAny(axis.subscript, space.query) + usesAny(axis.subscript, space.key);
    };
    return !llvm::any_of(axes, [&](const Axis &axis) { return sides(axis) == 1; }) ||
           !llvm::any_of(axes, [&](const Axis &axis) { return sides(axis) == 2; });
  }

  const Axis *find(const Expr &e, int64_t extent) const {
    auto found = llvm::find_if(axes, [&](const Axis &axis) { return axis.subscript == e && axis.size == extent; });
    return found == axes.end() ? nullptr : &*found;
  }

  bool findAxis(const Expr &e, int64_t extent) {
    if (e.isConstant())
      return true;
    if (usesAny(e, resolved.contracted)) // a convolution's sum meets its positions in one dimension
      return llvm::all_of(symbolsOf(e), [&](auto &symbol) { return llvm::is_contained(resolved.contracted, symbol); });
    if (find(e, extent))
      return true;
    bool plain = e.isSymbol() && (extent == kRuntime || space.sizes.at(e.name()) == extent);
    if (extent == kRuntime && !plain)
      return false;
    size_t lead = space.leading.size(), place = usesAny(e, space.key) ? lead + 3 : lead + usesAny(e, space.query);
    if (plain && llvm::is_contained(space.leading, e.name())) {
      place = size_t(llvm::find(space.leading, e.name()) - space.leading.begin());
      // Heads that share vectors of pairs read the vectors of a query together. A run-time size must be first.
      if (extent != kRuntime && vectorsOfPairs && !usesAny(*vectorsOfPairs, {e.name()}))
        place = lead + 2;
    }
    auto behind = llvm::find_if(axes, [&](const Axis &axis) { return axis.place > place; });
    axes.insert(behind, {e, extent, plain ? e.name() : "r" + std::to_string(axes.size()), place});
    return true;
  }

  /// Returns whether fewer sums are computed, or the tensor is at most as large as one that already holds a vector for
  /// each pair.
  bool isSmaller() {
    int64_t elements = 1, pairs = times(space.queries(), space.keys());
    for (const Axis &axis : axes)
      elements = times(elements, axis.size);
    for (const std::string &axis : space.leading)
      pairs = times(pairs, space.sizes.at(axis));
    return elements <= pairs / 2 || elements <= elementsOfPairs;
  }

  Value build() {
    Summand sum(withoutComposed(term.getLoc()));
    for (const std::string &axis : resolved.contracted)
      sum.contracted[axis] = resolved.sizes.at(axis);
    for (auto [number, operand] : llvm::enumerate(term.getInputs())) {
      if (!summed[number])
        continue;
      Factor factor{operand, {}};
      for (auto [subscript, extent] : llvm::zip(resolved.subscripts[number], shapeOf(operand))) {
        const Axis *axis = find(subscript, extent);
        factor.subscripts.push_back(axis ? Expr::symbol(axis->name) : subscript);
      }
      sum.factors.push_back(std::move(factor));
    }
    std::vector<std::string> names;
    SmallVector<int64_t> shape;
    for (const Axis &axis : axes) {
      names.push_back(axis.name);
      shape.push_back(axis.size);
    }
    OpBuilder builder(term->getParentOfType<AttentionOp>());
    return buildEinsum(builder, sum, names, tensorType(shape, builder.getF32Type()));
  }

  /// Replaces the first summed operand by the tensor, and drops the other summed operands.
  void readFrom(Value tensor) {
    Einsum spec;
    SmallVector<Value> operands;
    bool placed = false;
    for (auto [number, operand] : llvm::enumerate(term.getInputs())) {
      if (!summed[number]) {
        spec.operands.push_back(resolved.spec.operands[number]);
        operands.push_back(operand);
      } else if (!std::exchange(placed, true)) {
        Dimensions dimensions;
        for (const Axis &axis : axes)
          dimensions.push_back(dimensionFor(axis.subscript, space.sizes, axis.size));
        spec.operands.push_back(std::move(dimensions));
        operands.push_back(tensor);
      }
    }
    term.getInputsMutable().assign(operands);
    term.setSubscripts(print(spec));
    AxisSizes given = sizesFrom(term.getSizesAttr());
    for (const std::string &axis : resolved.contracted)
      given.erase(axis);
    term.setSizesAttr(sizesTo(term.getContext(), given));
    term->setLoc(withoutContraction(term.getLoc()));
    bindIndices(term);
  }

  const Term &read;
  TermOp term;
  const ScoreSpace &space;
  const ResolvedEinsum &resolved;
  std::vector<bool> summed; // whether the sum is over each operand
  std::vector<Axis> axes;
  const std::vector<Expr> *vectorsOfPairs = nullptr; // of an operand with one vector for each query and key
  int64_t elementsOfPairs = 0;
};

struct HoistProducts : skewer::impl::AttnHoistProductsBase<HoistProducts> {
  void runOnOperation() override {
    getOperation().walk([](AttentionOp attention) {
      auto view = viewOf(attention);
      for (const Term &term : view->score)
        HoistedProduct(term).hoist();
    });
    eraseDead(getOperation());
  }
};
} // namespace
