// Collects facts about a compiled kernel: its terms, the tensors that are never materialised, the parts that did not
// fuse. `explain` prints them and the manifest contains them.
#pragma once
#include "codegen/Compiler/Compilation.h"
#include "llvm/Support/JSON.h"

namespace skewer {

struct TermFacts {
  std::string text;        // "0.0884 q·rel_h[jy - iy + 13]"
  std::string className;   // "offset, query side"
  std::string description; // one line about the class
  std::string strategy;    // from the schedule; empty without one
  double flops = 0;        // useful FLOPs of one leading index
  attn::TextPlace place;
  bool valueSide = false;  // added to the values instead of the score
};

/// Tensors of one shape. A dimension of run-time size is -1 and counts as 1 in `bytes`.
struct TensorFacts {
  std::vector<int64_t> shape;
  int64_t count = 0;
  double bytes = 0;               // of all tensors together
  std::vector<std::string> names; // the tensors' names in the text; some have none
};

struct AttentionFacts {
  std::string space, mask, schedule, map;
  int64_t queries = 0, keys = 0, width = 0;
  bool direct = false; // weights without a softmax
  std::vector<TermFacts> terms;
  double pairs = 0, valueFlops = 0; // for one leading index
  std::string pairsNote;            // why `pairs` contains pairs that a mask may hide
  std::string values;               // the summed values
  attn::TextPlace place;            // of the sum over the values
  std::string finish;               // applied to the result before it is stored, "result * gate"; empty: nothing
  attn::TextPlace finishPlace;
};

struct KernelFacts {
  std::string name, elementType;
  std::vector<std::string> runTimeSizes;
  std::vector<AttentionFacts> attentions;
  std::vector<std::string> unfused;           // reasons
  std::vector<TensorFacts> neverMaterialised; // intermediate results of the spec that fusion removed
  std::vector<TensorFacts> materialised;      // the remaining intermediate results
  std::string generic;      // why the generic path takes the whole kernel; empty if a fused kernel is made
  attn::TextPlace genericPlace; // the place of the cause; unknown if it is no single line
  double flops = 0;         // useful FLOPs with every run-time size 1
};

/// Returns the name of a tensor for a reader: the argument's name, the name in the text, or the line that computes it.
std::string nameOfOperand(mlir::Value, mlir::func::FuncOp);

/// Compares level 1 of a kernel with its level 3. Run-time sizes have the values of `sizes`, else 1.
KernelFacts factsOf(const Kernel &, mlir::ModuleOp scheduled, const std::map<std::string, int64_t> &sizes = {});
llvm::json::Object toJson(const KernelFacts &);
/// Adds the keys "line" and "calls" for a place, and "file" if its file has a name.
void addPlace(llvm::json::Object &, const attn::TextPlace &);
/// Returns the facts as the details of the manifest.
std::string manifestDetails(const Kernel &, mlir::ModuleOp scheduled);

} // namespace skewer
