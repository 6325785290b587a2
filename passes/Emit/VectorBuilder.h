// A builder for loops over one-dimensional vectors and flat buffers: the vocabulary in which the CPU kernels are
// written.
#pragma once
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"

namespace skewer {

/// Indices are `index` values; buffers are flat memref<?xf32>; vectors are vector<lanes x f32>. Buffers of bf16 or f16
/// can be read, and are widened as they are.
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
  mlir::Value floorDiv(mlir::Value, int64_t); // any sign
  mlir::Value divide(mlir::Value, int64_t);   // non-negative
  mlir::Value remainder(mlir::Value, int64_t);
  mlir::Value minimum(mlir::Value, mlir::Value);
  mlir::Value maximum(mlir::Value, mlir::Value);
  mlir::Value less(mlir::Value, mlir::Value);

  // Loops. `body` gets the induction variable (and the carried values, and returns the next ones).
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
  /// Past the caches: the vector's address is a multiple of its size. Other threads see it after a fence.
  void storeStreamed(mlir::Value value, mlir::Value buffer, mlir::Value at);
  mlir::Value loadBroadcast(mlir::Value buffer, mlir::Value at);
  /// Whether a lane is one of the first `count`.
  mlir::Value firstLanes(int64_t count);
  /// The first `count` lanes; the others are 0 and are not read.
  mlir::Value loadFirst(mlir::Value buffer, mlir::Value at, int64_t count);
  /// The lanes that `mask` has; the others are 0 and are not read.
  mlir::Value loadMasked(mlir::Value buffer, mlir::Value at, mlir::Value mask);
  void storeFirst(mlir::Value value, mlir::Value buffer, mlir::Value at, int64_t count);
  /// Twice as many elements as there are lanes, as they are stored.
  mlir::Value loadPairs(mlir::Value buffer, mlir::Value at);
  void storePairs(mlir::Value value, mlir::Value buffer, mlir::Value at);
  /// sum + x·y of the two bf16 that each lane of f32 has of x and y: 16 lanes, AVX512_BF16. Rounded to nearest after each
  /// product; denormal numbers count as 0.
  mlir::Value addProductsOfPairs(mlir::Value x, mlir::Value y, mlir::Value sum);
  /// Asks for the cache line of an element, which need not be inside the buffer, to be brought to L2.
  void prefetch(mlir::Value buffer, mlir::Value at);
  /// `lanes` elements of a buffer of i32.
  mlir::Value loadIntegers(mlir::Value buffer, mlir::Value at);
  /// Of the lanes that `mask` has; the others have the element that lane 0 has.
  mlir::Value loadIntegers(mlir::Value buffer, mlir::Value at, mlir::Value mask);
  mlir::Value gatherIntegers(mlir::Value buffer, mlir::Value at, mlir::Value indices);
  /// buffer[at + indices[lane]] in each lane; 0, and not read, where `mask` is given and is not set.
  mlir::Value gather(mlir::Value buffer, mlir::Value at, mlir::Value indices, mlir::Value mask = {});
  /// `bytes[offset…]` as floats.
  mlir::Value view(mlir::Value bytes, mlir::Value offset, int64_t floats);

  // Floats, scalar or vector alike. Nothing here assumes that inputs are finite: NaN must come through.
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
  /// One vmaxps. Drops a NaN in `x` where `other` is a number: only for running maxima.
  mlir::Value larger(mlir::Value x, mlir::Value other);
  /// One vminps: `other` where `x` is NaN.
  mlir::Value smaller(mlir::Value x, mlir::Value other);
  mlir::Value compare(mlir::arith::CmpFPredicate, mlir::Value, mlir::Value);
  mlir::Value select(mlir::Value condition, mlir::Value yes, mlir::Value no);
  /// x[pattern[lane] mod lanes] in each lane, in one instruction: only where `canPermute`.
  mlir::Value permute(mlir::Value x, mlir::Value pattern);
  bool canPermute() const { return lanes == 8 || lanes == 16; }
  /// e^x for x up to 88.72: below the smallest normal number exactly 0 (also for -inf), NaN for NaN, 1 for 0. 0.8 ulp
  /// where x is above -1; further down an ulp more for each 5, unless `large`, which costs an instruction more and has
  /// 0.9 ulp for any x. Without FMA (x86-64-v2) 1.2 ulp where it is `large`; else x is rounded as a subtraction would.
  mlir::Value exp(mlir::Value x, bool large = false);
  /// The nearest whole number to x × inverse, which lies within ±2^22, and its bits as they are left by the rounding.
  struct Multiple {
    mlir::Value whole, rounded;
  };
  Multiple nearestMultiple(mlir::Value x, float inverse);
  /// 2^whole, which is a normal number.
  mlir::Value powerOfTwo(const Multiple &);
  mlir::Value reduceAdd(mlir::Value);
  /// Of a vector without NaN. By halves: as a reduction, which has to tell NaN apart, it is one lane after the other
  /// on x86 (15 dependent maxima, a fifth of the time of a window of 49 keys).
  mlir::Value reduceMax(mlir::Value);
  /// lane index (0, 1, …) as i32 lanes.
  mlir::Value laneNumbers();
  /// A constant in every lane of i32.
  mlir::Value integer(int32_t);
  /// A private constant of the module, as memref<…xi32>; equal ones are one.
  mlir::Value integerTable(llvm::ArrayRef<int32_t> values);
  /// The element of such a table, of type index.
  mlir::Value tableElement(mlir::Value table, mlir::Value at);
  /// index value as i32 in every lane.
  mlir::Value broadcastIndex(mlir::Value);

private:
  /// AVX-512 multiplies by a power of two in one instruction.
  bool canScale() const { return lanes == 16; }
  /// Whether a product and a sum are rounded once. Vectors of four are those of x86-64-v2, which has no FMA.
  bool hasFma() const { return lanes > 4; }
  mlir::Value scaled(mlir::Value x, mlir::Value whole, mlir::Value mask);
  mlir::Value asExponent(const Multiple &);
  mlir::VectorType vectorOf(mlir::Value buffer) const;
  mlir::arith::FastMathFlagsAttr contract;
};

} // namespace skewer
