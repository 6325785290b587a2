// What a program that launches the kernels needs to know of them: as JSON and as a C header.
#include "codegen/GPU/Build.h"
#include "llvm/Support/JSON.h"
#include "llvm/Support/raw_ostream.h"

using namespace llvm;
using namespace skewer;
using namespace skewer::gpu;

static json::Object describe(const TensorArgument &tensor) {
  json::Array shape;
  for (const Extent &extent : tensor.shape)
    shape.push_back(extent.name.empty() ? json::Value(extent.fixed) : json::Value(extent.name));
  json::Object object{{"name", tensor.name}, {"type", nameOf(tensor.type)}, {"shape", std::move(shape)}};
  if (tensor.range)
    object["range"] = json::Array{tensor.range->low, tensor.range->high};
  return object;
}

std::string skewer::gpu::gpuManifestText(ArrayRef<GpuCode> codes, StringRef specHash, StringRef version) {
  const KernelPlan &plan = codes.front().plan;
  json::Array inputs, outputs, targets;
  for (const TensorArgument &input : plan.inputs)
    inputs.push_back(describe(input));
  for (const TensorArgument &output : plan.outputs)
    outputs.push_back(describe(output));
  for (const GpuCode &code : codes) {
    const std::string &target = code.target.name;
    json::Object entry{{"target", target},
                       {"ptx", plan.name + "." + target + ".ptx"},
                       {"threads", code.launch.threads},
                       {"shared_bytes", code.launch.sharedBytes},
                       {"blocks", json::Object{{"fixed", code.launch.blocks.scaled},
                                               {"times", json::Array(code.launch.blocks.factors)}}},
                       {"tile", json::Object{{"queries", code.launch.rows}, {"keys", code.launch.keys}}}};
    if (!code.cubin.empty()) {
      entry["cubin"] = plan.name + "." + target + ".cubin";
      entry["registers"] = code.resources.registers;
    }
    targets.push_back(std::move(entry));
  }
  json::Object manifest{{"name", plan.name},
                        {"compiler", "skewer " + version.str()},
                        {"spec_hash", specHash},
                        {"entry", plan.name},
                        {"inputs", std::move(inputs)},
                        {"outputs", std::move(outputs)},
                        {"sizes", json::Array(plan.sizes)},
                        {"pointer_alignment", 16},
                        {"targets", std::move(targets)}};
  std::string text;
  raw_string_ostream(text) << formatv("{0:2}", json::Value(std::move(manifest))) << '\n';
  return text;
}

std::string skewer::gpu::gpuHeaderText(ArrayRef<GpuCode> codes, StringRef specHash, StringRef version) {
  const KernelPlan &plan = codes.front().plan;
  const std::string &name = plan.name;
  std::string text, guard = "SKEWER_GPU_KERNEL_" + name + "_H";
  raw_string_ostream out(text);
  out << "/* " << name << " on NVIDIA GPUs: made by skewer " << version << " from the spec with hash " << specHash
      << ".\n\n   The cubin (or the PTX) of each target holds the kernel '" << name
      << "'. Its arguments, in this order, are\n   pointers to device memory, row-major and contiguous, multiples of "
         "16 "
         "bytes:\n";
  auto describeArgument = [&](const TensorArgument &tensor, const char *what) {
    out << "     " << tensor.name << " : " << nameOf(tensor.type) << "[";
    for (size_t k = 0; k < tensor.shape.size(); ++k)
      out << (k ? ", " : "")
          << (tensor.shape[k].name.empty() ? std::to_string(tensor.shape[k].fixed) : tensor.shape[k].name);
    out << "]" << what << "\n";
  };
  for (const TensorArgument &input : plan.inputs)
    describeArgument(input, "");
  for (const TensorArgument &output : plan.outputs)
    describeArgument(output, ", written");
  if (!plan.sizes.empty()) {
    out << "   then, each as int64_t:";
    for (const std::string &size : plan.sizes)
      out << " " << size;
    out << "\n";
  }
  out << "   A grid has " << name
      << "_gpu_blocks(…) blocks in x; shared memory is dynamic, and more than 48 KiB of it "
         "must be\n   allowed with cuFuncSetAttribute first. Nothing checks index operands: the kernel takes values "
         "out "
         "of their range\n   for the nearest one. */\n"
      << "#ifndef " << guard << "\n#define " << guard << "\n#include <stdint.h>\n\n"
      << "#ifndef SKEWER_GPU_LAUNCH\n#define SKEWER_GPU_LAUNCH\n"
      << "typedef struct skewer_gpu_launch {\n"
      << "  const char *target;    /* as ptxas names it */\n"
      << "  uint32_t threads;      /* of a block, in x */\n"
      << "  uint32_t shared_bytes; /* of a block, dynamic */\n"
      << "  uint32_t queries;      /* of a block */\n"
      << "  int64_t blocks;        /* of the grid, before run-time sizes */\n"
      << "} skewer_gpu_launch;\n#endif\n\n"
      << "enum { " << name << "_gpu_targets = " << codes.size() << " };\n"
      << "static inline const skewer_gpu_launch *" << name << "_gpu_launch(int target) {\n"
      << "  static const skewer_gpu_launch launches[" << codes.size() << "] = {\n";
  for (const GpuCode &code : codes)
    out << "      {\"" << code.target.name << "\", " << code.launch.threads << ", " << code.launch.sharedBytes << ", "
        << code.launch.rows << ", " << code.launch.blocks.scaled << "},\n";
  out << "  };\n  return target >= 0 && target < " << codes.size() << " ? &launches[target] : 0;\n}\n\n"
      << "/* Blocks of the grid. */\nstatic inline int64_t " << name << "_gpu_blocks(const skewer_gpu_launch *launch";
  for (const std::string &size : plan.sizes)
    out << ", int64_t " << size;
  out << ") {\n";
  const auto &factors = codes.front().launch.blocks.factors;
  for (const std::string &size : plan.sizes)
    if (!is_contained(factors, size))
      out << "  (void)" << size << ";\n";
  out << "  return launch->blocks";
  for (const std::string &factor : factors)
    out << " * " << factor;
  out << ";\n}\n#endif\n";
  return text;
}
