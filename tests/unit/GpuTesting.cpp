// Imports, fuses, schedules, lowers and interprets a layer, and compares the result.
#include "tests/unit/GpuTesting.h"
#include "codegen/GPU/Assemble.h"
#include "codegen/GPU/Sass.h"
#include "codegen/Reference/Reference.h"
#include "dialect/Language/Language.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/ControlFlow/IR/ControlFlow.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/Diagnostics.h"
#include "mlir/Pass/PassManager.h"
#include "passes/Gpu/NarrowOperands.h"
#include "passes/Gpu/Schedule/GpuCostModel.h"
#include "passes/Pipelines/Pipelines.h"
#include "tests/unit/GpuProgram.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/xxhash.h"
#include <cmath>
#include <random>

using namespace mlir;
using namespace skewer;
using namespace skewer::testing;

static DialectRegistry dialects() {
  DialectRegistry registry;
  registry.insert<attn::AttnDialect, func::FuncDialect, arith::ArithDialect, math::MathDialect, scf::SCFDialect,
                  cf::ControlFlowDialect, tensor::TensorDialect, LLVM::LLVMDialect, NVVM::NVVMDialect,
                  mlir::gpu::GPUDialect>();
  return registry;
}
static func::FuncOp functionOf(ModuleOp module) { return *module.getOps<func::FuncOp>().begin(); }

GpuLayer::GpuLayer(const std::string &text, const std::function<void(attn::AttnDialect *)> &extend)
    : context(dialects(), MLIRContext::Threading::DISABLED) {
  context.loadAllAvailableDialects();
  if (extend)
    extend(context.getLoadedDialect<attn::AttnDialect>());
  sources.AddNewSourceBuffer(llvm::MemoryBuffer::getMemBufferCopy(text, "test.attn"), llvm::SMLoc());
  einsum = language::importSource(sources, {}, &context, llvm::errs());
  EXPECT_TRUE(einsum) << text;
  if (Lengths bounds = einsum ? boundsOf(functionOf(*einsum)) : Lengths(); !bounds.empty()) {
    std::vector<Lengths> points = fittingPoints(bounds);
    for (const Lengths &point : llvm::drop_begin(points))
      shorter.push_back(importAt(point));
  }
}

OwningOpRef<ModuleOp> GpuLayer::importAt(const Lengths &lengths) {
  language::Options options;
  options.lengths = lengths;
  return language::importSource(sources, options, &context, llvm::errs());
}

GpuOutcome GpuLayer::run(const GpuOptions &options) {
  GpuOutcome outcome = lower(options);
  if (outcome.lowered)
    interpret(options, outcome);
  return outcome;
}

/// Returns the schedule with other strategies for some terms.
static attn::GpuScheduleAttr withStrategies(attn::GpuScheduleAttr given,
                                            const std::map<size_t, std::string> &strategies) {
  MLIRContext *context = given.getContext();
  SmallVector<StringAttr> names(given.getStrategies());
  for (const auto &[number, name] : strategies)
    names[number] = StringAttr::get(context, name);
  return attn::GpuScheduleAttr::get(context, given.getTarget(), given.getEngine(), given.getRows(), given.getKeys(),
                                    given.getStages(), given.getKeepQueries(), given.getColumns(), given.getWarpRows(),
                                    given.getCopies(), names);
}

GpuOutcome GpuLayer::lower(const GpuOptions &options) {
  GpuOutcome outcome;
  if (!einsum)
    return outcome;
  ScopedDiagnosticHandler handler(&context, [&](Diagnostic &diagnostic) {
    if (diagnostic.getSeverity() == DiagnosticSeverity::Error)
      llvm::raw_string_ostream(outcome.messages) << diagnostic.getLocation() << ": " << diagnostic.str() << "\n";
  });
  module = cast<ModuleOp>((*einsum)->clone());
  if (!shorter.empty() && !fitLengths())
    return outcome;
  PassManager manager(&context);
  if (shorter.empty()) {
    addFusionPipeline(manager);
    addOperandPipeline(manager);
  }
  addGpuSchedulePipeline(manager,
                         {options.target, options.rows, options.keys, options.stages, options.keepQueries,
                          options.columns, options.warpRows, options.keyParts, options.engine, options.copies});
  if (failed(manager.run(*module)))
    return outcome;
  module->walk([&](attn::AttentionOp attention) {
    if (auto given = dyn_cast_or_null<attn::GpuScheduleAttr>(attention.getScheduleAttr()))
      attention.setScheduleAttr(withStrategies(given, options.strategies));
  });
  PassManager lowering(&context);
  addGpuLoweringPipeline(lowering, options.fuse);
  addNvvmPipeline(lowering);
  outcome.lowered = succeeded(lowering.run(*module));
  return outcome;
}

std::optional<skewer::gpu::GpuShape> GpuLayer::shape() {
  fused = cast<ModuleOp>((*einsum)->clone());
  PassManager manager(&context);
  addFusionPipeline(manager);
  if (failed(manager.run(*fused)))
    return std::nullopt;
  func::FuncOp function = *fused->getOps<func::FuncOp>().begin();
  skewer::gpu::narrowOperands(function);
  auto attentions = function.getOps<attn::AttentionOp>();
  if (attentions.empty())
    return std::nullopt;
  return skewer::gpu::gpuShapeOf(*attentions.begin());
}

/// Merges the layers of a few lengths into one.
bool GpuLayer::fitLengths() {
  PassManager manager(&context);
  addFusionPipeline(manager);
  addLengthPipeline(manager, /*forGpu=*/true);
  std::vector<OwningOpRef<ModuleOp>> others;
  SmallVector<func::FuncOp> layers{functionOf(*module)};
  for (auto &other : shorter) {
    others.emplace_back(cast<ModuleOp>((*other)->clone()));
    layers.push_back(functionOf(*others.back()));
  }
  for (func::FuncOp layer : layers)
    if (failed(manager.run(layer->getParentOp())))
      return false;
  return succeeded(skewer::fitLengths(layers));
}

std::map<std::string, int64_t> GpuLayer::sizesOf(const KernelPlan &plan, const GpuOptions &options) const {
  std::map<std::string, int64_t> sizes;
  for (const std::string &name : plan.sizes)
    sizes[name] = options.lengths.count(name) ? options.lengths.at(name) : options.size;
  return sizes;
}

static std::vector<int64_t> shapeOf(const TensorArgument &argument, const std::map<std::string, int64_t> &sizes) {
  std::vector<int64_t> shape;
  for (const Extent &extent : argument.shape)
    shape.push_back(extent.name.empty() ? extent.fixed : *skewer::valueOf(extent.name, sizes));
  return shape;
}

static bool isInteger(ElementType type) { return type == ElementType::I32 || type == ElementType::I8; }

static std::vector<char> packed(const std::vector<double> &values, ElementType type) {
  std::vector<char> bytes;
  for (double value : values) {
    uint32_t bits = isInteger(type) ? uint32_t(int32_t(value)) : encode(value, type);
    for (int64_t k = 0; k < bytesOf(type); ++k)
      bytes.push_back(char(bits >> 8 * k));
  }
  return bytes;
}

static std::vector<double> unpacked(ArrayRef<char> bytes, ElementType type) {
  std::vector<double> values;
  for (; !bytes.empty(); bytes = bytes.drop_front(size_t(bytesOf(type)))) {
    uint32_t bits = 0;
    std::memcpy(&bits, bytes.data(), size_t(bytesOf(type)));
    values.push_back(decode(bits, type));
  }
  return values;
}

/// Returns numbers as the layer declares them, rounded to the operand's type.
static reference::Tensor seeded(const TensorArgument &input, const std::map<std::string, int64_t> &sizes,
                                const GpuOptions &options, std::mt19937_64 &random,
                                std::normal_distribution<double> &normal) {
  reference::Tensor tensor{shapeOf(input, sizes), {}};
  tensor.values.resize(size_t(tensor.elements()));
  IndexRange range = input.type == ElementType::I8 ? IndexRange{-128, 127} : IndexRange{0, 1};
  if (input.range)
    range = rangeAt(*input.range, sizes);
  auto next = [&]() -> double {
    if (isInteger(input.type))
      return double(range.low + int64_t(random() % uint64_t(range.high - range.low + 1)));
    if (input.between)
      return input.between->first +
             (input.between->second - input.between->first) * std::uniform_real_distribution<double>()(random);
    return input.mean.value_or(0) + normal(random) * input.deviation.value_or(1);
  };
  for (double &value : tensor.values)
    value = next();
  if (options.change)
    options.change(input.name, tensor.values);
  for (double &value : tensor.values)
    if (!isInteger(input.type))
      value = decode(encode(value, input.type), input.type);
  return tensor;
}

/// The operands of a call of a program, and its results.
struct GpuLayer::Operands {
  std::vector<reference::Tensor> tensors;
  std::vector<std::vector<int64_t>> shapes; // of the results
  std::vector<std::vector<char>> results;
};

/// Prepares the data that `const` operands alone determine, without a byte of the other operands. A call with it must
/// give the same bits, without a fault.
static void expectPrepared(mlir::gpu::GPUModuleOp gpuModule, const KernelPlan &plan,
                           const skewer::gpu::GpuProgram &program, const GpuCall &whole) {
  // Reading memory before it is written is a fault, so that this memory is not used for anything else.
  std::vector<char> prepared(static_cast<size_t>(plan.preparedBytes));
  std::vector<std::vector<char>> results;
  for (ArrayRef<char> result : whole.outputs)
    results.emplace_back(result.size());
  GpuCall call = whole;
  call.prepared = prepared;
  call.outputs.assign(results.begin(), results.end());
  for (auto [input, bytes] : llvm::zip(plan.inputs, call.inputs))
    if (input.isTensor() && !input.isConst)
      bytes = {};
  auto made = runProgram(gpuModule, plan, program, call, Launches::Preparing);
  ASSERT_TRUE(made);
  EXPECT_TRUE(made->faults.empty()) << made->text();
  call.inputs = whole.inputs;
  auto run = runProgram(gpuModule, plan, program, call, Launches::Others);
  ASSERT_TRUE(run);
  EXPECT_TRUE(run->faults.empty()) << run->text();
  for (auto [one, other] : llvm::zip(results, whole.outputs))
    EXPECT_TRUE(ArrayRef<char>(one) == ArrayRef<char>(other)) << "from what was prepared come other bits";
}

void GpuLayer::interpret(const GpuOptions &options, GpuOutcome &outcome) {
  auto plan = planOf(*module);
  mlir::gpu::GPUModuleOp gpuModule = *module->getOps<mlir::gpu::GPUModuleOp>().begin();
  auto program = skewer::gpu::programOf(gpuModule);
  ASSERT_TRUE(plan && program);
  ASSERT_FALSE(program->launches.empty());
  if (options.spoil)
    options.spoil(gpuModule);
  outcome.program = *program;
  outcome.launch = program->launches.front();
  llvm::raw_string_ostream(outcome.ir) << gpuModule;

  std::map<std::string, int64_t> sizes = sizesOf(*plan, options);
  std::mt19937_64 random(7);
  std::normal_distribution<double> normal(0, options.spread);
  Operands operands;
  std::vector<std::vector<char>> bytes;
  for (const TensorArgument &input : plan->inputs) {
    operands.tensors.push_back(seeded(input, sizes, options, random, normal));
    std::vector<double> values = operands.tensors.back().values;
    if (options.changeForKernel)
      options.changeForKernel(input.name, values);
    bytes.push_back(packed(values, input.type));
  }
  GpuCall call;
  call.order = options.order;
  call.boxes = options.boxes;
  call.inputs.assign(bytes.begin(), bytes.end());
  for (const std::string &name : plan->sizes)
    call.sizes.push_back(sizes.at(name));
  for (const TensorArgument &output : plan->outputs) {
    operands.shapes.push_back(shapeOf(output, sizes));
    reference::Tensor result{operands.shapes.back(), {}};
    operands.results.emplace_back(size_t(result.elements() * bytesOf(output.type)));
  }
  call.outputs.assign(operands.results.begin(), operands.results.end());
  auto report = runProgram(gpuModule, *plan, *program, call);
  ASSERT_TRUE(report) << "a kernel of the program is not in its module";
  outcome.report = std::move(*report);
  outcome.preparedBytes = plan->preparedBytes;
  if (plan->preparedBytes && !options.spoil)
    expectPrepared(gpuModule, *plan, *program, call);
  compare(*plan, options, operands, outcome);
}

static double errorOf(const std::vector<double> &got, const std::vector<double> &expected) {
  double largest = 0, worst = 0;
  for (size_t k = 0; k < got.size(); ++k) {
    if (std::isnan(expected[k]) != std::isnan(got[k]) || (std::isinf(expected[k]) && expected[k] != got[k]))
      worst = INFINITY;
    if (std::isfinite(expected[k])) {
      largest = std::max(largest, std::fabs(expected[k]));
      worst = std::max(worst, std::fabs(got[k] - expected[k]));
    }
  }
  return largest > 0 ? worst / largest : worst;
}

void GpuLayer::compare(const KernelPlan &plan, const GpuOptions &options, const Operands &operands,
                       GpuOutcome &outcome) {
  OwningOpRef<ModuleOp> own = shorter.empty() ? nullptr : importAt(options.lengths);
  std::vector<reference::Tensor> tensors = operands.tensors;
  while (!tensors.empty() && plan.inputs[tensors.size() - 1].isLength) // the layer of these lengths has none
    tensors.pop_back();
  reference::Interpreter judge(functionOf(own ? *own : *einsum), tensors);
  for (size_t k = 0; k < operands.results.size(); ++k) {
    std::vector<double> got = unpacked(operands.results[k], plan.outputs[k].type), expected;
    for (const std::vector<int64_t> &leading : reference::sampleRows(operands.shapes[k], 1 << 20, 1)) {
      auto row = judge.row(leading, k);
      ASSERT_TRUE(row) << row.reason;
      expected.insert(expected.end(), row->begin(), row->end());
    }
    ASSERT_EQ(expected.size(), got.size());
    outcome.error = std::max(outcome.error, errorOf(got, expected));
    if (k == 0) {
      outcome.got = std::move(got);
      outcome.expected = std::move(expected);
    }
  }
}

GpuOutcome skewer::testing::expectOnGpu(const std::string &text, double tolerance, const GpuOptions &options) {
  GpuLayer compiled(text); // the report names its operations
  GpuOutcome outcome = compiled.run(options);
  EXPECT_TRUE(outcome.lowered) << outcome.messages << text;
  EXPECT_TRUE(outcome.report.faults.empty()) << outcome.report.text() << text;
  for (auto &[operation, use] : outcome.report.banks)
    if (isa<NVVM::LdMatrixOp>(operation))
      EXPECT_FALSE(use.hasConflicts()) << use.wavefronts << " wavefronts for " << use.accesses << " accesses";
  skewer::gpu::BankUse shared = outcome.report.shared();
  EXPECT_LE(shared.wavefronts, 2 * shared.accesses) << outcome.report.conflicts() << text;
  EXPECT_LE(outcome.error, tolerance) << text;
  return outcome;
}

GpuOptions skewer::testing::onWgmma(const GpuOptions &options, llvm::StringRef engine) {
  GpuOptions result = options;
  result.target = "sm_90a";
  result.engine = engine.empty() ? skewer::gpu::kWgmma.str() : engine.str();
  result.rows = std::max<int64_t>(64, int64_t(llvm::alignTo(options.rows, 64)));
  result.keys = options.keys ? options.keys : 64;
  result.stages = std::max<int64_t>(skewer::gpu::factsOf(result.engine).runsAhead ? 3 : 2, options.stages);
  result.keepQueries = false;
  result.warpRows = 16;
  return result;
}

static bool isFused(const skewer::gpu::GpuProgram &program) {
  return llvm::any_of(program.launches, [](const skewer::gpu::GpuLaunch &launch) { return launch.rows > 0; });
}

static GpuOutcome expectOnEngine(const std::string &text, double tolerance, const GpuOptions &how) {
  SCOPED_TRACE("by " + how.engine + ", order " + std::to_string(how.order));
  GpuOutcome outcome = expectOnGpu(text, tolerance, how);
  EXPECT_TRUE(isFused(outcome.program)) << text;
  for (const skewer::gpu::GpuLaunch &launch : outcome.program.launches)
    if (launch.rows > 0) {
      EXPECT_EQ(launch.threads, 2 * launch.rows + 128) << "a thread for each half of a row, and the producers";
      EXPECT_LE(launch.sharedBytes, 227 * 1024) << text;
    }
  return outcome;
}

void skewer::testing::expectInEveryOrder(const std::string &text, double tolerance, GpuOptions options) {
  constexpr unsigned kOrders = 15;
  GpuLayer compiled(text);
  options.size = 1;
  GpuOutcome outcome = compiled.lower(options);
  ASSERT_TRUE(outcome.lowered) << outcome.messages;
  for (options.order = 0; options.order < kOrders; ++options.order) {
    compiled.interpret(options, outcome);
    EXPECT_TRUE(outcome.report.faults.empty()) << outcome.report.text() << "order " << options.order;
    EXPECT_LE(outcome.error, tolerance) << "order " << options.order;
  }
}

/// Returns whether a layer compiles with this schedule. If not, a constraint of schedules must be what refuses it.
static bool compilesUnless(const char *constraint, const std::string &text, const GpuOptions &how) {
  GpuLayer compiled(text);
  GpuOutcome outcome = compiled.lower(how);
  if (!outcome.lowered)
    EXPECT_NE(outcome.messages.find(constraint), std::string::npos) << outcome.messages << text;
  return outcome.lowered;
}
/// Returns whether a layer with this tile may run ahead.
static bool mayRunAhead(const std::string &text, const GpuOptions &how) {
  return compilesUnless("(gpu_schedule_c12)", text, how);
}
/// Returns whether TMA takes some rows of a layer.
static bool mayCopyBoxes(const std::string &text, const GpuOptions &how) {
  return compilesUnless("(gpu_schedule_c14)", text, how);
}

GpuOutcome skewer::testing::expectOnWgmma(const std::string &text, double tolerance, const GpuOptions &options) {
  GpuOutcome outcome = expectOnEngine(text, tolerance, onWgmma(options));
  GpuOptions ahead = onWgmma(options, skewer::gpu::kWgmmaAhead);
  bool runsAhead = mayRunAhead(text, ahead);
  if (runsAhead)
    expectOnEngine(text, tolerance, ahead);
  GpuOptions boxed = runsAhead ? ahead : onWgmma(options);
  boxed.copies = skewer::gpu::kTma.str();
  if (mayCopyBoxes(text, boxed))
    expectOnEngine(text, tolerance, boxed);
  return outcome;
}

bool skewer::testing::hasNarrowProducts(const std::string &text) {
  GpuLayer compiled(text);
  auto shape = compiled.shape();
  return shape && !shape->element.isF32();
}

GpuOutcome skewer::testing::expectOnEngines(const std::string &text, double tolerance, const GpuOptions &options) {
  GpuOutcome outcome = expectOnGpu(text, tolerance, options);
  if (!isFused(outcome.program) || !hasNarrowProducts(text))
    return outcome;
  constexpr unsigned kOrders = 15; // five of warps, three of copies (Scheduler.cpp)
  GpuOptions how = options;
  how.order = unsigned(llvm::xxh3_64bits(text) % kOrders);
  // Each text meets one of the two ways. Those that may not run ahead all meet the other.
  GpuOptions ahead = onWgmma(how, skewer::gpu::kWgmmaAhead);
  bool runsAhead = how.order % 2 && mayRunAhead(text, ahead);
  how = runsAhead ? ahead : onWgmma(how);
  expectOnEngine(text, tolerance, how);
  how.copies = skewer::gpu::kTma.str();
  if (how.order % 3 == 0 && mayCopyBoxes(text, how))
    expectOnEngine(text, tolerance, how);
  return outcome;
}

std::optional<SassTools> skewer::testing::findSassTools() {
  auto ptxas = skewer::gpu::findPtxas("");
  auto cuobjdump = skewer::gpu::findCuobjdump("", ptxas ? *ptxas : "");
  if (ptxas && cuobjdump)
    return SassTools{*ptxas, *cuobjdump};
  llvm::consumeError(ptxas.takeError());
  llvm::consumeError(cuobjdump.takeError());
  return std::nullopt;
}

llvm::Expected<std::string> skewer::testing::sassOf(llvm::StringRef ptx, const skewer::gpu::GpuTarget &target,
                                                    const SassTools &tools) {
  auto code = skewer::gpu::assemble(ptx, target, tools.ptxas);
  if (!code)
    return code.takeError();
  return skewer::gpu::disassemble(code->cubin, tools.cuobjdump);
}
