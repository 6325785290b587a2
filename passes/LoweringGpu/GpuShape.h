// What the GPU lowering makes of a fused attention: which terms are matrix products, and which are evaluated for each
// query and key. Classes of index expressions decide, as on the CPU.
#pragma once
#include "passes/Lowering/AttentionShape.h"
#include "passes/Lowering/KernelPlan.h"
#include <optional>
#include <string>

namespace skewer::gpu {

/// A term at one query and one key: scale × factor × Σ over contracted axes of Π operand[offset], 0 where the guard is.
struct ElementTerm {
  std::vector<unsigned> arguments;
  std::vector<subscript::Expr> offsets; // flat, over all axes
  std::vector<std::pair<std::string, int64_t>> contracted;
  std::optional<subscript::Expr> factor, guard;
  double scale = 1;
};

/// Query rows and keys of one step of a block; 16 rows are one warp's.
struct GpuTile {
  int64_t rows = 64, keys = 64;
  int64_t threads() const { return rows / 16 * 32; }
};

struct GpuShape {
  AttentionShape attention;
  std::vector<ElementTerm> elements;
  std::vector<unsigned> inputs; // for each of operandsOf(attention): number of the kernel's argument
  mlir::Type element;           // what is multiplied: f16 or bf16
  std::vector<Extent> leading;  // of each leading axis
  KernelPlan plan;              // the signature
};

/// Nothing where the GPU target cannot make the kernel yet; `reason` then says what stands in the way, in the user's
/// terms.
std::optional<GpuShape> gpuShapeOf(mlir::func::FuncOp, std::string &reason);

} // namespace skewer::gpu
