// Chooses the rows of a result that are compared with the reference.
#include "codegen/Reference/Reference.h"
#include <random>
#include <set>

namespace skewer::reference {

std::vector<std::vector<int64_t>> sampleRows(const std::vector<int64_t> &shape, int64_t limit, uint64_t seed) {
  std::vector<std::vector<int64_t>> rows;
  if (limit <= 0)
    return rows;
  size_t rank = shape.empty() ? 0 : shape.size() - 1;
  int64_t count = 1;
  bool many = false; // more rows than can be counted
  for (size_t d = 0; d < rank; ++d) {
    if (shape[d] <= 0)
      return rows;
    many |= __builtin_mul_overflow(count, shape[d], &count);
  }
  if (!many && count <= limit) {
    for (int64_t n = 0; n < count; ++n) {
      std::vector<int64_t> row(rank);
      int64_t rest = n;
      for (size_t d = rank; d-- > 0; rest /= shape[d])
        row[d] = rest % shape[d];
      rows.push_back(std::move(row));
    }
    return rows;
  }
  std::set<std::vector<int64_t>> taken;
  auto take = [&](std::vector<int64_t> row) {
    if (static_cast<int64_t>(rows.size()) < limit && taken.insert(row).second)
      rows.push_back(std::move(row));
  };
  // Corners first, beginning with the corners of the last dimensions, because positions have their ends there.
  for (uint64_t corner = 0; corner < (uint64_t(1) << std::min<size_t>(rank, 16)); ++corner) {
    std::vector<int64_t> row(rank);
    for (size_t d = 0; d < rank; ++d)
      row[d] = (corner >> (rank - 1 - d)) & 1 ? shape[d] - 1 : 0;
    take(std::move(row));
  }
  std::mt19937_64 random(seed);
  while (static_cast<int64_t>(rows.size()) < limit) { // ends, because there are more rows than the limit
    std::vector<int64_t> row(rank);
    for (size_t d = 0; d < rank; ++d)
      row[d] = static_cast<int64_t>(random() % static_cast<uint64_t>(shape[d]));
    take(std::move(row));
  }
  return rows;
}

} // namespace skewer::reference
