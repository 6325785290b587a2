// Chooses and verifies #attn.cpu_schedule.
#include "passes/Cpu/Schedule/CpuSchedule.h"
#include "passes/Cpu/Schedule/ChosenStrategies.h"
#include "passes/Cpu/Schedule/Prediction.h"
#include "passes/Stages/Stages.h"
#include "llvm/ADT/StringExtras.h"

using namespace mlir;
using namespace skewer;

static constexpr const char *kUnfittedHint = "; --unfused compiles the layer, or a plugin may bring a strategy";

static std::string quoted(StringRef text) { return "'" + text.str() + "'"; }

/// Returns the strategies that fit a term, as text: "'band' or 'strided_add'".
static std::string namesOfFitting(const TermForm &form, const AttentionShape &shape, const TermStrategies &known) {
  std::vector<std::string> names;
  for (const TermStrategy *strategy : known.fitting(form, shape))
    names.push_back(quoted(strategy->name()));
  return llvm::join(names, " or ");
}

/// Sets the strategies that the request pins for single terms; false after an error.
static bool askForTerms(const std::map<int64_t, std::string> &asked, const AttentionShape &shape,
                        const TermStrategies &known, ChosenStrategies &chosen, attn::AttentionOp attention) {
  auto named = static_cast<int64_t>(formsOf(shape).size());
  for (const auto &[number, name] : asked) {
    if (number < 1 || number > named) {
      attention.emitError() << "a strategy is asked for term " << number << ", but the layer has " << named
                            << " (cpu_schedule_c9)";
      return false;
    }
    ChosenStrategy &each = chosen[static_cast<size_t>(number - 1)];
    const TermStrategy *strategy = known.named(name);
    if (!llvm::is_contained(known.fitting(each.form, shape), strategy)) {
      attention.emitError() << "strategy " << number << " is " << quoted(name) << ", but that term is computed by "
                            << namesOfFitting(each.form, shape, known) << " (cpu_schedule_c9)";
      return false;
    }
    each.strategy = strategy;
  }
  return true;
}

/// Returns the schedule with a blocking and strategies; null after an error.
static attn::CpuScheduleAttr scheduleFor(attn::AttentionOp attention, const AttentionShape &shape,
                                         const ChosenStrategies &chosen, const Target &target,
                                         const Blocking &blocking) {
  MLIRContext *context = attention.getContext();
  SmallVector<StringAttr> strategies;
  for (auto [form, strategy] : chosen)
    if (!form.as<MaskPart>())
      strategies.push_back(StringAttr::get(context, strategy->name()));
  auto emitError = [&] { return attention.emitError(); };
  auto schedule = attn::CpuScheduleAttr::getChecked(
      function_ref<InFlightDiagnostic()>(emitError), context, StringRef(target.name), target.lanes, blocking.tileRows,
      blocking.tileVectors, blocking.rowBlock, blocking.keyBlock, blocking.rowsPerItem,
      ArrayRef<StringAttr>(strategies), blocking.keysPerItem);
  if (!schedule || failed(schedule.verifyFor(attention, shape.queries, shape.keys)))
    return {};
  return schedule;
}

attn::CpuScheduleAttr skewer::chooseSchedule(attn::AttentionOp attention, const AttentionShape &shape,
                                             const Target &target, const CpuRequest &request) {
  const TermStrategies &known = termStrategiesOf(attention.getContext());
  auto chosen = chooseStrategies(shape, known, target);
  if (!chosen) {
    attention.emitError() << chosen.reason() << kUnfittedHint;
    return {};
  }
  if (!askForTerms(request.strategies, shape, known, *chosen, attention))
    return {};
  const std::pair<StringRef, int64_t> numbers[] = {
      {"tile_rows", request.tileRows}, {"tile_vectors", request.tileVectors},  {"row_block", request.rowBlock},
      {"key_block", request.keyBlock}, {"rows_per_item", request.rowsPerItem}, {"keys_per_item", request.keysPerItem}};
  for (auto [name, number] : numbers)
    if (number < 0 || number > INT32_MAX) {
      attention.emitError() << name << " is " << number << ", expected a number below 2^31";
      return {};
    }
  return scheduleFor(attention, shape, *chosen, target, chooseBlocking(sizesOf(shape, *chosen), target, request));
}

std::optional<ShortSchedule> skewer::chooseShortSchedule(attn::AttentionOp attention, const AttentionShape &shape,
                                                         const Target &target, attn::CpuScheduleAttr schedule) {
  auto choice = chooseForShort(schedule, shape, target);
  if (!choice)
    return std::nullopt;
  // Blocks are chosen for the longest short layer, tiles for a quarter of its length, because a wide tile computes more
  // vectors behind the end of a layer that has few vectors. On a Zen 4 core, the tiles for the longest layer, 8x3, took
  // 1.21 times as long as a layer compiled for 100 queries, and 4x4 tiles 1.08 times; at 300 queries 3.08 and 2.94 ms.
  auto sizesAt = [&](int64_t queries) { return sizesOf(atLength(shape, queries), choice->chosen); };
  CpuRequest asked;
  Blocking ofQuarter = chooseBlocking(sizesAt(llvm::divideCeil(choice->atMost, 4)), target);
  asked.tileRows = ofQuarter.tileRows;
  asked.tileVectors = ofQuarter.tileVectors;
  Blocking blocking = chooseBlocking(sizesAt(choice->atMost), target, asked);
  blocking.keysPerItem = 0;
  attn::CpuScheduleAttr chosen = scheduleFor(attention, shape, choice->chosen, target, blocking);
  return chosen ? std::optional<ShortSchedule>({chosen, choice->atMost}) : std::nullopt;
}

/// Refuses a schedule that code for the target cannot obey.
static std::optional<Refusal> refuse(attn::CpuScheduleAttr schedule, const AttentionShape &shape,
                                     const Target &target) {
  if (schedule.getTarget() != target.name)
    return Refusal{"schedule is for target " + quoted(schedule.getTarget()) + ", but code is made for " +
                   quoted(target.name) + " (cpu_schedule_c7)"};
  if (schedule.getLanes() > target.lanes)
    return Refusal{"schedule has vectors of " + std::to_string(schedule.getLanes()) + " lanes; those of " +
                   quoted(target.name) + " have " + std::to_string(target.lanes) + " (cpu_schedule_c8)"};
  const TermStrategies &known = termStrategiesOf(schedule.getContext());
  for (auto [number, form] : llvm::enumerate(formsOf(shape))) {
    StringRef chosen = schedule.getStrategies()[number].getValue();
    if (!llvm::is_contained(known.fitting(form, shape), known.named(chosen)))
      return Refusal{"strategy " + std::to_string(number + 1) + " is " + quoted(chosen) +
                     ", but that term is computed by " + namesOfFitting(form, shape, known) + " (cpu_schedule_c9)"};
  }
  return std::nullopt;
}

/// Refuses wrong attributes for short layers.
static std::optional<Refusal> refuseShort(attn::AttentionOp attention, const AttentionShape &shape,
                                          const Target &target) {
  Attribute schedule = attention->getAttr(kShortSchedule), length = attention->getAttr(kShortLength);
  if (!schedule && !length)
    return std::nullopt;
  auto given = shortScheduleOf(attention);
  if (!given)
    return Refusal{quoted(kShortSchedule) + ", a schedule for processors, and " + quoted(kShortLength) +
                   ", a number, go together (cpu_schedule_c11)"};
  if (!shape.bounds.queryLength)
    return Refusal{"has " + quoted(kShortSchedule) + ", but the number of its queries is known (cpu_schedule_c11)"};
  if (given->atMost < 1 || given->atMost >= shape.queries)
    return Refusal{quoted(kShortLength) + " is " + std::to_string(given->atMost) + ", expected 1 to " +
                   std::to_string(shape.queries - 1) + " (cpu_schedule_c11)"};
  if (given->schedule.getStrategies().size() != formsOf(shape).size())
    return Refusal{quoted(kShortSchedule) + " has " + std::to_string(given->schedule.getStrategies().size()) +
                   " strategies for " + std::to_string(formsOf(shape).size()) + " terms (attention_c8)"};
  return refuse(given->schedule, shape, target);
}

LogicalResult skewer::verifySchedule(attn::AttentionOp attention, const OrRefusal<AttentionShape> &shape,
                                     const Target &target) {
  attn::ScheduleInterface given = attention.getScheduleAttr();
  auto schedule = dyn_cast<attn::CpuScheduleAttr>(given);
  if (!schedule)
    return attention.emitError() << "schedule is for '" << given.getTarget() << "', which is no processor, but code is "
                                 << "made for '" << target.name << "' (cpu_schedule_c7)";
  if (!shape)
    return attention.emitError() << "has a schedule, but goes by rows of scores: " << shape.reason()
                                 << " (cpu_schedule_c10)";
  if (auto refusal = refuseUnfitted(*shape, termStrategiesOf(attention.getContext())))
    return attention.emitError() << refusal->reason << kUnfittedHint;
  auto refusal = refuse(schedule, *shape, target);
  if (!refusal)
    refusal = refuseShort(attention, *shape, target);
  if (!refusal) {
    auto forShort = shortScheduleOf(attention);
    return forShort ? forShort->schedule.verifyFor(attention, shape->queries, shape->keys) : success();
  }
  InFlightDiagnostic error = attention.emitError() << refusal->reason;
  if (auto fitting = chooseSchedule(attention, *shape, target))
    error.attachNote() << "the cost model would choose " << fitting;
  return error;
}

std::vector<Alternative> skewer::alternativesOf(attn::AttentionOp attention, const AttentionShape &shape,
                                                const Target &target) {
  const TermStrategies &known = termStrategiesOf(attention.getContext());
  auto schedule = cast<attn::CpuScheduleAttr>(attention.getScheduleAttr());
  std::vector<Alternative> alternatives;
  ChosenStrategies chosen = strategiesOf(schedule, shape);
  for (size_t number = 0; number < schedule.getStrategies().size(); ++number)
    for (const TermStrategy *strategy : known.fitting(chosen[number].form, shape)) {
      if (strategy == chosen[number].strategy)
        continue;
      ChosenStrategies other = chosen;
      other[number].strategy = strategy;
      alternatives.push_back(
          {number, strategy->name(), predictedCycles(shape, other, target), strategy->whyNotOn(target)});
    }
  return alternatives;
}
