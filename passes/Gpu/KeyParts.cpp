// Emits the kernel that joins the records of parts of the keys, with a thread for each element of the result.
#include "passes/Gpu/KeyParts.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "passes/Emit/PhaseFunction.h"
#include "passes/Gpu/BlockPlace.h"
#include "passes/Gpu/Memory.h"
#include "passes/Gpu/ResultRows.h"
#include <limits>

using namespace mlir;
using namespace skewer;
using namespace skewer::gpu;

namespace {

constexpr int64_t kThreads = 128;

class Joiner {
public:
  Joiner(GpuBuilder &b, const GpuAttention &shape, Operands &operands)
      : b(b), shape(shape), operands(operands), record(shape), powers(b, commonScaleOf(shape).value_or(1), !shape.element.isF32()),
        isDirect(shape.attention.direct) {}

  void emit() {
    Value thread = NVVM::ThreadIdXOp::create(b, b.getI32Type()), block = NVVM::BlockIdXOp::create(b, b.getI32Type());
    Value item = b.add(b.mul(b.toI64(block), kThreads), b.toI64(thread)), all = b.i64(record.queries * record.width);
    for (const Extent &extent : shape.leading)
      all = b.mul(all, operands.sizeOf(extent));
    b.when(b.less(item, all), [&] {
      Value column = b.remainder(item, record.width), row = b.divide(item, record.width);
      Value query = b.remainder(row, record.queries);
      leading = b.divide(row, record.queries);
      at = leadingAxes(b, operands, shape, b.toIndex(leading));
      const std::optional<subscript::Expr> &length = shape.attention.bounds.queryLength;
      queries = length ? b.toI64(operands.index(*length, at)) : b.i64(record.queries);
      if (length)
        b.when(b.less(query, queries), [&] { join(query, column); });
      else
        join(query, column);
    });
  }

private:
  /// Reads a number of a part's record.
  Value numberOf(Value part, Value number) {
    Value first = b.add(b.mul(leading, record.parts), b.toI64(part));
    Value where = b.add(b.mul(first, record.numbers()), number);
    return loadAt(b, operands.output(*shape.parts), where, b.getF32Type());
  }

  Value greatest(Value query) {
    Value none = b.f32(-std::numeric_limits<double>::infinity());
    return overParts({none}, [&](Value part, ValueRange before) -> SmallVector<Value> {
      return {b.maxf(before[0], numberOf(part, b.add(query, record.maxima())))};
    })[0];
  }

  /// Goes through the parts in their order. The reads of several parts are under way at once: one after another, each
  /// of them would wait as long as all together (32 parts took 7.4 us on an H200).
  SmallVector<Value> overParts(ArrayRef<Value> initial,
                               llvm::function_ref<SmallVector<Value>(Value part, ValueRange)> body) {
    constexpr int64_t kMostAtOnce = 32;
    int64_t atOnce = record.parts;
    while (atOnce > kMostAtOnce || record.parts % atOnce)
      --atOnce;
    auto several = [&](Value first, ValueRange before) {
      SmallVector<Value> state(before);
      for (int64_t part = 0; part < atOnce; ++part)
        state = body(b.add(first, part), state);
      return state;
    };
    return atOnce == record.parts ? several(b.i32(0), ValueRange(initial))
                                  : b.loop(b.i32(0), b.i32(record.parts), atOnce, initial, several);
  }

  /// Adds the parts' sums, each rescaled to the greatest of their maxima, and writes the element.
  void join(Value query, Value column) {
    Value maximum = isDirect ? Value() : greatest(query), reference;
    Value none = b.f32(-std::numeric_limits<double>::infinity()), zero = b.f32(0);
    if (maximum) // if no key is seen: the difference of two infinities would be NaN
      reference = b.select(b.equalf(maximum, none), zero, maximum);
    Value place = b.add(b.mul(query, record.width), column);
    SmallVector<Value> sums = overParts({zero, zero}, [&](Value part, ValueRange before) -> SmallVector<Value> {
      Value sum = numberOf(part, b.add(query, record.sums())), value = numberOf(part, place);
      if (isDirect)
        return {b.addf(before[0], sum), b.addf(before[1], value)};
      Value shrink = b.exp2(powers.shrinkBetween(numberOf(part, b.add(query, record.maxima())), reference));
      return {b.fma(sum, shrink, before[0]), b.fma(value, shrink, before[1])};
    });
    Value result = sums[1];
    if (!isDirect) // a row without visible keys is 0
      result = b.select(b.equalf(sums[0], zero), zero, b.mulf(result, LLVM::FDivOp::create(b, b.f32(1), sums[0])));
    Value target = b.add(
        b.add(b.mul(query, shape.attention.result.query), b.toI64(operands.index(shape.attention.result.base, at))),
        column);
    Type element = typeOf(shape.plan.outputs[shape.resultOutput].type, b.getContext());
    storeAt(b, narrow(b, result, element), operands.output(shape.resultOutput), target);
    if (!shape.rowOutput)
      return;
    b.when(b.equal(column, b.i64(0)), [&] {
      Value number = isDirect ? sums[0] : powers.logOfSum(maximum, sums[0]);
      Value flat = b.add(b.mul(leading, queries), query);
      storeAt(b, number, operands.output(*shape.rowOutput), flat);
    });
  }

  GpuBuilder &b;
  const GpuAttention &shape;
  Operands &operands;
  PartRecord record;
  Powers powers;
  bool isDirect;
  Value leading, queries; // i64: flat leading index; its number of queries
  Axes at;
};

} // namespace

std::optional<Refusal> skewer::gpu::emitJoinKernel(GpuBuilder &b, const GpuAttention &shape,
                                                   mlir::gpu::GPUModuleOp module, StringRef name, GpuLaunch &launch) {
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToEnd(module.getBody());
  LLVM::LLVMFuncOp function = createKernel(b, b.getLoc(), module, shape.signature, name, kThreads);
  function.setDenormalFpMathF32("preserve-sign"); // as in the kernel of the parts
  b.setInsertionPointToStart(&function.getBody().front());
  Operands operands(b, shape, module, function);
  Joiner(b, shape, operands).emit();
  LLVM::ReturnOp::create(b, ValueRange());
  PartRecord record(shape);
  launch.kernel = name.str();
  launch.title = kJoin.str();
  launch.threads = kThreads;
  int64_t items = record.queries * record.width;
  for (const Extent &extent : shape.leading)
    if (extent.name.empty())
      items *= extent.fixed;
    else
      launch.blocks.factors.push_back(extent.name);
  launch.blocks.scaled = int64_t(llvm::divideCeil(items, kThreads));
  return operands.refusal;
}
