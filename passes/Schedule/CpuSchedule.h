// Schedules for processors: the cost model's choice within what is asked for, and whether one that is there is obeyed.
#pragma once
#include "passes/Analysis/AttentionShape.h"
#include "passes/Schedule/CostModel.h"
#include "passes/Schedule/ShortSchedule.h"

namespace skewer {

/// The cost model's schedule, with what the request pins. Null after an error at the attention: what is pinned does not
/// fit it.
attn::CpuScheduleAttr chooseSchedule(attn::AttentionOp, const AttentionShape &, const Target &,
                                     const CpuRequest & = {});

/// The one for short layers, of an attention of run-time length that has this schedule (ShortSchedule.h); where it is
/// for as many as there are queries, it is better than this one.
std::optional<ShortSchedule> chooseShortSchedule(attn::AttentionOp, const AttentionShape &, const Target &,
                                                 attn::CpuScheduleAttr);

/// Of an attention that has a schedule, whoever wrote it: whether code for the target can obey it. An error says what
/// is wrong (cpu_schedule_c7 to cpu_schedule_c10), a note what would fit.
llvm::LogicalResult verifySchedule(attn::AttentionOp, const Target &);

/// Another strategy that fits a term of a scheduled attention.
struct Alternative {
  size_t term; // of those that the schedule names
  llvm::StringRef strategy;
  double cycles;      // of the whole attention with it, by the cost model, in the blocks that suit it best
  std::string whyNot; // TermStrategy::whyNotOn
};
std::vector<Alternative> alternativesOf(attn::AttentionOp, const AttentionShape &, const Target &);

} // namespace skewer
