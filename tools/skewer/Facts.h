// What became of a kernel: its terms, what was never materialised, what did not fuse. `explain` prints it, the manifest
// carries it.
#pragma once
#include "tools/skewer/Session/Compilation.h"
#include "llvm/Support/JSON.h"

namespace skewer::driver {

struct TermFacts {
  std::string text;        // "0.0884 q·rel_h[jy - iy + 13]"
  std::string className;   // "offset, query side"
  std::string description; // the class's own line
  std::string strategy;    // from the schedule; empty without one
  double flops = 0;        // useful FLOPs of one leading index
  attn::TextPlace place;
  bool valueSide = false;  // added to the values, not to the score
};

/// Tensors of one shape. A dimension of run-time size is -1 and counts as 1 in `bytes`.
struct TensorFacts {
  std::vector<int64_t> shape;
  int64_t count = 0;
  double bytes = 0;               // of all of them
  std::vector<std::string> names; // of those that the text names
};

struct AttentionFacts {
  std::string space, mask, schedule, map;
  int64_t queries = 0, keys = 0, width = 0;
  bool direct = false; // weights without a softmax
  std::vector<TermFacts> terms;
  double pairs = 0, valueFlops = 0; // of one leading index
  std::string pairsNote;            // where pairs are counted that a mask may hide: why
  std::string values;               // what is summed
  attn::TextPlace place;            // of that sum
  std::string finish;               // what is done to the result as it is stored, "result * gate"; empty: nothing
  attn::TextPlace finishPlace;
};

struct KernelFacts {
  std::string name, elementType;
  std::vector<std::string> runTimeSizes;
  std::vector<AttentionFacts> attentions;
  std::vector<std::string> unfused;           // reasons
  std::vector<TensorFacts> neverMaterialised; // intermediate results of the spec that fusion did away with
  std::vector<TensorFacts> materialised;      // those that are left
  std::string generic;      // why the generic path takes the whole kernel; empty where a fused kernel is made
  attn::TextPlace genericPlace; // of what is in the way; unknown: no line in particular
  double flops = 0;         // useful, with every run-time size 1
};

/// What a reader calls a tensor: the argument's name, the name that the text gives it, or the line that computes it.
std::string nameOfOperand(mlir::Value, mlir::func::FuncOp);

/// Compares a kernel's level 1 with its level 3.
/// Run-time sizes count as what `sizes` says, else as 1.
KernelFacts factsOf(const Kernel &, mlir::ModuleOp scheduled, const std::map<std::string, int64_t> &sizes = {});
llvm::json::Object toJson(const KernelFacts &);
/// Adds the keys "file", "line" and "calls" that say a place.
void addPlace(llvm::json::Object &, const attn::TextPlace &);
/// The facts as the manifest's details.
std::string manifestDetails(const Kernel &, mlir::ModuleOp scheduled);

} // namespace skewer::driver
