// Emits wgmma as inline assembly: MLIR's operation takes no rows in registers, and its sums are no values of their own.
#include "passes/Gpu/Engines/WgmmaInstructions.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include <fmt/format.h>

using namespace mlir;
using namespace skewer;
using namespace skewer::gpu;

//===- Descriptors -----------------------------------------------------------------===//

// A descriptor counts in units of 16 bytes (PTX ISA, "Matrix Descriptor Format").
static constexpr int64_t kUnit = 16;

/// Returns the bits of a descriptor that do not depend on the address.
static int64_t formOf(const SharedTile &tile, bool alongRows) {
  // The codes of swizzles; tensor maps number them otherwise.
  int64_t swizzle = tile.panel == 128 ? 1 : tile.panel == 64 ? 2 : 3;
  // Along rows: from panel to panel. Along the depth of a row, the hardware does not read this distance.
  int64_t leading = alongRows ? tile.rows * tile.panel : kUnit;
  int64_t stride = 8 * tile.panel; // from eight rows to the next eight
  return leading / kUnit << 16 | stride / kUnit << 32 | swizzle << 62;
}

MatrixPlace skewer::gpu::matrixAt(GpuBuilder &b, const BlockMemory &shared, const SharedTile &tile, Value copy,
                                  Value first, bool alongRows) {
  Value offset = b.i32(tile.offset);
  if (copy)
    offset = b.add(offset, b.mul(copy, tile.bytes()));
  if (first)
    offset = b.add(offset, b.mul(first, tile.rowBytes()));
  Value address = LLVM::PtrToIntOp::create(b, b.getI32Type(), shared.at(offset));
  Value units = b.shiftRight(b.bitAnd(address, 0x3ffff), 4);
  Value descriptor = b.createOrFold<arith::ExtUIOp>(b.getI64Type(), units);
  descriptor = b.createOrFold<arith::OrIOp>(descriptor, b.i64(formOf(tile, alongRows)));
  return {descriptor, &tile, alongRows};
}

Value MatrixPlace::ofStep(GpuBuilder &b, int64_t step) const {
  int64_t bytes = 16 * step * tile->panel; // 16 rows
  if (!alongRows) {
    int64_t inRow = step * 16 * tile->elementBytes;
    bytes = inRow / tile->panel * tile->rows * tile->panel + inRow % tile->panel;
  }
  return b.add(descriptor, bytes / kUnit);
}

//===- Products ----------------------------------------------------------------------===//

/// Emits assembly whose results are `sums`, changed in place; `others` follow them as operands.
static Tiles emitOnSums(GpuBuilder &b, const Tiles &sums, ArrayRef<Value> others, StringRef text,
                        StringRef constraintsOfOthers) {
  SmallVector<Value> operands = flattened(sums);
  size_t count = operands.size();
  std::string constraints;
  for (size_t k = 0; k < count; ++k)
    constraints += "=f,";
  for (size_t k = 0; k < count; ++k)
    constraints += std::to_string(k) + ",";
  constraints += constraintsOfOthers;
  operands.append(others.begin(), others.end());
  auto type = LLVM::LLVMStructType::getLiteral(b.getContext(), SmallVector<Type>(count, b.getF32Type()));
  Value results = LLVM::InlineAsmOp::create(b, type, operands, text, constraints, /*has_side_effects=*/true,
                                            /*is_align_stack=*/false, LLVM::TailCallKind::None,
                                            LLVM::AsmDialectAttr(), ArrayAttr())
                      .getRes();
  SmallVector<Value> flat;
  for (size_t k = 0; k < count; ++k)
    flat.push_back(LLVM::ExtractValueOp::create(b, results, int64_t(k)));
  return gathered(ValueRange(flat));
}

/// Emits the product. `rowOperands` are a descriptor, or four registers.
static Tiles emitProduct(GpuBuilder &b, const Tiles &sums, ArrayRef<Value> rowOperands, Value columns, bool columnsAlongRows,
                      bool begins, Type element) {
  size_t count = 4 * sums.size(), next = 2 * count;
  std::string results, rows;
  for (size_t k = 0; k < count; ++k)
    results += fmt::format("{}${}", k ? "," : "", k);
  for (size_t k = 0; k < rowOperands.size(); ++k)
    rows += fmt::format("{}${}", k ? "," : "", next++);
  bool inRegisters = rowOperands.size() > 1;
  std::string type = element.isF16() ? "f16" : "bf16";
  // The flags: the sums are kept (p), neither operand is negated, and whether an operand's depth goes along its rows.
  std::string text = fmt::format(
      "{{ .reg .pred p; setp.ne.b32 p, ${}, 0; wgmma.mma_async.sync.aligned.m64n{}k16.f32.{}.{} {{{}}}, {}, ${}, p, 1, 1, "
      "{}{}; }}",
      next + 1, 8 * sums.size(), type, type, results, inRegisters ? "{" + rows + "}" : rows, next,
      inRegisters ? "" : "0, ", columnsAlongRows ? 1 : 0);
  SmallVector<Value> others(rowOperands);
  others.push_back(columns);
  others.push_back(b.i32(begins ? 0 : 1));
  return emitOnSums(b, sums, others, text, inRegisters ? "r,r,r,r,l,r,~{memory}" : "l,l,r,~{memory}");
}

Tiles skewer::gpu::multiplyTogether(GpuBuilder &b, const Tiles &sums, Value rows, Value columns, bool begins,
                                    Type element) {
  return emitProduct(b, sums, rows, columns, /*columnsAlongRows=*/false, begins, element);
}
Tiles skewer::gpu::multiplyTogether(GpuBuilder &b, const Tiles &sums, const RowFragment &rows, Value columns, bool begins,
                                    Type element) {
  return emitProduct(b, sums, rows, columns, /*columnsAlongRows=*/true, begins, element);
}

//===- Order -------------------------------------------------------------------------===//

void skewer::gpu::fenceProducts(GpuBuilder &b) { NVVM::WgmmaFenceAlignedOp::create(b); }

void skewer::gpu::commitProducts(GpuBuilder &b) { NVVM::WgmmaGroupSyncAlignedOp::create(b); }

Tiles skewer::gpu::waitForProducts(GpuBuilder &b, const Tiles &issued, int64_t pending) {
  // The sums pass through the wait, so that nothing reads them before it.
  return emitOnSums(b, issued, {}, fmt::format("wgmma.wait_group.sync.aligned {};", pending), "~{memory}");
}
