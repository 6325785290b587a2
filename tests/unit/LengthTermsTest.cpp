// Tests terms and masks of layers with run-time lengths that the compiler computes in special ways: rows that positions
// pick, rows that are added to values, masks that are no interval, maps of any height.
#include "tests/unit/LengthLayers.h"

using namespace skewer;
using namespace skewer::driver;

namespace {
/// Makes a layer over q, k and v of two heads, with more operands and the given scores and result.
std::string layer(const std::string &operands, const std::string &scores, const std::string &result = "o",
                  int64_t bound = 90) {
  return "size N <= " + std::to_string(bound) + "\nkernel layer(q, k, v : f32[1, 2, N, 16]" + operands +
         ") -> f32[1, 2, N, 16] {\n  s = einsum(\"b h i d, b h j d -> b h i j\", q, k)\n  w = softmax(" + scores +
         ")\n  o = einsum(\"b h i j, b h j d -> b h i d\", w, v)\n  return " + result + "\n}";
}

/// Tests many lengths on this machine's vectors, and a few on others.
void expectRightHere(const std::string &text, int64_t bound = 90) {
  expectRight(text, lengthsOf(bound), {"host"});
  expectRight(text, {{{"N", 1}}, {{"N", 19}}, {{"N", 64}}, {{"N", bound}}}, {"x86-64-v3"});
}
} // namespace

TEST(LengthTerms, RowsThatPositionsPick) {
  // Shaw's clipped offsets, buckets of the query and of the key, segments of both, a window.
  const std::string seg = ", e : f32[2, 2, 16], seg : i32[1, N] in 0..1";
  expectRightHere(layer(", rows : f32[17, 16]", R"text((s + einsum("b h i d, (clamp(j - i, -8, 8) + 8) d -> b h i j",
      q, rows)) * 0.25)text"));
  expectRightHere(layer(", a, c : f32[2, 32, 16]", "(s + deberta(q, k, a, c, 16)) * 0.14"));
  expectRightHere(layer(seg, R"text((s + einsum("b h i d, h (seg[b, i] != seg[b, j]) d -> b h i j",
      q, e)) * 0.25)text"));
  expectRightHere(layer(seg, R"text((s + einsum("b h j d, h (seg[b, i] != seg[b, j]) d -> b h i j",
      k, e)) * 0.25)text"));
  expectRightHere(layer(", rows : f32[9, 16]", R"text((s + (einsum("b h i d, (j - i + 4) d -> b h i j", q, rows)
      if abs(j - i) <= 4 else 0)) * 0.25 where j <= i + 2)text"));
  // A table that grows with the length: the kernel reads only existing rows.
  expectRightHere(layer(", rows : f32[N, 16]", R"text((s + einsum("b h i d, (abs(j - i)) d -> b h i j",
      q, rows)) * 0.25)text"));
}

TEST(LengthTerms, NumbersOfAnyPair) {
  expectRightHere(layer(", t : f32[2, 8], c : i32[1, N] in 0..7", "s * 0.25 + t[h, (c[b, i] + c[b, j]) // 2]"));
  expectRightHere(layer(", t : f32[2, N, N]", "s * 0.25 + t[h, i, j] where j <= i"));
}

TEST(LengthTerms, RowsThatAreAddedToValues) {
  const char *clipped = R"text(o + einsum("b h i j, (clamp(j - i, -4, 4) + 4) d -> b h i d", w, rows))text";
  const char *window = R"text(o + einsum("b h i j, (j - i + 4) d -> b h i d", w, rows, where = abs(j - i) <= 4))text";
  const char *ofKey = R"text(o + einsum("b h i j, j d -> b h i d", w, rows))text";
  const char *whole = R"text(o + einsum("b h i j, (j - i + N - 1) d -> b h i d", w, rows))text";
  expectRightHere(layer(", rows : f32[9, 16]", "s * 0.25", clipped));
  expectRightHere(layer(", rows : f32[9, 16]", "s * 0.25 where j <= i and i - j < 30", clipped));
  expectRightHere(layer(", rows : f32[9, 16]", "s * 0.25", window));
  expectRightHere(layer(", rows : f32[N, 16]", "s * 0.25", ofKey));
  expectRightHere(layer(", rows : f32[2*N - 1, 16]", "s * 0.25", whole));
}

TEST(LengthTerms, MasksThatAreNoInterval) {
  // Chunks that divide the bound, and chunks that do not. With more than 192 keys, the live tiles are known.
  for (const char *mask : {"i // 16 == j // 16", "i // 18 == j // 18 and j <= i", "(i - j) % 3 == 0 and j <= i",
                           "abs(i // 16 - j // 16) <= 1 or j // 16 == 0", "j <= i or j < 20"})
    for (int64_t bound : {90, 288})
      expectRightHere(layer("", std::string("s * 0.25 where ") + mask, "o", bound), bound);
  expectRightHere(layer(", g : i32[1, N] in 0..1", "s * 0.25 where abs(i - j) <= 8 or g[b, i] == 1 or g[b, j] == 1"));
  expectRightHere(layer(", keep : i32[6, 6] in 0..1", "s * 0.25 where keep[i // 16, j // 16] == 1"));
}

// A map whose height is a length: rows and columns of a table, windows.
TEST(LengthTerms, MapsOfAnyHeight) {
  std::vector<Sizes> all;
  for (int64_t height : {1, 2, 3, 7, 15, 16})
    all.push_back({{"H", height}});
  const std::string map = R"text(param W = 13
size H <= 16
kernel map(q, k, v : f32[1, 2, H*W, 16], y : f32[2*H - 1, 16], x : f32[2*W - 1, 16]) -> f32[1, 2, H*W, 16] {
  s = einsum("b h (iy ix) d, b h (jy jx) d -> b h (iy ix) (jy jx)", q, k, ix = W, jx = W) + )text";
  const std::string end = R"text(
  return einsum("b h i j, b h j d -> b h i d", softmax(s * 0.25), v)
})text";
  expectRight(map + "decomposed(q, y, x, map = (H, W))" + end, all, kTargets);
  expectRight(map + "rel2d(q, y, x, map = (H, W))" + end, all, kTargets);
  expectRight(map + "rel2d(q, y, x, map = (H, W)) where abs(jy - iy) <= 2 and abs(jx - ix) <= 3" + end, all,
              {"x86-64-v3", "host"});
}

// A map whose two sides are lengths: rows of tables along its axes, numbers for its offsets, in one block of keys and
// in blocks that begin anywhere in a row of the map.
TEST(LengthTerms, MapsOfAnyHeightAndWidth) {
  std::vector<Sizes> all;
  for (auto [height, width] : {std::pair(1, 1), {1, 24}, {20, 1}, {3, 5}, {2, 16}, {7, 17}, {11, 8}, {20, 24}})
    all.push_back({{"H", height}, {"W", width}});
  const std::vector<Sizes> few = {{{"H", 1}, {"W", 24}}, {{"H", 7}, {"W", 17}}, {{"H", 20}, {"W", 1}}};
  auto expectRightOnMaps = [&](const std::string &operands, const std::string &scores, const std::string &strategy,
                               bool everywhere = false) {
    std::string text = "size H <= 20, W <= 24\nkernel map(q, k, v : f32[1, 2, H*W, 16]" + operands +
                       R"text() -> f32[1, 2, H*W, 16] {
  s = einsum("b h (iy ix) d, b h (jy jx) d -> b h (iy ix) (jy jx)", q, k, iy = H, jy = H) + )text" +
                       scores + R"text(
  return einsum("b h i j, b h j d -> b h i d", softmax(s * 0.25), v)
})text";
    CpuRequest here;
    here.strategies[2] = strategy; // the chosen strategy: otherwise this would test other code
    expectRight(text, everywhere ? all : few, {"host"}, false, here);
    if (!everywhere)
      return;
    expectRight(text, few, {"x86-64-v2"}, false, here);
    here.keyBlock = 96;
    expectRight(text, few, {"x86-64-v3"}, false, here);
  };
  const std::string tables = ", y : f32[2*H - 1, 16], x : f32[2*W - 1, 16]";
  expectRightOnMaps(tables, "rel2d(q, y, x, map = (H, W))", "axis_lines", true);
  expectRightOnMaps(", y : f32[7, 16]", "einsum(\"b h (iy ix) d, (clamp(iy - jy, -3, 3) + 3) d -> b h (iy ix) (jy jx)\", q, y, iy = H, jy = H, jx = W)",
                    "axis_lines");
  expectRightOnMaps(", t : f32[(2*H - 1)*(2*W - 1), 2]", "t[(iy - jy + H - 1)*(2*W - 1) + ix - jx + W - 1, h]",
                    "difference_line", true);
  expectRightOnMaps(", t : f32[2, H*W]", "t[h, abs(iy - jy)*W + abs(ix - jx)]", "difference_line");
  expectRightOnMaps(", y : f32[2, 2*H - 1], x : f32[2, 2*W - 1]",
                    "y[h, jy - iy + H - 1] + x[h, jx - ix + W - 1]", "difference_line");
  expectRightOnMaps(", g : f32[1, 2, H*W], t : f32[2, 2*H - 1, 2*W - 1]",
                    "g[b, h, iy*W + ix] * t[h, jy - iy + H - 1, jx - ix + W - 1]", "difference_line");
}

// Numbers of pairs, with the keys of a query next to each other: they are read in place, and never after the last one.
TEST(LengthTerms, RowsOfNumbersThatLieALengthApart) {
  for (const char *type : {"f32", "bf16"})
    for (auto [shape, index] : {std::pair("2, N, N", "h, i, j"), {"1, 2, N, N", "b, h, i, j"}, {"N + 3, N + 1", "i + 3, j + 1"}})
      for (const char *mask : {"", " where j <= i"}) {
        std::string operand = std::string(", t : ") + type + "[" + shape + "]";
        expectRightHere(layer(operand, std::string("s * 0.25 + t[") + index + "]" + mask));
      }
  expectRightHere(layer(", t : f32[2, N, N], g : f32[1, 2, N]", "s * 0.25 + g[b, h, i] * t[h, i, j]"));
  std::vector<Sizes> all;
  for (int64_t queries : {1, 2, 17, 50})
    for (int64_t keys : {1, 15, 33, 64, 79, 80})
      all.push_back({{"M", queries}, {"N", keys}});
  for (auto [shape, index] : {std::pair("2, M, N", "h, i, j"), {"2, M + N, N", "h, i + N, j"}})
    expectRight(std::string(R"text(size M <= 50, N <= 80
kernel cross(q : f32[2, M, 16], k, v : f32[2, N, 16], t : f32[)text") + shape + R"text(]) -> f32[2, M, 16] {
  s = einsum("h i d, h j d -> h i j", q, k) * 0.25 + t[)text" + index + R"text(]
  return einsum("h i j, h j d -> h i d", softmax(s), v)
})text",
                all, {"x86-64-v3", "host"});
}

// A cache and new tokens, tokens before and after, two lengths in one dimension; stored, packed and returned.
TEST(LengthTerms, PartsOneBehindTheOther) {
  std::vector<Sizes> all;
  for (int64_t cached : {1, 15, 16, 47, 80})
    for (int64_t queries : {1, 3, 40})
      all.push_back({{"C", cached}, {"M", queries}});
  expectRight(R"text(size C <= 80, M <= 40
kernel cached(q, kn, vn : f32[1, 2, M, 16], kc, vc : f32[1, 2, C, 16])
    -> (o : f32[1, 2, M, 16], k : f32[1, 2, C + M, 16]) {
  k = concat(kc, kn, dim = 2)
  s = einsum("b h i d, b h j d -> b h i j", q, k) * 0.25 where j <= i + C
  return einsum("b h i j, b h j d -> b h i d", softmax(s), concat(vc, vn, dim = 2)), k
})text",
              all, {"x86-64-v3", "host"});
  expectRightHere(R"text(size N <= 90
kernel step(q : f32[1, 4, 1, 16], kc, vc : bf16[1, 2, N, 16], kn, vn : bf16[1, 2, 1, 16]) -> f32[1, 4, 1, 16] {
  s = einsum("b (g r) i d, b g j d -> b g r i j", q, concat(kc, kn, dim = 2), g = 2) * 0.25
  return einsum("b g r i j, b g j d -> b (g r) i d", softmax(s), concat(vc, vn, dim = 2))
})text");
  expectRightHere(R"text(size N <= 90
kernel tokens(x : f32[2, N, 24], first, last : f32[24], const w : f32[24, 72] ~ 0.2) -> f32[2, N + 2, 24] {
  qkv = einsum("b n c, c e -> b n e", concat(first, x, last, dim = 1), w)
  (q, k, v) = rearrange(qkv, "b n (3 h d) -> 3 b h n d", h = 2)
  s = einsum("b h i d, b h j d -> b h i j", q, k) * 12^-0.5
  return einsum("b h i j, b h j d -> b i (h d)", softmax(s where j > 0 or i == 0 or j == N), v)
})text");
}
