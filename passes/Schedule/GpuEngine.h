// What multiplies matrices on a GPU, as scheduling sees it: which machines have it, which tiles it takes, and what its
// products cost. The code for it is made by what passes/Gpu/Engines has under the same name.
#pragma once
#include "passes/Schedule/GpuMachine.h"
#include "passes/Schedule/GpuWork.h"

namespace skewer::gpu {

/// A block's rows with rows of a tile in shared memory; all counts of elements.
struct EngineProduct {
  double rows = 0, columns = 0; // of the product
  double width = 0;             // elements that are summed for queries and keys; columns of values that weights meet
  double rowTiles = 1;          // tiles of 16 rows that each fragment of the columns meets
  bool isHeld = true;           // the rows are in registers; else they are read from shared memory
  bool isF32 = false;
};

class GpuEngine {
public:
  virtual ~GpuEngine() = default;

  /// As machines' files and schedules have it.
  virtual llvm::StringRef name() const = 0;
  /// Rows, keys and queries of a warp that are tried, in this order.
  virtual llvm::ArrayRef<int64_t> rows() const = 0;
  virtual llvm::ArrayRef<int64_t> keys() const = 0;
  virtual llvm::ArrayRef<int64_t> warpRows() const = 0;
  /// Products of rows with rows: queries and keys.
  virtual void countProducts(const EngineProduct &, GpuPipes &) const = 0;
  /// Weights times rows of values, where `columns` counts the rows that are summed.
  virtual void countWeighted(const EngineProduct &, GpuPipes &) const = 0;

  bool fits(const GpuMachine &machine) const { return machine.engineFlops(name()) > 0; }
};

/// In the order in which they are tried; those that a machine has are told by `fits`.
llvm::ArrayRef<const GpuEngine *> gpuEngines();
/// Null: there is none of this name.
const GpuEngine *findGpuEngine(llvm::StringRef name);
/// "mma_sync, …": those of a machine.
std::string engineNames(const GpuMachine &);

} // namespace skewer::gpu
