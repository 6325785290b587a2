// Schedules for layers of run-time length. Strategies that are fastest near the bound may be slow for short layers. An
// attention then has two schedules, and the number of queries up to which the second one is used.
#pragma once
#include "passes/Cpu/Schedule/ChosenStrategies.h"

namespace skewer {

/// Attributes of an attention next to its schedule: the schedule for short layers, and the most queries for which it is
/// used.
constexpr llvm::StringLiteral kShortSchedule = "attn.short_schedule", kShortLength = "attn.short_length";

struct ShortSchedule {
  attn::CpuScheduleAttr schedule;
  int64_t atMost;
};
/// Returns the verified short schedule of the attention; nothing if it has none.
std::optional<ShortSchedule> shortScheduleOf(attn::AttentionOp);
void setShortSchedule(attn::AttentionOp, const ShortSchedule &);

/// Returns the shape with `queries` queries, and with proportionally many keys if their number is known only at run
/// time. It is only for predictions by the cost model, since the operands keep the sizes that they have at the bound.
AttentionShape atLength(AttentionShape, int64_t queries);

struct ShortChoice {
  int64_t atMost;
  ChosenStrategies chosen; // the forms point into the shape
};
/// Compares the strategies of a schedule with those that analysis meant, if others won by prediction. Returns the most
/// queries up to which the strategies of analysis are faster, and the strategies for these lengths. Returns all queries
/// if that is more than three quarters of the lengths, since the code of two kernels would cost more than it gains.
/// Returns nothing if the schedule's strategies are the best at every length.
std::optional<ShortChoice> chooseForShort(attn::CpuScheduleAttr, const AttentionShape &, const Target &);

} // namespace skewer
