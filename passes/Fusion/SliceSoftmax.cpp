// Weights that are computed together and read apart, as the two maps of Differential Transformer (arXiv:2410.05258),
// which its published code stacks: softmax(x)[:, :, 0] - λ softmax(x)[:, :, 1].
#include "passes/Fusion/SliceSoftmax.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "passes/Analysis/AxisNames.h"
#include "passes/Fusion/Views.h"

using namespace mlir;
using namespace skewer;
using namespace skewer::attn;
using namespace skewer::subscript;

namespace {

/// A tensor that index maps alone make of the weights, with the maps from the weights to it. Something else reads it.
struct Slice {
  Value tensor;
  SmallVector<Operation *> maps;
  std::vector<Expr> place; // the element of the weights that the element d0, d1, … of the tensor is
};

/// Returns the number of elements; dimensions of run-time sizes count as one.
int64_t knownElements(Value tensor) {
  int64_t elements = 1;
  for (int64_t size : shapeOf(tensor))
    elements *= size == kRuntime ? 1 : size;
  return elements;
}

class SliceSoftmax {
public:
  explicit SliceSoftmax(SoftmaxOp softmax) : softmax(softmax), b(softmax.getLoc(), softmax) {}

  bool run() {
    auto dimensions = parseDimensions(std::string_view(softmax.getAxes()));
    if (!dimensions)
      return false;
    for (const Dimension &dimension : *dimensions) {
      if (!dimension.isAxis())
        return false;
      axes.push_back(dimension.axes[0]);
    }
    taken = axes;
    if (softmax.getMask())
      for (const std::string &name : readsOf(*parse(std::string_view(*softmax.getMask()))))
        taken.push_back(name);
    along = llvm::find(axes, softmax.getOver().str()) - axes.begin();
    if (along == axes.size() || shapeOf(softmax.getInput())[along] == kRuntime || !collect(softmax.getResult(), {}) ||
        slices.size() < 2)
      return false;
    int64_t elements = 0;
    for (Slice &slice : slices) {
      if (!readsWholeRows(slice))
        return false;
      elements += knownElements(slice.tensor);
    }
    if (elements > knownElements(softmax.getResult()))
      return false;
    for (const Slice &slice : slices)
      rewrite(slice);
    return true;
  }

private:
  /// Finds the slices that are made of this tensor; returns false if something else than a map reads the weights.
  bool collect(Value tensor, const SmallVector<Operation *> &maps) {
    for (Operation *user : tensor.getUsers()) {
      auto map = mapOf(user);
      if (!map || !map->inside.isConstant(1)) {
        if (maps.empty())
          return false;
        if (llvm::none_of(slices, [&](const Slice &slice) { return slice.tensor == tensor; }))
          slices.push_back({tensor, maps, {}});
        continue;
      }
      SmallVector<Operation *> longer = maps;
      longer.push_back(user);
      if (!collect(user->getResult(0), longer))
        return false;
    }
    return true;
  }

  /// Returns whether the rows of the slice are rows of the weights, and sets the slice's place.
  bool readsWholeRows(Slice &slice) {
    std::vector<int64_t> shape = shapeOf(slice.tensor);
    Domain domain;
    for (auto [d, size] : llvm::enumerate(shape))
      if (size != kRuntime)
        domain["d" + std::to_string(d)] = {0, size - 1};
    slice.place = mapIndices(shape.size());
    for (Operation *map : llvm::reverse(slice.maps))
      slice.place = mapAt(*mapOf(map), slice.place).subscripts;
    for (Expr &subscript : slice.place)
      subscript = simplify(subscript, domain);
    const Expr &row = slice.place[along];
    return row.isSymbol() && shape[dimensionOf(row)] == shapeOf(softmax.getInput())[along] &&
           llvm::count_if(slice.place, [&](const Expr &e) { return symbolsOf(e).count(row.name()); }) == 1;
  }

  static size_t dimensionOf(const Expr &symbol) { return std::stoul(symbol.name().substr(1)); }

  void rewrite(const Slice &slice) {
    Value scores = softmax.getInput();
    for (Operation *map : slice.maps) {
      IRMapping mapping;
      mapping.map(map->getOperand(0), scores);
      scores = b.clone(*map, mapping)->getResult(0);
    }
    // Dimensions keep the names of those that they are.
    std::vector<std::string> names;
    for (size_t d = 0; d < shapeOf(slice.tensor).size(); ++d) {
      std::string name;
      for (auto [axis, subscript] : llvm::zip(axes, slice.place))
        if (subscript.isSymbol() && dimensionOf(subscript) == d && !llvm::is_contained(names, axis))
          name = axis;
      if (name.empty())
        taken.push_back(name = nextLeadingName(taken));
      names.push_back(name);
    }
    Substitution named, moved;
    for (auto [d, name] : llvm::enumerate(names))
      named["d" + std::to_string(d)] = Expr::symbol(name);
    for (auto [axis, subscript] : llvm::zip(axes, slice.place))
      moved[axis] = substitute(subscript, named);
    StringAttr mask;
    if (softmax.getMask())
      if (Expr own = substitute(*parse(std::string_view(*softmax.getMask())), moved); !own.isConstant(1))
        mask = b.getStringAttr(print(own));
    Dimensions dimensions;
    for (const std::string &name : names)
      dimensions.push_back({{name}, {}});
    auto weights = SoftmaxOp::create(b, scores.getType(), b.getStringAttr(print(dimensions)),
                                     b.getStringAttr(names[dimensionOf(slice.place[along])]), mask, DictionaryAttr(),
                                     ArrayAttr(), scores, ValueRange());
    bindIndices(weights);
    Value old = slice.tensor;
    old.replaceAllUsesWith(weights.getResult());
    for (Operation *map : llvm::reverse(slice.maps))
      if (isOpTriviallyDead(map))
        map->erase();
    if (isOpTriviallyDead(softmax))
      softmax->erase();
  }

  SoftmaxOp softmax;
  ImplicitLocOpBuilder b;
  std::vector<std::string> axes;  // of the weights
  std::vector<std::string> taken; // names of axes and of the index operands of the mask
  size_t along = 0;               // the axis of the rows
  SmallVector<Slice> slices;
};
} // namespace

bool skewer::sliceSoftmax(SoftmaxOp softmax) { return SliceSoftmax(softmax).run(); }
