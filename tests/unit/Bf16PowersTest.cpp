// Tests powers that are rounded to bf16: their errors, their ends, and the order of the two vectors.
#include "passes/Emit/Bf16Powers.h"
#include "EmittedTesting.h"
#include "passes/Emit/IntegerLanes.h"
#include <cmath>

using namespace skewer;
using skewer::testing::runEmitted;

namespace {
constexpr float kOne = 127 * 128; // the number whose power is 1

/// Returns the powers of numbers, in the order of the numbers; nothing on a machine without the instructions.
std::vector<float> powersOf(std::vector<float> numbers) {
  constexpr int64_t kLanes = 16;
  if (hostTarget().lanes != kLanes || !hasFeature(hostTarget(), "avx512vbmi"))
    return {};
  while (numbers.size() % (2 * kLanes))
    numbers.push_back(0);
  std::vector<int32_t> bits(numbers.size());
  std::memcpy(bits.data(), numbers.data(), bits.size() * 4);
  std::vector<float> packed = runEmitted(
      int64_t(numbers.size() / 2),
      [&](VectorBuilder &b, mlir::Value out) {
        mlir::Value table = integerTable(b, bits), mask = maskOfLowBytes(b);
        b.loop(b.index(0), b.index(int64_t(numbers.size())), 2 * kLanes, [&](mlir::Value n) {
          auto load = [&](mlir::Value at) -> mlir::Value {
            return mlir::arith::BitcastOp::create(b.builder, b.vector, loadIntegers(b, table, at));
          };
          b.store(bf16Powers(b, mask, load(n), load(b.add(n, kLanes))), out, b.divide(n, 2));
        });
      },
      "host");
  std::vector<uint16_t> halves(numbers.size());
  std::memcpy(halves.data(), packed.data(), halves.size() * 2);
  std::vector<float> powers(numbers.size());
  for (size_t place = 0; place < halves.size(); ++place) {
    size_t inVector = place % (2 * kLanes), quarter = inVector / 8, second = inVector % 8 / 4;
    uint32_t word = uint32_t(halves[place]) << 16;
    std::memcpy(&powers[place - inVector + second * kLanes + quarter * 4 + inVector % 4], &word, 4);
  }
  return powers;
}

TEST(Bf16Powers, AreRightToTheirDigits) {
  std::vector<float> numbers;
  for (float x = 128; x < 2 * kOne; x += 0.37f)
    numbers.push_back(x);
  std::vector<float> powers = powersOf(numbers);
  if (powers.empty())
    GTEST_SKIP() << "this machine has no AVX-512 with permutations of bytes";
  double worst = 0, squares = 0;
  for (size_t n = 0; n < numbers.size(); ++n) {
    double error = powers[n] / std::exp2((double(numbers[n]) - kOne) / 128) - 1;
    worst = std::max(worst, std::abs(error));
    squares += error * error;
  }
  EXPECT_LT(worst, 7.5e-3);
  EXPECT_LT(std::sqrt(squares / double(numbers.size())), 2.4e-3);
}

TEST(Bf16Powers, EndWhereTheyShould) {
  std::vector<float> powers = powersOf({kOne, 0, -1, -1e9f, -INFINITY, NAN, -NAN, kOne + 128, kOne - 256, 2 * kOne});
  if (powers.empty())
    GTEST_SKIP() << "this machine has no AVX-512 with permutations of bytes";
  powers.resize(10);
  EXPECT_EQ(powers, (std::vector<float>{1, 0, 0, 0, 0, 0, 0, 2, 0.25, 0x1p127f}));
}
} // namespace
