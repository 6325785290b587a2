// Lowering to NVVM as `skewer compile` does, with the first tile that fits into shared memory.
#include "tests/fuzz/OnGpu.h"
#include "codegen/GPU/GpuTarget.h"
#include "tests/fuzz/Dice.h"
#include "tests/unit/GpuProgram.h"
#include "llvm/Support/raw_ostream.h"
#include <fmt/format.h>

namespace skewer::fuzz {

using namespace driver;

Spec specForGpu(uint64_t seed) {
  Spec spec = randomSpec(seed);
  spec.stored = false; // by rows: GpuWeights has such layers
  Dice dice(seed ^ 0x74797065);
  static const std::vector<std::string> types = {"f16", "bf16", "f32"};
  spec.type = dice.pick(types);
  spec.tableType = dice.chance(80) ? spec.type : dice.pick(types);
  // Tiles are larger here, and so are the layers that have several.
  if (dice.chance(20)) {
    static const std::vector<int64_t> depths = {48, 64, 72, 80, 96, 128};
    spec.dim = spec.width = dice.pick(depths);
    if (dice.chance(30) && spec.packing == Packing::None)
      spec.width = dice.pick(depths);
    spec.contentScale = 0;
    for (Term &term : spec.terms)
      if (isContracted(term.kind))
        term.scale = 0;
  }
  if (dice.chance(10))
    spec.keys = dice.between(65, 200);
  if (dice.chance(10))
    spec.queries = dice.between(65, 200);
  normalise(spec);
  return spec;
}

Plan planForGpu(uint64_t seed) {
  Dice dice(seed ^ 0x677075);
  Plan plan = planFor(seed);
  plan.threads = plan.unfused = false;
  gpu::GpuRequest request;
  request.target = dice.chance(50) ? "sm_80" : "sm_90a";
  if (dice.chance(40)) {
    static const std::vector<int64_t> rows = {16, 32}, keys = {16, 32};
    request.rows = dice.pick(rows);
    request.keys = dice.pick(keys);
    request.stages = dice.between(2, 3);
    request.keepQueries = dice.chance(50);
    if (dice.chance(40))
      request.columns = 16; // most values are wider
    if (request.rows == 32 && dice.chance(50))
      request.warpRows = 32;
  }
  bool isNarrow = specForGpu(seed).type != "f32"; // wgmma multiplies no f32
  if (request.target == "sm_90a" && dice.chance(60) && isNarrow) {
    static const std::vector<int64_t> keys = {16, 32, 64, 128};
    int64_t columns = request.columns;
    request = {request.target, 64 * dice.between(1, 2), dice.pick(keys), dice.between(2, 3), false, columns};
    request.engine = gpu::kWgmma.str();
    if (dice.chance(50)) {
      request.engine = gpu::kWgmmaAhead.str();
      request.stages = 3;
    }
    if (dice.chance(50))
      request.copies = gpu::kTma.str();
  }
  plan.gpu = request;
  return plan;
}

std::string textOf(const gpu::GpuRequest &request) {
  std::string text = request.target;
  for (auto [name, value] : {std::pair{"rows", request.rows},
                             {"keys", request.keys},
                             {"stages", request.stages},
                             {"columns", request.columns},
                             {"warp_rows", request.warpRows}})
    if (value)
      text += fmt::format(", {}={}", name, value);
  if (!request.engine.empty())
    text += ", engine=" + request.engine;
  if (!request.copies.empty())
    text += ", copies=" + request.copies;
  if (request.keepQueries)
    text += *request.keepQueries ? ", queries=registers" : ", queries=shared";
  return text;
}

namespace {

/// Lowered with the first of the schedule's candidates that fits into shared memory: of those that were asked for,
/// else of all. Null after a diagnostic.
mlir::OwningOpRef<mlir::ModuleOp> lower(Compilation &compilation, const Kernel &kernel, mlir::ModuleOp scheduled,
                                        gpu::GpuRequest request) {
  int64_t most = gpu::findGpuTarget(request.target)->sharedBytes, candidates = 1;
  for (request.rank = 0; request.rank < candidates; ++request.rank) {
    auto module = compilation.lowerForGpu(scheduled, kernel.name, request);
    if (!module && request.engine == gpu::kWgmmaAhead) { // not for every layer
      request.engine = gpu::kWgmma.str();
      return lower(compilation, kernel, scheduled, request);
    }
    if (!module && !request.copies.empty()) { // neither is this
      request.copies.clear();
      return lower(compilation, kernel, scheduled, request);
    }
    if (!module)
      return {};
    if (auto count = (*module)->getAttrOfType<mlir::IntegerAttr>(gpu::kGpuCandidates))
      candidates = count.getInt();
    auto program = gpu::programOf(*(*module).getOps<mlir::gpu::GPUModuleOp>().begin());
    if (program && llvm::all_of(program->launches, [&](auto &launch) { return launch.sharedBytes <= most; }))
      return module;
  }
  if (request.rows)
    return lower(compilation, kernel, scheduled, {request.target, 0, 0, 0, std::nullopt, 0});
  llvm::errs() << "no tile fits into shared memory\n";
  return {};
}

} // namespace

GpuRun runOnGpu(Compilation &compilation, const Kernel &kernel, mlir::ModuleOp scheduled, const Operands &operands,
                const gpu::GpuRequest &request) {
  GpuRun run;
  auto fail = [&](Failure failure, std::string message) {
    run.failure = failure;
    run.message = std::move(message);
    return run;
  };
  auto module = lower(compilation, kernel, scheduled, request);
  if (!module)
    return fail(Failure::Compile, "lowering to GPU kernels failed");
  mlir::gpu::GPUModuleOp gpuModule = *(*module).getOps<mlir::gpu::GPUModuleOp>().begin();
  auto program = gpu::programOf(gpuModule);
  auto plan = planOf(*module);
  if (!plan || !program)
    return fail(Failure::Compile, "the lowering left no program");
  run.plan = *plan;
  run.roundsVectors = program->launches.size() > 1;
  for (const gpu::GpuLaunch &launch : program->launches) {
    run.isFused |= launch.rows > 0;
    if (run.reason.empty())
      run.reason = launch.note;
  }

  testing::GpuCall call;
  call.order = unsigned(operands.sizes.size() + operands.inputs.size()); // any
  call.sizes = operands.sizes;
  std::vector<std::vector<char>> bytes;
  for (auto [array, input] : llvm::zip(operands.inputs, plan->inputs))
    pack(input.type, array.values, bytes.emplace_back(array.values.size() * size_t(bytesOf(input.type))).data());
  for (auto [shape, output] : llvm::zip(operands.outputShapes, plan->outputs))
    run.results.emplace_back(size_t(*elementsOf(shape) * bytesOf(output.type)));
  call.inputs.assign(bytes.begin(), bytes.end());
  call.outputs.assign(run.results.begin(), run.results.end());
  auto report = testing::runProgram(gpuModule, *plan, *program, call);
  if (!report)
    return fail(Failure::Compile, "a kernel of the program is not in its module");
  if (!report->faults.empty())
    return fail(Failure::Fault, report->text());
  run.isFused &= run.reason.empty();
  return run;
}

} // namespace skewer::fuzz
