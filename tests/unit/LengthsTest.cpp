// Compares one kernel for every length up to its bound with the float64 reference of the layer at that length.
#include "tests/unit/LengthLayers.h"

using namespace skewer;
using namespace skewer::driver;

namespace {
const std::string kPlain = R"(size N <= 257
kernel plain(q, k, v : f32[1, 2, N, 20]) -> f32[1, 2, N, 20] {
  weights = softmax(einsum("b h i d, b h j d -> b h i j", q, k) * 20^-0.5)
  return einsum("b h i j, b h j d -> b h i d", weights, v)
})";

} // namespace

TEST(Lengths, EveryOneOfAPlainLayer) {
  expectRight(kPlain, everyLengthTo(257), {"host"});
  expectRight(kPlain, lengthsOf(257), {"x86-64-v2", "x86-64-v3"});
}

// Tests the lengths between those of other tests: one by one, and pairs of them on a map.
TEST(Lengths, EveryOneOfAFewLayers) {
  const std::string begin = "size N <= 70\nkernel layer(q, k, v : f32[1, 2, N, 16]";
  for (auto [operands, scores] :
       {std::pair(", table : f32[2*N - 1, 16]",
                  "(s + einsum(\"b h i d, (j - i + N - 1) d -> b h i j\", q, table)) * 0.25 where j <= i"),
        {"", "s * (log(N + 1) / log(70) * 0.25) + exp(-abs(j - i) / N)"},
        {", t : f32[2, N, N]", "s * 0.25 + t[h, i, j]"}})
    expectRight(begin + operands + ") -> f32[1, 2, N, 16] {\n  s = einsum(\"b h i d, b h j d -> b h i j\", q, k)\n" +
                    "  return einsum(\"b h i j, b h j d -> b h i d\", softmax(" + scores + "), v)\n}",
                everyLengthTo(70), {"host"});
  std::vector<Sizes> all;
  for (int64_t height = 1; height <= 5; ++height)
    for (int64_t width = 1; width <= 17; ++width)
      all.push_back({{"H", height}, {"W", width}});
  expectRight(R"text(size H <= 16, W <= 17
kernel map(q, k, v : f32[1, 2, H*W, 16], y : f32[2*H - 1, 16], x : f32[2*W - 1, 16], t : f32[2, 2*H - 1, 2*W - 1])
    -> f32[1, 2, H*W, 16] {
  s = einsum("b h (iy ix) d, b h (jy jx) d -> b h (iy ix) (jy jx)", q, k, iy = H, jy = H) + rel2d(q, y, x, map = (H, W))
  w = softmax(s * 0.25 + t[h, jy - iy + H - 1, jx - ix + W - 1])
  return einsum("b h i j, b h j d -> b h i d", w, v)
})text",
              all, {"host"});
}

TEST(Lengths, OfTablesByTheOffset) {
  expectRight(R"(size N <= 150
kernel rel1d(q, k, v : f32[1, 2, N, 16], const table : f32[2*N - 1, 16]) -> f32[1, 2, N, 16] {
  content  = einsum("b h i d, b h j d -> b h i j", q, k)
  position = einsum("b h i d, (j - i + N - 1) d -> b h i j", q, table)
  return einsum("b h i j, b h j d -> b h i d", softmax((content + position) * 0.25), v)
})",
              lengthsOf(150), kTargets);
  expectRight(R"(size N <= 100
kernel reversed(q, k, v : f32[1, 2, N, 16], const table : f32[2, 2*N - 1, 16]) -> f32[1, 2, N, 16] {
  content  = einsum("b h i d, b h j d -> b h i j", q, k)
  position = einsum("b h i d, h (i - j + N - 1) d -> b h i j", q, table)
  return einsum("b h i j, b h j d -> b h i d", softmax((content + position) * 0.25), v)
})",
              lengthsOf(100), kTargets);
}

TEST(Lengths, OfTableRowsThatAreAddedToKeys) {
  CpuRequest strided;
  strided.strategies[2] = "strided_add";
  for (const char *row : {"j - i + N - 1", "i - j + N - 1"})
    for (const char *mask : {"", " where j <= i"})
      expectRight(fmt::format(R"(size N <= 150
kernel strided(q, k, v : f32[1, 2, N, 16], const table : f32[2, 2*N - 1, 16]) -> f32[1, 2, N, 16] {{
  content  = einsum("b h i d, b h j d -> b h i j", q, k)
  position = einsum("b h i d, h ({}) d -> b h i j", q, table)
  return einsum("b h i j, b h j d -> b h i d", softmax((content + position) * 0.25{}), v)
}})",
                              row, mask),
                  lengthsOf(150), kTargets, false, strided);
  std::vector<Sizes> all;
  for (int64_t queries : {1, 2, 7, 16, 17, 50})
    for (int64_t keys : {1, 3, 8, 15, 33, 64, 79, 80})
      all.push_back({{"M", queries}, {"N", keys}});
  expectRight(R"(size M <= 50, N <= 80
kernel cross(q : f32[2, M, 16], k, v : f32[2, N, 16], const table : f32[M + N - 1, 16]) -> f32[2, M, 16] {
  content  = einsum("h i d, h j d -> h i j", q, k)
  position = einsum("h i d, (j - i + M - 1) d -> h i j", q, table)
  return einsum("h i j, h j d -> h i d", softmax((content + position) * 0.25), v)
})",
              all, kTargets, false, strided);
}

namespace {
/// Writes the file of a machine of this level whose additions are free, so that long layers use "strided_add".
class AddingMachine {
public:
  explicit AddingMachine(llvm::StringRef level) {
    Machine machine = *llvm::find_if(knownMachines(), [&](const Machine &known) { return known.target.name == level; });
    machine.set("registers", 32, "made up");
    machine.set("fma_rate", 1, "made up");
    machine.set("own_add_rate", 2, "made up");
    EXPECT_FALSE(llvm::sys::fs::createTemporaryFile("adding", "json", path));
    std::error_code none;
    llvm::raw_fd_ostream(path, none) << textOf(machine);
  }
  ~AddingMachine() { llvm::sys::fs::remove(path); }
  const char *file() { return path.c_str(); }

private:
  llvm::SmallString<128> path;
};

/// Returns the length up to which a layer uses the schedule for short ones; 0 if it has none.
int64_t shortLengthOf(const std::string &text, const char *target) {
  auto compilation = Compilation::createFromText(text, "layer.attn", {}, *findTarget(target));
  auto scheduled = compilation->schedule(compilation->kernels.front());
  int64_t atMost = 0;
  scheduled->walk([&](attn::AttentionOp attention) {
    if (auto given = shortScheduleOf(attention))
      atMost = given->atMost;
  });
  return atMost;
}
} // namespace

std::string textOfRows(const char *row, int64_t bound) {
  return fmt::format(R"(size N <= {}
kernel both(q, k, v : f32[1, 2, N, 16], const table : f32[2*N - 1, 16]) -> f32[1, 2, N, 16] {{
  content  = einsum("b h i d, b h j d -> b h i j", q, k)
  position = einsum("b h i d, ({}) d -> b h i j", q, table)
  return einsum("b h i j, b h j d -> b h i d", softmax((content + position) * 0.25), v)
}})",
                     bound, row);
}

// Short layers use one schedule, long ones another: tests every length on both sides.
TEST(Lengths, OfTwoSchedules) {
  AddingMachine machine("x86-64-v3");
  std::string text = textOfRows("j - i + N - 1", 257);
  int64_t atMost = shortLengthOf(text, machine.file());
  EXPECT_GT(atMost, 16);
  EXPECT_LT(atMost, 200);
  expectRight(text, everyLengthTo(257), {machine.file()});
}

TEST(Lengths, OfTwoSchedulesOfWideAndNarrowVectors) {
  for (auto [level, bound] : {std::pair("x86-64-v2", 160), std::pair("x86-64-v4", 700)}) {
    AddingMachine machine(level);
    std::string text = textOfRows("i - j + N - 1", bound);
    int64_t atMost = shortLengthOf(text, machine.file());
    EXPECT_GT(atMost, 0) << level;
    std::vector<Sizes> all;
    for (int64_t length : {int64_t(1), int64_t(5), int64_t(32), int64_t(47), atMost - 1, atMost, atMost + 1,
                           int64_t(bound - 1), int64_t(bound)})
      all.push_back({{"N", length}});
    expectRight(text, all, {machine.file()});
  }
}

// With more queries than keys and with fewer, and with operations that finish the result in 16 bits.
TEST(Lengths, OfTwoSchedulesAcross) {
  const std::string text = R"(size M <= 200, N <= 90
kernel cross(q, g : f32[2, M, 16], k, v : bf16[2, N, 16], const table : f32[M + N - 1, 16]) -> bf16[2, M, 16] {
  content  = einsum("h i d, h j d -> h i j", q, k)
  position = einsum("h i d, (j - i + M - 1) d -> h i j", q, table)
  return einsum("h i j, h j d -> h i d", softmax((content + position) * 0.25), v) * sigmoid(g)
})";
  AddingMachine machine("x86-64-v2");
  int64_t atMost = shortLengthOf(text, machine.file());
  EXPECT_GT(atMost, 0);
  std::vector<Sizes> all;
  for (int64_t queries : {int64_t(1), int64_t(16), atMost, atMost + 1, int64_t(150), int64_t(200)})
    for (int64_t keys : {1, 15, 33, 79, 90})
      all.push_back({{"M", queries}, {"N", keys}});
  expectRight(text, all, {machine.file()});
}

// One schedule is enough if it is the best for most lengths; a requested one holds at all lengths.
TEST(Lengths, AreAllOfOneScheduleWhereThatIsBest) {
  auto rel1d = [](int64_t bound) {
    return fmt::format(R"(size N <= {}
kernel rel1d(q, k, v : f32[8, N, 64], const table : f32[2*N - 1, 64]) -> f32[8, N, 64] {{
  s = einsum("h i d, h j d -> h i j", q, k) + einsum("h i d, (j - i + N - 1) d -> h i j", q, table)
  return einsum("h i j, h j d -> h i d", softmax(s * 0.125), v)
}})",
                       bound);
  };
  int64_t atMost = shortLengthOf(rel1d(1024), "zen4");
  EXPECT_GE(atMost, 128); // measured: the two meet at some 190 queries
  EXPECT_LE(atMost, 256);
  EXPECT_EQ(shortLengthOf(rel1d(100), "zen4"), 0);
  EXPECT_EQ(shortLengthOf(rel1d(1024), "cascadelake"), 0) << "additions take the pipes of FMAs";
  EXPECT_EQ(shortLengthOf(kPlain, "zen4"), 0) << "no other strategy has won";
  auto pinned = Compilation::createFromText(rel1d(1024), "layer.attn", {}, *findTarget("zen4"));
  pinned->pinned.strategies[2] = "strided_add";
  auto scheduled = pinned->schedule(pinned->kernels.front());
  scheduled->walk([](attn::AttentionOp attention) { EXPECT_FALSE(shortScheduleOf(attention)); });
}

TEST(Lengths, OfBucketsAndLines) {
  expectRight(R"(size N <= 160
kernel t5(q, k, v : f32[1, 3, N, 16], const table : f32[32, 3]) -> f32[1, 3, N, 16] {
  content = einsum("b h i d, b h j d -> b h i j", q, k)
  return einsum("b h i j, b h j d -> b h i d", softmax(content * 0.25 + t5(table)), v)
})",
              lengthsOf(160), kTargets);
  expectRight(R"(size N <= 70
kernel line(q, k, v : f32[2, 3, N, 16], const table : f32[3, 2*N - 1]) -> f32[2, 3, N, 16] {
  content = einsum("b h i d, b h j d -> b h i j", q, k)
  bias = einsum("h (j - i + N - 1) -> h i j", table, j = N, i = N)
  return einsum("b h i j, b h j d -> b h i d", softmax(content * 0.25 + bias), v)
})",
              lengthsOf(70), kTargets);
}

TEST(Lengths, OfQueriesAndKeysApart) {
  std::vector<Sizes> all;
  for (int64_t queries : {1, 2, 7, 16, 17, 50})
    for (int64_t keys : {1, 3, 8, 15, 33, 64, 79, 80})
      all.push_back({{"M", queries}, {"N", keys}});
  expectRight(R"(size M <= 50, N <= 80
kernel cross(q : f32[2, 3, M, 16], k, v : f32[2, 3, N, 16]) -> f32[2, 3, M, 16] {
  content = einsum("b h i d, b h j d -> b h i j", q, k)
  return einsum("b h i j, b h j d -> b h i d", softmax(content * 0.25), v)
})",
              all, kTargets);
}

TEST(Lengths, BesideMasksAndRunTimeBatches) {
  std::vector<Sizes> all;
  for (int64_t length : {1, 5, 16, 31, 64, 90})
    all.push_back({{"batch", 1 + length % 3}, {"N", length}});
  expectRight(R"(size batch, N <= 90
kernel causal(q, k, v : f32[batch, N, 2, 16]) -> f32[batch, N, 2, 16] {
  content = einsum("b i h d, b j h d -> b h i j", q, k)
  return einsum("b h i j, b j h d -> b i h d", softmax(content * 0.25 where j <= i), v)
})",
              all, kTargets);
  expectRight(R"(size batch, N <= 90
kernel padded(q, k, v : f32[batch, 2, N, 16], lengths : i32[batch] in 0..90) -> f32[batch, 2, N, 16] {
  content = einsum("b h i d, b h j d -> b h i j", q, k)
  return einsum("b h i j, b h j d -> b h i d", softmax(content * 0.25 where j < lengths[b] and i - j < 20), v)
})",
              all, kTargets);
}

TEST(Lengths, OfOtherLayers) {
  const std::vector<Sizes> few = {{{"N", 1}}, {{"N", 7}}, {{"N", 40}}, {{"N", 65}}, {{"N", 120}}};
  for (const char *text : {
           R"(size N <= 120
kernel decode(q : bf16[3, 8, 1, 64], k, v : bf16[3, 2, N, 64]) -> f32[3, 8, 1, 64] {
  s = einsum("b (g r) i d, b g j d -> b (g r) i j", q, k) * 0.125
  return einsum("b (g r) i j, b g j d -> b (g r) i d", softmax(s), v)
})",
           R"(size N <= 120
kernel turned(q, k, v : f32[1, 2, N, 16]) -> (out : f32[1, 2, N, 16], lse : f32[1, 2, N]) {
  s = einsum("b h i d, b h j d -> b h i j", rope(q), rope(k)) * 0.25 where j <= i and i - j < 40
  return einsum("b h i j, b h j d -> b h i d", softmax(s), v), logsumexp(s)
})",
           R"(size N <= 120
kernel sigmoids(q, k, v : f32[2, 2, N, 12]) -> f32[2, 2, N, 12] {
  s = einsum("b h i d, b h j d -> b h i j", q, k) * 0.25
  return einsum("b h i j, b h j d -> b h i d", sigmoid(s) * (j <= i), v)
})",
           R"(size N <= 120
kernel clipped(q, k, v : f32[1, 2, N, 16], rows : f32[17, 16], slope : f32[2]) -> f32[1, 2, N, 16] {
  s = einsum("b h i d, b h j d -> b h i j", q, k) + einsum("b h i d, (clamp(j - i, -8, 8) + 8) d -> b h i j", q, rows)
  return einsum("b h i j, b h j d -> b h i d", softmax(s * 0.25 - slope[h] * abs(i - j)), v)
})"})
    expectRight(text, few, {"x86-64-v3", "host"});
  expectRight(R"(size H <= 20, W <= 30
kernel axial(q, k, v : f32[2, H, W, 2, 16]) -> f32[2, H, W, 2, 16] {
  s = einsum("b y x n d, b y u n d -> b y n x u", q, k) * 0.25
  return einsum("b y n x u, b y u n d -> b y x n d", softmax(s), v)
})",
              {{{"H", 1}, {"W", 1}}, {{"H", 20}, {"W", 3}}, {{"H", 3}, {"W", 30}}, {{"H", 7}, {"W", 17}}}, {"host"});
}

// The result is rounded, gated and reordered, a row at a time.
TEST(Lengths, OfResultsInFewerBits) {
  const std::vector<Sizes> few = {{{"N", 1}}, {{"N", 16}}, {{"N", 33}}, {{"N", 90}}};
  for (const char *type : {"f16", "bf16"})
    for (const char *result : {"o", "o * sigmoid(g)", "o + 1"}) {
      std::string tensor = std::string(type) + "[2, N, 3, 16]";
      std::string body = R"([2, N, 48] {
  s = einsum("b i h d, b j h d -> b h i j", q, k) * 0.25 + t[h, j - i + N - 1]
  o = einsum("b h i j, b j h d -> b i h d", softmax(s where j <= i), v)
  return rearrange()" + std::string(result) +
                         ", \"b i h d -> b i (h d)\")\n}";
      std::string gate = std::string(result).find('g') == std::string::npos ? "" : ", g";
      expectRight("size N <= 90\nkernel narrow(q, k, v" + gate + " : " + tensor + ", t : f32[3, 2*N - 1]) -> " + type +
                      body,
                  few, {"x86-64-v3", "host"});
    }
}

TEST(Lengths, OfLayersWithProjections) {
  expectRight(R"(size N <= 60
kernel whole(x : f32[2, N, 24], const w : f32[24, 3, 2, 12] ~ 0.2, const o : f32[2, 12, 24] ~ 0.2) -> f32[2, N, 24] {
  q = einsum("b n x, x h d -> b h n d", x, w[:, 0])
  k = einsum("b n x, x h d -> b h n d", x, w[:, 1])
  v = einsum("b n x, x h d -> b h n d", x, w[:, 2])
  weights = softmax(einsum("b h i d, b h j d -> b h i j", q, k) * 12^-0.5)
  return einsum("b h n d, h d x -> b n x", einsum("b h i j, b h j d -> b h i d", weights, v), o)
})",
              lengthsOf(60), kTargets);
}

TEST(Lengths, OfTheGenericPath) {
  expectRight(kPlain, {{{"N", 1}}, {{"N", 17}}, {{"N", 40}}, {{"N", 257}}}, {"host"}, /*unfused=*/true);
  expectRight(R"(size N <= 33
kernel sums(x : f32[2, N, 5]) -> (total : f32[2, 5], most : f32[2, 5], running : f32[2, N, 5]) {
  return einsum("b n d -> b d", x), max(x, axis = 1), cumsum(x, 1)
})",
              lengthsOf(33), {"host"});
  expectRight(R"(size N <= 33
kernel moved(x : f32[2, N, 6, 4]) -> (a : f32[2, N, 24], b : f32[24, N, 2], c : f32[2, N, 3]) {
  y = reshape(x, 2, N, 24) * 2 + 1
  return y, rearrange(y, "b n d -> d n b"), softmax(y[:, :, 3:6])
})",
              lengthsOf(33), {"host"});
}

// Rows of a window that begins after the last visible key.
TEST(Lengths, GivenByNobody) {
  expectRight(R"(param N = 90
size batch
kernel padded(q, k, v : f32[batch, 2, N, 16], lengths : i32[batch] in 0..90) -> f32[batch, 2, N, 16] {
  content = einsum("b h i d, b h j d -> b h i j", q, k)
  return einsum("b h i j, b h j d -> b h i d", softmax(content * 0.25 where j < lengths[b] and i - j < 20), v)
})",
              {{{"batch", 4}}}, kTargets);
}
