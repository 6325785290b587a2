// Compares terms in which a query or a key meets a row that positions pick with loops in double: every class of rows,
// on both sides, near the edges of tiles and blocks.
#include "CpuKernelTesting.h"

using namespace skewer;
using namespace skewer::test;

namespace {

/// A term scale · q_i·R[row] or scale · k_j·R[row]; it is absent where the row is -1.
struct Rows {
  bool keySide;
  std::string text, guard; // the row and the guard as index expressions
  std::function<int64_t(int64_t i, int64_t j)> row;
  int64_t count; // rows of the table
  std::string strategy;
  double scale = 0.25;
  bool aHead = false; // a table for each head
};

/// Adds the content, if requested, and the terms to a layer.
void fill(Layer &l, const std::vector<Rows> &terms, bool withContent = true) {
  std::mt19937 random(5);
  if (withContent) {
    l.terms = contentTerm(l, 0.25);
    l.strategies = {"matmul"};
  }
  for (size_t number = 0; number < terms.size(); ++number) {
    const Rows &t = terms[number];
    std::string name = "r" + std::to_string(number);
    std::vector<int64_t> shape = {t.count, l.D};
    if (t.aHead)
      shape.insert(shape.begin(), l.H);
    l.tables.push_back({name, normal(random, shape)});
    l.terms += fmt::format("attn.term \"b h {} d, {}({}) d\" (%{}, %{}) scale {:e}{} : {}, {}\n",
                           t.keySide ? l.keyAxes : l.queryAxes, t.aHead ? "h " : "", t.text, t.keySide ? "k" : "q",
                           name, t.scale, t.guard.empty() ? "" : " where \"" + t.guard + "\"",
                           tensorType(t.keySide ? l.k.shape : l.q.shape, true), tensorType(shape, false));
    l.strategies.push_back(t.strategy);
  }
  l.score = [&l, terms, withContent](int64_t b, int64_t h, int64_t i, int64_t j) {
    double sum = withContent ? 0.25 * content(l, b, h, i, j) : 0;
    for (size_t number = 0; number < terms.size(); ++number) {
      const Rows &t = terms[number];
      int64_t row = t.row(i, j);
      if (row >= 0)
        sum +=
            t.scale *
            (t.keySide
                 ? dot(l.k, (b * l.H + h) * l.M + j, l.tables[number].second, row + (t.aHead ? h * t.count : 0), l.D)
                 : dot(l.q, (b * l.H + h) * l.N + i, l.tables[number].second, row + (t.aHead ? h * t.count : 0), l.D));
    }
    return sum;
  };
}

std::string strategyOf(bool keySide) { return keySide ? "key_diagonals" : "offset_lines"; }

Rows clamped(bool keySide, int64_t left, int64_t right) {
  return {keySide,
          fmt::format("clamp(j - i, {}, {}) + {}", -left, right, left),
          "",
          [=](int64_t i, int64_t j) { return std::clamp(j - i, -left, right) + left; },
          left + right + 1,
          strategyOf(keySide)};
}
/// Returns a term that is zero outside a window; the row counts i - j.
Rows window(bool keySide, int64_t width) {
  return {keySide,
          fmt::format("i - j + {}", width),
          fmt::format("abs(j - i) <= {}", width),
          [=](int64_t i, int64_t j) { return std::abs(j - i) <= width ? i - j + width : -1; },
          2 * width + 1,
          strategyOf(keySide)};
}

TEST(RowTerm, ClampedOffsets) {
  for (auto [N, M, left, right] : std::vector<std::array<int64_t, 4>>{
           {7, 7, 2, 1}, {45, 45, 4, 3}, {100, 100, 64, 8}, {33, 130, 5, 90}, {130, 33, 100, 0}, {257, 257, 20, 60}})
    for (bool keySide : {false, true}) {
      Layer l = plain(N, M, 20, 16);
      fill(l, {clamped(keySide, left, right)});
      check(l);
    }
}

TEST(RowTerm, WindowsThatAreZeroOutside) {
  for (auto [N, width] : std::vector<std::array<int64_t, 2>>{{9, 1}, {50, 4}, {70, 40}, {200, 17}})
    for (bool keySide : {false, true}) {
      Layer l = plain(N, N, 24, 20);
      fill(l, {window(keySide, width)});
      check(l);
    }
}

/// Returns terms with logarithmic steps up, down and back again, and with steps of more than one row.
std::vector<Rows> buckets(bool keySide) {
  auto divide = [](int64_t x, int64_t y) { return (x >= 0 ? x : x - y + 1) / y; };
  std::string name = strategyOf(keySide);
  return {{keySide, "clamp((j - i) floordiv 3, -12, 12) + 12", "",
           [=](int64_t i, int64_t j) { return std::clamp<int64_t>(divide(j - i, 3), -12, 12) + 12; }, 25, name},
          {keySide, "12 - clamp((j - i) floordiv 2, -12, 12)", "",
           [=](int64_t i, int64_t j) { return 12 - std::clamp<int64_t>(divide(j - i, 2), -12, 12); }, 25, name},
          {keySide, "abs(j - i) floordiv 2", "", [](int64_t i, int64_t j) { return std::abs(j - i) / 2; }, 102, name},
          {keySide, "3*clamp(j - i, -20, 20) + 60", "",
           [](int64_t i, int64_t j) { return 3 * std::clamp<int64_t>(j - i, -20, 20) + 60; }, 121, name},
          {keySide, "(7*(j - i) + 700) mod 13", "j - i >= -50 and j - i <= 60",
           [](int64_t i, int64_t j) { return j - i >= -50 && j - i <= 60 ? (7 * (j - i) + 700) % 13 : -1; }, 13, name}};
}

// Tests each term alone at one size, and all terms in one layer at the other sizes.
TEST(RowTerm, Buckets) {
  for (bool keySide : {false, true}) {
    for (const Rows &rows : buckets(keySide)) {
      Layer l = plain(70, 70, 20, 16);
      fill(l, {rows});
      check(l);
    }
    for (int64_t N : {20, 150}) {
      Layer l = plain(N, N, 20, 16);
      fill(l, buckets(keySide));
      check(l);
    }
  }
}

TEST(RowTerm, BlocksOfRowsAndKeys) {
  for (std::vector<int64_t> blocking : std::vector<std::vector<int64_t>>{{1, 1, 1}, {2, 1, 3}, {3, 2, 1}, {5, 3, 2}})
    for (bool causal : {false, true}) {
      Layer l = plain(203, 203, 20, 16);
      l.blocking = blocking;
      if (causal) {
        l.mask = "j <= i";
        l.visible = [](int64_t i, int64_t j) { return j <= i; };
      }
      Rows query = clamped(false, 90, 100), key = clamped(true, 50, 9);
      query.aHead = key.aHead = true;
      query.scale = 0.5;
      fill(l, {query, key, window(false, 3), buckets(true)[2], buckets(false)[0]});
      check(l);
    }
}

TEST(RowTerm, EveryTarget) {
  for (const char *target : {"x86-64-v2", "x86-64-v3", "x86-64-v4"})
    for (bool keySide : {false, true}) {
      Layer l = plain(61, 83, 20, 12);
      l.target = target;
      fill(l, {clamped(keySide, 20, 30), window(keySide, 5), buckets(keySide)[2], buckets(keySide)[3]});
      check(l);
    }
}

TEST(RowTerm, WithoutAContent) {
  for (bool keySide : {false, true}) {
    Layer l = plain(40, 50, 12, 16);
    fill(l, {clamped(keySide, 8, 6)}, false);
    check(l);
  }
}

TEST(RowTerm, LargeLogitsAreSummedInChunks) {
  for (bool keySide : {false, true}) {
    Layer l = plain(60, 60, 64, 16);
    Rows rows = clamped(keySide, 10, 10);
    rows.scale = 1;
    fill(l, {rows});
    check(l);
  }
}

/// A row of a table holds NaN: queries that see a key which picks the row become NaN, and others do not.
TEST(RowTerm, NaNInARow) {
  for (bool keySide : {false, true}) {
    Layer l = plain(50, 50, 16, 16);
    l.mask = "j <= i";
    l.visible = [](int64_t i, int64_t j) { return j <= i; };
    fill(l, {clamped(keySide, 20, 20)});
    for (int64_t d = 0; d < 16; ++d) {
      l.tables[0].second.values[5 * 16 + d] = NAN;  // offset -15
      l.tables[0].second.values[23 * 16 + d] = NAN; // offset 3: never seen
    }
    check(l);
  }
}

TEST(RowTerm, MaskedKeysMayHoldNaN) {
  for (bool keySide : {false, true}) {
    Layer l = plain(40, 40, 16, 16);
    for (int64_t d = 0; d < 16; ++d)
      l.k.values[39 * 16 + d] = l.v.values[39 * 16 + d] = l.k.values[7 * 16 + d] = NAN;
    l.mask = "j <= i and j != 7";
    l.visible = [](int64_t i, int64_t j) { return j <= i && j != 7; };
    Rows any = {keySide, "(i*j) mod 7",
                "",      [](int64_t i, int64_t j) { return i * j % 7; },
                7,       keySide ? "gathered_keys" : "gathered_rows"};
    fill(l, {clamped(keySide, 9, 9), any});
    check(l);
  }
}

/// A mask that is no interval, with gathered rows: hidden keys stay hidden.
TEST(RowTerm, RowsThatAreFoundForEachPair) {
  for (auto [N, M] : std::vector<std::array<int64_t, 2>>{{5, 7}, {33, 33}, {50, 197}, {130, 61}})
    for (bool keySide : {false, true})
      for (std::vector<int64_t> blocking : std::vector<std::vector<int64_t>>{{}, {2, 1, 2}}) {
        Layer l = plain(N, M, 20, 16);
        l.blocking = blocking;
        l.mask = "(i + 2*j) mod 5 != 2";
        l.visible = [](int64_t i, int64_t j) { return (i + 2 * j) % 5 != 2; };
        std::string name = keySide ? "gathered_keys" : "gathered_rows";
        // A class token before maps of 7 columns and of 3, rational steps between them.
        auto map = [](int64_t i, int64_t j) {
          return i > 0 && j > 0 ? (3 * ((i - 1) / 7) - 7 * ((j - 1) / 3) + 700) / 3 : -1;
        };
        fill(l, {{keySide, "(3*((i - 1) floordiv 7) - 7*((j - 1) floordiv 3) + 700) floordiv 3", "i > 0 and j > 0", map,
                  300, name},
                 {keySide, "select((i mod 3) != (j mod 4), 1, 0)", "",
                  [](int64_t i, int64_t j) { return i % 3 != j % 4; }, 2, name}});
        check(l);
      }
}

TEST(RowTerm, AxesOfMaps) {
  // Heights and widths of the query map and the key map.
  for (auto [qh, qw, kh, kw] : std::vector<std::array<int64_t, 4>>{
           {6, 8, 3, 4}, {8, 8, 4, 4}, {7, 7, 3, 3}, {3, 40, 5, 20}, {40, 3, 17, 2}, {14, 14, 13, 13}})
    for (bool keySide : {false, true})
      for (std::vector<int64_t> blocking : std::vector<std::vector<int64_t>>{{}, {2, 1, 3}}) {
        Layer l = plain(qh * qw, kh * kw, 16, 16);
        l.blocking = blocking;
        l.space = "b h (iy ix) (jy jx)";
        l.queryAxes = "(iy ix)", l.keyAxes = "(jy jx)";
        l.sizes = fmt::format("{{iy = {} : i64, ix = {} : i64, jy = {} : i64, jx = {} : i64}}", qh, qw, kh, kw);
        std::string name = keySide ? "key_lines" : "axis_lines";
        auto floorOf = [](int64_t x, int64_t y) { return (x >= 0 ? x : x - y + 1) / y; };
        auto rational = [=](int64_t q, int64_t k, int64_t qn, int64_t kn) { return floorOf(q * kn - k * qn, kn) + qn; };
        Rows y = {keySide,
                  fmt::format("((iy*{1} - jy*{0}) floordiv {1}) + {0}", qh, kh),
                  "",
                  [=, kw = kw, qw = qw, qh = qh, kh = kh](int64_t i, int64_t j) {
                    return rational(i / qw, j / kw, qh, kh); },
                  2 * qh,
                  name};
        Rows x = {keySide,
                  fmt::format("((ix*{1} - jx*{0}) floordiv {1}) + {0}", qw, kw),
                  "ix != 2",
                  [=, kw = kw, qw = qw](int64_t i, int64_t j) {
                    return i % qw == 2 ? -1 : rational(i % qw, j % kw, qw, kw); },
                  2 * qw,
                  name};
        // Both axes of both maps at once.
        Rows both = {keySide,
                     fmt::format("(iy + 2*ix + 3*jy + 5*jx) mod 11"),
                     "",
                     [=, kw = kw, qw = qw](int64_t i, int64_t j) {
                       return (i / qw + 2 * (i % qw) + 3 * (j / kw) + 5 * (j % kw)) % 11;
                     },
                     11,
                     keySide ? "gathered_keys" : "gathered_rows"};
        x.scale = 1;
        fill(l, {y, x, both});
        check(l, 4e-6);
      }
}

/// Tests the offset from an axis of a query map to keys that are no map, and the other way round.
TEST(RowTerm, OffsetsBetweenAMapAndALine) {
  for (auto [height, width, M] : std::vector<std::array<int64_t, 3>>{{5, 9, 50}, {40, 3, 17}})
    for (bool keySide : {false, true}) {
      Layer l = plain(height * width, M, 16, 16);
      l.space = "b h (iy ix) j";
      l.queryAxes = "(iy ix)";
      l.sizes = fmt::format("{{iy = {} : i64, ix = {} : i64, j = {} : i64}}", height, width, M);
      fill(l, {{keySide, fmt::format("j - ix + {}", width), "",
                [width = width](int64_t i, int64_t j) { return j - i % width + width; }, M + width,
                keySide ? "key_lines" : "gathered_rows"}});
      check(l);
    }
  Layer l = plain(45, 40, 16, 16);
  l.space = "b h i (jy jx)";
  l.keyAxes = "(jy jx)";
  l.sizes = "{i = 45 : i64, jy = 5 : i64, jx = 8 : i64}";
  fill(l, {{false, "jx - i + 44", "", [](int64_t i, int64_t j) { return j % 8 - i + 44; }, 60, "axis_logits"},
           {true, "jx - i + 44", "", [](int64_t i, int64_t j) { return j % 8 - i + 44; }, 60, "gathered_keys"}});
  check(l, 4e-6);
}

/// Tests a square of rows for each pair of axes, as one table of two dimensions.
TEST(RowTerm, RowsOfTwoDimensions) {
  int64_t height = 4, width = 6;
  Layer l = plain(height * width, height * width, 16, 16);
  l.space = "b h (iy ix) (jy jx)";
  l.queryAxes = "(iy ix)", l.keyAxes = "(jy jx)";
  l.sizes = "{iy = 4 : i64, ix = 6 : i64, jy = 4 : i64, jx = 6 : i64}";
  Rows rows = {false, "jy - iy + 3) (jx - ix + 5",
               "",    [](int64_t i, int64_t j) { return (j / 6 - i / 6 + 3) * 11 + j % 6 - i % 6 + 5; },
               77,    "gathered_rows"};
  fill(l, {rows});
  std::string two = "tensor<7x11x16xf32>", one = "tensor<77x16xf32>";
  for (size_t at = l.terms.find(one); at != std::string::npos; at = l.terms.find(one))
    l.terms.replace(at, one.size(), two);
  l.tables[0].second.shape = {7, 11, 16};
  check(l);
}

} // namespace
