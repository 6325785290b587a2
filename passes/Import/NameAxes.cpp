// attn-name-axes: names axes by their place, whatever names the program has. It runs before fusion, and again before a
// lowering and before layers of several lengths are compared; texts with other names then give the same module.
#include "dialect/IR/Reductions.h"
#include "dialect/IR/Texts.h"
#include "passes/Analysis/AxisNames.h"
#include "passes/Passes.h"
#include "llvm/ADT/TypeSwitch.h"

namespace skewer {
#define GEN_PASS_DEF_ATTNNAMEAXES
#include "passes/Passes.h.inc"
} // namespace skewer

using namespace mlir;
using namespace skewer;
using namespace skewer::attn;
using namespace skewer::subscript;

/// Returns names for axes: for the axes of the result by their dimension (a product's axes are named as axes of a map),
/// then for the other axes in the order in which they appear.
static AxisRenaming namesFor(const Dimensions &result, const std::vector<std::string> &axes) {
  AxisRenaming names;
  std::vector<std::string> stems = dimensionNames(result.size());
  for (auto [stem, dimension] : llvm::zip(stems, result))
    for (auto [axis, name] : llvm::zip(dimension.axes, axisNames(stem, dimension.axes.size())))
      names[axis] = name;
  size_t count = 0;
  for (const std::string &axis : axes)
    if (!names.count(axis))
      names[axis] = numbered(kDepthAxis, count++);
  return names;
}

/// Names the axes of one operation. The names have no meaning outside the operation.
static void nameAxes(Operation *op) {
  auto spec =
      llvm::TypeSwitch<Operation *, std::optional<Einsum>>(op)
          .Case<EinsumOp, RearrangeOp, ExtremumOp>([](auto o) { return parseEinsum(std::string_view(o.getSpec())); })
          .Case<SoftmaxOp, LogSumExpOp, PositionOp>([](auto o) {
            return Einsum{{}, parseDimensions(std::string_view(o.getAxes()))};
          })
          .Default(std::nullopt);
  if (spec && spec->result)
    renameAxes(op, namesFor(*spec->result, spec->axes()));
}

namespace {
struct NameAxes : skewer::impl::AttnNameAxesBase<NameAxes> {
  void runOnOperation() override { getOperation().walk(nameAxes); }
};
} // namespace
