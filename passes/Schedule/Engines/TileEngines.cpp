// The costs of engines whose sums are in AMX's tiles.
#include "passes/Schedule/CpuEngine.h"
#include "llvm/Support/MathExtras.h"
#include <algorithm>

namespace skewer {

namespace {

/// Products of 16 rows × 16 columns of 16 steps, whatever a step holds.
class TileCost : public CpuEngineCost {
public:
  int64_t stepsOf(int64_t depth) const override {
    return static_cast<int64_t>(llvm::alignTo(CpuEngineCost::stepsOf(depth), kSteps));
  }
  llvm::ArrayRef<int64_t> rows() const override { return kRows; }
  llvm::ArrayRef<int64_t> vectors() const override { return kVectors; }
  bool holds(int64_t rows, int64_t vectors, const Target &) const override {
    return rows % kTileRows == 0 && rows / kTileRows * vectors <= kTilesOfSums;
  }
  double stepCycles(int64_t rows, int64_t vectors, const Target &target) const override {
    double rowTiles = double(rows) / kTileRows, panels = double(vectors);
    double loads = rowTiles * kLoadCycles + panels * kPanelLoadCycles;
    return std::max(rowTiles * panels / target.tileStepsPerCycle, loads / kSteps);
  }
  int64_t rowsInMemory() const override { return 2 * kTileRows; }
  double products(const Target &target) const override {
    return target.tileStepsPerCycle * double(kTileRows * elementsOfStep());
  }

protected:
  /// Products that do not fill tiles are those of vectors.
  static bool hasTiles(const Target &target) {
    return target.tileStepsPerCycle > 0 && target.lanes == kColumns && hasFeature(target, "avx512f");
  }

private:
  static constexpr int64_t kTileRows = 16, kColumns = 16, kSteps = 16, kTilesOfSums = 4;
  // Cycles to load 16 rows of 64 bytes, measured on an Emerald Rapids core: rows from L1, panels of a head from L2.
  static constexpr double kLoadCycles = 9.7, kPanelLoadCycles = 21.5;
  static constexpr int64_t kRows[] = {16}, kVectors[] = {1, 2};
};

/// TDPBF16PS, which multiplies pairs of bf16.
class AmxCost : public TileCost {
public:
  llvm::StringRef name() const override { return "amx"; }
  bool fits(ElementType element, const Target &target) const override {
    return element == ElementType::BF16 && hasTiles(target) && hasFeature(target, "avx512bf16");
  }
  int64_t elementsOfStep() const override { return 2; }
  bool takesWeights() const override { return true; }
};

/// TDPBSSD, which multiplies four integers of 8 bits.
class AmxInt8Cost : public TileCost {
public:
  llvm::StringRef name() const override { return "amx_int8"; }
  bool fits(ElementType element, const Target &target) const override {
    return element == ElementType::I8 && hasTiles(target) && hasFeature(target, "avx512bw") &&
           hasFeature(target, "avx512vnni") && (hasFeature(target, "amx-int8") || emulatesTiles(target));
  }
  int64_t elementsOfStep() const override { return 4; }
  bool sumsIntegers() const override { return true; }
};

} // namespace

const CpuEngineCost &amxCost() {
  static const AmxCost engine;
  return engine;
}
const CpuEngineCost &amxInt8Cost() {
  static const AmxInt8Cost engine;
  return engine;
}

} // namespace skewer
