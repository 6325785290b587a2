// The loops of the probe, written once for all widths and inlined into functions for each instruction set. Vectors do
// not cross function boundaries, because the calling convention depends on the instruction set.
#include "tools/skewer/ProbeLoops.h"
#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace skewer::driver {
namespace {

typedef float Float4 __attribute__((vector_size(16)));
typedef float Float8 __attribute__((vector_size(32)));
typedef float Float16 __attribute__((vector_size(64)));

#define SKEWER_INLINE [[gnu::always_inline]] static inline

/// Reads a loop's result, so that the compiler keeps the loop.
template <typename V> SKEWER_INLINE void use(const V &value) {
  volatile float sink = value[0];
  (void)sink;
}

/// Runs FMAs that wait for each other. `a * b + c` becomes an FMA if the processor has one (-ffp-contract=on, within
/// one expression).
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

// More independent accumulators than latency × rate (4 × 2) are in flight, all of them in 16 registers.
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
  // Accumulators of FMAs and of additions each. Vectors of 512 bits have 32 registers; 7 in flight are enough to tell 1
  // from 2.
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
    asm volatile("" ::: "memory"); // makes each round read again
  }
  Words all = found[0];
#pragma clang loop unroll(full)
  for (size_t k = 1; k < kUnrolled; ++k)
    all |= found[k];
  volatile int sink = all[0];
  (void)sink;
  return rounds * static_cast<int64_t>(bytes);
}

// Number of gathers in flight, each with a sum of its own.
constexpr int kGathers = 4;

/// Reads elements of the table one by one.
template <typename V, typename Words> SKEWER_INLINE void pick(const float *table, const Words &at, V &read) {
#pragma clang loop unroll(full)
  for (size_t lane = 0; lane < sizeof(V) / sizeof(float); ++lane)
    read[lane] = table[at[lane]];
}

/// Defines a function that sums elements; `LOAD` sets `read` to the elements of `table` at `at`. It is a macro, since
/// an instruction set's gather exists only in functions for that instruction set. The indices are like those of a
/// clamped offset: a distance from a moving position, clamped at both ends. The indices of one vector are more than a
/// cache line apart.
#define SKEWER_GATHER(NAME, V, ATTRIBUTE, LOAD)                                                                        \
  ATTRIBUTE int64_t NAME(int64_t rounds, const float *table) {                                                         \
    typedef int Words __attribute__((vector_size(sizeof(V))));                                                         \
    constexpr int kLanes = sizeof(V) / sizeof(float);                                                                  \
    V sums[kGathers] = {};                                                                                             \
    Words lanes = {}, last = Words{} + (kGathered - 1), zero = {};                                                     \
    for (int lane = 0; lane < kLanes; ++lane)                                                                          \
      lanes[lane] = 67 * lane;                                                                                         \
    int position = 0;                                                                                                  \
    for (int64_t round = 0; round < rounds; ++round) {                                                                 \
      _Pragma("clang loop unroll(full)") for (int k = 0; k < kGathers; ++k) {                                          \
        Words at = lanes + (position + 131 * k);                                                                       \
        at = at < zero ? zero : at;                                                                                    \
        at = at > last ? last : at;                                                                                    \
        V read;                                                                                                        \
        LOAD;                                                                                                          \
        sums[k] += read;                                                                                               \
      }                                                                                                                \
      position = (position + 29) & (kGathered / 2 - 1);                                                                \
    }                                                                                                                  \
    for (int k = 0; k < kGathers; ++k)                                                                                 \
      use(sums[k]);                                                                                                    \
    return rounds * kGathers * kLanes;                                                                                 \
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
    SKEWER_GATHER(pickEach, V, ATTRIBUTE static, pick(table, at, read))                                                \
  };

SKEWER_LOOPS(Narrow, Float4, )
#if defined(__x86_64__)
SKEWER_LOOPS(Medium, Float8, __attribute__((target("avx2,fma"))))
SKEWER_LOOPS(Wide, Float16, __attribute__((target("avx512f"))))
SKEWER_GATHER(gatherMedium, Float8, __attribute__((target("avx2,fma"))),
              read = (Float8)_mm256_i32gather_ps(table, (__m256i)at, sizeof(float)))
SKEWER_GATHER(gatherWide, Float16, __attribute__((target("avx512f"))),
              read = (Float16)_mm512_i32gather_ps((__m512i)at, table, sizeof(float)))
#endif

template <typename L> ProbeLoops loopsOf(int64_t (*gather)(int64_t, const float *)) {
  return {L::chain, L::multiplyAdds, L::additions, L::both, L::read, gather, L::pickEach};
}

} // namespace

ProbeLoops probeLoops(int64_t lanes) {
#if defined(__x86_64__)
  if (lanes == 16)
    return loopsOf<Wide>(gatherWide);
  if (lanes == 8)
    return loopsOf<Medium>(gatherMedium);
#endif
  (void)lanes;
  return loopsOf<Narrow>(nullptr);
}

int64_t integerChain(int64_t rounds, uint64_t operand) {
  constexpr int kSteps = 16;
  uint64_t value = operand;
  // Some processors run additions of constants in no cycle at all; this operation takes a cycle on all.
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
