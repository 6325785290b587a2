// Returns index maps of views, and finds constants through them.
#include "passes/Fusion/Views.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/Matchers.h"
#include "passes/Analysis/AxisProducts.h"
#include "llvm/ADT/DenseMap.h"

using namespace mlir;
using namespace skewer;
using namespace skewer::attn;
using namespace skewer::subscript;

bool skewer::hasText(const Expr &e) {
  // A single expression of the program has at most 2^12 operations; composed expressions may double from map to map.
  constexpr size_t kMaximumRows = 1 << 18, kMaximumText = 1 << 15, kMaximumSize = 1 << 12;
  if (sizeOf(e) > kMaximumSize)
    return false;
  if (e.kind() == Kind::Table && (e.table().size() > kMaximumRows || print(e).size() > kMaximumText))
    return false;
  return llvm::all_of(e.operands(), [](const Expr &operand) { return hasText(operand); });
}

std::vector<Expr> skewer::mapIndices(size_t rank) {
  std::vector<Expr> indices;
  for (size_t d = 0; d < rank; ++d)
    indices.push_back(Expr::symbol("d" + std::to_string(d)));
  return indices;
}

bool skewer::isView(EinsumOp op) { return op.getInputs().size() == 1 && resolve(op).contracted.empty(); }

std::optional<skewer::attn::IndexMap> skewer::mapOf(Operation *op) {
  if (auto map = dyn_cast_or_null<IndexMapOpInterface>(op))
    return map.getIndexMap();
  auto einsum = dyn_cast_or_null<EinsumOp>(op);
  if (!einsum || !isView(einsum))
    return std::nullopt;
  ResolvedEinsum resolved = resolve(einsum);
  if (!resolved.spec.result)
    return std::nullopt;
  auto axes = axesAt(*resolved.spec.result, mapIndices(resolved.spec.result->size()), resolved.sizes);
  if (!axes)
    return std::nullopt;
  attn::IndexMap map;
  for (const Expr &subscript : resolved.subscripts[0])
    map.subscripts.push_back(substitute(subscript, *axes));
  if (resolved.guard)
    map.inside = substitute(*resolved.guard, *axes);
  return map;
}

skewer::attn::IndexMap skewer::mapAt(const attn::IndexMap &map, ArrayRef<Expr> indices) {
  Substitution here;
  for (auto [d, index] : llvm::enumerate(indices))
    here["d" + std::to_string(d)] = index;
  attn::IndexMap result{{}, substitute(map.inside, here), map.padding};
  for (const Expr &subscript : map.subscripts)
    result.subscripts.push_back(substitute(subscript, here));
  return result;
}

bool skewer::isNumberOfCall(PositionOp op) {
  auto expression = parse(std::string_view(op.getExpression()));
  auto type = cast<RankedTensorType>(op.getResult().getType());
  return expression && expression->isConstant() && type.getRank() == 1 && type.getDimSize(0) == 1;
}

using Numbers = llvm::DenseMap<Value, double>;

/// `known` holds sums and products that are numbers. One that several operations read is visited once; the second
/// operand is not visited if the first is no number.
static std::optional<double> splatValue(Value tensor, Numbers &known) {
  Operation *op = tensor.getDefiningOp();
  if (!op)
    return std::nullopt;
  DenseElementsAttr elements;
  if (matchPattern(tensor, m_Constant(&elements)) && elements.isSplat() && isa<FloatType>(elements.getElementType()))
    return elements.getSplatValue<APFloat>().convertToDouble();
  FloatAttr number;
  if (matchPattern(tensor, m_Constant(&number)))
    return number.getValueAsDouble();
  if (auto splat = dyn_cast<tensor::SplatOp>(op))
    return splatValue(splat.getInput(), known);
  if (auto position = dyn_cast<PositionOp>(op); position && !isNumberOfCall(position))
    if (auto expression = parse(std::string_view(position.getExpression())))
      if (Expr simple = simplify(*expression); simple.isConstant())
        return double(simple.value());
  if (auto map = mapOf(op); map && map->inside.isConstant(1))
    return splatValue(op->getOperand(0), known);
  if (isa<arith::NegFOp>(op))
    if (auto a = splatValue(op->getOperand(0), known))
      return -*a;
  if (isa<arith::AddFOp, arith::SubFOp, arith::MulFOp, arith::DivFOp>(op)) {
    if (auto found = known.find(tensor); found != known.end())
      return found->second;
    auto a = splatValue(op->getOperand(0), known);
    auto b = a ? splatValue(op->getOperand(1), known) : std::nullopt;
    if (a && b)
      return known[tensor] = isa<arith::AddFOp>(op)   ? *a + *b
                             : isa<arith::SubFOp>(op) ? *a - *b
                             : isa<arith::MulFOp>(op) ? *a * *b
                                                      : *a / *b;
  }
  return std::nullopt;
}

std::optional<double> skewer::splatValue(Value tensor) {
  Numbers known;
  return ::splatValue(tensor, known);
}
