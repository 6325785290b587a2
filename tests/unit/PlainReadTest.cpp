// Tests plain reads: every byte of every operand is read once, by any thread.
#include "tools/skewer/PlainRead.h"
#include <gtest/gtest.h>
#include <vector>

using namespace skewer::driver;

namespace {
using Memory = std::vector<std::pair<const void *, size_t>>;

uint64_t sumOf(const Memory &memory, int32_t workers, size_t ahead) {
  ThreadPool pool(workers);
  return readPlainly(memory, pool, ahead);
}

// Sizes near a line, near the lines that are read at a time, and near a piece, at addresses inside a line.
TEST(PlainRead, ReadsEveryByteOfEveryOperandOnce) {
  for (size_t bytes : {1, 63, 64, 511, 512, 513, 65535, 65536, 65537, 200000}) {
    std::vector<unsigned char> first(bytes + 3), second(777);
    Memory memory{{first.data() + 3, bytes}, {second.data(), second.size()}};
    EXPECT_EQ(sumOf(memory, 2, 4096), 0u);
    for (unsigned char *byte : {&first[3], &first[3 + bytes / 2], &first[2 + bytes], &second.front(), &second.back()}) {
      *byte = 1;
      uint64_t sum = sumOf(memory, 1, 0);
      EXPECT_NE(sum, 0u) << bytes;
      EXPECT_EQ(sum & (sum - 1), 0u) << "one byte is read once: " << bytes; // 1 at some place of a 64-bit number
      EXPECT_EQ(sum, sumOf(memory, 3, 4096)) << bytes;
      *byte = 0;
    }
    first[2] = 1; // before the operand
    EXPECT_EQ(sumOf(memory, 1, 0), 0u);
    first[2] = 0;
  }
}

TEST(PlainRead, NothingIsReadInNoTime) {
  ThreadPool pool(2);
  EXPECT_EQ(readPlainly({}, pool, 0), 0u);
  EXPECT_GE(secondsOfPlainRead({}, pool), 0);
}
} // namespace
