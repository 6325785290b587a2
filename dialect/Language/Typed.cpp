// Properties that a typed kernel computes about itself: unused tensors, possible reads, sizes of its einsums' axes.
#include "dialect/Language/Typed.h"

using namespace llvm;

namespace skewer::language::typed {
using subscript::AxisSizes;
using subscript::Expr;

Einsum::Einsum(std::string written, AxisSizes sizes, std::optional<Expr> guard)
    : text(std::move(written)), sizes(std::move(sizes)), guard(std::move(guard)) {
  if (auto parsed = subscript::parseEinsum(text))
    spec = std::move(*parsed);
}

Tensor *Kernel::append(Tensor tensor) {
  for (Tensor *operand : tensor.operands)
    ++operand->uses;
  return tensors.emplace_back(std::make_unique<Tensor>(std::move(tensor))).get();
}

void Kernel::eraseUnused() {
  for (auto &tensor : llvm::reverse(tensors))
    if (tensor->uses == 0) {
      for (Tensor *operand : tensor->operands)
        --operand->uses;
      llvm::erase_if(names, [&](const Name &name) { return name.tensor == tensor.get(); });
      tensor.reset();
    }
  llvm::erase(tensors, nullptr);
}

bool Kernel::hasRuntimeSize(const std::string &name) const {
  return llvm::any_of(operands, [&](const Operand &operand) {
    return llvm::any_of(operand.dimensions, [&](const Dimension &d) { return d.runtime == name; });
  });
}

const Operand *Kernel::indexOperand(StringRef name) const {
  auto found = llvm::find_if(
      operands, [&](const Operand &operand) { return operand.name == name && operand.element == Element::I32; });
  return found == operands.end() ? nullptr : &*found;
}

void Kernel::addRanges(subscript::Domain &domain) const {
  for (const Operand &operand : operands)
    if (operand.range)
      domain[subscript::elementsOf(operand.name.str())] = *operand.range;
  for (const Origin &origin : origins)
    domain[subscript::elementsOf(origin.name.str())] = origin.range;
}

static std::vector<int64_t> shapeOf(const Tensor &tensor) {
  std::vector<int64_t> shape;
  for (const Dimension &d : tensor.dimensions)
    shape.push_back(d.size);
  return shape;
}

std::optional<AxisSizes> Kernel::sizesOf(const Tensor &tensor) const {
  const Einsum &einsum = *tensor.as<Einsum>();
  std::vector<std::vector<int64_t>> shapes;
  for (const Tensor *operand : tensor.operands)
    shapes.push_back(shapeOf(*operand));
  AxisSizes given = einsum.sizes;
  std::set<std::string> known;
  for (const subscript::Dimensions &operand : einsum.spec.operands)
    known.merge(subscript::axesOf(operand));
  for (const subscript::Dimensions &operand : einsum.spec.operands)
    for (const subscript::Dimension &dimension : operand)
      for (const Expr &read : subscript::readNodes(dimension.index))
        if (const Operand *index = indexOperand(read.name()))
          for (auto [at, own] : llvm::zip(read.operands(), index->dimensions))
            if (at.isSymbol() && !known.count(at.name()))
              given.insert({at.name(), own.size});
  return subscript::resolveSizes(einsum.spec, shapes, given);
}

void sayTableOutside(Diagnostics &diagnostics, const Lookups &lookups, StringRef place,
                     const subscript::TableOutside &bad) {
  auto written = lookups.tables.find(bad.table.table());
  diagnostics.error(written == lookups.tables.end() ? place : written->second,
                    "a constant list is read outside its places");
  const Expr &row = bad.table.operands()[0];
  std::string places = "it has places 0.." + std::to_string(bad.table.table().size() - 1);
  if (bad.proof.outcome != subscript::Proof::Refuted)
    diagnostics.note(places + ", and " + subscript::abbreviateTables(subscript::print(row)) +
                     " is not proven to stay there");
  else
    diagnostics.note(
        places + "; " +
        (row.isConstant() ? "this is place "
                          : "at " + language::describe(bad.proof.counterexample) + " it is read at ") +
        std::to_string(bad.proof.value));
}

attn::IndexMap indexMapOf(const Tensor &tensor) {
  std::vector<int64_t> input = shapeOf(*tensor.operands[0]), result = shapeOf(tensor);
  if (auto *pad = tensor.as<Pad>())
    return attn::indexMapOfPad(input, pad->low, pad->high, pad->value);
  if (auto *slice = tensor.as<Slice>())
    return attn::indexMapOfSlice(slice->offsets, slice->strides);
  return tensor.as<Skew>() ? attn::indexMapOfSkew(result) : attn::indexMapOfReshape(input, result);
}

StringRef nameOf(Function function) {
  // In the order of Function.
  static constexpr StringLiteral names[] = {"neg", "exp", "log",   "sqrt", "rsqrt", "tanh", "sin",
                                            "cos", "erf", "floor", "ceil", "round", "abs",  "+",
                                            "-",   "*",   "/",     "^",    "min",   "max"};
  return names[static_cast<size_t>(function)];
}

std::optional<Function> functionNamed(StringRef name) {
  static const StringMap<Function> functions = [] {
    StringMap<Function> all;
    for (int k = 0; k <= static_cast<int>(Function::Maximum); ++k)
      all.insert({nameOf(static_cast<Function>(k)), static_cast<Function>(k)});
    return all;
  }();
  auto found = functions.find(name);
  return found == functions.end() ? std::nullopt : std::optional(found->second);
}

StringRef nameOf(Element element) {
  // In the order of Element.
  static constexpr StringLiteral names[] = {"f32", "f16", "bf16", "i32", "i8", "f8e4m3"};
  return names[static_cast<size_t>(element)];
}

Element elementNamed(StringRef name) {
  for (Element element : {Element::F16, Element::BF16, Element::I32, Element::I8, Element::F8E4M3})
    if (nameOf(element) == name)
      return element;
  return Element::F32;
}

} // namespace skewer::language::typed
