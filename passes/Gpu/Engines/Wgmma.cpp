// Products of queries with keys, and of weights with values, by wgmma.
#include "passes/Gpu/Engines/Wgmma.h"
#include "mlir/IR/Matchers.h"
#include "passes/Gpu/Engines/Engines.h"
#include "passes/Gpu/Warp.h"

using namespace mlir;
using namespace skewer;
using namespace skewer::gpu;

namespace skewer::gpu {
std::unique_ptr<Engine> makeWgmma(const EngineSetup &setup) {
  return std::make_unique<Wgmma>(setup.b, setup.shared, setup.at, setup.element, setup.products, setup.signedWeights);
}
} // namespace skewer::gpu

Wgmma::Wgmma(GpuBuilder &b, const BlockMemory &shared, const ThreadPlace &at, Type element, int64_t products,
             bool signedWeights)
    : b(b), shared(shared), element(element), warps(b, shared, at, element, products, signedWeights) {
  // A shuffle tells ptxas that all lanes have one number: descriptors then stand in uniform registers.
  Value warpgroup = shuffleFrom(b, b.shiftRight(at.thread, 7), b.i32(0));
  firstRow = b.shiftLeft(warpgroup, 6);
}

/// Returns sums without numbers, for a product that begins at 0. Numbers would be moved to the registers of the sums
/// behind the fence, and ptxas would then let the products run one after the other.
static Tiles noSums(GpuBuilder &b, size_t count) {
  Value none = LLVM::PoisonOp::create(b, b.getF32Type());
  return Tiles(count, {none, none, none, none});
}

static bool areZeros(const Tiles &sums) {
  return llvm::all_of(sums, [](const Accumulator &sum) {
    return llvm::all_of(sum, [](Value number) { return matchPattern(number, m_PosZeroFloat()); });
  });
}

Tiles Wgmma::issueProducts(const Tiles &before, const OperandRows &rows, const TileRows &columns, int64_t /*together*/) {
  bool begins = areZeros(before);
  Tiles sums = begins ? noSums(b, before.size()) : before;
  MatrixPlace from = matrixAt(b, shared, rows.rows.tile, rows.rows.copy, firstRow, /*alongRows=*/false);
  MatrixPlace to = matrixAt(b, shared, columns.tile, columns.copy, columns.first, /*alongRows=*/false);
  fenceProducts(b);
  for (int64_t step = 0; step < columns.tile.steps(); ++step)
    sums = multiplyTogether(b, sums, from.ofStep(b, step), to.ofStep(b, step), begins && step == 0, element);
  commitProducts(b);
  return sums;
}

void Wgmma::issueRounded(ArrayRef<RowFragment> weights, const TileRows &rows, bool /*checked*/, WeightedSums &output) {
  MatrixPlace to = matrixAt(b, shared, rows.tile, rows.copy, rows.first, /*alongRows=*/true);
  bool begins = addsOutside();
  Tiles sums = begins ? noSums(b, output.tiles.size()) : output.tiles;
  fenceProducts(b);
  for (auto [step, operand] : llvm::enumerate(weights))
    sums = multiplyTogether(b, sums, operand, to.ofStep(b, int64_t(step)), begins && step == 0, element);
  commitProducts(b);
  if (!addsOutside()) {
    output.tiles = sums;
    return;
  }
  sums = wait(sums);
  for (auto [total, sum] : llvm::zip_equal(output.tiles, sums))
    for (size_t k = 0; k < 4; ++k)
      total[k] = output.shrink.empty() ? b.addf(total[k], sum[k]) : b.fma(total[k], output.shrink[k / 2], sum[k]);
  output.shrink.clear();
}
