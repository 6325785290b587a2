// Emits the operations of a thread of a GPU kernel: arith for numbers, the LLVM dialect for memory, NVVM for the warp.
#pragma once
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"
#include <array>
#include <functional>

namespace skewer::gpu {

using mlir::Type;
using mlir::Value;
using mlir::ValueRange;

/// Address spaces of PTX, by LLVM's numbers.
constexpr unsigned kGlobalSpace = 1, kSharedSpace = 3;

/// Four accumulators of a 16×8 tile: columns 2t and 2t+1 of row g, then of row g+8 (g = lane/4, t = lane%4).
using Accumulator = std::array<Value, 4>;
/// The row operand of mma in registers of i32: 16×16 of f16 or bf16, two elements in each register, or 16×8 of f32.
using RowFragment = std::array<Value, 4>;
/// The column operand of mma: 16×8, or 8×8 of f32.
using ColumnFragment = std::array<Value, 2>;

/// Converts accumulators to their numbers, four for each accumulator, and back.
llvm::SmallVector<Value> flattened(llvm::ArrayRef<Accumulator>);
std::vector<Accumulator> gathered(ValueRange);

class GpuBuilder : public mlir::ImplicitLocOpBuilder {
public:
  GpuBuilder(mlir::Location location, mlir::MLIRContext *context) : ImplicitLocOpBuilder(location, context) {}

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
  Value compare(mlir::arith::CmpIPredicate, Value, Value);
  Value less(Value a, Value b) { return compare(mlir::arith::CmpIPredicate::slt, a, b); }
  Value notEqual(Value a, Value b) { return compare(mlir::arith::CmpIPredicate::ne, a, b); }
  Value lessEqual(Value a, Value b) { return compare(mlir::arith::CmpIPredicate::sle, a, b); }
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

  /// Returns the f32 of lane `lane ^ distance`.
  Value shuffle(Value, int64_t distance);
  /// Returns the i32 of lane `from` of the warp.
  Value shuffleFrom(Value, Value from);
  void barrier();
  void warpBarrier();
  void commitCopies();
  void waitForCopies(unsigned pending);

  /// Packs two f32 as f16 or bf16 into an i32, the first in the low half; rounds to the nearest even.
  Value pack(Value low, Value high, Type element);
  std::array<Value, 2> unpack(Value packed, Type element);
  Value widen(Value element);               // to f32
  Value narrow(Value number, Type element); // from f32

  // Memory; offsets are in bytes (shared) or elements (global, i64).
  Value sharedAt(Value byteOffset);
  Value globalAt(Value pointer, Value elementOffset, Type element);
  Value load(Value pointer, Type);
  void store(Value, Value pointer);
  /// Copies 16 bytes; if `inside` (i1) is false, it writes zeros and reads nothing.
  void copyAsync(Value shared, Value global, Value inside);

  /// Loads four 8×8 matrices of two-byte elements. For each matrix, eight lanes name its rows.
  RowFragment loadMatrices(Value byteOffset, bool transposed);
  /// Returns sum + rows × columns. Of an f32, the tensor cores read the upper 19 bits (tf32).
  Accumulator multiply(const RowFragment &, const ColumnFragment &, const Accumulator &, Type element);
  /// Returns the bits of an f32 whose upper 19 bits are the nearest tf32. A NaN may become a number; then its rest is
  /// NaN.
  Value nearestTf32(Value bits);
  /// Returns the rest of an f32 that the nearest tf32 leaves, x - nearest(x), exactly, as bits.
  Value restOf(Value bits);
  Value bitsOf(Value number); // of f32
  Value isNan(Value number);  // i1
  /// Returns whether the condition holds in some lane of the warp (i1).
  Value anyLane(Value);

  /// Emits `for i in [low, high)` in i32 with carried values; returns their last values.
  llvm::SmallVector<Value> loop(Value low, Value high, int64_t step, llvm::ArrayRef<Value> initial,
                                llvm::function_ref<llvm::SmallVector<Value>(Value i, ValueRange)> body);
  void when(Value condition, llvm::function_ref<void()> body);
  llvm::SmallVector<Value> choose(Value condition, mlir::TypeRange, llvm::function_ref<llvm::SmallVector<Value>()> yes,
                                  llvm::function_ref<llvm::SmallVector<Value>()> no);

  Value shared; // start of the block's shared memory
};

} // namespace skewer::gpu
