// A pass of one's own: limit-distance{distance=N} hides keys that are further than N from their query, in every softmax
// over `j` of queries `i`. What would a sliding window cost, and save, in a model that was trained without one?
#include "dialect/IR/Attn.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Pass/Pass.h"
#include "mlir/Tools/Plugins/PassPlugin.h"
#include "tools/plugins/Plugin.h"

using namespace mlir;
using namespace skewer;

namespace {

struct LimitDistance : PassWrapper<LimitDistance, OperationPass<func::FuncOp>> {
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(LimitDistance)
  LimitDistance() = default;
  LimitDistance(const LimitDistance &other) : PassWrapper(other) {}

  llvm::StringRef getArgument() const override { return "limit-distance"; }
  llvm::StringRef getDescription() const override { return "Hide keys further than so many positions from the query"; }
  Option<int64_t> distance{*this, "distance", llvm::cl::desc("of the furthest key that is seen"), llvm::cl::init(-1)};

  void runOnOperation() override {
    if (distance < 0) {
      getOperation().emitError("limit-distance: the distance is ") << int64_t(distance) << "; expected at least 0";
      return signalPassFailure();
    }
    getOperation().walk([&](attn::SoftmaxOp softmax) {
      if (softmax.getOver() != "j" || !softmax.getAxes().contains("i j"))
        return; // not over the positions of a sequence
      std::string limit = "abs(i - j) <= " + std::to_string(distance);
      if (std::optional<llvm::StringRef> mask = softmax.getMask())
        limit = "(" + mask->str() + ") and " + limit;
      softmax.setMask(limit);
    });
  }
};

} // namespace

SKEWER_PLUGIN_MARK()
extern "C" __attribute__((visibility("default"))) PassPluginLibraryInfo mlirGetPassPluginInfo() {
  return {MLIR_PLUGIN_API_VERSION, "limit-distance", SKEWER_PLUGIN_VERSION, [] { PassRegistration<LimitDistance>(); }};
}
