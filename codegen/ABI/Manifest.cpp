// Writes the manifest: everything that a program without the spec needs to know about a kernel, as JSON.
#include "codegen/ABI/Manifest.h"
#include "codegen/ABI/Emit.h"
#include "codegen/ABI/Layout.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/JSON.h"
#include "llvm/Support/SHA256.h"

using namespace llvm;

namespace skewer {
namespace {

json::Object describe(const TensorArgument &tensor, const std::string &field) {
  auto extents = [](const std::vector<Extent> &all) {
    json::Array array;
    for (const Extent &extent : all)
      array.push_back(extent.name.empty() ? json::Value(extent.fixed) : json::Value(extent.name));
    return array;
  };
  json::Object object{
      {"name", tensor.name}, {"field", field}, {"type", nameOf(tensor.type)}, {"shape", extents(tensor.shape)}};
  if (tensor.range)
    object["range"] = json::Array{tensor.range->low, tensor.range->high};
  if (tensor.range && !tensor.range->ends.empty())
    object["range_ends"] = extents(tensor.range->ends);
  if (tensor.isConst)
    object["const"] = true;
  if (tensor.deviation)
    object["deviation"] = *tensor.deviation;
  if (tensor.mean)
    object["mean"] = *tensor.mean;
  if (tensor.between)
    object["between"] = json::Array{tensor.between->first, tensor.between->second};
  return object;
}

json::Object describe(const SizeExpression &size) {
  return json::Object{
      {"fixed", size.fixed}, {"scaled", size.scaled}, {"factors", json::Array(size.factors)}, {"text", textOf(size)}};
}

/// Describes the parts that do not depend on the kernel's target.
json::Object describeSignature(const KernelPlan &plan, StringRef specHash) {
  ArgumentLayout layout = layoutOf(plan);
  json::Array inputs, outputs, sizes, origins;
  for (auto [input, field] : zip_equal(plan.inputs, layout.inputs))
    if (input.isLength)
      continue;
    else if (input.origin)
      origins.push_back(json::Object{{"field", field}, {"range", json::Array{input.range->low, input.range->high}}});
    else
      inputs.push_back(describe(input, field));
  for (auto [output, field] : zip_equal(plan.outputs, layout.outputs))
    outputs.push_back(describe(output, field));
  for (auto [size, field] : zip_equal(plan.sizes, layout.sizes))
    sizes.push_back(json::Object{{"name", size}, {"field", field}});
  for (auto [size, entry] : zip_equal(plan.sizes, sizes))
    if (auto bound = plan.boundOf(size))
      (*entry.getAsObject())["bound"] = *bound;
  return json::Object{{"name", plan.name},
                      {"abi_version", kAbiVersion},
                      {"compiler", "skewer " SKEWER_VERSION},
                      {"spec_hash", specHash},
                      {"args_bytes", layout.bytes()},
                      {"inputs", std::move(inputs)},
                      {"outputs", std::move(outputs)},
                      {"sizes", std::move(sizes)},
                      {"origins", std::move(origins)}};
}

} // namespace

std::string textOf(json::Object manifest) {
  return formatv("{0:2}\n", json::Value(std::move(manifest))).str(); // keys are sorted
}

std::string manifestText(const KernelPlan &plan, StringRef specHash) {
  return textOf(describeSignature(plan, specHash));
}

std::string manifestText(const KernelPlan &plan, const Target &target, StringRef specHash, StringRef details) {
  return textOf(manifestOf(plan, target, specHash, details));
}

json::Object manifestOf(const KernelPlan &plan, const Target &target, StringRef specHash, StringRef details) {
  json::Object manifest = describeSignature(plan, specHash);
  json::Array phases;
  for (const Phase &phase : plan.phases) {
    json::Object described{{"title", phase.title}, {"items", describe(phase.items)}};
    if (phase.prepares)
      described["prepares"] = true;
    phases.push_back(std::move(described));
  }
  manifest["target"] = json::Object{{"name", target.name}, {"cpu", target.cpu}, {"features", target.features}};
  manifest["phases"] = std::move(phases);
  manifest["workspace"] = json::Object{
      {"alignment", 64}, {"shared_bytes", describe(plan.sharedBytes)}, {"bytes_per_worker", plan.localBytes}};
  if (plan.hasConst())
    manifest.getObject("workspace")->insert({"prepared_bytes", plan.preparedBytes});
  Expected<json::Value> parsed = json::parse(details);
  if (parsed) {
    manifest["details"] = std::move(*parsed);
  } else {
    consumeError(parsed.takeError());
    manifest["details"] = json::fixUTF8(details);
  }
  return manifest;
}

uint32_t argsVersionOf(StringRef specHash) {
  uint32_t bits = 0;
  if (specHash.size() != 16 || specHash.take_front(6).getAsInteger(16, bits))
    bits = 0;
  return kAbiVersion | bits << kAbiVersionBits;
}

std::string hashOfSpec(StringRef text, ArrayRef<std::pair<std::string, std::string>> parameters) {
  std::vector<std::pair<std::string, std::string>> sorted(parameters.begin(), parameters.end());
  sort(sorted);
  SHA256 hash;
  hash.update(text);
  for (auto &[name, value] : sorted)
    hash.update(std::string(1, '\0') + name + "=" + value);
  hash.update(StringRef("\0skewer " SKEWER_VERSION, sizeof("\0skewer " SKEWER_VERSION) - 1));
  return toHex(hash.final(), /*LowerCase=*/true).substr(0, 16);
}

} // namespace skewer
