// Which object computes which term: by how the analysis says that it is read, and for offsets by the schedule.
#include "passes/Analysis/StridedShape.h"
#include "passes/Analysis/TermStrategy.h"
#include "passes/Cpu/Strategies/OffsetTable.h"
#include "passes/Cpu/Strategies/Others.h"
#include "passes/Cpu/Strategies/PickedRows.h"
#include "passes/Cpu/Strategies/ValueRows.h"

using namespace mlir;
using namespace skewer;

static std::unique_ptr<CpuStrategy> makeFor(CpuKernel &kernel, const OffsetTerm &term) {
  const AttentionShape &shape = kernel.shape;
  attn::CpuScheduleAttr schedule = kernel.stage.schedule;
  auto strided = StringAttr::get(schedule.getContext(), kStridedAdd);
  if (mayAddStrided(shape) && llvm::is_contained(schedule.getStrategies(), strided))
    return makeStridedAdd(kernel, term);
  bool isWhole = term.queryAxis.isWhole(shape.queries) && term.keyAxis.isWhole(shape.keys);
  return isWhole ? makeBand(kernel, term) : makeAxisLogits(kernel, term);
}

static std::unique_ptr<CpuStrategy> makeFor(CpuKernel &kernel, const RowTerm &term) {
  switch (term.kind) {
  case RowKind::Offset:
    return term.keySide ? makeKeyDiagonals(kernel, term) : makeOffsetLines(kernel, term);
  case RowKind::Axis:
    return term.keySide ? makeKeyLines(kernel, term) : makeAxisLines(kernel, term);
  case RowKind::Any:
    return term.keySide ? makeGatheredKeys(kernel, term) : makeGatheredRows(kernel, term);
  }
  llvm_unreachable("every kind is above");
}

/// Null where no visible pair has a row.
static std::unique_ptr<CpuStrategy> makeFor(CpuKernel &kernel, const ValueTerm &term) {
  switch (term.kind) {
  case ValueKind::Key:
    return makeKeyValues(kernel, term);
  case ValueKind::Runs:
    return term.runs.empty() ? nullptr : makeDiagonals(kernel, term);
  case ValueKind::Axis:
    return term.runs.empty() ? nullptr : makeAxisSums(kernel, term);
  case ValueKind::Pairs:
    return makeValuePairs(kernel, term);
  }
  llvm_unreachable("every kind is above");
}

std::vector<std::unique_ptr<CpuStrategy>> skewer::makeStrategies(CpuKernel &kernel) {
  std::vector<std::unique_ptr<CpuStrategy>> strategies;
  auto add = [&](std::unique_ptr<CpuStrategy> strategy) {
    if (strategy)
      strategies.push_back(std::move(strategy));
  };
  const AttentionShape &shape = kernel.shape;
  for (const OffsetTerm &term : shape.offsets)
    add(makeFor(kernel, term));
  for (const RowTerm &term : shape.rows)
    add(makeFor(kernel, term));
  for (const RegisteredTerm &own : shape.registered)
    add(own.strategy->make(kernel, own.term));
  for (auto &line : makePreparedLines(kernel))
    add(std::move(line));
  for (const OtherTerm &term : shape.others)
    if (term.bias == BiasKind::Row)
      add(makeRowLoad(kernel, term));
  add(makeElements(kernel));
  add(makeLanes(kernel));
  for (const ValueTerm &term : shape.valueTerms)
    add(makeFor(kernel, term));
  return strategies;
}
