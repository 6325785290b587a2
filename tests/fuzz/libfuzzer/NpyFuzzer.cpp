// .npy files, as `--input` reads them.
#include "tests/fuzz/libfuzzer/Fuzzing.h"
#include "tools/skewer/Inputs.h"
#include "tools/skewer/Npy.h"
#include <cstring>
#include <sys/mman.h>
#include <unistd.h>

using namespace skewer;
using namespace skewer::driver;
using skewer::fuzzing::finding;

/// As an operand of a kernel: of a run-time size. That an index is in its range the kernel itself looks at (AbiTest).
static void judgeOperand(llvm::StringRef input, ElementType type) {
  static const int file = memfd_create("operand", 0);
  static const std::string path = "/proc/self/fd/" + std::to_string(file);
  if (ftruncate(file, 0) != 0 || pwrite(file, input.data(), input.size(), 0) != ssize_t(input.size()))
    finding("the operand's file cannot be written");
  KernelPlan plan;
  plan.name = "layer";
  plan.sizes = {"batch"};
  TensorArgument x;
  x.name = "x";
  x.type = type;
  x.shape = {{"batch", 1}, {"", 3}};
  if (type == ElementType::I32)
    x.range = IndexRange{-2, 7};
  plan.inputs = {x};
  plan.outputs = {x};
  auto operands = prepareOperands(plan, {{"x", path}}, {}, 1);
  if (!operands) {
    std::string message = llvm::toString(operands.takeError());
    if (message.find('x') == std::string::npos)
      finding("a message that names no operand", message);
    return;
  }
  if (operands->inputs[0].values.size() != size_t(operands->sizeByName["batch"] * 3))
    finding("an operand of another size was taken");
}

SKEWER_FUZZ_TARGET(npy) {
  auto file = parseNpy(input);
  if (!file) {
    if (llvm::toString(file.takeError()).empty())
      finding("an error without a message");
  } else {
    auto elements = elementsOf(file->array.shape);
    if (!elements || size_t(*elements) != file->array.values.size())
      finding("a shape that is not that of the values");
    auto again = parseNpy(npyBytes(file->array, file->type));
    if (!again)
      finding("what is written cannot be read", llvm::toString(again.takeError()));
    const std::vector<double> &a = file->array.values, &b = again->array.values;
    // Bits, but for NaN, which has no bits of its own.
    bool same = a.size() == b.size() && again->array.shape == file->array.shape && again->type == file->type;
    for (size_t k = 0; same && k < a.size(); ++k)
      same = std::memcmp(&a[k], &b[k], sizeof a[k]) == 0 || (a[k] != a[k] && b[k] != b[k]);
    if (!same)
      finding("what is written is not what was read");
  }
  judgeOperand(input, ElementType::F32);
  judgeOperand(input, ElementType::I32);
}
