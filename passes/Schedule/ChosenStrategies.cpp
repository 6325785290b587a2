// Asking the registry for strategies.
#include "passes/Schedule/ChosenStrategies.h"

using namespace skewer;

static void addMasks(ChosenStrategies &chosen, const AttentionShape &shape, const TermStrategies &known) {
  for (const TermForm &form : maskFormsOf(shape))
    chosen.push_back({form, known.fitting(form, shape).front()});
}

std::string skewer::unfitted(const AttentionShape &shape, const TermStrategies &known) {
  auto firstWithout = [&](const std::vector<TermForm> &forms) -> std::string {
    for (auto [number, form] : llvm::enumerate(forms))
      if (known.fitting(form, shape).empty())
        return std::to_string(number + 1);
    return "";
  };
  if (std::string term = firstWithout(formsOf(shape)); !term.empty())
    return "no strategy fits term " + term + " of the attention";
  if (std::string part = firstWithout(maskFormsOf(shape)); !part.empty())
    return "no strategy fits part " + part + " of the attention's mask";
  return "";
}

std::optional<ChosenStrategies> skewer::chooseStrategies(const AttentionShape &shape, const TermStrategies &known,
                                                         const Target &target, std::string &reason) {
  reason = unfitted(shape, known);
  if (!reason.empty())
    return std::nullopt;
  ChosenStrategies chosen;
  for (const TermForm &form : formsOf(shape)) {
    std::vector<const TermStrategy *> fitting = known.fitting(form, shape);
    const TermStrategy *best = fitting.front();
    auto least = best->rowCycles(form, shape, target);
    for (const TermStrategy *strategy : llvm::drop_begin(fitting))
      if (auto cycles = strategy->rowCycles(form, shape, target); cycles && least && *cycles < *least) {
        best = strategy;
        least = cycles;
      }
    chosen.push_back({form, best});
  }
  addMasks(chosen, shape, known);
  return chosen;
}

ChosenStrategies skewer::strategiesOf(attn::CpuScheduleAttr schedule, const AttentionShape &shape) {
  const TermStrategies &known = termStrategiesOf(schedule.getContext());
  ChosenStrategies chosen;
  for (auto [form, name] : llvm::zip(formsOf(shape), schedule.getStrategies()))
    chosen.push_back({form, known.named(name.getValue())});
  addMasks(chosen, shape, known);
  return chosen;
}

AttentionShape skewer::asScheduled(attn::CpuScheduleAttr schedule, AttentionShape shape) {
  for (auto [form, strategy] : strategiesOf(schedule, shape))
    strategy->take(form, shape);
  return shape;
}
