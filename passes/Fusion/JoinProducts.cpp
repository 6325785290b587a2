// Joins products of the same weights into one product with the values of all, side by side.
#include "passes/Fusion/JoinProducts.h"
#include "dialect/IR/Texts.h"
#include "mlir/Analysis/SliceAnalysis.h"
#include "mlir/Analysis/TopologicalSortUtils.h"
#include "passes/Fusion/BuildEinsum.h"

using namespace mlir;
using namespace skewer;
using namespace skewer::attn;
using namespace skewer::subscript;

namespace {
/// The dimensions of a tensor with the values' own axes as a single dimension: "j (h d)" becomes "j h d", and "j h p x"
/// becomes "j h (p x)".
struct Apart {
  Dimensions dimensions;
  SmallVector<int64_t> shape;
  size_t place = 0; // of that dimension
  /// Rearranges the tensor into these dimensions. All other dimensions get names of their own, since they may be read
  /// at an index.
  Einsum moves;

  bool movesNothing() const { return print(moves.operands[0]) == print(*moves.result); }
  /// Returns the type with so many columns, and with the elements of `like`.
  RankedTensorType typeWith(int64_t columns, Value like) const {
    SmallVector<int64_t> sizes = shape;
    sizes[place] = columns;
    return RankedTensorType::get(sizes, getElementTypeOrSelf(like));
  }
};

/// Returns the dimensions; nothing if the own axes do not follow each other in this order.
std::optional<Apart> apart(const Dimensions &dimensions, Value tensor, const std::vector<std::string> &own,
                           const AxisSizes &sizes) {
  Apart result;
  result.moves.operands.emplace_back();
  result.moves.result.emplace();
  auto extents = cast<RankedTensorType>(tensor.getType()).getShape();
  bool within = false, found = false; // the dimension of the own axes is still open; it exists
  for (auto [number, dimension] : llvm::enumerate(dimensions)) {
    if (llvm::none_of(dimension.axes, [&](const std::string &axis) { return llvm::is_contained(own, axis); })) {
      Dimension name{{"o" + std::to_string(number)}, {}};
      for (Dimensions *side : {&result.moves.operands[0], &*result.moves.result})
        side->push_back(name);
      result.dimensions.push_back(dimension);
      result.shape.push_back(extents[number]);
      within = false;
      continue;
    }
    result.moves.operands[0].push_back(dimension);
    for (const std::string &axis : dimension.axes) {
      bool isOwn = llvm::is_contained(own, axis);
      if (isOwn && within) {
        result.dimensions.back().axes.push_back(axis);
        result.moves.result->back().axes.push_back(axis);
        result.shape.back() *= sizes.at(axis);
        continue;
      }
      if (isOwn && found)
        return std::nullopt;
      within = isOwn, found |= isOwn;
      if (isOwn)
        result.place = result.dimensions.size();
      for (Dimensions *side : {&result.dimensions, &*result.moves.result})
        side->emplace_back().axes = {axis};
      result.shape.push_back(sizes.at(axis) == kRuntime ? ShapedType::kDynamic : sizes.at(axis));
    }
  }
  if (!found || result.dimensions[result.place].axes != own)
    return std::nullopt;
  return result;
}

/// A product of weights and values, and the values' own axes.
struct WeighedValues {
  EinsumOp op;
  unsigned valueOperand = 0;
  ResolvedEinsum resolved;
  std::vector<std::string> own; // axes of values and result that the weights lack
  Apart read, written;          // values and result

  Value value() const { return EinsumOp(op).getInputs()[valueOperand]; }
  Value result() const { return EinsumOp(op).getResult(); }
  int64_t width() const { return read.shape[read.place]; }
  /// Returns whether the columns of a query are adjacent in the result.
  bool hasRows() const { return written.place + 1 == written.shape.size(); }
};

std::optional<WeighedValues> productOf(EinsumOp op, Value weights) {
  if (op.getInputs().size() != 2 || op.getGuard() || !op.getIndices().empty() ||
      (op.getInputs()[0] == weights) == (op.getInputs()[1] == weights))
    return std::nullopt;
  WeighedValues product{op, op.getInputs()[0] == weights ? 1u : 0u, resolve(op), {}, {}, {}};
  const Einsum &spec = product.resolved.spec;
  if (!spec.result)
    return std::nullopt;
  const Dimensions &values = spec.operands[product.valueOperand];
  std::set<std::string> shared = axesOf(spec.operands[1 - product.valueOperand]), kept = axesOf(*spec.result);
  for (const Dimension &dimension : values)
    for (const std::string &axis : dimension.axes)
      if (!shared.count(axis) && kept.count(axis))
        product.own.push_back(axis);
  auto isIndexed = [&](const Dimension &dimension) {
    return !dimension.isProduct() && llvm::any_of(product.own, [&](const std::string &axis) {
      return symbolsOf(dimension.index).count(axis) > 0;
    });
  };
  auto isRuntime = [&](const std::string &axis) { return product.resolved.sizes.at(axis) == kRuntime; };
  if (product.own.empty() || llvm::any_of(product.own, isRuntime) || llvm::any_of(values, isIndexed) ||
      llvm::any_of(*spec.result, isIndexed))
    return std::nullopt;
  auto read = apart(values, product.value(), product.own, product.resolved.sizes);
  auto written = apart(*spec.result, product.result(), product.own, product.resolved.sizes);
  if (!read || !written)
    return std::nullopt;
  product.read = std::move(*read), product.written = std::move(*written);
  return product;
}

/// The axis that stands for the own axes, whatever their width.
constexpr const char *kColumns = "columns";

/// The dimensions that a product reads and writes, as texts whose axis names do not depend on the names in the program,
/// and the sizes of these axes.
struct Form {
  std::vector<std::string> weights, values, result;
  std::map<std::string, int64_t> sizes;
};

Form formOf(const WeighedValues &product) {
  Dimensions weights = product.resolved.spec.operands[1 - product.valueOperand], values = product.read.dimensions,
             result = product.written.dimensions;
  values[product.read.place].axes = result[product.written.place].axes = {kColumns};
  AxisRenaming names;
  for (const std::string &axis : Einsum{{weights, values}, result}.axes())
    names[axis] = "a" + std::to_string(names.size());
  Form form;
  for (auto [dimensions, texts] : {std::pair(&weights, &form.weights), std::pair(&values, &form.values),
                                   std::pair(&result, &form.result)})
    for (const Dimension &dimension : renamed(*dimensions, names))
      texts->push_back(print(Dimensions{dimension}));
  for (const auto &[axis, name] : names)
    form.sizes[name] = axis == kColumns ? 0 : product.resolved.sizes.at(axis);
  return form;
}

/// Returns for each dimension of `model` its number in `dimensions`; nothing if they are not a permutation of each
/// other.
std::optional<SmallVector<size_t>> orderOf(ArrayRef<std::string> dimensions, ArrayRef<std::string> model) {
  SmallVector<size_t> order;
  for (const std::string &wanted : model)
    for (size_t k = 0; k < dimensions.size(); ++k)
      if (dimensions[k] == wanted && !llvm::is_contained(order, k)) {
        order.push_back(k);
        break;
      }
  if (order.size() != model.size() || order.size() != dimensions.size())
    return std::nullopt;
  return order;
}

/// Puts the dimensions into another order.
void putInOrder(Apart &apart, ArrayRef<size_t> order) {
  Apart before = apart;
  for (auto [place, from] : llvm::enumerate(order)) {
    apart.dimensions[place] = before.dimensions[from];
    apart.shape[place] = before.shape[from];
    (*apart.moves.result)[place] = (*before.moves.result)[from];
    if (from == before.place)
      apart.place = place;
  }
}

/// Returns whether two products differ at most in the values' own axes and in the order of dimensions.
bool areAlike(const WeighedValues &one, const WeighedValues &other) {
  Form a = formOf(one), b = formOf(other);
  return a.weights == b.weights && a.sizes == b.sizes && orderOf(a.values, b.values) && orderOf(a.result, b.result) &&
         getElementTypeOrSelf(one.value()) == getElementTypeOrSelf(other.value()) &&
         getElementTypeOrSelf(one.result()) == getElementTypeOrSelf(other.result());
}

/// Puts the dimensions of a product into the order of `model`, which is alike.
void follow(WeighedValues &product, const WeighedValues &model) {
  Form own = formOf(product), wanted = formOf(model);
  putInOrder(product.read, *orderOf(own.values, wanted.values));
  putInOrder(product.written, *orderOf(own.result, wanted.result));
}

bool isMadeFrom(Value tensor, ArrayRef<WeighedValues> products) {
  SetVector<Operation *> slice;
  BackwardSliceOptions options;
  options.inclusive = true;
  if (!tensor.getDefiningOp() || failed(getBackwardSlice(tensor, &slice, options)))
    return false;
  return llvm::any_of(products, [&](const WeighedValues &product) { return slice.contains(product.op); });
}

/// Writes one product in place of several of one form.
class Joining {
public:
  explicit Joining(ArrayRef<WeighedValues> products)
      : products(products), first(products.front()), builder(EinsumOp(first.op)) {}

  void write() {
    Location location = EinsumOp(first.op).getLoc();
    SmallVector<Value> values;
    int64_t width = 0;
    for (const WeighedValues &product : products) {
      values.push_back(arranged(product, product.value(), product.read,
                                product.read.typeWith(product.width(), product.value()), false));
      width += product.width();
    }
    Value together = ConcatOp::create(builder, location, first.read.typeWith(width, first.value()), values,
                                      builder.getI64IntegerAttr(static_cast<int64_t>(first.read.place)));
    Value joined = product(together, first.written.typeWith(width, first.result()));
    SmallVector<int64_t> offsets(first.written.shape.size(), 0), strides(offsets.size(), 1);
    for (const WeighedValues &product : products) {
      Value before = product.result();
      Value part = SliceOp::create(builder, before.getLoc(), first.written.typeWith(product.width(), before), joined,
                                   builder.getDenseI64ArrayAttr(offsets), builder.getDenseI64ArrayAttr(strides));
      before.replaceAllUsesWith(arranged(product, part, product.written, before.getType(), true));
      offsets[first.written.place] += product.width();
    }
    sortTopologically(EinsumOp(first.op)->getBlock()); // values may be computed after the first product
  }

private:
  /// Returns the tensor with the own axes apart, in the order of the first product's dimensions; with `back`, undoes
  /// that.
  Value arranged(const WeighedValues &product, Value tensor, const Apart &apart, Type type, bool back) {
    if (apart.movesNothing())
      return tensor;
    Einsum spec = apart.moves;
    if (back)
      std::swap(spec.operands[0], *spec.result);
    AxisSizes sizes; // of all but one of the axes that a dimension is divided into
    for (const Dimension &dimension : spec.operands[0])
      for (const std::string &axis : ArrayRef<std::string>(dimension.axes).drop_back())
        sizes[axis] = product.resolved.sizes.at(axis);
    return RearrangeOp::create(builder, tensor.getLoc(), type, builder.getStringAttr(print(spec)),
                               sizesTo(builder.getContext(), sizes), tensor);
  }

  Value product(Value values, Type type) {
    Einsum spec = first.resolved.spec;
    spec.operands[first.valueOperand] = first.read.dimensions;
    spec.result = first.written.dimensions;
    for (Dimension *columns :
         {&spec.operands[first.valueOperand][first.read.place], &(*spec.result)[first.written.place]})
      columns->axes = {first.own.front()};
    SmallVector<Value> inputs(EinsumOp(first.op).getInputs());
    inputs[first.valueOperand] = values;
    AxisSizes sizes = untoldSizes(spec, first.resolved.sizes);
    return EinsumOp::create(builder, EinsumOp(first.op).getLoc(), type, builder.getStringAttr(print(spec)),
                            sizesTo(builder.getContext(), sizes), StringAttr(), inputs);
  }

  ArrayRef<WeighedValues> products;
  const WeighedValues &first;
  OpBuilder builder;
};
} // namespace

bool skewer::joinProducts(const WeightSource &source) {
  std::vector<WeighedValues> products;
  for (OpOperand &use : source.weights.getUses()) {
    auto einsum = dyn_cast<EinsumOp>(use.getOwner());
    if (llvm::is_contained(source.stored, &use) || llvm::is_contained(source.totals, einsum))
      continue;
    auto product = einsum ? productOf(einsum, source.weights) : std::nullopt;
    if (!product || (!products.empty() && !areAlike(products.front(), *product)))
      return false;
    products.push_back(std::move(*product));
  }
  if (products.size() < 2 ||
      llvm::any_of(products, [&](const WeighedValues &product) { return isMadeFrom(product.value(), products); }))
    return false;
  // The first product of the block leads, but products whose columns are adjacent in the result are before others.
  llvm::sort(products, [](const WeighedValues &a, const WeighedValues &b) {
    bool ofRows = a.hasRows(), otherOfRows = b.hasRows();
    return ofRows != otherOfRows ? ofRows : EinsumOp(a.op)->isBeforeInBlock(b.op);
  });
  for (WeighedValues &product : llvm::drop_begin(products))
    follow(product, products.front());
  Joining(products).write();
  return true;
}
