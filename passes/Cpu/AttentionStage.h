// A fused attention as its stage describes it to the kernel, and the memory that a phase of the kernel reads and
// writes.
#pragma once
#include "passes/Analysis/AttentionShape.h"
#include "passes/Cpu/Engine.h"
#include "passes/Emit/EmitIndex.h"
#include "passes/Emit/PhaseFunction.h"

namespace skewer {

/// The memory that a phase reads and writes. All of it is flat. Elements are f32, except in index operands and in
/// arguments that are widened when they are read.
struct KernelMemory {
  // One for each of operandsOf(attention). Null: the operand is computed when it is packed. The memory of a scaled
  // operand holds the rows before they are scaled.
  llvm::SmallVector<mlir::Value> arguments;
  mlir::Value output, lse, total, weights; // results; all but `output` are null if nobody asks for them
  mlir::Value shared, local;               // the workspaces, in bytes
  mlir::Value parts;                       // the records of items with parts of the keys; null: keys are not divided
  // The buffers of the current row block, in the worker's workspace.
  mlir::Value scores;       // rows × keys; they become weights
  mlir::Value accumulators; // rows × width: sums of weights × values

  /// Returns the bytes of one element of an operand that has memory.
  int64_t bytesOf(unsigned argument) const;
};

struct AttentionStage {
  attn::CpuScheduleAttr schedule;
  std::vector<bool> computed = {}; // by operand number: it has no memory; empty: all have
  std::vector<bool> narrow = {};   // by operand number: its memory has fewer bits than the computation; empty: none
  /// By operand number: it is computed, and each of its rows is a row in memory times a number; empty: none is.
  std::vector<bool> scaled = {};
  std::vector<Extent> leading = {}; // of each leading axis
  /// Begins a phase: sets `arguments`, `output` and the other results, `shared` and `local` of the memory. Returns the
  /// function that finds the run-time index operands of the kernel.
  std::function<FindIndices(KernelMemory &, const PhaseFunction &)> open = {};
  /// Computes a row of an operand without memory: target[at + d] = scale × element `first` + d of the operand, where
  /// the row begins at element `first`.
  std::function<void(unsigned argument, mlir::Value first, mlir::Value target, mlir::Value at, double scale)>
      computeRow = {};
  /// Returns the number that scales the row of a scaled operand that begins at element `first`.
  std::function<mlir::Value(unsigned argument, mlir::Value first)> rowScale = {};
  /// Applies the arithmetic that finishes the result to the row of the query at `query`, which lies in `rows` from `at`
  /// on, and stores the row. Null: rows are stored as they are.
  std::function<void(mlir::Value query, mlir::Value rows, mlir::Value at)> finishRow = {};
  /// The kernel has work only if there are more than `above` queries and, unless `atMost` is 0, at most `atMost`:
  /// several kernels share an attention of run-time length.
  int64_t above = 0, atMost = 0;
  const Target &target;
  std::vector<ElementType> elements = {}; // by operand number: of its memory; f32 if it has none
  ElementType result = {};                // of the memory in which the result is stored

  bool isComputed(unsigned argument) const { return argument < computed.size() && computed[argument]; }
  /// Returns whether a computed operand may be read in place too, with `rowScale`.
  bool isScaled(unsigned argument) const { return argument < scaled.size() && scaled[argument]; }
  bool isNarrow(unsigned argument) const { return argument < narrow.size() && narrow[argument]; }
  /// Returns the engine that multiplies the elements of two operands as they are in memory.
  const CpuEngine &engineOf(unsigned argument, unsigned other) const;
  /// Returns the engine that multiplies the content. It packs no floats only if all queries and keys have one type in
  /// memory and one scale, and it sums integers only if there is one term of them. Strategies with phases add rows of a
  /// table to keys of f32.
  const CpuEngine &engineOfContent(const AttentionShape &) const;
};

} // namespace skewer
