// Emits the numbers, conditions and control flow of a thread of a GPU kernel. Memory.h has its loads and stores, Warp.h
// what threads do together, and each engine (Engines/) its own instructions.
#pragma once
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"
#include <array>
#include <functional>

namespace skewer::gpu {

using mlir::Type;
using mlir::Value;
using mlir::ValueRange;

class GpuBuilder : public mlir::ImplicitLocOpBuilder {
public:
  using ImplicitLocOpBuilder::ImplicitLocOpBuilder;

  // Integers, of i32 unless noted otherwise. An int64_t operand stands for a constant of the other operand's type.
  Value i32(int64_t);
  Value i64(int64_t);
  Value index(int64_t);
  Value f32(double);
  Value add(Value, Value);
  Value add(Value, int64_t);
  Value sub(Value, Value);
  Value mul(Value, Value);
  Value mul(Value, int64_t);
  Value divide(Value, int64_t);    // operands are not negative
  Value remainder(Value, int64_t); // likewise
  Value shiftLeft(Value, int64_t);
  Value shiftRight(Value, int64_t);
  Value bitAnd(Value, int64_t);
  Value both(Value, Value); // i1
  Value minimum(Value, Value);
  Value maximum(Value, Value);
  Value equal(Value, Value);
  Value notEqual(Value, Value);
  Value less(Value, Value);
  Value lessEqual(Value, Value);
  Value select(Value condition, Value, Value);
  Value toIndex(Value); // of i32
  Value toI64(Value);   // of i32 or index
  Value toI32(Value);   // of index

  // f32.
  Value addf(Value, Value);
  Value subf(Value, Value);
  Value negf(Value);
  Value mulf(Value, Value);
  Value fma(Value, Value, Value);
  Value maxf(Value, Value); // the other operand if one is NaN
  Value exp2(Value);        // ex2.approx: 2 units in the last place
  Value log2(Value);        // lg2.approx
  Value equalf(Value, Value);
  Value isNan(Value);       // i1

  /// Emits `for i in [low, high)` in i32 with carried values; returns their last values.
  llvm::SmallVector<Value> loop(Value low, Value high, int64_t step, llvm::ArrayRef<Value> initial,
                                llvm::function_ref<llvm::SmallVector<Value>(Value i, ValueRange)> body);
  void when(Value condition, llvm::function_ref<void()> body);
  void either(Value condition, llvm::function_ref<void()> yes, llvm::function_ref<void()> no);
  llvm::SmallVector<Value> choose(Value condition, mlir::TypeRange, llvm::function_ref<llvm::SmallVector<Value>()> yes,
                                  llvm::function_ref<llvm::SmallVector<Value>()> no);
};

} // namespace skewer::gpu
