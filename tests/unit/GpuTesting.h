// A layer of the language on its way to a GPU kernel, run by the interpreter and compared with the float64 reference.
#pragma once
#include "codegen/Reference/Reference.h"
#include "dialect/IR/Attn.h"
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
#include "passes/Analysis/GpuShape.h"
#include "passes/Lengths/FitLengths.h"
#include "passes/Pipelines.h"
#include "passes/Schedule/GpuCostModel.h"
#include "passes/Stages/NarrowOperands.h"
#include "tests/unit/GpuProgram.h"
#include "tests/unit/StoredNumbers.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/SourceMgr.h"
#include <cmath>
#include <gtest/gtest.h>
#include <random>

namespace skewer::testing {

struct GpuOptions {
  std::string target = "sm_80"; // whose cost model chooses what is 0 here
  int64_t rows = 64, keys = 64, stages = 2;
  std::optional<bool> keepQueries = true;
  int64_t columns = 0, warpRows = 0, keyParts = 0;
  bool fuse = true;  // else attentions go by rows
  int64_t size = 2;  // of every run-time size …
  Lengths lengths;   // … but these
  double spread = 1; // standard deviation of the operands, times what the layer declares
  /// Changes operands before they are rounded: name, values.
  std::function<void(const std::string &, std::vector<double> &)> change;
  /// Changes the kernel after it has been lowered, to plant a fault.
  std::function<void(mlir::gpu::GPUModuleOp)> spoil;
};

struct GpuOutcome {
  bool lowered = false;
  std::string messages; // what the compiler said
  gpu::Report report;   // its operations live as long as the layer
  gpu::GpuProgram program;
  gpu::GpuLaunch launch;             // of its first kernel
  std::vector<double> got, expected; // of the first result
  double error = 0;                  // the largest of all results, relative to the result's largest value
  std::string ir;                    // of the NVVM dialect
};

class GpuLayer {
public:
  /// `extend`, if given, does to the dialect what a plugin would.
  explicit GpuLayer(const std::string &text, const std::function<void(attn::AttnDialect *)> &extend = nullptr)
      : context(registry(), mlir::MLIRContext::Threading::DISABLED) {
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

  GpuOutcome run(const GpuOptions &options = {}) {
    GpuOutcome outcome = lower(options);
    if (outcome.lowered)
      interpret(options, outcome);
    return outcome;
  }

  /// Lowered; then it may be interpreted as often as one likes, for any lengths.
  GpuOutcome lower(const GpuOptions &options) {
    GpuOutcome outcome;
    if (!einsum)
      return outcome;
    mlir::ScopedDiagnosticHandler handler(&context, [&](mlir::Diagnostic &diagnostic) {
      if (diagnostic.getSeverity() == mlir::DiagnosticSeverity::Error)
        llvm::raw_string_ostream(outcome.messages) << diagnostic.getLocation() << ": " << diagnostic.str() << "\n";
    });
    module = mlir::cast<mlir::ModuleOp>((*einsum)->clone());
    if (!shorter.empty() && !fitLengths())
      return outcome;
    mlir::PassManager manager(&context);
    if (shorter.empty()) {
      addFusionPipeline(manager);
      addOperandPipeline(manager);
    }
    addGpuSchedulePipeline(manager, {options.target, options.rows, options.keys, options.stages, options.keepQueries,
                                     options.columns, options.warpRows, options.keyParts});
    addGpuLoweringPipeline(manager, options.fuse);
    addNvvmPipeline(manager);
    outcome.lowered = succeeded(manager.run(*module));
    return outcome;
  }

  /// The fused layer as the cost model sees it.
  std::optional<gpu::GpuShape> shape() {
    fused = mlir::cast<mlir::ModuleOp>((*einsum)->clone());
    mlir::PassManager manager(&context);
    addFusionPipeline(manager);
    std::string reason;
    if (failed(manager.run(*fused)))
      return std::nullopt;
    mlir::func::FuncOp function = *fused->getOps<mlir::func::FuncOp>().begin();
    gpu::narrowOperands(function);
    auto attentions = function.getOps<attn::AttentionOp>();
    return attentions.empty() ? std::nullopt : gpu::gpuShapeOf(*attentions.begin(), reason);
  }

private:
  static mlir::DialectRegistry registry() {
    mlir::DialectRegistry registry;
    registry.insert<attn::AttnDialect, mlir::func::FuncDialect, mlir::arith::ArithDialect, mlir::math::MathDialect,
                    mlir::scf::SCFDialect, mlir::cf::ControlFlowDialect, mlir::tensor::TensorDialect,
                    mlir::LLVM::LLVMDialect, mlir::NVVM::NVVMDialect, mlir::gpu::GPUDialect>();
    return registry;
  }

  static mlir::func::FuncOp functionOf(mlir::ModuleOp module) { return *module.getOps<mlir::func::FuncOp>().begin(); }

  mlir::OwningOpRef<mlir::ModuleOp> importAt(const Lengths &lengths) {
    language::Options options;
    options.lengths = lengths;
    return language::importSource(sources, options, &context, llvm::errs());
  }

  /// The layers of a few lengths become one.
  bool fitLengths() {
    mlir::PassManager manager(&context);
    addFusionPipeline(manager);
    addLengthPipeline(manager, /*forGpu=*/true);
    std::vector<mlir::OwningOpRef<mlir::ModuleOp>> others;
    llvm::SmallVector<mlir::func::FuncOp> layers{functionOf(*module)};
    for (auto &other : shorter) {
      others.emplace_back(mlir::cast<mlir::ModuleOp>((*other)->clone()));
      layers.push_back(functionOf(*others.back()));
    }
    for (mlir::func::FuncOp layer : layers)
      if (failed(manager.run(layer->getParentOp())))
        return false;
    return succeeded(skewer::fitLengths(layers));
  }

public:
  void interpret(const GpuOptions &options, GpuOutcome &outcome) {
    auto plan = planOf(*module);
    mlir::gpu::GPUModuleOp gpuModule = *module->getOps<mlir::gpu::GPUModuleOp>().begin();
    auto program = gpu::programOf(gpuModule);
    ASSERT_TRUE(plan && program);
    ASSERT_FALSE(program->launches.empty());
    if (options.spoil)
      options.spoil(gpuModule);
    outcome.program = *program;
    outcome.launch = program->launches.front();
    llvm::raw_string_ostream(outcome.ir) << gpuModule;

    std::map<std::string, int64_t> sizes;
    for (const std::string &name : plan->sizes)
      sizes[name] = options.lengths.count(name) ? options.lengths.at(name) : options.size;
    auto shapeOf = [&](const TensorArgument &argument) {
      std::vector<int64_t> shape;
      for (const Extent &extent : argument.shape)
        shape.push_back(extent.name.empty() ? extent.fixed : *skewer::valueOf(extent.name, sizes));
      return shape;
    };
    std::mt19937_64 random(7);
    std::normal_distribution<double> normal(0, options.spread);
    std::vector<reference::Tensor> tensors;
    std::vector<std::vector<char>> bytes;
    auto isInteger = [](ElementType type) { return type == ElementType::I32 || type == ElementType::I8; };
    auto pack = [&](const std::vector<double> &values, ElementType type) {
      std::vector<char> packed;
      for (double value : values) {
        uint32_t bits = isInteger(type) ? uint32_t(int32_t(value)) : encode(value, type);
        for (int64_t k = 0; k < bytesOf(type); ++k)
          packed.push_back(char(bits >> 8 * k));
      }
      return packed;
    };
    for (const TensorArgument &input : plan->inputs) {
      reference::Tensor tensor{shapeOf(input), {}};
      tensor.values.resize(size_t(tensor.elements()));
      IndexRange range = input.range.value_or(input.type == ElementType::I8 ? IndexRange{-128, 127} : IndexRange{0, 1});
      for (double &value : tensor.values)
        value = isInteger(input.type)
                    ? double(range.low + int64_t(random() % uint64_t(range.high - range.low + 1)))
                                    : input.between ? input.between->first + (input.between->second - input.between->first) *
                                                             std::uniform_real_distribution<double>()(random)
                                : input.mean.value_or(0) + normal(random) * input.deviation.value_or(1);
      if (options.change)
        options.change(input.name, tensor.values);
      for (double &value : tensor.values)
        if (!isInteger(input.type))
          value = decode(encode(value, input.type), input.type);
      bytes.push_back(pack(tensor.values, input.type));
      tensors.push_back(std::move(tensor));
    }
    GpuCall call;
    call.inputs.assign(bytes.begin(), bytes.end());
    for (const std::string &name : plan->sizes)
      call.sizes.push_back(sizes.at(name));
    std::vector<reference::Tensor> results;
    std::vector<std::vector<char>> out;
    for (const TensorArgument &output : plan->outputs) {
      results.push_back({shapeOf(output), {}});
      out.emplace_back(size_t(results.back().elements() * bytesOf(output.type)));
    }
    call.outputs.assign(out.begin(), out.end());
    auto report = runProgram(gpuModule, *plan, *program, call);
    ASSERT_TRUE(report) << "a kernel of the program is not in its module";
    outcome.report = std::move(*report);

    mlir::OwningOpRef<mlir::ModuleOp> own = shorter.empty() ? nullptr : importAt(options.lengths);
    while (!tensors.empty() && plan->inputs[tensors.size() - 1].isLength) // the layer of these lengths has none
      tensors.pop_back();
    reference::Interpreter judge(functionOf(own ? *own : *einsum), tensors);
    for (size_t k = 0; k < out.size(); ++k) {
      std::vector<double> got, expected;
      int64_t size = bytesOf(plan->outputs[k].type);
      for (int64_t n = 0; n < results[k].elements(); ++n) {
        uint32_t bits = 0;
        std::memcpy(&bits, out[k].data() + n * size, size_t(size));
        got.push_back(decode(bits, plan->outputs[k].type));
      }
      for (const std::vector<int64_t> &leading : reference::sampleRows(results[k].shape, 1 << 20, 1)) {
        std::string error;
        auto row = judge.row(leading, &error, k);
        ASSERT_TRUE(row) << error;
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

private:
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

  mlir::MLIRContext context;
  llvm::SourceMgr sources;
  mlir::OwningOpRef<mlir::ModuleOp> einsum, fused, module;
  std::vector<mlir::OwningOpRef<mlir::ModuleOp>> shorter; // of a layer with lengths: those that it is compared with
};

/// The layer as a GPU kernel: no fault, no bank conflict in what tensor cores read and few in other accesses
/// (GpuBanksTest.cpp), and the reference's numbers.
inline GpuOutcome expectOnGpu(const std::string &text, double tolerance, const GpuOptions &options = {}) {
  GpuLayer compiled(text); // the report names its operations
  GpuOutcome outcome = compiled.run(options);
  EXPECT_TRUE(outcome.lowered) << outcome.messages << text;
  EXPECT_TRUE(outcome.report.faults.empty()) << outcome.report.text() << text;
  for (auto &[operation, use] : outcome.report.banks)
    if (mlir::isa<mlir::NVVM::LdMatrixOp>(operation))
      EXPECT_FALSE(use.hasConflicts()) << use.wavefronts << " wavefronts for " << use.accesses << " accesses";
  gpu::BankUse shared = outcome.report.shared();
  EXPECT_LE(shared.wavefronts, 2 * shared.accesses) << outcome.report.conflicts() << text;
  EXPECT_LE(outcome.error, tolerance) << text;
  return outcome;
}

} // namespace skewer::testing
