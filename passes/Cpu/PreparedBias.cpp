// What is added to the scores and does not depend on the queries' vectors: prepared lines and tables, rows of operands,
// and masks that are no interval; their place in the workspace, their preparation, and the loads of the score tile.
#include "passes/Cpu/CpuKernel.h"
#include "llvm/Support/MathExtras.h"
#include <limits>

using namespace mlir;
using namespace skewer;

static constexpr float kInfinity = std::numeric_limits<float>::infinity();

/// Which summands and masks share one buffer: the same kind, the same copies, and no gate.
void CpuKernel::planPrepared() {
  auto place = [&](BiasKind kind, ArrayRef<subscript::Expr> expressions, bool gated, bool mask) -> PreparedBias & {
    std::vector<std::string> axes;
    if (kind == BiasKind::Table)
      axes = leadingAxesIn(expressions, shape.space);
    for (PreparedBias &bias : prepared)
      if (!gated && !bias.gates.floats && bias.kind == kind && bias.axes == axes && bias.isMask() == mask)
        return bias;
    prepared.emplace_back();
    prepared.back().kind = kind;
    prepared.back().axes = axes;
    return prepared.back();
  };
  for (auto [number, term] : llvm::enumerate(shape.others)) {
    if (term.bias == BiasKind::Element || term.bias == BiasKind::Row || term.bias == BiasKind::Lanes) {
      lineBias |= term.bias == BiasKind::Element;
      continue;
    }
    std::vector<subscript::Expr> expressions;
    for (unsigned operand = 0; operand < term.offsets.size(); ++operand)
      if (!term.isGate(operand))
        expressions.push_back(term.offsets[operand]);
    for (const auto &expression : {term.value, term.guard})
      if (expression)
        expressions.push_back(*expression);
    if (term.application)
      for (const attn::Application::Argument &argument : term.application->arguments)
        expressions.push_back(argument.position);
    PreparedBias &bias = place(term.bias, expressions, !term.gates.empty(), false);
    bias.terms.push_back(number);
    if (!term.gates.empty())
      bias.gates.floats = rowBlock;
  }
  for (auto [number, part] : llvm::enumerate(shape.masks)) {
    if (part.kind == BiasKind::Element)
      lineBias = lineMask = true;
    else if (part.kind != BiasKind::Lanes)
      place(part.kind, {part.predicate}, false, true).masks.push_back(number);
  }

  // Loads beside the last key and beside the rows of a last, incomplete group stay inside.
  for (PreparedBias &bias : prepared) {
    int64_t paddedKeys = keyVectors * lanes;
    switch (bias.kind) {
    case BiasKind::Table:
      bias.strides = {paddedKeys};
      bias.copyFloats = (shape.queries + tileRows) * paddedKeys;
      break;
    case BiasKind::Difference: {
      bias.strides.assign(shape.queryAxes.size(), 0);
      int64_t floats = 1;
      for (size_t k = bias.strides.size(); k-- > 0;) {
        bool innermost = k + 1 == bias.strides.size();
        bias.strides[k] = floats;
        int64_t extent = shape.queryAxes[k].extent + shape.keyAxes[k].extent - 1;
        bias.origin += (shape.queryAxes[k].extent - 1) * floats;
        floats *= innermost ? extent + tileRows + 2 * lanes : extent;
      }
      bias.origin += tileRows;
      bias.copyFloats = floats;
      if (bias.overMap()) {
        lineBias = true;
        lineMask |= bias.isMask();
      }
      break;
    }
    default:
      bias.copyFloats = paddedKeys;
    }
    bias.copyFloats = llvm::alignTo(bias.copyFloats, lanes);
    int64_t copies = bias.kind == BiasKind::Table ? countOf(bias.axes, shape.space) : 1;
    int64_t &bytes = bias.kind == BiasKind::Table ? sharedBytes : localBytes;
    bias.buffer = reserve(bytes, copies * bias.copyFloats);
    bias.gates = reserve(localBytes, bias.gates.floats);
    if (bias.isCentred()) {
      bias.lows = reserve(localBytes, bias.copyFloats);
      bias.centred = reserve(localBytes, bias.copyFloats);
    }
  }
}

/// Stores the values of `number` at `target`: all of them, or one row of a score table.
void CpuKernel::prepare(unsigned number, Value target, Value targetBase, Value queryRow) {
  const PreparedBias &bias = prepared[number];
  auto storeAt = [&](Value where, const std::map<std::string, Value> &at) {
    Value lows = bias.isCentred() ? lowBuffers[number] : Value();
    for (Value part : {target, lows})
      if (part)
        b.storeScalar(b.constantScalar(0), part, where);
    for (unsigned mask : bias.masks)
      b.when(
          predicate(shape.masks[mask].predicate, at), [] {},
          [&] { b.storeScalar(b.constantScalar(-kInfinity), target, where); });
    for (unsigned term : bias.terms) {
      auto add = [&] {
        Value sum = b.addf(b.widen(b.scalar(target, where)), element(shape.others[term], at));
        if (lows)
          sum = b.addf(sum, b.widen(b.scalar(lows, where)));
        Value high = b.narrow(sum);
        b.storeScalar(high, target, where);
        if (!lows)
          return;
        Value finite = b.compare(arith::CmpFPredicate::OEQ, b.subf(high, high), b.constantScalar(0));
        Value low = b.narrow(b.subf(sum, b.widen(high)));
        b.storeScalar(b.select(finite, low, b.constantScalar(0)), lows, where);
      };
      if (shape.others[term].guard)
        b.when(predicate(*shape.others[term].guard, at), add);
      else
        add();
    }
  };
  Value zero = b.index(0);
  if (bias.kind == BiasKind::Key)
    return b.loop(zero, b.index(shape.keys), 1, [&](Value key) { storeAt(b.add(targetBase, key), axesAt({}, key)); });
  if (bias.kind == BiasKind::Table)
    return b.loop(zero, b.index(shape.keys), 1, [&](Value key) {
      Value row = b.add(targetBase, b.mul(queryRow, bias.strides[0]));
      storeAt(b.add(row, key), axesAt(queryRow, key));
    });
  // One pair of positions stands for each tuple of differences.
  std::map<std::string, Value> at = axes;
  std::function<void(size_t, Value)> nest = [&](size_t pair, Value where) {
    if (pair == bias.strides.size())
      return storeAt(where, at);
    int64_t queries = shape.queryAxes[pair].extent, keys = shape.keyAxes[pair].extent;
    // Of a line, what the mask leaves: nobody sees the rest.
    Value first = zero, end = b.index(queries + keys - 1);
    if (bias.strides.size() == 1 && shape.visible) {
      if (shape.visible->low != INT64_MIN && !shape.prefix)
        first = b.maximum(first, b.add(lowestVisible(), queries - 1));
      if (shape.visible->high != INT64_MAX)
        end = b.minimum(end, b.add(highestVisible(), queries));
    }
    b.loop(first, end, 1, [&](Value step) {
      Value difference = b.add(step, 1 - queries);
      Value key = b.maximum(difference, zero);
      at[shape.space.key[pair]] = key;
      at[shape.space.query[pair]] = b.sub(key, difference);
      nest(pair + 1, b.add(where, b.mul(difference, bias.strides[pair])));
    });
  };
  nest(0, b.add(targetBase, bias.origin));
}

/// The lines of a block of rows, less a number that no row's weights notice: the middle between the largest values that
/// the first and the last row see, so that no row is further from 0 than the one that was furthest.
void CpuKernel::centreLines(Value firstRow, Value groups) {
  Value rows = b.mul(groups, tileRows), end = b.add(firstRow, rows);
  for (auto [number, bias] : llvm::enumerate(prepared)) {
    if (!bias.isCentred())
      continue;
    Value buffer = preparedBuffers[number], origin = b.index(bias.origin);
    auto largestOf = [&](Value row) {
      Value from = b.sub(origin, row), to = b.add(from, shape.keys), low = from;
      if (shape.visible && shape.visible->low != INT64_MIN && !shape.prefix)
        low = b.minimum(to, b.maximum(from, b.add(origin, lowestVisible())));
      if (shape.visible && shape.visible->high != INT64_MAX)
        to = b.maximum(low, b.minimum(to, b.add(b.add(origin, highestVisible()), 1)));
      return largestIn(buffer, low, to);
    };
    Value last = b.minimum(b.add(end, -1), b.index(shape.queries - 1));
    Value both = b.addf(largestOf(firstRow), largestOf(last));
    Value shift = b.mulf(both, b.constantScalar(0.5)), shifts = b.broadcast(shift);
    Value from = b.add(b.sub(origin, end), 1), to = b.sub(b.add(origin, shape.keys), firstRow);
    b.loop(from, to, lanes, [&, number = number](Value x) {
      Value centred = b.subf(b.load(buffer, x), shifts);
      b.store(b.addf(centred, b.load(lowBuffers[number], x)), centredBuffers[number], x);
    });
    if (shape.hasLse)
      b.loop(b.index(0), rows, 1, [&](Value row) { noteShift(row, shift); });
  }
}

/// Everything that is prepared for one head, by the worker that goes through its rows.
void CpuKernel::prepareHead() {
  for (unsigned number = 0; number < prepared.size(); ++number)
    if (prepared[number].kind != BiasKind::Table)
      prepare(number, preparedBuffers[number], b.index(0));
  for (auto [number, term] : llvm::enumerate(shape.rows))
    if (term.keySide && term.kind == RowKind::Axis)
      keyLines(number);
  prepareIndexLines();
}

void CpuKernel::prepareGates(Value firstRow, Value rows, Value groups) {
  for (auto [number, bias] : llvm::enumerate(prepared)) {
    if (!bias.gates.floats)
      continue;
    const OtherTerm &term = shape.others[bias.terms.front()];
    b.loop(b.index(0), b.mul(groups, tileRows), 1, [&, number = number](Value row) {
      b.storeScalar(b.constantScalar(0), gateBuffers[number], row);
      b.when(b.less(row, rows), [&] {
        auto at = axesAt(b.add(firstRow, row), {});
        Value product = b.constantScalar(1);
        for (unsigned gate : term.gates)
          product = b.mulf(product, b.scalar(arguments[term.arguments[gate]], indexOf(term.offsets[gate], at)));
        b.storeScalar(product, gateBuffers[number], row);
      });
    });
  }
}

namespace {
/// Where the tile's first row reads, and how much later each next row does.
struct Source {
  Value start;
  int64_t rowStride;
};

Source sourceOf(CpuKernel &kernel, const PreparedBias &bias, Value position, Value key) {
  VectorBuilder &b = kernel.b;
  if (bias.kind == BiasKind::Key)
    return {key, 0};
  if (bias.kind == BiasKind::Difference)
    return {b.add(b.sub(key, position), bias.origin), -1};
  Value copy = b.mul(kernel.copyOf(bias.axes), bias.copyFloats);
  return {b.add(b.add(copy, b.mul(position, bias.strides[0])), key), bias.strides[0]};
}
} // namespace

void CpuKernel::addPrepared(Value row, Value position, Value key, int64_t vectors, bool last,
                            SmallVector<Value> &sums) {
  auto add = [&](Value &sum, Value factor, Value x) { sum = factor ? b.fma(factor, x, sum) : b.addf(sum, x); };
  for (auto [number, bias] : llvm::enumerate(prepared)) {
    if (bias.isMask() || bias.overMap())
      continue;
    Source source = sourceOf(*this, bias, position, key);
    Value line = bias.isCentred() ? centredBuffers[number] : preparedBuffers[number];
    for (int64_t r = 0; r < tileRows; ++r) {
      Value gate = bias.gates.floats ? b.loadBroadcast(gateBuffers[number], b.add(row, r)) : Value();
      for (int64_t v = 0; v < vectors; ++v)
        add(sums[r * vectors + v], gate, b.load(line, b.add(source.start, r * source.rowStride + v * lanes)));
    }
  }
  // Rows of operands are read in place: not beside the last key, nor below the last query.
  for (const OtherTerm &term : shape.others) {
    if (term.bias != BiasKind::Row)
      continue;
    unsigned operand = 0;
    while (term.isGate(operand))
      ++operand;
    Value base = b.add(baseOf(term.row.base), key);
    for (int64_t r = 0; r < tileRows; ++r) {
      Value query = b.minimum(b.add(position, r), b.index(shape.queries - 1));
      Value factor = b.constantScalar(term.scale * kLog2e);
      if (!term.gates.empty()) {
        auto at = axesAt(query, {});
        for (unsigned gate : term.gates)
          factor = b.mulf(factor, b.scalar(arguments[term.arguments[gate]], indexOf(term.offsets[gate], at)));
      }
      factor = b.broadcast(factor);
      Value from = b.add(base, b.mul(query, term.row.query));
      for (int64_t v = 0; v < vectors; ++v) {
        int64_t count = last && v + 1 == vectors && shape.keys % lanes ? shape.keys % lanes : lanes;
        add(sums[r * vectors + v], factor,
            b.loadFirst(arguments[term.arguments[operand]], b.add(from, v * lanes), count));
      }
    }
  }
}

void CpuKernel::hideMasked(Value position, Value key, int64_t vectors, SmallVector<Value> &sums) {
  Value nothing = b.constant(-kInfinity);
  for (auto [number, bias] : llvm::enumerate(prepared)) {
    if (!bias.isMask() || bias.overMap())
      continue;
    Source source = sourceOf(*this, bias, position, key);
    for (int64_t r = 0; r < tileRows; ++r)
      for (int64_t v = 0; v < vectors; ++v) {
        Value mask = b.load(preparedBuffers[number], b.add(source.start, r * source.rowStride + v * lanes));
        Value &sum = sums[r * vectors + v];
        sum = b.select(b.compare(arith::CmpFPredicate::OEQ, mask, nothing), nothing, sum);
      }
  }
}

Value CpuKernel::copyOf(const std::vector<std::string> &copyAxes) {
  Value copy = b.index(0);
  for (const std::string &axis : copyAxes)
    copy = b.add(b.mul(copy, shape.space.sizes.at(axis)), axes.at(axis));
  return copy;
}

void CpuKernel::enterCopy(const std::vector<std::string> &copyAxes, Value copy) {
  for (const std::string &axis : shape.space.leading)
    axes[axis] = b.index(0);
  for (const std::string &axis : llvm::reverse(copyAxes)) {
    axes[axis] = b.remainder(copy, shape.space.sizes.at(axis));
    copy = b.divide(copy, shape.space.sizes.at(axis));
  }
}
