// Sorts the terms of the values: rows of the key, a band by key - query, or a row for each pair.
#include "passes/Gpu/Shape/GpuStrategies.h"
#include <numeric>

using namespace mlir;
using namespace skewer;
using namespace skewer::gpu;
using subscript::Expr;

// The most offsets of the table that picks the rows of a band.
constexpr int64_t kMostOffsets = 1 << 20;

/// Returns the band of the rows that the runs read, picked by key - query, with zeros for every other offset.
static std::optional<BandTerm> bandOf(const ValueTerm &term, int64_t width) {
  const std::vector<OffsetRun> &runs = term.runs;
  auto lastOf = [](const OffsetRun &run) { return run.start + run.step * (run.length() - 1); };
  int64_t low = INT64_MAX, high = INT64_MIN, unit = 0;
  for (const OffsetRun &run : runs) {
    low = std::min({low, run.start, lastOf(run)});
    high = std::max({high, run.start, lastOf(run)});
    unit = std::gcd(std::gcd(unit, std::abs(run.start - runs.front().start)), std::abs(run.step));
  }
  unit = std::max<int64_t>(unit, 1);
  BandTerm band;
  band.table = {term.argument, term.base + Expr(low), 0, unit, term.widthStride, std::nullopt};
  band.depth = width;
  band.rows = (high - low) / unit + 1;
  band.scale = term.scale;
  band.reach = subscript::Range{runs.front().low, runs.back().high};
  if (runs.size() == 1 && band.rows == runs.front().length()) { // each offset has the next row
    band.sign = runs.front().step < 0 ? -1 : 1;
    band.constant = band.sign > 0 ? -runs.front().low : runs.front().high;
    return band;
  }
  if (band.reach->high - band.reach->low >= kMostOffsets)
    return std::nullopt;
  // No row below the first run, between runs, and behind the last one.
  OffsetRows rows{band.reach->low - 1, std::vector<int64_t>(size_t(band.reach->high - band.reach->low + 3), -1)};
  for (const OffsetRun &run : runs)
    for (int64_t offset = run.low; offset <= run.high; ++offset)
      rows.rows[size_t(offset - rows.low)] = (run.start + run.step * (offset - run.low) - low) / unit;
  band.offsets = std::move(rows);
  return band;
}

std::optional<Refusal> skewer::gpu::addValueTerm(const ValueTerm &term, attn::TermOp op, GpuShape &shape) {
  if (auto refusal = refuseUnknown(op, knownOfTerms()))
    return refusal;
  if (op.getFunction())
    return Refusal{"a function of a plugin is part of what is added to the values"};
  // Weights are scaled before they are rounded to the operands' type, so the scale must be near 1.
  double size = std::abs(term.scale);
  bool fits = shape.element.isF32() || (size >= 0x1p-6 && size <= 0x1p6);
  // If the begin of a part is known only at run time, the offsets that have rows are unknown.
  for (const std::string &symbol : subscript::symbolsOf(term.base))
    fits &= llvm::is_contained(shape.attention.space.leading, symbol);
  SmallVector<StringRef> fitting;
  std::optional<BandTerm> band;
  if (term.kind == ValueKind::Runs && term.runs.empty() && fits)
    fitting.push_back(strategy::kNothing); // no visible pair has a row
  else if (term.kind == ValueKind::Key && fits)
    fitting.push_back(strategy::kMatmul);
  else if (term.kind == ValueKind::Runs && fits && (band = bandOf(term, shape.attention.width)))
    fitting.push_back(strategy::kBand);
  fitting.push_back(strategy::kPerScore);
  StringRef chosen = chosenStrategy(op->getParentOfType<attn::AttentionOp>(), shape.strategies.size(), fitting);
  shape.strategies.push_back(chosen);
  if (chosen == strategy::kBand)
    shape.valueBands.push_back(std::move(*band));
  if (chosen == strategy::kMatmul)
    shape.valueRows.push_back(
        {{term.argument, term.base, 0, term.keyStride, term.widthStride, std::nullopt}, term.scale});
  if (chosen != strategy::kPerScore)
    return std::nullopt;
  ValueElement element;
  element.first.arguments = {term.argument};
  element.first.offsets = {term.offset};
  element.first.factor = term.factor;
  element.first.guard = term.guard;
  element.first.scale = term.scale;
  element.widthStride = term.widthStride;
  shape.valueElements.push_back(std::move(element));
  return std::nullopt;
}
