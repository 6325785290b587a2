// Runs layers whose queries, keys or values are stored in 8 bits, with scales, in the interpreter: kernels read them as
// they are, one byte an element, and the numbers are the float64 reference's.
#include "tests/unit/GpuLayers.h"
#include "tests/unit/LanguageTesting.h"

using namespace skewer;
using namespace skewer::testing;

namespace {

/// Checks that a program is one attention kernel, with another one behind it at most that joins parts, and no tensor
/// between kernels: keys and values are read as they are stored.
void expectReadInPlace(const GpuOutcome &outcome, const std::string &where) {
  for (const gpu::GpuLaunch &launch : outcome.program.launches)
    EXPECT_TRUE(launch.title == "attention" || launch.title == "join") << launch.title << "\n" << where;
  if (outcome.program.launches.size() == 1) {
    EXPECT_EQ(outcome.program.workspace.scaled + outcome.program.workspace.fixed, 0) << where;
  }
  EXPECT_GT(outcome.launch.rows, 0) << outcome.launch.note << "\n" << where;
}

GpuOptions on(const std::string &target, int64_t rows = 16, int64_t keys = 32, int64_t stages = 2) {
  GpuOptions options = tileOf(rows, keys, stages);
  options.target = target;
  return options;
}

//===- Conversions ----------------------------------------------------------------------===//

/// The result of attention to one key is that key's value, so that it shows every number of a type.
std::string everyNumber(const std::string &type, const std::string &product, const std::string &scale) {
  bool isScaled = !scale.empty();
  return "param N = 16, M = 20\nkernel every(q : " + product + "[N, 16], k : " + product + "[M, 16], v : " + type +
         "[M, 256]" + (isScaled ? ", s : f32[1]" : "") +
         ") -> f32[N, 256] {\n  score = einsum(\"i d, j d -> i j\", q, k)\n"
         "  return einsum(\"i j, j e -> i e\", softmax(score where j == 17), v" +
         scale + ")\n}\n";
}
TEST(GpuNarrowRows, EveryNumberOfEveryType) {
  for (ElementType type : {ElementType::F8E4M3, ElementType::I8})
    for (const char *product : {"f16", "bf16", "f32"})
      for (const char *target : {"sm_80", "sm_90a"})
        for (const char *scale : {"", " * s"}) {
          GpuOptions options = on(target);
          options.engine = "mma_sync";
          options.change = [&](const std::string &name, std::vector<double> &values) {
            for (size_t n = 0; n < values.size(); ++n)
              if (name == "v")
                values[n] = type == ElementType::I8 ? double(n % 256) - 128 : decode(uint32_t(n % 256), type);
              else if (name == "s")
                values[n] = 0.5; // which keeps every number
          };
          std::string text = everyNumber(nameOf(type), product, scale);
          GpuOutcome outcome = expectOnGpu(text, 1e-6, options);
          ASSERT_EQ(outcome.got.size(), 16u * 256u);
          for (size_t n = 0; n < outcome.got.size(); ++n) {
            double number = type == ElementType::I8 ? double(n % 256) - 128 : decode(uint32_t(n % 256), type);
            number *= *scale ? 0.5 : 1;
            double got = outcome.got[n]; // the sum of the weights is 1 up to rounding
            ASSERT_TRUE(std::isnan(number) ? std::isnan(got) : std::abs(number - got) <= 1e-6 * std::abs(number))
                << target << "\n"
                << text << n % 256 << ": " << outcome.got[n] << ", expected " << number;
          }
          bool converts = outcome.ir.find("nvvm.convert.f8x2.to.f16x2") != std::string::npos;
          EXPECT_EQ(converts, type == ElementType::F8E4M3 && target == std::string("sm_90a"));
        }
}

//===- Scales ---------------------------------------------------------------------------===//

struct Scales {
  const char *declared, *key, *value;
};
constexpr Scales kScales[] = {
    {"", "k", "v"},
    {", ks, vs : f32[1] ~ 0.3", "k * ks", "v * vs"},
    {", ks, vs : f32[heads] ~ 0.3", "k * ks[:, None, None]", "v * vs[:, None, None]"},
    {", ks, vs : f32[batch, heads, M] ~ 0.3", "k * ks[..., None]", "v * vs[..., None]"},
    {", ks, vs : bf16[batch, heads, M // 8] ~ 0.3", "einsum(\"b h j d, b h (j // 8) -> b h j d\", k, ks)",
     "einsum(\"b h j d, b h (j // 8) -> b h j d\", v, vs)"},
    {", ks, vs : f32[heads] ~ 0.6, kt, vt : f32[batch, M] ~ 0.6", "k * ks[:, None, None] * kt[:, None, :, None]",
     "v * vs[:, None, None] * vt[:, None, :, None]"}};

std::string scaled(const std::string &sizes, const std::string &query, const std::string &type, const Scales &scales,
                   const std::string &more = "", const std::string &mask = "", const std::string &result = "") {
  return "param " + sizes + "\nsize batch\nkernel scaled(q : " + query + "[batch, heads, N, dim], k : " + type +
         "[batch, heads, M, dim], v : " + type + "[batch, heads, M, width]" + scales.declared + more + ") -> " +
         (result.empty() ? query : result) +
         "[batch, heads, N, width] {\n  content = einsum(\"b h i d, b h j d -> b h i j\", q, " + scales.key +
         ") * (0.4 * dim^-0.5)\n  return einsum(\"b h i j, b h j e -> b h i e\", softmax(content" + mask + "), " +
         scales.value + ")\n}\n";
}
double toleranceOf(const std::string &query) { return query == "f16" ? kHalf : query == "bf16" ? kBrain : kWide; }

TEST(GpuNarrowRows, ScalesOfEveryKind) {
  unsigned number = 0;
  for (const char *type : {"f8e4m3", "i8"})
    for (const Scales &scales : kScales) {
      const char *query = std::array{"f16", "bf16", "f32"}[number++ % 3];
      Scales small = scales; // numbers up to 128 would make scores of thousands
      std::string key = "(" + std::string(scales.key) + ") * 0.02";
      small.key = type[0] == 'i' ? key.c_str() : scales.key;
      std::string text = scaled(sizes(40, 72, 16, 32), query, type, small, "", " where j <= i + 40");
      GpuOutcome outcome = expectOnEngines(text, toleranceOf(query), tileOf(64, 32));
      expectReadInPlace(outcome, text);
    }
}
/// Queries of 8 bits too: the products are of the result's type.
TEST(GpuNarrowRows, QueriesKeysAndValues) {
  for (const char *result : {"f16", "bf16", "f32"}) {
    Scales scales{", qs : f32[heads] ~ 0.3, ks, vs : f32[batch, heads, M] ~ 0.3", "k * ks[..., None]",
                  "v * vs[..., None]"};
    std::string text = scaled(sizes(40, 72, 32, 32), "f8e4m3", "f8e4m3", scales, "", "", result);
    text.replace(text.find("b h i j\", q,"), 12, "b h i j\", q * qs[:, None, None],");
    GpuOutcome outcome = expectOnEngines(text, toleranceOf(result), tileOf(64, 32));
    expectReadInPlace(outcome, text);
    bool isNarrow = result[0] != 'f' || result[1] != '3';
    EXPECT_EQ(outcome.ir.find("tf32") == std::string::npos, isNarrow);
  }
}
/// Scales of 16 bits are read as they are too, and an axis of one element does not matter.
TEST(GpuNarrowRows, ScalesOfSixteenBits) {
  for (const char *type : {"f16", "bf16"}) {
    std::string operands = std::string(type) + "[1, heads, N, dim]", scales = std::string(type) + "[1, heads, N]";
    std::string text = "param N = 40, heads = 2, dim = 16\nkernel narrow(q : " + operands +
                       ", k, v : f8e4m3[1, heads, N, dim], ks, vs : " + scales + " ~ 0.5) -> " + operands +
                       " {\n  s = einsum(\"b h i d, b h j d -> b h i j\", q, k * ks[..., None]) * dim^-0.5\n"
                       "  return einsum(\"b h i j, b h j d -> b h i d\", softmax(s), v * vs[..., None])\n}\n";
    expectReadInPlace(expectOnEngines(text, toleranceOf(type), tileOf(32, 16)), text);
  }
}
/// Queries of a batch of one lose that axis where the scales of keys go to them; they still are rows of an argument.
TEST(GpuNarrowRows, ABatchOfOne) {
  std::string text =
      "param N = 40, heads = 3, dim = 16\nkernel one(q, k, v : f8e4m3[1, heads, N, dim], qs, ks, vs : "
      "f32[heads] ~ 0.5) -> bf16[1, heads, N, dim] {\n  s = einsum(\"b h i d, b h j d -> b h i j\", q * "
      "qs[:, None, None], k * ks[:, None, None]) * dim^-0.5\n  return einsum(\"b h i j, b h j d -> b h i "
      "d\", softmax(s), v * vs[:, None, None])\n}\n";
  expectReadInPlace(expectOnEngines(text, kBrain, tileOf(32, 16)), text);
}
/// Rows that do not consist of whole chunks, wide ones, one row of scores, single buffers, parts of the columns.
TEST(GpuNarrowRows, EveryWidthAndTile) {
  unsigned number = 0;
  for (int64_t dim : {4, 12, 20, 24, 40, 64, 80, 128, 192})
    expectOnEngines(scaled(sizes(20, 70, dim, dim, 1), number++ % 2 ? "f16" : "bf16", "f8e4m3", kScales[3]), kBrain,
                    tileOf(16, 32));
  for (int64_t keys : {1, 7, 33, 65})
    expectOnEngines(
        scaled(sizes(3, keys, 16, 16, 1), "f16", "f8e4m3", kScales[4].declared[0] ? kScales[3] : kScales[0]), kHalf,
        tileOf(16, 32));
  expectOnGpu(scaled(sizes(70, 90, 128, 256, 1), "f16", "f8e4m3", kScales[3]), kHalf, tileOf(64, 32, 1, false));
  expectOnGpu(scaled(sizes(70, 90, 64, 64, 1), "f32", "f8e4m3", kScales[2]), kWide, tileOf(64, 32, 3));
  GpuOptions columns = tileOf(32, 16);
  columns.columns = 48;
  expectOnGpu(scaled(sizes(20, 40, 16, 112, 1), "bf16", "i8", {"", "k * 0.02", "v"}), kBrain, columns);
}
/// A scale of each column is no scale of rows: the keys are computed before, as everything is that a kernel cannot do.
TEST(GpuNarrowRows, OtherFactorsAreComputedBefore) {
  Scales columns{", ks : f32[heads, dim] ~ 0.3, vs : f32[heads, width] ~ 0.3", "k * ks[:, None]", "v * vs[:, None]"};
  GpuOutcome outcome = expectOnEngines(scaled(sizes(20, 40, 16, 16), "f16", "f8e4m3", columns), kHalf);
  EXPECT_EQ(outcome.program.launches.size(), 3u);
  // A shift of each key, and a scale of each group of columns.
  Scales shifted{", ks, kz : f32[batch, heads, M] ~ 0.3", "(k - kz[..., None]) * ks[..., None]", "v"};
  outcome = expectOnEngines(
      scaled(sizes(20, 40, 16, 16), "f16", "i8", {shifted.declared, "(k - kz[..., None]) * ks[..., None] * 0.02", "v"}),
      kHalf);
  EXPECT_EQ(outcome.program.launches.size(), 2u);
}
/// One cache is read by two attentions, as keys and as values of one attention, and by something else too.
TEST(GpuNarrowRows, CachesWithSeveralReaders) {
  std::string head = "param N = 20, M = 40, dim = 16\nsize batch\nkernel shared(q, r : f16[batch, N, dim], c : "
                     "f8e4m3[batch, M, dim], s : f32[batch, M] ~ 0.5) -> f16[batch, N, dim] {\n"
                     "  k = c * s[..., None]\n  a = softmax(einsum(\"b i d, b j d -> b i j\", q, k) * 0.2)\n"
                     "  b = softmax(einsum(\"b i d, b j d -> b i j\", r, k) * 0.2)\n";
  std::string text = head + "  return einsum(\"b i j, b j d -> b i d\", a, k)\n}\n";
  text.replace(text.find("  b = "), text.find("  return") - text.find("  b = "), "");
  text.replace(text.find("q, r :"), 6, "q :");
  expectReadInPlace(expectOnEngines(text, kHalf), text);
  expectOnEngines(
      head + "  return einsum(\"b i j, b j d -> b i d\", a, k) + einsum(\"b i j, b j d -> b i d\", b, k)\n}\n", kHalf);
  expectOnEngines(head + "  return einsum(\"b i j, b j d -> b i d\", a, k) + einsum(\"b i j, b j d -> b i d\", b, k) + "
                         "einsum(\"b j d -> b d\", k)[:, None] * 0.01\n}\n",
                  2 * kHalf);
}
TEST(GpuNarrowRows, ByRowsOfScores) {
  for (const Scales &scales : kScales) {
    GpuOptions options;
    options.fuse = false;
    expectOnGpu(scaled(sizes(20, 40, 16, 16), "f16", "f8e4m3", scales, "", " where j <= i"), kHalf, options);
  }
}

/// Values wider than a kernel of tiles takes: a thread for each element widens them, and a warp goes through a row.
TEST(GpuNarrowRows, ValuesTooWideForTiles) {
  GpuOutcome outcome =
      expectOnGpu(scaled(sizes(3, 5, 16, 1100, 1), "f16", "f8e4m3", kScales[3]), kHalf, tileOf(16, 16));
  EXPECT_NE(outcome.program.launches.back().note.find("1100 wide"), std::string::npos);
}
/// Threads convert the keys, and TMA copies the values beside them, in every order of warps.
TEST(GpuNarrowRows, BesideBoxes) {
  std::string text =
      "param N = 70, M = 90, heads = 2, dim = 32\nsize batch\nkernel mixed(q : bf16[batch, heads, N, dim], k : "
      "f8e4m3[batch, heads, M, dim], v : bf16[batch, heads, M, dim], ks : f32[batch, heads, M] ~ 0.5) -> "
      "bf16[batch, heads, N, dim] {\n  s = einsum(\"b h i d, b h j d -> b h i j\", q, k * ks[..., None]) * "
      "dim^-0.5\n  return einsum(\"b h i j, b h j d -> b h i d\", softmax(s where j <= i + 20), v)\n}\n";
  for (llvm::StringRef engine : {gpu::kWgmma, gpu::kWgmmaAhead}) {
    GpuOptions options = onWgmma(tileOf(64, 32, 3), engine);
    options.size = 1;
    options.copies = gpu::kTma.str();
    expectInEveryOrder(text, kBrain, options);
    expectReadInPlace(expectOnGpu(text, kBrain, options), text);
  }
}

//===- Layers of serving code -------------------------------------------------------------===//

std::string decode(const std::string &type, const std::string &declared, const std::string &key,
                   const std::string &value, const std::string &mask = "j <= n[b] - new + i") {
  return "param heads = 8, groups = 2, dim = 32, C = 150, new = 3\nsize batch\nkernel decode(q : bf16[batch, heads, "
         "new, "
         "dim], k, v : " +
         type + "[batch, groups, C, dim]" + declared +
         ", n : i32[batch] in new..C) -> bf16[batch, heads, new, dim] {\n"
         "  s = einsum(\"b h i d, b (h // 4) j d -> b h i j\", q, " +
         key +
         ") * dim^-0.5\n"
         "  return einsum(\"b h i j, b (h // 4) j d -> b h i d\", softmax(s where " +
         mask + "), " + value + ")\n}\n";
}
/// Heads that share keys are rows of one tile; elements behind a length are NaN.
TEST(GpuNarrowRows, DecodingWithGroupedHeads) {
  for (int64_t parts : {1, 3})
    for (const char *declared :
         {"", ", ks, vs : f32[1] ~ 0.5", ", ks, vs : f32[groups] ~ 0.5", ", ks, vs : f32[batch, groups, C] ~ 0.5"}) {
      std::string at = std::string(declared).find("batch") != std::string::npos    ? "[..., None]"
                       : std::string(declared).find("groups") != std::string::npos ? "[:, None, None]"
                                                                                   : "";
      std::string text =
          *declared ? decode("f8e4m3", declared, "k * ks" + at, "v * vs" + at) : decode("f8e4m3", "", "k", "v");
      GpuOptions options = on("sm_80", 16, 32);
      options.keyParts = parts;
      options.changeForKernel = [](const std::string &name, std::vector<double> &values) {
        if (name == "k" || name == "v") // of the last position, which `change` leaves out of every length
          for (size_t row = 149; row < values.size() / 32; row += 150)
            std::fill_n(values.begin() + long(row * 32), 32, NAN);
      };
      options.change = [](const std::string &name, std::vector<double> &values) {
        if (name == "n")
          for (double &value : values)
            value = std::min(value, 149.0);
      };
      expectReadInPlace(expectOnEngines(text, kBrain, options), text);
    }
}
TEST(GpuNarrowRows, PagesWithScales) {
  auto paged = [](const std::string &declared, const std::string &key, const std::string &value) {
    return "param heads = 4, groups = 2, dim = 32, page = 16, pages = 9, most = 6\nsize batch\nkernel paged(q : "
           "bf16[batch, "
           "groups, heads // groups, dim], k, v : f8e4m3[pages, page, groups, dim]" +
           declared +
           ", pick : i32[batch, most] in 0..pages - 1, n : i32[batch] in 1..most*page) -> bf16[batch, groups, heads // "
           "groups, dim] {\n  s = einsum(\"b g r d, (pick[b, p]) t g d -> b g r (p t)\", q, " +
           key +
           ", p = most) * dim^-0.5\n  w = softmax(s where p*page + t < n[b])\n"
           "  return einsum(\"b g r (p t), (pick[b, p]) t g d -> b g r d\", w, " +
           value + ", p = most)\n}\n";
  };
  for (int64_t keys : {16, 32}) // a tile in one page, and in two
    for (const std::string &text :
         {paged("", "k", "v"),
          paged(", ks, vs : f32[pages, page, groups] ~ 0.5", "k * ks[..., None]", "v * vs[..., None]"),
          paged(", ks, vs : f32[pages, groups] ~ 0.5", "k * ks[:, None, :, None]", "v * vs[:, None, :, None]")})
      expectReadInPlace(expectOnEngines(text, kBrain, on("sm_80", 16, keys)), text);
  // A scale of each head goes to the queries, which are few, in a kernel before the attention.
  std::string text = paged(", ks, vs : f32[groups] ~ 0.5", "k * ks[:, None]", "v * vs[:, None]");
  GpuOutcome outcome = expectOnEngines(text, kBrain, on("sm_80", 16, 32));
  ASSERT_EQ(outcome.program.launches.size(), 2u);
  EXPECT_GT(outcome.program.launches[1].rows, 0);
  EXPECT_EQ(outcome.program.workspace.scaled, 2 * 2 * 32 * 2); // the queries of a batch row, in bf16
  EXPECT_LT(outcome.program.workspace.fixed, 256);
}
/// Biases and tables beside rows of 8 bits; tables of 8 bits.
TEST(GpuNarrowRows, BesideOtherTerms) {
  std::string text = scaled(
      sizes(50, 70, 32, 32), "f16", "f8e4m3", kScales[3], ", slope : f32[heads], r : f8e4m3[N + M - 1, dim]",
      " + 0.1 * einsum(\"b h i d, (j - i + N - 1) d -> b h i j\", q, r, j = M) + alibi(slope) where j <= i + 30");
  expectOnEngines(text, 2 * kHalf, tileOf(64, 32));
  text = scaled(sizes(50, 70, 32, 32), "f16", "f8e4m3", kScales[3], ", r : i8[9, dim]",
                " + 0.001 * einsum(\"b h i d, (clamp(j - i, -4, 4) + 4) d -> b h i j\", q, r, j = M)");
  expectOnEngines(text, 2 * kHalf, tileOf(64, 32));
}

//===- Lengths --------------------------------------------------------------------------===//

TEST(GpuNarrowRows, LengthsAtRunTime) {
  for (const char *scales : {"", ", ks, vs : f32[heads] ~ 0.5", ", ks, vs : f32[batch, heads, N] ~ 0.5"}) {
    std::string at = !*scales                                                 ? ""
                     : std::string(scales).find("batch") != std::string::npos ? "[..., None]"
                                                                              : "[:, None, None]";
    std::string text =
        "param heads = 2, dim = 32\nsize batch\nsize N <= 130\nkernel layer(q : bf16[batch, heads, N, dim], k, v : "
        "f8e4m3[batch, heads, N, dim]" +
        std::string(scales) +
        ") -> bf16[batch, heads, N, dim] {\n"
        "  s = einsum(\"b h i d, b h j d -> b h i j\", q, k" +
        (*scales ? " * ks" + at : "") +
        ") * dim^-0.5\n  return einsum(\"b h i j, b h j d -> b h i d\", softmax(s where j <= i), v" +
        (*scales ? " * vs" + at : "") + ")\n}\n";
    for (const char *engine : {"mma_sync", "wgmma"}) {
      GpuOptions options = engine[0] == 'm' ? tileOf(64, 32) : onWgmma(tileOf(64, 32));
      GpuLayer layer(text);
      GpuOutcome lowered = layer.lower(options);
      ASSERT_TRUE(lowered.lowered) << lowered.messages << text;
      for (int64_t length : {1, 2, 31, 33, 64, 130}) {
        options.lengths = {{"N", length}};
        ++options.order;
        GpuOutcome outcome;
        layer.interpret(options, outcome);
        EXPECT_TRUE(outcome.report.faults.empty()) << outcome.report.text() << text << length;
        EXPECT_LE(outcome.error, kBrain) << text << length;
        expectReadInPlace(outcome, text);
      }
    }
  }
}

} // namespace
