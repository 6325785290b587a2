// What is found out about one head before its rows: the keys that any query may see, and whether values are finite.
#include "passes/Cpu/CpuKernel.h"
#include <limits>

using namespace mlir;
using namespace skewer;

/// Where part of the mask depends on the key alone (lengths, padding): the first and the last key it leaves. Tiles
/// outside are never computed.
void CpuKernel::findVisible() {
  lowVisible = highVisible = Value();
  for (auto [number, bias] : llvm::enumerate(prepared)) {
    if (!bias.isMask() || bias.kind != BiasKind::Key)
      continue;
    Value keys = b.index(shape.keys), line = preparedBuffers[number];
    auto found = b.loop(b.index(0), keys, 1, ValueRange{keys, b.index(0)}, [&](Value key, ValueRange range) {
      Value seen = b.compare(arith::CmpFPredicate::OEQ, b.scalar(line, key), b.constantScalar(0));
      Value low = b.select(seen, b.minimum(range[0], key), range[0]);
      return SmallVector<Value>{low, b.select(seen, b.add(key, 1), range[1])};
    });
    lowVisible = found[0];
    highVisible = found[1];
  }
}

/// A masked key has weight 0, which times a finite value adds nothing; only where some value is NaN or infinite must
/// weights of 0 be told apart. The test costs a pass over the head's values, the distinction a select for each product.
void CpuKernel::testValues() {
  valuesFinite = Value();
  if (shape.masks.empty() && !(strided && shape.visible))
    return;
  Value sum = b.loop(b.index(0), b.index(shape.keys), 1, ValueRange{b.constant(0)}, [&](Value key, ValueRange carried) {
    Value at = b.add(valueBase, b.mul(key, valueStride)), sum = carried[0];
    for (int64_t v = 0; v < widthVectors; ++v)
      sum = b.fma(b.load(valuesBuffer, b.add(at, v * lanes)), b.constant(0), sum);
    return SmallVector<Value>{sum};
  })[0];
  sum = addValueTables(sum);
  valuesFinite = b.compare(arith::CmpFPredicate::ORD, b.reduceAdd(sum), b.constantScalar(0));
}
