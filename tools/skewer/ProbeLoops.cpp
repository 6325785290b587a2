// Written once for all widths and inlined into functions for each instruction set. Vectors stay inside of functions:
// passing them would depend on the instruction set.
#include "tools/skewer/ProbeLoops.h"

namespace skewer::driver {
namespace {

typedef float Float4 __attribute__((vector_size(16)));
typedef float Float8 __attribute__((vector_size(32)));
typedef float Float16 __attribute__((vector_size(64)));

#define SKEWER_INLINE [[gnu::always_inline]] static inline

/// What a loop has computed is read somewhere.
template <typename V> SKEWER_INLINE void use(const V &value) {
  volatile float sink = value[0];
  (void)sink;
}

/// `a * b + c` becomes an FMA where there is one (-ffp-contract=on, within one expression).
template <typename V> SKEWER_INLINE int64_t chainOf(int64_t rounds, float a, float b) {
  constexpr int kSteps = 16;
  V sum = V{} + a, factor = V{} + a, added = V{} + b;
  for (int64_t round = 0; round < rounds; ++round)
#pragma clang loop unroll(full)
    for (int k = 0; k < kSteps; ++k)
      sum = sum * factor + added;
  use(sum);
  return rounds * kSteps;
}

// More independent accumulators than latency × rate (4 × 2) in flight, and all of them in 16 registers.
constexpr int kAccumulators = 12;

template <typename V> SKEWER_INLINE int64_t multiplyAddsOf(int64_t rounds, float a, float b) {
  V sums[kAccumulators], factor = V{} + a, added = V{} + b;
#pragma clang loop unroll(full)
  for (int k = 0; k < kAccumulators; ++k)
    sums[k] = V{} + static_cast<float>(k);
  for (int64_t round = 0; round < rounds; ++round)
#pragma clang loop unroll(full)
    for (int k = 0; k < kAccumulators; ++k)
      sums[k] = sums[k] * factor + added;
#pragma clang loop unroll(full)
  for (int k = 0; k < kAccumulators; ++k)
    use(sums[k]);
  return rounds * kAccumulators;
}

template <typename V> SKEWER_INLINE int64_t additionsOf(int64_t rounds, float a, float b) {
  V sums[kAccumulators], added = V{} + a * b;
#pragma clang loop unroll(full)
  for (int k = 0; k < kAccumulators; ++k)
    sums[k] = V{} + static_cast<float>(k);
  for (int64_t round = 0; round < rounds; ++round)
#pragma clang loop unroll(full)
    for (int k = 0; k < kAccumulators; ++k)
      sums[k] = sums[k] + added;
#pragma clang loop unroll(full)
  for (int k = 0; k < kAccumulators; ++k)
    use(sums[k]);
  return rounds * kAccumulators;
}

template <typename V> SKEWER_INLINE int64_t bothOf(int64_t rounds, float a, float b) {
  // Of FMAs and of additions; vectors of 512 bits have 32 registers, and 7 in flight are enough to tell 1 from 2.
  constexpr int kOfEach = sizeof(V) == 64 ? 10 : 7;
  V products[kOfEach], sums[kOfEach], factor = V{} + a, added = V{} + b;
#pragma clang loop unroll(full)
  for (int k = 0; k < kOfEach; ++k) {
    products[k] = V{} + static_cast<float>(k);
    sums[k] = V{} + static_cast<float>(k);
  }
  for (int64_t round = 0; round < rounds; ++round)
#pragma clang loop unroll(full)
    for (int k = 0; k < kOfEach; ++k) {
      products[k] = products[k] * factor + added;
      sums[k] = sums[k] + added;
    }
#pragma clang loop unroll(full)
  for (int k = 0; k < kOfEach; ++k) {
    use(products[k]);
    use(sums[k]);
  }
  return rounds * kOfEach;
}

template <typename V> SKEWER_INLINE int64_t readOf(int64_t rounds, const char *data, size_t bytes) {
  typedef int Words __attribute__((vector_size(sizeof(V))));
  constexpr size_t kUnrolled = 8;
  Words found[kUnrolled] = {};
  for (int64_t round = 0; round < rounds; ++round) {
    for (size_t at = 0; at < bytes; at += kUnrolled * sizeof(Words))
#pragma clang loop unroll(full)
      for (size_t k = 0; k < kUnrolled; ++k)
        found[k] |= *reinterpret_cast<const Words *>(data + at + k * sizeof(Words));
    asm volatile("" ::: "memory"); // each round reads anew
  }
  Words all = found[0];
#pragma clang loop unroll(full)
  for (size_t k = 1; k < kUnrolled; ++k)
    all |= found[k];
  volatile int sink = all[0];
  (void)sink;
  return rounds * static_cast<int64_t>(bytes);
}

#define SKEWER_LOOPS(NAME, V, ATTRIBUTE)                                                                               \
  struct NAME {                                                                                                        \
    ATTRIBUTE static int64_t chain(int64_t rounds, float a, float b) { return chainOf<V>(rounds, a, b); }              \
    ATTRIBUTE static int64_t multiplyAdds(int64_t rounds, float a, float b) {                                          \
      return multiplyAddsOf<V>(rounds, a, b);                                                                          \
    }                                                                                                                  \
    ATTRIBUTE static int64_t additions(int64_t rounds, float a, float b) { return additionsOf<V>(rounds, a, b); }      \
    ATTRIBUTE static int64_t both(int64_t rounds, float a, float b) { return bothOf<V>(rounds, a, b); }                \
    ATTRIBUTE static int64_t read(int64_t rounds, const char *data, size_t bytes) {                                    \
      return readOf<V>(rounds, data, bytes);                                                                           \
    }                                                                                                                  \
  };

SKEWER_LOOPS(Narrow, Float4, )
#if defined(__x86_64__)
SKEWER_LOOPS(Medium, Float8, __attribute__((target("avx2,fma"))))
SKEWER_LOOPS(Wide, Float16, __attribute__((target("avx512f"))))
#endif

template <typename L> ProbeLoops loopsOf() { return {L::chain, L::multiplyAdds, L::additions, L::both, L::read}; }

} // namespace

ProbeLoops probeLoops(int64_t lanes) {
#if defined(__x86_64__)
  if (lanes == 16)
    return loopsOf<Wide>();
  if (lanes == 8)
    return loopsOf<Medium>();
#endif
  (void)lanes;
  return loopsOf<Narrow>();
}

int64_t integerChain(int64_t rounds, uint64_t operand) {
  constexpr int kSteps = 16;
  uint64_t value = operand;
  // Additions of constants take no cycle at all on some processors; this does on all.
#if defined(__x86_64__)
#define SKEWER_STEP asm volatile("xor %1, %0" : "+r"(value) : "r"(operand));
#elif defined(__aarch64__)
#define SKEWER_STEP asm volatile("eor %0, %0, %1" : "+r"(value) : "r"(operand));
#else
  return 0;
#define SKEWER_STEP
#endif
  for (int64_t round = 0; round < rounds; ++round) {
#pragma clang loop unroll(full)
    for (int k = 0; k < kSteps; ++k) {
      SKEWER_STEP
    }
  }
  return rounds * kSteps;
}

} // namespace skewer::driver
