// Chooses the strategy for each term of an attention, and reads the choice from its schedule.
#pragma once
#include "passes/Cpu/TermStrategy.h"

namespace skewer {

struct ChosenStrategy {
  TermForm form;
  const TermStrategy *strategy;
};
/// The strategies of the terms that a schedule names (formsOf), in order, then of the parts of the mask (maskFormsOf).
/// The forms point into the shape.
using ChosenStrategies = std::vector<ChosenStrategy>;

/// Returns the first strategy that fits each term, unless another one competes (TermStrategy::competes) and the
/// prediction for the attention is clearly less time with it. Refuses if no strategy fits a term or a part of the mask.
OrRefusal<ChosenStrategies> chooseStrategies(const AttentionShape &, const TermStrategies &, const Target &);
/// Refuses the first term or mask part that no strategy fits.
std::optional<Refusal> refuseUnfitted(const AttentionShape &, const TermStrategies &);
/// Returns the strategies that a verified schedule names.
ChosenStrategies strategiesOf(attn::CpuScheduleAttr, const AttentionShape &);
/// Returns the shape with each term in the form that the strategy of the schedule computes.
AttentionShape asScheduled(attn::CpuScheduleAttr, AttentionShape);

} // namespace skewer
