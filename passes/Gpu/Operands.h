// The operands of a kernel: emits index expressions as arithmetic, with the tables and index operands that they read,
// and reads single elements of tensors.
#pragma once
#include "passes/Emit/EmitIndex.h"
#include "passes/Gpu/GpuAttention.h"
#include "passes/Gpu/GpuBuilder.h"
#include "passes/Gpu/GpuLaunch.h"

namespace skewer::gpu {

/// Values of axes (index), by the axes' names.
using Axes = std::map<std::string, Value>;

class Operands {
public:
  Operands(GpuBuilder &b, const GpuAttention &shape, mlir::gpu::GPUModuleOp module, mlir::LLVM::LLVMFuncOp function);

  std::optional<Refusal> refusal; // set if an expression could not be emitted

  Value index(const subscript::Expr &, const Axes &at);
  Value predicate(const subscript::Expr &, const Axes &at); // i1
  /// Emits an integer expression as f32.
  Value number(const subscript::Expr &, const Axes &at);
  /// Returns the element type of one of the attention's operands; `pointerTo` returns the pointer to it.
  Type elementOf(unsigned operand) const;
  Value pointerTo(unsigned operand) const { return inputs[shape.inputs[operand]]; }
  /// Reads the element at an offset (index) of an operand, as f32, with the scale of its row.
  Value elementAt(unsigned operand, Value offset);
  /// Returns whether rows of the operand have scales; `scaleAt` reads the scale of the row that has the element at this
  /// offset (index), as f32.
  bool hasScales(unsigned operand) const { return !shape.scales[operand].empty(); }
  Value scaleAt(unsigned operand, Value offset);
  /// Returns the pointer to a result, by its number in the plan.
  Value output(unsigned number) const { return outputs[number]; }
  /// Returns the value of an extent; i64.
  Value sizeOf(const Extent &extent) {
    return extent.name.empty() ? b.i64(extent.fixed) : arguments.size(b, extent.name);
  }

private:
  IndexEmitter::Read reads();
  Value readTable(const std::string &name, Value row);
  subscript::Expr withoutTables(const subscript::Expr &);
  void addConstant(const std::string &symbol, const std::vector<int64_t> &entries);
  Value placeOf(const GpuPlace &);

  GpuBuilder &b;
  const GpuAttention &shape;
  mlir::gpu::GPUModuleOp module;
  mlir::LLVM::LLVMFuncOp function;
  KernelArguments arguments;          // of the program
  std::vector<Value> inputs, outputs; // pointers: to the program's tensors, then to the further ones
  /// Constant tables that expressions read, by their names in the expressions.
  struct Table {
    std::vector<int64_t> entries;
    std::string symbol;
  };
  std::map<std::string, Table> tables;
};

// Terms that are evaluated by their index expressions; the scale is included.
/// Returns the term's value at these axes.
Value termAt(GpuBuilder &, Operands &, const ElementTerm &, const Axes &at);
/// Returns the value of a term with contracted axes at each of these places.
llvm::SmallVector<Value> contractedTermAt(GpuBuilder &, Operands &, const ElementTerm &, llvm::ArrayRef<Axes> at);
/// Returns Π operand; null without operands. Where `guard` (may be null) is false, it reads nothing outside of an
/// operand.
Value operandProduct(GpuBuilder &, Operands &, const ElementTerm &, const Axes &at, Value guard);

} // namespace skewer::gpu
