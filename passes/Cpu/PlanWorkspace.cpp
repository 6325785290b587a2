// Sizes of everything a kernel holds, and where it stands in the workspaces.
#include "passes/Cpu/CpuKernel.h"
#include "passes/Cpu/StridedAdd.h"
#include "llvm/Support/MathExtras.h"
#include <cmath>

using namespace mlir;
using namespace skewer;

void CpuKernel::planWorkspace() {
  tileRows = schedule.getTileRows();
  tileVectors = schedule.getTileVectors();
  rowBlock = schedule.getRowBlock();
  keyBlock = schedule.getKeyBlock();
  rowsPerItem = schedule.getRowsPerItem();
  lanes = schedule.getLanes();
  keyVectors = llvm::divideCeil(shape.keys, lanes);
  widthVectors = llvm::divideCeil(shape.width, lanes);
  manyKeyBlocks = keyBlock < keyVectors * lanes;
  keyBlock = std::min<int64_t>(keyBlock, llvm::alignTo(keyVectors, tileVectors) * lanes);
  strided = mayAddStrided(shape) &&
            llvm::is_contained(schedule.getStrategies(), StringAttr::get(schedule.getContext(), kStridedAdd));
  rowStep = strided ? lanes : 1;
  chunks = strided ? lanes : llvm::divideCeil(shape.queries, rowsPerItem);

  depth = 0;
  for (const ContentTerm &term : shape.content) {
    std::optional<int64_t> shared;
    for (auto [before, offset] : llvm::zip(shape.content, contentOffset)) {
      const Walk &a = before.query, &q = term.query;
      if (a.argument == q.argument && a.base == q.base && a.query == q.query && a.depth == q.depth &&
          before.depth == term.depth && before.scale != 0 && std::isfinite(term.scale / before.scale))
        shared = offset;
    }
    contentOffset.push_back(shared.value_or(depth));
    if (!shared)
      depth += term.depth;
  }
  // A line more than the panel itself: panels a multiple of 4 KiB apart would share their L1 sets (measured: 42-55 % of
  // peak instead of 89 %).
  panelStride = (depth + 1) * lanes;

  planSums();

  // Windows over all keys are read in place, skewed; those over map axes are added up in lines first.
  lineMask = false;
  lineBias = llvm::any_of(shape.offsets, [&](const OffsetTerm &term) { return !readsWhole(term); });
  planPrepared();
  planLanes();
  planRows();

  int64_t innermost = shape.keyAxes.back().extent;
  lineMargin = llvm::alignTo(innermost + lanes, lanes);
  lineStride = keyBlock + 2 * lineMargin;
  scoreStride = keyBlock + lanes;

  packedKeys = reserve(localBytes, llvm::alignTo(keyVectors, tileVectors) * panelStride);
  bool copyValues = shape.value.depth != 1 || shape.width % lanes != 0 || isComputed(shape.value.argument);
  for (const ValueTerm &term : shape.valueTerms)
    copyValues |= term.kind == ValueKind::Key;
  packedValues = reserve(localBytes, copyValues ? shape.keys * widthVectors * lanes : 0);
  int64_t longest = 0; // of the keys without memory
  for (const ContentTerm &term : shape.content)
    longest = std::max(longest, isComputed(term.key.argument) ? term.depth : 0);
  for (const RowTerm &term : shape.rows)
    longest = std::max(longest, term.keySide && isComputed(term.vector.argument) ? term.depth : 0);
  computedRows = reserve(localBytes, longest * lanes);
  queries = reserve(localBytes, rowBlock * std::max<int64_t>(depth, 1));
  scores = reserve(localBytes, rowBlock * scoreStride);
  accumulators = reserve(localBytes, rowBlock * widthVectors * lanes);
  maxima = reserve(localBytes, rowBlock * lanes);
  sums = reserve(localBytes, rowBlock);
  scales = reserve(localBytes, 2 * rowBlock);
  shifts = reserve(localBytes, shape.hasLse ? rowBlock : 0);
  planValueTerms();
  line = reserve(localBytes, lineBias ? llvm::alignTo(rowBlock, lanes) * lineStride : 0);

  for (const OffsetTerm &term : shape.offsets) {
    PackedTable table;
    // Rows of a table that counts query - key are packed in reverse, so that columns always count key - query.
    table.constant = term.sign > 0 ? term.constant : term.rows - 1 - term.constant;
    table.panels = llvm::divideCeil(term.rows, lanes) + tileVectors;
    table.copies = countOf(term.tableAxes, shape.space);
    // The content's packed queries serve if they are the same rows; a different scale moves into the table.
    table.ownQueries = true;
    if (depth == term.depth && !shape.content.empty()) {
      const ContentTerm &content = shape.content[0];
      const Walk &a = content.query, &q = term.query;
      if (a.argument == q.argument && a.base == q.base && a.query == q.query && a.depth == q.depth &&
          content.depth == term.depth && content.scale != 0 && std::isfinite(term.scale / content.scale)) {
        table.ownQueries = false;
        table.factor = term.scale / content.scale;
      }
    }
    if (strided) {
      tables.push_back(table);
      return planStridedAdd();
    }
    table.copyFloats = table.panels * (term.depth + 1) * lanes;
    table.buffer = reserve(sharedBytes, table.copies * table.copyFloats);
    table.queries = reserve(localBytes, table.ownQueries ? rowBlock * term.depth : 0);
    int64_t span = term.keyAxis.isWhole(shape.keys) ? keyBlock : term.keyAxis.extent;
    span += term.queryAxis.isWhole(shape.queries) ? tileRows : std::max(term.queryAxis.extent, tileRows);
    // Reads before and behind the computed columns stay inside: they are of keys that are masked or overwritten.
    table.margin =
        llvm::alignTo((tileVectors + 1) * lanes + tileRows + (shape.keyAxes.size() > 1 ? innermost : 0), lanes);
    table.logitsStride = llvm::alignTo(span, lanes) + (tileVectors + 2) * lanes + 2 * table.margin;
    table.logits = reserve(localBytes, rowBlock * table.logitsStride);
    tables.push_back(table);
  }
}

/// How much each score varies.
void CpuKernel::planSums() {
  double variance = 0;
  auto add = [&](double scale, int64_t depth) { variance += scale * scale * double(depth); };
  for (const ContentTerm &term : shape.content)
    add(term.scale, term.depth);
  for (const OffsetTerm &term : shape.offsets)
    if (readsWhole(term)) // others are centred
      add(term.scale, term.depth);
  for (const RowTerm &term : shape.rows)
    if (term.keySide || term.kind != RowKind::Axis) // these too
      add(term.scale, term.depth);
  scoreDeviation = std::sqrt(variance);
}

bool CpuKernel::isHuge(double scale, int64_t depth) const {
  return scoreDeviation > kHugeScores && std::abs(scale) * std::sqrt(double(depth)) > kLargeScores;
}

Summation CpuKernel::summationOfContent() const {
  bool large = false;
  for (const ContentTerm &term : shape.content) {
    if (isHuge(term.scale, term.depth))
      return kCompensated;
    large |= std::abs(term.scale) * std::sqrt(double(term.depth)) > kLargeScores;
  }
  return {large ? kChunk : strided ? kStridedChunk : std::max<int64_t>(depth, 1)};
}

void CpuKernel::openBuffers() {
  auto open = [&](Value bytes, const Buffer &buffer) { return b.view(bytes, b.index(buffer.offset), buffer.floats); };
  keysBuffer = open(local, packedKeys);
  valuesBuffer = packedValues.floats ? open(local, packedValues) : arguments[shape.value.argument];
  queriesBuffer = open(local, queries);
  scoresBuffer = open(local, scores);
  accumulatorsBuffer = open(local, accumulators);
  maximaBuffer = open(local, maxima);
  sumsBuffer = open(local, sums);
  scalesBuffer = open(local, scales);
  if (shape.hasLse)
    shiftsBuffer = open(local, shifts);
  if (strided)
    phaseTableBuffer = open(local, phaseTable);
  if (lineBias)
    lineBuffer = open(local, line);
  openValueTerms();
  for (const PreparedBias &bias : prepared) {
    preparedBuffers.push_back(open(bias.kind == BiasKind::Table ? shared : local, bias.buffer));
    gateBuffers.push_back(bias.gates.floats ? open(local, bias.gates) : Value());
    lowBuffers.push_back(bias.isCentred() ? open(local, bias.lows) : Value());
    centredBuffers.push_back(bias.isCentred() ? open(local, bias.centred) : Value());
  }
  for (RowPlan &plan : rowPlans) {
    bool keySide = shape.rows[&plan - rowPlans.data()].keySide;
    plan.tableBuffer = open(shared, plan.table);
    plan.vectorsBuffer = plan.ownVectors ? open(local, plan.vectors) : keySide ? keysBuffer : queriesBuffer;
    plan.productsBuffer = open(local, plan.products);
    if (plan.lines.floats)
      plan.linesBuffer = open(local, plan.lines);
  }
  for (const PackedTable &table : tables) {
    tableBuffers.push_back(open(shared, table.buffer));
    logitsBuffers.push_back(strided ? Value() : open(local, table.logits));
    ownQueriesBuffers.push_back(table.ownQueries ? open(local, table.queries) : queriesBuffer);
  }
}
