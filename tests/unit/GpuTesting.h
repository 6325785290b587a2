// Lowers a layer of the language to a GPU kernel, runs it in the interpreter, and compares it with the float64
// reference.
#pragma once
#include "codegen/GPU/GpuTarget.h"
#include "codegen/GPU/Interpreter/Interpreter.h"
#include "dialect/IR/Attn.h"
#include "passes/Gpu/GpuLaunch.h"
#include "passes/Gpu/Shape/GpuShape.h"
#include "passes/Lengths/FitLengths.h"
#include "tests/unit/StoredNumbers.h"
#include "llvm/Support/SourceMgr.h"
#include <gtest/gtest.h>

namespace skewer::testing {

struct GpuOptions {
  std::string target = "sm_80"; // its cost model chooses the values that are 0 here
  int64_t rows = 64, keys = 64, stages = 2;
  std::optional<bool> keepQueries = true;
  int64_t columns = 0, warpRows = 0, keyParts = 0;
  std::string engine;                       // empty: any that the target has
  std::string copies;                       // how producers copy regular rows; empty: by cp.async
  bool boxes = true;                        // kernels that copy boxes run, where there are some (GpuCall::boxes)
  unsigned order = 0;                       // in which warps run, where they run in any (LaunchShape::seed)
  std::map<size_t, std::string> strategies; // of terms, by their numbers from 0 on, instead of the model's choice
  bool fuse = true;                         // else attentions go by rows
  int64_t size = 2;                         // of every run-time size …
  Lengths lengths;                          // … but these
  double spread = 1;                        // standard deviation of the operands, times what the layer declares
  /// Changes operands before they are rounded: name, values.
  std::function<void(const std::string &, std::vector<double> &)> change;
  /// Changes operands of the kernel only, and not of the reference.
  std::function<void(const std::string &, std::vector<double> &)> changeForKernel;
  /// Changes the kernel after it has been lowered, to plant a fault.
  std::function<void(mlir::gpu::GPUModuleOp)> spoil;
};

struct GpuOutcome {
  bool lowered = false;
  std::string messages; // the compiler's messages
  gpu::Report report;   // its operations live as long as the layer
  gpu::GpuProgram program;
  gpu::GpuLaunch launch;             // of its first kernel
  int64_t preparedBytes = 0;         // if there are some, a call with them was compared with a whole call
  std::vector<double> got, expected; // of the first result
  double error = 0;                  // the largest of all results, relative to the result's largest value
  std::string ir;                    // of the NVVM dialect
};

class GpuLayer {
public:
  /// Imports a text. `extend`, if given, changes the dialect as a plugin would.
  explicit GpuLayer(const std::string &text, const std::function<void(attn::AttnDialect *)> &extend = nullptr);

  GpuOutcome run(const GpuOptions &options = {});
  /// Lowers the layer; `interpret` may run it several times, for any lengths.
  GpuOutcome lower(const GpuOptions &options);
  /// Runs the kernels and compares their results.
  void interpret(const GpuOptions &options, GpuOutcome &outcome);

  /// Returns the fused layer as the cost model sees it.
  std::optional<gpu::GpuShape> shape();

private:
  struct Operands;
  mlir::OwningOpRef<mlir::ModuleOp> importAt(const Lengths &lengths);
  bool fitLengths();
  std::map<std::string, int64_t> sizesOf(const KernelPlan &plan, const GpuOptions &options) const;
  void compare(const KernelPlan &plan, const GpuOptions &options, const Operands &operands, GpuOutcome &outcome);

  mlir::MLIRContext context;
  llvm::SourceMgr sources;
  mlir::OwningOpRef<mlir::ModuleOp> einsum, fused, module;
  // For a layer with lengths: the modules that it is compared with.
  std::vector<mlir::OwningOpRef<mlir::ModuleOp>> shorter;
};

/// Checks a layer as a GPU kernel: no fault, no bank conflict in reads for tensor cores and few in other accesses
/// (GpuBanksTest.cpp), and the reference's numbers.
GpuOutcome expectOnGpu(const std::string &text, double tolerance, const GpuOptions &options = {});

/// Returns the options with an engine of wgmma (sm_90a; "": `wgmma`), and the tile that it has nearest to theirs.
GpuOptions onWgmma(const GpuOptions &options, llvm::StringRef engine = "");
/// Runs a layer with every order of warps that the interpreter has, and expects no fault and this error at most.
void expectInEveryOrder(const std::string &text, double tolerance, GpuOptions);
/// Checks a layer as expectOnGpu does, by wgmma, with the warps in the order `options.order`; if it may run ahead, in
/// that way too (EngineFacts); if TMA takes some of its rows, with such copies too. Returns the outcome of the first
/// check.
GpuOutcome expectOnWgmma(const std::string &text, double tolerance, const GpuOptions &options = {});
/// Returns whether the products of a layer are of f16 or bf16.
bool hasNarrowProducts(const std::string &text);
/// Checks a layer with these options, and then by wgmma if its products are of f16 or bf16, with the warps in an order
/// that depends on the text. Returns the outcome of the first check.
GpuOutcome expectOnEngines(const std::string &text, double tolerance, const GpuOptions &options = {});

/// NVIDIA's programs that make the code of a GPU and show it.
struct SassTools {
  std::string ptxas, cuobjdump;
};
/// Returns the paths of the programs; nothing where one of them is not installed, so that the test is skipped.
std::optional<SassTools> findSassTools();
/// Returns the instructions that ptxas makes of a text in PTX, as cuobjdump shows them.
llvm::Expected<std::string> sassOf(llvm::StringRef ptx, const gpu::GpuTarget &target, const SassTools &tools);

} // namespace skewer::testing
