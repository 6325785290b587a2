// attn-schedule: sets the cost model's choice as an attribute. A schedule that an attention already has stays.
#include "dialect/IR/Attn.h"
#include "passes/Cpu/Schedule/CpuSchedule.h"
#include "passes/Passes.h"
#include "passes/Schedule/Machine.h"
#include "passes/Stages/AttentionShapes.h"

using namespace mlir;
using namespace skewer;

namespace skewer {
#define GEN_PASS_DEF_ATTNSCHEDULE
#include "passes/Passes.h.inc"
} // namespace skewer

namespace {

struct ScheduleAttention : skewer::impl::AttnScheduleBase<ScheduleAttention> {
  using AttnScheduleBase::AttnScheduleBase;

  void runOnOperation() override {
    auto processor = readTarget(target);
    if (!processor) {
      getOperation().emitError() << messageOf(processor.takeError());
      return signalPassFailure();
    }
    CpuRequest request{tileRows, tileVectors, rowBlock, keyBlock, rowsPerItem, keysPerItem, {}};
    for (const std::string &text : strategies) {
      auto [number, name] = StringRef(text).split(':');
      int64_t term;
      if (number.getAsInteger(10, term) || name.empty()) {
        getOperation().emitError() << "strategies: expected NUMBER:NAME, found '" << text << "'";
        return signalPassFailure();
      }
      request.strategies[term] = name.str();
    }
    WalkResult result = getOperation().walk([&](attn::AttentionOp attention) {
      if (attention->use_empty()) { // terms have no side effects that would keep the attention
        attention.erase();
        return WalkResult::advance();
      }
      return schedule(attention, *processor, request) ? WalkResult::advance() : WalkResult::interrupt();
    });
    if (result.wasInterrupted())
      signalPassFailure();
    markAnalysesPreserved<AttentionShapes>(); // a schedule is no part of a shape
  }

  bool schedule(attn::AttentionOp attention, const Target &processor, const CpuRequest &request) {
    const OrRefusal<AttentionShape> &shape = getAnalysis<AttentionShapes>().walked(attention);
    if (attention.getScheduleAttr()) {
      if (failed(verifySchedule(attention, shape, processor)))
        return false;
      if (request.pins())
        return attention.emitError("has a schedule; parts that are asked for are not put into it"), false;
      return true;
    }
    if (!shape)
      return true;
    attn::CpuScheduleAttr chosen = chooseSchedule(attention, *shape, processor, request);
    if (!chosen)
      return false;
    attention.setScheduleAttr(chosen);
    // Pinned fields hold at every length.
    auto forShort = request.pins() ? std::nullopt : chooseShortSchedule(attention, *shape, processor, chosen);
    if (forShort && forShort->atMost >= shape->queries)
      attention.setScheduleAttr(forShort->schedule);
    else if (forShort)
      setShortSchedule(attention, *forShort);
    return true;
  }
};

} // namespace
