// Finds the softmax, or the product with the values, from which an attention was made, and takes its names.
#include "tools/skewer/ReaderAxes.h"
#include "dialect/IR/Attn.h"
#include "dialect/IR/Reductions.h"
#include "dialect/IR/Texts.h"
#include "mlir/IR/Verifier.h"
#include <map>
#include <set>

using namespace mlir;
using namespace skewer::attn;
using namespace skewer::subscript;

namespace skewer::driver {
namespace {

/// Axes of weights as written in the text, and the shape of the weights.
struct WrittenAxes {
  Dimensions dimensions;
  std::vector<int64_t> shape;
};

/// Returns the softmax that a value is computed from without an einsum in between.
SoftmaxOp softmaxBehind(Value value) {
  std::vector<Value> left{value};
  std::set<Operation *> seen;
  while (!left.empty()) {
    Operation *op = left.back().getDefiningOp();
    left.pop_back();
    if (!op || isa<EinsumOp>(op) || !seen.insert(op).second)
      continue;
    if (auto softmax = dyn_cast<SoftmaxOp>(op))
      return softmax;
    left.insert(left.end(), op->operand_begin(), op->operand_end());
  }
  return {};
}

/// Returns the text's names for the axes of the attention's weights: in the softmax that the weights come from, or in
/// the einsum with the values, at the attention's place in the text.
std::vector<WrittenAxes> writtenAxesOf(AttentionOp attention, func::FuncOp text) {
  std::vector<WrittenAxes> found;
  text.walk([&](EinsumOp einsum) {
    if (auto place = firstPlace(attention.getLoc()); !place || firstPlace(einsum.getLoc()) != place)
      return;
    for (Value operand : einsum.getInputs())
      if (SoftmaxOp softmax = softmaxBehind(operand))
        if (auto axes = parseDimensions(std::string_view(softmax.getAxes())))
          found.push_back({*axes, shapeOf(softmax.getResult())});
    if (auto spec = parseEinsum(std::string_view(einsum.getSpec())); spec && spec->result)
      for (auto [operand, input] : llvm::zip(spec->operands, einsum.getInputs()))
        found.push_back({operand, shapeOf(input)});
  });
  return found;
}

/// Maps an attention's own axis names to the text's names. Both lists of axes are in order; a dimension of the text may
/// correspond to a product of the attention's axes, or the other way round. Empty if the two do not match.
AxisRenaming namesOf(const Dimensions &own, const AxisSizes &sizes, const WrittenAxes &written) {
  std::vector<std::string> axes;
  for (const Dimension &dimension : own)
    axes.insert(axes.end(), dimension.axes.begin(), dimension.axes.end());
  AxisRenaming names;
  std::set<std::string> taken;
  size_t next = 0;
  for (auto [dimension, size] : llvm::zip(written.dimensions, written.shape)) {
    if (!dimension.isProduct())
      return {};
    int64_t product = 1;
    for (const std::string &axis : dimension.axes) {
      if (next == axes.size() || !taken.insert(axis).second)
        return {};
      names[axes[next]] = axis;
      auto known = sizes.find(axes[next++]);
      product = known == sizes.end() || known->second == kRuntime || product == kRuntime ? kRuntime
                                                                                         : product * known->second;
    }
    if (product != kRuntime && size != kRuntime && product != size)
      return {};
  }
  return next == axes.size() ? names : AxisRenaming();
}

/// Renames the attention's other axes (summed in a term, or of the values only) if the text's names now use their
/// names.
void giveWay(AxisRenaming &names, const std::set<std::string> &others) {
  std::set<std::string> own, used; // the names of the weights' axes, and all names
  for (const auto &[axis, name] : names)
    own.insert(name);
  used = own;
  for (const std::string &other : others)
    if (!names.count(other))
      used.insert(other);
  AxisRenaming moved;
  for (const std::string &other : others) {
    if (names.count(other))
      continue;
    std::string name = other;
    for (unsigned k = 1; own.count(name) || (k > 1 && used.count(name)); ++k)
      name = other + std::to_string(k);
    used.insert(name);
    if (name != other)
      moved[other] = name;
  }
  names.insert(moved.begin(), moved.end());
}

std::set<std::string> axesOfAll(AttentionOp attention) {
  std::set<std::string> axes;
  auto add = [&](StringRef text) {
    if (auto spec = parseEinsum(std::string_view(text)))
      for (const std::string &axis : spec->axes())
        axes.insert(axis);
  };
  add(attention.getValueSpec());
  for (TermOp term : termsOf(attention))
    add(term.getSubscripts());
  return axes;
}

void rename(AttentionOp attention, func::FuncOp text) {
  auto own = parseDimensions(std::string_view(attention.getSpace()));
  if (!own)
    return;
  AxisSizes sizes = scoreSpace(attention).sizes;
  AxisRenaming names;
  for (const WrittenAxes &written : writtenAxesOf(attention, text))
    if (names = namesOf(*own, sizes, written); !names.empty())
      break;
  if (names.empty() || llvm::all_of(names, [](const auto &pair) { return pair.first == pair.second; }))
    return;
  giveWay(names, axesOfAll(attention));
  SmallVector<TermOp> terms = termsOf(attention);
  renameAxes(attention, names);
  for (TermOp term : terms)
    renameAxes(term, names);
}

} // namespace

OwningOpRef<ModuleOp> withReadersAxes(const Kernel &kernel, ModuleOp scheduled) {
  OwningOpRef<ModuleOp> readable(cast<ModuleOp>(scheduled->clone()));
  func::FuncOp text = kernel.einsumFunction();
  readable->walk([&](AttentionOp attention) { rename(attention, text); });
  // If a name has another meaning elsewhere, verification fails; the names by position are then kept.
  ScopedDiagnosticHandler quiet(scheduled->getContext(), [](Diagnostic &) { return success(); });
  if (failed(verify(*readable)))
    return OwningOpRef<ModuleOp>(cast<ModuleOp>(scheduled->clone()));
  return readable;
}

} // namespace skewer::driver
