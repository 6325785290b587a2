// attn-schedule: the cost model's choice becomes an attribute.
#include "dialect/IR/Attn.h"
#include "passes/Lowering/AttentionShape.h"
#include "passes/Lowering/StridedAdd.h"
#include "passes/Passes.h"
#include "passes/Schedule/CostModel.h"
#include "passes/Schedule/Prediction.h"

using namespace mlir;
using namespace skewer;

namespace skewer {
#define GEN_PASS_DEF_ATTNSCHEDULE
#include "passes/Passes.h.inc"
} // namespace skewer

namespace {

/// How each term is computed, in the order of the terms.
SmallVector<StringAttr> strategiesOf(attn::AttentionOp attention, const AttentionShape &shape, bool stridedAdd) {
  SmallVector<StringAttr> strategies;
  size_t offsets = 0, rows = 0, others = 0;
  for (TermRole role : shape.roles) {
    StringRef name = role == TermRole::Content                            ? "matmul"
                     : role == TermRole::Row                              ? nameOf(shape.rows[rows++])
                     : role == TermRole::Other                            ? nameOf(shape.others[others++].bias)
                     : shape.offsets[offsets].keyAxis.isWhole(shape.keys) ? stridedAdd ? StringRef(kStridedAdd) : "band"
                                                                          : "axis_logits";
    offsets += role == TermRole::Offset;
    strategies.push_back(StringAttr::get(attention.getContext(), name));
  }
  for (const ValueTerm &term : shape.valueTerms)
    strategies.push_back(StringAttr::get(attention.getContext(), nameOf(term.kind)));
  return strategies;
}

struct ScheduleAttention : skewer::impl::AttnScheduleBase<ScheduleAttention> {
  using AttnScheduleBase::AttnScheduleBase;

  void runOnOperation() override {
    auto processor = findTarget(target);
    if (!processor) {
      getOperation().emitError() << "unknown target '" << target << "'";
      return signalPassFailure();
    }
    getOperation().walk([&](attn::AttentionOp attention) {
      if (attention->use_empty()) // terms have no effects that would keep it
        return attention.erase();
      std::string reason;
      auto shape = shapeOfAttention(attention, reason);
      if (!shape)
        return;
      std::optional<OffsetCost> cost = offsetCostOf(*shape, *processor);
      bool stridedAdd = cost && cost->stridedAdd < cost->band;
      Blocking blocking = chooseBlocking(sizesOf(*shape, stridedAdd), *processor);
      attention.setScheduleAttr(attn::CpuScheduleAttr::get(
          &getContext(), processor->name, processor->lanes, blocking.tileRows, blocking.tileVectors, blocking.rowBlock,
          blocking.keyBlock, blocking.rowsPerItem, strategiesOf(attention, *shape, stridedAdd)));
    });
  }
};

} // namespace
