// The page that `explain` prints.
#pragma once
#include "tools/skewer/ExplainGpu.h"
#include "tools/skewer/ExplainLayer.h"
#include "tools/skewer/ExplainWork.h"
#include "llvm/Support/raw_ostream.h"

namespace skewer::driver {

struct Explanation {
  KernelFacts facts;
  std::vector<LayerFacts> layers; // one for each of facts.attentions
  WorkFacts work;
  std::vector<Remark> remarks;
  KernelPlan plan;             // of the lowered kernel: its workspace
  std::string spec, target;    // the spec's path; the description's name
  std::optional<GpuFacts> gpu; // then there is no plan, and of the work only FLOPs and bytes are known
};

/// At most 120 columns wide, unless a word is longer.
void printText(const Explanation &, llvm::raw_ostream &);
/// The keys of docs/explain.md.
llvm::json::Object toJson(const Explanation &);

} // namespace skewer::driver
