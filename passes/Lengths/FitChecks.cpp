// Rejects operations that have no meaning along a run-time length, or are not proven to have one. Part of the class
// Fitter.
#include "dialect/IR/Term.h"
#include "dialect/IR/RangeEnds.h"
#include "passes/Lengths/Fitter.h"

using namespace mlir;
using namespace skewer;
using subscript::Expr;

/// Checks that only the outermost axis of a product has a run-time length: rows in memory are as compact as the length
/// says, and the strides of a product depend on its inner axes.
LogicalResult Fitter::checkProducts(const Same &same, const Extents &extents, ArrayRef<subscript::Dimensions> all) {
  for (const subscript::Dimensions &dimensions : all)
    for (const subscript::Dimension &dimension : dimensions)
      for (size_t k = 1; k < dimension.axes.size(); ++k)
        if (extents.count(dimension.axes[k]))
          return refuse(same[0], "an inner axis of a product of axes has a run-time length here; only the outermost "
                                 "axis of a dimension may have one");
  return success();
}

/// Returns whether the operations are slices that take elements from one place on, at one stride, along a dimension, and
/// end within it at every length.
bool Fitter::isPrefixAtAllLengths(const Same &same, int64_t d) const {
  auto first = dyn_cast<attn::SliceOp>(same[0]);
  if (!first)
    return false;
  SmallVector<int64_t> before, after;
  for (Operation *op : same) {
    auto slice = cast<attn::SliceOp>(op);
    if (slice.getOffsets()[d] != first.getOffsets()[d] || slice.getStrides()[d] != first.getStrides()[d])
      return false;
    before.push_back(slice.getInput().getType().getDimSize(d));
    after.push_back(slice.getType().getDimSize(d));
  }
  auto source = fitSizes(before), result = fitSizes(after);
  if (!source || !result)
    return false;
  subscript::Domain lengths;
  for (const auto &[name, bound] : bounds)
    lengths[name] = {1, bound};
  Expr last = (result->expression() - Expr(1)) * Expr(first.getStrides()[d]) + Expr(first.getOffsets()[d]);
  auto behind = subscript::bound(source->expression() - Expr(1) - last, lengths);
  return behind && behind->range.low >= 0;
}

/// Rejects index maps that count elements along a dimension of run-time length, or end inside it.
LogicalResult Fitter::checkMap(const Same &same) {
  auto varies = [&](Type (*type)(Operation *), int64_t d) {
    return llvm::any_of(same, [&](Operation *op) {
      return cast<RankedTensorType>(type(op)).getDimSize(d) != cast<RankedTensorType>(type(same[0])).getDimSize(d);
    });
  };
  auto before = [](Operation *op) { return op->getOperand(0).getType(); };
  auto after = [](Operation *op) { return op->getResult(0).getType(); };
  if (isa<attn::ReshapeOp>(same[0])) {
    // A dimension is unchanged if it has as many elements as before, and as many elements in front of it.
    auto from = attn::shapeOf(before(same[0])), to = attn::shapeOf(after(same[0]));
    auto product = [](ArrayRef<int64_t> shape, size_t end) {
      int64_t elements = 1;
      for (size_t d = 0; d < end; ++d)
        elements *= shape[d] == subscript::kRuntime ? 1 : shape[d];
      return elements;
    };
    for (size_t d = 0; d < from.size(); ++d) {
      if (!varies(before, d))
        continue;
      bool stays = false;
      for (size_t e = 0; e < to.size(); ++e)
        stays |= llvm::all_of(same, [&](Operation *op) { // at every length, not only at the bound by chance
          auto own = attn::shapeOf(before(op)), other = attn::shapeOf(after(op));
          return own[d] == other[e] && product(own, d) == product(other, e);
        });
      if (!stays)
        return refuse(same[0], "a dimension of run-time length is split, or merged with others");
    }
    return success();
  }
  if (!isa<attn::PadOp, attn::SliceOp, attn::SkewOp, attn::GatherOp>(same[0]))
    return success(); // a concatenation is as long as its parts
  for (int64_t d = 0, rank = cast<RankedTensorType>(after(same[0])).getRank(); d < rank; ++d)
    if (varies(after, d)) {
      if (isPrefixAtAllLengths(same, d))
        continue;
      // A dimension that is taken whole is unchanged.
      bool isWhole = llvm::all_of(same, [&](Operation *op) {
        auto from = attn::shapeOf(before(op)), to = attn::shapeOf(after(op));
        return from.size() == to.size() && from[d] == to[d];
      });
      if (!isWhole)
        return refuse(same[0], "a dimension of run-time length is padded, cut or gathered");
    }
  return success();
}

/// Adds to a guard that elements of index operands are in their ranges. The ranges depend on lengths, and the kernel
/// checks them at each call.
static std::optional<Expr> withPromises(Operation *op, const Expr &index, std::optional<Expr> guard) {
  attn::IndexOperands operands = attn::kernelIndices(op);
  for (const Expr &read : subscript::readNodes(index)) {
    auto operand = operands.find(read.name());
    auto argument = operand == operands.end() ? BlockArgument() : dyn_cast<BlockArgument>(operand->second);
    auto function = argument ? dyn_cast<func::FuncOp>(argument.getOwner()->getParentOp()) : func::FuncOp();
    auto ends = function ? function.getArgAttrOfType<ArrayAttr>(argument.getArgNumber(), attn::kRangeEnds)
                         : ArrayAttr();
    if (!ends)
      continue;
    auto endAt = [&](unsigned which) {
      if (auto fixed = dyn_cast<IntegerAttr>(ends[which]))
        return Expr(fixed.getInt());
      Expr end = *subscript::parse(std::string_view(cast<StringAttr>(ends[which]).getValue()));
      subscript::Substitution lengths;
      for (const std::string &name : subscript::symbolsOf(end))
        lengths[name] = attn::readOfLength(name);
      return subscript::substitute(end, lengths);
    };
    Expr promise = subscript::logicalAnd(subscript::lessEqual(endAt(0), read), subscript::lessEqual(read, endAt(1)));
    guard = guard ? subscript::logicalAnd(*guard, promise) : promise;
  }
  return guard;
}

/// Checks that a table that has fewer rows at smaller lengths is read inside its bounds at each length. The verifiers
/// check tables of constant size.
LogicalResult Fitter::checkReads(Operation *op) {
  if (auto attention = dyn_cast<attn::AttentionOp>(op)) {
    for (attn::TermOp term : attn::termsOf(attention))
      if (failed(checkReads(term)))
        return failure();
    return success();
  }
  attn::ResolvedEinsum resolved;
  ValueRange operands;
  std::optional<Expr> guard;
  if (auto einsum = dyn_cast<attn::EinsumOp>(op)) {
    resolved = attn::resolve(einsum);
    operands = einsum.getInputs(), guard = resolved.guard;
  } else if (auto term = dyn_cast<attn::TermOp>(op)) {
    auto view = attn::viewOf(cast<attn::AttentionOp>(term->getParentOp()));
    resolved = attn::termOf(term)->einsum;
    operands = term.getInputs(), guard = resolved.guard;
    if (view->mask)
      guard = guard ? subscript::logicalAnd(*view->mask, *guard) : *view->mask;
  } else {
    return success();
  }
  // An axis ends at its extent, whether a text says so or not.
  for (const auto &[axis, extent] : attn::axisExtentsOf(isa<attn::TermOp>(op) ? op->getParentOp() : op)) {
    Expr inside = subscript::less(Expr::symbol(axis), extent);
    guard = guard ? subscript::logicalAnd(*guard, inside) : inside;
  }
  subscript::Domain domain = subscript::domainOf(resolved.sizes);
  attn::addRanges(domain, attn::kernelIndices(op));
  auto known = guard;
  for (size_t k = 0; k < operands.size(); ++k) {
    std::vector<Expr> extents = attn::extentsOf(operands[k]);
    for (size_t d = 0; d < extents.size(); ++d) {
      if (extents[d].isConstant() || resolved.spec.operands[k][d].isProduct())
        continue;
      const Expr &index = resolved.subscripts[k][d];
      guard = withPromises(op, index, known);
      constexpr int64_t kFar = int64_t(1) << 40;
      Expr room = extents[d] - Expr(1) - index;
      if (subscript::proveWithin(index, {0, kFar}, domain, guard).outcome != subscript::Proof::Proven ||
          subscript::proveWithin(room, {0, kFar}, domain, guard).outcome != subscript::Proof::Proven)
        return refuse(op, "'" + subscript::print(index) + "' is not proven to stay below '" +
                              subscript::print(extents[d]) + "', the size of what it reads, at every length");
    }
  }
  return success();
}
