// What a kernel's arguments hold: index expressions as arithmetic, tables and index operands that they read, and single
// elements of tensors.
#pragma once
#include "passes/Emit/EmitIndex.h"
#include "passes/Gpu/GpuAttention.h"
#include "passes/Gpu/GpuBuilder.h"
#include "passes/Gpu/GpuLaunch.h"

namespace skewer::gpu {

/// Values of axes, by name; index.
using Axes = std::map<std::string, Value>;

class Operands {
public:
  Operands(GpuBuilder &b, const GpuAttention &shape, mlir::gpu::GPUModuleOp module, mlir::LLVM::LLVMFuncOp function);

  /// Why an expression could not be emitted; empty: all were.
  std::string failure;

  Value index(const subscript::Expr &, const Axes &at);
  Value predicate(const subscript::Expr &, const Axes &at); // i1
  /// An integer as f32.
  Value number(const subscript::Expr &, const Axes &at);
  /// The element type of one of the attention's operands, and the pointer to it.
  Type elementOf(unsigned operand) const;
  Value pointerTo(unsigned operand) const { return inputs[shape.inputs[operand]]; }
  /// The element at an offset (index) of an operand, as f32.
  Value elementAt(unsigned operand, Value offset);
  /// A result's number in the plan.
  Value output(unsigned number) const { return outputs[number]; }
  /// The number that an extent says; i64.
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
  std::vector<Value> inputs, outputs; // pointers: those, and what else is read and written
  /// Constant tables that expressions read, by the name under which they do.
  struct Table {
    std::vector<int64_t> entries;
    std::string symbol;
  };
  std::map<std::string, Table> tables;
};

// Terms that are evaluated by their index expressions, times their scale.
/// The term at these axes.
Value termAt(GpuBuilder &, Operands &, const ElementTerm &, const Axes &at);
/// A term with contracted axes at each of these places.
llvm::SmallVector<Value> contractedTermAt(GpuBuilder &, Operands &, const ElementTerm &, llvm::ArrayRef<Axes> at);
/// Π operand; null without operands. Where `guard` (may be null) does not hold, nothing outside is read.
Value operandProduct(GpuBuilder &, Operands &, const ElementTerm &, const Axes &at, Value guard);

} // namespace skewer::gpu
