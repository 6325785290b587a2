// CPU schedules: the cost model's choice within a request, and the verification of existing schedules.
#pragma once
#include "passes/Analysis/AttentionShape.h"
#include "passes/Cpu/Schedule/CostModel.h"
#include "passes/Cpu/Schedule/ShortSchedule.h"

namespace skewer {

/// Returns the cost model's schedule, with the fields that the request pins. Returns null after an error at the
/// attention if a pinned field does not fit it.
attn::CpuScheduleAttr chooseSchedule(attn::AttentionOp, const AttentionShape &, const Target &,
                                     const CpuRequest & = {});

/// Returns the schedule for short layers of an attention of run-time length that has the given schedule
/// (ShortSchedule.h). If the result holds for all queries, it is better than the given schedule.
std::optional<ShortSchedule> chooseShortSchedule(attn::AttentionOp, const AttentionShape &, const Target &,
                                                 attn::CpuScheduleAttr);

/// Verifies that code for the target can obey the schedule of an attention, written by a user or chosen. `shape` is the
/// attention's `walkedShape`. An error names the problem (cpu_schedule_c7 to cpu_schedule_c10), and a note says what
/// would fit.
llvm::LogicalResult verifySchedule(attn::AttentionOp, const OrRefusal<AttentionShape> &shape, const Target &);

/// Another strategy that fits a term of a scheduled attention.
struct Alternative {
  size_t term; // place among the terms that the schedule names
  llvm::StringRef strategy;
  double cycles;                 // predicted for the whole attention with this strategy, in the best blocks for it
  std::optional<Refusal> whyNot; // TermStrategy::whyNotOn
};
std::vector<Alternative> alternativesOf(attn::AttentionOp, const AttentionShape &, const Target &);

} // namespace skewer
