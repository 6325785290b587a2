// attn-fit-lengths: makes one layer for all lengths. It runs a pipeline over the layers of a few lengths under several
// assumptions, until the results can be compared, and compares them (FitLengths.h).
#include "dialect/IR/Attn.h"
#include "mlir/IR/Verifier.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Pass/PassRegistry.h"
#include "passes/Fusion/Factorise.h"
#include "passes/Fusion/VaryingMasks.h"
#include "passes/Lengths/FitLengths.h"
#include "passes/Lengths/FlatPositions.h"
#include "passes/Passes.h"

namespace skewer {
#define GEN_PASS_DEF_ATTNFITLENGTHS
#include "passes/Passes.h.inc"
} // namespace skewer

using namespace mlir;
using namespace skewer;

namespace {

func::FuncOp layerOf(ModuleOp module) { return *module.getOps<func::FuncOp>().begin(); }

/// Returns whether the masks of the layer's attentions differ between its lengths.
bool masksVary(ArrayRef<func::FuncOp> layers) {
  SmallVector<SmallVector<StringRef>> masks;
  for (func::FuncOp layer : layers) {
    masks.emplace_back();
    layer.walk([&](attn::AttentionOp attention) { masks.back().push_back(attention.getMask().value_or("")); });
  }
  return llvm::any_of(masks, [&](const auto &own) { return own != masks[0]; });
}

/// The assumptions of a try about all layers. Attributes state them, and passes of the pipeline obey them. Whole: a
/// chunk length may divide only some of the compared lengths, mostly the bound, and positions would be split into
/// chunks only there; so they stay whole at all lengths. Flat: if the inner axes of a map have lengths, the strides
/// between its lines depend on lengths too; so positions are one number, which is split only where that matters.
struct Assumption {
  bool isWhole, isFlat;
};
constexpr Assumption kAsTheyAre = {false, false}, kWhole = {true, false}, kFlat = {false, true},
                     kWholeThenFlat = {true, true};

/// The result of a try: the modules of all layers, and the diagnostics about the longest layer, during the passes and
/// at the end.
struct Try {
  bool isFitted = false, masksVary = false;
  SmallVector<ModuleOp> modules;
  std::vector<Diagnostic> ofLongest, atEnd;
};

class FitLengthsPass : public skewer::impl::AttnFitLengthsBase<FitLengthsPass> {
public:
  using AttnFitLengthsBase::AttnFitLengthsBase;

  void getDependentDialects(DialectRegistry &registry) const override {
    registry.insert<attn::AttnDialect>();
    OpPassManager passes(ModuleOp::getOperationName());
    if (succeeded(parsePassPipeline(pipeline, passes, llvm::nulls())))
      passes.getDependentDialects(registry);
  }

  void runOnOperation() override {
    OpPassManager passes(ModuleOp::getOperationName());
    std::string why;
    llvm::raw_string_ostream stream(why);
    if (failed(parsePassPipeline(pipeline, passes, stream))) {
      getOperation().emitError() << "pipeline '" << pipeline << "': " << StringRef(why).rtrim();
      return signalPassFailure();
    }
    SmallVector<ModuleOp> lengths(getOperation().getOps<ModuleOp>());
    if (failed(checkInput(lengths)))
      return signalPassFailure();

    bool masksDiffer = decideByLengths(llvm::map_to_vector(lengths, layerOf));
    auto runTry = [&](Assumption assumption) {
      Try result = tryWith(lengths, passes, assumption, masksDiffer);
      if (!result.masksVary)
        return result;
      masksDiffer = true; // decisions that depend on the masks hold only at the compared lengths
      return tryWith(lengths, passes, assumption, masksDiffer);
    };
    auto emit = [&](std::vector<Diagnostic> &diagnostics) {
      for (Diagnostic &diagnostic : diagnostics)
        getContext().getDiagEngine().emit(std::move(diagnostic));
    };
    for (Assumption assumption : {kAsTheyAre, kWhole, kFlat, kWholeThenFlat})
      if (Try good = runTry(assumption); good.isFitted) {
        emit(good.ofLongest);
        func::FuncOp fitted = layerOf(good.modules.front());
        fitted->remove();
        for (ModuleOp module : llvm::make_early_inc_range(getOperation().getOps<ModuleOp>()))
          module.erase();
        return getOperation().push_back(fitted);
      }
    Try last = runTry(kFlat); // most layers can be compared in this form, so its messages tell most
    emit(last.ofLongest);
    emit(last.atEnd);
    signalPassFailure();
  }

private:
  LogicalResult checkInput(ArrayRef<ModuleOp> lengths) {
    for (ModuleOp module : lengths)
      if (!llvm::hasSingleElement(*module.getBody()) || !isa<func::FuncOp>(module.getBody()->front()))
        return module.emitError("expected one function: the layer at one of the lengths");
    Lengths bounds = lengths.empty() ? Lengths() : boundsOf(layerOf(lengths.front()));
    if (bounds.empty())
      return getOperation().emitError("expected modules, the first with a layer that has 'attn.lengths'");
    size_t expected = fittingPoints(bounds).size();
    if (lengths.size() != expected)
      return getOperation().emitError() << "expected " << expected << " modules, one for each combination of a length "
                                        << "and one less, and one that checks; found " << lengths.size();
    return success();
  }

  /// Runs the passes on copies of the layers, and makes the first copy the layer of all lengths. The copies stay in the
  /// module.
  Try tryWith(ArrayRef<ModuleOp> lengths, OpPassManager &passes, Assumption assumption, bool masksDiffer) {
    Try result;
    std::vector<Diagnostic> *said = &result.ofLongest;
    ScopedDiagnosticHandler keep(&getContext(), [&](Diagnostic &diagnostic) { said->push_back(std::move(diagnostic)); });
    Attribute unit = UnitAttr::get(&getContext());
    for (ModuleOp module : lengths) {
      ModuleOp copy = cast<ModuleOp>(module->clone());
      getOperation().push_back(copy);
      func::FuncOp layer = layerOf(copy);
      if (assumption.isWhole)
        layer->setAttr(kWholePositions, unit);
      if (assumption.isFlat)
        layer->setAttr(kFlatPositions, unit);
      if (masksDiffer)
        layer->setAttr(kVaryingMasks, unit);
      if (failed(runPipeline(passes, copy)))
        return result;
      layer = layerOf(copy);
      for (StringRef name : {StringRef(kWholePositions), StringRef(kFlatPositions), StringRef(kVaryingMasks)})
        layer->removeAttr(name);
      result.modules.push_back(copy);
      said = &result.atEnd;
    }
    result.atEnd.clear(); // the passes on the shorter layers report the same
    SmallVector<func::FuncOp> layers = llvm::map_to_vector(result.modules, layerOf);
    result.masksVary = !masksDiffer && masksVary(layers);
    result.isFitted = !result.masksVary && succeeded(fitLengths(layers)) && succeeded(verify(result.modules.front()));
    return result;
  }
};

} // namespace
