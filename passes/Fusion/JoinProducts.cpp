// Products of the same weights become one whose values are as wide as theirs together.
#include "passes/Fusion/JoinProducts.h"
#include "mlir/Analysis/SliceAnalysis.h"
#include "mlir/Analysis/TopologicalSortUtils.h"
#include "mlir/IR/Builders.h"

using namespace mlir;
using namespace skewer;
using namespace skewer::attn;
using namespace skewer::subscript;

namespace {
/// A product of weights and values that an axis of the values' own comes through.
struct Product {
  EinsumOp op;
  unsigned valueOperand = 0;
  ResolvedEinsum resolved;
  std::string axis; // along which values are put side by side

  Value value() const { return EinsumOp(op).getInputs()[valueOperand]; }
  Value result() const { return EinsumOp(op).getResult(); }
  const Dimensions &values() const { return resolved.spec.operands[valueOperand]; }
  int64_t width() const { return resolved.sizes.at(axis); }
};

/// The dimensions where the one that has the axis is one for each of its axes: "j (h d)" is "j h d".
Dimensions apart(const Dimensions &dimensions, const std::string &axis) {
  Dimensions result;
  for (const Dimension &dimension : dimensions) {
    if (!llvm::is_contained(dimension.axes, axis)) {
      result.push_back(dimension);
      continue;
    }
    for (const std::string &one : dimension.axes)
      result.emplace_back().axes = {one};
  }
  return result;
}

size_t placeOf(const Dimensions &dimensions, const std::string &axis) {
  return llvm::find_if(dimensions,
                       [&](const Dimension &dimension) { return dimension.axes == std::vector<std::string>{axis}; }) -
         dimensions.begin();
}

/// Gives axes the names that `names` has, and new ones to those that it lacks.
void rename(Dimensions &dimensions, std::map<std::string, std::string> &names) {
  auto nameOf = [&](const std::string &axis) {
    return names.try_emplace(axis, "a" + std::to_string(names.size())).first->second;
  };
  for (Dimension &dimension : dimensions) {
    for (std::string &axis : dimension.axes)
      axis = nameOf(axis);
    if (dimension.isProduct())
      continue;
    Substitution renamed;
    for (const std::string &axis : symbolsOf(dimension.index))
      renamed[axis] = Expr::symbol(nameOf(axis));
    dimension.index = substitute(dimension.index, renamed);
  }
}

std::optional<Product> productOf(EinsumOp op, Value weights) {
  if (op.getInputs().size() != 2 || op.getGuard() || !op.getIndices().empty() ||
      (op.getInputs()[0] == weights) == (op.getInputs()[1] == weights))
    return std::nullopt;
  Product product{op, op.getInputs()[0] == weights ? 1u : 0u, resolve(op), ""};
  if (!product.resolved.spec.result)
    return std::nullopt;
  // The last axis that values and result have and the weights do not.
  std::set<std::string> shared = axesOf(product.resolved.spec.operands[1 - product.valueOperand]),
                        kept = axesOf(*product.resolved.spec.result);
  for (const Dimension &dimension : product.values())
    for (const std::string &axis : dimension.axes)
      if (!shared.count(axis) && kept.count(axis))
        product.axis = axis;
  if (product.axis.empty() || product.width() == kRuntime)
    return std::nullopt;
  auto isIndexed = [&](const Dimension &dimension) {
    return !dimension.isProduct() && symbolsOf(dimension.index).count(product.axis);
  };
  if (llvm::any_of(product.values(), isIndexed) || llvm::any_of(*product.resolved.spec.result, isIndexed))
    return std::nullopt;
  return product;
}

/// What it reads and where it puts it, by names that do not depend on what the program called its axes; and the sizes
/// of those, but for the width.
std::pair<std::string, std::vector<int64_t>> formOf(const Product &product) {
  Einsum spec = product.resolved.spec;
  std::map<std::string, std::string> names;
  Dimensions weights = spec.operands[1 - product.valueOperand], values = product.values(), result = *spec.result;
  for (Dimensions *dimensions : {&weights, &values, &result})
    rename(*dimensions, names);
  std::map<std::string, int64_t> sizes;
  for (const auto &[axis, name] : names)
    sizes[name] = axis == product.axis ? 0 : product.resolved.sizes.at(axis);
  std::vector<int64_t> inOrder;
  for (const auto &entry : sizes)
    inOrder.push_back(entry.second);
  return {print(weights) + ", " + print(values) + " -> " + print(result), inOrder};
}

/// Whether two products differ in the width of their values at most.
bool areAlike(const Product &one, const Product &other) {
  auto typeOf = [](Value tensor) { return cast<RankedTensorType>(tensor.getType()).getElementType(); };
  return formOf(one) == formOf(other) && typeOf(one.value()) == typeOf(other.value()) &&
         typeOf(one.result()) == typeOf(other.result());
}

bool isMadeFrom(Value tensor, ArrayRef<Product> products) {
  SetVector<Operation *> slice;
  BackwardSliceOptions options;
  options.inclusive = true;
  if (!tensor.getDefiningOp() || failed(getBackwardSlice(tensor, &slice, options)))
    return false;
  return llvm::any_of(products, [&](const Product &product) { return slice.contains(product.op); });
}

/// Writes one product in place of several of one form.
class Joining {
public:
  explicit Joining(ArrayRef<Product> products) : products(products), first(products.front()), builder(first.op) {}

  void write() {
    Dimensions read = apart(first.values(), first.axis), written = apart(results(), first.axis);
    size_t valuePlace = placeOf(read, first.axis), resultPlace = placeOf(written, first.axis);
    SmallVector<Value> values;
    int64_t width = 0;
    for (const Product &product : products) {
      values.push_back(
          arranged(product.value(), first.values(), false, typeApart(product.value(), first.values(), product.width())));
      width += product.width();
    }
    Location location = EinsumOp(first.op).getLoc();
    Value together = ConcatOp::create(builder, location, typeApart(first.value(), first.values(), width), values,
                                      builder.getI64IntegerAttr(int64_t(valuePlace)));
    Value joined = product(together, read, written, typeApart(first.result(), results(), width));
    SmallVector<int64_t> offsets(written.size(), 0), strides(written.size(), 1);
    for (const Product &product : products) {
      Value before = product.result();
      Value part =
          SliceOp::create(builder, before.getLoc(), typeApart(first.result(), results(), product.width()), joined,
                          builder.getDenseI64ArrayAttr(offsets), builder.getDenseI64ArrayAttr(strides));
      before.replaceAllUsesWith(arranged(part, results(), true, before.getType()));
      offsets[resultPlace] += product.width();
    }
    sortTopologically(EinsumOp(first.op)->getBlock()); // values may be made behind the first product
  }

private:
  const Dimensions &results() const { return *first.resolved.spec.result; }
  int64_t sizeOf(const std::string &axis) const { return first.resolved.sizes.at(axis); }

  /// Of a tensor of these dimensions when the axis, so many columns, has one of its own.
  RankedTensorType typeApart(Value tensor, const Dimensions &dimensions, int64_t columns) const {
    auto type = cast<RankedTensorType>(tensor.getType());
    SmallVector<int64_t> shape;
    for (auto [dimension, extent] : llvm::zip(dimensions, type.getShape())) {
      if (!llvm::is_contained(dimension.axes, first.axis)) {
        shape.push_back(extent);
        continue;
      }
      for (const std::string &axis : dimension.axes)
        shape.push_back(axis == first.axis ? columns : sizeOf(axis));
    }
    return RankedTensorType::get(shape, type.getElementType());
  }

  /// The tensor with the axis in a dimension of its own, or back in that of several axes, as `type` says.
  Value arranged(Value tensor, const Dimensions &together, bool isApart, Type type) {
    Dimensions merged; // others by names of their own: they may be read at an index
    AxisSizes sizes;
    for (auto [number, dimension] : llvm::enumerate(together)) {
      Dimension &one = merged.emplace_back();
      one.axes = {"o" + std::to_string(number)};
      if (!llvm::is_contained(dimension.axes, first.axis))
        continue;
      if (dimension.isAxis())
        return tensor;
      one.axes = dimension.axes;
      for (const std::string &axis : dimension.axes)
        if (axis != first.axis)
          sizes[axis] = sizeOf(axis);
    }
    Einsum spec;
    spec.operands = {isApart ? apart(merged, first.axis) : merged};
    spec.result = isApart ? merged : apart(merged, first.axis);
    return RearrangeOp::create(builder, tensor.getLoc(), type, builder.getStringAttr(print(spec)),
                               isApart ? DictionaryAttr() : sizesTo(builder.getContext(), sizes), tensor);
  }

  /// Sizes of axes that stand in no dimension of the operands alone.
  DictionaryAttr untold(const Einsum &spec) const {
    AxisSizes sizes;
    for (bool alone : {false, true})
      for (const Dimensions &operand : spec.operands)
        for (const Dimension &dimension : operand)
          for (const std::string &axis : dimension.axes)
            if (dimension.isAxis() == alone) {
              if (alone)
                sizes.erase(axis);
              else if (sizeOf(axis) != kRuntime)
                sizes[axis] = sizeOf(axis);
            }
    return sizes.empty() ? DictionaryAttr() : sizesTo(builder.getContext(), sizes);
  }

  Value product(Value values, const Dimensions &read, const Dimensions &written, Type type) {
    Einsum spec = first.resolved.spec;
    spec.operands[first.valueOperand] = read;
    spec.result = written;
    SmallVector<Value> inputs(EinsumOp(first.op).getInputs());
    inputs[first.valueOperand] = values;
    return EinsumOp::create(builder, EinsumOp(first.op).getLoc(), type, builder.getStringAttr(print(spec)),
                            untold(spec), StringAttr(), inputs);
  }

  ArrayRef<Product> products;
  const Product &first;
  OpBuilder builder;
};
} // namespace

bool skewer::joinProducts(const WeightSource &source) {
  SmallVector<Product> products;
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
      llvm::any_of(products, [&](const Product &product) { return isMadeFrom(product.value(), products); }))
    return false;
  llvm::sort(products, [](const Product &a, const Product &b) { return EinsumOp(a.op)->isBeforeInBlock(b.op); });
  Joining(products).write();
  return true;
}
