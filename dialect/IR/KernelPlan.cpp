// Writes the kernel plan as the module's attribute #attn.plan, and reads it back.
#include "dialect/IR/KernelPlan.h"
#include "dialect/IR/Attn.h"
#include "dialect/IR/RangeEnds.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/BuiltinTypes.h"

using namespace mlir;
using namespace skewer;

int64_t skewer::bytesOf(ElementType type) {
  // In the order of ElementType.
  static constexpr int64_t bytes[] = {4, 2, 2, 4, 1, 1};
  return bytes[static_cast<size_t>(type)];
}

const char *skewer::nameOf(ElementType type) {
  // In the order of ElementType.
  static constexpr const char *names[] = {"f32", "f16", "bf16", "i32", "i8", "f8e4m3"};
  return names[static_cast<size_t>(type)];
}

bool skewer::mayBeResult(ElementType type) {
  return type == ElementType::F32 || type == ElementType::F16 || type == ElementType::BF16;
}

Type skewer::typeOf(ElementType type, MLIRContext *context) {
  switch (type) {
  case ElementType::F16:
    return Float16Type::get(context);
  case ElementType::BF16:
    return BFloat16Type::get(context);
  case ElementType::I32:
    return IntegerType::get(context, 32);
  case ElementType::I8:
    return IntegerType::get(context, 8);
  case ElementType::F8E4M3:
    return Float8E4M3FNType::get(context);
  case ElementType::F32:
    break;
  }
  return Float32Type::get(context);
}

std::optional<ElementType> skewer::elementNamedBy(Type type) {
  for (auto element : {ElementType::F32, ElementType::F16, ElementType::BF16, ElementType::I32, ElementType::I8,
                       ElementType::F8E4M3})
    if (type == typeOf(element, type.getContext()))
      return element;
  return std::nullopt;
}

std::vector<std::string> skewer::sizesIn(StringRef name) {
  auto expression = subscript::parse(std::string_view(name));
  if (!expression)
    return {};
  std::set<std::string> symbols = subscript::symbolsOf(*expression);
  return {symbols.begin(), symbols.end()};
}

std::optional<int64_t> skewer::valueOf(StringRef name, const std::map<std::string, int64_t> &sizes) {
  auto expression = subscript::parse(std::string_view(name));
  return expression ? subscript::evaluate(*expression, sizes) : std::nullopt;
}

IndexRange skewer::rangeAt(const IndexRange &range, const std::map<std::string, int64_t> &sizes) {
  if (range.ends.empty())
    return range;
  auto at = [&](const Extent &end) { return end.name.empty() ? std::optional(end.fixed) : valueOf(end.name, sizes); };
  return {at(range.ends[0]).value_or(range.low), at(range.ends[1]).value_or(range.high)};
}

bool KernelPlan::hasConst() const {
  return llvm::any_of(inputs, [](const TensorArgument &input) { return input.isConst; });
}

std::optional<int64_t> KernelPlan::boundOf(StringRef size) const {
  for (const TensorArgument &input : inputs)
    if (input.isLength && input.name == size && input.range)
      return input.range->high;
  return std::nullopt;
}

std::optional<int64_t> KernelPlan::boundOf(const Extent &extent) const {
  if (extent.name.empty())
    return extent.fixed;
  std::map<std::string, int64_t> bounds;
  for (const std::string &size : sizesIn(extent.name))
    if (auto bound = boundOf(size))
      bounds[size] = *bound;
  return valueOf(extent.name, bounds);
}

namespace {
//===- Writing ----------------------------------------------------------------===//
struct Writer {
  MLIRContext *context;
  Builder builder{context};

  SmallVector<StringAttr> strings(const std::vector<std::string> &values) {
    return llvm::map_to_vector(values, [&](const std::string &value) { return builder.getStringAttr(value); });
  }
  SmallVector<Attribute> extents(const std::vector<Extent> &values) {
    return llvm::map_to_vector(values, [&](const Extent &extent) {
      return extent.name.empty() ? Attribute(builder.getI64IntegerAttr(extent.fixed))
                                 : Attribute(builder.getStringAttr(extent.name));
    });
  }
  attn::ArgumentAttr argument(const TensorArgument &argument) {
    return attn::ArgumentAttr::get(
        context, argument.name, typeOf(argument.type, context), extents(argument.shape),
        argument.range ? builder.getDenseI64ArrayAttr({argument.range->low, argument.range->high}) : nullptr,
        argument.deviation ? builder.getF64FloatAttr(*argument.deviation) : nullptr,
        argument.mean ? builder.getF64FloatAttr(*argument.mean) : nullptr,
        argument.between ? builder.getDenseF64ArrayAttr({argument.between->first, argument.between->second}) : nullptr,
        argument.origin ? builder.getI64IntegerAttr(*argument.origin) : nullptr,
        argument.isLength ? builder.getUnitAttr() : nullptr, argument.isConst ? builder.getUnitAttr() : nullptr);
  }
  attn::SizeAttr size(const SizeExpression &size) { return attributeOf(context, size); }
  attn::PhaseAttr phase(const Phase &phase) {
    return attn::PhaseAttr::get(context, phase.function, phase.title, size(phase.items), phase.prepares);
  }
  attn::StageAttr stage(const StagePlan &stage) {
    return attn::StageAttr::get(context, stage.title, stage.line, size(stage.bytes));
  }
};

//===- Reading ----------------------------------------------------------------===//
std::vector<std::string> textsOf(ArrayRef<StringAttr> names) {
  std::vector<std::string> texts;
  for (StringAttr name : names)
    texts.push_back(name.str());
  return texts;
}
TensorArgument read(attn::ArgumentAttr argument) {
  TensorArgument result;
  result.name = argument.getName().str();
  result.type = elementTypeOf(argument.getType());
  result.shape = extentsOf(argument.getShape());
  if (DenseI64ArrayAttr range = argument.getRange())
    result.range = IndexRange{range[0], range[1]};
  if (FloatAttr deviation = argument.getDeviation())
    result.deviation = deviation.getValueAsDouble();
  if (FloatAttr mean = argument.getMean())
    result.mean = mean.getValueAsDouble();
  if (DenseF64ArrayAttr between = argument.getBetween())
    result.between = {between[0], between[1]};
  if (IntegerAttr origin = argument.getOrigin())
    result.origin = static_cast<unsigned>(origin.getInt());
  result.isLength = static_cast<bool>(argument.getLength());
  result.isConst = static_cast<bool>(argument.getIsConst());
  return result;
}
} // namespace

attn::SizeAttr skewer::attributeOf(MLIRContext *context, const SizeExpression &size) {
  return attn::SizeAttr::get(context, size.fixed, size.scaled, Writer{context}.strings(size.factors));
}

SizeExpression skewer::sizeOf(attn::SizeAttr size) {
  return {size.getFixed(), size.getScaled(), textsOf(size.getFactors())};
}

LogicalResult skewer::attachPlan(ModuleOp module, const KernelPlan &plan) {
  MLIRContext *context = module.getContext();
  Writer writer{context};
  auto argument = [&](const TensorArgument &argument) { return writer.argument(argument); };
  auto stage = [&](const StagePlan &stage) { return writer.stage(stage); };
  auto phase = [&](const Phase &phase) { return writer.phase(phase); };
  auto attribute = attn::PlanAttr::getChecked([&] { return module.emitError(); }, context, StringRef(plan.name),
                                              ArrayRef<attn::ArgumentAttr>(llvm::map_to_vector(plan.inputs, argument)),
                                              ArrayRef<attn::ArgumentAttr>(llvm::map_to_vector(plan.outputs, argument)),
                                              ArrayRef<StringAttr>(writer.strings(plan.sizes)),
                                              ArrayRef<attn::StageAttr>(llvm::map_to_vector(plan.stages, stage)),
                                              ArrayRef<attn::PhaseAttr>(llvm::map_to_vector(plan.phases, phase)),
                                              writer.size(plan.sharedBytes), plan.localBytes, plan.preparedBytes);
  if (attribute)
    module->setAttr(attn::kPlan, attribute);
  NamedAttrList ends; // ends that depend on lengths, by operand name
  for (const TensorArgument &input : plan.inputs)
    if (input.range && !input.range->ends.empty())
      ends.append(input.name, writer.builder.getArrayAttr(writer.extents(input.range->ends)));
  if (!ends.empty())
    module->setAttr(attn::kRangeEnds, ends.getDictionary(context));
  return success(attribute != nullptr);
}

std::optional<KernelPlan> skewer::planOf(ModuleOp module) {
  auto attribute = module->getAttrOfType<attn::PlanAttr>(attn::kPlan);
  if (!attribute)
    return std::nullopt;
  KernelPlan plan;
  plan.name = attribute.getName().str();
  for (attn::ArgumentAttr input : attribute.getInputs())
    plan.inputs.push_back(read(input));
  if (auto ends = module->getAttrOfType<DictionaryAttr>(attn::kRangeEnds))
    for (TensorArgument &input : plan.inputs)
      if (auto own = ends.getAs<ArrayAttr>(input.name); own && input.range)
        input.range->ends = extentsOf(own.getValue());
  for (attn::ArgumentAttr output : attribute.getOutputs())
    plan.outputs.push_back(read(output));
  plan.sizes = textsOf(attribute.getSizes());
  for (attn::StageAttr stage : attribute.getStages())
    plan.stages.push_back({stage.getTitle().str(), static_cast<unsigned>(stage.getLine()), sizeOf(stage.getBytes())});
  for (attn::PhaseAttr phase : attribute.getPhases())
    plan.phases.push_back(
        {phase.getFunction().str(), phase.getTitle().str(), sizeOf(phase.getItems()), phase.getPrepares()});
  plan.sharedBytes = sizeOf(attribute.getSharedBytes());
  plan.localBytes = attribute.getLocalBytes();
  plan.preparedBytes = attribute.getPreparedBytes();
  return plan;
}
