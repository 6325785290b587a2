// Draws a layer that did not fuse: the einsums that read through index expressions, as they are written, and the first
// softmax.
#include "tools/skewer/PlotUnfused.h"
#include "codegen/Compiler/Compiler.h"
#include "tools/skewer/PlotSpace.h"

using namespace mlir;
using namespace skewer::attn;
using namespace skewer::subscript;

namespace skewer::driver {

/// Returns the last two dimensions of an einsum's result as queries and keys. Nothing if there are fewer than two, or a
/// size is known only at run time.
static std::optional<ScoreSpace> spaceOf(const ResolvedEinsum &resolved) {
  const Dimensions &result = *resolved.spec.result;
  if (result.size() < 2)
    return std::nullopt;
  ScoreSpace space;
  space.sizes = resolved.sizes;
  for (size_t d = 0; d < result.size(); ++d) {
    std::vector<std::string> &role = d + 2 < result.size()    ? space.leading
                                     : d + 2 == result.size() ? space.query
                                                              : space.key;
    for (const std::string &axis : result[d].axes) {
      role.push_back(axis);
      if (d + 2 >= result.size() && resolved.sizes.at(axis) == kRuntime)
        return std::nullopt;
    }
  }
  return space;
}

llvm::Error plotUnfused(func::FuncOp function, const KernelPlan &signature, const Operands &operands, int64_t head,
                        PlotData &data) {
  bool headIsKnown = head == 0;
  function.walk([&](EinsumOp einsum) {
    ResolvedEinsum resolved = resolve(einsum);
    auto space = spaceOf(resolved);
    if (!space)
      return;
    bool hasHead = true;
    if (llvm::Error error = checkHead(*space, head)) {
      llvm::consumeError(std::move(error));
      hasHead = false;
    }
    headIsKnown |= hasHead;
    PlotSpace own(*space, signature, operands, hasHead ? head : 0);
    for (size_t k = 0; k < resolved.subscripts.size(); ++k) {
      bool isRead =
          llvm::any_of(resolved.spec.operands[k], [](const subscript::Dimension &d) { return !d.isProduct(); });
      Value operand = einsum.getInputs()[k];
      if (!isRead)
        continue;
      if (auto skew = own.skewOf(resolved, k, shapeOf(operand), nameOfOperand(operand, function), std::nullopt))
        data.skews.push_back(std::move(*skew));
    }
  });
  SoftmaxOp softmax;
  function.walk([&](SoftmaxOp op) { softmax = softmax ? softmax : op; });
  if (softmax) {
    auto scores = heatMapOf(function, softmax.getInput(), operands, head, "scores", "before the softmax");
    if (!scores)
      return scores.takeError();
    auto weights = heatMapOf(function, softmax.getResult(), operands, head, "weights", "behind the softmax");
    if (!weights)
      return weights.takeError();
    headIsKnown = true;
    weights->isLogarithmic = true;
    data.maps.push_back(std::move(*scores));
    data.maps.push_back(std::move(*weights));
  }
  if (data.skews.empty() && data.maps.empty())
    return llvm::createStringError(std::errc::invalid_argument,
                                   "no attention was formed, and there is nothing else to draw: it has no softmax, and "
                                   "no einsum that reads through an index "
                                   "expression of its result's last two dimensions");
  if (!headIsKnown)
    return llvm::createStringError(std::errc::invalid_argument,
                                   "--head %lld: no tensor that is drawn has so many heads",
                                   static_cast<long long>(head));
  return llvm::Error::success();
}

} // namespace skewer::driver
