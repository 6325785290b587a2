// Tables whose rows are picked by positions: sizes, packing, and the rows that a vector of keys picks (PickedRows.h).
#include "passes/Cpu/Strategies/PickedRows.h"
#include "dialect/Subscript/Analysis.h"
#include "passes/Cpu/KeyLanes.h"
#include "passes/Cpu/LaneIndices.h"
#include "passes/Emit/IntegerLanes.h"
#include "llvm/Support/MathExtras.h"
#include <cmath>
#include <limits>

using namespace mlir;
using namespace skewer;

PickedRows::PickedRows(CpuKernel &kernel, const RowTerm &term)
    : CpuStrategy(kernel, kernel.context.stage.engineOf(term.vector.argument, term.table)), term(term), row(term.row),
      rowGuard(term.guard), table(kernel.context, term) {
  // The packed vectors of the content serve if they are the same, packed for the same engine. A different scale of the
  // queries moves into the table; keys, and what is not packed as floats, are packed without a scale.
  for (auto [number, content] : llvm::enumerate(shape.content)) {
    const Walk &packed = term.keySide ? content.key : content.query;
    if (!ownVectors || &kernel.content.engine != &engine || content.inPlace || !(packed == term.vector) ||
        content.depth != term.depth || (term.keySide && kernel.content.isShared(number)))
      continue;
    bool isScaled = !term.keySide && engine.packsFloats();
    if (isScaled && (content.scale == 0 || !std::isfinite(term.scale / content.scale)))
      continue;
    ownVectors = false;
    vectorOffset = kernel.content.offsetOf(number);
    if (isScaled)
      factor = term.scale / content.scale;
  }
}

void PickedRows::open() {
  tableMemory = table.view();
  vectorsMemory = ownVectors ? view(memory.local, vectors) : kernel.content.queries();
  productsMemory = view(memory.local, products);
}

Positions::Values PickedRows::lanesFrom(Value key) {
  return keyLanes(b, shape, key, shape.bounds.keyLength ? positions.keys() : Value());
}

Value PickedRows::pickedRows(const Positions::Values &at, Positions::Values lanesAt, Value &guard) {
  LaneIndices indices(b, at, std::move(lanesAt), positions.indices);
  Value row = arith::SubIOp::create(b.builder, indices.emit(this->row), integer(b, firstRow()));
  // Pairs that a guard or a mask hides may pick any row, also outside.
  row = arith::MinUIOp::create(b.builder, row, integer(b, term.endRow - firstRow() - 1));
  if (rowGuard)
    guard = indices.emitPredicate(*rowGuard);
  return row;
}

void PickedRows::addToLineAt(Value lines, Value x, Value at) {
  Value line = b.load(lines, at), sum = b.addf(line, x);
  if (kernel.lines.hide()) {
    Value nothing = b.constant(-std::numeric_limits<float>::infinity());
    sum = b.select(b.compare(arith::CmpFPredicate::OEQ, line, nothing), nothing, sum);
  }
  b.store(sum, lines, at);
}

bool RowStrategy::fits(const TermForm &form, const AttentionShape &shape) const {
  const RowTerm *term = form.as<RowTerm>();
  return term && term->kind != RowKind::Linear && term->keySide == keySide &&
         (term->kind == kind || (kind == RowKind::Any && mayPickAnyRow(*term, shape.space)));
}

TermWork RowStrategy::work(const TermForm &form, const AttentionShape &shape, const TileSizes &tile,
                           const Target &target) const {
  const RowTerm &term = *form.as<RowTerm>();
  Counted counted = count(term, shape, tile, target);
  double flops = 2 * counted.products * static_cast<double>(term.depth);
  return {flops, counted.otherCycles + productCycles(flops, tile, target, term.element)};
}
