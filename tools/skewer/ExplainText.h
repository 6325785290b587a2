// The page that `explain` prints.
#pragma once
#include "passes/Lengths/LengthPolynomial.h"
#include "tools/skewer/ExplainGpu.h"
#include "tools/skewer/ExplainLayer.h"
#include "tools/skewer/ExplainWork.h"
#include "tools/skewer/Options.h"
#include "llvm/Support/raw_ostream.h"

namespace skewer::driver {

/// A layer with lengths, compiled for some of them alone.
struct CompiledAlone {
  Lengths lengths;
  double predictedSeconds = 0; // 0 where nothing is predicted
  double usefulFlops = 0;
};

struct Explanation {
  KernelFacts facts;
  std::vector<LayerFacts> layers; // one for each of facts.attentions
  WorkFacts work;
  std::vector<Remark> remarks;
  KernelPlan plan;                      // of the lowered kernel: its workspace
  std::string spec, target;             // the spec's path; the description's name
  std::map<std::string, int64_t> sizes; // run-time sizes that were given; the others count as 1
  std::optional<CompiledAlone> alone;   // where the kernel has lengths: for those that were given, else the bounds
  std::optional<GpuFacts> gpu;          // then there is no plan, and of the work only FLOPs and bytes are known
};

/// "fused", "partly fused" or "not fused", and why it is not all.
struct Verdict {
  std::string word;
  std::vector<std::string> reasons;
};
Verdict verdictOf(const Explanation &);
std::string textOf(const Verdict &);
/// "botnet.attn:8", of a built-in scheme "built-in rel2d.attn:5 from botnet.attn:8".
std::string placeText(const attn::TextPlace &);
/// "[batch,4,196,196]"; a run-time size among several is "?".
std::string shapeText(const std::vector<int64_t> &shape, const std::vector<std::string> &runTimeSizes);

/// What `explain` says of a kernel on a processor; nothing after a message. `kept`, if given, becomes its level 3.
std::optional<Explanation> explainKernel(Compilation &, const Kernel &, const Options &,
                                         mlir::OwningOpRef<mlir::ModuleOp> *kept);

/// At most 120 columns wide, unless a word is longer.
void printText(const Explanation &, llvm::raw_ostream &);
/// The keys of docs/explain.md.
llvm::json::Object toJson(const Explanation &);

} // namespace skewer::driver
