// Measures the peak with FMA loops for each vector width, chosen at run time. More independent accumulators than
// latency × issue rate (4 × 2) are in flight, all of them in registers.
#include "tools/skewer/Peak.h"
#include "tools/skewer/Clock.h"
#include <algorithm>
#include <vector>
#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace skewer::driver {

namespace {
/// A loop that runs `rounds` rounds and returns the FLOPs of one round.
using Loop = int64_t (*)(int64_t rounds);
struct Choice {
  const char *name;
  Loop loop;
};
} // namespace

// The asm keeps an accumulator in a register and hides from the compiler that it is never read.
#define SKEWER_KEEP(x) asm volatile("" : "+v"(x))

#if defined(__x86_64__)
// Defines the loop NAME for one vector width. ACCUMULATORS registers sum; two more hold the factors. It is a macro,
// since intrinsics need a function with the attribute of their instructions.
#define SKEWER_LOOP(NAME, FEATURES, ACCUMULATORS, VECTOR, BROADCAST, MULTIPLY_ADD)                                     \
  __attribute__((target(FEATURES))) static int64_t NAME(int64_t rounds) {                                              \
    VECTOR sum[ACCUMULATORS], a = BROADCAST(0.999f), b = BROADCAST(0.001f);                                            \
    SKEWER_KEEP(a);                                                                                                    \
    SKEWER_KEEP(b);                                                                                                    \
    _Pragma("clang loop unroll(full)") for (int k = 0; k < ACCUMULATORS; ++k) sum[k] =                                 \
        BROADCAST(static_cast<float>(k));                                                                              \
    for (int64_t round = 0; round < rounds; ++round) {                                                                 \
      _Pragma("clang loop unroll(full)") for (int k = 0; k < ACCUMULATORS; ++k) sum[k] = MULTIPLY_ADD(sum[k], a, b);   \
      _Pragma("clang loop unroll(full)") for (int k = 0; k < ACCUMULATORS; ++k) SKEWER_KEEP(sum[k]);                   \
    }                                                                                                                  \
    return 2 * (sizeof(VECTOR) / sizeof(float)) * ACCUMULATORS;                                                        \
  }
#define SKEWER_SSE_MULTIPLY_ADD(x, y, z) _mm_add_ps(_mm_mul_ps(x, y), z)

SKEWER_LOOP(loopAvx512, "avx512f", 24, __m512, _mm512_set1_ps, _mm512_fmadd_ps) // of 32 registers
SKEWER_LOOP(loopAvx2, "avx2,fma", 12, __m256, _mm256_set1_ps, _mm256_fmadd_ps)  // of 16 registers
SKEWER_LOOP(loopSse, "sse2", 12, __m128, _mm_set1_ps, SKEWER_SSE_MULTIPLY_ADD)

static Choice choose() {
  __builtin_cpu_init();
  if (__builtin_cpu_supports("avx512f"))
    return {"avx512f", loopAvx512};
  if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma"))
    return {"avx2+fma", loopAvx2};
  return {"sse2 multiply and add", loopSse};
}
#else
typedef float Vector4 __attribute__((vector_size(16)));
static int64_t loopPortable(int64_t rounds) {
  constexpr int kAccumulators = 24;
  Vector4 sum[kAccumulators] = {}, a = {0.999f, 0.999f, 0.999f, 0.999f}, b = {0.001f, 0.001f, 0.001f, 0.001f};
#pragma clang loop unroll(full)
  for (int64_t round = 0; round < rounds; ++round)
#pragma clang loop unroll(full)
    for (int k = 0; k < kAccumulators; ++k)
      sum[k] = __builtin_elementwise_fma(sum[k], a, b);
  volatile float sink = 0;
  for (int k = 0; k < kAccumulators; ++k)
    sink = sink + sum[k][0];
  return 2 * 4 * kAccumulators;
}
static Choice choose() { return {"128-bit fma", loopPortable}; }
#endif

const char *peakInstructions() { return choose().name; }

double measurePeak(ThreadPool &pool, double seconds) {
  struct Work {
    Loop loop;
    int64_t rounds;
    int64_t flops;
  } work{choose().loop, 100000, 0};
  auto body = [](void *data, int64_t begin, int64_t end, int32_t) {
    auto *work = static_cast<Work *>(data);
    int64_t flops = 0;
    for (int64_t item = begin; item < end; ++item)
      flops = work->loop(work->rounds);
    if (begin == 0)
      work->flops = flops;
  };
  // A first run wakes the threads and raises the clock, and shows how many rounds the measurement needs.
  double start = now();
  pool.run(pool.workers(), body, &work);
  double each = std::max(now() - start, 1e-6);
  work.rounds = std::max<int64_t>(work.rounds, static_cast<int64_t>(work.rounds * seconds / each));
  start = now();
  pool.run(pool.workers(), body, &work);
  double elapsed = std::max(now() - start, 1e-9);
  return static_cast<double>(work.flops) * work.rounds * pool.workers() / elapsed * 1e-9;
}

} // namespace skewer::driver
