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

static json::Object describe(const SizeExpression &size) {
  return json::Object{{"fixed", size.fixed}, {"scaled", size.scaled}, {"times", json::Array(size.factors)}};
}
static json::Object describe(const GpuLaunch &launch) {
  json::Object object{{"kernel", launch.kernel},
                      {"title", launch.title},
                      {"threads", launch.threads},
                      {"shared_bytes", launch.sharedBytes},
                      {"blocks", describe(launch.blocks)}};
  if (launch.rows)
    object["tile"] = json::Object{{"queries", launch.rows}, {"keys", launch.keys}};
  return object;
}

std::string skewer::gpu::gpuManifestText(ArrayRef<GpuCode> codes, StringRef specHash, StringRef version) {
  const KernelPlan &plan = codes.front().plan;
  json::Array inputs, outputs, targets;
  json::Array origins;
  for (const TensorArgument &input : plan.inputs)
    if (input.origin)
      origins.push_back(kOrigins[*input.origin]);
    else
      inputs.push_back(describe(input));
  for (const TensorArgument &output : plan.outputs)
    outputs.push_back(describe(output));
  for (const GpuCode &code : codes) {
    const std::string &target = code.target.name;
    json::Array launches;
    for (const GpuLaunch &launch : code.program.launches)
      launches.push_back(describe(launch));
    json::Object entry{{"target", target},
                       {"ptx", plan.name + "." + target + ".ptx"},
                       {"workspace_bytes", describe(code.program.workspace)},
                       {"launches", std::move(launches)}};
    if (!code.cubin.empty()) {
      entry["cubin"] = plan.name + "." + target + ".cubin";
      entry["registers"] = code.resources.registers;
    }
    targets.push_back(std::move(entry));
  }
  json::Object manifest{{"name", plan.name},
                        {"compiler", "skewer " + version.str()},
                        {"spec_hash", specHash},
                        {"inputs", std::move(inputs)},
                        {"outputs", std::move(outputs)},
                        {"sizes", json::Array(plan.sizes)},
                        {"origins", std::move(origins)},
                        {"pointer_alignment", 16},
                        {"workspace_alignment", 256},
                        {"targets", std::move(targets)}};
  std::string text;
  raw_string_ostream(text) << formatv("{0:2}", json::Value(std::move(manifest))) << '\n';
  return text;
}

static void writeSize(raw_ostream &out, const SizeExpression &size) {
  out << "INT64_C(" << size.fixed << ")";
  if (!size.scaled)
    return;
  out << " + INT64_C(" << size.scaled << ")";
  for (const std::string &factor : size.factors)
    out << " * " << factor;
}

std::string skewer::gpu::gpuHeaderText(ArrayRef<GpuCode> codes, StringRef specHash, StringRef version) {
  const KernelPlan &plan = codes.front().plan;
  const std::string &name = plan.name;
  std::string text, guard = "SKEWER_GPU_KERNEL_" + name + "_H";
  raw_string_ostream out(text);
  auto eachTarget = [&](function_ref<void(const GpuCode &)> write) {
    for (auto [number, code] : enumerate(codes)) {
      out << "  if (target == " << number << ") ";
      write(code);
    }
  };
  auto sizeParameters = [&] {
    for (const std::string &size : plan.sizes)
      out << ", int64_t " << size;
    out << ") {\n";
    for (const std::string &size : plan.sizes)
      out << "  (void)" << size << ";\n";
  };
  out << "/* " << name << " on NVIDIA GPUs: made by skewer " << version << " from the spec with hash " << specHash
      << ".\n\n   The cubin (or the PTX) of each target holds the kernels that " << name
      << "_gpu_launch(…) names, to be launched one\n   after another on one stream. All take the same arguments, in "
         "this "
         "order: pointers to device memory, row-major and\n   contiguous, multiples of 16 bytes:\n";
  auto describeArgument = [&](const TensorArgument &tensor, const char *what) {
    out << "     " << tensor.name << " : " << nameOf(tensor.type) << "[";
    for (size_t k = 0; k < tensor.shape.size(); ++k)
      out << (k ? ", " : "")
          << (tensor.shape[k].name.empty() ? std::to_string(tensor.shape[k].fixed) : tensor.shape[k].name);
    out << "]" << what << "\n";
  };
  std::vector<std::string> numbers = plan.sizes;
  for (const TensorArgument &input : plan.inputs)
    if (input.origin)
      numbers.push_back(kOrigins[*input.origin]);
    else
      describeArgument(input, "");
  for (const TensorArgument &output : plan.outputs)
    describeArgument(output, ", written");
  out << "   a workspace of " << name
      << "_gpu_workspace(…) bytes of device memory, a multiple of 256 bytes; null where these are 0";
  if (!numbers.empty()) {
    out << ";\n   then, each as int64_t:";
    for (const std::string &number : numbers)
      out << " " << number;
  }
  out << ".\n   A grid has " << name
      << "_gpu_blocks(…) blocks in x; shared memory is dynamic, and more than 48 KiB of it must be\n   allowed with "
         "cuFuncSetAttribute first. Nothing checks index operands: the kernels take values out of their range for\n   "
         "the nearest one. */\n"
      << "#ifndef " << guard << "\n#define " << guard << "\n#include <stdint.h>\n\n"
      << "#ifndef SKEWER_GPU_LAUNCH\n#define SKEWER_GPU_LAUNCH\n"
      << "typedef struct skewer_gpu_launch {\n"
      << "  const char *target;    /* as ptxas names it */\n"
      << "  const char *kernel;    /* its symbol */\n"
      << "  uint32_t threads;      /* of a block, in x */\n"
      << "  uint32_t shared_bytes; /* of a block, dynamic */\n"
      << "} skewer_gpu_launch;\n#endif\n\n"
      << "enum { " << name << "_gpu_targets = " << codes.size() << " };\n"
      << "/* How many kernels a run on this target launches. */\nstatic inline int " << name
      << "_gpu_launches(int target) {\n";
  eachTarget([&](const GpuCode &code) { out << "return " << code.program.launches.size() << ";\n"; });
  out << "  return 0;\n}\n/* Kernel `number` of a run, from 0. */\nstatic inline const skewer_gpu_launch *" << name
      << "_gpu_launch(int target, int number) {\n";
  eachTarget([&](const GpuCode &code) {
    out << "{\n    static const skewer_gpu_launch launches[" << code.program.launches.size() << "] = {\n";
    for (const GpuLaunch &launch : code.program.launches)
      out << "        {\"" << code.target.name << "\", \"" << launch.kernel << "\", " << launch.threads << ", "
          << launch.sharedBytes << "},\n";
    out << "    };\n    return number >= 0 && number < " << code.program.launches.size()
        << " ? &launches[number] : 0;\n  }\n";
  });
  out << "  return 0;\n}\n/* Blocks of its grid. */\nstatic inline int64_t " << name
      << "_gpu_blocks(int target, int number";
  sizeParameters();
  eachTarget([&](const GpuCode &code) {
    out << "\n    switch (number) {\n";
    for (auto [number, launch] : enumerate(code.program.launches)) {
      out << "    case " << number << ": return ";
      writeSize(out, launch.blocks);
      out << ";\n";
    }
    out << "    default: return 0;\n    }\n";
  });
  out << "  (void)number;\n  return 0;\n}\n/* Bytes of the workspace. */\nstatic inline int64_t " << name
      << "_gpu_workspace(int target";
  sizeParameters();
  eachTarget([&](const GpuCode &code) {
    out << "return ";
    writeSize(out, code.program.workspace);
    out << ";\n";
  });
  out << "  return 0;\n}\n#endif\n";
  return text;
}
