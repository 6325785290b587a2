// Which strategy computes which term of an attention.
#pragma once
#include "passes/Analysis/TermStrategy.h"

namespace skewer {

struct ChosenStrategy {
  TermForm form;
  const TermStrategy *strategy;
};
/// Of each term that a schedule names (formsOf), in order, then of the parts of the mask (maskFormsOf). The forms point
/// into the shape.
using ChosenStrategies = std::vector<ChosenStrategy>;

/// The first that fits each, but for a term for which another one competes (TermStrategy::competes) and the attention
/// is predicted to take clearly less time with it.
/// Nothing where none fits a term or a part of the mask; `reason` says which.
std::optional<ChosenStrategies> chooseStrategies(const AttentionShape &, const TermStrategies &, const Target &,
                                                 std::string &reason);
/// What no strategy fits, in words; empty where each term and each part of the mask has one.
std::string unfitted(const AttentionShape &, const TermStrategies &);
/// As the schedule says, which has been verified.
ChosenStrategies strategiesOf(attn::CpuScheduleAttr, const AttentionShape &);
/// The shape with each term such that the strategy that the schedule names for it computes it.
AttentionShape asScheduled(attn::CpuScheduleAttr, AttentionShape);

} // namespace skewer
