// The page that `explain` prints.
#pragma once
#include "tools/skewer/ExplainLayer.h"
#include "tools/skewer/ExplainWork.h"
#include "llvm/Support/raw_ostream.h"

namespace skewer::driver {

struct Explanation {
  KernelFacts facts;
  std::vector<LayerFacts> layers; // one for each of facts.attentions
  WorkFacts work;
  std::vector<Remark> remarks;
  KernelPlan plan;          // of the lowered kernel: its workspace
  std::string spec, target; // the spec's path; the description's name
};

/// At most 120 columns wide, unless a word is longer.
void printText(const Explanation &, llvm::raw_ostream &);
/// The keys of docs/explain.md.
llvm::json::Object toJson(const Explanation &);

} // namespace skewer::driver
