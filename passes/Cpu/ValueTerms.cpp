// What keys add to the result besides their values: weights × rows of tables. A run of offsets that moves on by one row
// for each key is a product like that with the values, whose weights are read along a diagonal: one element further for
// each query. A run that stays on one row needs the sum of its weights only, so a clipped table costs its interior
// (Shaw et al. 2018, arXiv:1803.02155, equation 3). Terms by one axis of a map sum the weights over the other axes
// first.
#include "passes/Cpu/CpuKernel.h"
#include <numeric>

using namespace mlir;
using namespace skewer;

// Accumulators where a single query is worked on.
static constexpr int64_t kRowVectors = 8;

void CpuKernel::planValueTerms() {
  for (const ValueTerm &term : shape.valueTerms) {
    ValuePlan plan;
    if ((term.kind == ValueKind::Runs || term.kind == ValueKind::Axis) && !term.runs.empty()) {
      int64_t low = INT64_MAX, high = INT64_MIN, unit = 0, sums = 0;
      for (const OffsetRun &run : term.runs) {
        for (int64_t element : {run.start, run.start + run.step * (run.length() - 1)}) {
          low = std::min(low, element);
          high = std::max(high, element);
          unit = std::gcd(unit, std::abs(element - term.runs.front().start));
        }
        unit = std::gcd(unit, std::abs(run.step));
        sums += run.isSummed();
      }
      unit = std::max<int64_t>(unit, 1);
      plan.first = low;
      plan.unit = unit;
      plan.rows = (high - low) / unit + 1;
      plan.rowFloats = unit;
      if (term.widthStride != 1 || shape.width % lanes != 0 || term.scale != 1) {
        plan.rowFloats = widthVectors * lanes;
        plan.table = reserve(localBytes, plan.rows * plan.rowFloats);
      }
      if (term.kind == ValueKind::Axis) {
        plan.weightStride = llvm::alignTo(term.keyAxis.extent, lanes) + lanes;
        plan.weights = reserve(localBytes, plan.weightStride);
      } else if (sums) {
        plan.weightStride = sums;
        plan.weights = reserve(localBytes, tileRows * sums);
      }
    }
    valuePlans.push_back(plan);
  }
}

void CpuKernel::openValueTerms() {
  for (auto [term, plan] : llvm::zip(shape.valueTerms, valuePlans)) {
    plan.tableBuffer =
        plan.isPacked() ? b.view(local, b.index(plan.table.offset), plan.table.floats) : arguments[term.argument];
    if (plan.weights.floats)
      plan.weightsBuffer = b.view(local, b.index(plan.weights.offset), plan.weights.floats);
  }
}

void CpuKernel::packValueTerms() {
  int64_t padded = widthVectors * lanes;
  for (auto [term, plan] : llvm::zip(shape.valueTerms, valuePlans)) {
    if (term.kind == ValueKind::Key) {
      Value base = baseOf(term.base);
      b.loop(b.index(0), b.index(shape.keys), 1, [&, &term = term](Value key) {
        copyWidth(arguments[term.argument], b.add(base, b.mul(key, term.keyStride)), term.widthStride, term.scale,
                  valuesBuffer, b.mul(key, padded), true);
      });
    } else if (plan.isPacked()) {
      Value base = b.add(baseOf(term.base), plan.first);
      b.loop(b.index(0), b.index(plan.rows), 1, [&, &term = term, &plan = plan](Value row) {
        copyWidth(arguments[term.argument], b.add(base, b.mul(row, plan.unit)), term.widthStride, term.scale,
                  plan.tableBuffer, b.mul(row, plan.rowFloats), false);
      });
    }
  }
}

void CpuKernel::enterHeadOfValueTerms() {
  for (auto [term, plan] : llvm::zip(shape.valueTerms, valuePlans))
    plan.tableBase = plan.isPacked() ? b.index(0) : b.add(baseOf(term.base), plan.first);
}

/// Where the row of an offset of the run begins.
static Value rowOf(CpuKernel &kernel, const ValuePlan &plan, const OffsetRun &run, Value offset) {
  VectorBuilder &b = kernel.b;
  int64_t step = run.step / plan.unit * plan.rowFloats;
  Value first = b.add(plan.tableBase, (run.start - plan.first) / plan.unit * plan.rowFloats);
  return step ? b.add(first, b.mul(b.sub(offset, b.index(run.low)), step)) : first;
}

/// Σ 0 × every row that may be read: a number, or NaN.
Value CpuKernel::addValueTables(Value sum) {
  for (auto [term, plan] : llvm::zip(shape.valueTerms, valuePlans))
    if (term.kind == ValueKind::Runs)
      for (const OffsetRun &run : term.runs) {
        int64_t last = run.step == 0 ? run.low : run.high;
        sum = b.loop(b.index(run.low), b.index(last + 1), 1, ValueRange{sum},
                     [&, &plan = plan](Value offset, ValueRange carried) {
                       Value at = rowOf(*this, plan, run, offset), total = carried[0];
                       for (int64_t v = 0; v < widthVectors; ++v)
                         total = b.fma(b.load(plan.tableBuffer, b.add(at, v * lanes)), b.constant(0), total);
                       return SmallVector<Value>{total};
                     })[0];
      }
  return sum;
}

/// Σ of the weights of a row from `low` to `high`, places in the buffer.
Value CpuKernel::sumOfWeights(Value low, Value high) {
  constexpr int64_t kParts = 4;
  Value count = b.maximum(b.sub(high, low), b.index(0));
  Value whole = b.mul(b.divide(count, kParts * lanes), kParts * lanes);
  SmallVector<Value> parts(kParts, b.constant(0));
  parts = b.loop(b.index(0), whole, kParts * lanes, parts, [&](Value x, ValueRange sums) {
    SmallVector<Value> next;
    for (int64_t k = 0; k < kParts; ++k)
      next.push_back(b.addf(sums[k], b.load(scoresBuffer, b.add(b.add(low, x), k * lanes))));
    return next;
  });
  Value rest = b.loop(whole, count, lanes, ValueRange{parts[0]}, [&](Value x, ValueRange sum) {
    return SmallVector<Value>{b.addf(sum[0], firstWeights(b.add(low, x), b.sub(count, x)))};
  })[0];
  return b.reduceAdd(b.addf(b.addf(rest, parts[1]), b.addf(parts[2], parts[3])));
}

/// A vector of weights; 0 in the lanes from `count` on.
Value CpuKernel::firstWeights(Value at, Value count) {
  Value inside = arith::CmpIOp::create(b.builder, arith::CmpIPredicate::slt, b.laneNumbers(), b.broadcastIndex(count));
  return b.select(inside, b.load(scoresBuffer, at), b.constant(0));
}

/// The runs of a term whose offsets all queries see alike, for one group of rows and the keys in [low, high).
void CpuKernel::addRuns(unsigned number, Value group, Value firstRow, Value lowKey, Value low, Value high) {
  const ValueTerm &term = shape.valueTerms[number];
  const ValuePlan &plan = valuePlans[number];
  Value row = b.mul(group, tileRows), position = b.add(firstRow, row);
  int64_t outStride = widthVectors * lanes;
  // Offsets outside what the mask leaves weigh nothing.
  std::vector<OffsetRun> runs;
  for (OffsetRun run : term.runs) {
    int64_t from = run.low, to = run.high;
    if (shape.visible && shape.visibleShift.isConstant(0)) {
      from = std::max(from, shape.visible->low);
      to = std::min(to, shape.visible->high);
    }
    if (from > to)
      continue;
    run.start += run.step * (from - run.low);
    run.low = from, run.high = to;
    runs.push_back(run);
  }
  int64_t sumNumber = 0;
  for (const OffsetRun &run : runs)
    if (run.isSummed()) {
      b.loop(b.index(0), b.index(tileRows), 1, [&](Value r) {
        Value own = b.add(position, r);
        Value from = b.maximum(low, b.add(own, run.low)), to = b.minimum(high, b.add(own, run.high + 1));
        Value weights = b.sub(b.mul(b.add(row, r), scoreStride), lowKey);
        b.storeScalar(sumOfWeights(b.add(weights, from), b.add(weights, to)), plan.weightsBuffer,
                      b.add(b.mul(r, plan.weightStride), sumNumber));
      });
      ++sumNumber;
    }

  for (int64_t firstVector = 0; firstVector < widthVectors; firstVector += tileVectors) {
    int64_t vectors = std::min(tileVectors, widthVectors - firstVector);
    Value out = b.add(b.mul(row, outStride), firstVector * lanes);
    SmallVector<Value> none(tileRows * vectors, b.constant(0)), sums = none;
    auto addToStored = [&](ArrayRef<Value> more) {
      for (int64_t r = 0; r < tileRows; ++r)
        for (int64_t v = 0; v < vectors; ++v) {
          Value at = b.add(out, r * outStride + v * lanes);
          b.store(b.addf(b.load(accumulatorsBuffer, at), more[r * vectors + v]), accumulatorsBuffer, at);
        }
    };
    auto product = [&](Value at, const std::function<Value(int64_t)> &weight, bool tested, SmallVector<Value> sums) {
      SmallVector<Value> values;
      for (int64_t v = 0; v < vectors; ++v)
        values.push_back(b.load(plan.tableBuffer, b.add(at, (firstVector + v) * lanes)));
      for (int64_t r = 0; r < tileRows; ++r) {
        Value p = weight(r);
        Value seen = tested ? b.compare(arith::CmpFPredicate::UNE, p, b.constantScalar(0)) : Value();
        Value wide = b.broadcast(p);
        for (int64_t v = 0; v < vectors; ++v) {
          Value &sum = sums[r * vectors + v];
          Value next = b.fma(wide, values[v], sum);
          sum = tested ? b.select(seen, next, sum) : next;
        }
      }
      return sums;
    };
    auto steps = [&](const OffsetRun &run, Value from, Value to, bool tested, ArrayRef<Value> start) {
      return b.loop(from, to, 1, SmallVector<Value>(start), [&](Value offset, ValueRange carried) {
        Value key = b.add(position, offset);
        auto weight = [&](int64_t r) -> Value {
          Value own = b.add(key, r), weights = b.sub(b.mul(b.add(row, r), scoreStride), lowKey);
          if (!tested)
            return b.scalar(scoresBuffer, b.add(weights, own));
          // Keys that are not there, or not in this block: some other weight is read, and not used.
          Value inside = arith::AndIOp::create(b.builder, b.less(own, high), b.less(b.add(low, -1), own));
          Value near = b.maximum(low, b.minimum(own, b.add(high, -1)));
          return b.select(inside, b.scalar(scoresBuffer, b.add(weights, near)), b.constantScalar(0));
        };
        return product(rowOf(*this, plan, run, offset), weight, tested, SmallVector<Value>(carried));
      });
    };
    sumNumber = 0;
    int64_t chained = 0;
    for (const OffsetRun &run : runs) {
      if (run.isSummed()) {
        auto weight = [&](int64_t r) {
          return b.scalar(plan.weightsBuffer, b.index(r * plan.weightStride + sumNumber));
        };
        sums = product(rowOf(*this, plan, run, b.index(run.low)), weight, true, sums);
        ++sumNumber, ++chained;
        continue;
      }
      // Offsets of any key of any row; between `allFrom` and `allTo` every row has its key.
      Value from = b.maximum(b.index(run.low), b.add(b.sub(low, position), 1 - tileRows));
      Value to = b.maximum(from, b.minimum(b.index(run.high + 1), b.sub(high, position)));
      Value allFrom = b.minimum(to, b.maximum(from, b.sub(low, position)));
      Value allTo = b.maximum(allFrom, b.minimum(to, b.add(b.sub(high, position), 1 - tileRows)));
      if (valuesFinite)
        allTo = b.select(valuesFinite, allTo, allFrom);
      sums = steps(run, from, allFrom, true, sums);
      if (chained + run.length() <= kChain) {
        chained += run.length();
        sums = steps(run, allFrom, allTo, false, sums);
      } else {
        b.loop(allFrom, allTo, kChain, [&](Value first) {
          addToStored(steps(run, first, b.minimum(b.add(first, kChain), allTo), false, none));
        });
      }
      sums = steps(run, allTo, to, true, sums);
    }
    addToStored(sums);
  }
}

/// accumulators of one row, a few vectors at a time: `body` adds to them.
void CpuKernel::addToRow(Value row,
                         const std::function<SmallVector<Value>(int64_t first, int64_t vectors, ValueRange)> &body) {
  for (int64_t first = 0; first < widthVectors; first += kRowVectors) {
    int64_t vectors = std::min(kRowVectors, widthVectors - first);
    Value out = b.add(b.mul(row, widthVectors * lanes), first * lanes);
    SmallVector<Value> sums(vectors, b.constant(0));
    sums = body(first, vectors, sums);
    for (int64_t v = 0; v < vectors; ++v) {
      Value at = b.add(out, v * lanes);
      b.store(b.addf(b.load(accumulatorsBuffer, at), sums[v]), accumulatorsBuffer, at);
    }
  }
}

/// Rows by one axis of a map: the weights of each position along it are summed up, then each run is a small product.
void CpuKernel::addAxisRuns(unsigned number, Value row, Value position, Value lowKey, Value low, Value high) {
  const ValueTerm &term = shape.valueTerms[number];
  const ValuePlan &plan = valuePlans[number];
  const MapAxis &axis = term.keyAxis;
  b.loop(b.index(0), b.index(plan.weightStride), lanes,
         [&](Value at) { b.store(b.constant(0), plan.weightsBuffer, at); });
  Value weights = b.sub(b.mul(row, scoreStride), lowKey);
  int64_t period = axis.inner == 1 ? axis.extent : axis.inner;
  b.loop(b.divide(low, period), b.divide(b.add(high, period - 1), period), 1, [&](Value part) {
    Value origin = b.mul(part, period);
    Value from = b.maximum(low, origin), to = b.minimum(high, b.add(origin, period));
    if (axis.inner == 1) {
      b.loop(from, to, lanes, [&](Value key) {
        Value at = b.sub(key, origin);
        Value sum = b.addf(b.load(plan.weightsBuffer, at), firstWeights(b.add(weights, key), b.sub(to, key)));
        b.store(sum, plan.weightsBuffer, at);
      });
    } else {
      Value at = b.remainder(part, axis.extent);
      Value sum = sumOfWeights(b.add(weights, from), b.add(weights, to));
      b.storeScalar(b.addf(b.scalar(plan.weightsBuffer, at), sum), plan.weightsBuffer, at);
    }
  });
  Value own = axisOf(term.queryAxis, position);
  addToRow(row, [&](int64_t firstVector, int64_t vectors, ValueRange start) {
    SmallVector<Value> sums(start);
    for (const OffsetRun &run : term.runs) {
      Value from = b.maximum(b.index(0), b.add(own, run.low));
      Value to = b.minimum(b.index(axis.extent), b.add(own, run.high + 1));
      sums = b.loop(from, to, 1, sums, [&](Value at, ValueRange carried) {
        Value p = b.scalar(plan.weightsBuffer, at);
        Value seen = b.compare(arith::CmpFPredicate::UNE, p, b.constantScalar(0)), wide = b.broadcast(p);
        Value table = rowOf(*this, plan, run, b.sub(at, own));
        SmallVector<Value> next;
        for (int64_t v = 0; v < vectors; ++v) {
          Value x = b.load(plan.tableBuffer, b.add(table, (firstVector + v) * lanes));
          next.push_back(b.select(seen, b.fma(wide, x, carried[v]), carried[v]));
        }
        return next;
      });
    }
    return sums;
  });
}

/// Any other term: its element is found for each key of the row that weighs something.
void CpuKernel::addPairs(unsigned number, Value row, Value position, Value lowKey, Value low, Value high) {
  const ValueTerm &term = shape.valueTerms[number];
  Value weights = b.sub(b.mul(row, scoreStride), lowKey), source = arguments[term.argument];
  auto choose = [&](Value condition, ValueRange otherwise, const std::function<SmallVector<Value>()> &body) {
    auto branch = scf::IfOp::create(b.builder, otherwise.getTypes(), condition, true);
    OpBuilder::InsertionGuard guard(b.builder);
    b.builder.setInsertionPointToStart(branch.elseBlock());
    scf::YieldOp::create(b.builder, otherwise);
    b.builder.setInsertionPointToStart(branch.thenBlock());
    scf::YieldOp::create(b.builder, body());
    return SmallVector<Value>(branch.getResults());
  };
  addToRow(row, [&](int64_t firstVector, int64_t vectors, ValueRange start) {
    return b.loop(low, high, 1, start, [&](Value key, ValueRange carried) {
      Value p = b.scalar(scoresBuffer, b.add(weights, key));
      // Behind a weight of 0 may stand a masked key, for which nothing is proven.
      Value seen = b.compare(arith::CmpFPredicate::UNE, p, b.constantScalar(0));
      return choose(seen, carried, [&] {
        std::map<std::string, Value> at = axesAt(position, key);
        auto read = [&] {
          Value factor = b.mulf(p, b.constantScalar(term.scale));
          if (term.factor) {
            Value wide = arith::IndexCastOp::create(b.builder, b.builder.getI64Type(), indexOf(*term.factor, at));
            factor = b.mulf(factor, arith::SIToFPOp::create(b.builder, b.f32, wide));
          }
          Value from = indexOf(term.offset, at), wide = b.broadcast(factor);
          SmallVector<Value> sums;
          for (int64_t v = 0; v < vectors; ++v) {
            int64_t count = std::min(lanes, shape.width - (firstVector + v) * lanes);
            Value x = b.loadFirst(source, b.add(from, (firstVector + v) * lanes), count);
            sums.push_back(b.fma(wide, x, carried[v]));
          }
          return sums;
        };
        return term.guard ? choose(predicate(*term.guard, at), carried, read) : read();
      });
    });
  });
}

void CpuKernel::addValueTerms(Value group, Value firstRow, Value lowKey, Value low, Value high) {
  for (unsigned number = 0; number < shape.valueTerms.size(); ++number) {
    const ValueTerm &term = shape.valueTerms[number];
    if (term.kind == ValueKind::Key || (term.kind != ValueKind::Pairs && term.runs.empty()))
      continue;
    if (term.kind == ValueKind::Runs) {
      addRuns(number, group, firstRow, lowKey, low, high);
      continue;
    }
    Value first = b.mul(group, tileRows);
    Value count = b.minimum(b.index(tileRows), b.sub(b.index(shape.queries), b.add(firstRow, first)));
    b.loop(first, b.add(first, count), 1, [&](Value row) {
      Value position = b.add(firstRow, row);
      if (term.kind == ValueKind::Axis)
        addAxisRuns(number, row, position, lowKey, low, high);
      else
        addPairs(number, row, position, lowKey, low, high);
    });
  }
}
