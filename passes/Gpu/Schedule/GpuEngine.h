// The engines that multiply matrices on a GPU, as scheduling sees them: which machines have an engine, which tiles it
// supports, and what its products cost. The engine of the same name in passes/Gpu/Engines emits the code.
#pragma once
#include "passes/Gpu/Schedule/GpuWork.h"
#include "passes/Schedule/GpuMachine.h"

namespace skewer::gpu {

/// A product of the rows of a block with rows of a tile in shared memory. Sizes are in elements.
struct EngineProduct {
  double rows = 0, columns = 0; // size of the product
  double width = 0;             // queries and keys: elements that are summed; weights: columns of the values
  double rowTiles = 1;          // tiles of 16 rows that each fragment of the columns is multiplied with
  bool isHeld = true;           // the rows are in registers; else they are read from shared memory
  bool isF32 = false;
  bool ofWarps = false; // each warp has rows and columns of its own; else all warps meet the same columns
};

class GpuEngine {
public:
  virtual ~GpuEngine() = default;

  /// Returns the name of the engine in machine files and schedules.
  virtual llvm::StringRef name() const = 0;
  /// Return the numbers of rows, of keys and of queries of a warp that scheduling tries, in this order.
  virtual llvm::ArrayRef<int64_t> rows() const = 0;
  virtual llvm::ArrayRef<int64_t> keys() const = 0;
  virtual llvm::ArrayRef<int64_t> warpRows() const = 0;
  /// Adds the work of products of rows with rows: queries and keys.
  virtual void countProducts(const EngineProduct &, GpuPipes &) const = 0;
  /// Adds the work of weights times rows of values, where `columns` counts the rows that are summed.
  virtual void countWeighted(const EngineProduct &, GpuPipes &) const = 0;

  /// Returns whether a machine has the engine.
  virtual bool fits(const GpuMachine &machine) const { return machine.engineFlops(name()) > 0; }
  /// Refuses tiles and types that the engine has no code for. The reason follows "engine 'name' ".
  virtual std::optional<Refusal> refuse(const GpuShape &, const GpuTile &) const { return std::nullopt; }
};

// The engines, for each other.
const GpuEngine &mmaSyncEngine();
const GpuEngine &wgmmaEngine();
const GpuEngine &wgmmaAheadEngine();

/// Returns all engines in the order in which scheduling tries them; `fits` says whether a machine has an engine.
llvm::ArrayRef<const GpuEngine *> gpuEngines();
/// Returns the engine of this name; null if there is none.
const GpuEngine *findGpuEngine(llvm::StringRef name);
/// Returns the names of the engines of a machine: "mma_sync, …".
std::string engineNames(const GpuMachine &);

} // namespace skewer::gpu
