// The costs of engines whose sums stay in vector registers: FMAs of f32, and dot products of pairs of bf16 and of four
// integers of 8 bits.
#include "passes/Schedule/CpuEngine.h"
#include <algorithm>

namespace skewer {

namespace {

class VectorCost : public CpuEngineCost {
public:
  llvm::ArrayRef<int64_t> rows() const override { return kRows; }
  llvm::ArrayRef<int64_t> vectors() const override { return kVectors; }
  /// Registers hold the accumulators, one column of vectors and one broadcast. A tile that spills lost a fifth (7x4 on
  /// 32 registers).
  bool holds(int64_t rows, int64_t vectors, const Target &target) const override {
    return rows * vectors + vectors + 1 <= target.registers;
  }
  /// A sum needs the one of the step before.
  double stepCycles(int64_t rows, int64_t vectors, const Target &target) const override {
    return std::max(
        {double(rows * vectors) / rate(target), double(rows + vectors) / target.loadsPerCycle, latency(target)});
  }
  double products(const Target &target) const override { return rate(target) * double(elementsOfStep()); }

protected:
  /// Returns the instructions of a cycle that multiply a vector.
  virtual double rate(const Target &) const = 0;
  /// Returns the cycles until such an instruction has its result.
  virtual double latency(const Target &target) const { return target.fmaLatency; }

private:
  static constexpr int64_t kRows[] = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12}, kVectors[] = {1, 2, 3, 4, 5, 6};
};

class FmaCost : public VectorCost {
public:
  llvm::StringRef name() const override { return "fma"; }
  bool fits(ElementType, const Target &) const override { return true; }
  int64_t elementsOfStep() const override { return 1; }

protected:
  double rate(const Target &target) const override { return target.fmaPerCycle; }
};

/// vdpbf16ps, which multiplies the pairs of bf16 of two vectors.
class Bf16DotCost : public VectorCost {
public:
  llvm::StringRef name() const override { return "bf16_dot"; }
  bool fits(ElementType element, const Target &target) const override {
    return element == ElementType::BF16 && target.lanes == 16 && hasFeature(target, "avx512f") &&
           hasFeature(target, "avx512bf16");
  }
  int64_t elementsOfStep() const override { return 2; }
  bool takesWeights() const override { return true; }

protected:
  double rate(const Target &target) const override { return target.bf16DotsPerCycle; }
  double latency(const Target &target) const override { return 1.5 * target.fmaLatency; } // measured on Zen 4: 6 and 4
};

/// vpdpbusd, which multiplies four integers of 8 bits in each lane of two vectors.
class Int8DotCost : public VectorCost {
public:
  llvm::StringRef name() const override { return "int8_dot"; }
  bool fits(ElementType element, const Target &target) const override {
    return element == ElementType::I8 && target.lanes == 16 && hasFeature(target, "avx512bw") &&
           hasFeature(target, "avx512vnni");
  }
  int64_t elementsOfStep() const override { return 4; }
  bool sumsIntegers() const override { return true; }

protected:
  double rate(const Target &target) const override { return target.int8DotsPerCycle; }
};

} // namespace

const CpuEngineCost &fmaCost() {
  static const FmaCost engine;
  return engine;
}
const CpuEngineCost &bf16DotCost() {
  static const Bf16DotCost engine;
  return engine;
}
const CpuEngineCost &int8DotCost() {
  static const Int8DotCost engine;
  return engine;
}

} // namespace skewer
