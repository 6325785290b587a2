// Emits index expressions as arithmetic on `index` values, each shared subexpression once.
#include "passes/Emit/EmitIndex.h"
#include "dialect/Subscript/Bits.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/IR/BuiltinOps.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace skewer;
using subscript::Expr;
using subscript::Kind;

Value IndexEmitter::emit(const Expr &expression) {
  emitted.clear();
  predicates.clear();
  reason.clear();
  return build(expression);
}

Value IndexEmitter::emitPredicate(const Expr &expression) {
  emitted.clear();
  predicates.clear();
  reason.clear();
  return buildPredicate(expression);
}

Value IndexEmitter::constant(int64_t value) { return arith::ConstantIndexOp::create(builder, location, value); }

Value IndexEmitter::operand(const Expr &expression, size_t which) { return build(expression.operands()[which]); }

/// Emits floordiv or mod by a positive divisor. For a power of two it is a shift or a mask, which round down too.
Value IndexEmitter::divide(Value dividend, const Expr &divisor, bool remainder) {
  bool known = divisor.isConstant() && divisor.value() > 0;
  if (known && llvm::isPowerOf2_64(divisor.value())) {
    if (remainder)
      return builder.createOrFold<arith::AndIOp>(location, dividend, constant(divisor.value() - 1));
    return builder.createOrFold<arith::ShRSIOp>(location, dividend, constant(llvm::Log2_64(divisor.value())));
  }
  if (auto exponent = subscript::exponentOf(divisor)) {
    Value places = build(*exponent);
    if (!places)
      return {};
    places = builder.createOrFold<arith::MinSIOp>(
        location, builder.createOrFold<arith::MaxSIOp>(location, places, constant(0)), constant(62));
    if (!remainder)
      return builder.createOrFold<arith::ShRSIOp>(location, dividend, places);
    Value above = builder.createOrFold<arith::ShLIOp>(location, constant(1), places);
    return builder.createOrFold<arith::AndIOp>(location, dividend,
                                               builder.createOrFold<arith::SubIOp>(location, above, constant(1)));
  }
  Value by = build(divisor);
  if (!by)
    return {};
  if (!known) // a division by 0 would trap, even if its value is not used
    by = builder.createOrFold<arith::MaxSIOp>(location, by, constant(1));
  Value rest = builder.createOrFold<arith::RemSIOp>(location, dividend, by);
  Value negative = builder.createOrFold<arith::CmpIOp>(location, arith::CmpIPredicate::slt, rest, constant(0));
  if (remainder) {
    Value shifted = builder.createOrFold<arith::AddIOp>(location, rest, by);
    return builder.createOrFold<arith::SelectOp>(location, negative, shifted, rest);
  }
  Value quotient = builder.createOrFold<arith::DivSIOp>(location, dividend, by);
  Value lower = builder.createOrFold<arith::SubIOp>(location, quotient, constant(1));
  return builder.createOrFold<arith::SelectOp>(location, negative, lower, quotient);
}

/// Returns the module's private constant with these values; creates it if there is none.
static memref::GlobalOp constantTable(OpBuilder &builder, Location location, const std::vector<int64_t> &values) {
  auto module = builder.getInsertionBlock()->getParentOp()->getParentOfType<ModuleOp>();
  if (!module)
    module = dyn_cast<ModuleOp>(builder.getInsertionBlock()->getParentOp());
  if (!module)
    return {};
  auto type = MemRefType::get({int64_t(values.size())}, builder.getI64Type());
  auto tensor = RankedTensorType::get({int64_t(values.size())}, builder.getI64Type());
  auto attribute = DenseElementsAttr::get(tensor, ArrayRef<int64_t>(values));
  size_t count = 0;
  for (auto global : module.getOps<memref::GlobalOp>()) {
    if (!global.getSymName().starts_with("index_table_"))
      continue;
    ++count;
    if (global.getInitialValueAttr() == attribute)
      return global;
  }
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPointToStart(module.getBody());
  return memref::GlobalOp::create(builder, location, "index_table_" + std::to_string(count),
                                  builder.getStringAttr("private"), type, attribute, /*constant=*/true,
                                  /*alignment=*/builder.getI64IntegerAttr(64));
}

Value IndexEmitter::table(const Expr &expression) {
  Value row = operand(expression, 0);
  if (!row)
    return {};
  const std::vector<int64_t> &values = expression.table();
  if (values.empty())
    return constant(0);
  memref::GlobalOp global = constantTable(builder, location, values);
  if (!global) {
    reason = "a constant table needs a module around the code that reads it";
    return {};
  }
  row = builder.createOrFold<arith::MaxSIOp>(location, row, constant(0));
  row = builder.createOrFold<arith::MinSIOp>(location, row, constant(int64_t(values.size()) - 1));
  Value memory = memref::GetGlobalOp::create(builder, location, global.getType(), global.getSymName());
  Value element = memref::LoadOp::create(builder, location, memory, row);
  return arith::IndexCastOp::create(builder, location, builder.getIndexType(), element);
}

Value IndexEmitter::symbol(const Expr &expression) {
  auto found = symbols.find(expression.name());
  if (found != symbols.end())
    return found->second;
  reason = "nothing is known as '" + expression.name() + "' here";
  return {};
}

/// Emits a sum, product, minimum or maximum.
Value IndexEmitter::arithmetic(const Expr &expression) {
  Value left = operand(expression, 0), right = operand(expression, 1);
  if (!left || !right)
    return {};
  switch (expression.kind()) {
  case Kind::Add:
    return builder.createOrFold<arith::AddIOp>(location, left, right);
  case Kind::Mul:
    return builder.createOrFold<arith::MulIOp>(location, left, right);
  case Kind::Min:
    return builder.createOrFold<arith::MinSIOp>(location, left, right);
  default:
    return builder.createOrFold<arith::MaxSIOp>(location, left, right);
  }
}

Value IndexEmitter::absolute(const Expr &expression) {
  Value inner = operand(expression, 0);
  if (!inner)
    return {};
  Value negated = builder.createOrFold<arith::SubIOp>(location, constant(0), inner);
  return builder.createOrFold<arith::MaxSIOp>(location, inner, negated);
}

Value IndexEmitter::select(const Expr &expression) {
  Value condition = buildPredicate(expression.operands()[0]);
  Value first = operand(expression, 1), second = operand(expression, 2);
  if (!condition || !first || !second)
    return {};
  return builder.createOrFold<arith::SelectOp>(location, condition, first, second);
}

Value IndexEmitter::readElement(const Expr &expression) {
  if (!read) {
    reason = "'" + expression.name() + "' is read at run time, which is not possible here";
    return {};
  }
  SmallVector<Value> subscripts;
  for (const Expr &subscript : expression.operands()) {
    subscripts.push_back(build(subscript));
    if (!subscripts.back())
      return {};
  }
  Value value = read(expression.name(), subscripts);
  if (!value && reason.empty())
    reason = "there is no index operand '" + expression.name() + "' of " + std::to_string(subscripts.size()) +
             " dimensions here";
  return value;
}

Value IndexEmitter::compute(const Expr &expression) {
  switch (expression.kind()) {
  case Kind::Constant:
    return constant(expression.value());
  case Kind::Symbol:
    return symbol(expression);
  case Kind::Add:
  case Kind::Mul:
  case Kind::Min:
  case Kind::Max:
    return arithmetic(expression);
  case Kind::FloorDiv:
  case Kind::Mod: {
    Value dividend = operand(expression, 0);
    return dividend ? divide(dividend, expression.operands()[1], expression.kind() == Kind::Mod) : Value();
  }
  case Kind::Abs:
    return absolute(expression);
  case Kind::Select:
    return select(expression);
  case Kind::Table:
    return table(expression);
  case Kind::Read:
    return readElement(expression);
  case Kind::Less:
  case Kind::LessEqual:
  case Kind::Equal:
  case Kind::NotEqual:
  case Kind::And:
  case Kind::Or:
  case Kind::Not: {
    Value predicate = buildPredicate(expression);
    return predicate ? builder.createOrFold<arith::IndexCastUIOp>(location, builder.getIndexType(), predicate)
                     : Value();
  }
  }
  return {};
}

Value IndexEmitter::build(const Expr &expression) {
  auto known = emitted.find(expression.identity());
  if (known != emitted.end())
    return known->second;
  Value value = compute(expression);
  if (value)
    emitted[expression.identity()] = value;
  return value;
}

Value IndexEmitter::buildPredicate(const Expr &expression) {
  auto known = predicates.find(expression.identity());
  if (known != predicates.end())
    return known->second;
  auto compare = [&](arith::CmpIPredicate predicate) -> Value {
    Value left = operand(expression, 0), right = operand(expression, 1);
    return left && right ? builder.createOrFold<arith::CmpIOp>(location, predicate, left, right) : Value();
  };
  Value value;
  switch (expression.kind()) {
  case Kind::Less:
    value = compare(arith::CmpIPredicate::slt);
    break;
  case Kind::LessEqual:
    value = compare(arith::CmpIPredicate::sle);
    break;
  case Kind::Equal:
    value = compare(arith::CmpIPredicate::eq);
    break;
  case Kind::NotEqual:
    value = compare(arith::CmpIPredicate::ne);
    break;
  case Kind::And:
  case Kind::Or: {
    Value left = buildPredicate(expression.operands()[0]), right = buildPredicate(expression.operands()[1]);
    if (!left || !right)
      return {};
    value = expression.kind() == Kind::And ? builder.createOrFold<arith::AndIOp>(location, left, right)
                                           : builder.createOrFold<arith::OrIOp>(location, left, right);
    break;
  }
  case Kind::Not: {
    Value inner = buildPredicate(expression.operands()[0]);
    if (!inner)
      return {};
    Value yes = arith::ConstantIntOp::create(builder, location, 1, 1);
    value = builder.createOrFold<arith::XOrIOp>(location, inner, yes);
    break;
  }
  default: {
    Value number = build(expression);
    if (!number)
      return {};
    value = builder.createOrFold<arith::CmpIOp>(location, arith::CmpIPredicate::ne, number, constant(0));
    break;
  }
  }
  if (value)
    predicates[expression.identity()] = value;
  return value;
}

Value skewer::clampedPosition(OpBuilder &builder, Location location, const IndexMemory &operand,
                              ValueRange subscripts) {
  Value zero = arith::ConstantIndexOp::create(builder, location, 0);
  Value one = arith::ConstantIndexOp::create(builder, location, 1);
  Value flat = zero;
  for (auto [subscript, extent] : llvm::zip(subscripts, operand.extents)) {
    Value last = builder.createOrFold<arith::SubIOp>(location, extent, one);
    Value inside = builder.createOrFold<arith::MaxSIOp>(location, subscript, zero);
    inside = builder.createOrFold<arith::MinSIOp>(location, inside, last);
    flat = builder.createOrFold<arith::AddIOp>(location, builder.createOrFold<arith::MulIOp>(location, flat, extent),
                                               inside);
  }
  return flat;
}

IndexEmitter::Read skewer::loadsFrom(OpBuilder &builder, Location location, FindIndices find) {
  return [&builder, location, find = std::move(find)](const std::string &name, ValueRange subscripts) -> Value {
    std::optional<IndexMemory> operand = find(name);
    if (!operand || operand->extents.size() != subscripts.size())
      return {};
    Value flat = clampedPosition(builder, location, *operand, subscripts);
    Value element = memref::LoadOp::create(builder, location, operand->memory, flat);
    return arith::IndexCastOp::create(builder, location, builder.getIndexType(), element);
  };
}
