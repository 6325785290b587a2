// Packs rows of the operands into panels and into rows of steps, in the order in which register tiles read them. The
// content, the values and the strategies pack their operands with it.
#pragma once
#include "passes/Cpu/KernelContext.h"
#include "passes/Cpu/Layout.h"

namespace skewer {

class PanelPacker : KernelPart {
public:
  explicit PanelPacker(KernelContext &context) : KernelPart(context) {}

  /// Reserves memory for a vector of rows of this depth, if some keys, or queries that are not packed as floats, have
  /// no memory of their own.
  void plan(Layout &layout, int64_t depth) { layout.reserve(computed, depth * g.lanes, Layout::Zone::Queries); }
  /// Returns the panels of keys that are packed for a head: those within its bounds, in whole tiles.
  KeyRange panelsOfHead();
  /// Packs the keys of a walk into panels of an engine; computes keys that have no memory. Null `panels`: those of the
  /// head.
  void packKeyPanels(const CpuEngine &, const Walk &, int64_t depth, double factor, const PanelTarget &,
                     KeyRange panels = {});
  /// Packs the query rows of a walk for an engine, times `scale`, `stride` floats apart in the target.
  void packQueryRows(const CpuEngine &, const Walk &, int64_t depth, double scale, const RowBlock &, mlir::Value target,
                     int64_t stride, int64_t offset = 0);
  /// Computes the rows [first, end) of an operand without memory in the workspace of the worker. Returns where they
  /// lie, from row `first` on.
  ProductOperand computedRows(const Walk &, int64_t depth, mlir::Value first, mlir::Value end);
  /// Stores target[to + v] = scale × source[from + v × stride] for the width of the values, with zeros behind it. With
  /// `accumulate`, adds to the target instead.
  void copyWidth(mlir::Value source, mlir::Value from, int64_t stride, double scale, mlir::Value target, mlir::Value to,
                 bool accumulate = false);

private:
  /// Returns whether rows are computed before an engine packs them. One that sums integers packs those in memory, and
  /// the numbers that they are multiplied with are left to RowScales.
  bool computes(const CpuEngine &, const Walk &) const;

  Buffer computed;
};

} // namespace skewer
