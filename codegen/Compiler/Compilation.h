// Compiles a spec through the levels of passes/README.md, with one module for each of its kernels. `compile`
// (Compile.cpp) runs all steps; the commands of tools/skewer, the language server and the tests run them one by one,
// because they need the modules in between. Each step prints its diagnostics at their lines in the spec.
#pragma once
#include "codegen/Compiler/SpecFile.h"
#include "dialect/IR/KernelPlan.h"
#include "dialect/IR/TextPlace.h"
#include "dialect/Language/Decisions.h"
#include "dialect/Language/Diagnostic.h"
#include "dialect/Language/Parameter.h"
#include "mlir/IR/MLIRContext.h"
#include "mlir/IR/OwningOpRef.h"
#include "mlir/Support/LogicalResult.h"
#include "passes/Cpu/Schedule/CostModel.h"
#include "passes/Gpu/Schedule/GpuCostModel.h"
#include "passes/Lengths/LengthPolynomial.h"
#include "passes/Schedule/Target.h"
#include "llvm/IR/LLVMContext.h"
#include "llvm/IR/Module.h"
#include "llvm/Support/SourceMgr.h"
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

namespace skewer::language {
struct Options;
struct TypedText;
} // namespace skewer::language

namespace skewer {

/// One kernel. `einsum` stays at level 1, because the reference judges by it. If the kernel has lengths, `einsum` is
/// the layer at their bounds, and `shorter` holds the layers at the other points that show how the layer depends on the
/// lengths (LengthPolynomial.h).
struct Kernel {
  std::string name;
  mlir::OwningOpRef<mlir::ModuleOp> einsum;
  std::vector<mlir::OwningOpRef<mlir::ModuleOp>> shorter = {};
  KernelPlan signature = {}; // as the caller sees it
  mlir::func::FuncOp einsumFunction() const;
};

/// Returns a copy of the kernel's module as it was written.
mlir::OwningOpRef<mlir::ModuleOp> cloneOf(const Kernel &);
/// Does the same; for a kernel with lengths, returns a module with the modules of its layers, the longest first.
mlir::OwningOpRef<mlir::ModuleOp> levelOneOf(const Kernel &);
/// Returns a kernel's function as a module of its own.
mlir::OwningOpRef<mlir::ModuleOp> moduleOf(mlir::func::FuncOp);

/// A kernel's module after one of the steps, and its plan once it is lowered.
struct Lowered {
  mlir::OwningOpRef<mlir::ModuleOp> module;
  KernelPlan plan;
};

/// A remark of a pass about a line of the spec: "not fused: …".
struct Remark {
  attn::TextPlace place;
  std::string text;
};

class Compilation {
public:
  /// Reads the spec, checks it and separates its kernels. On failure, reports the diagnostics and returns null.
  static std::unique_ptr<Compilation> create(const std::string &spec, const language::Parameters &parameters,
                                             const Target &target);
  /// Does the same for the text of a spec; messages call it `name`, which ends in .attn or .mlir.
  static std::unique_ptr<Compilation> createFromText(const std::string &text, const std::string &name,
                                                     const language::Parameters &parameters, const Target &target);
  ~Compilation();

  std::vector<Kernel> kernels;
  /// Remarks of the passes that have run.
  std::vector<Remark> remarks;
  /// Called with a text that says what is being compiled.
  std::function<void(const std::string &)> doing = [](const std::string &) {};
  const Target &target() const { return machine; }
  /// Sets the target that the steps below compile for.
  void retarget(const Target &target) { machine = target; }
  /// The targets among which a kernel in this process chooses, in their order; empty: it is for `target` alone.
  std::vector<Target> targets;
  /// Parts of schedules that are given instead of chosen by the cost model.
  CpuRequest pinned;
  /// Returns the hash over the spec's text and parameters.
  const std::string &hash() const { return specHash; }
  const std::string &path() const { return specPath; }
  /// Returns the spec's text.
  llvm::StringRef text() const { return sources.getMemoryBuffer(sources.getMainFileID())->getBuffer(); }
  mlir::MLIRContext &context() { return *mlirContext; }
  /// Returns the tensors that the kernels of an .attn text compute; none for an MLIR spec.
  language::TypedText typedTensors();

  /// Lowers level 1 to 2: fused, operands walked evenly; a GPU schedule starts from it. Each step prints its
  /// diagnostics and returns null if it fails. `fusedText`, if given, receives the module's text right after fusion.
  /// `forGpu` matters only for a layer with lengths: it selects the form that stages of GPUs need, before the layers of
  /// different lengths are compared.
  mlir::OwningOpRef<mlir::ModuleOp> fuse(const Kernel &, std::string *fusedText = nullptr, bool forGpu = false);
  /// Lowers level 1 to 3: fused and scheduled for the target.
  mlir::OwningOpRef<mlir::ModuleOp> schedule(const Kernel &);
  /// Runs the second step of `schedule` in place. Returns false after a diagnostic.
  bool scheduleFused(mlir::ModuleOp, const std::string &name);
  /// Lowers the same layer without its positions from level 1 to 3. Null, without a diagnostic, if nothing fuses.
  mlir::OwningOpRef<mlir::ModuleOp> schedulePlain(const Kernel &);
  /// Returns a copy of the kernel's module as it was written, for the generic path: no attention has a schedule.
  mlir::OwningOpRef<mlir::ModuleOp> cloneEinsum(const Kernel &);
  /// Returns the same layer compiled for the lengths in `sizes`. The reference computes this layer, and its work is
  /// counted. Null after a diagnostic if the layer has no meaning at these lengths.
  std::optional<Kernel> kernelAt(const Kernel &, const std::map<std::string, int64_t> &sizes);
  /// Lowers level 1 or 3 to 4, with the plan.
  std::optional<Lowered> lower(mlir::OwningOpRef<mlir::ModuleOp>, const std::string &name);
  /// Lowers level 2 or 3 to level 3 for a GPU, in a module of its own.
  mlir::OwningOpRef<mlir::ModuleOp> scheduleForGpu(mlir::ModuleOp, const std::string &name, const gpu::GpuRequest &);
  /// Does the same and lowers on to the NVVM dialect. `scheduledText`, if given, receives the module's text between the
  /// two.
  mlir::OwningOpRef<mlir::ModuleOp> lowerForGpu(mlir::ModuleOp, const std::string &name, const gpu::GpuRequest &,
                                                std::string *scheduledText = nullptr);
  /// Lowers level 4 to an LLVM module, which `optimize` of codegen/ABI/Emit.h has not seen yet.
  std::unique_ptr<llvm::Module> toLlvm(Lowered &, llvm::LLVMContext &);

  /// Reports an error about a kernel.
  static void report(const std::string &name, llvm::Error);
  /// Reports an error about a kernel's name or arguments at their line in the spec.
  void reportAtLine(const Kernel &, llvm::Error);
  static std::string textOf(mlir::ModuleOp);

private:
  explicit Compilation(const Target &);
  /// Imports the spec that `sources` holds.
  bool import(SpecKind, const language::Parameters &parameters);
  bool separate(mlir::ModuleOp);
  language::Options optionsAt(const Lengths &) const;
  /// Imports the spec's module at these lengths; `said` receives the errors.
  mlir::OwningOpRef<mlir::ModuleOp> importAt(const Lengths &, language::DiagnosticSink said,
                                             language::Decisions *decisions = nullptr);
  bool findFactors(mlir::ModuleOp atBounds, const language::Decisions &);
  /// Returns whether the numbers of the text lead to the same decisions at all lengths. Returns false after an error at
  /// a decision that differs.
  bool decidesAlike(const Lengths &bounds, const std::vector<language::Decisions> &atFittingPoints);
  /// Adds the layers at other lengths to each kernel that has lengths.
  bool importShorter(language::Decisions atBounds);
  /// Runs a pipeline, given by its flags, on the kernel. If the kernel has lengths, runs it on the layer at each
  /// fitting point, and makes one layer of them (attn-fit-lengths).
  mlir::OwningOpRef<mlir::ModuleOp> runOnAll(const Kernel &, const char *what, std::string pipeline,
                                             bool forGpu = false);
  /// When the operations of a module are verified: after each pass, or once after the last one. A lowered module has
  /// thousands of operations, which only MLIR's own passes change; verifying them after each pass takes a tenth of a
  /// compilation.
  enum class Verify { AfterEach, AtEnd };
  /// Runs passes; `what` names them in the message if none of them reports why it failed.
  bool runPasses(mlir::ModuleOp, const std::string &name, const char *what,
                 llvm::function_ref<void(mlir::OpPassManager &)> add, Verify = Verify::AfterEach);

  /// Reports that the compiler failed at a valid text: one error at its line, with advice. `about` is the verifier's
  /// message without names of operations and constraints.
  void reportOwnFault(mlir::Location, const std::string &name, const char *what, const std::string &about);

  std::set<size_t> factorsAtRunTime; // numbers of the text that depend on a length
  Target machine;
  bool isText = false; // the spec is an .attn text, whose author wrote no operations
  language::Parameters parameters;
  std::string specPath, specHash;
  llvm::SourceMgr sources;
  std::unique_ptr<mlir::MLIRContext> mlirContext;
  std::set<size_t> spelledFactors; // factors whose whole numbers are computed too, such as N^2
};

/// Makes a compilation compile for another target during its lifetime.
class ForTarget {
public:
  ForTarget(Compilation &compilation, const Target &target) : compilation(compilation), before(compilation.target()) {
    compilation.retarget(target);
  }
  ~ForTarget() { compilation.retarget(before); }
  ForTarget(const ForTarget &) = delete;
  ForTarget &operator=(const ForTarget &) = delete;

private:
  Compilation &compilation;
  const Target before;
};

/// Sets passes, in MLIR's textual form, that run at the beginning of `schedule` for every kernel. Returns false after
/// an error.
bool useOwnPasses(const std::string &pipeline);

} // namespace skewer
