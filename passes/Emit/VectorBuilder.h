// A builder for loops over one-dimensional vectors and flat buffers. The CPU kernels are written with it, with
// functions of vectors (VectorMath.h) and integers in lanes (IntegerLanes.h).
#pragma once
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"

namespace skewer {

/// Indices are `index` values; buffers are flat memref<?xf32>; vectors are vector<lanes x f32>. Buffers of bf16 or f16
/// can be read; loads widen their elements.
class VectorBuilder {
public:
  VectorBuilder(mlir::ImplicitLocOpBuilder &builder, int64_t lanes);

  mlir::ImplicitLocOpBuilder &builder;
  const int64_t lanes;
  mlir::VectorType vector, integers;
  mlir::FloatType f32;

  // Indices.
  mlir::Value index(int64_t value);
  mlir::Value add(mlir::Value, mlir::Value);
  mlir::Value add(mlir::Value, int64_t);
  mlir::Value sub(mlir::Value, mlir::Value);
  mlir::Value mul(mlir::Value, int64_t);
  mlir::Value mul(mlir::Value, mlir::Value);
  mlir::Value floorDiv(mlir::Value, int64_t); // of numbers of any sign
  mlir::Value divide(mlir::Value, int64_t);   // of numbers that are not negative
  mlir::Value remainder(mlir::Value, int64_t);
  mlir::Value minimum(mlir::Value, mlir::Value);
  mlir::Value maximum(mlir::Value, mlir::Value);
  mlir::Value less(mlir::Value, mlir::Value);

  // Loops. `body` gets the induction variable. A carrying body also gets the carried values, and returns the next ones.
  using Body = std::function<void(mlir::Value)>;
  using CarryingBody = std::function<llvm::SmallVector<mlir::Value>(mlir::Value, mlir::ValueRange)>;
  void loop(mlir::Value low, mlir::Value high, int64_t step, const Body &);
  llvm::SmallVector<mlir::Value> loop(mlir::Value low, mlir::Value high, int64_t step, mlir::ValueRange initial,
                                      const CarryingBody &);
  void when(mlir::Value condition, const std::function<void()> &then, const std::function<void()> &otherwise = {});

  // Memory.
  mlir::Value scalar(mlir::Value buffer, mlir::Value at);
  void storeScalar(mlir::Value value, mlir::Value buffer, mlir::Value at);
  mlir::Value load(mlir::Value buffer, mlir::Value at);
  void store(mlir::Value value, mlir::Value buffer, mlir::Value at);
  mlir::Value loadBroadcast(mlir::Value buffer, mlir::Value at);
  /// Returns a mask of the first `count` lanes.
  mlir::Value firstLanes(int64_t count);
  /// Loads the first `count` lanes; the others are 0 and are not read.
  mlir::Value loadFirst(mlir::Value buffer, mlir::Value at, int64_t count);
  /// Loads the lanes that are set in `mask`; the others are 0 and are not read.
  mlir::Value loadMasked(mlir::Value buffer, mlir::Value at, mlir::Value mask);
  void storeFirst(mlir::Value value, mlir::Value buffer, mlir::Value at, int64_t count);
  /// Prefetches the cache line of an element to L2. The element need not be inside the buffer.
  void prefetch(mlir::Value buffer, mlir::Value at);
  /// Returns `bytes[offset…]` as a buffer of floats.
  mlir::Value view(mlir::Value bytes, mlir::Value offset, int64_t floats);

  // Floats, scalars or vectors. No function assumes that inputs are finite: NaN must propagate.
  mlir::Value constant(float value);       // vector
  mlir::Value constantScalar(float value); // scalar
  mlir::Value number(mlir::Value index);   // scalar
  mlir::Value broadcast(mlir::Value scalar);
  mlir::Value widen(mlir::Value scalar);  // to f64
  mlir::Value narrow(mlir::Value scalar); // to f32
  mlir::Value addf(mlir::Value, mlir::Value);
  mlir::Value subf(mlir::Value, mlir::Value);
  mlir::Value mulf(mlir::Value, mlir::Value);
  mlir::Value divf(mlir::Value, mlir::Value);
  mlir::Value fma(mlir::Value, mlir::Value, mlir::Value);
  mlir::Value compare(mlir::arith::CmpFPredicate, mlir::Value, mlir::Value);
  mlir::Value select(mlir::Value condition, mlir::Value yes, mlir::Value no);

private:
  mlir::arith::FastMathFlagsAttr contract;
};

/// Returns what `yes` returns if the condition holds, else what `no` returns: values of these types.
using MakeValues = llvm::function_ref<llvm::SmallVector<mlir::Value>()>;
llvm::SmallVector<mlir::Value> choose(VectorBuilder &, mlir::Value condition, mlir::TypeRange, MakeValues yes,
                                      MakeValues no);

} // namespace skewer
