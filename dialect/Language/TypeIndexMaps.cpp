// The typing of skew, pad, reshape, slices and gather.
#include "dialect/Language/Typer.h"
#include "dialect/Subscript/Arithmetic.h"
#include "llvm/ADT/SmallVector.h"

using namespace llvm;

namespace skewer::language {
using subscript::kRuntime;

/// Adds an operation that moves the elements of the tensor to other places.
Value Moves::move(const Node &node, typed::Operation operation, const Value &value, Dimensions dimensions) {
  typed::Tensor *moved = append(node, std::move(operation), value.tensor, dimensions, value.tensor->element);
  return tensorValue(moved, std::move(dimensions));
}

Value Moves::typeSkew(const Node &node) {
  if (!typer.expressions.checkArguments(node, 1, 1, {}, "skew(x): the last two dimensions [l, 2*l - 1] become [l, l]"))
    return {};
  auto operand = typer.expressions.tensorArgument(node, 0, true);
  if (!operand)
    return {};
  Dimensions dimensions = operand->dimensions;
  size_t rank = dimensions.size();
  if (rank < 2 || dimensions[rank - 1].isRuntime() || dimensions[rank - 2].isRuntime() ||
      dimensions[rank - 1].size != 2 * dimensions[rank - 2].size - 1)
    return error(node.operands[0]->text,
                 "'skew' takes a tensor whose last two dimensions are [l, 2*l - 1], found " + describe(dimensions));
  dimensions.back() = {dimensions[rank - 2].size, "", {}};
  return typer.absent.carried(move(node, typed::Skew{}, *operand, std::move(dimensions)), *operand);
}

Value Moves::typePad(const Node &node) {
  StringRef usage = "pad(x, low = [0, 1], high = [0, 0], value = 0), or pad(x, (low, high)) of the last dimension";
  if (!typer.expressions.checkArguments(node, 1, 9, {"low", "high", "value"}, usage))
    return {};
  auto operand = typer.expressions.tensorArgument(node, 0, true);
  if (!operand)
    return {};
  Dimensions dimensions = operand->dimensions;
  size_t rank = dimensions.size();
  std::vector<int64_t> low(rank, 0), high(rank, 0);
  for (auto [name, list] : {std::pair(StringRef("low"), &low), std::pair(StringRef("high"), &high)})
    if (const Node *given = typer.expressions.keyword(node, name)) {
      auto wholes = typer.expressions.evaluateWholes(*given, "'" + name.str() + "'");
      if (!wholes)
        return {};
      if (wholes->size() > rank)
        return error(given->text, "'" + name.str() + "' has " + std::to_string(wholes->size()) +
                                      " elements, but the tensor has " + std::to_string(rank) + " dimensions");
      llvm::copy(*wholes, list->end() - wholes->size());
    }
  size_t pairs = node.operands.size() - 1;
  for (StringRef name : {"low", "high"})
    if (const Node *given = typer.expressions.keyword(node, name); given && pairs > 0) {
      error(given->text, "the borders are given twice: by pairs, and by '" + name.str() + "'");
      diagnostics.note("usage: " + usage.str());
      return {};
    }
  if (pairs > rank)
    return error(node.text, "there are " + std::to_string(pairs) + " pairs, but the tensor has " +
                                std::to_string(rank) + " dimensions");
  for (size_t k = 0; k < pairs; ++k) {
    const Node &given = *node.operands[k + 1];
    bool isListOfPairs =
        given.kind == NodeKind::Tuple && !given.operands.empty() && given.operands[0]->kind == NodeKind::Tuple;
    if (isListOfPairs) {
      error(given.text, "expected a pair (low, high), found a list of lists");
      diagnostics.note("each pair is an argument of its own, the last for the last dimension: pad(x, (1, 1), (0, 0))");
      return {};
    }
    auto pair = typer.expressions.evaluateWholes(given, "a pair (low, high)");
    if (!pair)
      return {};
    if (pair->size() != 2)
      return error(given.text, "expected a pair (low, high), found " + std::to_string(pair->size()) + " elements");
    low[rank - pairs + k] = (*pair)[0];
    high[rank - pairs + k] = (*pair)[1];
  }
  double value = 0;
  if (const Node *given = typer.expressions.keyword(node, "value")) {
    Value number = evaluate(*given);
    if (!number.good())
      return {};
    if (!number.is(ValueKind::Number))
      return error(given->text, "'value' is a number, found " + describe(number));
    value = number.number;
  }
  for (size_t d = 0; d < rank; ++d) {
    if (low[d] < 0 || high[d] < 0)
      return error(node.text, "a border has at least 0 elements; a slice removes elements");
    if (!low[d] && !high[d])
      continue;
    if (dimensions[d].isRuntime())
      return error(node.text, "dimension " + std::to_string(d + 1) + " has the run-time size '" +
                                  dimensions[d].runtime + "' and cannot be padded");
    int64_t limit = int64_t(1) << 46;
    if (low[d] > limit || high[d] > limit)
      return error(node.text, "the border has more than 2^46 elements");
    dimensions[d] = {dimensions[d].size + low[d] + high[d], "", {}};
  }
  return typer.absent.carried(move(node, typed::Pad{low, high, value}, *operand, std::move(dimensions)), *operand);
}

Value Moves::reshapeTo(const Node &node, Value value, Dimensions dimensions) {
  return typer.absent.carried(move(node, typed::Reshape{}, value, std::move(dimensions)), value);
}

/// Returns the sizes of reshape(x, [a, b]), reshape(x, a, b), or of a list with a name, each with the text for errors.
std::optional<std::vector<std::pair<StringRef, Value>>> Moves::reshapedSizes(const Node &node) {
  std::vector<std::pair<StringRef, Value>> sizes;
  for (const NodePtr &given : llvm::drop_begin(node.operands)) {
    Value value = evaluate(*given);
    if (!value.good())
      return std::nullopt;
    if (!value.is(ValueKind::List) || node.operands.size() > 2) {
      sizes.push_back({given->text, std::move(value)});
      continue;
    }
    for (auto [place, item] : enumerate(value.items))
      sizes.push_back({given->kind == NodeKind::Tuple ? given->operands[place]->text : given->text, item});
  }
  return sizes;
}

Value Moves::typeReshape(const Node &node) {
  if (!typer.expressions.checkArguments(node, 2, 12, {}, "reshape(x, [batch, heads, N + 1, N]); one size may be -1"))
    return {};
  auto operand = typer.expressions.tensorArgument(node, 0, true);
  if (!operand)
    return {};
  auto sizes = reshapedSizes(node);
  if (!sizes)
    return {};
  Dimensions dimensions;
  int64_t product = 1, elements = 1;
  std::optional<size_t> open;
  for (const Dimension &d : operand->dimensions)
    elements *= d.isRuntime() ? 1 : d.size;
  for (auto &[text, value] : *sizes) {
    if (value.is(ValueKind::Size)) {
      dimensions.push_back({kRuntime, value.name, {}});
      continue;
    }
    if (!value.isWhole() || value.integer == 0 || value.integer < -1)
      return error(text, "a size is a whole number of at least 1, found " + describe(value));
    if (value.integer == -1) {
      if (open)
        return error(text, "only one size can be -1");
      open = dimensions.size();
    } else {
      auto next = subscript::checkedMultiply(product, value.integer);
      if (!next)
        return error(text, "the sizes do not fit 64 bits");
      product = *next;
    }
    dimensions.push_back({value.integer, "", {}});
  }
  if (open) {
    if (elements % product)
      return error(node.text, std::to_string(elements) + " elements do not divide by " + std::to_string(product));
    dimensions[*open].size = elements / product;
    product = elements;
  }
  if (product != elements)
    return error(node.text, "cannot reshape " + describe(operand->dimensions) + " to " + describe(dimensions) + ": " +
                                std::to_string(elements) + " elements against " + std::to_string(product));
  for (size_t d = 0; d < std::max(dimensions.size(), operand->dimensions.size()); ++d) {
    auto runtime = [&](const Dimensions &list) { return d < list.size() ? list[d].runtime : std::string(); };
    if (runtime(dimensions) != runtime(operand->dimensions) || (d > 0 && !runtime(dimensions).empty()))
      return error(node.text, "cannot reshape " + describe(operand->dimensions) + " to " + describe(dimensions) +
                                  ": a run-time size stays the first dimension, where it is written by its name");
  }
  // Unchanged leading dimensions keep their names.
  for (size_t d = 0;
       d < std::min(dimensions.size(), operand->dimensions.size()) && dimensions[d].size == operand->dimensions[d].size;
       ++d)
    dimensions[d].namings = operand->dimensions[d].namings;
  return reshapeTo(node, *operand, std::move(dimensions));
}

/// Returns the place in a dimension that a subscript names; a negative one counts from the end.
std::optional<int64_t> Moves::placeIn(const Node &subscript, int64_t size, StringRef what) {
  auto at = typer.expressions.evaluateWhole(subscript, what);
  if (!at)
    return std::nullopt;
  if (*at < -size || *at >= size) {
    error(subscript.text, "the dimension has size " + std::to_string(size) + ", found place " + std::to_string(*at));
    return std::nullopt;
  }
  return *at < 0 ? *at + size : *at;
}

/// Returns the range of low:high:step in a dimension of that size.
std::optional<Moves::SliceRun> Moves::sliceRun(const Node &slice, int64_t size) {
  auto end = [&](const NodePtr &part, int64_t otherwise) -> std::optional<int64_t> {
    if (!part)
      return otherwise;
    auto value = typer.expressions.evaluateWhole(*part, "the end of a slice");
    if (!value)
      return std::nullopt;
    if (*value < -size || *value > size) {
      error(part->text, "the dimension has size " + std::to_string(size) + ", found " + std::to_string(*value));
      return std::nullopt;
    }
    return *value < 0 ? *value + size : *value;
  };
  auto low = end(slice.operands[0], 0), high = end(slice.operands[1], size);
  if (!low || !high)
    return std::nullopt;
  int64_t step = 1;
  if (const NodePtr &given = slice.operands[2]) {
    auto value = typer.expressions.evaluateWhole(*given, "the step of a slice");
    if (!value)
      return std::nullopt;
    if ((step = *value) < 1) {
      error(given->text, "the step of a slice is at least 1, found " + std::to_string(step));
      if (step < 0)
        diagnostics.note("backwards is an index expression: einsum(\"(len(i) - 1 - i) d -> i d\", x, i = N)");
      return std::nullopt;
    }
  }
  if (*low >= *high) {
    error(slice.text, "this slice is empty: from " + std::to_string(*low) + " up to " + std::to_string(*high));
    return std::nullopt;
  }
  return SliceRun{*low, *high, step};
}

/// The state of slicing a tensor, dimension by dimension.
struct Moves::Slicing {
  Dimensions sliced;                     // the dimensions of the tensor, after cutting
  Dimensions shown = {};                 // the remaining ones of these, and new ones
  std::vector<int64_t> offsets, strides; // for each dimension of the tensor
  size_t position = 0;                   // the number of the tensor's next dimension
  bool isCut = false, isReshaped = false;

  explicit Slicing(const Dimensions &all) : sliced(all), offsets(all.size(), 0), strides(all.size(), 1) {}
  void takeWhole(size_t count) {
    while (count-- > 0)
      shown.push_back(sliced[position++]);
  }
};

/// Applies a subscript to the next dimension: it takes a range, or a single place, which removes the dimension.
bool Moves::sliceNext(const Node &item, Slicing &slicing) {
  bool isRun = item.kind == NodeKind::Slice;
  if (isRun && !item.operands[0] && !item.operands[1] && !item.operands[2]) {
    slicing.takeWhole(1);
    return true;
  }
  Dimension &dimension = slicing.sliced[slicing.position];
  int64_t size = dimension.size;
  if (dimension.isRuntime()) {
    error(item.text, "a dimension of the run-time size '" + dimension.runtime + "' is taken whole: ':'");
    return false;
  }
  std::optional<SliceRun> run;
  if (Value at = isRun ? Value() : evaluate(item); at.is(ValueKind::Index) || at.is(ValueKind::Real)) {
    error(item.text, "a subscript beside a slice is a whole number known at compile time, found " + describe(at));
    std::string others;
    for (size_t d = 1; d < slicing.sliced.size(); ++d)
      others += ", i" + std::to_string(d);
    diagnostics.note("at positions a tensor is read with an index for each of its dimensions and no slice: x[" +
                     item.text.str() + others + "]");
    return false;
  }
  if (isRun)
    run = sliceRun(item, size);
  else if (auto at = placeIn(item, size, "a subscript beside a slice"))
    run = SliceRun{*at, *at + 1, 1};
  if (!run)
    return false;
  slicing.offsets[slicing.position] = run->low, slicing.strides[slicing.position] = run->step;
  int64_t length = (run->high - run->low - 1) / run->step + 1;
  if (length != size || !isRun)
    dimension = {length, "", {}};
  // At the bound of a length, x[:N] may be all of x; the layer must be made of the same operations at all lengths.
  slicing.isCut |= length != size || !isRun || !state.lengths.empty();
  if (isRun)
    slicing.shown.push_back(dimension);
  slicing.isReshaped |= !isRun;
  ++slicing.position;
  return true;
}

/// Returns whether a subscript is None, which makes a new dimension.
static bool isNewDimension(const Node &item) { return item.kind == NodeKind::Name && item.name == "None"; }

Value Moves::typeSlice(const Node &node, Value base) {
  if (!requireOrder(node.operands[0]->text, base, "a subscript"))
    return {};
  size_t rank = base.dimensions.size(), given = 0;
  // x[0] of a tensor whose second dimension has run-time size.
  if (node.operands.size() == 2 && rank > 1 && base.dimensions[1].isRuntime() &&
      !is_contained({NodeKind::Slice, NodeKind::Ellipsis}, node.operands[1]->kind) &&
      node.operands[1]->name != "None") {
    auto at = placeIn(*node.operands[1], base.dimensions[0].size, "a subscript of a dimension");
    return at ? elementAt(node, base, 0, *at) : Value();
  }
  for (size_t k = 1; k < node.operands.size(); ++k)
    given += node.operands[k]->kind != NodeKind::Ellipsis && !isNewDimension(*node.operands[k]);
  if (given > rank)
    return error(node.text, "the tensor has " + std::to_string(rank) + " dimensions, found " + std::to_string(given) +
                                " subscripts");
  Slicing slicing(base.dimensions);
  bool hasEllipsis = false;
  for (size_t k = 1; k < node.operands.size(); ++k) {
    const Node &item = *node.operands[k];
    if (item.kind == NodeKind::Ellipsis) {
      if (hasEllipsis)
        return error(item.text, "'...' can be there once");
      hasEllipsis = true;
      slicing.takeWhole(rank - given);
    } else if (isNewDimension(item)) {
      slicing.shown.push_back({1, "", {}});
      slicing.isReshaped = true;
    } else if (!sliceNext(item, slicing)) {
      return {};
    }
  }
  slicing.takeWhole(rank - slicing.position);
  const Dimensions &sliced = slicing.sliced, &shown = slicing.shown;
  if (slicing.isCut) {
    base = typer.absent.carried(move(node, typed::Slice{slicing.offsets, slicing.strides}, base, sliced), base);
  }
  if (!slicing.isReshaped)
    return base;
  for (size_t d = 0; d < std::max(rank, shown.size()); ++d) {
    auto runtime = [&](const Dimensions &list) { return d < list.size() ? list[d].runtime : std::string(); };
    if (runtime(shown) != runtime(sliced) || (d > 0 && !runtime(shown).empty()))
      return error(node.text, "a run-time size stays the first dimension");
  }
  return reshapeTo(node, base, shown);
}

/// Returns the axes of a gather's index expression with their sizes, and the dimension along which rows are gathered.
bool Moves::gatherAxes(const Node &node, int64_t rank, std::vector<Axis> &axes, int64_t &dimension) {
  int64_t elements = 1;
  for (const Keyword &k : node.keywords) {
    auto value = typer.expressions.evaluateWhole(*k.value, "'" + k.name.str() + "'");
    if (!value)
      return false;
    if (k.name == "dim") {
      dimension = *value < 0 ? *value + rank : *value;
      if (dimension < 0 || dimension >= rank)
        return error(k.value->text,
                     "the tensor has " + std::to_string(rank) + " dimensions, found dim = " + std::to_string(*value)),
               false;
      continue;
    }
    auto next = subscript::checkedMultiply(elements, *value);
    if (*value < 1 || !next || *next > (1 << 24))
      return error(k.value->text, "the matrix of indices has 1 to 2^24 elements; axis '" + k.name.str() +
                                      "' = " + std::to_string(*value)),
             false;
    elements = *next;
    axes.push_back({k.name.str(), *value, ""});
  }
  return true;
}

/// Returns the index expression of a gather; it sees only the gather's axes.
std::optional<subscript::Expr> Moves::gatherIndex(const Node &node, const std::vector<Axis> &axes) {
  typer.sizes.learnFromCall(axes);
  Scope inner = scope->withAxes(axes);
  for (const Axis &axis : axes)
    inner.parts.erase(axis.name);
  inner.axes = axes;
  Scope *outer = scope;
  scope = &inner;
  Value index = evaluate(*node.operands[1]);
  auto evaluated =
      typer.reals.asIndex(*node.operands[1], index, "the second argument of 'gather' is an index expression");
  scope = outer;
  outer->returnFrom(inner);
  return evaluated;
}

/// Returns the rows that the index expression reads, for every point of its axes in row-major order.
std::optional<std::vector<int64_t>> Moves::gatheredRows(const Node &node, const subscript::Expr &index,
                                                        const std::vector<Axis> &axes, int64_t rows) {
  int64_t elements = 1;
  for (const Axis &axis : axes)
    elements *= axis.size;
  std::vector<int64_t> matrix;
  subscript::Assignment at;
  for (int64_t flat = 0; flat < elements; ++flat) {
    int64_t rest = flat;
    for (size_t k = axes.size(); k-- > 0; rest /= axes[k].size)
      at[axes[k].name] = rest % axes[k].size;
    auto row = subscript::evaluate(index, at);
    if (!row || *row < 0 || *row >= rows) {
      std::string point;
      for (const auto &[name, value] : at)
        point += (point.empty() ? "" : ", ") + name + " = " + std::to_string(value);
      error(node.operands[1]->text, "'" + node.operands[0]->text.take_front(40).str() + "' is read outside its rows");
      diagnostics.note("at " + point + " it reads row " + (row ? std::to_string(*row) : std::string("of an overflow")) +
                       ", but there are rows 0.." + std::to_string(rows - 1));
      return std::nullopt;
    }
    matrix.push_back(*row);
  }
  return matrix;
}

Value Moves::typeGather(const Node &node) {
  StringRef usage = "gather(table, y - k + H - 1, y = H, k = H, dim = 0)";
  auto refuse = [&](const std::string &message) -> Value {
    error(node.text, message);
    diagnostics.note("usage: " + usage.str());
    return {};
  };
  if (node.operands.size() != 2)
    return refuse("'gather' takes a tensor and an index expression");
  auto operand = typer.expressions.tensorArgument(node, 0);
  if (!operand)
    return {};
  int64_t dimension = 0;
  std::vector<Axis> axes;
  if (!gatherAxes(node, operand->dimensions.size(), axes, dimension))
    return {};
  if (axes.empty())
    return refuse("'gather' needs the axes of its index expression with their sizes");
  auto index = gatherIndex(node, axes);
  if (!index)
    return {};
  int64_t rows = operand->dimensions[dimension].size;
  if (rows == kRuntime)
    return error(node.operands[0]->text, "dimension " + std::to_string(dimension + 1) + " has a run-time size");
  auto matrix = gatheredRows(node, *index, axes, rows);
  if (!matrix)
    return {};
  Dimensions dimensions(operand->dimensions.begin(), operand->dimensions.begin() + dimension);
  std::vector<int64_t> shape;
  for (const Axis &axis : axes) {
    dimensions.push_back({axis.size, "", {{axis}}});
    shape.push_back(axis.size);
  }
  dimensions.insert(dimensions.end(), operand->dimensions.begin() + dimension + 1, operand->dimensions.end());
  return move(node, typed::Gather{dimension, std::move(shape), std::move(*matrix)}, *operand, std::move(dimensions));
}

} // namespace skewer::language
