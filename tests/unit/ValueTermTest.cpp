// Compares value terms with loops in double: windows, clamped and unclipped offsets, functions of offsets, axes of
// maps, tables of the key, and rows read for each pair; near the edges of tiles and blocks, under masks, on all
// targets.
#include "CpuKernelTesting.h"

using namespace skewer;
using namespace skewer::test;

namespace {

/// A term scale · R[row] of a table of `count` rows, one for each head if requested; nothing where the row is -1.
struct Term {
  std::string text, guard; // the row and the guard as index expressions
  std::function<int64_t(int64_t i, int64_t j)> row;
  int64_t count;
  std::string strategy;
  double scale = 1;
  bool aHead = false;
};

void fill(Layer &l, const std::vector<Term> &terms, double magnitude = 1) {
  std::mt19937 random(7);
  l.terms = contentTerm(l, 0.25);
  l.strategies = {"matmul"};
  for (size_t number = 0; number < terms.size(); ++number) {
    const Term &t = terms[number];
    std::string name = "r" + std::to_string(number);
    std::vector<int64_t> shape = {t.count, l.E};
    if (t.aHead)
      shape.insert(shape.begin(), l.H);
    l.tables.push_back({name, normal(random, shape)});
    for (float &value : l.tables.back().second.values)
      value *= magnitude;
    l.valueTerms += fmt::format("attn.term \"{}({}) e\" (%{}) scale {:e}{} : {}\n", t.aHead ? "h " : "", t.text, name,
                                t.scale, t.guard.empty() ? "" : " where \"" + t.guard + "\"", tensorType(shape, false));
    l.strategies.push_back(t.strategy);
  }
  l.score = [&l](int64_t b, int64_t h, int64_t i, int64_t j) { return 0.25 * content(l, b, h, i, j); };
  l.added = [&l, terms](int64_t h, int64_t i, int64_t j, int64_t e) {
    double sum = 0;
    for (size_t number = 0; number < terms.size(); ++number) {
      const Term &t = terms[number];
      if (int64_t row = t.row(i, j); row >= 0)
        sum += t.scale * l.tables[number].second.values[(row + (t.aHead ? h * t.count : 0)) * l.E + e];
    }
    return sum;
  };
}

Term window(int64_t W) {
  return {fmt::format("j - i + {}", W), fmt::format("abs(j - i) <= {}", W),
          [W](int64_t i, int64_t j) { return std::abs(j - i) <= W ? j - i + W : -1; }, 2 * W + 1, "diagonals"};
}
Term clamped(int64_t left, int64_t right) {
  return {fmt::format("clamp(j - i, {}, {}) + {}", -left, right, left), "",
          [=](int64_t i, int64_t j) { return std::clamp(j - i, -left, right) + left; }, left + right + 1, "diagonals"};
}
Term unclipped(int64_t N, int64_t M, int64_t sign) {
  return {sign > 0 ? fmt::format("j - i + {}", N - 1) : fmt::format("i - j + {}", M - 1), "",
          [=](int64_t i, int64_t j) { return sign > 0 ? j - i + N - 1 : i - j + M - 1; }, N + M - 1, "diagonals"};
}
Term distance(int64_t N, int64_t M) {
  return {"abs(j - i)", "", [](int64_t i, int64_t j) { return std::abs(j - i); }, std::max(N, M), "diagonals"};
}
Term ofPair() {
  return {"i*j mod 7", "(i + 2*j) mod 3 != 0",
          [](int64_t i, int64_t j) { return (i + 2 * j) % 3 ? i * j % 7 : int64_t(-1); }, 7, "read_for_each_pair"};
}

struct Size {
  int64_t N, M, E;
};
const std::vector<Size> kSizes = {{1, 1, 1}, {7, 7, 5}, {17, 64, 96}, {65, 33, 24}, {49, 49, 130}};

void checkAll(const Size &size, const std::vector<Term> &terms, const std::function<void(Layer &)> &change = {}) {
  Layer l = plain(size.N, size.M, 12, size.E);
  fill(l, terms);
  for (const Term &term : terms)
    if (term.count == 1 || (size.N == 1 && size.M == 1))
      l.strategies.clear(); // one row is the same for every key
  if (change)
    change(l);
  check(l);
}

TEST(ValueTerms, WindowsAtEverySize) {
  for (const Size &size : kSizes)
    checkAll(size, {window(4)});
  checkAll({40, 40, 32}, {window(50)}); // wider than the layer: rows that no pair reads
}

TEST(ValueTerms, ClampedAtEverySize) {
  for (const Size &size : kSizes)
    checkAll(size, {clamped(5, 3)});
  checkAll({70, 70, 16}, {clamped(0, 0)});
  checkAll({70, 70, 16}, {clamped(64, 8)});
}

TEST(ValueTerms, UnclippedOfBothSigns) {
  for (const Size &size : kSizes)
    for (int64_t sign : {1, -1})
      checkAll(size, {unclipped(size.N, size.M, sign)});
  checkAll({30, 600, 16}, {unclipped(30, 600, 1)}); // more offsets than one chain sums up
  checkAll({600, 600, 16}, {unclipped(600, 600, -1)});
}

TEST(ValueTerms, FunctionsOfTheOffset) {
  for (const Size &size : kSizes) {
    checkAll(size, {distance(size.N, size.M)});
    Term halves{fmt::format("(j - i + {}) floordiv 16", size.N - 1), "",
                [N = size.N](int64_t i, int64_t j) { return (j - i + N - 1) / 16; }, (size.N + size.M - 2) / 16 + 1,
                "diagonals"};
    checkAll(size, {halves});
  }
}

TEST(ValueTerms, OfEveryPair) {
  for (const Size &size : kSizes)
    checkAll(size, {ofPair()});
}

TEST(ValueTerms, SeveralWithScalesAndTablesAHead) {
  for (const Size &size : kSizes) {
    Term a = window(3), b = unclipped(size.N, size.M, 1), c = clamped(2, 7);
    a.scale = -0.5, a.aHead = true;
    b.aHead = true;
    c.scale = 2;
    checkAll(size, {a, b, c, ofPair()});
  }
}

TEST(ValueTerms, AddedToTheValues) {
  for (const Size &size : kSizes) {
    Term ofKey{"j", "", [](int64_t, int64_t j) { return j; }, size.M, "added_to_values", -1.5};
    ofKey.aHead = size.N % 2 == 0;
    checkAll(size, {ofKey, window(2)});
  }
}

TEST(ValueTerms, MasksAndGuards) {
  auto causal = [](Layer &l) {
    l.mask = "j <= i";
    l.visible = [](int64_t i, int64_t j) { return j <= i; };
  };
  auto near = [](Layer &l) {
    l.mask = "j - i <= 2 and i - j <= 9";
    l.visible = [](int64_t i, int64_t j) { return j - i <= 2 && i - j <= 9; };
  };
  auto scattered = [](Layer &l) {
    l.mask = "(i + j) mod 5 != 2 and j != 3";
    l.visible = [](int64_t i, int64_t j) { return (i + j) % 5 != 2 && j != 3; };
  };
  // Each term alone at one size, and all in one layer at the other.
  for (const auto &mask : std::vector<std::function<void(Layer &)>>{causal, near, scattered}) {
    auto terms = [](int64_t N) {
      return std::vector<Term>{window(4), clamped(5, 3), unclipped(N, N, 1), distance(N, N), ofPair()};
    };
    for (const Term &term : terms(131))
      checkAll({131, 131, 24}, {term}, mask);
    checkAll({7, 7, 5}, terms(7), mask);
  }
}

TEST(ValueTerms, ATableWithoutTheFuture) {
  for (int64_t N : {5, 64, 150}) {
    Term past{fmt::format("j - i + {}", N - 1), "", [N](int64_t i, int64_t j) { return j <= i ? j - i + N - 1 : -1; },
              N, "diagonals"};
    checkAll({N, N, 20}, {past}, [](Layer &l) {
      l.mask = "j <= i";
      l.visible = [](int64_t i, int64_t j) { return j <= i; };
    });
  }
}

TEST(ValueTerms, UnderEveryBlocking) {
  for (std::vector<int64_t> blocking : {std::vector<int64_t>{1, 1, 1}, {3, 2, 2}})
    for (bool causal : {false, true})
      for (const Term &term : {window(4), clamped(5, 3), unclipped(150, 150, 1), ofPair()})
        checkAll({150, 150, 40}, {term}, [&](Layer &l) {
          l.blocking = blocking;
          if (causal) {
            l.mask = "j <= i";
            l.visible = [](int64_t i, int64_t j) { return j <= i; };
          }
        });
}

TEST(ValueTerms, EveryTarget) {
  for (const char *target : {"x86-64-v2", "x86-64-v3"})
    for (const Term &term : {window(4), clamped(5, 3), unclipped(45, 45, 1), ofPair()})
      checkAll({45, 45, 20}, {term}, [&](Layer &l) { l.target = target; });
}

TEST(ValueTerms, AxesOfMapsOfEveryShape) {
  for (auto [height, width] : std::vector<std::array<int64_t, 2>>{{1, 1}, {5, 7}, {7, 5}, {14, 14}, {3, 40}, {40, 3}})
    for (int64_t blocks : {0, 1}) {
      int64_t H = height, W = width, N = H * W;
      Layer l = plain(N, N, 12, 24);
      l.space = "b h (iy ix) (jy jx)";
      l.queryAxes = "(iy ix)", l.keyAxes = "(jy jx)";
      l.sizes = fmt::format("{{iy = {0} : i64, ix = {1} : i64, jy = {0} : i64, jx = {1} : i64}}", H, W);
      // A row, a column, a clamped column, and a row of a table over both.
      fill(l, {{fmt::format("jy - iy + {}", H - 1), "", [=](int64_t i, int64_t j) { return j / W - i / W + H - 1; },
                2 * H - 1, "axis_sums"},
               {fmt::format("ix - jx + {}", W - 1), "", [=](int64_t i, int64_t j) { return i % W - j % W + W - 1; },
                2 * W - 1, "axis_sums", 0.5, true},
               {"clamp(jx - ix, -2, 1) + 2", "abs(jx - ix) <= 6",
                [=](int64_t i, int64_t j) {
                  int64_t offset = j % W - i % W;
                  return std::abs(offset) <= 6 ? std::clamp<int64_t>(offset, -2, 1) + 2 : -1;
                },
                4, "axis_sums"},
               {fmt::format("{0}*(jy - iy) + jx - ix + {1}", 2 * W - 1, (2 * W - 1) * (H - 1) + W - 1), "",
                [=](int64_t i, int64_t j) { return (2 * W - 1) * (j / W - i / W + H - 1) + j % W - i % W + W - 1; },
                (2 * H - 1) * (2 * W - 1), "read_for_each_pair"}});
      if (H == 1 || W == 1)
        l.strategies.clear(); // an axis of one element is in every class
      if (blocks)
        l.blocking = {1, 1, 1};
      check(l);
    }
}

TEST(ValueTerms, MaskedKeysCountForNothingWhereTablesHoldNaN) {
  for (std::string mask : {"j <= i", "j <= i and (i + j) mod 2 == 0"}) {
    int64_t N = 40;
    Term term = unclipped(N, N, 1);
    checkAll({N, N, 16}, {term}, [&](Layer &l) {
      bool odd = mask.size() > 6;
      l.mask = mask;
      l.visible = [odd](int64_t i, int64_t j) { return j <= i && (!odd || (i + j) % 2 == 0); };
      for (int64_t row = 0; row < 2 * N - 1; ++row)
        if (row > N - 1 || (odd && (row - (N - 1)) % 2))
          std::fill_n(l.tables[0].second.values.begin() + row * l.E, l.E, NAN);
    });
  }
}

TEST(ValueTerms, AVisibleNaNReachesItsRows) {
  checkAll({40, 40, 16}, {window(2)}, [](Layer &l) { l.tables[0].second.values[3 * 16 + 5] = NAN; });
}
} // namespace
