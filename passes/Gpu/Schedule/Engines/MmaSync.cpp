// The cost of mma.sync m16n8k16 (f32: three products of m16n8k8 of tf32, at half the rate) and of the fragments that
// ldmatrix loads. Counts of instructions are those of SASS, as in GpuWork.cpp.
#include "passes/Gpu/Schedule/GpuEngine.h"
#include <algorithm>

namespace skewer::gpu {

namespace {

// The bytes that a thread loads in one instruction: ldmatrix; ld.shared, which f32 values need.
constexpr double kFragmentBytes = 16, kNumberBytes = 4;
// Integer instructions of a thread for the address of a fragment (plain attention, 64 and 128 wide).
constexpr double kIntegersOfFragment = 0.65;
// Instructions to split a register of an f32 operand into its tf32 part and the rest (plain attention, f32).
constexpr double kFloatsOfRest = 1, kIntegersOfRest = 2.5;

class MmaSync : public GpuEngine {
public:
  llvm::StringRef name() const override { return kMmaSync; }
  llvm::ArrayRef<int64_t> rows() const override { return kSizes; }
  llvm::ArrayRef<int64_t> keys() const override { return kSizes; }
  llvm::ArrayRef<int64_t> warpRows() const override { return kWarpRows; }

  void countProducts(const EngineProduct &product, GpuPipes &pipes) const override {
    multiply(product, pipes);
    loadColumns(product, kFragmentBytes, pipes);
    if (!product.isHeld)
      load(product.rows * product.width, product, kFragmentBytes, pipes);
    // Sums of f32 start again at every 16th element of a row (passes/Gpu/Engines/MmaSync.h, kStepsOfChain).
    if (product.isF32)
      pipes.addFloats(product.rows * product.columns * std::max(0.0, product.width / 16 - 1));
  }

  /// Counts no additions for sums of f32: a multiply-add replaces the rescaling of the result.
  void countWeighted(const EngineProduct &product, GpuPipes &pipes) const override {
    multiply(product, pipes);
    loadColumns(product, product.isF32 ? kNumberBytes : kFragmentBytes, pipes);
    divide(product.rows * product.columns, product, pipes);
  }

private:
  static constexpr int64_t kSizes[] = {128, 64, 32, 16};
  static constexpr int64_t kWarpRows[] = {16, 32}; // one or two tiles of rows

  static void multiply(const EngineProduct &product, GpuPipes &pipes) {
    double products = product.rows * product.columns * product.width * (product.isF32 ? 6 : 1);
    pipes.matrixFlops += 2 * products;
    pipes.issued += products / (16 * 8 * 16) * 32;
  }

  static void loadColumns(const EngineProduct &product, double ofInstruction, GpuPipes &pipes) {
    load(product.rows / 16 / product.rowTiles * product.columns * product.width, product, ofInstruction, pipes);
  }

  /// Counts the load of elements of a tile from shared memory into fragments.
  static void load(double elements, const EngineProduct &product, double ofInstruction, GpuPipes &pipes) {
    double bytes = elements * (product.isF32 ? 4 : 2);
    pipes.addShared(bytes, ofInstruction);
    pipes.addIntegers(kIntegersOfFragment * bytes / kFragmentBytes);
    divide(bytes / 4, product, pipes);
  }

  /// Counts the split of operand registers: each f32 register is split in two.
  static void divide(double registers, const EngineProduct &product, GpuPipes &pipes) {
    if (!product.isF32)
      return;
    pipes.addFloats(kFloatsOfRest * registers);
    pipes.addIntegers(kIntegersOfRest * registers);
  }
};

} // namespace

const GpuEngine &mmaSyncEngine() {
  static const MmaSync engine;
  return engine;
}

} // namespace skewer::gpu
