// The kernel plan as an attribute of the module, and the signature that a level 1-3 function states.
#include "dialect/IR/KernelPlan.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/BuiltinTypes.h"

using namespace mlir;
using namespace skewer;

int64_t skewer::bytesOf(ElementType type) { return type == ElementType::F32 || type == ElementType::I32 ? 4 : 2; }

const char *skewer::nameOf(ElementType type) {
  switch (type) {
  case ElementType::F16:
    return "f16";
  case ElementType::BF16:
    return "bf16";
  case ElementType::I32:
    return "i32";
  case ElementType::F32:
    break;
  }
  return "f32";
}

namespace {
constexpr StringLiteral kPlan = "attn.plan";

//===- Writing ----------------------------------------------------------------===//
struct Writer {
  Builder builder;

  NamedAttribute entry(StringRef name, Attribute value) { return builder.getNamedAttr(name, value); }
  Attribute strings(const std::vector<std::string> &values) {
    SmallVector<StringRef> references(values.begin(), values.end());
    return builder.getStrArrayAttr(references);
  }
  /// As `attn.shape`: an integer for a fixed extent, a string for a run-time size.
  Attribute shape(const std::vector<Extent> &extents) {
    SmallVector<Attribute> entries;
    for (const Extent &extent : extents)
      entries.push_back(extent.name.empty() ? Attribute(builder.getI64IntegerAttr(extent.fixed))
                                            : Attribute(builder.getStringAttr(extent.name)));
    return builder.getArrayAttr(entries);
  }
  Attribute argument(const TensorArgument &argument) {
    SmallVector<NamedAttribute> entries = {entry("name", builder.getStringAttr(argument.name)),
                                           entry("shape", shape(argument.shape)),
                                           entry("type", builder.getStringAttr(nameOf(argument.type)))};
    if (argument.origin)
      entries.push_back(entry("origin", builder.getI64IntegerAttr(*argument.origin)));
    if (argument.range)
      entries.push_back(entry("range", builder.getDenseI64ArrayAttr({argument.range->low, argument.range->high})));
    if (argument.deviation)
      entries.push_back(entry("deviation", builder.getF64FloatAttr(*argument.deviation)));
    return builder.getDictionaryAttr(entries);
  }
  Attribute size(const SizeExpression &size) {
    return builder.getDictionaryAttr({entry("factors", strings(size.factors)),
                                      entry("fixed", builder.getI64IntegerAttr(size.fixed)),
                                      entry("scaled", builder.getI64IntegerAttr(size.scaled))});
  }
  Attribute phase(const Phase &phase) {
    return builder.getDictionaryAttr({entry("function", builder.getStringAttr(phase.function)),
                                      entry("items", size(phase.items)),
                                      entry("title", builder.getStringAttr(phase.title))});
  }
  Attribute stage(const StagePlan &stage) {
    return builder.getDictionaryAttr({entry("bytes", size(stage.bytes)),
                                      entry("line", builder.getI64IntegerAttr(stage.line)),
                                      entry("title", builder.getStringAttr(stage.title))});
  }
  template <typename Range, typename Function> Attribute list(const Range &range, Function function) {
    SmallVector<Attribute> entries;
    for (const auto &item : range)
      entries.push_back(function(item));
    return builder.getArrayAttr(entries);
  }
};

//===- Reading ----------------------------------------------------------------===//
std::string text(DictionaryAttr dictionary, StringRef name) {
  auto value = dictionary ? dictionary.getAs<StringAttr>(name) : StringAttr();
  return value ? value.str() : std::string();
}
int64_t number(DictionaryAttr dictionary, StringRef name) {
  auto value = dictionary ? dictionary.getAs<IntegerAttr>(name) : IntegerAttr();
  return value ? value.getInt() : 0;
}
ArrayRef<Attribute> list(DictionaryAttr dictionary, StringRef name) {
  auto value = dictionary ? dictionary.getAs<ArrayAttr>(name) : ArrayAttr();
  return value ? value.getValue() : ArrayRef<Attribute>();
}
std::vector<std::string> strings(ArrayRef<Attribute> attributes) {
  std::vector<std::string> result;
  for (Attribute attribute : attributes)
    if (auto value = dyn_cast<StringAttr>(attribute))
      result.push_back(value.str());
  return result;
}
std::vector<Extent> shape(ArrayRef<Attribute> attributes) {
  std::vector<Extent> result;
  for (Attribute attribute : attributes)
    if (auto name = dyn_cast<StringAttr>(attribute))
      result.push_back({name.str(), 1});
    else if (auto fixed = dyn_cast<IntegerAttr>(attribute))
      result.push_back({"", fixed.getInt()});
  return result;
}
ElementType elementType(StringRef name) {
  return name == "f16"    ? ElementType::F16
         : name == "bf16" ? ElementType::BF16
         : name == "i32"  ? ElementType::I32
                          : ElementType::F32;
}
std::optional<IndexRange> range(DenseI64ArrayAttr stated) {
  return stated && stated.size() == 2 ? std::optional<IndexRange>({stated[0], stated[1]}) : std::nullopt;
}
std::optional<double> deviation(FloatAttr stated) {
  return stated ? std::optional<double>(stated.getValueAsDouble()) : std::nullopt;
}
TensorArgument argument(DictionaryAttr dictionary) {
  TensorArgument result;
  result.name = text(dictionary, "name");
  result.type = elementType(text(dictionary, "type"));
  result.shape = shape(list(dictionary, "shape"));
  if (dictionary && dictionary.contains("origin"))
    result.origin = static_cast<unsigned>(number(dictionary, "origin"));
  result.range = range(dictionary ? dictionary.getAs<DenseI64ArrayAttr>("range") : DenseI64ArrayAttr());
  result.deviation = deviation(dictionary ? dictionary.getAs<FloatAttr>("deviation") : FloatAttr());
  return result;
}
SizeExpression size(DictionaryAttr dictionary, StringRef name) {
  auto value = dictionary ? dictionary.getAs<DictionaryAttr>(name) : DictionaryAttr();
  return {number(value, "fixed"), number(value, "scaled"), strings(list(value, "factors"))};
}

//===- From a function --------------------------------------------------------===//
ElementType elementType(Type type) {
  auto tensor = dyn_cast<RankedTensorType>(type);
  Type element = tensor ? tensor.getElementType() : type;
  return element.isF16()         ? ElementType::F16
         : element.isBF16()      ? ElementType::BF16
         : element.isInteger(32) ? ElementType::I32
                                 : ElementType::F32;
}
/// The stated shape, or the type's with its run-time dimensions named after the tensor.
std::vector<Extent> shapeOf(ArrayAttr stated, Type type, const std::string &name) {
  if (stated)
    return shape(stated.getValue());
  std::vector<Extent> result;
  if (auto tensor = dyn_cast<RankedTensorType>(type))
    for (auto [dimension, extent] : llvm::enumerate(tensor.getShape()))
      result.push_back(ShapedType::isDynamic(extent) ? Extent{name + "_" + std::to_string(dimension), 1}
                                                     : Extent{"", extent});
  return result;
}
} // namespace

void skewer::attachPlan(ModuleOp module, const KernelPlan &plan) {
  Writer writer{Builder(module.getContext())};
  Builder &builder = writer.builder;
  module->setAttr(kPlan,
                  builder.getDictionaryAttr(
                      {writer.entry("inputs", writer.list(plan.inputs, [&](auto &a) { return writer.argument(a); })),
                       writer.entry("localBytes", builder.getI64IntegerAttr(plan.localBytes)),
                       writer.entry("name", builder.getStringAttr(plan.name)),
                       writer.entry("outputs", writer.list(plan.outputs, [&](auto &a) { return writer.argument(a); })),
                       writer.entry("phases", writer.list(plan.phases, [&](auto &p) { return writer.phase(p); })),
                       writer.entry("sharedBytes", writer.size(plan.sharedBytes)),
                       writer.entry("sizes", writer.strings(plan.sizes)),
                       writer.entry("stages", writer.list(plan.stages, [&](auto &s) { return writer.stage(s); }))}));
}

std::optional<KernelPlan> skewer::planOf(ModuleOp module) {
  auto dictionary = module->getAttrOfType<DictionaryAttr>(kPlan);
  if (!dictionary)
    return std::nullopt;
  KernelPlan plan;
  plan.name = text(dictionary, "name");
  for (Attribute input : list(dictionary, "inputs"))
    plan.inputs.push_back(argument(dyn_cast<DictionaryAttr>(input)));
  for (Attribute output : list(dictionary, "outputs"))
    plan.outputs.push_back(argument(dyn_cast<DictionaryAttr>(output)));
  plan.sizes = strings(list(dictionary, "sizes"));
  for (Attribute attribute : list(dictionary, "stages")) {
    auto stage = dyn_cast<DictionaryAttr>(attribute);
    plan.stages.push_back({text(stage, "title"), static_cast<unsigned>(number(stage, "line")), size(stage, "bytes")});
  }
  for (Attribute attribute : list(dictionary, "phases")) {
    auto phase = dyn_cast<DictionaryAttr>(attribute);
    plan.phases.push_back({text(phase, "function"), text(phase, "title"), size(phase, "items")});
  }
  plan.sharedBytes = size(dictionary, "sharedBytes");
  plan.localBytes = number(dictionary, "localBytes");
  return plan;
}

KernelPlan skewer::signatureOf(func::FuncOp function) {
  KernelPlan plan;
  plan.name = function.getName().str();
  FunctionType type = function.getFunctionType();
  for (auto [index, input] : llvm::enumerate(type.getInputs())) {
    auto name = function.getArgAttrOfType<StringAttr>(index, "attn.name");
    TensorArgument argument;
    argument.name = name ? name.str() : "input" + std::to_string(index);
    argument.type = elementType(input);
    argument.shape = shapeOf(function.getArgAttrOfType<ArrayAttr>(index, "attn.shape"), input, argument.name);
    argument.range = range(function.getArgAttrOfType<DenseI64ArrayAttr>(index, "attn.range"));
    argument.deviation = deviation(function.getArgAttrOfType<FloatAttr>(index, "attn.deviation"));
    if (auto origin = function.getArgAttrOfType<StringAttr>(index, "attn.origin"))
      for (auto [word, known] : llvm::enumerate(kOrigins))
        if (origin.getValue() == known)
          argument.origin = static_cast<unsigned>(word);
    plan.inputs.push_back(std::move(argument));
  }
  for (auto [index, result] : llvm::enumerate(type.getResults())) {
    auto name = function.getResultAttrOfType<StringAttr>(index, "attn.name");
    TensorArgument output;
    output.name = name ? name.str() : index == 0 ? "output" : "output" + std::to_string(index);
    output.type = elementType(result);
    auto stated = function.getResultAttrOfType<ArrayAttr>(index, "attn.shape");
    output.shape = shapeOf(stated, result, output.name);
    // Without a statement a run-time dimension of the result is the same one of the first input that has it.
    if (!stated)
      for (size_t d = 0; d < output.shape.size(); ++d)
        for (const TensorArgument &input : plan.inputs)
          if (!output.shape[d].name.empty() && d < input.shape.size() && !input.shape[d].name.empty()) {
            output.shape[d] = input.shape[d];
            break;
          }
    plan.outputs.push_back(std::move(output));
  }
  if (auto sizes = function->getAttrOfType<ArrayAttr>("attn.sizes"))
    plan.sizes = strings(sizes.getValue());
  // A hand-written function may leave the list out: then the sizes in order of appearance.
  auto note = [&](const TensorArgument &argument) {
    for (const Extent &extent : argument.shape)
      if (!extent.name.empty() && !llvm::is_contained(plan.sizes, extent.name))
        plan.sizes.push_back(extent.name);
  };
  for (const TensorArgument &input : plan.inputs)
    note(input);
  for (const TensorArgument &output : plan.outputs)
    note(output);
  return plan;
}
