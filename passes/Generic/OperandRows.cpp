// Emits rows of an attention's operands while they are packed, so that these operands need no buffer
// (PackedOperands.h). Part of Elements.h.
#include "dialect/Subscript/Analysis.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "passes/Generic/Elements.h"

using namespace mlir;
using namespace skewer;
using namespace skewer::generic;
using subscript::Expr;

/// Returns the places that the lanes read, relative to that of lane 0; nothing if they are unknown. The axis has
/// `vectorLanes` values in the domain.
std::optional<SmallVector<int64_t>> Elements::lanePattern(const Storage &tensor, const Point &point,
                                                          const std::string &axis) {
  SmallVector<int64_t> pattern(code.lanes, 0);
  int64_t first = domain.at(axis).low, stride = 1;
  for (size_t d = point.size(); d-- > 0;) {
    bool known = tensor.shape[d].name.empty();
    if (subscript::symbolsOf(point[d]).count(axis)) {
      if (stride == 0)
        return std::nullopt;
      auto at = [&](int64_t lane) { return subscript::substitute(point[d], {{axis, Expr(first + lane)}}); };
      for (int64_t lane = 1; lane < code.lanes; ++lane) {
        Expr apart = subscript::simplify(at(lane) - at(0), domain);
        if (!apart.isConstant())
          return std::nullopt;
        pattern[lane] += apart.value() * stride;
      }
    }
    stride = known ? stride * tensor.shape[d].fixed : 0;
  }
  return pattern;
}

Value Elements::loadPattern(const Storage &tensor, Value place, ArrayRef<int64_t> pattern) {
  int64_t low = *llvm::min_element(pattern), high = *llvm::max_element(pattern);
  auto lanes = static_cast<int64_t>(pattern.size());
  if (low == high)
    return code.spread(code.load(tensor, place));
  Value from = b.createOrFold<arith::AddIOp>(place, code.index(low));
  if (high - low < lanes) { // neighbours in any order, also repeated
    auto type = VectorType::get({high - low + 1}, tensor.element);
    Value near = code.widen(vector::LoadOp::create(b, type, tensor.memory, from));
    SmallVector<int64_t> order;
    bool inOrder = high - low + 1 == lanes;
    for (auto [lane, place] : llvm::enumerate(pattern)) {
      order.push_back(place - low);
      inOrder &= place - low == static_cast<int64_t>(lane);
    }
    return inOrder ? near : vector::ShuffleOp::create(b, near, near, order).getResult();
  }
  SmallVector<Value> elements;
  for (int64_t place : pattern)
    elements.push_back(code.load(tensor, b.createOrFold<arith::AddIOp>(from, code.index(place - low))));
  return vector::FromElementsOp::create(b, VectorType::get({lanes}, b.getF32Type()), elements);
}

/// Calls `body` with the part of a concatenation that contains the row beginning at element `first` of the whole, and
/// with the element at which the row begins in that part. `extent` gives the size of a dimension.
static void inPartOf(ImplicitLocOpBuilder &b, attn::ConcatOp concat, Value first,
                     llvm::function_ref<Value(Value tensor, size_t dimension)> extent,
                     llvm::function_ref<void(Value part, Value first)> body) {
  auto rank = static_cast<size_t>(cast<RankedTensorType>(concat.getType()).getRank());
  size_t along = concat.getDimension();
  auto index = [&](int64_t number) { return arith::ConstantIndexOp::create(b, number).getResult(); };
  Value row = extent(concat.getResult(), rank - 1), rest = b.createOrFold<arith::DivUIOp>(first, row);
  SmallVector<Value> indices(rank - 1);
  for (size_t d = rank - 1; d-- > 0;) {
    indices[d] = d ? b.createOrFold<arith::RemUIOp>(rest, extent(concat.getResult(), d)) : rest;
    rest = d ? b.createOrFold<arith::DivUIOp>(rest, extent(concat.getResult(), d)) : rest;
  }
  OpBuilder::InsertionGuard guard(b);
  Value within = indices[along];
  for (auto [number, part] : llvm::enumerate(concat.getInputs())) {
    Value count = extent(part, along);
    bool last = number + 1 == concat.getInputs().size();
    scf::IfOp branch;
    if (!last) {
      branch = scf::IfOp::create(b, arith::CmpIOp::create(b, arith::CmpIPredicate::ult, within, count), true);
      b.setInsertionPointToStart(branch.thenBlock());
    }
    Value flat = index(0);
    for (size_t d = 0; d + 1 < rank; ++d) {
      flat = b.createOrFold<arith::MulIOp>(flat, extent(part, d));
      flat = b.createOrFold<arith::AddIOp>(flat, d == along ? within : indices[d]);
    }
    body(part, b.createOrFold<arith::MulIOp>(flat, row));
    if (!last) {
      b.setInsertionPointToStart(branch.elseBlock());
      within = b.createOrFold<arith::SubIOp>(within, count);
    }
  }
}

static std::string rowIndex(size_t dimension) { return "row index " + std::to_string(dimension); }

Point Elements::rowPoint(const Storage &tensor) const {
  Point point;
  for (size_t d = 0; d + 1 < tensor.shape.size(); ++d)
    point.push_back(Expr::symbol(rowIndex(d)));
  point.push_back(Expr::symbol(kRowElement));
  return point;
}

Symbols Elements::rowSymbols(const Storage &tensor, Value first) {
  Symbols symbols;
  Value rest = b.createOrFold<arith::DivUIOp>(first, code.index(tensor.shape.back().fixed));
  for (size_t d = tensor.shape.size() - 1; d-- > 0;) {
    Value size = d > 0 ? code.extent(tensor.shape[d]) : Value();
    symbols[rowIndex(d)] = d > 0 ? b.createOrFold<arith::RemUIOp>(rest, size) : rest;
    if (d > 0)
      rest = b.createOrFold<arith::DivUIOp>(rest, size);
  }
  code.addRuntimeSymbols(symbols);
  return symbols;
}

void Elements::setRowDomain(const Storage &tensor) {
  for (size_t d = 0; d + 1 < tensor.shape.size(); ++d)
    if (tensor.shape[d].name.empty())
      domain[rowIndex(d)] = {0, tensor.shape[d].fixed - 1};
}

/// Sets target[at + d] = scale × element `first` + d of the tensor, for the row that begins at element `first`.
void Elements::computeRow(Value tensor, Value first, Value target, Value at, double scale, int64_t lanes) {
  Value whole = tensors.isStored(tensor) ? tensor : widenedFrom(tensor);
  if (auto concat = whole.getDefiningOp<attn::ConcatOp>(); concat && !tensors.isStored(whole))
    return inPartOf(
        b, concat, first, [&](Value of, size_t dimension) { return code.extent(tensors.storage[of].shape[dimension]); },
        [&](Value part, Value place) { computeRow(part, place, target, at, scale, lanes); });
  const Storage &described = tensors.storage[tensor];
  int64_t row = described.shape.back().fixed;
  const std::string axis = kRowElement;
  subscript::Domain outside = std::exchange(domain, {});
  setRowDomain(described);
  Point point = rowPoint(described);
  Symbols symbols = rowSymbols(described, first);
  int64_t before = std::exchange(code.lanes, lanes);
  bool wasPinned = std::exchange(pinned, true);
  auto put = [&](int64_t d, int64_t count) {
    domain[axis] = {d, d + count - 1};
    symbols[axis] = code.index(d);
    computed.clear();
    Value value = count > 1 ? element(tensor, point, symbols, axis) : element(tensor, point, symbols, "");
    if (!value) { // a diagnostic was emitted
      code.failure = "an operand cannot be computed while it is packed";
      return;
    }
    Value factor = code.real(scale);
    if (scale != 1)
      value = arith::MulFOp::create(b, value, count > 1 ? code.spread(factor) : factor);
    Value to = b.createOrFold<arith::AddIOp>(at, code.index(d));
    if (count > 1)
      vector::StoreOp::create(b, value, target, to);
    else
      memref::StoreOp::create(b, value, target, to);
  };
  int64_t done = 0;
  for (; done + lanes <= row; done += lanes) {
    domain[axis] = {done, done + lanes - 1};
    if (lanes > 1 && vectorises(tensor, point, axis))
      put(done, lanes);
    else
      for (int64_t lane = 0; lane < lanes; ++lane)
        put(done + lane, 1);
  }
  for (; done < row; ++done)
    put(done, 1);
  computed.clear();
  code.lanes = before;
  pinned = wasPinned;
  domain = std::move(outside);
}

bool Elements::differsAlongRow(Value tensor, const Point &point, Visited &visited) {
  if (tensors.storage[tensor].number)
    return false;
  if (tensors.isStored(tensor))
    return llvm::any_of(point, [&](const Expr &index) { return subscript::symbolsOf(index).count(kRowElement) > 0; });
  if (!isFirstVisit(visited, tensor, point)) // the first "yes" ends the walk
    return false;
  Operation *op = tensor.getDefiningOp();
  auto differs = [&](Value of, const Point &at) { return differsAlongRow(of, at, visited); };
  if (isMap(op)) {
    auto move = moved(op, point);
    return !move || subscript::symbolsOf(move->inside).count(kRowElement) ||
           llvm::any_of(move->reads, [&](const auto &read) { return differs(read.first, read.second); });
  }
  return !isArithmetic(op) || llvm::any_of(op->getOperands(), [&](Value operand) { return differs(operand, point); });
}

bool Elements::takeApart(Value tensor, const Point &point, ScaledRows &found) {
  if (tensors.storage[tensor].mayBeAbsent)
    return false;
  if (tensors.isStored(tensor)) {
    found.rows = {tensor, point};
    return true;
  }
  Operation *op = tensor.getDefiningOp();
  std::vector<std::pair<Value, Point>> factors;
  if (isMap(op)) {
    auto move = moved(op, point);
    if (!move || !move->inside.isConstant(1))
      return false;
    factors = std::move(move->reads);
  } else if (isWidening(op) || isa<arith::MulFOp>(op)) {
    for (Value operand : op->getOperands())
      factors.push_back({operand, point});
  }
  auto differs = [&](const auto &factor) {
    Visited visited;
    return differsAlongRow(factor.first, factor.second, visited);
  };
  if (llvm::count_if(factors, differs) != 1)
    return false;
  auto rows = llvm::find_if(factors, differs);
  for (auto factor = factors.begin(); factor != factors.end(); ++factor)
    if (factor != rows)
      found.scales.push_back(*factor);
  return takeApart(rows->first, rows->second, found);
}

std::optional<Elements::ScaledRows> Elements::scaledRows(Value tensor) {
  const Storage &described = tensors.storage[tensor];
  if (tensors.isStored(tensor) || described.shape.empty() || !described.shape.back().name.empty())
    return std::nullopt;
  ScaledRows found;
  Point point = rowPoint(described);
  if (!takeApart(tensor, point, found) || found.rows.second != point || found.scales.empty())
    return std::nullopt;
  const Storage &rows = tensors.storage[found.rows.first];
  bool isBounded = rows.element.isInteger(8) || rows.element.isF16() || isa<Float8E4M3FNType>(rows.element);
  bool isAligned = llvm::equal(rows.shape, described.shape, [](const Extent &one, const Extent &other) {
    return one.name == other.name && one.fixed == other.fixed;
  });
  return isBounded && isAligned ? std::optional(found) : std::nullopt;
}

Value Elements::scaledFrom(Value tensor) {
  subscript::Domain outside = std::exchange(domain, {});
  setRowDomain(tensors.storage[tensor]);
  auto found = scaledRows(tensor);
  domain = std::move(outside);
  return found ? found->rows.first : Value();
}

Value Elements::rowScale(Value tensor, Value first) {
  const Storage &described = tensors.storage[tensor];
  subscript::Domain outside = std::exchange(domain, {});
  setRowDomain(described);
  Symbols symbols = rowSymbols(described, first);
  Value product;
  computed.clear();
  auto found = scaledRows(tensor);
  if (!found) {
    code.failure = "the rows of an operand are not rows in memory times a number";
    found.emplace();
  }
  for (const auto &[scale, point] : found->scales) {
    Value factor = element(scale, point, symbols, "");
    if (!factor) { // a diagnostic was emitted
      code.failure = "the scale of a row cannot be computed while it is read";
      break;
    }
    product = product ? arith::MulFOp::create(b, product, factor).getResult() : factor;
  }
  computed.clear();
  domain = std::move(outside);
  return product ? product : code.real(1);
}
