// Compares the operations of the layers one by one, and turns what differs between them into functions of the lengths.
#include "passes/Lengths/FitLengths.h"
#include "dialect/IR/RangeEnds.h"
#include "dialect/Subscript/PartOfDimension.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "passes/Lengths/AlignLayers.h"
#include "passes/Lengths/ExpressionFit.h"
#include "passes/Lengths/Fitter.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace skewer;
using subscript::Expr;

Lengths skewer::boundsOf(func::FuncOp function) {
  Lengths bounds;
  if (auto declared = function->getAttrOfType<DictionaryAttr>(attn::kLengths))
    for (NamedAttribute length : declared)
      bounds[length.getName().str()] = cast<IntegerAttr>(length.getValue()).getInt();
  return bounds;
}

Attribute Fitter::extentOf(ArrayRef<int64_t> sizes) {
  auto polynomial = fitSizes(sizes);
  if (!polynomial)
    return {};
  if (polynomial->isConstant())
    return builder.getI64IntegerAttr(sizes[0]);
  return builder.getStringAttr(subscript::print(polynomial->expression()));
}

/// Fits the shapes of arguments and results.
LogicalResult Fitter::fitShapes() {
  auto fitShape = [&](auto typeOf, ArrayAttr stated) -> ArrayAttr {
    SmallVector<Attribute> shape(stated.begin(), stated.end());
    for (size_t d = 0; d < shape.size(); ++d) {
      SmallVector<int64_t> sizes;
      for (func::FuncOp layer : layers)
        sizes.push_back(cast<RankedTensorType>(typeOf(layer)).getDimSize(d));
      if (isa<StringAttr>(shape[d]))
        continue; // a run-time size without a bound
      shape[d] = extentOf(sizes);
      if (!shape[d])
        return {};
    }
    return builder.getArrayAttr(shape);
  };
  func::FuncOp own = layers[0];
  for (unsigned k = 0; k < own.getNumArguments(); ++k) {
    auto stated = own.getArgAttrOfType<ArrayAttr>(k, "attn.shape");
    ArrayAttr shape = fitShape([k](func::FuncOp f) { return f.getArgumentTypes()[k]; }, stated);
    if (!shape)
      return refuse(own.getArgument(k).getLoc(),
                    "'" + own.getArgAttrOfType<StringAttr>(k, attn::kArgumentName).str() +
                        "' has a dimension that is no sum of products of lengths");
    own.setArgAttr(k, "attn.shape", shape);
  }
  for (unsigned k = 0; k < own.getNumResults(); ++k) {
    auto stated = own.getResultAttrOfType<ArrayAttr>(k, "attn.shape");
    ArrayAttr shape = fitShape([k](func::FuncOp f) { return f.getResultTypes()[k]; }, stated);
    if (!shape)
      return refuse(own, "a result has a dimension that is not a sum of products of lengths");
    own.setResultAttr(k, "attn.shape", shape);
  }
  return success();
}

/// Fits index operands whose range depends on lengths. An operand also keeps the range over all lengths: a proof for it
/// holds at each length.
LogicalResult Fitter::fitRanges() {
  func::FuncOp own = layers[0];
  subscript::Domain lengths;
  for (const auto &[name, bound] : bounds)
    lengths[name] = {1, bound};
  for (unsigned k = 0; k < own.getNumArguments(); ++k) {
    SmallVector<int64_t> lows, highs;
    for (func::FuncOp layer : layers)
      if (auto range = layer.getArgAttrOfType<DenseI64ArrayAttr>(k, attn::kArgumentRange))
        lows.push_back(range[0]), highs.push_back(range[1]);
    if (lows.size() != layers.size() || (llvm::all_equal(lows) && llvm::all_equal(highs)))
      continue;
    auto low = fitSizes(lows), high = fitSizes(highs);
    auto least = low ? subscript::bound(low->expression(), lengths) : std::nullopt;
    auto most = high ? subscript::bound(high->expression(), lengths) : std::nullopt;
    std::string name = own.getArgAttrOfType<StringAttr>(k, attn::kArgumentName).str();
    auto place = [&](bool isHigh) { return attn::placeOfRangeEnd(own.getArgument(k).getLoc(), isHigh); };
    if (!least || !most)
      return refuse(place(least.has_value()),
                    "the range of '" + name + "' has an end that is no sum of products of lengths");
    if (least->range.low < INT32_MIN || most->range.high > INT32_MAX)
      return refuse(place(least->range.low >= INT32_MIN),
                    "the range of '" + name + "' has values that do not fit i32 at some length");
    own.setArgAttr(k, attn::kArgumentRange, builder.getDenseI64ArrayAttr({least->range.low, most->range.high}));
    own.setArgAttr(k, attn::kRangeEnds, builder.getArrayAttr({extentOf(lows), extentOf(highs)}));
  }
  return success();
}

/// Adds each length as an index operand behind all others, and as a run-time size.
void Fitter::addLengths() {
  func::FuncOp own = layers[0];
  SmallVector<Attribute> sizes(own->getAttrOfType<ArrayAttr>("attn.sizes").getValue());
  for (const auto &[name, bound] : bounds) {
    unsigned number = own.getNumArguments();
    auto type = RankedTensorType::get({1}, builder.getI32Type());
    if (failed(own.insertArgument(number, type, {}, own.getLoc())))
      continue;
    own.setArgAttr(number, attn::kArgumentName, builder.getStringAttr(name));
    own.setArgAttr(number, "attn.shape", builder.getI64ArrayAttr({1}));
    own.setArgAttr(number, attn::kArgumentRange, builder.getDenseI64ArrayAttr({1, bound}));
    own.setArgAttr(number, attn::kArgumentLength, builder.getUnitAttr());
    sizes.push_back(builder.getStringAttr(name));
  }
  own->setAttr("attn.sizes", builder.getArrayAttr(sizes));
}

LogicalResult Fitter::fitSignature() {
  for (func::FuncOp layer : layers)
    if (layer.getNumArguments() != layers[0].getNumArguments() || layer.getNumResults() != layers[0].getNumResults())
      return refuse(layers[0], "the kernel has other operands at other lengths");
  if (failed(fitShapes()) || failed(fitRanges()))
    return failure();
  addLengths();
  return success();
}

LogicalResult Fitter::run() {
  if (failed(fitSignature()))
    return failure();
  alignLayers(layers);
  SmallVector<Block *> bodies;
  places.resize(layers.size());
  for (func::FuncOp layer : layers)
    bodies.push_back(&layer.getBody().front());
  for (auto [layer, body] : llvm::enumerate(bodies)) // lengths come last, and no operation reads them yet
    number(layer, body->getArguments().take_front(layers.back().getNumArguments()));
  return fitBlocks(bodies);
}

LogicalResult Fitter::fitBlocks(ArrayRef<Block *> blocks) {
  SmallVector<SmallVector<Operation *>> lists;
  for (Block *block : blocks)
    lists.push_back(llvm::map_to_vector(*block, [](Operation &op) { return &op; }));
  Operation *around = blocks[0]->getParentOp();
  for (const auto &list : lists)
    if (list.size() != lists[0].size())
      return refuse(around, "this is compiled to different operations at different lengths");
  for (size_t k = 0; k < lists[0].size(); ++k) {
    Same same;
    for (const auto &list : lists)
      same.push_back(list[k]);
    if (failed(fit(same)))
      return failure();
  }
  return success();
}

/// Returns the sizes of an operation's axes.
static std::optional<subscript::AxisSizes> axisSizes(Operation *op) {
  return llvm::TypeSwitch<Operation *, std::optional<subscript::AxisSizes>>(op)
      .Case([](attn::EinsumOp o) { return attn::resolve(o).sizes; })
      .Case([](attn::TermOp o) { return attn::resolve(o).sizes; })
      .Case([](attn::AttentionOp o) { return attn::scoreSpace(o).sizes; })
      .Case([](attn::RearrangeOp o) -> std::optional<subscript::AxisSizes> {
        auto resolved = attn::resolve(o.getSpec(), o->getOperands(), o.getSizesAttr(), {});
        return resolved ? std::optional(resolved->sizes) : std::nullopt;
      })
      .Case<attn::SoftmaxOp, attn::LogSumExpOp, attn::PositionOp>([](auto o) -> std::optional<subscript::AxisSizes> {
        subscript::Einsum spec;
        auto axes = subscript::parseDimensions(std::string_view(o.getAxes()));
        if (!axes)
          return std::nullopt;
        spec.operands.push_back(*axes);
        Type shaped = o->getNumOperands() && !isa<attn::PositionOp>(o.getOperation()) ? o->getOperand(0).getType()
                                                                                      : o->getResult(0).getType();
        return subscript::resolveSizes(spec, {attn::shapeOf(shaped)}, attn::sizesFrom(o.getSizesAttr()));
      })
      .Default([](Operation *) { return subscript::AxisSizes(); });
}

std::optional<Extents> Fitter::axisExtents(const Same &same) {
  SmallVector<subscript::AxisSizes> all;
  for (Operation *op : same) {
    auto sizes = axisSizes(op);
    if (!sizes || (!all.empty() && sizes->size() != all[0].size()))
      return std::nullopt;
    all.push_back(std::move(*sizes));
  }
  Extents extents;
  for (const auto &[axis, size] : all[0]) {
    SmallVector<int64_t> values;
    for (const subscript::AxisSizes &sizes : all) {
      auto found = sizes.find(axis);
      if (found == sizes.end())
        return std::nullopt;
      values.push_back(found->second);
    }
    if (llvm::all_equal(values))
      continue;
    auto polynomial = fitSizes(values);
    if (!polynomial)
      return std::nullopt;
    extents.insert({axis, *polynomial});
  }
  return extents;
}

/// Returns the tensor of operand `number` of the operation's spec.
static Value operandOfSpec(Operation *op, size_t number) {
  return llvm::TypeSwitch<Operation *, Value>(op)
      .Case<attn::EinsumOp, attn::TermOp>([&](auto o) { return o.getInputs()[number]; })
      .Case([](attn::AttentionOp o) { return o.getValue(); })
      .Default([&](Operation *o) { return o->getOperand(number); });
}

/// Changes the specs so that all layers read one dimension of an operand by an index, if some of them read all of it
/// along an axis and the others only its beginning (dimensionFor): the longest layer reads all of x[:N] if x has as
/// many elements as the bound.
static void readBeginningsAlike(ArrayRef<Operation *> same, MutableArrayRef<subscript::Einsum> specs, size_t operand,
                                size_t dimension) {
  auto readBy = [&](subscript::Einsum &spec) -> subscript::Dimension & { return spec.operands[operand][dimension]; };
  bool anyIndex = llvm::any_of(specs, [&](subscript::Einsum &spec) { return !readBy(spec).isProduct(); });
  bool areKnown = llvm::all_of(specs, [&](subscript::Einsum &spec) {
    return readBy(spec).isAxis() || !readBy(spec).isProduct();
  });
  if (!anyIndex || !areKnown)
    return;
  for (auto [op, spec] : llvm::zip(same, specs)) {
    subscript::Dimension &read = readBy(spec);
    if (!read.isAxis())
      continue;
    std::string axis = read.axes[0];
    int64_t extent = attn::shapeOf(operandOfSpec(op, operand))[dimension];
    read.axes.clear();
    read.index = subscript::partOfDimension(Expr::symbol(axis), extent);
    if (isa<attn::TermOp>(op)) // the attention tells the size of the axis
      continue;
    subscript::AxisSizes sizes = attn::sizesFrom(op->getAttrOfType<DictionaryAttr>("sizes"));
    sizes[axis] = extent;
    op->setAttr("sizes", attn::sizesTo(op->getContext(), sizes));
  }
}

LogicalResult Fitter::fitTexts(const Same &same, StringRef name, ArrayRef<Attribute> values) {
  SmallVector<StringRef> texts =
      llvm::map_to_vector(values, [](Attribute value) { return cast<StringAttr>(value).getValue(); });
  bool isSpec = name == "spec" || name == "subscripts" || name == "value_spec";
  auto differs = [&] { return refuse(same[0], "'" + texts[0] + "' is '" + texts.back() + "' at another length"); };
  if (!isSpec) {
    SmallVector<Expr> expressions;
    for (StringRef text : texts) {
      auto parsed = subscript::parse(std::string_view(text));
      if (!parsed)
        return differs();
      expressions.push_back(*parsed);
    }
    auto fitted = fitExpressions(expressions, bounds);
    if (!fitted)
      return differs();
    same[0]->setAttr(name, builder.getStringAttr(subscript::print(*fitted)));
    return success();
  }
  SmallVector<subscript::Einsum> specs;
  for (StringRef text : texts) {
    auto parsed = subscript::parseEinsum(std::string_view(text));
    if (!parsed || (!specs.empty() && parsed->operands.size() != specs[0].operands.size()))
      return differs();
    specs.push_back(*parsed);
  }
  for (size_t k = 0; k < specs[0].operands.size(); ++k)
    for (size_t d = 0; d < specs[0].operands[k].size(); ++d) {
      SmallVector<Expr> expressions;
      for (const subscript::Einsum &spec : specs)
        if (spec.operands[k].size() != specs[0].operands[k].size())
          return differs();
      readBeginningsAlike(same, specs, k, d);
      for (const subscript::Einsum &spec : specs) {
        if (spec.operands[k][d].axes != specs[0].operands[k][d].axes)
          return differs();
        expressions.push_back(spec.operands[k][d].index);
      }
      if (specs[0].operands[k][d].isProduct())
        continue;
      auto fitted = fitExpressions(expressions, bounds);
      if (!fitted)
        return differs();
      specs[0].operands[k][d].index = *fitted;
    }
  same[0]->setAttr(name, builder.getStringAttr(subscript::print(specs[0])));
  return success();
}

/// Returns whether a constant tensor is the beginning of the longest one: if all are, the longest one replaces them.
static bool isPrefix(DenseElementsAttr part, DenseElementsAttr whole) {
  if (part.isSplat() && whole.isSplat())
    return part.getSplatValue<APFloat>().bitwiseIsEqual(whole.getSplatValue<APFloat>());
  ArrayRef<int64_t> shape = part.getType().getShape(), full = whole.getType().getShape();
  if (shape.size() != full.size())
    return false;
  auto elements = part.getValues<APFloat>(), all = whole.getValues<APFloat>();
  for (int64_t at = 0, count = part.getNumElements(); at < count; ++at) {
    int64_t rest = at, place = 0, stride = 1;
    for (size_t d = shape.size(); d-- > 0; rest /= shape[d], stride *= full[d])
      place += rest % shape[d] * stride;
    if (!elements[at].bitwiseIsEqual(all[place]))
      return false;
  }
  return true;
}

LogicalResult Fitter::fitAttribute(const Same &same, StringRef name, ArrayRef<Attribute> values) {
  if (llvm::all_equal(values))
    return success();
  if (name == "sizes")
    return success(); // axisExtents fits them
  if (llvm::any_of(values, [](Attribute value) { return !value; }))
    return refuse(same[0], "its " + name + " exists only at some lengths");
  // attn.position states a shape for sizes without a bound; its other sizes are the sizes of its result (fitResults).
  if (name == "attn.shape" && llvm::all_of(values, llvm::IsaPred<ArrayAttr>))
    return success();
  if (llvm::all_of(values, llvm::IsaPred<StringAttr>))
    return fitTexts(same, name, values);
  if (llvm::all_of(values, llvm::IsaPred<DenseFPElementsAttr>)) {
    auto whole = cast<DenseElementsAttr>(values[0]);
    if (llvm::all_of(values, [&](Attribute value) { return isPrefix(cast<DenseElementsAttr>(value), whole); }))
      return success();
    return refuse(same[0], whole.isSplat()
                               ? "a number in this depends on the length, and no kernel computes it"
                               : "a table of constants has other numbers at other lengths; it may only become longer");
  }
  if (llvm::all_of(values, llvm::IsaPred<FloatAttr>))
    return refuse(same[0], "a number in this depends on the length, and no kernel computes it");
  return refuse(same[0], "its " + name + " depends on the length");
}

/// Fits the sizes of the result's dimensions.
LogicalResult Fitter::fitResults(const Same &same) {
  // Constants have their full length, because the object file contains them.
  if (same[0]->getNumResults() == 0 || !isa<RankedTensorType>(same[0]->getResult(0).getType()) ||
      isa<arith::ConstantOp>(same[0]))
    return success();
  SmallVector<Attribute> extents;
  bool any = false;
  auto rank = cast<RankedTensorType>(same[0]->getResult(0).getType()).getRank();
  for (int64_t d = 0; d < rank; ++d) {
    SmallVector<int64_t> sizes;
    for (Operation *op : same) {
      auto type = dyn_cast<RankedTensorType>(op->getResult(0).getType());
      if (!type || type.getRank() != rank)
        return refuse(same[0], "this has another number of dimensions at another length");
      sizes.push_back(type.getDimSize(d));
    }
    Attribute extent = llvm::all_equal(sizes) ? Attribute(builder.getI64IntegerAttr(0)) : extentOf(sizes);
    if (!extent)
      return refuse(same[0], "a size in this is not a sum of products of lengths");
    any |= isa<StringAttr>(extent);
    extents.push_back(extent);
  }
  if (any)
    same[0]->setAttr(attn::kExtents, builder.getArrayAttr(extents));
  return success();
}

/// Adds to the mask of an attention that queries and keys exist only up to their lengths, so that the reads of its
/// terms are provably in bounds. Loops over other axes end at their extents; an einsum's guard states an extent only if
/// an index expression reads a length.
LogicalResult Fitter::hideBehindLengths(Operation *op, const Extents &extents) {
  auto conditions = [&](const std::optional<StringRef> &known, ArrayRef<std::string> leading = {}) -> StringAttr {
    std::optional<Expr> all;
    if (known)
      all = subscript::parse(std::string_view(*known));
    for (const auto &[axis, extent] : extents) {
      if (llvm::is_contained(leading, axis))
        continue;
      Expr inside = subscript::less(Expr::symbol(axis), extent.expression(readsOfLengths(bounds)));
      all = all ? subscript::logicalAnd(*all, inside) : inside;
    }
    return all ? builder.getStringAttr(subscript::print(*all)) : StringAttr();
  };
  llvm::TypeSwitch<Operation *>(op)
      .Case([&](attn::AttentionOp o) { o.setMaskAttr(conditions(o.getMask(), attn::scoreSpace(o).leading)); })
      .Case([&](attn::EinsumOp o) {
        auto spec = subscript::parseEinsum(std::string_view(o.getSpec()));
        bool reads = false;
        for (const subscript::Dimensions &operand : spec->operands)
          for (const subscript::Dimension &dimension : operand)
            for (const std::string &name : subscript::readsOf(dimension.index))
              reads |= bounds.count(name) != 0;
        if (reads)
          o.setGuardAttr(conditions(o.getGuard()));
      });
  attn::bindIndices(op);
  // A term is checked with its attention, when the mask is known.
  return isa<attn::TermOp>(op) ? success() : checkReads(op);
}

LogicalResult Fitter::fit(const Same &same) {
  Operation *own = same[0];
  for (Operation *op : same)
    if (op->getName() != own->getName() || op->getNumOperands() != own->getNumOperands() ||
        op->getNumResults() != own->getNumResults() || op->getNumRegions() != own->getNumRegions())
      return refuse(own, "this is compiled to different operations at different lengths");
  for (auto [layer, op] : llvm::enumerate(same)) {
    for (auto [operand, ownOperand] : llvm::zip(op->getOperands(), own->getOperands()))
      if (places[layer].lookup(operand) != places[0].lookup(ownOperand))
        return refuse(own, "this reads different operands at different lengths");
    number(layer, op->getResults());
  }
  if (failed(checkMap(same)))
    return failure();
  auto extents = axisExtents(same);
  if (!extents)
    return refuse(own, "a size in this is not a sum of products of lengths");
  SmallVector<subscript::Dimensions> named;
  auto addSpec = [&](StringRef text) {
    if (auto spec = subscript::parseEinsum(std::string_view(text))) {
      named.append(spec->operands.begin(), spec->operands.end());
      if (spec->result)
        named.push_back(*spec->result);
    }
  };
  for (const char *text : {"spec", "subscripts", "value_spec", "axes", "space"})
    if (auto value = own->getAttrOfType<StringAttr>(text))
      addSpec(value.getValue());
  if (failed(checkProducts(same, *extents, named)))
    return failure();

  std::vector<StringRef> names;
  for (Operation *op : same)
    for (NamedAttribute attribute : op->getAttrDictionary())
      if (!llvm::is_contained(names, attribute.getName().getValue()))
        names.push_back(attribute.getName().getValue());
  for (StringRef name : names) {
    SmallVector<Attribute> values =
        llvm::map_to_vector(same, [&](Operation *op) { return op->getAttrDictionary().get(name); });
    if (failed(fitAttribute(same, name, values)))
      return failure();
  }
  if (failed(fitResults(same)))
    return failure();
  if (!extents->empty() && !isa<attn::TermOp>(own)) {
    SmallVector<NamedAttribute> axes;
    for (const auto &[axis, extent] : *extents)
      axes.emplace_back(builder.getStringAttr(axis), builder.getStringAttr(subscript::print(extent.expression())));
    own->setAttr(attn::kAxisExtents, builder.getDictionaryAttr(axes));
  }
  for (unsigned region = 0; region < own->getNumRegions(); ++region) {
    SmallVector<Block *> blocks;
    for (Operation *op : same) {
      if (op->getRegion(region).empty() != own->getRegion(region).empty())
        return refuse(own, "this is compiled to different operations at different lengths");
      if (!op->getRegion(region).empty())
        blocks.push_back(&op->getRegion(region).front());
    }
    for (auto [layer, block] : llvm::enumerate(blocks))
      number(layer, block->getArguments());
    if (!blocks.empty() && failed(fitBlocks(blocks)))
      return failure();
  }
  return hideBehindLengths(own, *extents);
}

LogicalResult skewer::fitSignature(ArrayRef<func::FuncOp> layers) { return Fitter(layers).fitSignature(); }

LogicalResult skewer::fitLengths(ArrayRef<func::FuncOp> layers) { return Fitter(layers).run(); }
