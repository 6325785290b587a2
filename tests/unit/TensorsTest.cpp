// Tests the driver's tensors: sizes that do not overflow, numbers rounded to their type, memory that is aligned and
// guarded.
#include "tools/skewer/Tensors.h"
#include "StoredNumbers.h"
#include "tools/skewer/ThreadPool.h"
#include <atomic>
#include <cmath>
#include <gtest/gtest.h>
#include <numeric>
#include <random>

using namespace skewer;
using namespace skewer::driver;
using skewer::testing::decode;
using skewer::testing::encode;

namespace {
TEST(Shapes, ElementsAndTexts) {
  EXPECT_EQ(elementsOf({2, 3, 4}), 24);
  EXPECT_EQ(elementsOf({}), 1);
  EXPECT_EQ(elementsOf({5, 0, 7}), 0);
  EXPECT_FALSE(elementsOf({2, -1}));
  EXPECT_FALSE(elementsOf({int64_t(1) << 32, int64_t(1) << 31})) << "2^63 elements";
  EXPECT_EQ(textOf({2, 4, 196, 128}), "[2, 4, 196, 128]");
  EXPECT_EQ(textOf({}), "[]");
}

TEST(Numbers, EveryHalfIsItself) {
  for (ElementType type : {ElementType::F16, ElementType::BF16})
    for (uint32_t bits = 0; bits < 1 << 16; ++bits) {
      double value = decode(bits, type);
      if (std::isnan(value))
        EXPECT_TRUE(std::isnan(roundTo(type, value)));
      else
        ASSERT_EQ(roundTo(type, value), value) << nameOf(type) << " " << bits;
    }
}

TEST(Numbers, EveryNumberOf8BitsIsItself) {
  for (uint32_t bits = 0; bits < 1 << 8; ++bits) {
    double value = decode(bits, ElementType::F8E4M3);
    auto stored = static_cast<uint8_t>(bits);
    double read = unpack(ElementType::F8E4M3, &stored, 0);
    EXPECT_EQ(std::signbit(read), bits >> 7 != 0) << bits;
    if ((bits & 0x7f) == 0x7f) {
      EXPECT_TRUE(std::isnan(read) && std::isnan(value)) << bits;
      EXPECT_TRUE(std::isnan(roundTo(ElementType::F8E4M3, value))) << bits;
      continue;
    }
    EXPECT_EQ(read, value) << bits;
    EXPECT_EQ(roundTo(ElementType::F8E4M3, value), value) << bits;
    uint8_t packed = 0;
    pack(ElementType::F8E4M3, value, &packed);
    EXPECT_EQ(packed, bits);
  }
}

TEST(Numbers, NumbersOf8BitsAreTheNearestAndNeverInfinite) {
  // The middle of each two neighbours goes to the even one, a number next to the middle to the nearer one.
  for (uint32_t bits = 0; bits < 0x7e; ++bits) {
    double low = decode(bits, ElementType::F8E4M3), high = decode(bits + 1, ElementType::F8E4M3);
    double middle = (low + high) / 2;
    EXPECT_EQ(roundTo(ElementType::F8E4M3, middle), bits % 2 ? high : low) << bits;
    EXPECT_EQ(roundTo(ElementType::F8E4M3, -middle), bits % 2 ? -high : -low) << bits;
    EXPECT_EQ(roundTo(ElementType::F8E4M3, std::nextafter(middle, 0)), low) << bits;
    EXPECT_EQ(roundTo(ElementType::F8E4M3, std::nextafter(middle, 1e3)), high) << bits;
  }
  for (double large : {448.0, 463.9, 464.0, 465.0, 1e30, double(INFINITY)}) {
    EXPECT_EQ(roundTo(ElementType::F8E4M3, large), 448) << large;
    EXPECT_EQ(roundTo(ElementType::F8E4M3, -large), -448) << large;
  }
}

TEST(Numbers, RoundsToTheNearestAndTiesToEven) {
  std::mt19937 random(5);
  std::uniform_real_distribution<double> exponent(-30, 18), mantissa(-2, 2);
  for (ElementType type : {ElementType::F16, ElementType::BF16, ElementType::F32, ElementType::F8E4M3})
    for (int n = 0; n < 20000; ++n) {
      double value = mantissa(random) * std::exp2(std::floor(exponent(random)));
      ASSERT_EQ(roundTo(type, value), decode(encode(value, type), type)) << nameOf(type) << " " << value;
    }
  // Half-way between two neighbours, exactly.
  for (uint32_t bits = 0x3c00; bits < 0x3c40; ++bits) {
    double low = decode(bits, ElementType::F16), high = decode(bits + 1, ElementType::F16);
    EXPECT_EQ(roundTo(ElementType::F16, (low + high) / 2), bits % 2 ? high : low);
  }
  EXPECT_TRUE(std::isinf(roundTo(ElementType::F16, 65520)));
  EXPECT_EQ(roundTo(ElementType::F16, 65519), 65504);
  EXPECT_EQ(roundTo(ElementType::F16, -std::exp2(-25)), 0) << "half of the smallest number, to even";
  EXPECT_TRUE(std::signbit(roundTo(ElementType::BF16, -0.0)));
}

TEST(Numbers, PackingIsRounding) {
  std::vector<double> values = {0, -0.0, 1.0 / 3, -65504, 1e-7, 3.14159, 1e30, INFINITY, -INFINITY};
  for (ElementType type : {ElementType::F32, ElementType::F16, ElementType::BF16}) {
    std::vector<char> memory(values.size() * bytesOf(type) + 1, 'x');
    pack(type, values, memory.data());
    EXPECT_EQ(memory.back(), 'x') << "nothing is written behind";
    for (size_t n = 0; n < values.size(); ++n)
      EXPECT_EQ(unpack(type, memory.data(), int64_t(n)), roundTo(type, values[n])) << nameOf(type) << " " << values[n];
  }
  std::vector<double> indices = {0, -7, 2147483647, -2147483648.0};
  std::vector<int32_t> packed(4);
  pack(ElementType::I32, indices, packed.data());
  EXPECT_EQ(packed, (std::vector<int32_t>{0, -7, INT32_MAX, INT32_MIN}));
}

TEST(Buffers, AreAlignedAndZero) {
  for (size_t bytes : {size_t(0), size_t(1), size_t(63), size_t(64), size_t(4097)}) {
    Buffer buffer(bytes);
    EXPECT_EQ(buffer.size(), bytes);
    if (!bytes)
      continue;
    ASSERT_TRUE(buffer.data());
    EXPECT_EQ(reinterpret_cast<uintptr_t>(buffer.data()) % 64, 0u);
    const char *first = static_cast<const char *>(buffer.data());
    EXPECT_TRUE(std::all_of(first, first + bytes, [](char c) { return c == 0; }));
  }
}

TEST(BuffersDeathTest, AtAGuardPageNothingBehindIsTouched) {
  Buffer::endAtGuardPages(true);
  Buffer buffer(100, 4);
  Buffer::endAtGuardPages(false);
  ASSERT_TRUE(buffer.data());
  char *first = static_cast<char *>(buffer.data());
  EXPECT_EQ(reinterpret_cast<uintptr_t>(first) % 4, 0u);
  first[99] = 1;
  EXPECT_DEATH(first[100] = 1, "");
}

TEST(ThreadPool, ImmenseCountsAreSplitWithoutOverflow) {
  struct Ranges {
    std::atomic<int64_t> sum{0};
  } ranges;
  ThreadPool pool(3);
  pool.run(
      INT64_MAX,
      [](void *data, int64_t begin, int64_t end, int32_t) { static_cast<Ranges *>(data)->sum += end - begin; },
      &ranges);
  EXPECT_EQ(ranges.sum, INT64_MAX);
}
} // namespace
