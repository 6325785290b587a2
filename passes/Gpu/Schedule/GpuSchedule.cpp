// Verifies a GPU schedule before code generation, whether a user wrote it or the cost model chose it.
#include "passes/Gpu/Schedule/GpuSchedule.h"
#include "dialect/IR/StrategyNames.h"
#include "passes/Gpu/Schedule/GpuCostModel.h"
#include "passes/Gpu/Schedule/GpuEngine.h"
#include "passes/Gpu/Shape/TensorBoxes.h"
#include "llvm/ADT/StringExtras.h"

using namespace mlir;
using namespace skewer;
using namespace skewer::gpu;

static constexpr StringRef kStrategies[] = {strategy::kMatmul,   strategy::kBand,   strategy::kKeyBand,
                                            strategy::kLookup,   strategy::kLine,   strategy::kGatedLine,
                                            strategy::kPerScore, strategy::kNothing};

void skewer::gpu::addStrategyNames(attn::AttnDialect *dialect) {
  for (StringRef name : kStrategies)
    attn::StrategyNames::of(dialect).add(attn::GpuScheduleAttr::getMnemonic(), name);
}

/// Returns the strategies that can compute a term, as text: "'band' or 'lookup'". Asks for each of them in a schedule.
static std::string namesOfFitting(attn::AttentionOp attention, attn::GpuScheduleAttr given, size_t number) {
  std::vector<std::string> names;
  for (StringRef name : kStrategies) {
    SmallVector<StringAttr> strategies(given.getStrategies());
    strategies[number] = StringAttr::get(attention.getContext(), name);
    attention.setScheduleAttr(attn::GpuScheduleAttr::get(attention.getContext(), given.getTarget(), given.getEngine(),
                                                         given.getRows(), given.getKeys(), given.getStages(),
                                                         given.getKeepQueries(), given.getColumns(),
                                                         given.getWarpRows(), given.getCopies(), strategies));
    if (auto shape = gpuShapeOf(attention); shape && shape->strategies[number] == name)
      names.push_back("'" + name.str() + "'");
  }
  attention.setScheduleAttr(given);
  return llvm::join(names, " or ");
}

static LogicalResult verifyStrategies(attn::AttentionOp attention, attn::GpuScheduleAttr given, const GpuShape &shape) {
  for (auto [number, chosen] : llvm::enumerate(given.getStrategies()))
    if (chosen.getValue() != shape.strategies[number])
      return attention.emitError() << "strategy " << number + 1 << " is '" << chosen.getValue()
                                   << "', but that term is computed by " << namesOfFitting(attention, given, number)
                                   << " (gpu_schedule_c9)";
  return success();
}

LogicalResult skewer::gpu::verifyGpuSchedule(attn::AttentionOp attention, const GpuShape *shape, StringRef reason,
                                             const GpuMachine &machine) {
  attn::ScheduleInterface given = attention.getScheduleAttr();
  auto schedule = dyn_cast<attn::GpuScheduleAttr>(given);
  if (!schedule || given.getTarget() != machine.target)
    return attention.emitError() << "schedule is for '" << given.getTarget() << "', but code is made for '"
                                 << machine.target << "' (gpu_schedule_c7)";
  StringRef engine = schedule.getEngine();
  if (const GpuEngine *known = findGpuEngine(engine); !known || !known->fits(machine))
    return attention.emitError() << "engine is '" << engine << "', which " << machine.target
                                 << " does not have; it has: " << engineNames(machine) << " (gpu_schedule_c2)";
  if (!shape)
    return attention.emitError() << "has a schedule, but goes by rows of scores: " << reason << " (gpu_schedule_c8)";
  if (auto refusal = findGpuEngine(engine)->refuse(*shape, shape->tile))
    return attention.emitError() << "engine '" << engine << "' " << refusal->reason << " (gpu_schedule_c12)";
  if (auto refusal = refuseBoxes(*shape, shape->tile))
    return attention.emitError() << "copies are 'tma', but " << refusal->reason << " (gpu_schedule_c14)";
  if (Attribute parts = attention->getAttr(kGpuKeyParts)) {
    if (!isa<IntegerAttr>(parts))
      return attention.emitError() << "'" << kGpuKeyParts << "' is " << parts << ", expected a number";
    if (auto refusal = refuseParts(*shape, shape->tile, shape->tile.keyParts))
      return attention.emitError() << "'" << kGpuKeyParts << "' is " << shape->tile.keyParts << ", but "
                                   << refusal->reason;
  }
  return verifyStrategies(attention, schedule, *shape);
}
