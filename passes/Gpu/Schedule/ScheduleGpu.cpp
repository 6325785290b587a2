// attn-schedule-gpu: sets the choice of the GPU cost model, or of the caller, as an attribute.
#include "dialect/IR/Attn.h"
#include "passes/Gpu/PrepareGpuStages.h"
#include "passes/Gpu/Schedule/GpuCostModel.h"
#include "passes/Gpu/Schedule/GpuEngine.h"
#include "passes/Gpu/Schedule/GpuSchedule.h"
#include "passes/Gpu/Shape/GpuShape.h"
#include "passes/Passes.h"

using namespace mlir;
using namespace skewer;
using namespace skewer::gpu;

namespace skewer {
#define GEN_PASS_DEF_ATTNSCHEDULEGPU
#include "passes/Passes.h.inc"
} // namespace skewer

namespace {

struct ScheduleAttentionForGpu : skewer::impl::AttnScheduleGpuBase<ScheduleAttentionForGpu> {
  using AttnScheduleGpuBase::AttnScheduleGpuBase;

  void runOnOperation() override {
    ModuleOp module = getOperation();
    auto machine = findGpuMachine(target);
    if (!machine) {
      module.emitError() << "unknown GPU '" << target << "'";
      return signalPassFailure();
    }
    GpuRequest request{target, rows, keys, stages, std::nullopt, columns, warpRows, keyParts, engine, copies, rank};
    if (queries == "registers" || queries == "shared")
      request.keepQueries = queries == "registers";
    if (const GpuEngine *named = findGpuEngine(engine); !engine.empty() && (!named || !named->fits(*machine))) {
      module.emitError() << "engine is '" << engine << "', which " << target
                         << " does not have; it has: " << engineNames(*machine) << " (gpu_schedule_c2)";
      return signalPassFailure();
    }
    // Verify the pinned fields before anything is computed from them.
    GpuTile pinned{rows ? rows : 64, keys ? keys : 64, stages ? stages : 2, true, columns, warpRows ? warpRows : 16};
    pinned.copies = copies.empty() ? StringRef(kCpAsync) : StringRef(copies);
    if (!attributeOf(pinned, {}, module))
      return signalPassFailure();
    size_t candidates = 1;
    for (auto function : module.getOps<func::FuncOp>()) {
      if (!function.getBody().hasOneBlock())
        continue;
      prepareStages(function);
      auto result = function.walk([&](attn::AttentionOp attention) {
        if (attention->use_empty()) { // terms have no side effects that would keep the attention
          attention.erase();
          return WalkResult::advance();
        }
        return schedule(attention, *machine, request, candidates) ? WalkResult::advance() : WalkResult::interrupt();
      });
      if (result.wasInterrupted())
        return signalPassFailure();
    }
    module->setAttr(kGpuCandidates, Builder(&getContext()).getI64IntegerAttr(int64_t(candidates)));
  }

  /// Sets the schedule of an attention. An attention that cannot be one kernel, or does not fit a block, gets no
  /// schedule: it is computed row by row, and the lowering reports the reason.
  bool schedule(attn::AttentionOp attention, const GpuMachine &machine, const GpuRequest &request, size_t &count) {
    auto shape = gpuShapeOf(attention);
    if (attention.getScheduleAttr())
      return isObeyed(attention, shape, machine, request);
    if (!shape)
      return true;
    shape->target = machine.target;
    std::vector<GpuPrediction> candidates = candidatesOf(*shape, machine, request);
    if (candidates.empty())
      return refuseRequest(attention, *shape, request, machine), false;
    const GpuPrediction &first = candidates.front();
    bool tooLarge = first.footprint.sharedBytes > machine.blockSharedBytes;
    if (!request.pinsTile() && (tooLarge || request.rank < 0)) {
      std::string why = "its registers are spilled in every tile that fits into a block";
      if (tooLarge)
        why = "its smallest tile needs " + std::to_string(first.footprint.sharedBytes) +
              " bytes of shared memory; a block of " + machine.target + " has " +
              std::to_string(machine.blockSharedBytes);
      attention->setAttr(kGpuByRows, StringAttr::get(&getContext(), why));
      return true;
    }
    count = std::max(count, candidates.size());
    const GpuTile &tile = candidates[std::min(size_t(request.rank), candidates.size() - 1)].tile;
    SmallVector<StringAttr> strategies;
    for (StringRef name : shape->strategies)
      strategies.push_back(StringAttr::get(&getContext(), name));
    attn::GpuScheduleAttr schedule = attributeOf(tile, strategies, attention);
    if (!schedule)
      return false;
    attention.setScheduleAttr(schedule);
    if (tile.keyParts > 1)
      attention->setAttr(kGpuKeyParts, Builder(&getContext()).getI64IntegerAttr(tile.keyParts));
    if (request.keyParts && request.keyParts != tile.keyParts)
      return attention.emitError() << "keys are asked to be in " << request.keyParts << " parts, but "
                                   << refuseParts(*shape, tile, request.keyParts)->reason,
             false;
    return true;
  }

  /// Emits the error that the requested engine, or the requested copies, have no code for the requested tile of a
  /// layer.
  void refuseRequest(attn::AttentionOp attention, const GpuShape &shape, const GpuRequest &request,
                     const GpuMachine &machine) {
    const GpuEngine *named = findGpuEngine(request.engine), *first = named;
    if (!named) // then copies are requested, which the first engine with producers takes, if one has them
      for (const GpuEngine *engine : gpuEngines())
        if (engine->fits(machine) && (!first || !factsOf(first->name()).producers))
          first = engine;
    const GpuEngine &asked = *first;
    GpuTile tile{request.rows ? request.rows : asked.rows().front(),
                 request.keys ? request.keys : asked.keys().front(),
                 request.stages ? request.stages : 2,
                 request.keepQueries.value_or(false),
                 request.columns,
                 request.warpRows ? request.warpRows : asked.warpRows().front(),
                 asked.name()};
    tile.copies = request.copies == kTma ? kTma : kCpAsync;
    tile.handsOverApart = tile.copies == kTma;
    auto refusal = asked.refuse(shape, tile);
    if (auto why = refuseBoxes(shape, tile); why && !refusal) {
      attention.emitError() << "copies are 'tma', but " << why->reason << " (gpu_schedule_c14)";
      return;
    }
    if (!named && refusal) {
      attention.emitError() << "copies are 'tma', but '" << asked.name() << "' " << refusal->reason
                            << " (gpu_schedule_c14)";
      return;
    }
    attention.emitError() << "engine '" << asked.name() << "' "
                          << (refusal ? refusal->reason : "has no code for the tile that is asked for")
                          << " (gpu_schedule_c12)";
  }

  /// Returns whether an existing schedule stays: if it is for this GPU and fits the layer. Emits an error if it does
  /// not. `shape` was derived with that schedule.
  bool isObeyed(attn::AttentionOp attention, const OrRefusal<GpuShape> &shape, const GpuMachine &machine,
                const GpuRequest &request) {
    if (failed(verifyGpuSchedule(attention, shape ? &*shape : nullptr, shape.reason(), machine)))
      return false;
    if (int64_t bytes = predict(*shape, shape->tile, machine).footprint.sharedBytes; bytes > machine.blockSharedBytes)
      return attention.emitError() << "its tile needs " << bytes << " bytes of shared memory; a block of "
                                   << machine.target << " has " << machine.blockSharedBytes << " (gpu_schedule_c10)",
             false;
    if (request.pinsTile())
      return attention.emitError("has a schedule; parts that are asked for are not put into it"), false;
    return true;
  }

  /// Returns the schedule attribute; null after an error.
  attn::GpuScheduleAttr attributeOf(const GpuTile &tile, ArrayRef<StringAttr> strategies, Operation *at) {
    auto emitError = [&] { return at->emitError(); };
    return attn::GpuScheduleAttr::getChecked(
        function_ref<InFlightDiagnostic()>(emitError), &getContext(), StringRef(target.getValue()), tile.engine,
        tile.rows, tile.keys, tile.stages, tile.keepQueries, tile.columns, tile.warpRows, tile.copies, strategies);
  }
};

} // namespace
