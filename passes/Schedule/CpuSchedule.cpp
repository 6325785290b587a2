// Choosing and verifying #attn.cpu_schedule.
#include "passes/Schedule/CpuSchedule.h"
#include "passes/Analysis/StridedShape.h"
#include "passes/Analysis/TermStrategy.h"
#include "passes/Schedule/Prediction.h"
#include "passes/Stages/Stages.h"

using namespace mlir;
using namespace skewer;

/// How each term is computed, in the order of the terms.
static SmallVector<StringRef> strategiesOf(const AttentionShape &shape, bool stridedAdd) {
  SmallVector<StringRef> strategies;
  size_t offsets = 0, rows = 0, others = 0, registered = 0;
  for (TermRole role : shape.roles) {
    StringRef name = role == TermRole::Content      ? "matmul"
                     : role == TermRole::Row        ? nameOf(shape.rows[rows++])
                     : role == TermRole::Other      ? nameOf(shape.others[others++].bias)
                     : role == TermRole::Registered ? shape.registered[registered++].strategy->name()
                     : shape.offsets[offsets].keyAxis.isWhole(shape.keys) ? stridedAdd ? StringRef(kStridedAdd) : "band"
                                                                          : "axis_logits";
    offsets += role == TermRole::Offset;
    strategies.push_back(name);
  }
  for (const ValueTerm &term : shape.valueTerms)
    strategies.push_back(nameOf(term.kind));
  return strategies;
}

attn::CpuScheduleAttr skewer::chooseSchedule(attn::AttentionOp attention, const AttentionShape &shape,
                                             const Target &target, const CpuRequest &request) {
  std::optional<OffsetCost> cost = offsetCostOf(shape, target);
  bool stridedAdd = cost && cost->stridedAdd < cost->band;
  MLIRContext *context = attention.getContext();
  if (!request.offsets.empty()) {
    stridedAdd = request.offsets == kStridedAdd;
    if (!llvm::is_contained(strategiesOf(shape, stridedAdd && cost), request.offsets)) {
      attention.emitError() << "no term can be computed by '" << request.offsets << "' (cpu_schedule_c9)";
      return {};
    }
  }
  const std::pair<StringRef, int64_t> numbers[] = {{"tile_rows", request.tileRows},
                                                   {"tile_vectors", request.tileVectors},
                                                   {"row_block", request.rowBlock},
                                                   {"key_block", request.keyBlock},
                                                   {"rows_per_item", request.rowsPerItem}};
  for (auto [name, number] : numbers)
    if (number < 0 || number > INT32_MAX) {
      attention.emitError() << name << " is " << number << ", expected a number below 2^31";
      return {};
    }
  Blocking blocking = chooseBlocking(sizesOf(shape, stridedAdd), target, request);
  SmallVector<StringAttr> strategies;
  for (StringRef name : strategiesOf(shape, stridedAdd))
    strategies.push_back(StringAttr::get(context, name));
  auto emitError = [&] { return attention.emitError(); };
  auto schedule =
      attn::CpuScheduleAttr::getChecked(function_ref<InFlightDiagnostic()>(emitError), context, StringRef(target.name),
                                        target.lanes, blocking.tileRows, blocking.tileVectors, blocking.rowBlock,
                                        blocking.keyBlock, blocking.rowsPerItem, ArrayRef<StringAttr>(strategies));
  if (!schedule || failed(schedule.verifyFor(attention, shape.queries, shape.keys)))
    return {};
  return schedule;
}

/// Why code for the target cannot obey a schedule; empty if it can.
static std::string whyNot(attn::CpuScheduleAttr schedule, const AttentionShape &shape, const Target &target) {
  auto quoted = [](StringRef text) { return "'" + text.str() + "'"; };
  if (schedule.getTarget() != target.name)
    return "schedule is for target " + quoted(schedule.getTarget()) + ", but code is made for " + quoted(target.name) +
           " (cpu_schedule_c7)";
  if (schedule.getLanes() > target.lanes)
    return "schedule has vectors of " + std::to_string(schedule.getLanes()) + " lanes; those of " +
           quoted(target.name) + " have " + std::to_string(target.lanes) + " (cpu_schedule_c8)";
  bool mayAdd = mayAddStrided(shape);
  SmallVector<StringRef> usual = strategiesOf(shape, false), strided = strategiesOf(shape, mayAdd);
  for (auto [number, chosen] : llvm::enumerate(schedule.getStrategies()))
    if (chosen.getValue() != usual[number] && chosen.getValue() != strided[number]) {
      std::string possible = quoted(usual[number]);
      if (usual[number] != strided[number])
        possible += " or " + quoted(strided[number]);
      return "strategy " + std::to_string(number + 1) + " is " + quoted(chosen.getValue()) +
             ", but that term is computed by " + possible + " (cpu_schedule_c9)";
    }
  return "";
}

LogicalResult skewer::verifySchedule(attn::AttentionOp attention, const Target &target) {
  attn::ScheduleInterface given = attention.getScheduleAttr();
  auto schedule = dyn_cast<attn::CpuScheduleAttr>(given);
  if (!schedule)
    return attention.emitError() << "schedule is for '" << given.getTarget() << "', which is no processor, but code is "
                                 << "made for '" << target.name << "' (cpu_schedule_c7)";
  std::string reason;
  auto shape = walkedShape(attention, reason);
  if (!shape)
    return attention.emitError() << "has a schedule, but goes by rows of scores: " << reason << " (cpu_schedule_c10)";
  std::string why = whyNot(schedule, *shape, target);
  if (why.empty())
    return success();
  InFlightDiagnostic error = attention.emitError() << why;
  if (auto fitting = chooseSchedule(attention, *shape, target))
    error.attachNote() << "the cost model would choose " << fitting;
  return error;
}
