// The cost of wgmma (sm_90a): 64 rows of a warpgroup at once, which read the columns from shared memory one time. Products
// of one warp's own rows are left to mma.sync.
#include "passes/Gpu/Schedule/GpuEngine.h"
#include "passes/Gpu/Shape/RingRegisters.h"

namespace skewer::gpu {

namespace {

class Wgmma : public GpuEngine {
public:
  llvm::StringRef name() const override { return kWgmma; }
  llvm::ArrayRef<int64_t> rows() const override { return kRows; }
  llvm::ArrayRef<int64_t> keys() const override { return kKeys; }
  llvm::ArrayRef<int64_t> warpRows() const override { return kWarpRows; }

  /// The instruction belongs to the target of one architecture alone, whose name ends with an "a": code for sm_90 must
  /// run on all later GPUs (PTX ISA, "wgmma.mma_async", target ISA notes).
  bool fits(const GpuMachine &machine) const override {
    return llvm::StringRef(machine.target).ends_with("a") && GpuEngine::fits(machine);
  }

  std::optional<Refusal> refuse(const GpuShape &shape, const GpuTile &tile) const override {
    if (shape.element.isF32())
      return Refusal{"multiplies f16 and bf16, not f32"};
    if (tile.rows % kGroupRows || tile.warpRows != kWarpRows[0])
      return Refusal{"needs a multiple of 64 rows, 16 for each warp; the tile has " + std::to_string(tile.rows) + ", " +
                     std::to_string(tile.warpRows) + " for each"};
    if (tile.isSingleBuffered())
      return Refusal{"needs two stages or more"};
    if (tile.keepQueries)
      return Refusal{"reads queries from shared memory; they are not kept in registers"};
    return std::nullopt;
  }

  void countProducts(const EngineProduct &product, GpuPipes &pipes) const override {
    if (product.ofWarps)
      return countOfWarps(product, pipes, &GpuEngine::countProducts);
    multiply(product, product.width, pipes);
    pipes.addShared(product.rows * product.width * kElementBytes, kBytesOfInstruction);
  }
  void countWeighted(const EngineProduct &product, GpuPipes &pipes) const override {
    if (product.ofWarps)
      return countOfWarps(product, pipes, &GpuEngine::countWeighted);
    multiply(product, product.width, pipes);
  }

private:
  static constexpr int64_t kGroupRows = 64; // of a warpgroup
  static constexpr int64_t kRows[] = {192, 128, 64}, kKeys[] = {128, 64, 32};
  static constexpr int64_t kWarpRows[] = {16};
  static constexpr double kElementBytes = 2;
  // The tensor cores read shared memory themselves; no thread issues an instruction for it.
  static constexpr double kBytesOfInstruction = 1e6;

  /// Counts the product, and the columns that each warpgroup reads.
  static void multiply(const EngineProduct &product, double width, GpuPipes &pipes) {
    pipes.matrixFlops += 2 * product.rows * product.columns * width;
    pipes.addShared(product.rows / kGroupRows * product.columns * width * kElementBytes, kBytesOfInstruction);
  }

  static void countOfWarps(const EngineProduct &product, GpuPipes &pipes,
                           void (GpuEngine::*count)(const EngineProduct &, GpuPipes &) const) {
    GpuPipes own;
    (mmaSyncEngine().*count)(product, own);
    std::swap(own.matrixFlops, own.warpFlops);
    pipes += own;
  }
};

} // namespace

const GpuEngine &wgmmaEngine() {
  static const Wgmma engine;
  return engine;
}

} // namespace skewer::gpu
