// Tensors in the driver: numbers in float64 (Array), and the bytes that a kernel reads and writes (Buffer), with
// conversions between the two.
#pragma once
#include "dialect/IR/KernelPlan.h"
#include "llvm/ADT/ArrayRef.h"
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace skewer::driver {

/// A tensor of numbers in float64, row-major.
struct Array {
  std::vector<int64_t> shape;
  std::vector<double> values;
};

/// Returns the product of the sizes; nothing if a size is negative or the product does not fit 63 bits.
std::optional<int64_t> elementsOf(llvm::ArrayRef<int64_t> shape);
/// Returns a text such as "[2, 4, 196, 128]".
std::string textOf(llvm::ArrayRef<int64_t> shape);

/// Returns the value nearest to `value` (ties to even) that the type can hold.
double roundTo(ElementType, double value);

/// Memory aligned to a cache line, for operands of kernels.
class Buffer {
public:
  /// Allocates `bytes` zeroed bytes; data() is null if the system has not enough memory.
  explicit Buffer(size_t bytes = 0, size_t alignment = 64);
  void *data() const { return memory.get(); }
  size_t size() const { return bytes; }
  /// Places (for tests) every later buffer right before an inaccessible page, with exactly the requested alignment, so
  /// that a kernel that reads or writes behind an operand fails.
  static void endAtGuardPages(bool);

private:
  struct Free {
    Free() : mapping(nullptr), mapped(0) {}
    Free(void *mapping, size_t mapped) : mapping(mapping), mapped(mapped) {}
    void *mapping; // of a buffer at a guard page, else null
    size_t mapped;
    void operator()(void *pointer) const;
  };
  bool allocateAtGuardPage(size_t alignment);
  std::unique_ptr<void, Free> memory;
  size_t bytes = 0;
};

/// Writes the numbers, rounded to the type, to `to` (bytesOf(type) each).
void pack(ElementType, llvm::ArrayRef<double> values, void *to);
/// Returns element `index` of packed memory.
double unpack(ElementType, const void *from, int64_t index);
/// Returns all elements of a tensor.
Array unpack(ElementType, const void *from, llvm::ArrayRef<int64_t> shape);

} // namespace skewer::driver
