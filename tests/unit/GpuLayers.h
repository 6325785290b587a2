// Returns texts of small layers for the tests of GPU kernels: content with added terms, of any sizes and types.
#pragma once
#include "tests/unit/GpuTesting.h"

namespace skewer::testing {

/// Returns a layer with `score` added to the content; all operands have `type`.
inline std::string layer(const std::string &sizes, const std::string &more, const std::string &score,
                         const std::string &type = "f16", const std::string &mask = "") {
  return "param " + sizes + "\nsize batch\nkernel layer(q : " + type + "[batch, heads, N, dim], k : " + type +
         "[batch, heads, M, dim], v : " + type + "[batch, heads, M, width]" + more + ") -> " + type +
         "[batch, heads, N, width] {\n  content = einsum(\"b h i d, b h j d -> b h i j\", q, k)\n"
         "  return einsum(\"b h i j, b h j d -> b h i d\", softmax(" +
         score + mask + "), v)\n}\n";
}
inline std::string sizes(int64_t n, int64_t m, int64_t dim, int64_t width, int64_t heads = 2) {
  return "N = " + std::to_string(n) + ", M = " + std::to_string(m) + ", dim = " + std::to_string(dim) +
         ", width = " + std::to_string(width) + ", heads = " + std::to_string(heads);
}
inline const std::string kPlain = "content * dim^-0.5";
/// The largest errors, as shares of the largest value, by the type of the products.
constexpr double kHalf = 1.5e-3, kBrain = 1.2e-2, kWide = 1e-5;

inline std::string relative(int64_t n, int64_t m, int64_t dim, const std::string &table, const std::string &row,
                            const std::string &scale = " * dim^-0.5", const std::string &mask = "",
                            const std::string &type = "f16") {
  return layer(sizes(n, m, dim, 16), ", table : " + table,
               "content * dim^-0.5 + einsum(\"b h i d, " + row + " d -> b h i j\", q, table, j = M)" + scale, type,
               mask);
}
/// Returns a layer with a term of the keys.
inline std::string ofKeys(int64_t n, int64_t m, int64_t dim, const std::string &table, const std::string &row,
                          const std::string &mask = "", const std::string &type = "f16") {
  return layer(sizes(n, m, dim, 16), ", table : " + table,
               "(content + einsum(\"b h j d, " + row + " d -> b h i j\", k, table, i = N)) * dim^-0.5", type, mask);
}
/// Returns a layer with rows by offset for queries and keys, and with rows that are added to the values.
inline std::string everything(int64_t n, int64_t dim, const std::string &type, const std::string &mask = "") {
  return "param N = " + std::to_string(n) + ", heads = 2, dim = " + std::to_string(dim) +
         "\nkernel layer(q, k, v : " + type + "[heads, N, dim], near, turned, far : " + type +
         "[2*N - 1, dim], few : " + type + "[9, dim], each : " + type + "[heads, N, dim], slope : f32[heads]) -> " +
         type + "[heads, N, dim] {\n  content = einsum(\"h i d, h j d -> h i j\", q, k)\n" +
         "  ofQuery = einsum(\"h i d, (j - i + N - 1) d -> h i j\", q, near, j = N)\n" +
         "  ofKey = einsum(\"h j d, (i - j + N - 1) d -> h i j\", k, turned, i = N)\n" +
         "  clamped = einsum(\"h i d, (clamp(j - i, -4, 4) + 4) d -> h i j\", q, few, j = N)\n" +
         "  weights = softmax((content + ofQuery + ofKey + clamped) * dim^-0.5 + alibi(slope)" + mask + ")\n" +
         "  return einsum(\"h i j, h j d -> h i d\", weights, v) + einsum(\"h i j, (j - i + N - 1) d -> h i d\", " +
         "weights, far) + einsum(\"h i j, h j d -> h i d\", weights, each)\n}\n";
}

inline GpuOptions tileOf(int64_t rows, int64_t keys, int64_t stages = 2, bool keepQueries = true) {
  GpuOptions options;
  options.rows = rows;
  options.keys = keys;
  options.stages = stages;
  options.keepQueries = keepQueries;
  return options;
}

/// A layer with every class of terms, and the tile that computes it.
struct Everything {
  int64_t n, dim;
  std::string mask;
  GpuOptions options;
};
/// Compares the layer in f16 and in f32 with the reference.
inline void expectEverything(const Everything &layer) {
  expectOnGpu(everything(layer.n, layer.dim, "f16", layer.mask), 2 * kHalf, layer.options);
  expectOnGpu(everything(layer.n, layer.dim, "f32", layer.mask), kWide, layer.options);
}
} // namespace skewer::testing
