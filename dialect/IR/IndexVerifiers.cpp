// Verifiers of run-time index operands: their names, their ranges, and that reads stay inside them.
#include "dialect/IR/Verification.h"
#include "dialect/IR/RangeEnds.h"
#include "mlir/Interfaces/FunctionInterfaces.h"
#include <cmath>

using namespace mlir;
using namespace skewer::attn;
using namespace skewer::subscript;

/// Returns whether `ends` is the least and the largest i32 of an index operand.
static bool isRange(ArrayRef<int64_t> ends) {
  return ends.size() == 2 && ends[0] <= ends[1] && ends[0] >= INT32_MIN && ends[1] <= INT32_MAX;
}

/// Checks that one name means one argument or one `attn.index`, because expressions move from operation to operation.
static LogicalResult verifyIndex(Operation *op, StringRef name, Value operand) {
  if (auto index = operand.getDefiningOp<IndexOp>()) {
    if (index.getCalled() == name)
      return success();
    return op->emitOpError() << "index operand '" << name << "' is an attn.index called '" << index.getCalled()
                             << "' (attn_c6)";
  }
  auto argument = dyn_cast<BlockArgument>(operand);
  auto function = argument ? dyn_cast_or_null<FunctionOpInterface>(argument.getOwner()->getParentOp()) : nullptr;
  if (!function)
    return op->emitOpError() << "index operand '" << name << "' is no argument of the kernel and no attn.index, which "
                             << "gives what is computed a name (attn_c6)";
  for (unsigned n = 0; n < function.getNumArguments(); ++n) {
    auto other = function.getArgAttrOfType<StringAttr>(n, kArgumentName);
    bool named = other && other.getValue() == name;
    if (named != (n == argument.getArgNumber()))
      return op->emitOpError() << "index operand '" << name << "' is argument #" << argument.getArgNumber() << ", but "
                               << (named ? "argument #" + std::to_string(n) + " has that 'attn.name', too"
                                         : "that has another 'attn.name'")
                               << " (attn_c6)";
  }
  return success();
}

LogicalResult skewer::attn::verifyIndices(Operation *op, ArrayAttr names, ValueRange operands) {
  size_t count = names ? names.size() : 0;
  if (count != operands.size())
    return op->emitOpError() << "names " << count << " index operands, but has " << operands.size() << " (attn_c6)";
  for (auto [entry, operand] : llvm::zip(names ? names.getValue() : ArrayRef<Attribute>(), operands))
    if (failed(verifyIndex(op, cast<StringAttr>(entry).getValue(), operand)))
      return failure();
  return success();
}

LogicalResult IndexOp::verify() {
  if (failed(verifyShapes(*this)))
    return failure();
  auto name = skewer::subscript::parse(std::string_view(getCalled()));
  if (!name || !name->isSymbol() || name->name() != getCalled())
    return emitOpError() << "is called '" << getCalled() << "', which no text can read (index_c1)";
  if (auto function = (*this)->getParentOfType<FunctionOpInterface>()) {
    for (unsigned n = 0; n < function.getNumArguments(); ++n)
      if (auto other = function.getArgAttrOfType<StringAttr>(n, kArgumentName); other == getCalledAttr())
        return emitOpError() << "is called '" << getCalled() << "', as argument #" << n << " is (index_c1)";
    auto again = function.walk([&](IndexOp other) {
      return other != *this && other.getCalled() == getCalled() ? WalkResult::interrupt() : WalkResult::advance();
    });
    if (again.wasInterrupted())
      return emitOpError() << "is called '" << getCalled() << "', as another attn.index is (index_c1)";
  }
  if (auto range = getRange(); range && !isRange(*range))
    return emitOpError() << "is in " << getRangeAttr() << "; expected [low, high], low <= high, both within 32 bits "
                         << "(index_c2)";
  return success();
}

LogicalResult skewer::attn::verifyIndexReads(Operation *op, const Twine &role, const Expr &expression,
                                             const Domain &domain, const std::optional<Expr> &where) {
  std::vector<Expr> reads = readNodes(expression);
  IndexOperands operands = indicesOf(op);
  for (const Expr &read : reads) {
    auto found = operands.find(read.name());
    if (found == operands.end())
      return op->emitOpError() << role << " reads '" << read.name() << "', which is not among its indices (attn_c7)";
    std::vector<int64_t> shape = shapeOf(found->second);
    if (shape.size() != read.operands().size())
      return op->emitOpError() << role << " reads " << print(read) << ", but '" << read.name() << "' has "
                               << shape.size() << " dimensions (attn_c7)";
    for (size_t d = 0; d < shape.size(); ++d) {
      const Expr &at = read.operands()[d];
      if (shape[d] == kRuntime) {
        // Run-time sizes are not compared: an axis of run-time size has the size of the dimension.
        if (at.isConstant(0) || (at.isSymbol() && !domain.count(at.name())))
          continue;
        return op->emitOpError() << role << " reads " << print(read) << ", but dimension " << d << " of '"
                                 << read.name() << "' has run-time size and is read by an axis of that size only "
                                 << "(attn_c8)";
      }
    }
  }
  auto bad = findReadOutside(expression, operands, domain, where);
  if (!bad)
    return success();
  InFlightDiagnostic diagnostic = op->emitOpError() << role << " reads " << print(bad->read) << ", and "
                                                    << print(bad->read.operands()[bad->dimension]);
  if (bad->value)
    diagnostic << " may be " << *bad->value;
  else
    diagnostic << " is not proven to stay inside";
  return diagnostic << ", but dimension " << bad->dimension << " of '" << bad->read.name() << "' has indices 0.."
                    << bad->size - 1 << " (attn_c8)";
}

std::string skewer::attn::unboundedReads(const Expr &expression, const IndexOperands &operands) {
  std::set<std::string> names;
  for (const std::string &name : readsOf(expression))
    if (auto found = operands.find(name); found != operands.end() && !rangeOf(found->second))
      names.insert(name);
  return names.empty() ? "" : printNames(names);
}

bool skewer::attn::areRangeEnds(Attribute attribute) {
  auto ends = dyn_cast<ArrayAttr>(attribute);
  return ends && ends.size() == 2 && llvm::all_of(ends, [](Attribute end) {
           auto fixed = dyn_cast<IntegerAttr>(end);
           auto text = dyn_cast<StringAttr>(end);
           return (fixed && fixed.getType().isInteger(64)) || (text && parse(std::string_view(text.getValue())));
         });
}

Location skewer::attn::withRangeEnds(Location operand, Location low, Location high) {
  MLIRContext *context = operand.getContext();
  return FusedLoc::get({operand, low, high}, StringAttr::get(context, kRangeEnds), context);
}

Location skewer::attn::placeOfRangeEnd(Location argument, bool isHigh) {
  auto fused = dyn_cast<FusedLoc>(argument);
  bool hasEnds = fused && fused.getLocations().size() == 3 &&
                 fused.getMetadata() == StringAttr::get(argument.getContext(), kRangeEnds);
  return hasEnds ? fused.getLocations()[isHigh ? 2 : 1] : argument;
}

LogicalResult AttnDialect::verifyRegionArgAttribute(Operation *op, unsigned region, unsigned number,
                                                    NamedAttribute attribute) {
  auto function = dyn_cast<FunctionOpInterface>(op);
  // Bufferization turns the tensor into a memref and keeps the attributes.
  auto type = function ? dyn_cast<ShapedType>(function.getArgumentTypes()[number]) : nullptr;
  if (type && !type.hasRank())
    type = nullptr;
  if (attribute.getName() == kArgumentMean || attribute.getName() == kArgumentBetween) {
    auto mean = dyn_cast<FloatAttr>(attribute.getValue());
    auto between = dyn_cast<DenseF64ArrayAttr>(attribute.getValue());
    bool isBetween = attribute.getName() == kArgumentBetween;
    if (isBetween ? !between || between.size() != 2 || !std::isfinite(between[0]) || !std::isfinite(between[1]) ||
                        between[0] > between[1]
                  : !mean || !mean.getType().isF64() || !mean.getValue().isFinite())
      return op->emitOpError() << "argument #" << number << (isBetween ? " has values between " : " has the mean ")
                               << attribute.getValue() << "; expected "
                               << (isBetween ? "array<f64: low, high> with low <= high" : "a finite f64")
                               << " (attn_c10)";
    if (!type || !isa<FloatType>(type.getElementType()))
      return op->emitOpError() << "argument #" << number
                               << " says how its values lie, but is no tensor of floating point numbers (attn_c10)";
    return success();
  }
  if (attribute.getName() == kArgumentDeviation) {
    auto deviation = dyn_cast<FloatAttr>(attribute.getValue());
    if (!deviation || !deviation.getType().isF64() || !deviation.getValue().isFiniteNonZero() ||
        deviation.getValue().isNegative())
      return op->emitOpError() << "argument #" << number << " has the standard deviation " << attribute.getValue()
                               << "; expected a positive f64 (attn_c10)";
    if (!type || !isa<FloatType>(type.getElementType()))
      return op->emitOpError() << "argument #" << number
                               << " has a standard deviation, but is no tensor of floating point numbers (attn_c10)";
    return success();
  }
  if (attribute.getName() == kArgumentOrigin) {
    auto origin = dyn_cast<StringAttr>(attribute.getValue());
    auto range = function ? function.getArgAttrOfType<DenseI64ArrayAttr>(number, kArgumentRange) : DenseI64ArrayAttr();
    if (!origin || !llvm::is_contained({"q0", "k0", "head0"}, origin.getValue()))
      return op->emitOpError() << "argument #" << number << " has the origin " << attribute.getValue()
                               << "; expected \"q0\", \"k0\" or \"head0\" (attn_c11)";
    if (!type || !type.getElementType().isInteger(32) || type.getShape() != ArrayRef<int64_t>{1} || !range ||
        range.size() != 2 || range[0] != 0)
      return op->emitOpError() << "argument #" << number
                               << " is an origin, but no tensor<1xi32> with a range from 0 (attn_c11)";
    return success();
  }
  if (attribute.getName() == kArgumentLength) {
    auto range = function ? function.getArgAttrOfType<DenseI64ArrayAttr>(number, kArgumentRange) : DenseI64ArrayAttr();
    if (!type || !type.getElementType().isInteger(32) || type.getShape() != ArrayRef<int64_t>{1} || !range ||
        range.size() != 2 || range[0] != 1)
      return op->emitOpError() << "argument #" << number
                               << " is a length, but no tensor<1xi32> with a range from 1 (attn_c11)";
    return success();
  }
  if (attribute.getName() == kArgumentConst) {
    auto has = [&](StringRef name) { return function && function.getArgAttr(number, name); };
    if (!isa<UnitAttr>(attribute.getValue()) || !type || has(kArgumentOrigin) || has(kArgumentLength))
      return op->emitOpError()
             << "argument #" << number << " has attn.const = " << attribute.getValue()
             << "; expected a unit attribute of a tensor that is neither origin nor length (attn_c14)";
    return success();
  }
  if (attribute.getName() == kRangeEnds) {
    if (!areRangeEnds(attribute.getValue()) || !function || !function.getArgAttr(number, kArgumentRange))
      return op->emitOpError() << "argument #" << number << " has a range with the ends " << attribute.getValue()
                               << "; expected two numbers or expressions of lengths beside attn.range (attn_c15)";
    return success();
  }
  if (attribute.getName() != kArgumentRange)
    return success();
  auto range = dyn_cast<DenseI64ArrayAttr>(attribute.getValue());
  if (!range || range.size() != 2 || range[0] > range[1] || range[0] < INT32_MIN || range[1] > INT32_MAX)
    return op->emitOpError() << "argument #" << number << " has the range " << attribute.getValue()
                             << "; expected array<i64: low, high>, low <= high, both within 32 bits (attn_c9)";
  if (!type || !type.getElementType().isInteger(32))
    return op->emitOpError() << "argument #" << number << " has a range, but is no tensor of i32 (attn_c9)";
  return success();
}
