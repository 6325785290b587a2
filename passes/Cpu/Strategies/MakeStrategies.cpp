// Makes the strategies that the schedule of an attention names for its terms and the parts of its mask. The constructor
// of CpuKernel calls it.
#include "passes/Cpu/Strategy.h"
#include "passes/Cpu/Schedule/ChosenStrategies.h"

using namespace skewer;

CpuStrategies skewer::makeStrategies(CpuKernel &kernel) {
  attn::CpuScheduleAttr schedule = kernel.context.stage.schedule;
  ChosenStrategies chosen = strategiesOf(schedule, kernel.context.shape);
  CpuStrategies strategies;
  for (AddOrder order : {AddOrder::Offsets, AddOrder::Rows, AddOrder::Own, AddOrder::Prepared, AddOrder::Loads,
                         AddOrder::Elements, AddOrder::Lanes, AddOrder::Values}) {
    for (auto [form, strategy] : chosen)
      if (strategy->order() == order)
        if (auto made = strategy->make(kernel, form)) {
          made->inSum(form.sum());
          strategies.push_back(std::move(made));
        }
    termStrategiesOf(schedule.getContext()).forEach([&](const TermStrategy &strategy) {
      if (strategy.order() == order)
        strategy.makeShared(kernel, strategies);
    });
  }
  return strategies;
}
