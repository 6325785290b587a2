// A builder for loops over one-dimensional vectors and flat buffers. The CPU kernels are written with it.
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
  /// Stores past the caches. The address of the vector is a multiple of its size. Other threads see it after a fence.
  void storeStreamed(mlir::Value value, mlir::Value buffer, mlir::Value at);
  mlir::Value loadBroadcast(mlir::Value buffer, mlir::Value at);
  /// Returns a mask of the first `count` lanes.
  mlir::Value firstLanes(int64_t count);
  /// Loads the first `count` lanes; the others are 0 and are not read.
  mlir::Value loadFirst(mlir::Value buffer, mlir::Value at, int64_t count);
  /// Loads the lanes that are set in `mask`; the others are 0 and are not read.
  mlir::Value loadMasked(mlir::Value buffer, mlir::Value at, mlir::Value mask);
  void storeFirst(mlir::Value value, mlir::Value buffer, mlir::Value at, int64_t count);
  /// Loads twice as many elements as there are lanes, without conversion.
  mlir::Value loadPairs(mlir::Value buffer, mlir::Value at);
  void storePairs(mlir::Value value, mlir::Value buffer, mlir::Value at);
  /// Returns, in each f32 lane, the sum plus the products of the two bf16 of x and y in that lane: 16 lanes,
  /// AVX512_BF16. It rounds to nearest after each product; denormal numbers count as 0.
  mlir::Value addProductsOfPairs(mlir::Value x, mlir::Value y, mlir::Value sum);
  /// Prefetches the cache line of an element to L2. The element need not be inside the buffer.
  void prefetch(mlir::Value buffer, mlir::Value at);
  /// Loads `lanes` elements of a buffer of i32.
  mlir::Value loadIntegers(mlir::Value buffer, mlir::Value at);
  /// Loads the lanes that are set in `mask`; the others have the element of lane 0.
  mlir::Value loadIntegers(mlir::Value buffer, mlir::Value at, mlir::Value mask);
  mlir::Value gatherIntegers(mlir::Value buffer, mlir::Value at, mlir::Value indices);
  /// Loads buffer[at + indices[lane]] in each lane. With `mask`, lanes that are not set are 0 and are not read.
  mlir::Value gather(mlir::Value buffer, mlir::Value at, mlir::Value indices, mlir::Value mask = {});
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
  /// Returns the maximum, as one vmaxps. It drops a NaN in `x` if `other` is a number: only for running maxima.
  mlir::Value larger(mlir::Value x, mlir::Value other);
  /// Returns the minimum, as one vminps; `other` if `x` is NaN.
  mlir::Value smaller(mlir::Value x, mlir::Value other);
  mlir::Value compare(mlir::arith::CmpFPredicate, mlir::Value, mlir::Value);
  mlir::Value select(mlir::Value condition, mlir::Value yes, mlir::Value no);
  /// Returns x[pattern[lane] mod lanes] in each lane, in one instruction. Needs `canPermute`.
  mlir::Value permute(mlir::Value x, mlir::Value pattern);
  bool canPermute() const { return lanes == 8 || lanes == 16; }
  /// Returns e^x for x up to 88.72; exactly 0 for results below the smallest normal number (also for -inf), NaN for
  /// NaN, 1 for 0. The error is 0.8 ulp for x above -1, and an ulp more for each 5 below. With `large`, it is 0.9 ulp
  /// for any x, for one more instruction. Without FMA (x86-64-v2), it is 1.2 ulp with `large`; else x is rounded as by
  /// a subtraction.
  mlir::Value exp(mlir::Value x, bool large = false);
  /// The nearest whole number to x × inverse, which is within ±2^22, and the bits that the rounding leaves.
  struct Multiple {
    mlir::Value whole, rounded;
  };
  Multiple nearestMultiple(mlir::Value x, float inverse);
  /// Returns 2^whole, which must be a normal number.
  mlir::Value powerOfTwo(const Multiple &);
  mlir::Value reduceAdd(mlir::Value);
  /// Returns the maximum of a vector without NaN. It compares halves. A reduction op has to handle NaN, and so compares
  /// one lane after another on x86 (15 dependent maxima, a fifth of the time of a window of 49 keys).
  mlir::Value reduceMax(mlir::Value);
  /// Returns the lane indices 0, 1, … as i32 lanes.
  mlir::Value laneNumbers();
  /// Returns a constant in every i32 lane.
  mlir::Value integer(int32_t);
  /// Returns a private constant of the module, as memref<…xi32>; equal tables share one.
  mlir::Value integerTable(llvm::ArrayRef<int32_t> values);
  /// Returns an element of such a table, of type index.
  mlir::Value tableElement(mlir::Value table, mlir::Value at);
  /// Returns an index value as i32 in every lane.
  mlir::Value broadcastIndex(mlir::Value);

private:
  /// Returns whether one instruction multiplies by a power of two (AVX-512).
  bool canScale() const { return lanes == 16; }
  /// Returns whether a product and a sum are rounded once. Vectors of four belong to x86-64-v2, which has no FMA.
  bool hasFma() const { return lanes > 4; }
  mlir::Value scaled(mlir::Value x, mlir::Value whole, mlir::Value mask);
  mlir::Value asExponent(const Multiple &);
  mlir::VectorType vectorOf(mlir::Value buffer) const;
  mlir::arith::FastMathFlagsAttr contract;
};

} // namespace skewer
