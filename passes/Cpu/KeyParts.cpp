// Emits what an item of a part leaves, and how the parts are joined (KeyParts.h).
#include "passes/Cpu/KeyParts.h"
#include "passes/Emit/VectorMath.h"
#include "llvm/Support/MathExtras.h"
#include <limits>

using namespace mlir;
using namespace skewer;

// From this number of heads on, the heads alone give work to many threads, and their keys are not divided. This applies
// if the number of heads is known only when the kernel runs. The items of the other parts then have nothing to do.
static constexpr int64_t kManyHeads = 64;

/// The record of one item; places in floats. It has for each row the maximum that its weights refer to, their sum and
/// the shift; then a flag whether the rows see any of its keys. Rows of weights × values begin at a new cache line.
struct KeyParts::Record {
  int64_t rows, width;
  int64_t maximum() const { return 0; }
  int64_t sum() const { return rows; }
  int64_t shift() const { return 2 * rows; }
  int64_t isLive() const { return 3 * rows; }
  int64_t values() const { return llvm::alignTo(isLive() + 1, kLine); }
  int64_t floats() const { return llvm::alignTo(values() + rows * width, kLine); }

private:
  static constexpr int64_t kLine = 16;
};

KeyParts::Record KeyParts::record() const { return {shape.queries, g.widthVectors * g.lanes}; }

int64_t KeyParts::bytesOfHead() const { return exist() ? g.parts * record().floats() * 4 : 0; }

void KeyParts::enterCall() {
  divided = Value();
  auto isFixed = [](const Extent &extent) { return extent.name.empty(); };
  if (!exist() || llvm::all_of(context.stage.leading, isFixed))
    return;
  Value heads = b.index(1);
  for (Value size : positions.leadingSizes)
    heads = b.mul(heads, size);
  divided = b.less(heads, b.index(kManyHeads));
}

void KeyParts::ifDivided(const std::function<void()> &body) {
  if (divided)
    b.when(divided, body);
  else
    body();
}

void KeyParts::enter(Value number, const std::function<void()> &attend) {
  part = number;
  if (!divided)
    return attend();
  Value first = arith::CmpIOp::create(b.builder, arith::CmpIPredicate::eq, part, b.index(0));
  b.when(arith::OrIOp::create(b.builder, first, divided), attend);
}

KeyRange KeyParts::keys() {
  Value keys = b.index(g.keysPerItem), all = b.index(shape.keys);
  if (divided)
    keys = b.select(divided, keys, all);
  Value low = b.mul(part, keys);
  return {low, b.minimum(b.add(low, keys), all)};
}

void KeyParts::finish(const KeyRange &live, const std::function<void()> &write) {
  auto leaveRecord = [&] { leave(b.less(live.low, live.high)); };
  if (!divided)
    return leaveRecord();
  b.when(divided, leaveRecord, write);
}

/// Returns where the record of a part of the head begins.
Value KeyParts::placeOf(Value which) {
  return b.mul(b.add(b.mul(positions.head(), g.parts), which), record().floats());
}

/// Stores the record of this part of the keys, instead of finished rows. A part that no row sees leaves only its flag.
void KeyParts::leave(Value some) {
  Record record = this->record();
  Value place = placeOf(part), flag = b.add(place, record.isLive());
  b.storeScalar(b.select(some, b.constantScalar(1), b.constantScalar(0)), memory.parts, flag);
  auto set = [&](Value number, Value row, int64_t where) {
    b.storeScalar(number, memory.parts, b.add(b.add(place, where), row));
  };
  b.when(some, [&] {
    b.loop(b.index(0), b.index(record.rows), 1, [&](Value row) {
      if (!shape.direct)
        set(softmax.maximum(row), row, record.maximum());
      set(softmax.sum(row), row, record.sum());
      if (shape.further.lse)
        set(softmax.shift(row), row, record.shift());
      Value from = b.mul(row, record.width), to = b.add(b.add(place, record.values()), from);
      for (int64_t v = 0; v < record.width; v += g.lanes)
        b.store(b.load(memory.accumulators, b.add(from, v)), memory.parts, b.add(to, v));
    });
  });
}

/// Calls `body` with the place of each record of the head whose flag is set.
void KeyParts::forLive(const std::function<void(Value place)> &body) {
  b.loop(b.index(0), b.index(g.parts), 1, [&](Value which) {
    Value place = placeOf(which);
    Value flag = b.scalar(memory.parts, b.add(place, record().isLive()));
    b.when(b.compare(arith::CmpFPredicate::OGT, flag, b.constantScalar(0)), [&] { body(place); });
  });
}

void KeyParts::join(Value row) {
  Record record = this->record();
  constexpr float kNone = -std::numeric_limits<float>::infinity();
  auto of = [&](Value place, int64_t where) { return b.scalar(memory.parts, b.add(b.add(place, where), row)); };
  if (!shape.direct) {
    softmax.setMaximum(row, b.constantScalar(kNone));
    softmax.setFactor(row, b.constantScalar(1)); // the largest factor to the whole of all parts
    forLive([&](Value place) {
      Value toWhole = softmax.factorToWhole(of(place, record.sum()));
      softmax.setFactor(row, larger(b, toWhole, softmax.factor(row)));
      // A maximum that is NaN is skipped here, but the factor of its part becomes NaN below.
      Value own = of(place, record.maximum());
      softmax.setMaximum(row, larger(b, own, softmax.maximum(row)));
      if (shape.further.lse)
        softmax.setShift(row, of(place, record.shift())); // the same in every part
    });
  }
  Value accumulator = b.mul(row, record.width);
  forLive([&](Value place) {
    Value factor = b.constant(1);
    if (!shape.direct) {
      Value most = softmax.maximum(row);
      Value none = b.compare(arith::CmpFPredicate::OEQ, most, b.constantScalar(kNone));
      Value reference = b.select(none, b.constantScalar(0), most);
      factor = expOfWeight(b, b.broadcast(b.subf(of(place, record.maximum()), reference)));
      // If one part has smaller weights, those of the other parts are made smaller too.
      Value toWhole = softmax.factorToWhole(of(place, record.sum()));
      factor = b.mulf(factor, b.broadcast(b.divf(toWhole, softmax.factor(row))));
    }
    Value own = b.mulf(of(place, record.sum()), vector::ExtractOp::create(b.builder, factor, ArrayRef<int64_t>{0}));
    softmax.setSum(row, b.addf(softmax.sum(row), own));
    Value from = b.add(b.add(place, record.values()), accumulator);
    for (int64_t v = 0; v < record.width; v += g.lanes) {
      Value at = b.add(accumulator, v);
      b.store(b.fma(factor, b.load(memory.parts, b.add(from, v)), b.load(memory.accumulators, at)), memory.accumulators,
              at);
    }
  });
}
