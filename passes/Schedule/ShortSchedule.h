// Schedules of layers of run-time length: strategies that are fastest near the bound may be slow where a layer is
// short. Then there are two schedules, and the number of queries up to which the second one holds.
#pragma once
#include "passes/Schedule/ChosenStrategies.h"

namespace skewer {

/// Attributes of an attention beside its schedule: what it is computed by where its queries are at most so many.
constexpr llvm::StringLiteral kShortSchedule = "attn.short_schedule", kShortLength = "attn.short_length";

struct ShortSchedule {
  attn::CpuScheduleAttr schedule;
  int64_t atMost;
};
/// The attention's, which has been verified.
std::optional<ShortSchedule> shortScheduleOf(attn::AttentionOp);
void setShortSchedule(attn::AttentionOp, const ShortSchedule &);

/// The shape as the cost model would see it with so many queries, and keys in proportion where their number is known at
/// run time only. For predictions alone: operands have the sizes that they have at the bound.
AttentionShape atLength(AttentionShape, int64_t queries);

struct ShortChoice {
  int64_t atMost;
  ChosenStrategies chosen; // forms of the shape
};
/// Where terms have strategies that won by prediction over those that analysis meant: the most queries up to which the
/// latter win, and all strategies then; all queries where that is more than three quarters of the lengths: two kernels
/// would be more code than they gain. Nothing where the schedule's are the best at every length.
std::optional<ShortChoice> chooseForShort(attn::CpuScheduleAttr, const AttentionShape &, const Target &);

} // namespace skewer
