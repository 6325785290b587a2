// What `skewer plot` draws, as numbers: rows that each pair of positions reads, scores, biases, similarities.
#pragma once
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "tools/skewer/Inputs.h"
#include "tools/skewer/Session/Compilation.h"
#include "llvm/Support/Error.h"
#include "llvm/Support/JSON.h"
#include <optional>
#include <string>
#include <vector>

namespace skewer::driver {

/// At most this many cells along a side; beyond it, positions are drawn at even distances.
constexpr int64_t kMostCells = 64;

/// Positions that are drawn, of `all`.
struct PlotAxis {
  std::vector<int64_t> positions;
  int64_t all = 0;
  std::string name; // "key j", "query i = (iy 14, ix 14)", "row"
  bool isSampled() const { return static_cast<int64_t>(positions.size()) < all; }
};
/// All positions, or kMostCells of them: the first, and then floor(k·all / kMostCells).
PlotAxis axisOf(int64_t all, std::string name);

/// The row of a table (or the value of a function of positions) by query and key. Nothing: masked, or guarded away.
struct SkewDiagram {
  std::string title; // "q·rel_h[jy - iy + 13]"
  std::string what;  // "row of rel_h, of 27"
  PlotAxis queries, keys;
  std::vector<std::vector<std::optional<int64_t>>> rows;
};
/// What is drawn by the logarithm reaches from the largest value to this share of it.
constexpr double kLogarithmicRange = 1e-4;

/// Numbers by two axes; nothing: masked.
struct HeatMap {
  std::string title, caption;
  PlotAxis vertical, horizontal;
  std::vector<std::vector<std::optional<double>>> values;
  bool isLogarithmic = false; // drawn by the logarithm: weights, of which one row has one and another thousands
};

struct PlotData {
  std::string kernel, caption;
  std::vector<SkewDiagram> skews;
  std::vector<HeatMap> maps; // scores, biases, similarities, weights, in this order
};

/// What is drawn of all that there is.
struct PlotChoice {
  mlir::func::FuncOp einsum = {}; // the kernel's level 1, for weights and for layers that did not fuse
  int64_t head = 0;               // of the last leading axis; the others are at 0
};

/// Of the first attention of a kernel's level 3 module, at one leading index. Values are the float64 reference's. An
/// error where there is nothing to draw, the head is not there or the reference cannot judge it.
llvm::Expected<PlotData> plotDataOf(mlir::ModuleOp scheduled, const std::string &kernel, const KernelPlan &signature,
                                    const Operands &, const PlotChoice & = {});
/// The same of a kernel that is compiled for this, at the lengths that the operands have.
llvm::Expected<PlotData> plotKernel(Compilation &, const Kernel &, Operands, int64_t head);
llvm::json::Object toJson(const PlotData &);

} // namespace skewer::driver
