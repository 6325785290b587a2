// mma.sync m16n8k16 (f32: three products of m16n8k8 of tf32, at half the rate) and the fragments that ldmatrix brings.
// Counts of instructions are those of SASS, as in GpuWork.cpp.
#include "passes/Schedule/GpuEngine.h"
#include <algorithm>

namespace skewer::gpu {

namespace {

// Bytes that a thread takes in one instruction: of ldmatrix; of ld.shared, which f32 values need.
constexpr double kFragmentBytes = 16, kNumberBytes = 4;
// Integer instructions of a thread for the address of a fragment (plain attention, 64 and 128 wide).
constexpr double kIntegersOfFragment = 0.65;
// Of an operand's register of f32, which is divided into what tf32 takes and what it leaves (plain attention, f32).
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
    // Sums of f32 begin anew at every 16th element of a row (passes/Gpu/Engines/MmaSync.h, kStepsOfChain).
    if (product.isF32)
      pipes.addFloats(product.rows * product.columns * std::max(0.0, product.width / 16 - 1));
  }

  /// Nothing is added to the sums of f32: a multiply-add takes the place of the result's rescaling.
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

  /// Elements of a tile in shared memory on their way into fragments.
  static void load(double elements, const EngineProduct &product, double ofInstruction, GpuPipes &pipes) {
    double bytes = elements * (product.isF32 ? 4 : 2);
    pipes.addShared(bytes, ofInstruction);
    pipes.addIntegers(kIntegersOfFragment * bytes / kFragmentBytes);
    divide(bytes / 4, product, pipes);
  }

  /// Registers with operands: of f32 each is divided in two.
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
