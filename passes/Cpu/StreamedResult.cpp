// Rows of the result that are stored past the caches: a result that does not fit there is read from memory by whoever
// comes next, and to store it the usual way would first read each of its lines.
#include "dialect/Subscript/Analysis.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "passes/Cpu/Strategy.h"

using namespace mlir;
using namespace skewer;

// More than the last cache has that one core sees on most machines (32 MiB on a Zen 4 or 5 die, 2 MiB a core of what
// Intel's server processors share); where it is larger, some of the result would have been found there. See "Windows"
// in tests/bench/RESULTS.md.
static constexpr int64_t kStreamedBytes = 64 << 20;

/// Whether every row begins at a multiple of a vector if the result does, and has whole vectors.
bool CpuKernel::rowsAreVectors() const {
  const Walk &result = shape.result;
  if (result.picked || result.depth != 1 || result.query % lanes || shape.width % lanes)
    return false;
  auto affine = subscript::asAffine(result.base, subscript::domainOf(shape.space.sizes));
  return affine && affine->constant % lanes == 0 &&
         llvm::all_of(affine->coefficients, [&](const auto &each) { return each.second % lanes == 0; });
}

/// Decided once a call; null: as usual.
void CpuKernel::decideStreaming() {
  streamsResult = Value();
  if (stage.finishRow || !memory.output || !rowsAreVectors())
    return;
  int64_t bytes = shape.queries * shape.width * 4;
  bool known = true;
  Value all = b.index(bytes);
  for (auto [extent, size] : llvm::zip(stage.leading, positions.leadingSizes)) {
    known &= extent.name.empty();
    bytes *= extent.fixed;
    all = b.mul(all, size);
  }
  if (known && bytes < kStreamedBytes)
    return;
  Value address = memref::ExtractAlignedPointerAsIndexOp::create(b.builder, memory.output);
  Value rest = b.remainder(address, lanes * 4);
  Value aligned = arith::CmpIOp::create(b.builder, arith::CmpIPredicate::eq, rest, b.index(0));
  streamsResult =
      known ? aligned : arith::AndIOp::create(b.builder, aligned, b.less(b.index(kStreamedBytes - 1), all)).getResult();
}

/// What was stored past the caches is seen by other threads before anything that is stored from here on.
void CpuKernel::endStreaming() {
  if (streamsResult)
    b.when(streamsResult, [&] {
      LLVM::CallIntrinsicOp::create(b.builder, b.builder.getStringAttr("llvm.x86.sse.sfence"), ValueRange{});
    });
}

void CpuKernel::storeRow(ArrayRef<Value> row, Value at) {
  auto store = [&](bool streams) {
    for (auto [v, x] : llvm::enumerate(row)) {
      Value to = b.add(at, static_cast<int64_t>(v) * lanes);
      if (streams)
        b.storeStreamed(x, memory.output, to);
      else
        b.storeFirst(x, memory.output, to, std::min(lanes, shape.width - static_cast<int64_t>(v) * lanes));
    }
  };
  if (streamsResult)
    b.when(streamsResult, [&] { store(true); }, [&] { store(false); });
  else
    store(false);
}
