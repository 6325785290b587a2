// Schedules that somebody writes by hand: the first byte chooses a layer, the rest is the text of its schedule. What is
// accepted is obeyed: the kernel, run on this processor or by the interpreter, gives the reference's numbers.
#include "codegen/GPU/GpuTarget.h"
#include "codegen/GPU/Ptx.h"
#include "dialect/IR/Attn.h"
#include "tests/fuzz/libfuzzer/Fuzzing.h"
#include "tests/unit/GpuProgram.h"
#include "tools/skewer/Check.h"
#include "tools/skewer/Execution.h"
#include <cmath>
#include <fmt/format.h>

using namespace skewer;
using namespace skewer::driver;
using skewer::fuzzing::finding;
using skewer::fuzzing::said;

namespace {

/// A layer in two ways: as the language says it, for the reference, and fused, with a place for a schedule.
struct Layer {
  const char *type, *inWords, *mask;
  double scale; // of the table; content has 0.25
};
constexpr Layer kLayers[] = {
    {"f32", "", "", 0.25},
    {"f32", " where j <= i", R"(where "j <= i" )", 0.375},
    {"f32", " where j - i <= 4 and j - i >= -9", R"(where "j - i <= 4 and j - i >= -9" )", 0.5},
    {"f16", " where j <= i", R"(where "j <= i" )", 0.25},
};

std::string inLanguage(const Layer &layer) {
  return fmt::format(R"(
kernel layer(q, k : {0}[2, 21, 20], v : {0}[2, 21, 12], table : {0}[2, 41, 20]) -> {0}[2, 21, 12] {{
  content = einsum("h i d, h j d -> h i j", q, k) * 0.25
  offsets = einsum("h i d, h (j - i + 20) d -> h i j", q, table) * {2}
  return einsum("h i j, h j e -> h i e", softmax(content + offsets{1}), v)
}}
)",
                     layer.type, layer.inWords, layer.scale);
}

std::string fused(const Layer &layer, llvm::StringRef schedule) {
  return fmt::format(R"ir(
func.func @layer(%q: tensor<2x21x20x{0}> {{attn.name = "q"}}, %k: tensor<2x21x20x{0}> {{attn.name = "k"}},
                 %v: tensor<2x21x12x{0}> {{attn.name = "v"}}, %table: tensor<2x41x20x{0}> {{attn.name = "table"}})
    -> tensor<2x21x12x{0}> attributes {{attn.kernel}} {{
  %o = attn.attention "h i j" {1}value "h j e -> h i e" (%v) score {{
    attn.term "h i d, h j d" (%q, %k) scale 0.25 : tensor<2x21x20x{0}>, tensor<2x21x20x{0}>
    attn.term "h i d, h (j - i + 20) d" (%q, %table) scale {2} : tensor<2x21x20x{0}>, tensor<2x41x20x{0}>
  }} : tensor<2x21x12x{0}> -> tensor<2x21x12x{0}> schedule {3}
  return %o : tensor<2x21x12x{0}>
}})ir",
                     layer.type, layer.mask, layer.scale, std::string(schedule));
}

/// A layer with its operands, and the results that it must have.
struct Expected {
  std::unique_ptr<Compilation> spec;
  Operands operands;

  explicit Expected(const Layer &layer) {
    spec = Compilation::createFromText(inLanguage(layer), "layer.attn", {}, *findTarget("host"));
    if (!spec)
      finding("the layer in the language was refused");
    operands = llvm::cantFail(prepareOperands(signatureOf(spec->kernels[0].einsumFunction()), {}, {}, 1));
  }
};

void compare(const Expected &expected, const KernelPlan &plan, const void *got, bool isOnGpu, llvm::StringRef text) {
  auto comparison =
      compareWithReference(expected.spec->kernels[0].einsumFunction(), expected.operands, plan.outputs[0].type, got,
                           {/*rows=*/1 << 30, /*seed=*/1, /*flops=*/0, isOnGpu});
  if (!comparison)
    finding("the reference cannot judge: " + llvm::toString(comparison.takeError()), text);
  if (!comparison->within(comparison->tolerance))
    finding(fmt::format("a schedule that was accepted computes something else: error {}, {}", comparison->error,
                        comparison->where),
            text);
}

void judgeOnProcessor(Compilation &compilation, const Kernel &kernel, const Expected &expected, llvm::StringRef text) {
  driver::Buffer::endAtGuardPages(true);
  // For the processor that it names, where every machine has its instructions.
  kernel.einsumFunction().walk([&](attn::AttentionOp attention) {
    llvm::StringRef named = attention.getScheduleAttr().getTarget();
    if (named == "x86-64-v2" || (named == "x86-64-v3" && hostTarget().lanes >= 8))
      compilation.retarget(*findTarget(named));
  });
  std::unique_ptr<Execution> execution;
  std::string messages = said([&] { execution = Execution::create(compilation, kernel, Execution::Form::Fused); });
  if (!execution) {
    if (!llvm::StringRef(messages).contains("error: "))
      finding("lowering failed without an error", text);
    return;
  }
  ThreadPool one(1);
  bool done = false;
  messages = said([&] { done = execution->bind(expected.operands, one) && execution->run(); });
  if (!done)
    finding("the call failed: " + messages, text);
  compare(expected, execution->plan(), execution->result(), /*isOnGpu=*/false, text);
}

void judgeOnGpu(Compilation &compilation, const Kernel &kernel, const Expected &expected, llvm::StringRef text) {
  mlir::DialectRegistry registry;
  gpu::registerGpuTarget(registry);
  compilation.context().appendDialectRegistry(registry);
  // For the GPU that it names, where there is such a one.
  gpu::GpuRequest request;
  kernel.einsumFunction().walk([&](attn::AttentionOp attention) {
    if (std::string named = attention.getScheduleAttr().getTarget().str(); gpu::findGpuMachine(named))
      request.target = named;
  });
  mlir::OwningOpRef<mlir::ModuleOp> module;
  std::string messages = said([&] {
    if (auto written = compilation.fuse(kernel))
      module = compilation.lowerForGpu(*written, kernel.name, request);
  });
  if (!module) {
    if (!llvm::StringRef(messages).contains("error: "))
      finding("lowering for a GPU failed without an error", text);
    return;
  }
  mlir::gpu::GPUModuleOp gpuModule = *module->getOps<mlir::gpu::GPUModuleOp>().begin();
  auto program = gpu::programOf(gpuModule);
  auto plan = planOf(*module);
  if (!program || !plan)
    finding("the lowering for a GPU left no program", text);
  for (const gpu::GpuLaunch &launch : program->launches)
    if (launch.sharedBytes > gpu::findGpuTarget("sm_90a")->sharedBytes)
      return; // the assembler refuses it
  skewer::testing::GpuCall call;
  std::vector<std::vector<char>> bytes;
  for (auto [array, input] : llvm::zip(expected.operands.inputs, plan->inputs))
    pack(input.type, array.values, bytes.emplace_back(array.values.size() * size_t(bytesOf(input.type))).data());
  std::vector<char> result(size_t(*elementsOf(expected.operands.outputShapes[0]) * bytesOf(plan->outputs[0].type)));
  call.inputs.assign(bytes.begin(), bytes.end());
  call.outputs.push_back(result);
  auto report = skewer::testing::runProgram(gpuModule, *plan, *program, call);
  if (!report || !report->faults.empty())
    finding("the kernel is at fault: " + (report ? report->text() : std::string("it is not there")), text);
  compare(expected, *plan, result.data(), /*isOnGpu=*/true, text);
}

} // namespace

SKEWER_FUZZ_TARGET(schedule) {
  static const std::vector<Expected> expected(std::begin(kLayers), std::end(kLayers));
  static const Target target = *findTarget("host");
  // A text of several lines could end the schedule and add another function.
  if (input.empty() || input.contains('\n'))
    return;
  size_t number = uint8_t(input[0]) % std::size(kLayers);
  std::string text = fused(kLayers[number], input.drop_front());
  std::unique_ptr<Compilation> compilation;
  std::string messages = said([&] { compilation = Compilation::createFromText(text, "layer.mlir", {}, target); });
  if (!compilation) {
    if (!llvm::StringRef(messages).contains("error: "))
      finding("a schedule was refused without an error", text);
    return;
  }
  for (const Kernel &kernel : compilation->kernels) {
    if (input.contains("gpu_schedule"))
      judgeOnGpu(*compilation, kernel, expected[number], text);
    else
      judgeOnProcessor(*compilation, kernel, expected[number], text);
  }
}
