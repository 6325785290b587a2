// The explanation of a kernel, as `explain` and `report` show it: its facts, and functions that print them as text or
// as JSON.
#pragma once
#include "passes/Lengths/LengthPolynomial.h"
#include "tools/skewer/ExplainGpu.h"
#include "tools/skewer/ExplainLayer.h"
#include "tools/skewer/ExplainWork.h"
#include "tools/skewer/Options.h"
#include "llvm/Support/raw_ostream.h"

namespace skewer::driver {

/// Prediction for a layer with lengths that is compiled for one choice of lengths only.
struct CompiledAlone {
  Lengths lengths;
  double predictedSeconds = 0; // 0 without a prediction
  double usefulFlops = 0;
};

struct Explanation {
  KernelFacts facts;
  std::vector<LayerFacts> layers; // one for each of facts.attentions
  WorkFacts work;
  std::vector<Remark> remarks;
  KernelPlan plan;                      // of the lowered kernel, for its workspace
  std::string spec, target;             // the spec's path; the description's name
  std::map<std::string, int64_t> sizes; // given run-time sizes; the others count as 1
  std::optional<CompiledAlone> alone;   // if the kernel has lengths: for the given ones, else the bounds
  std::optional<GpuFacts> gpu;          // if set, there is no plan, and `work` holds only FLOPs and bytes
};

/// The verdict on a kernel: "fused", "partly fused" or "not fused", and why a part is not fused.
struct Verdict {
  std::string word;
  std::vector<std::string> reasons;
};
Verdict verdictOf(const Explanation &);
std::string textOf(const Verdict &);
/// Returns a place such as "botnet.attn:8"; for a built-in scheme "built-in rel2d.attn:5 from botnet.attn:8".
std::string placeText(const attn::TextPlace &);
/// Returns a shape such as "[batch,4,196,196]"; a run-time size is "?" if there are several.
std::string shapeText(const std::vector<int64_t> &shape, const std::vector<std::string> &runTimeSizes);

/// Explains a kernel on a processor; nothing after a message. `kept`, if given, receives its level 3.
std::optional<Explanation> explainKernel(Compilation &, const Kernel &, const Options &,
                                         mlir::OwningOpRef<mlir::ModuleOp> *kept);

/// Prints the explanation as text of at most 120 columns, unless a word is longer.
void printText(const Explanation &, llvm::raw_ostream &);
/// Returns the explanation as an object with the keys of docs/explain.md.
llvm::json::Object toJson(const Explanation &);

} // namespace skewer::driver
