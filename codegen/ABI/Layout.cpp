// Computes the names and the order of the fields of a kernel's argument struct, and checks that a plan can have one.
#include "codegen/ABI/Layout.h"
#include "codegen/ABI/Status.h"
#include "codegen/ABI/TakenNames.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringSet.h"
#include "llvm/Support/JSON.h"
#include "llvm/Support/MathExtras.h"
#include "llvm/Support/raw_ostream.h"

using namespace llvm;

namespace skewer {
namespace {

bool isName(StringRef name) {
  return !name.empty() && !isDigit(name.front()) && all_of(name, [](char c) { return isAlnum(c) || c == '_'; });
}

/// Returns whether a name may be part of the texts of the header and the manifest, where operands' names appear.
bool isText(StringRef name) {
  return json::isUTF8(name) &&
         none_of(name, [](unsigned char c) { return c < 32 || c == 127 || c == '"' || c == '\\'; });
}

Error checkTensor(const KernelPlan &plan, const TensorArgument &tensor) {
  if (!isText(tensor.name)) {
    std::string escaped;
    raw_string_ostream stream(escaped);
    printEscapedString(tensor.name, stream);
    return kernelError(plan, "the name of tensor '" + escaped +
                             "' has a quote, a backslash, a control character, or bytes that are not UTF-8; rename it");
  }
  int64_t bytes = bytesOf(tensor.type);
  for (const Extent &extent : tensor.shape) {
    if (!extent.name.empty()) {
      std::vector<std::string> sizes = sizesIn(extent.name);
      if (sizes.empty() || !all_of(sizes, [&](const std::string &size) { return is_contained(plan.sizes, size); }))
        return kernelError(plan, "tensor '" + tensor.name + "' has the size '" + extent.name +
                                 "', which is not one of the run-time sizes; declare it with 'size'");
      continue;
    }
    if (extent.fixed < 1)
      return kernelError(plan, "tensor '" + tensor.name + "' has a dimension of " + Twine(extent.fixed) +
                               " elements; every dimension needs at least 1");
    if (MulOverflow(bytes, extent.fixed, bytes))
      return kernelError(plan, "tensor '" + tensor.name + "' is larger than 2^63 bytes");
  }
  return Error::success();
}

Error checkExpression(const KernelPlan &plan, const SizeExpression &size, const Twine &what) {
  if (size.fixed < 0 || size.scaled < 0)
    return kernelError(plan, what + " is negative: " + textOf(size));
  for (const std::string &factor : size.factors)
    if (std::vector<std::string> sizes = sizesIn(factor);
        sizes.empty() || !all_of(sizes, [&](const std::string &size) { return is_contained(plan.sizes, size); }))
      return kernelError(plan, what + " depends on '" + factor + "', which is not one of the run-time sizes");
  return Error::success();
}

} // namespace

Error kernelError(const KernelPlan &plan, const Twine &what) {
  return createStringError(inconvertibleErrorCode(), "kernel '" + Twine(plan.name) + "': " + what);
}

ArgumentLayout layoutOf(const KernelPlan &plan) {
  StringSet<> used;
  for (const char *field : {"size", "version", "q0", "k0", "head0"})
    used.insert(field);
  // A result without a name is called `out`. No input may have this name then.
  auto isUnnamed = [](const TensorArgument &output) { return output.name.empty() || output.name == "output"; };
  if (any_of(plan.outputs, isUnnamed))
    used.insert("out");
  auto fieldName = [&](StringRef name) {
    std::string result;
    for (char c : name)
      result += isAlnum(c) || c == '_' ? c : '_';
    if (result.empty() || isDigit(result.front()))
      result = "tensor" + result;
    while (isTakenField(result) || used.contains(result))
      // A suffix cannot repair a leading or a double underscore.
      result = (StringRef(result).starts_with("_") || StringRef(result).contains("__"))
                   ? "x" + join(split(result, '_'), "")
                   : result + (StringRef(result).ends_with("_") ? "2" : "_");
    used.insert(result);
    return result;
  };
  ArgumentLayout layout;
  for (const TensorArgument &input : plan.inputs) {
    layout.inputs.push_back(input.origin     ? kOrigins[*input.origin]
                            : input.isLength ? std::string() // a length uses the field of its size
                                             : fieldName(input.name));
    layout.origins += !input.isTensor();
  }
  for (const TensorArgument &output : plan.outputs)
    layout.outputs.push_back(isUnnamed(output) ? "out" : fieldName(output.name));
  for (const std::string &size : plan.sizes)
    layout.sizes.push_back(fieldName(size));
  unsigned next = 1;
  for (auto [input, field] : zip(plan.inputs, layout.inputs)) {
    size_t size = find(plan.sizes, input.name) - plan.sizes.begin();
    if (input.isLength && size < plan.sizes.size())
      field = layout.sizes[size];
    layout.inputWords.push_back(input.origin     ? layout.originWord() + *input.origin
                                : input.isLength ? layout.sizeWord(size)
                                                 : next++);
  }
  return layout;
}

Error validateSignature(const KernelPlan &plan) {
  if (std::string why = whyNoKernel(plan.name); !why.empty())
    return kernelError(plan, why);
  for (const std::string &size : plan.sizes)
    if (!isName(size))
      return kernelError(plan, "the run-time size '" + size + "' must have a C identifier as its name");
  for (const TensorArgument &input : plan.inputs)
    if (Error error = checkTensor(plan, input))
      return error;
  if (plan.outputs.empty())
    return kernelError(plan, "the plan has no result");
  for (const TensorArgument &output : plan.outputs) {
    if (Error error = checkTensor(plan, output))
      return error;
    if (!mayBeResult(output.type))
      return kernelError(plan, Twine("the result has elements of ") + nameOf(output.type) +
                               "; the results of a kernel are f32, f16 or bf16");
  }
  for (const TensorArgument &input : plan.inputs)
    if (input.range && (input.type != ElementType::I32 || input.range->low > input.range->high ||
                        !isInt<32>(input.range->low) || !isInt<32>(input.range->high)))
      return kernelError(plan, "tensor '" + input.name + "' has the range " + textOf(*input.range) +
                               "; only a tensor of i32 has a range, from a low to a high number of 32 bits");
  for (const TensorArgument &input : plan.inputs)
    for (const Extent &end : input.range ? input.range->ends : std::vector<Extent>())
      if (!end.name.empty())
        if (Error error = checkExpression(plan, {0, 1, {end.name}}, "the range of '" + input.name + "'"))
          return error;
  for (const TensorArgument &input : plan.inputs)
    if (input.origin &&
        (*input.origin >= std::size(kOrigins) || input.type != ElementType::I32 || !input.range ||
         input.range->low != 0 || input.shape.size() != 1 || !input.shape[0].name.empty() || input.shape[0].fixed != 1))
      return kernelError(plan, "the origin '" + input.name + "' must be i32[1] with a range from 0");
  for (const TensorArgument &input : plan.inputs)
    if (input.isLength && (!is_contained(plan.sizes, input.name) || !input.range || input.range->low != 1))
      return kernelError(plan, "the length '" + input.name + "' must be a run-time size with a range from 1");
  if (rangedInputs(plan).size() > kMaximumBadIndices)
    return kernelError(plan, "more than " + Twine(kMaximumBadIndices) + " index operands declare a range");
  return Error::success();
}

Error validate(const KernelPlan &plan) {
  if (Error error = validateSignature(plan))
    return error;
  if (plan.phases.empty())
    return kernelError(plan, "the plan has no phases");
  for (const Phase &phase : plan.phases)
    if (Error error = checkExpression(plan, phase.items, "the number of items of phase '" + phase.title + "'"))
      return error;
  if (plan.localBytes < 0)
    return kernelError(plan, "a worker's workspace is negative");
  if (plan.preparedBytes < 0)
    return kernelError(plan, "prepared memory is negative");
  return checkExpression(plan, plan.sharedBytes, "the shared workspace");
}

int64_t fixedBytes(const TensorArgument &tensor) {
  int64_t bytes = bytesOf(tensor.type);
  for (const Extent &extent : tensor.shape)
    if (extent.name.empty())
      bytes *= extent.fixed;
  return bytes;
}

static std::string textOf(const Extent &extent) {
  return extent.name.empty() ? std::to_string(extent.fixed) : extent.name;
}

std::string textOf(const TensorArgument &tensor) {
  std::string text = nameOf(tensor.type);
  text += '[';
  for (size_t k = 0; k < tensor.shape.size(); ++k)
    text += (k ? ", " : "") + textOf(tensor.shape[k]);
  return text + ']';
}

std::string textOf(const IndexRange &range) {
  if (range.ends.empty())
    return std::to_string(range.low) + ".." + std::to_string(range.high);
  return textOf(range.ends[0]) + ".." + textOf(range.ends[1]);
}

std::vector<size_t> rangedInputs(const KernelPlan &plan) {
  std::vector<size_t> inputs;
  for (size_t k = 0; k < plan.inputs.size(); ++k)
    if (plan.inputs[k].range && plan.inputs[k].isTensor())
      inputs.push_back(k);
  return inputs;
}

std::string textOf(const SizeExpression &size) {
  std::string product = std::to_string(size.scaled);
  for (const std::string &factor : size.factors)
    product += " * " + factor;
  if (size.scaled == 0)
    return std::to_string(size.fixed);
  return size.fixed == 0 ? product : std::to_string(size.fixed) + " + " + product;
}

} // namespace skewer
