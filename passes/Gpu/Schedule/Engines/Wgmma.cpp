// The cost of wgmma (sm_90a): 64 rows of a warpgroup at once, which read the columns from shared memory one time.
// Products of one warp's own rows are left to mma.sync.
#include "passes/Gpu/Schedule/GpuEngine.h"
#include "llvm/ADT/StringExtras.h"

namespace skewer::gpu {

namespace {

class Wgmma : public GpuEngine {
public:
  /// `own`: kWgmma or kWgmmaAhead.
  explicit Wgmma(llvm::StringLiteral own) : own(own) {}
  llvm::StringRef name() const override { return own; }
  llvm::ArrayRef<int64_t> rows() const override { return kRows; }
  llvm::ArrayRef<int64_t> keys() const override { return kKeys; }
  llvm::ArrayRef<int64_t> warpRows() const override { return kWarpRows; }

  /// The instruction belongs to the target of one architecture alone, whose name ends with a letter: code for sm_90
  /// must run on all later GPUs (PTX ISA, "wgmma.mma_async", target ISA notes).
  bool fits(const GpuMachine &machine) const override {
    return !llvm::isDigit(machine.target.back()) && GpuEngine::fits(machine);
  }

  std::optional<Refusal> refuse(const GpuShape &shape, const GpuTile &tile) const override {
    if (shape.element.isF32())
      return Refusal{"multiplies f16 and bf16, not f32"};
    if (tile.rows % kGroupRows || tile.warpRows != kWarpRows[0])
      return Refusal{"needs a multiple of 64 rows, 16 for each warp; the tile has " + std::to_string(tile.rows) + ", " +
                     std::to_string(tile.warpRows) + " for each"};
    if (tile.isSingleBuffered())
      return Refusal{"needs two stages or more"};
    if (factsOf(own).runsAhead)
      if (auto refusal = refuseAhead(shape, tile))
        return refusal;
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
  /// Refuses what the products of two steps at a time leave no place for.
  static std::optional<Refusal> refuseAhead(const GpuShape &shape, const GpuTile &tile) {
    // A step's values are read until the next step's scores are weights, while another copy is filled. Handed over
    // together with its keys, both stay in their places so long.
    if (tile.stages < 3 && !tile.handsOverApart)
      return Refusal{"needs three stages or more"};
    if (shape.attention.keys > kMostKeysAhead)
      return Refusal{"sums at most " + std::to_string(kMostKeysAhead) + " keys in the tensor cores"};
    if (!shape.valueRows.empty() || !shape.valueBands.empty() || !shape.valueElements.empty())
      return Refusal{"adds no other rows to the values"};
    if (llvm::any_of(shape.bands, [](const BandTerm &term) { return term.ofKey; }))
      return Refusal{"lets no warps of a block wait for each other, as rows that keys meet need it"};
    return std::nullopt;
  }

  llvm::StringLiteral own;
  static constexpr int64_t kGroupRows = 64; // of a warpgroup
  // Sums of more products are added outside of the tensor cores, in each step (MmaSync.h, kLongestChain).
  static constexpr int64_t kMostKeysAhead = 1 << 15;
  static constexpr int64_t kRows[] = {192, 128, 64}, kKeys[] = {128, 112, 96, 64, 32};
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
  static const Wgmma engine(kWgmma);
  return engine;
}
const GpuEngine &wgmmaAheadEngine() {
  static const Wgmma engine(kWgmmaAhead);
  return engine;
}

} // namespace skewer::gpu
