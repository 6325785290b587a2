// The engine of mma.sync m16n8k16 (f32: m16n8k8 of tf32). A warp loads its fragments by ldmatrix; its sums are
// registers that can be read at once. Each fragment of keys or values is multiplied with all tiles of the warp's rows.
#pragma once
#include "passes/Gpu/Engines/MmaInstructions.h"
#include "passes/Gpu/Memory.h"
#include <optional>

namespace skewer::gpu {

/// The row operand of a product. For f32 it also has what the tensor cores leave of each number, for three products in
/// place of one.
struct RowOperand {
  RowFragment whole;
  std::optional<RowFragment> rest;
};
/// Whether a product of f32 is as exact as f32 itself, or as tf32.
enum class Precision { Full, Once };

/// Number of steps of the depth in a chain: tensor cores add their products of f32 to each other. They cut off where
/// f32 rounds, and the loss grows with the length of a chain; a new chain begins at 0.
constexpr int64_t kStepsOfChain = 2;
/// The longest chain of f16 or bf16, in products of one sum: beyond it, the loss by cutting off nears 2^-12 of the sum.
constexpr int64_t kLongestChain = 1 << 15;

class MmaSync : public Engine {
public:
  /// `element`: type of the multiplied numbers. `products`: of one sum, over all tiles.
  /// `signedWeights`: see EngineSetup.
  MmaSync(GpuBuilder &b, const BlockMemory &shared, const ThreadPlace &at, Type element, int64_t products,
          bool signedWeights)
      : b(b), shared(shared), at(at), element(element), outside(element.isF32() || products > kLongestChain),
        signedWeights(signedWeights) {}

  bool addsOutside() const override { return outside; }
  bool beginsWithSums() const override { return !element.isF32(); }
  bool hidesOddValues() const override { return true; }
  std::vector<RowFragment> hold(const TileRows &, int64_t rowTiles) override;
  Tiles issueProducts(const Tiles &before, const OperandRows &rows, const TileRows &columns,
                      int64_t together = INT64_MAX) override;
  std::vector<RowFragment> rounded(const Tiles &weights) override;
  void issueRounded(llvm::ArrayRef<RowFragment> weights, const TileRows &rows, bool checked,
                    WeightedSums &sums) override;
  Tiles wait(const Tiles &issued, int64_t /*pending*/ = 0) override { return issued; }
  Tiles products(const Tiles &before, const OperandRows &rows, const TileRows &columns,
                 int64_t together = INT64_MAX) override {
    return issueProducts(before, rows, columns, together);
  }
  void addWeighted(const Tiles &weights, const TileRows &rows, bool checked, WeightedSums &sums) override {
    issueWeighted(weights, rows, checked, sums);
  }

private:
  using Operands = std::vector<RowOperand>; // of one step, for each tile of rows
  // Operand tiles.
  /// Returns the place of a chunk of 16 bytes of a row.
  Value chunkAt(const TileRows &, Value row, Value chunk);
  /// Loads fragments of a step of the depth, which begins at `chunk` (i32, of 16 bytes). `rowFragment` loads 16 rows;
  /// `columnFragments` loads rows 16 × pair … 16 × pair + 7 and rows 16 × pair + 8 … 16 × pair + 15.
  RowFragment rowFragment(const TileRows &, Value chunk);
  std::array<ColumnFragment, 2> columnFragments(const TileRows &, int64_t pair, Value chunk);
  /// Loads the fragments of a step of keys, for two tiles of 8 columns of the values.
  std::array<ColumnFragment, 2> valueFragments(const TileRows &, int64_t step, int64_t columnPair);
  RowOperand operandOf(const RowFragment &, Precision = Precision::Full);
  Operands operandsOf(const OperandRows &, int64_t steps, int64_t step, Value chunk, Precision);
  /// Returns weights as operands, for each step of keys.
  std::vector<Operands> operandsOf(llvm::ArrayRef<RowFragment> weights, size_t rowTiles);

  // Products and sums.
  Accumulator addProduct(const RowOperand &, const ColumnFragment &, const Accumulator &);
  Tiles zeros(size_t count);
  /// Returns x + y, rounded to nearest; no addition where x is 0.
  Tiles sumOf(const Tiles &x, const Tiles &y);
  Value someAreNan(llvm::ArrayRef<Accumulator>);
  /// Adds `count` steps of the depth; `chunkOf` returns the chunk at which a step begins.
  void addSteps(Tiles &sums, const OperandRows &, const TileRows &columns, int64_t count, Precision,
                llvm::function_ref<Value(int64_t)> chunkOf);
  void addAllSteps(Tiles &sums, const OperandRows &, const TileRows &columns, int64_t together, Precision);

  // The product with the values, 16 columns at a time: two tiles of 8 columns for each tile of rows.
  void multiplyValues(llvm::ArrayRef<Operands> weights, const TileRows &, int64_t columnPair, Tiles &sums);
  /// Does the same if some values are NaN or infinite.
  void multiplyOddValues(llvm::ArrayRef<Operands> weights, const TileRows &, int64_t columnPair, Tiles &sums);
  /// Returns output × shrink + sum.
  Accumulator addedTo(const Accumulator &output, const Accumulator &sum, llvm::ArrayRef<Value> shrink);

  GpuBuilder &b;
  const BlockMemory &shared;
  const ThreadPlace &at;
  Type element;
  bool outside, signedWeights;
};

} // namespace skewer::gpu
