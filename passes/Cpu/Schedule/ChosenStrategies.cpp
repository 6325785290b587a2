// Asks the registry for strategies.
#include "passes/Cpu/Schedule/ChosenStrategies.h"
#include "passes/Cpu/Schedule/Prediction.h"

using namespace skewer;

// If the predicted times of two strategies differ by less than this share, the prediction cannot tell which is faster,
// and the strategy that analysis meant stays.
static constexpr double kLeastGain = 0.03;

static void addMasks(ChosenStrategies &chosen, const AttentionShape &shape, const TermStrategies &known) {
  for (const TermForm &form : maskFormsOf(shape))
    chosen.push_back({form, known.fitting(form, shape).front()});
}

std::optional<Refusal> skewer::refuseUnfitted(const AttentionShape &shape, const TermStrategies &known) {
  auto firstWithout = [&](const std::vector<TermForm> &forms) -> std::string {
    for (auto [number, form] : llvm::enumerate(forms))
      if (known.fitting(form, shape).empty())
        return std::to_string(number + 1);
    return "";
  };
  if (std::string term = firstWithout(formsOf(shape)); !term.empty())
    return Refusal{"no strategy fits term " + term + " of the attention"};
  if (std::string part = firstWithout(maskFormsOf(shape)); !part.empty())
    return Refusal{"no strategy fits part " + part + " of the attention's mask"};
  return std::nullopt;
}

OrRefusal<ChosenStrategies> skewer::chooseStrategies(const AttentionShape &shape, const TermStrategies &known,
                                                     const Target &target) {
  if (auto refusal = refuseUnfitted(shape, known))
    return *refusal;
  ChosenStrategies chosen;
  for (const TermForm &form : formsOf(shape))
    chosen.push_back({form, known.fitting(form, shape).front()});
  size_t terms = chosen.size();
  addMasks(chosen, shape, known);
  for (size_t number = 0; number < terms; ++number)
    for (const TermStrategy *strategy : known.fitting(chosen[number].form, shape)) {
      if (strategy == chosen[number].strategy || !strategy->competes(shape) || strategy->whyNotOn(target))
        continue;
      ChosenStrategies other = chosen;
      other[number].strategy = strategy;
      if (predictedCycles(shape, other, target) < (1 - kLeastGain) * predictedCycles(shape, chosen, target))
        chosen = std::move(other);
    }
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
