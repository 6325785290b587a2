// Emits a fused attention as a stage of CpuStages. Its operands are inputs of the kernel or results of earlier stages.
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "passes/Cpu/CpuStages.h"

using namespace mlir;
using namespace skewer;
using namespace skewer::generic;

/// Applies the arithmetic that finishes the result to one row, a vector of the values' axis at a time.
class CpuStages::ResultRow {
public:
  ResultRow(CpuStages &stages, const Stage &stage, attn::AttentionOp op, std::map<std::string, Extent> axes)
      : s(stages), stage(stage), extents(std::move(axes)), space(attn::scoreSpace(op)) {
    auto value = subscript::parseEinsum(std::string_view(op.getValueSpec()));
    for (const subscript::Dimension &dimension : *value->result)
      point.push_back(subscript::flatIndex(dimension, space.sizes));
  }
  void finish(Symbols at, Value rows, Value from);

private:
  void finishColumns(Symbols &at, const Storage &row, Value from, int64_t low, int64_t high, int64_t step);
  CpuStages &s;
  const Stage &stage;
  std::map<std::string, Extent> extents;
  attn::ScoreSpace space;
  std::vector<subscript::Expr> point; // of the result
};

void CpuStages::ResultRow::finishColumns(Symbols &at, const Storage &row, Value from, int64_t low, int64_t high,
                                         int64_t step) {
  const std::string &column = space.value.front(), vectorAxis = step == 1 ? "" : column;
  const Storage &result = s.tensors.storage[stage.result];
  s.code.loop(s.code.index(low), s.code.index(high), step, [&](Value d) {
    at[column] = d;
    Value sum = s.code.load(row, s.b.createOrFold<arith::AddIOp>(from, d), step != 1);
    if (Value x = s.elements.finished(stage, point, at, vectorAxis, sum))
      s.code.store(x, result, s.code.position(result, point, at));
  });
}

void CpuStages::ResultRow::finish(Symbols at, Value rows, Value from) {
  s.code.addRuntimeSizes(extents, at);
  s.code.addRuntimeSymbols(at);
  s.elements.domain.clear();
  for (const auto &[axis, size] : extents)
    if (auto most = s.plan.boundOf(size))
      s.elements.domain[axis] = {0, *most - 1};
  Storage row;
  row.memory = rows;
  row.element = s.b.getF32Type();
  int64_t width = space.sizes.at(space.value.front()), whole = 0;
  if (step(s.tensors.storage[stage.result], point, space.value.front()) == 1 &&
      s.elements.vectorises(stage.result.getDefiningOp(), point, space.value.front()))
    whole = width / kLanes * kLanes;
  if (whole)
    finishColumns(at, row, from, 0, whole, kLanes);
  if (whole < width)
    finishColumns(at, row, from, whole, width, 1);
}

bool CpuStages::emitFused(const Stage &stage, attn::AttentionOp op) {
  auto extents = tensors.extentsOf(op);
  if (!extents)
    return fail(op, "a run-time size of the score is no operand's dimension");
  for (const auto &way : fused[op]->ways)
    emitScheduled(stage, op, *extents, *way);
  return true;
}

void CpuStages::emitScheduled(const Stage &stage, attn::AttentionOp op, const std::map<std::string, Extent> &extents,
                              ScheduledAttention &attention) {
  CpuKernel &kernel = attention.kernel;
  KernelContext &context = kernel.context;
  const Place &tables = fused[op]->tables, &parts = fused[op]->parts;
  for (const std::string &axis : attention.shape.space.leading)
    context.stage.leading.push_back(extents.at(axis));
  int64_t sharedBytes = kernel.layout.sharedBytes();
  context.stage.open = [&](KernelMemory &memory, const PhaseFunction &opened) {
    code.phase = opened;
    tensors.openMemory(stage, opened);
    memory.arguments.clear();
    for (Value operand : operandsOf(op)) {
      Value read = inMemory(operand);
      if (context.stage.isScaled(memory.arguments.size()))
        read = elements.scaledFrom(operand);
      memory.arguments.push_back(tensors.isStored(read) ? tensors.storage[read].memory : Value());
    }
    memory.output = stage.finishes ? Value() : tensors.storage[op.getResult()].memory;
    memory.lse = op.getLse() ? tensors.storage[op.getLse()].memory : Value();
    memory.total = op.getTotal() ? tensors.storage[op.getTotal()].memory : Value();
    memory.weights = op.getWeights() ? tensors.storage[op.getWeights()].memory : Value();
    memory.local = opened.local;
    memory.shared = tensors.memoryAt(opened, tables);
    if (sharedBytes && tables.offset)
      memory.shared = memref::ViewOp::create(b, cast<MemRefType>(memory.shared.getType()), memory.shared,
                                             code.address(tables), ValueRange{code.index(sharedBytes)});
    if (kernel.parts.exist()) {
      int64_t floats = kernel.parts.bytesOfHead() / 4;
      Value all = code.index(floats);
      for (const Extent &extent : context.stage.leading)
        all = b.createOrFold<arith::MulIOp>(all, extentIn(opened, b, plan, extent));
      memory.parts = memref::ViewOp::create(b, MemRefType::get({ShapedType::kDynamic}, b.getF32Type()), opened.shared,
                                            code.address(parts), ValueRange{all});
    }
    return code.indexOperands();
  };
  context.stage.computeRow = [&](unsigned argument, Value first, Value target, Value at, double scale) {
    elements.computeRow(operandsOf(op)[argument], first, target, at, scale, context.geometry.lanes);
  };
  context.stage.rowScale = [&](unsigned argument, Value first) {
    return elements.rowScale(operandsOf(op)[argument], first);
  };
  std::optional<ResultRow> row;
  if (stage.finishes) {
    row.emplace(*this, stage, op, extents);
    context.stage.finishRow = [&](Value query, Value rows, Value from) {
      row->finish(context.positions.axesAt(query, {}), rows, from);
    };
  }
  size_t firstPhase = plan.phases.size();
  kernel.emit(module, plan);
  if (tables.prepared) // the first phase packs them
    plan.phases[firstPhase].prepares = true;
}
