// Computes the data that `skewer plot` and `report` draw: the rows that each pair of positions reads, scores, biases,
// similarities, weights.
#pragma once
#include "codegen/Compiler/Compiler.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "tools/skewer/Inputs.h"
#include "llvm/Support/Error.h"
#include "llvm/Support/JSON.h"
#include <optional>
#include <string>
#include <vector>

namespace skewer::driver {

/// Largest number of cells along a side; of more positions, evenly spaced ones are drawn.
constexpr int64_t kMostCells = 64;

/// The drawn positions, out of `all`.
struct PlotAxis {
  std::vector<int64_t> positions;
  int64_t all = 0;
  std::string name; // "key j", "query i = (iy 14, ix 14)", "row"
  bool isSampled() const { return static_cast<int64_t>(positions.size()) < all; }
};
/// Returns all positions, or kMostCells of them: the first, then floor(k·all / kMostCells).
PlotAxis axisOf(int64_t all, std::string name);

/// The row of a table (or the value of a function of positions) for each query and key. A value without a number: the
/// pair is masked, or the guard is false.
struct SkewDiagram {
  std::string title; // "q·rel_h[jy - iy + 13]"
  std::string what;  // "row of rel_h, of 27"
  PlotAxis queries, keys;
  std::vector<std::vector<std::optional<int64_t>>> rows;
};
/// Smallest drawn value of a logarithmic map, as a share of the largest value.
constexpr double kLogarithmicRange = 1e-4;

/// Numbers over two axes; a cell without a number is masked.
struct HeatMap {
  std::string title, caption;
  PlotAxis vertical, horizontal;
  std::vector<std::vector<std::optional<double>>> values;
  bool isLogarithmic = false; // logarithmic shades; for weights: one row may have one weight, another thousands
};

struct PlotData {
  std::string kernel, caption;
  std::vector<SkewDiagram> skews;
  std::vector<HeatMap> maps; // scores, biases, similarities, weights, in this order
};

/// Selects the part that is drawn.
struct PlotChoice {
  mlir::func::FuncOp einsum = {}; // level 1 of the kernel, for weights and for layers that did not fuse
  int64_t head = 0;               // index of the last leading axis; the others are at 0
};

/// Returns the data of the first attention in the level 3 module of a kernel, at one leading index. The float64
/// reference computes the values. An error if there is nothing to draw, the head does not exist or the reference cannot
/// judge the kernel.
llvm::Expected<PlotData> plotDataOf(mlir::ModuleOp scheduled, const std::string &kernel, const KernelPlan &signature,
                                    const Operands &, const PlotChoice & = {});
/// Compiles a kernel for the lengths of the operands and returns its data.
llvm::Expected<PlotData> plotKernel(Compilation &, const Kernel &, Operands, int64_t head);
llvm::json::Object toJson(const PlotData &);

} // namespace skewer::driver
