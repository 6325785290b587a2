// Reads the signature of a function of level 1 to 3 from its type and the attributes of its arguments.
#include "dialect/IR/Attn.h"
#include "dialect/IR/KernelPlan.h"
#include "dialect/IR/RangeEnds.h"
#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/BuiltinTypes.h"

using namespace mlir;
using namespace skewer;

ElementType skewer::elementTypeOf(Type type) {
  auto tensor = dyn_cast<RankedTensorType>(type);
  Type element = tensor ? tensor.getElementType() : type;
  return elementNamedBy(element).value_or(ElementType::F32);
}

std::vector<Extent> skewer::extentsOf(ArrayRef<Attribute> attributes) {
  std::vector<Extent> result;
  for (Attribute attribute : attributes)
    if (auto name = dyn_cast<StringAttr>(attribute))
      result.push_back({name.str(), 1});
    else if (auto fixed = dyn_cast<IntegerAttr>(attribute))
      result.push_back({"", fixed.getInt()});
  return result;
}

/// Returns the stated shape, or the type's shape with its run-time dimensions named after the tensor.
static std::vector<Extent> shapeOf(ArrayAttr stated, Type type, const std::string &name) {
  if (stated)
    return extentsOf(stated.getValue());
  std::vector<Extent> result;
  if (auto tensor = dyn_cast<RankedTensorType>(type))
    for (auto [dimension, extent] : llvm::enumerate(tensor.getShape()))
      result.push_back(ShapedType::isDynamic(extent) ? Extent{name + "_" + std::to_string(dimension), 1}
                                                     : Extent{"", extent});
  return result;
}

/// Returns an input of a function from its type and attributes; absent attributes leave the defaults.
static TensorArgument inputOf(func::FuncOp function, unsigned index) {
  TensorArgument argument;
  Type type = function.getArgumentTypes()[index];
  auto name = function.getArgAttrOfType<StringAttr>(index, attn::kArgumentName);
  argument.name = name ? name.str() : "input" + std::to_string(index);
  argument.type = elementTypeOf(type);
  argument.shape = shapeOf(function.getArgAttrOfType<ArrayAttr>(index, "attn.shape"), type, argument.name);
  auto range = function.getArgAttrOfType<DenseI64ArrayAttr>(index, attn::kArgumentRange);
  if (range && range.size() == 2)
    argument.range = IndexRange{range[0], range[1]};
  auto ends = function.getArgAttrOfType<ArrayAttr>(index, attn::kRangeEnds);
  if (ends && argument.range)
    argument.range->ends = extentsOf(ends.getValue());
  if (auto deviation = function.getArgAttrOfType<FloatAttr>(index, attn::kArgumentDeviation))
    argument.deviation = deviation.getValueAsDouble();
  if (auto mean = function.getArgAttrOfType<FloatAttr>(index, attn::kArgumentMean))
    argument.mean = mean.getValueAsDouble();
  auto between = function.getArgAttrOfType<DenseF64ArrayAttr>(index, attn::kArgumentBetween);
  if (between && between.size() == 2)
    argument.between = {between[0], between[1]};
  if (auto origin = function.getArgAttrOfType<StringAttr>(index, attn::kArgumentOrigin))
    for (auto [word, known] : llvm::enumerate(kOrigins))
      if (origin.getValue() == known)
        argument.origin = static_cast<unsigned>(word);
  argument.isLength = static_cast<bool>(function.getArgAttr(index, attn::kArgumentLength));
  argument.isConst = static_cast<bool>(function.getArgAttr(index, attn::kArgumentConst));
  return argument;
}

/// Returns a result. Without a stated shape, a run-time dimension is the same dimension of the first input that has it.
static TensorArgument outputOf(func::FuncOp function, unsigned index, ArrayRef<TensorArgument> inputs) {
  TensorArgument output;
  Type type = function.getResultTypes()[index];
  auto name = function.getResultAttrOfType<StringAttr>(index, attn::kArgumentName);
  output.name = name ? name.str() : index == 0 ? "output" : "output" + std::to_string(index);
  output.type = elementTypeOf(type);
  auto stated = function.getResultAttrOfType<ArrayAttr>(index, "attn.shape");
  output.shape = shapeOf(stated, type, output.name);
  if (stated)
    return output;
  for (size_t d = 0; d < output.shape.size(); ++d)
    for (const TensorArgument &input : inputs)
      if (!output.shape[d].name.empty() && d < input.shape.size() && !input.shape[d].name.empty()) {
        output.shape[d] = input.shape[d];
        break;
      }
  return output;
}

KernelPlan skewer::signatureOf(func::FuncOp function) {
  KernelPlan plan;
  plan.name = function.getName().str();
  for (unsigned index = 0; index < function.getNumArguments(); ++index)
    plan.inputs.push_back(inputOf(function, index));
  for (unsigned index = 0; index < function.getNumResults(); ++index)
    plan.outputs.push_back(outputOf(function, index, plan.inputs));
  if (auto sizes = function->getAttrOfType<ArrayAttr>("attn.sizes"))
    for (Attribute size : sizes)
      if (auto name = dyn_cast<StringAttr>(size))
        plan.sizes.push_back(name.str());
  // A hand-written function may omit the list. Then the sizes are in order of appearance.
  for (const std::vector<TensorArgument> *side : {&plan.inputs, &plan.outputs})
    for (const TensorArgument &argument : *side)
      for (const Extent &extent : argument.shape)
        for (const std::string &size : sizesIn(extent.name))
          if (!llvm::is_contained(plan.sizes, size))
            plan.sizes.push_back(size);
  return plan;
}
