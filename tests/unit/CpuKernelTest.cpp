// Compares fused CPU kernels with loops in double, over shapes near the edges of tiles, offsets of both signs, maps and
// masks.
#include "CpuKernelTesting.h"

using namespace skewer;
using namespace skewer::test;

namespace {

TEST(CpuKernel, PlainAttentionAtEverySize) {
  for (auto [N, M, D, E] : std::vector<std::array<int64_t, 4>>{{1, 1, 1, 1},
                                                               {7, 7, 3, 5},
                                                               {49, 49, 32, 32},
                                                               {16, 64, 16, 16},
                                                               {30, 197, 64, 64},
                                                               {65, 131, 80, 24},
                                                               {5, 300, 7, 130}}) {
    Layer l = plain(N, M, D, E);
    l.terms = contentTerm(l, 0.25);
    l.score = [&](int64_t b, int64_t h, int64_t i, int64_t j) { return 0.25 * content(l, b, h, i, j); };
    check(l);
  }
}

TEST(CpuKernel, EveryTarget) {
  for (const char *target : {"x86-64-v2", "x86-64-v3"}) {
    Layer l = plain(37, 45, 20, 12);
    l.target = target;
    l.terms = contentTerm(l, 0.25);
    l.score = [&](int64_t b, int64_t h, int64_t i, int64_t j) { return 0.25 * content(l, b, h, i, j); };
    check(l);
  }
}

TEST(CpuKernel, CausalAndWindows) {
  for (auto [N, low, high] : std::vector<std::array<int64_t, 3>>{
           {1, -9999, 0}, {45, -9999, 0}, {200, -9999, 0}, {130, -4, 4}, {130, -20, -3}, {77, 3, 9999}}) {
    Layer l = plain(N, N, 24, 20);
    l.terms = contentTerm(l, 0.3);
    l.mask = fmt::format("j - i <= {} and j - i >= {}", high, low);
    l.visible = [low = low, high = high](int64_t i, int64_t j) { return j - i >= low && j - i <= high; };
    l.score = [&](int64_t b, int64_t h, int64_t i, int64_t j) { return 0.3 * content(l, b, h, i, j); };
    check(l);
  }
}

TEST(CpuKernel, MaskedKeysMayHoldNaN) {
  Layer l = plain(40, 40, 16, 16);
  for (int64_t d = 0; d < 16; ++d) {
    l.k.values[39 * 16 + d] = NAN;
    l.v.values[39 * 16 + d] = NAN;
  }
  l.terms = contentTerm(l, 0.25);
  l.mask = "j <= i";
  l.visible = [](int64_t i, int64_t j) { return j <= i; };
  l.score = [&](int64_t b, int64_t h, int64_t i, int64_t j) { return 0.25 * content(l, b, h, i, j); };
  check(l);
  l.mask = "j <= i and j != 7";
  l.visible = [](int64_t i, int64_t j) { return j <= i && j != 7; };
  check(l);
}

TEST(CpuKernel, OffsetsOfBothSigns) {
  for (int64_t N : {1, 12, 45, 100, 257})
    for (int64_t sign : {1, -1}) {
      Layer l = plain(N, N, 20, 16);
      std::mt19937 random(3);
      l.tables.push_back({"r", normal(random, {2 * N - 1, 20})});
      l.terms =
          contentTerm(l, 0.25) + fmt::format("attn.term \"b h i d, ({} + {}) d\" (%q, %r) scale 2.5e-1 : {}, {}\n",
                                             sign > 0 ? "j - i" : "i - j", N - 1, tensorType(l.q.shape, true),
                                             tensorType({2 * N - 1, 20}, false));
      l.score = [&, sign](int64_t b, int64_t h, int64_t i, int64_t j) {
        return 0.25 * (content(l, b, h, i, j) +
                       dot(l.q, (b * l.H + h) * l.N + i, l.tables[0].second, sign * (j - i) + N - 1, 20));
      };
      check(l);
    }
}

TEST(CpuKernel, OffsetTableAHead) {
  int64_t N = 70;
  Layer l = plain(N, N, 16, 16);
  std::mt19937 random(3);
  l.tables.push_back({"r", normal(random, {l.H, 2 * N - 1, 16})});
  l.terms =
      contentTerm(l, 0.25) + fmt::format("attn.term \"b h i d, h (j - i + {}) d\" (%q, %r) scale 5.0e-1 : {}, {}\n",
                                         N - 1, tensorType(l.q.shape, true), tensorType({l.H, 2 * N - 1, 16}, false));
  l.score = [&](int64_t b, int64_t h, int64_t i, int64_t j) {
    return 0.25 * content(l, b, h, i, j) +
           0.5 * dot(l.q, (b * l.H + h) * N + i, l.tables[0].second, h * (2 * N - 1) + j - i + N - 1, 16);
  };
  check(l);
}

TEST(CpuKernel, CausalOffsetsOfATableWithoutTheFuture) {
  for (int64_t N : {5, 64, 150, 333}) {
    Layer l = plain(N, N, 16, 16);
    std::mt19937 random(3);
    l.tables.push_back({"r", normal(random, {N, 16})});
    l.mask = "j <= i";
    l.visible = [](int64_t i, int64_t j) { return j <= i; };
    l.terms =
        contentTerm(l, 0.25) + fmt::format("attn.term \"b h i d, (j - i + {}) d\" (%q, %r) scale 2.5e-1 : {}, {}\n",
                                           N - 1, tensorType(l.q.shape, true), tensorType({N, 16}, false));
    l.score = [&](int64_t b, int64_t h, int64_t i, int64_t j) {
      return 0.25 * (content(l, b, h, i, j) + dot(l.q, (b * l.H + h) * N + i, l.tables[0].second, j - i + N - 1, 16));
    };
    check(l);
  }
}

TEST(CpuKernel, MapsOfEveryShape) {
  for (auto [height, width] :
       std::vector<std::array<int64_t, 2>>{{1, 1}, {5, 7}, {7, 5}, {14, 14}, {3, 40}, {40, 3}, {8, 16}})
    for (int64_t sign : {1, -1}) {
      int64_t N = height * width;
      Layer l = plain(N, N, 16, 16);
      std::mt19937 random(3);
      l.space = "b h (iy ix) (jy jx)";
      l.queryAxes = "(iy ix)", l.keyAxes = "(jy jx)";
      l.sizes = fmt::format("{{iy = {0} : i64, ix = {1} : i64, jy = {0} : i64, jx = {1} : i64}}", height, width);
      l.tables.push_back({"rh", normal(random, {2 * height - 1, 16})});
      l.tables.push_back({"rw", normal(random, {2 * width - 1, 16})});
      auto term = [&](const char *axis, const char *name, int64_t extent) {
        return fmt::format("attn.term \"b h (iy ix) d, ({} + {}) d\" (%q, %{}) scale 1.0 : {}, {}\n",
                           sign > 0 ? fmt::format("j{0} - i{0}", axis) : fmt::format("i{0} - j{0}", axis), extent - 1,
                           name, tensorType(l.q.shape, true), tensorType({2 * extent - 1, 16}, false));
      };
      l.terms = contentTerm(l, 0.25) + term("y", "rh", height) + term("x", "rw", width);
      l.score = [&, sign, height = height, width = width](int64_t b, int64_t h, int64_t i, int64_t j) {
        int64_t row = (b * l.H + h) * l.N + i;
        return 0.25 * content(l, b, h, i, j) +
               dot(l.q, row, l.tables[0].second, sign * (j / width - i / width) + height - 1, 16) +
               dot(l.q, row, l.tables[1].second, sign * (j % width - i % width) + width - 1, 16);
      };
      check(l, 4e-6);
    }
}

TEST(CpuKernel, TermsOfNoClass) {
  int64_t N = 33;
  Layer l = plain(N, N, 16, 16);
  std::mt19937 random(3);
  l.tables.push_back({"t", normal(random, {l.H, 9})});
  l.tables.push_back({"full", normal(random, {N, N})});
  l.mask = "(i + j) mod 5 != 2";
  l.visible = [](int64_t i, int64_t j) { return (i + j) % 5 != 2; };
  l.terms = contentTerm(l, 0.25) +
            fmt::format("attn.term \"h (clamp(j - i, -4, 4) + 4)\" (%t) scale 5.0e-1 where \"abs(i - j) <= 20\" : {}\n"
                        "attn.term \"i j\" (%full) times \"j - i\" scale 1.0e-2 : {}\n",
                        tensorType({l.H, 9}, false), tensorType({N, N}, false));
  l.score = [&](int64_t b, int64_t h, int64_t i, int64_t j) {
    double bias =
        std::abs(i - j) <= 20 ? 0.5 * l.tables[0].second.values[h * 9 + std::clamp<int64_t>(j - i, -4, 4) + 4] : 0;
    return 0.25 * content(l, b, h, i, j) + bias + 0.01 * (j - i) * l.tables[1].second.values[i * N + j];
  };
  check(l);
}

TEST(CpuKernel, LargeScoresKeepTheirLastBits) {
  // Scores with a standard deviation of 10 and more: one chain of products has 5e-6 to 1e-5 of the largest output.
  for (const char *target : {"host", "x86-64-v3"})
    for (int64_t depth : {128, 129}) {
      Layer l = plain(300, 300, depth, 32, 11);
      l.target = target;
      l.terms = contentTerm(l, 1);
      l.score = [&](int64_t b, int64_t h, int64_t i, int64_t j) { return content(l, b, h, i, j); };
      check(l);
    }
}

TEST(CpuKernel, LargeTermsTogether) {
  int64_t N = 256, D = 64;
  Layer l = plain(N, N, D, 48, 5);
  std::mt19937 random(5);
  l.tables.push_back({"t", normal(random, {2 * N - 1, D})});
  l.terms = contentTerm(l, 1) + fmt::format("attn.term \"b h i d, (j - i + {}) d\" (%q, %t) scale 1.0 : {}, {}\n",
                                            N - 1, tensorType(l.q.shape, true), tensorType({2 * N - 1, D}, false));
  l.score = [&](int64_t b, int64_t h, int64_t i, int64_t j) {
    return content(l, b, h, i, j) + dot(l.q, (b * l.H + h) * N + i, l.tables[0].second, j - i + N - 1, D);
  };
  check(l);
}

TEST(CpuKernel, LargeScoresMayBeInfinite) {
  Layer l = plain(40, 40, 120, 16);
  for (int64_t row = 0; row < l.B * l.H * l.N; ++row)
    l.q.values[row * 120 + 3] = 1;
  for (int64_t head = 0; head < l.B * l.H; ++head) // a key that no query sees
    l.k.values[(head * l.M + 7) * 120 + 3] = -INFINITY;
  l.terms = contentTerm(l, 1);
  l.score = [&](int64_t b, int64_t h, int64_t i, int64_t j) { return content(l, b, h, i, j); };
  check(l);
}

TEST(CpuKernel, LargeBiasesOfOffsets) {
  // Every score has 3000, which leaves 12 bits after the point in f32. Slopes make blocks see different parts.
  int64_t N = 150;
  for (double slope : {0.0, -3.0, 2.0})
    for (bool causal : {false, true}) {
      Layer l = plain(N, N, 16, 16, 3);
      std::mt19937 random(3);
      Table t = normal(random, {l.H, 2 * N - 1});
      for (int64_t h = 0; h < l.H; ++h)
        for (int64_t r = 0; r < 2 * N - 1; ++r)
          t.values[h * (2 * N - 1) + r] += static_cast<float>(3000 + slope * std::abs(r - N + 1));
      l.tables.push_back({"t", t});
      if (causal) {
        l.mask = "j <= i";
        l.visible = [](int64_t i, int64_t j) { return j <= i; };
      }
      l.terms = contentTerm(l, 0.25) + fmt::format("attn.term \"h (j - i + {})\" (%t) scale 1.0 : {}\n", N - 1,
                                                   tensorType({l.H, 2 * N - 1}, false));
      l.score = [&](int64_t b, int64_t h, int64_t i, int64_t j) {
        return 0.25 * content(l, b, h, i, j) + l.tables[0].second.values[h * (2 * N - 1) + j - i + N - 1];
      };
      check(l);
    }
}

} // namespace
