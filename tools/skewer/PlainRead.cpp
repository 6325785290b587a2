// Reads memory by summing whole cache lines in eight accumulators: more loads are in flight than a core's memory
// supports, and no other work delays them.
#include "tools/skewer/PlainRead.h"
#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstring>

namespace skewer::driver {

namespace {
constexpr size_t kPiece = 64 << 10, kLine = 64, kAccumulators = 8;
// On the measured cores (Zen 4, Zen 5), no prefetch distance reads memory faster than this one.
constexpr size_t kAhead = 4 << 10;

struct Reading {
  llvm::ArrayRef<std::pair<const void *, size_t>> memory;
  size_t ahead;
  std::atomic<uint64_t> sum{0};
};

uint64_t readPiece(const char *from, size_t bytes, size_t ahead) {
  typedef uint64_t Line __attribute__((vector_size(kLine), aligned(1)));
  Line sums[kAccumulators] = {};
  size_t at = 0;
  for (; at + kAccumulators * kLine <= bytes; at += kAccumulators * kLine)
    for (size_t k = 0; k < kAccumulators; ++k) {
      if (ahead)
        __builtin_prefetch(from + at + k * kLine + ahead, 0, 2);
      sums[k] += *reinterpret_cast<const Line *>(from + at + k * kLine);
    }
  uint64_t sum = 0;
  for (; at < bytes; ++at)
    sum += static_cast<unsigned char>(from[at]);
  for (const Line &line : sums)
    for (size_t k = 0; k < kLine / sizeof(uint64_t); ++k)
      sum += line[k];
  return sum;
}

size_t piecesOf(size_t bytes) { return (bytes + kPiece - 1) / kPiece; }

void readPieces(void *data, int64_t begin, int64_t end, int32_t) {
  auto *reading = static_cast<Reading *>(data);
  size_t first = 0; // the first piece of an operand
  uint64_t sum = 0;
  for (auto [from, bytes] : reading->memory) {
    size_t pieces = piecesOf(bytes), low = std::max(static_cast<size_t>(begin), first),
           high = std::min(static_cast<size_t>(end), first + pieces);
    for (size_t piece = low; piece < high; ++piece) {
      size_t at = (piece - first) * kPiece;
      sum += readPiece(static_cast<const char *>(from) + at, std::min(kPiece, bytes - at), reading->ahead);
    }
    first += pieces;
  }
  reading->sum += sum;
}
} // namespace

uint64_t readPlainly(llvm::ArrayRef<std::pair<const void *, size_t>> memory, ThreadPool &pool, size_t ahead) {
  Reading reading{memory, ahead};
  size_t pieces = 0;
  for (const auto &operand : memory)
    pieces += piecesOf(operand.second);
  pool.run(static_cast<int64_t>(pieces), readPieces, &reading);
  return reading.sum;
}

double secondsOfPlainRead(llvm::ArrayRef<std::pair<const void *, size_t>> memory, ThreadPool &pool) {
  auto timed = [&](size_t ahead) {
    auto start = std::chrono::steady_clock::now();
    volatile uint64_t sink = readPlainly(memory, pool, ahead);
    (void)sink;
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  };
  return std::min(timed(0), timed(kAhead));
}

} // namespace skewer::driver
