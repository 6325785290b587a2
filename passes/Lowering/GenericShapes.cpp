// What the generic path knows before it emits code: the shape of every tensor, and where each lies in the workspace.
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "passes/Lowering/GenericKernel.h"
#include "llvm/ADT/TypeSwitch.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace skewer;
using namespace skewer::generic;
using subscript::kRuntime;

std::optional<std::map<std::string, Extent>> Kernel::extentsOf(const attn::ResolvedEinsum &resolved,
                                                               ValueRange operands) {
  std::map<std::string, Extent> extents;
  for (const auto &[axis, size] : resolved.sizes)
    if (size != kRuntime)
      extents[axis] = {"", size};
  for (size_t k = 0; k < resolved.spec.operands.size() && k < operands.size(); ++k) {
    const std::vector<Extent> &shape = storage[operands[k]].shape;
    for (size_t d = 0; d < resolved.spec.operands[k].size() && d < shape.size(); ++d)
      if (resolved.spec.operands[k][d].isAxis())
        extents.insert({resolved.spec.operands[k][d].axes[0], shape[d]});
  }
  for (const std::string &axis : resolved.spec.axes())
    if (!extents.count(axis))
      return std::nullopt;
  return extents;
}

std::optional<std::vector<Extent>> Kernel::extentsOf(const subscript::Dimensions &dimensions,
                                                     const std::map<std::string, Extent> &extents) {
  std::vector<Extent> shape;
  for (const subscript::Dimension &dimension : dimensions) {
    Extent whole{"", 1};
    for (const std::string &axis : dimension.axes) {
      const Extent &one = extents.at(axis);
      if (one.name.empty() && whole.name.empty())
        whole.fixed *= one.fixed;
      else if (dimension.axes.size() == 1)
        whole = one;
      else
        return std::nullopt;
    }
    shape.push_back(whole);
  }
  return shape;
}

std::optional<std::vector<Extent>> Kernel::shapeOf(Operation *op) {
  auto type = cast<RankedTensorType>(op->getResult(0).getType());
  std::vector<Extent> shape;
  for (int64_t size : type.getShape())
    shape.push_back({"", size});
  if (type.hasStaticShape())
    return shape;
  auto throughSpec = [&](const std::optional<attn::ResolvedEinsum> &resolved,
                         ValueRange operands) -> std::optional<std::vector<Extent>> {
    if (!resolved || !resolved->spec.result)
      return std::nullopt;
    auto extents = extentsOf(*resolved, operands);
    return extents ? extentsOf(*resolved->spec.result, *extents) : std::nullopt;
  };
  if (auto einsum = dyn_cast<attn::EinsumOp>(op))
    return throughSpec(resolve(einsum), einsum.getInputs());
  if (auto rearrange = dyn_cast<attn::RearrangeOp>(op))
    return throughSpec(attn::resolve(rearrange.getSpec(), rearrange->getOperands(), rearrange.getSizesAttr(), {}),
                       rearrange->getOperands());
  if (auto attention = dyn_cast<attn::AttentionOp>(op)) {
    attn::ScoreSpace space = attn::scoreSpace(attention);
    auto resolved = attn::resolve(attention.getValueSpec(), attention->getOperands(),
                                  attn::sizesTo(op->getContext(), space.sizes), {});
    return throughSpec(resolved, attention->getOperands());
  }
  if (auto splat = dyn_cast<tensor::SplatOp>(op)) {
    size_t next = 0;
    for (Extent &extent : shape) {
      if (!ShapedType::isDynamic(extent.fixed))
        continue;
      auto dimension = splat.getDynamicSizes()[next++].getDefiningOp<tensor::DimOp>();
      auto index = dimension ? dimension.getConstantIndex() : std::nullopt;
      if (!index || !storage.count(dimension.getSource()))
        return std::nullopt;
      extent = storage[dimension.getSource()].shape[*index];
    }
    return shape;
  }
  // What is left keeps run-time sizes where they were.
  size_t source = 0;
  while (source < op->getNumOperands() && !storage.count(op->getOperand(source)))
    ++source;
  if (source == op->getNumOperands())
    return std::nullopt;
  const std::vector<Extent> &input = storage[op->getOperand(source)].shape;
  auto gather = dyn_cast<attn::GatherOp>(op);
  int64_t added = gather ? cast<ShapedType>(gather.getIndices().getType()).getRank() - 1 : 0;
  for (size_t d = 0; d < shape.size(); ++d) {
    if (!ShapedType::isDynamic(shape[d].fixed))
      continue;
    size_t from = gather && d > gather.getDimension() ? d - added : d;
    if (from >= input.size() || input[from].name.empty())
      return std::nullopt;
    shape[d] = input[from];
  }
  return shape;
}

/// Zeros of the result that stand for what a mask took away.
static bool keepsMask(Operation *op, const llvm::DenseMap<Value, Storage> &storage) {
  auto masked = [&](Value operand) {
    auto found = storage.find(operand);
    return found != storage.end() && found->second.masked;
  };
  return llvm::TypeSwitch<Operation *, bool>(op)
      .Case([](attn::SoftmaxOp softmax) { return softmax.getMask().has_value(); })
      .Case([](attn::AttentionOp) { return false; })
      .Case<attn::EinsumOp, arith::MulFOp>([&](Operation *o) { return llvm::any_of(o->getOperands(), masked); })
      .Case<arith::AddFOp, arith::SubFOp>([&](Operation *o) { return llvm::all_of(o->getOperands(), masked); })
      .Case<attn::IndexMapOpInterface, arith::DivFOp, arith::NegFOp, arith::ExtFOp, arith::TruncFOp>(
          [&](Operation *o) { return masked(o->getOperand(0)); })
      .Default([](Operation *) { return false; });
}

bool Kernel::describe(Operation *op) {
  auto type = dyn_cast<RankedTensorType>(op->getResult(0).getType());
  if (!type || !(type.getElementType().isF32() || type.getElementType().isF16() || type.getElementType().isBF16()))
    return fail(op, "the generic path takes tensors of f32, f16 and bf16");
  Storage described;
  auto shape = shapeOf(op);
  if (!shape)
    return fail(op, "a run-time size of the result is no operand's dimension");
  described.shape = std::move(*shape);
  described.element = type.getElementType();
  described.masked = keepsMask(op, storage);
  auto number = [](Attribute attribute) -> std::optional<double> {
    if (auto dense = dyn_cast_if_present<DenseFPElementsAttr>(attribute))
      return dense.isSplat()
                 ? std::optional<double>(
                       FloatAttr::get(dense.getElementType(), dense.getSplatValue<APFloat>()).getValueAsDouble())
                 : std::nullopt;
    if (auto scalar = dyn_cast_if_present<FloatAttr>(attribute))
      return scalar.getValueAsDouble();
    return std::nullopt;
  };
  if (auto constant = dyn_cast<arith::ConstantOp>(op)) {
    described.number = number(constant.getValue());
    if (!described.number && !isa<DenseFPElementsAttr>(constant.getValue()))
      return fail(op, "only dense constants are lowered");
  } else if (auto splat = dyn_cast<tensor::SplatOp>(op)) {
    auto scalar = splat.getInput().getDefiningOp<arith::ConstantOp>();
    described.number = scalar ? number(scalar.getValue()) : std::nullopt;
    if (!described.number)
      return fail(op, "only splats of constants are lowered");
  }
  storage[op->getResult(0)] = std::move(described);
  return true;
}

namespace {
/// A buffer's place in time and, once found, in space.
struct Interval {
  Storage *tensor;
  int64_t bytes;     // the fixed part
  bool scaled;       // times the product of the run-time sizes
  size_t begin, end; // operations, inclusive
  int64_t offset = 0;
};

/// The lowest offsets at which no two buffers that live together meet; returns the bytes needed.
int64_t place(std::vector<Interval> &intervals, bool scaled) {
  int64_t total = 0;
  std::vector<const Interval *> placed;
  for (Interval &interval : intervals) {
    if (interval.scaled != scaled)
      continue;
    std::vector<const Interval *> others;
    for (const Interval *other : placed)
      if (other->begin <= interval.end && interval.begin <= other->end)
        others.push_back(other);
    llvm::sort(others, [](const Interval *a, const Interval *b) { return a->offset < b->offset; });
    for (const Interval *other : others)
      if (interval.offset + interval.bytes > other->offset && other->offset + other->bytes > interval.offset)
        interval.offset = other->offset + other->bytes;
    total = std::max(total, interval.offset + interval.bytes);
    placed.push_back(&interval);
  }
  return total;
}
} // namespace

bool Kernel::planWorkspace() {
  Block &block = source.getBody().front();
  llvm::DenseMap<Operation *, size_t> order;
  for (Operation &op : block)
    order[&op] = order.size();
  std::vector<Interval> intervals;
  std::map<std::string, int> powers; // how often each run-time size is a factor
  bool overflow = false;
  auto reserve = [&](Storage &tensor, size_t begin, size_t end) {
    int64_t bytes = tensor.element.getIntOrFloatBitWidth() / 8;
    std::map<std::string, int> own;
    for (const Extent &extent : tensor.shape) {
      if (extent.name.empty())
        overflow |= __builtin_mul_overflow(bytes, extent.fixed, &bytes) || bytes > (int64_t(1) << 56);
      else
        powers[extent.name] = std::max(powers[extent.name], ++own[extent.name]);
    }
    intervals.push_back(
        {&tensor, static_cast<int64_t>(llvm::alignTo(overflow ? 0 : bytes, 64)), !own.empty(), begin, end});
  };
  for (Operation &op : block) {
    if (op.getNumResults() != 1 || !storage.count(op.getResult(0)))
      continue;
    Storage &tensor = storage[op.getResult(0)];
    if (auto row = scoreRows.find(&op); row != scoreRows.end())
      reserve(row->second, order[&op], order[&op]);
    if (tensor.number || isa<arith::ConstantOp>(op))
      continue;
    if (&op == last) {
      tensor.memory = output;
      continue;
    }
    size_t end = order[&op];
    for (Operation *user : op.getUsers()) {
      while (user->getBlock() != &block) // a term of an attention
        user = user->getParentOp();
      end = std::max(end, order[user]);
    }
    reserve(tensor, order[&op], end);
  }
  if (overflow)
    return fail(source, "an intermediate tensor is too large to address");
  int64_t fixed = place(intervals, false), scaled = place(intervals, true);
  plan.sharedBytes = {fixed, scaled, {}};
  Value factor = index(1);
  if (scaled)
    for (const auto &[name, power] : powers)
      for (int n = 0; n < power; ++n) {
        plan.sharedBytes.factors.push_back(name);
        factor = b.createOrFold<arith::MulIOp>(factor, sizes.at(name));
      }
  for (Interval &interval : intervals) {
    Value offset = index(interval.offset);
    if (interval.scaled)
      offset = b.createOrFold<arith::AddIOp>(index(fixed), b.createOrFold<arith::MulIOp>(offset, factor));
    auto type = MemRefType::get({ShapedType::kDynamic}, interval.tensor->element);
    interval.tensor->memory = memref::ViewOp::create(b, type, shared, offset, elements(interval.tensor->shape));
  }
  return true;
}
