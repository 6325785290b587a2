// Pointers, index expressions, and the elements that they address.
#include "passes/Gpu/Operands.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "passes/Emit/PhaseFunction.h"
#include "passes/Gpu/Memory.h"
#include "passes/Stages/NarrowRows.h"

using namespace mlir;
using namespace skewer;
using namespace skewer::gpu;
using subscript::Expr;
using subscript::Kind;

Operands::Operands(GpuBuilder &b, const GpuAttention &shape, mlir::gpu::GPUModuleOp module, LLVM::LLVMFuncOp function)
    : b(b), shape(shape), module(module), function(function), arguments(argumentsOf(function, shape.signature)),
      inputs(arguments.inputs), outputs(arguments.outputs) {
  for (const GpuPlace &where : shape.furtherInputs)
    inputs.push_back(placeOf(where));
  for (const GpuPlace &where : shape.furtherOutputs)
    outputs.push_back(placeOf(where));
}

Value Operands::placeOf(const GpuPlace &where) {
  if (where.output)
    return arguments.outputs[*where.output];
  Value bytes = b.i64(where.place.offset);
  if (where.place.prepared)
    return globalAt(b, arguments.prepared, bytes, b.getI8Type());
  for (const std::string &factor : shape.workspace.factors)
    bytes = where.place.scaled ? b.mul(bytes, arguments.size(b, factor)) : bytes;
  return globalAt(b, arguments.workspace, b.add(bytes, where.place.scaled ? shape.workspace.fixed : 0), b.getI8Type());
}

//===- Index expressions ---------------------------------------------------------===//

void Operands::addConstant(const std::string &symbol, const std::vector<int64_t> &entries) {
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPoint(function);
  std::vector<int64_t> rows = entries.empty() ? std::vector<int64_t>{0} : entries;
  auto values =
      DenseElementsAttr::get(RankedTensorType::get({int64_t(rows.size())}, b.getI64Type()), ArrayRef<int64_t>(rows));
  auto type = LLVM::LLVMArrayType::get(b.getI64Type(), rows.size());
  LLVM::GlobalOp::create(b, type, /*isConstant=*/true, LLVM::Linkage::Internal, symbol, values, /*alignment=*/8,
                         kGlobalSpace);
}

/// Replaces constant tables by reads of constants of the GPU module; these are read like run-time operands.
Expr Operands::withoutTables(const Expr &expression) {
  std::vector<Expr> operands;
  for (const Expr &operand : expression.operands())
    operands.push_back(withoutTables(operand));
  if (expression.kind() != Kind::Table)
    return operands.empty() ? expression : expression.withOperands(std::move(operands));
  const std::vector<int64_t> &entries = expression.table();
  for (const auto &[name, known] : tables)
    if (known.entries == entries)
      return Expr::read(name, std::move(operands));
  // A name that no operand can have.
  std::string name = "index table " + std::to_string(tables.size());
  int64_t number = 0; // other kernels have tables too
  while (module.lookupSymbol("index_table_" + std::to_string(number)))
    ++number;
  tables[name] = {entries, "index_table_" + std::to_string(number)};
  addConstant(tables[name].symbol, entries);
  return Expr::read(name, std::move(operands));
}

/// Clamps a subscript to its extent: reads whose result no select takes are executed too.
static Value inside(GpuBuilder &b, Value subscript, Value extent) {
  return b.minimum(b.maximum(subscript, b.index(0)), b.add(extent, -1));
}

Value Operands::readTable(const std::string &name, Value row) {
  const Table &table = tables.at(name);
  auto pointerType = LLVM::LLVMPointerType::get(b.getContext(), kGlobalSpace);
  Value memory = LLVM::AddressOfOp::create(b, pointerType, table.symbol);
  row = inside(b, row, b.index(std::max<int64_t>(1, int64_t(table.entries.size()))));
  return b.toIndex(loadAt(b, memory, b.toI64(row), b.getI64Type()));
}

IndexEmitter::Read Operands::reads() {
  return [this](const std::string &name, ValueRange subscripts) -> Value {
    if (tables.count(name))
      return readTable(name, subscripts[0]);
    for (auto [number, input] : llvm::enumerate(shape.plan.inputs)) {
      if (input.name != name || input.shape.size() != subscripts.size())
        continue;
      if (!input.isTensor())
        return b.toIndex(arguments.number(input));
      Value flat = b.index(0);
      for (auto [subscript, extent] : llvm::zip_equal(subscripts, input.shape)) {
        Value size = extent.name.empty() ? b.index(extent.fixed) : b.toIndex(sizeOf(extent));
        flat = b.add(b.mul(flat, size), inside(b, subscript, size));
      }
      Value element = b.toIndex(loadAt(b, inputs[number], b.toI64(flat), b.getI32Type()));
      // The caller promises the range, but nothing checks it: an element outside of it must not lead outside of a
      // table.
      if (input.range) {
        Value low = b.index(input.range->low), high = b.index(input.range->high);
        if (!input.range->ends.empty())
          low = b.toIndex(sizeOf(input.range->ends[0])), high = b.toIndex(sizeOf(input.range->ends[1]));
        element = b.minimum(b.maximum(element, low), high);
      }
      return element;
    }
    return {};
  };
}

Value Operands::index(const Expr &expression, const Axes &at) {
  IndexEmitter emitter(b, b.getLoc(), at, reads());
  if (Value value = emitter.emit(withoutTables(expression)))
    return value;
  refusal = Refusal{emitter.failure()};
  return b.index(0);
}

Value Operands::predicate(const Expr &expression, const Axes &at) {
  IndexEmitter emitter(b, b.getLoc(), at, reads());
  if (Value value = emitter.emitPredicate(withoutTables(expression)))
    return value;
  refusal = Refusal{emitter.failure()};
  return arith::ConstantIntOp::create(b, 0, 1);
}

Value Operands::number(const Expr &expression, const Axes &at) {
  subscript::Domain domain = subscript::domainOf(shape.attention.space.sizes);
  Value value = index(expression, at);
  auto bounds = subscript::bound(expression, domain, std::nullopt, /*enumerationLimit=*/0);
  bool small = bounds && bounds->range.low > INT32_MIN && bounds->range.high < INT32_MAX;
  Value integer = small ? b.toI32(value) : b.toI64(value);
  return arith::SIToFPOp::create(b, b.getF32Type(), integer);
}

//===- Elements and terms ----------------------------------------------------------===//

Type Operands::elementOf(unsigned operand) const {
  return typeOf(shape.plan.inputs[shape.inputs[operand]].type, b.getContext());
}

Value Operands::elementAt(unsigned operand, Value offset) {
  Type type = elementOf(operand);
  Value element = widen(b, loadAt(b, pointerTo(operand), b.toI64(offset), type));
  return hasScales(operand) ? b.mulf(element, scaleAt(operand, offset)) : element;
}

Value Operands::scaleAt(unsigned operand, Value offset) {
  Value product;
  for (const RowScale &scale : shape.scales[operand]) {
    Type type = typeOf(shape.plan.inputs[scale.input].type, b.getContext());
    Value place = b.toI64(index(scale.place, {{kPlace, offset}}));
    Value factor = widen(b, loadAt(b, inputs[scale.input], place, type));
    product = product ? b.mulf(product, factor) : factor;
  }
  return product;
}

/// Returns an operand's element at these axes; if the guard is false, its first element.
static Value elementOfTerm(GpuBuilder &b, Operands &operands, const ElementTerm &term, size_t place, const Axes &at,
                           Value guard) {
  Value offset = operands.index(term.offsets[place], at);
  if (guard)
    offset = b.select(guard, offset, b.index(0));
  return operands.elementAt(term.arguments[place], offset);
}

Value skewer::gpu::operandProduct(GpuBuilder &b, Operands &operands, const ElementTerm &term, const Axes &at,
                                  Value guard) {
  Value result;
  for (size_t place = 0; place < term.arguments.size(); ++place) {
    if (term.isArgument(place))
      continue;
    Value element = elementOfTerm(b, operands, term, place, at, guard);
    result = result ? b.mulf(result, element) : element;
  }
  return result;
}

/// Returns the multiplier of the sum of products: the factor times the function; null if there is neither.
static Value multiplierOf(GpuBuilder &b, Operands &operands, const ElementTerm &term, const Axes &at, Value guard) {
  Value result = term.factor ? operands.number(*term.factor, at) : Value();
  if (!term.application)
    return result;
  SmallVector<Value> arguments;
  for (const attn::Application::Argument &argument : term.application->arguments)
    arguments.push_back(argument.operand >= 0 ? elementOfTerm(b, operands, term, size_t(argument.operand), at, guard)
                                              : operands.number(argument.position, at));
  Value applied = term.application->function->emit(b, b.getLoc(), arguments);
  return result ? b.mulf(result, applied) : applied;
}

Value skewer::gpu::termAt(GpuBuilder &b, Operands &operands, const ElementTerm &term, const Axes &at) {
  Value guard = term.guard ? operands.predicate(*term.guard, at) : Value();
  Value value = operandProduct(b, operands, term, at, guard);
  if (Value by = multiplierOf(b, operands, term, at, guard))
    value = value ? b.mulf(value, by) : by;
  value = value ? b.mulf(value, b.f32(term.scale)) : b.f32(term.scale);
  return guard ? b.select(guard, value, b.f32(0)) : value;
}

SmallVector<Value> skewer::gpu::contractedTermAt(GpuBuilder &b, Operands &operands, const ElementTerm &term,
                                                 ArrayRef<Axes> at) {
  int64_t total = 1;
  for (const auto &[axis, size] : term.contracted)
    total *= size;
  SmallVector<Value> guards;
  for (const Axes &where : at)
    guards.push_back(term.guard ? operands.predicate(*term.guard, where) : Value());
  SmallVector<Value> zeros(at.size(), b.f32(0));
  SmallVector<Value> sums = b.loop(b.i32(0), b.i32(total), 1, zeros, [&](Value flat, ValueRange before) {
    Axes contracted;
    Value rest = b.toIndex(flat);
    for (const auto &[axis, size] : llvm::reverse(term.contracted)) {
      contracted[axis] = b.remainder(rest, size);
      rest = b.divide(rest, size);
    }
    SmallVector<Value> next;
    for (auto [number, where] : llvm::enumerate(at)) {
      Axes symbols = where;
      symbols.insert(contracted.begin(), contracted.end());
      next.push_back(b.addf(before[number], operandProduct(b, operands, term, symbols, guards[number])));
    }
    return next;
  });
  for (auto [number, where] : llvm::enumerate(at)) {
    Value value = b.mulf(sums[number], b.f32(term.scale));
    if (Value by = multiplierOf(b, operands, term, where, guards[number]))
      value = b.mulf(value, by);
    sums[number] = guards[number] ? b.select(guards[number], value, b.f32(0)) : value;
  }
  return sums;
}
