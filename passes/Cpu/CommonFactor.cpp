// Takes the factor that all terms of a score share out of them (CommonFactor.h).
#include "passes/Cpu/CommonFactor.h"
#include "passes/Cpu/Engine.h"
#include "llvm/ADT/STLExtras.h"
#include <cmath>

using namespace skewer;

/// Returns whether exponentials of the scores are made as packed powers, which multiply each score by a constant. Parts
/// of the keys are merged by maxima of whole scores.
static bool multipliesScores(const AttentionShape &shape, const AttentionStage &stage, const VectorBuilder &b) {
  int64_t keys = stage.schedule.getKeysPerItem();
  if (!shape.isPlainSoftmax() || !shape.mayRoundWeights() || (keys && keys < shape.keys))
    return false;
  const CpuEngine &engine = stage.engineOf(shape.value.argument, shape.value.argument);
  return engine.forWeights() && engine.forWeights()->makesPowers(b, stage.target);
}

AttentionShape skewer::withCommonFactor(AttentionShape shape, const AttentionStage &stage, const VectorBuilder &b) {
  if (shape.content.empty() || !shape.others.empty() || !multipliesScores(shape, stage, b))
    return shape;
  double factor = shape.content.front().scale;
  auto hasFactor = [&](const auto &term) { return term.scale == factor; };
  bool isPacked = llvm::none_of(shape.content, [](const ContentTerm &term) { return term.inPlace; });
  if (!isPacked || !llvm::all_of(shape.content, hasFactor) || !llvm::all_of(shape.rows, hasFactor) ||
      !(factor > 0 && std::isfinite(factor)))
    return shape;
  for (ContentTerm &term : shape.content)
    term.scale = 1;
  for (RowTerm &term : shape.rows)
    term.scale = 1;
  shape.scoreFactor = factor;
  return shape;
}
