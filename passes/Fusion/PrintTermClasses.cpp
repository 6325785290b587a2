// attn-print-term-classes: a remark on each term that says its class, for people and tests.
#include "passes/Analysis/TermClass.h"
#include "passes/Passes.h"

namespace skewer {
#define GEN_PASS_DEF_ATTNPRINTTERMCLASSES
#include "passes/Passes.h.inc"
} // namespace skewer

namespace {
struct PrintTermClasses : skewer::impl::AttnPrintTermClassesBase<PrintTermClasses> {
  void runOnOperation() override {
    getOperation().walk([](skewer::attn::TermOp term) {
      term.emitRemark() << skewer::analyse(term).className << ": " << skewer::describe(term);
    });
    markAllAnalysesPreserved();
  }
};
} // namespace
