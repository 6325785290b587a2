// Decides how rows of the result are stored, and stores them (StreamedResult.h).
#include "passes/Cpu/StreamedResult.h"
#include "dialect/Subscript/Analysis.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"

using namespace mlir;
using namespace skewer;

// The bytes of a result from which on it is stored past the caches: more than the last cache that one core sees has on
// most machines (32 MiB on a Zen 4 or 5 die, 2 MiB for each core in the shared cache of Intel's server processors). If
// that cache is larger, the next reader would have found some of the result there. See "Windows" in
// tests/bench/RESULTS-archive.md.
static constexpr int64_t kStreamedBytes = 64 << 20;

/// Stores a vector past the caches. Its address is a multiple of its size. Other threads see it after a fence.
static void storePastCaches(VectorBuilder &b, Value x, Value buffer, Value at) {
  vector::StoreOp::create(b.builder, x, buffer, at, /*nontemporal=*/true, llvm::MaybeAlign(b.lanes * 4));
}

/// Returns whether every row has whole vectors, and begins at a multiple of a vector if the result does.
bool StreamedResult::rowsAreVectors() const {
  const Walk &result = shape.result;
  if (result.picked || result.depth != 1 || result.query % g.lanes || shape.width % g.lanes)
    return false;
  auto affine = subscript::asAffine(result.base, subscript::domainOf(shape.space.sizes));
  return affine && affine->constant % g.lanes == 0 &&
         llvm::all_of(affine->coefficients, [&](const auto &each) { return each.second % g.lanes == 0; });
}

void StreamedResult::decide() {
  begin();
  if (context.stage.finishRow || !memory.output || !rowsAreVectors())
    return;
  int64_t bytes = shape.queries * shape.width * 4;
  bool known = true;
  Value all = b.index(bytes);
  for (auto [extent, size] : llvm::zip(context.stage.leading, positions.leadingSizes)) {
    known &= extent.name.empty();
    bytes *= extent.fixed;
    all = b.mul(all, size);
  }
  if (known && bytes < kStreamedBytes)
    return;
  Value address = memref::ExtractAlignedPointerAsIndexOp::create(b.builder, memory.output);
  Value rest = b.remainder(address, g.lanes * 4);
  Value aligned = arith::CmpIOp::create(b.builder, arith::CmpIPredicate::eq, rest, b.index(0));
  streams =
      known ? aligned : arith::AndIOp::create(b.builder, aligned, b.less(b.index(kStreamedBytes - 1), all)).getResult();
}

void StreamedResult::end() {
  if (streams)
    b.when(streams, [&] {
      LLVM::CallIntrinsicOp::create(b.builder, b.builder.getStringAttr("llvm.x86.sse.sfence"), ValueRange{});
    });
}

void StreamedResult::store(ArrayRef<Value> row, Value at) {
  auto storeAll = [&](bool past) {
    for (auto [v, x] : llvm::enumerate(row)) {
      Value to = b.add(at, static_cast<int64_t>(v) * g.lanes);
      if (past)
        storePastCaches(b, x, memory.output, to);
      else
        b.storeFirst(x, memory.output, to, std::min(g.lanes, shape.width - static_cast<int64_t>(v) * g.lanes));
    }
  };
  if (streams)
    b.when(
        streams, [&] { storeAll(true); }, [&] { storeAll(false); });
  else
    storeAll(false);
}
