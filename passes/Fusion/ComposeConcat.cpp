// attn-compose-concat: a concatenation of parts of one tensor in another order becomes that tensor through an index
// map.
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/Builders.h"
#include "passes/Analysis/AxisProducts.h"
#include "passes/Fusion/BuildEinsum.h"
#include "passes/Fusion/Provenance.h"
#include "passes/Fusion/Views.h"
#include "passes/Passes.h"

namespace skewer {
#define GEN_PASS_DEF_ATTNCOMPOSECONCAT
#include "passes/Passes.h.inc"
} // namespace skewer

using namespace mlir;
using namespace skewer;
using namespace skewer::attn;
using namespace skewer::subscript;

namespace {
/// The tensor that a part is read from, where, and its sign. Symbols are d0, d1, …, the part's indices.
struct Source {
  Value tensor;
  std::vector<Expr> subscripts;
  double sign = 1;
};

std::string indexName(size_t dimension) { return "d" + std::to_string(dimension); }

Domain domainOfShape(const std::vector<int64_t> &shape) {
  Domain domain;
  for (auto [d, size] : llvm::enumerate(shape))
    if (size != kRuntime)
      domain[indexName(d)] = {0, size - 1};
  return domain;
}

/// Returns the part itself, then the tensor that it is a view or the negation of, and so on.
std::vector<Source> sourcesOf(Value part) {
  Source source{part, {}};
  std::vector<int64_t> shape = shapeOf(part);
  Domain domain = domainOfShape(shape);
  for (size_t d = 0; d < shape.size(); ++d)
    source.subscripts.push_back(Expr::symbol(indexName(d)));
  std::vector<Source> sources{source};
  while (Operation *op = source.tensor.getDefiningOp()) {
    if (isa<arith::NegFOp>(op)) {
      source.sign = -source.sign;
    } else if (auto map = mapOf(op); map && map->inside.isConstant(1)) {
      source.subscripts = mapAt(*map, source.subscripts).subscripts;
      for (Expr &subscript : source.subscripts)
        subscript = simplify(subscript, domain);
    } else {
      break;
    }
    source.tensor = op->getOperand(0);
    sources.push_back(source);
  }
  return sources;
}

/// Returns the nearest tensor that all parts are read from, once for each part; empty if there is none.
std::vector<Source> commonSource(ConcatOp concat) {
  std::vector<std::vector<Source>> chains;
  for (Value part : concat.getInputs())
    chains.push_back(sourcesOf(part));
  for (const Source &first : chains.front()) {
    std::vector<Source> found;
    for (const std::vector<Source> &chain : chains)
      for (const Source &source : chain)
        if (source.tensor == first.tensor) {
          found.push_back(source);
          break;
        }
    if (found.size() == chains.size())
      return found;
  }
  return {};
}

class Composition {
public:
  explicit Composition(ConcatOp concat)
      : concat(concat), along(concat.getDimension()), index(Expr::symbol(indexName(along))),
        shape(shapeOf(concat.getResult())) {}

  /// Returns the concatenation as a view of one tensor, with a sign vector if parts are negated; null if it is no such
  /// view.
  Value build() {
    if (concat.getInputs().size() < 2 || shape[along] == kRuntime)
      return {};
    sources = commonSource(concat);
    if (sources.empty())
      return {};
    int64_t start = 0;
    for (Value part : concat.getInputs()) {
      starts.push_back(start);
      start += shapeOf(part)[along];
    }
    Summand view(concat.getLoc());
    Factor factor{sources[0].tensor, {}};
    std::vector<int64_t> extents = shapeOf(factor.operand);
    for (size_t d = 0; d < extents.size(); ++d) {
      auto subscript = compose(d, extents[d]);
      if (!subscript)
        return {};
      factor.subscripts.push_back(*subscript);
    }
    view.factors.push_back(std::move(factor));
    OpBuilder builder(concat);
    if (llvm::any_of(sources, [&](const Source &source) { return source.sign != 1; }))
      view.factors.push_back({signs(builder), {index}});
    std::vector<std::string> names;
    for (size_t d = 0; d < shape.size(); ++d)
      names.push_back(indexName(d));
    view.location = withComposed(view.location, concat);
    return buildEinsum(builder, view, names, cast<RankedTensorType>(concat.getType()));
  }

private:
  /// Returns how dimension `d` of the source is read: alike by all parts, or by a rotation of its `extent` elements.
  std::optional<Expr> compose(size_t d, int64_t extent) {
    std::vector<Expr> read;
    Domain domain = domainOfShape(shape);
    for (auto [source, start] : llvm::zip(sources, starts))
      read.push_back(simplify(substitute(source.subscripts[d], {{index.name(), index - Expr(start)}}), domain));
    if (llvm::all_equal(read))
      return read[0];
    auto first = evaluate(read[0], {{index.name(), 0}});
    if (extent == kRuntime || !first)
      return std::nullopt;
    Expr rotated = simplify(mod(index + Expr(*first), Expr(extent)), domain);
    for (auto [number, part] : llvm::enumerate(concat.getInputs()))
      for (int64_t at = starts[number], end = at + shapeOf(part)[along]; at < end; ++at)
        if (auto element = evaluate(read[number], {{index.name(), at}});
            !element || element != evaluate(rotated, {{index.name(), at}}))
          return std::nullopt;
    return rotated;
  }

  Value signs(OpBuilder &builder) {
    Type element = getElementTypeOrSelf(concat);
    SmallVector<Attribute> numbers;
    for (auto [source, part] : llvm::zip(sources, concat.getInputs()))
      numbers.append(shapeOf(part)[along], builder.getFloatAttr(element, source.sign));
    auto type = RankedTensorType::get({shape[along]}, element);
    return arith::ConstantOp::create(builder, concat.getLoc(), DenseElementsAttr::get(type, numbers));
  }

  ConcatOp concat;
  size_t along;
  Expr index;
  std::vector<int64_t> shape, starts;
  std::vector<Source> sources; // of each part
};

struct ComposeConcat : skewer::impl::AttnComposeConcatBase<ComposeConcat> {
  void runOnOperation() override {
    SmallVector<ConcatOp> concats;
    getOperation().walk([&](ConcatOp concat) { concats.push_back(concat); });
    for (ConcatOp concat : concats)
      if (Value view = Composition(concat).build())
        concat.getResult().replaceAllUsesWith(view);
    eraseDead(getOperation());
  }
};
} // namespace
