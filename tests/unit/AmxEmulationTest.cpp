// Tests the emulation of AMX against the manual's formulas, computed one number at a time by the processor's own FMA
// with MXCSR's bits for denormal numbers set; and against the instructions themselves where the processor has them.
#include "codegen/Amx/skewer_amx.h"
#include <algorithm>
#include <array>
#include <cfenv>
#include <cstring>
#include <functional>
#include <gtest/gtest.h>
#include <immintrin.h>
#include <random>
#include <string>
#include <sys/syscall.h>
#include <thread>
#include <unistd.h>
#include <vector>

namespace {

/// A matrix of 32-bit elements, in the layout of a tile.
struct Matrix {
  int rows, columns;
  std::vector<uint32_t> elements;
  Matrix(int rows, int columns) : rows(rows), columns(columns), elements(size_t(rows) * size_t(columns)) {}
  uint32_t &at(int row, int column) { return elements[size_t(row) * size_t(columns) + size_t(column)]; }
  uint32_t at(int row, int column) const { return elements[size_t(row) * size_t(columns) + size_t(column)]; }
  int64_t stride() const { return 4 * columns; }
};

/// Returns a configuration with tiles 0, 1, 2 of the shapes of sums, a, b, and tile 3 of one row of two elements.
skewer_amx_config shapes(const Matrix &sums, const Matrix &a, const Matrix &b) {
  skewer_amx_config config{};
  config.palette = 1;
  int tile = 0;
  for (const Matrix *matrix : {&sums, &a, &b}) {
    config.rows[tile] = uint8_t(matrix->rows);
    config.row_bytes[tile++] = uint16_t(matrix->stride());
  }
  config.rows[3] = 1;
  config.row_bytes[3] = 8;
  return config;
}

using Product = void(int32_t, int32_t, int32_t);

/// Returns sums + a·b by a function of the emulation.
Matrix emulated(Product *product, Matrix sums, const Matrix &a, const Matrix &b) {
  skewer_amx_config config = shapes(sums, a, b);
  skewer_amx_ldtilecfg(&config);
  skewer_amx_tileloadd(0, sums.elements.data(), sums.stride());
  skewer_amx_tileloadd(1, a.elements.data(), a.stride());
  skewer_amx_tileloaddt1(2, b.elements.data(), b.stride());
  product(0, 1, 2);
  skewer_amx_tilestored(0, sums.elements.data(), sums.stride());
  skewer_amx_tilerelease();
  return sums;
}

float floatOf(uint32_t bits) {
  float value;
  std::memcpy(&value, &bits, sizeof value);
  return value;
}
uint32_t bitsOf(float value) {
  uint32_t bits;
  std::memcpy(&bits, &value, sizeof bits);
  return bits;
}

/// Returns the manual's sums: f32 FMAs and additions that round to nearest and treat denormal numbers as 0.
__attribute__((target("fma"))) Matrix byFma(Matrix sums, const Matrix &a, const Matrix &b) {
  unsigned before = _mm_getcsr(), wanted = 0x9fc0; // all exceptions masked, FTZ, DAZ
  auto multiplyAdd = [](uint32_t x, uint32_t y, float &sum) __attribute__((target("fma"))) {
    asm volatile("vfmadd231ss %2, %1, %0" : "+x"(sum) : "x"(floatOf(x)), "x"(floatOf(y)));
  };
  auto add = [](float x, float y) __attribute__((target("fma"))) {
    asm volatile("vaddss %1, %0, %0" : "+x"(x) : "x"(y));
    return x;
  };
  asm volatile("ldmxcsr %0" ::"m"(wanted) : "memory");
  for (int m = 0; m < sums.rows; ++m)
    for (int n = 0; n < sums.columns; ++n) {
      float even = 0, odd = 0;
      for (int k = 0; k < b.rows; ++k) {
        multiplyAdd(a.at(m, k) << 16, b.at(k, n) << 16, even);
        multiplyAdd(a.at(m, k) & 0xffff0000, b.at(k, n) & 0xffff0000, odd);
      }
      sums.at(m, n) = bitsOf(add(floatOf(sums.at(m, n)), add(even, odd)));
    }
  asm volatile("ldmxcsr %0" ::"m"(before) : "memory");
  return sums;
}

/// Compares bits. Of NaN only the class counts with `anyNan`.
void expectEqual(const Matrix &found, const Matrix &expected, bool anyNan, const std::string &about) {
  for (int m = 0; m < found.rows; ++m)
    for (int n = 0; n < found.columns; ++n) {
      float x = floatOf(found.at(m, n)), y = floatOf(expected.at(m, n));
      if (!(anyNan && x != x && y != y))
        ASSERT_EQ(found.at(m, n), expected.at(m, n)) << about << ", row " << m << ", column " << n;
    }
}

/// The kinds of numbers of a test: bf16 exponents between two bounds, with a share of rare bit patterns.
struct Numbers {
  const char *name;
  int least, most; // biased exponents
  double rare;     // share of elements with any bits: infinities, NaN, denormal numbers
};
const Numbers kNumbers[] = {{"ordinary", 120, 134, 0},           {"of all sizes", 0, 254, 0},
                            {"tiny products", 58, 70, 0},        {"large products", 180, 194, 0},
                            {"with infinities", 120, 134, 0.02}, {"any bits", 0, 255, 1}};

class Random {
public:
  explicit Random(const Numbers &numbers) : numbers(numbers), engine(7) {}
  int between(int least, int most) { return std::uniform_int_distribution<int>(least, most)(engine); }
  /// Returns bf16 numbers, with rare infinities.
  uint32_t narrow() {
    uint32_t any = uint32_t(engine()) & 0xffff;
    if (std::uniform_real_distribution<>(0, 1)(engine) < numbers.rare)
      return between(0, 2) ? any : (any & 0x8000) | 0x7f80;
    return (any & 0x807f) | uint32_t(between(numbers.least, numbers.most)) << 7;
  }
  Matrix pairs(int rows, int columns) {
    Matrix matrix(rows, columns);
    for (uint32_t &element : matrix.elements)
      element = narrow() | narrow() << 16;
    return matrix;
  }
  /// Returns f32 of about the size of the products.
  Matrix sums(int rows, int columns) {
    Matrix matrix(rows, columns);
    int least = std::max(0, 2 * numbers.least - 127), most = std::min(254, 2 * numbers.most - 127);
    for (uint32_t &element : matrix.elements)
      element = (uint32_t(engine()) & 0x807fffff) | uint32_t(between(least, most)) << 23;
    return matrix;
  }

private:
  Numbers numbers;
  std::mt19937 engine;
};

void forRandomProducts(
    const std::function<void(const Matrix &, const Matrix &, const Matrix &, const std::string &)> &f) {
  for (const Numbers &numbers : kNumbers) {
    Random random(numbers);
    for (int round = 0; round < 60; ++round) {
      bool whole = round % 4 == 0; // all of the tiles
      int m = whole ? 16 : random.between(1, 16), k = whole ? 16 : random.between(1, 16);
      int n = whole ? 16 : random.between(1, 16);
      f(random.sums(m, n), random.pairs(m, k), random.pairs(k, n),
        std::string(numbers.name) + ", round " + std::to_string(round));
      if (testing::Test::HasFatalFailure())
        return;
    }
  }
}

TEST(AmxEmulation, Bf16ProductsAreThoseOfFma) {
  if (!__builtin_cpu_supports("fma"))
    GTEST_SKIP() << "the processor has no FMA";
  forRandomProducts([](const Matrix &sums, const Matrix &a, const Matrix &b, const std::string &about) {
    expectEqual(emulated(skewer_amx_tdpbf16ps, sums, a, b), byFma(sums, a, b), false, about);
  });
}

/// Returns 1 × 1 sums of pairs, from the bits of bf16: first elements, second elements of each pair. FMAs must agree.
uint32_t sumOf(uint32_t before, std::vector<std::array<uint32_t, 4>> pairs) {
  int depth = int(pairs.size());
  Matrix sums(1, 1), a(1, depth), b(depth, 1);
  sums.at(0, 0) = before;
  for (int k = 0; k < depth; ++k) {
    const auto &[x0, y0, x1, y1] = pairs[size_t(k)];
    a.at(0, k) = x0 | x1 << 16;
    b.at(k, 0) = y0 | y1 << 16;
  }
  uint32_t sum = emulated(skewer_amx_tdpbf16ps, sums, a, b).at(0, 0);
  if (__builtin_cpu_supports("fma"))
    EXPECT_EQ(sum, byFma(sums, a, b).at(0, 0));
  return sum;
}

// The bits of bf16 numbers.
constexpr uint32_t kOne = 0x3f80, kHalf = 0x3f00, kLarge = 0x7f00, kInfinity = 0x7f80, kZero = 0, kMinusZero = 0x8000,
                   kLeast = 0x0080, kDenormal = 0x007f;

TEST(AmxEmulation, EvenAndOddElementsHaveSumsOfTheirOwn) {
  const uint32_t small = 0x3380, minusOne = 0xbf80; // 2^-24, -1
  // 1 + 2^-24 - 1: the first 1 absorbs 2^-24 among the even elements; one of the odd elements keeps it.
  EXPECT_EQ(sumOf(0, {{kOne, kOne, 0, 0}, {small, kOne, 0, 0}, {minusOne, kOne, 0, 0}}), 0u);
  EXPECT_EQ(sumOf(0, {{kOne, kOne, 0, 0}, {0, 0, small, kOne}, {minusOne, kOne, 0, 0}}), 0x33800000u);
  // The sum so far is added last: 1 + (2^-24 + 2^-24) is not (1 + 2^-24) + 2^-24.
  EXPECT_EQ(sumOf(0x3f800000, {{small, kOne, small, kOne}}), 0x3f800001u);
}

TEST(AmxEmulation, ProductsAreNotRoundedBeforeTheyAreAdded) {
  // 1.9921875² = 3.968811…, exact in f32; (1 + 2^-7)·2^-24 + 1 is above the middle between 1 and the next f32.
  EXPECT_EQ(sumOf(0, {{0x3fff, 0x3fff, 0, 0}}), bitsOf(1.9921875f * 1.9921875f));
  EXPECT_EQ(sumOf(0, {{kOne, kOne, 0, 0}, {0x3f81, 0x3380, 0, 0}}), 0x3f800001u);
  EXPECT_EQ(sumOf(0, {{kOne, kOne, 0, 0}, {kOne, 0x3380, 0, 0}}), 0x3f800000u); // the middle: to even
}

TEST(AmxEmulation, DenormalNumbersAreZero) {
  EXPECT_EQ(sumOf(0, {{kDenormal, kLarge, 0, 0}}), 0u);
  EXPECT_EQ(sumOf(0x007fffff, {{0, 0, 0, 0}}), 0u); // the sum so far
  EXPECT_EQ(sumOf(0, {{kLeast, kHalf, 0, 0}}), 0u); // a denormal product
  EXPECT_EQ(sumOf(0, {{kLeast, kOne, 0, 0}}), 0x00800000u);
  // The two halves are 0 one after the other, although their sum is not.
  EXPECT_EQ(sumOf(0, {{kLeast, kHalf, kLeast, kHalf}}), 0u);
  EXPECT_EQ(sumOf(0, {{kDenormal, kInfinity, 0, 0}}), 0xffc00000u); // 0 × infinity
  // 2^-126 - 2^-150 has 24 bits and is denormal; 2^-126 - 2^-151 is rounded to 2^-126, which is not.
  EXPECT_EQ(sumOf(0, {{kLeast, kOne, 0, 0}, {kLeast, 0xb380, 0, 0}}), 0u);
  EXPECT_EQ(sumOf(0, {{kLeast, kOne, 0, 0}, {kLeast, 0xb300, 0, 0}}), 0x00800000u);
}

TEST(AmxEmulation, ZerosHaveSigns) {
  EXPECT_EQ(sumOf(0x80000000, {{kMinusZero, kOne, kMinusZero, kOne}}), 0u); // sums of pairs begin with +0
  EXPECT_EQ(sumOf(0x80000000, {{0, 0, 0, 0}}), 0u);
  EXPECT_EQ(sumOf(0xbf800000, {{kOne, kOne, 0, 0}}), 0u); // -1 + 1
  EXPECT_EQ(sumOf(0, {{kLeast | 0x8000, kHalf, kLeast | 0x8000, kHalf}}), 0u);
}

TEST(AmxEmulation, InfinitiesAndNan) {
  EXPECT_EQ(sumOf(0, {{kInfinity, kOne, 0, 0}}), 0x7f800000u);
  EXPECT_EQ(sumOf(0, {{kLarge, kLarge, 0, 0}}), 0x7f800000u); // overflow
  EXPECT_EQ(sumOf(0xff800000, {{kOne, kOne, 0, 0}}), 0xff800000u);
  EXPECT_EQ(sumOf(0xff800000, {{kInfinity, kOne, 0, 0}}), 0xffc00000u);
  EXPECT_EQ(sumOf(0, {{kInfinity, kOne, kInfinity | 0x8000, kOne}}), 0xffc00000u);
  EXPECT_EQ(sumOf(0, {{kInfinity, kZero, 0, 0}}), 0xffc00000u);
  EXPECT_EQ(sumOf(0, {{0x7f81, kOne, 0, 0}}), 0x7fc10000u); // a signalling NaN becomes quiet
  EXPECT_EQ(sumOf(0x7f800001, {{kOne, kOne, 0, 0}}), 0x7fc00001u);
}

TEST(AmxEmulation, RoundingModeAndFlagsOfTheThreadStay) {
  Matrix sums(1, 1), a(1, 1), b(1, 1);
  a.at(0, 0) = kOne | 0x3380u << 16;
  b.at(0, 0) = kOne | kHalf << 16;
  std::feclearexcept(FE_ALL_EXCEPT);
  std::fesetround(FE_UPWARD);
  uint32_t sum = emulated(skewer_amx_tdpbf16ps, sums, a, b).at(0, 0); // 1 + 2^-25
  int mode = std::fegetround(), flags = std::fetestexcept(FE_ALL_EXCEPT);
  std::fesetround(FE_TONEAREST);
  EXPECT_EQ(sum, 0x3f800000u);
  EXPECT_EQ(mode, FE_UPWARD);
  EXPECT_EQ(flags, 0);
}

TEST(AmxEmulation, ByteProducts) {
  struct Case {
    Product *product;
    bool signedA, signedB;
  };
  std::mt19937 random(3);
  for (const Case &c : {Case{skewer_amx_tdpbssd, true, true}, Case{skewer_amx_tdpbsud, true, false},
                        Case{skewer_amx_tdpbusd, false, true}, Case{skewer_amx_tdpbuud, false, false}})
    for (int round = 0; round < 20; ++round) {
      int m = 1 + int(random() % 16), k = 1 + int(random() % 16), n = 1 + int(random() % 16);
      Matrix sums(m, n), a(m, k), b(k, n);
      for (Matrix *matrix : {&sums, &a, &b})
        for (uint32_t &element : matrix->elements)
          element = uint32_t(random());
      Matrix expected = sums;
      auto number = [](uint32_t element, int part, bool isSigned) {
        int64_t value = element >> (8 * part) & 0xff;
        return isSigned && value > 127 ? value - 256 : value;
      };
      for (int i = 0; i < m; ++i)
        for (int j = 0; j < n; ++j) {
          int64_t sum = int32_t(sums.at(i, j));
          for (int d = 0; d < 4 * k; ++d)
            sum += number(a.at(i, d / 4), d % 4, c.signedA) * number(b.at(d / 4, j), d % 4, c.signedB);
          expected.at(i, j) = uint32_t(sum); // sums wrap around
        }
      expectEqual(emulated(c.product, sums, a, b), expected, false, "round " + std::to_string(round));
    }
}

/// The texts of faults while it lives.
class Faults {
public:
  Faults() : before(skewer_amx_on_fault(note)) { texts().clear(); }
  ~Faults() {
    skewer_amx_on_fault(before);
    skewer_amx_tilerelease();
  }
  /// Returns the fault since the last call, or "" if there was none.
  std::string taken() {
    std::string text = texts().empty() ? "" : texts().back();
    texts().clear();
    return text;
  }

private:
  static void note(const char *text) { texts().push_back(text); }
  static std::vector<std::string> &texts() {
    static std::vector<std::string> all;
    return all;
  }
  skewer_amx_fault_handler *before;
};

TEST(AmxEmulation, LoadsAndStoresMoveTheRowsOfATile) {
  Faults faults;
  skewer_amx_config config = shapes(Matrix(3, 5), Matrix(16, 16), Matrix(16, 16));
  skewer_amx_ldtilecfg(&config);
  std::vector<uint32_t> memory(64), stored(64, 9);
  for (size_t k = 0; k < memory.size(); ++k)
    memory[k] = uint32_t(k);
  skewer_amx_tileloadd(0, memory.data(), 28); // rows of five elements, seven apart
  skewer_amx_tilestored(0, stored.data(), 24);
  for (uint32_t k = 0; k < 18; ++k)
    EXPECT_EQ(stored[k], k % 6 < 5 ? k / 6 * 7 + k % 6 : 9) << k;
  EXPECT_EQ(stored[18], 9u);
  skewer_amx_tileloaddt1(0, memory.data() + 16, -32); // rows may go down
  skewer_amx_tilestored(0, stored.data(), 20);
  EXPECT_EQ(stored[0], 16u);
  EXPECT_EQ(stored[5], 8u);
  EXPECT_EQ(stored[10], 0u);
  skewer_amx_tilezero(0);
  skewer_amx_tilestored(0, stored.data(), 20);
  for (size_t k = 0; k < 15; ++k)
    EXPECT_EQ(stored[k], 0u);
  EXPECT_EQ(faults.taken(), "");
}

TEST(AmxEmulation, AConfigurationSetsAllTilesToZeroAndIsReadBack) {
  Faults faults;
  skewer_amx_config config = shapes(Matrix(16, 16), Matrix(16, 16), Matrix(16, 16)), found;
  std::vector<uint32_t> ones(256, 1);
  skewer_amx_ldtilecfg(&config);
  skewer_amx_sttilecfg(&found);
  EXPECT_EQ(std::memcmp(&found, &config, sizeof found), 0);
  skewer_amx_tileloadd(0, ones.data(), 64);
  skewer_amx_ldtilecfg(&config);
  skewer_amx_tilestored(0, ones.data(), 64);
  EXPECT_EQ(ones, std::vector<uint32_t>(256, 0));
  skewer_amx_tilerelease();
  skewer_amx_sttilecfg(&found);
  skewer_amx_config none{};
  EXPECT_EQ(std::memcmp(&found, &none, sizeof found), 0);
  EXPECT_EQ(faults.taken(), "");
}

TEST(AmxEmulation, AnInterruptedLoadGoesOnAtStartRow) {
  Faults faults;
  skewer_amx_config config = shapes(Matrix(3, 1), Matrix(1, 1), Matrix(1, 1));
  config.start_row = 2;
  std::vector<uint32_t> memory = {1, 2, 3}, stored(3, 9);
  skewer_amx_ldtilecfg(&config);
  skewer_amx_tileloadd(0, memory.data(), 4);
  skewer_amx_tilestored(0, stored.data(), 4);
  EXPECT_EQ(stored, (std::vector<uint32_t>{0, 0, 3}));
  skewer_amx_ldtilecfg(&config);
  skewer_amx_tileloadd(1, memory.data(), 4);
  EXPECT_EQ(faults.taken(), "tileloadd: start_row is 2, but tile 1 has 1 rows");
}

TEST(AmxEmulation, FaultsNameTheInstruction) {
  Faults faults;
  std::vector<uint32_t> memory(256, 5);
  skewer_amx_tilezero(0);
  EXPECT_EQ(faults.taken(), "tilezero: this thread has not configured its tiles");
  skewer_amx_config config = shapes(Matrix(4, 8), Matrix(4, 2), Matrix(2, 8));
  skewer_amx_ldtilecfg(&config);
  skewer_amx_tileloadd(4, memory.data(), 64);
  EXPECT_EQ(faults.taken(), "tileloadd: tile 4 has no configuration");
  skewer_amx_tilestored(8, memory.data(), 64);
  EXPECT_EQ(faults.taken(), "tilestored: there is no tile 8");
  EXPECT_EQ(memory, std::vector<uint32_t>(256, 5));
  skewer_amx_tdpbf16ps(0, 1, 1);
  EXPECT_EQ(faults.taken(), "tdpbf16ps: tiles 0, 1 and 1 are not three different ones");
  skewer_amx_tdpbssd(0, 2, 1);
  EXPECT_EQ(faults.taken(), "tdpbssd: 4 x 8 sums of 2 x 8 and 4 x 2 elements");
  skewer_amx_tdpbf16ps(3, 1, 2);
  EXPECT_EQ(faults.taken(), "tdpbf16ps: 1 x 2 sums of 4 x 2 and 2 x 8 elements");
  skewer_amx_tdpbf16ps(0, 1, 2);
  EXPECT_EQ(faults.taken(), "");

  config.row_bytes[3] = 6;
  skewer_amx_ldtilecfg(&config);
  skewer_amx_tileloaddt1(3, memory.data(), 64);
  EXPECT_EQ(faults.taken(), "tileloaddt1: tile 3 has rows of 6 bytes; expected a multiple of 4");
  skewer_amx_tilerelease();
  skewer_amx_tdpbusd(0, 1, 2);
  EXPECT_EQ(faults.taken(), "tdpbusd: this thread has not configured its tiles");
}

TEST(AmxEmulation, FaultsOfConfigurations) {
  Faults faults;
  const skewer_amx_config good = shapes(Matrix(4, 8), Matrix(4, 2), Matrix(2, 8));
  auto expectFault = [&](void (*spoil)(skewer_amx_config &), const std::string &text) {
    skewer_amx_config config = good;
    spoil(config);
    skewer_amx_ldtilecfg(&config);
    EXPECT_EQ(faults.taken(), text);
  };
  expectFault([](skewer_amx_config &config) { config.palette = 2; }, "ldtilecfg: there is no palette 2");
  expectFault([](skewer_amx_config &config) { config.reserved[13] = 1; }, "ldtilecfg: reserved bytes are not 0");
  expectFault([](skewer_amx_config &config) { config.no_rows[0] = 1; }, "ldtilecfg: reserved bytes are not 0");
  expectFault([](skewer_amx_config &config) { config.rows[1] = 17; },
              "ldtilecfg: tile 1 has 17 rows of 8 bytes; expected at most 16 of at most 64, or none");
  expectFault([](skewer_amx_config &config) { config.row_bytes[2] = 65; },
              "ldtilecfg: tile 2 has 2 rows of 65 bytes; expected at most 16 of at most 64, or none");
  expectFault([](skewer_amx_config &config) { config.rows[3] = 0; },
              "ldtilecfg: tile 3 has 0 rows of 8 bytes; expected at most 16 of at most 64, or none");
  // A refused configuration leaves what there was: nothing.
  skewer_amx_tilezero(0);
  EXPECT_EQ(faults.taken(), "tilezero: this thread has not configured its tiles");
}

TEST(AmxEmulation, EachThreadHasItsOwnTiles) {
  Faults faults;
  skewer_amx_config config = shapes(Matrix(1, 1), Matrix(1, 1), Matrix(1, 1));
  uint32_t seven = 7, found = 0;
  skewer_amx_ldtilecfg(&config);
  skewer_amx_tileloadd(0, &seven, 4);
  std::thread other([] { skewer_amx_tilezero(0); });
  other.join();
  EXPECT_EQ(faults.taken(), "tilezero: this thread has not configured its tiles");
  skewer_amx_tilestored(0, &found, 4);
  EXPECT_EQ(found, 7u);
}

TEST(AmxEmulationDeathTest, AFaultWithoutAHandlerEndsTheProcess) {
  EXPECT_DEATH(skewer_amx_tilezero(2), "skewer: AMX: tilezero: this thread has not configured its tiles");
}

/// Returns whether this process may execute AMX instructions.
__attribute__((target("xsave"))) bool hasAmx() {
  unsigned a, b, c, d;
  asm volatile("cpuid" : "=a"(a), "=b"(b), "=c"(c), "=d"(d) : "a"(7), "c"(0));
  if ((d >> 22 & 1) == 0 || (d >> 24 & 1) == 0 || (_xgetbv(0) & 0x60000) != 0x60000)
    return false;
  return syscall(SYS_arch_prctl, 0x1023 /* ARCH_REQ_XCOMP_PERM */, 18 /* tile data */) == 0;
}

__attribute__((target("amx-tile,amx-bf16"))) Matrix byInstructions(Matrix sums, const Matrix &a, const Matrix &b) {
  skewer_amx_config config = shapes(sums, a, b);
  _tile_loadconfig(&config);
  _tile_loadd(0, sums.elements.data(), size_t(sums.stride()));
  _tile_loadd(1, a.elements.data(), size_t(a.stride()));
  _tile_loadd(2, b.elements.data(), size_t(b.stride()));
  _tile_dpbf16ps(0, 1, 2);
  _tile_stored(0, sums.elements.data(), size_t(sums.stride()));
  _tile_release();
  return sums;
}

TEST(AmxEmulation, Bf16ProductsAreThoseOfTheProcessor) {
  if (!hasAmx())
    GTEST_SKIP() << "the processor has no AMX, or the system does not permit it";
  forRandomProducts([](const Matrix &sums, const Matrix &a, const Matrix &b, const std::string &about) {
    expectEqual(emulated(skewer_amx_tdpbf16ps, sums, a, b), byInstructions(sums, a, b), true, about);
  });
}

} // namespace
