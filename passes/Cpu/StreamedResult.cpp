// Stores rows of the result past the caches. A result that does not fit into the caches is read from memory later in
// any case, and a usual store would first read each of its lines.
#include "dialect/Subscript/Analysis.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "passes/Cpu/Strategy.h"

using namespace mlir;
using namespace skewer;

// The bytes of a result from which on it is stored past the caches: more than the last cache that one core sees has on
// most machines (32 MiB on a Zen 4 or 5 die, 2 MiB for each core in the shared cache of Intel's server processors). If
// that cache is larger, the next reader would have found some of the result there. See "Windows" in
// tests/bench/RESULTS-archive.md.
static constexpr int64_t kStreamedBytes = 64 << 20;

/// Returns whether every row has whole vectors, and begins at a multiple of a vector if the result does.
bool CpuKernel::rowsAreVectors() const {
  const Walk &result = shape.result;
  if (result.picked || result.depth != 1 || result.query % lanes || shape.width % lanes)
    return false;
  auto affine = subscript::asAffine(result.base, subscript::domainOf(shape.space.sizes));
  return affine && affine->constant % lanes == 0 &&
         llvm::all_of(affine->coefficients, [&](const auto &each) { return each.second % lanes == 0; });
}

/// Sets `streamsResult`, once a call: whether the result is stored past the caches. Null: it is stored as usual.
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

/// Makes other threads see what was stored past the caches before anything that is stored later.
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
