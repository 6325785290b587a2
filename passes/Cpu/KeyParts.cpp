// Divides the keys of a head into parts, one work item each, so that few long rows give work to many threads. Each item
// leaves a record of its results for the rows. The phase `NAME_join` joins the records in the order of the parts,
// whichever worker made them, so that results depend on the schedule and the sizes, not on the number of threads.
// Source: Dao et al. 2023, "Flash-Decoding for long-context inference".
#include "passes/Cpu/Strategy.h"
#include <limits>

using namespace mlir;
using namespace skewer;

// From this number of heads on, the heads alone give work to many threads, and their keys are not divided. This applies
// if the number of heads is known only when the kernel runs. The items of the other parts then have nothing to do.
static constexpr int64_t kManyHeads = 64;

/// The record of one item; places in floats. It has for each row the maximum that its weights refer to, their sum and
/// the shift; then a flag whether the rows see any of its keys. Rows of weights × values begin at a new cache line.
struct CpuKernel::PartRecord {
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

CpuKernel::PartRecord CpuKernel::partRecord() const { return {shape.queries, widthVectors * lanes}; }

int64_t CpuKernel::partBytesOfHead() const { return parts > 1 ? parts * partRecord().floats() * 4 : 0; }

/// Returns whether the heads of this call are so few that their keys are divided; null: keys are divided for any number
/// of heads.
Value CpuKernel::dividesKeys() {
  auto isFixed = [](const Extent &extent) { return extent.name.empty(); };
  if (llvm::all_of(stage.leading, isFixed))
    return {};
  Value heads = b.index(1);
  for (Value size : positions.leadingSizes)
    heads = b.mul(heads, size);
  return b.less(heads, b.index(kManyHeads));
}

/// Returns the range of keys of the current item; it may be empty.
KeyRange CpuKernel::keysOfPart() {
  Value keys = b.index(keysPerItem), all = b.index(shape.keys);
  if (divided)
    keys = b.select(divided, keys, all);
  Value low = b.mul(part, keys);
  return {low, b.minimum(b.add(low, keys), all)};
}

/// Emits an item of a head whose keys may be divided. If they are not, the first item has all of them.
void CpuKernel::attendPart(Value number, Value prepares) {
  part = number;
  auto attend = [&] {
    beginHead(prepares, prepares);
    computeRowBlock(b.index(0), queries());
  };
  if (!divided)
    return attend();
  Value first = arith::CmpIOp::create(b.builder, arith::CmpIPredicate::eq, part, b.index(0));
  b.when(arith::OrIOp::create(b.builder, first, divided), attend);
}

void CpuKernel::finishPart(const KeyRange &live) {
  auto leave = [&] { leavePart(b.less(live.low, live.high)); };
  if (!divided)
    return leave();
  b.when(divided, leave, [&] { writeRows(b.index(0), queries()); });
}

/// Returns where the record of a part of the head begins.
Value CpuKernel::placeOfPart(Value which) {
  return b.mul(b.add(b.mul(leadingIndex, parts), which), partRecord().floats());
}

/// Stores the record of this part of the keys, instead of finished rows. A part that no row sees leaves only its flag.
void CpuKernel::leavePart(Value some) {
  PartRecord record = partRecord();
  Value place = placeOfPart(part), flag = b.add(place, record.isLive());
  b.storeScalar(b.select(some, b.constantScalar(1), b.constantScalar(0)), memory.parts, flag);
  auto leave = [&](Value number, Value row, int64_t where) {
    b.storeScalar(number, memory.parts, b.add(b.add(place, where), row));
  };
  b.when(some, [&] {
    b.loop(b.index(0), b.index(record.rows), 1, [&](Value row) {
      if (!shape.direct)
        leave(b.scalar(memory.scales, b.add(row, rowBlock)), row, record.maximum());
      leave(b.scalar(memory.sums, row), row, record.sum());
      if (shape.further.lse)
        leave(b.scalar(memory.shifts, row), row, record.shift());
      Value from = b.mul(row, record.width), to = b.add(b.add(place, record.values()), from);
      for (int64_t v = 0; v < record.width; v += lanes)
        b.store(b.load(memory.accumulators, b.add(from, v)), memory.parts, b.add(to, v));
    });
  });
}

/// Calls `body` with the place of each record of the head whose flag is set.
void CpuKernel::forLiveParts(const std::function<void(Value place)> &body) {
  b.loop(b.index(0), b.index(parts), 1, [&](Value which) {
    Value place = placeOfPart(which);
    Value flag = b.scalar(memory.parts, b.add(place, partRecord().isLive()));
    b.when(b.compare(arith::CmpFPredicate::OGT, flag, b.constantScalar(0)), [&] { body(place); });
  });
}

/// Adds up the parts of a row, each rescaled to the largest maximum of all parts.
void CpuKernel::joinRow(Value row) {
  PartRecord record = partRecord();
  constexpr float kNone = -std::numeric_limits<float>::infinity();
  Value maximumPlace = b.add(row, rowBlock);
  auto of = [&](Value place, int64_t where) { return b.scalar(memory.parts, b.add(b.add(place, where), row)); };
  if (!shape.direct) {
    b.storeScalar(b.constantScalar(kNone), memory.scales, maximumPlace);
    b.storeScalar(b.constantScalar(1), memory.scales, row);
    forLiveParts([&](Value place) {
      Value toWhole = factorToWhole(of(place, record.sum())), before = b.scalar(memory.scales, row);
      Value isMore = b.compare(arith::CmpFPredicate::OGT, toWhole, before);
      b.storeScalar(b.select(isMore, toWhole, before), memory.scales, row);
      Value own = of(place, record.maximum()), most = b.scalar(memory.scales, maximumPlace);
      // A maximum that is NaN is skipped here, but the factor of its part becomes NaN below.
      Value larger = b.compare(arith::CmpFPredicate::OGT, own, most);
      b.storeScalar(b.select(larger, own, most), memory.scales, maximumPlace);
      if (shape.further.lse)
        b.storeScalar(of(place, record.shift()), memory.shifts, row); // the same in every part
    });
  }
  Value accumulator = b.mul(row, record.width);
  forLiveParts([&](Value place) {
    Value factor = b.constant(1);
    if (!shape.direct) {
      Value most = b.scalar(memory.scales, maximumPlace);
      Value none = b.compare(arith::CmpFPredicate::OEQ, most, b.constantScalar(kNone));
      Value reference = b.select(none, b.constantScalar(0), most);
      factor = b.exp(b.broadcast(b.subf(of(place, record.maximum()), reference)));
      // If one part has smaller weights, those of the other parts are made smaller too.
      Value toWhole = factorToWhole(of(place, record.sum()));
      factor = b.mulf(factor, b.broadcast(b.divf(toWhole, b.scalar(memory.scales, row))));
    }
    Value own = b.mulf(of(place, record.sum()), vector::ExtractOp::create(b.builder, factor, ArrayRef<int64_t>{0}));
    b.storeScalar(b.addf(b.scalar(memory.sums, row), own), memory.sums, row);
    Value from = b.add(b.add(place, record.values()), accumulator);
    for (int64_t v = 0; v < record.width; v += lanes) {
      Value at = b.add(accumulator, v);
      b.store(b.fma(factor, b.load(memory.parts, b.add(from, v)), b.load(memory.accumulators, at)), memory.accumulators,
              at);
    }
  });
}

void CpuKernel::emitJoin(ModuleOp module, KernelPlan &plan) {
  PhaseFunction phase = createPhase(b.builder, module, plan, "join");
  openPhase(phase);
  openBuffers();
  enterLeading(phase, plan);
  Value rows = queries();
  auto joinHeads = [&] {
    b.loop(phase.begin, endOfPhase(phase), 1, [&](Value head) {
      leadingIndex = head;
      positions.enterHead(head);
      beginRows({b.index(0), rows, b.divide(b.add(rows, tileRows - 1), tileRows)});
      b.loop(b.index(0), rows, 1, [&](Value row) { joinRow(row); });
      writeRows(b.index(0), rows);
    });
  };
  if (divided)
    b.when(divided, joinHeads);
  else
    joinHeads();
  plan.phases.push_back({phase.function.getSymName().str(), "join", itemsOfHeads(1)});
}
