// A spec on its way down the levels, one module for each of its kernels.
#pragma once
#include "dialect/IR/KernelPlan.h"
#include "dialect/IR/TextPlace.h"
#include "dialect/Language/Decisions.h"
#include "dialect/Language/Diagnostic.h"
#include "dialect/Language/Parameter.h"
#include "mlir/IR/MLIRContext.h"
#include "mlir/IR/OwningOpRef.h"
#include "mlir/Support/LogicalResult.h"
#include "passes/Lengths/LengthPolynomial.h"
#include "passes/Schedule/CostModel.h"
#include "passes/Schedule/GpuCostModel.h"
#include "passes/Schedule/Target.h"
#include "tools/skewer/Session/SpecFile.h"
#include "llvm/IR/LLVMContext.h"
#include "llvm/IR/Module.h"
#include "llvm/Support/SourceMgr.h"
#include <map>
#include <memory>
#include <string>
#include <vector>

namespace skewer::language {
struct Options;
struct TypedText;
} // namespace skewer::language

namespace skewer::driver {

/// One kernel. `einsum` stays at level 1: the reference judges by it. Of a kernel with lengths it is the layer of their
/// bounds, and `shorter` are those at the other points that tell how it depends on them (LengthPolynomial.h).
struct Kernel {
  std::string name;
  mlir::OwningOpRef<mlir::ModuleOp> einsum;
  std::vector<mlir::OwningOpRef<mlir::ModuleOp>> shorter = {};
  KernelPlan signature = {}; // as the caller sees it
  mlir::func::FuncOp einsumFunction() const;
};

/// The kernel's module as it was written, once more.
mlir::OwningOpRef<mlir::ModuleOp> cloneOf(const Kernel &);
/// A kernel's function as a module of its own.
mlir::OwningOpRef<mlir::ModuleOp> moduleOf(mlir::func::FuncOp);

/// A kernel's module after one of the steps, and, once it is lowered, its plan.
struct Lowered {
  mlir::OwningOpRef<mlir::ModuleOp> module;
  KernelPlan plan;
};

/// What a pass remarked about a line of the spec: "not fused: …".
struct Remark {
  attn::TextPlace place;
  std::string text;
};

class Compilation {
public:
  /// Reads the spec, checks it and takes it apart. On failure the diagnostics have been said and nothing is
  /// returned.
  static std::unique_ptr<Compilation> create(const std::string &spec, const language::Parameters &parameters,
                                             const Target &target);
  /// The same for a spec's text; messages call it `name`, which ends in .attn or .mlir.
  static std::unique_ptr<Compilation> createFromText(const std::string &text, const std::string &name,
                                                     const language::Parameters &parameters, const Target &target);
  ~Compilation();

  std::vector<Kernel> kernels;
  /// Remarks of the passes that have run. With `printRemarks` they are printed in the compiler style too.
  std::vector<Remark> remarks;
  bool printRemarks = false;
  const Target &target() const { return machine; }
  /// What the steps below make code for from now on.
  void retarget(const Target &target) { machine = target; }
  /// Parts of schedules that the cost model does not choose.
  CpuRequest pinned;
  /// Hash over the spec's text and parameters.
  const std::string &hash() const { return specHash; }
  const std::string &path() const { return specPath; }
  /// The spec's text.
  llvm::StringRef text() const { return sources.getMemoryBuffer(sources.getMainFileID())->getBuffer(); }
  mlir::MLIRContext &context() { return *mlirContext; }
  /// The tensors that the kernels of an .attn text compute; none of an MLIR spec.
  language::TypedText typedTensors();

  /// Level 1 to 2: fused, operands walked evenly; what is scheduled for a GPU. Each step prints its diagnostics and
  /// returns null where it fails. `fusedText`, if given, receives the module's text right after fusion. `forGpu` makes
  /// a difference where the layer has lengths: what stages want is done before these are compared.
  mlir::OwningOpRef<mlir::ModuleOp> fuse(const Kernel &, std::string *fusedText = nullptr, bool forGpu = false);
  /// Level 1 to 3: fused and scheduled for the target.
  mlir::OwningOpRef<mlir::ModuleOp> schedule(const Kernel &);
  /// The second step of it, in place. False after a diagnostic.
  bool scheduleFused(mlir::ModuleOp, const std::string &name);
  /// Level 1 to 3 of the same layer without its positions. Null, without a diagnostic, where nothing has fused.
  mlir::OwningOpRef<mlir::ModuleOp> schedulePlain(const Kernel &);
  /// The kernel's module as it was written, for the generic path: no attention has a schedule.
  mlir::OwningOpRef<mlir::ModuleOp> cloneEinsum(const Kernel &);
  /// The same layer compiled for the lengths that `sizes` says: what the reference computes, whose work is counted.
  /// Null after a diagnostic where it has no meaning.
  std::optional<Kernel> kernelAt(const Kernel &, const std::map<std::string, int64_t> &sizes);
  /// Level 1 or 3 to 4, with the plan.
  std::optional<Lowered> lower(mlir::OwningOpRef<mlir::ModuleOp>, const std::string &name);
  /// Level 2 or 3 to level 3 for a GPU, in a module of its own.
  mlir::OwningOpRef<mlir::ModuleOp> scheduleForGpu(mlir::ModuleOp, const std::string &name, const gpu::GpuRequest &);
  /// The same and on to the NVVM dialect. `scheduledText`, if given, receives the module's text between the two.
  mlir::OwningOpRef<mlir::ModuleOp> lowerForGpu(mlir::ModuleOp, const std::string &name, const gpu::GpuRequest &,
                                                std::string *scheduledText = nullptr);
  /// Level 4 to an optimised LLVM module. `llvmText`, if given, receives its text.
  std::unique_ptr<llvm::Module> toLlvm(Lowered &, llvm::LLVMContext &, std::string *llvmText = nullptr);

  /// Says an error about a kernel.
  static void report(const std::string &name, llvm::Error);
  /// Says an error about a kernel's name or arguments at the line of the spec that says them.
  void reportAtLine(const Kernel &, llvm::Error);
  static std::string textOf(mlir::ModuleOp);

private:
  explicit Compilation(const Target &);
  /// Of the spec that `sources` holds.
  bool import(SpecKind, const language::Parameters &parameters);
  bool separate(mlir::ModuleOp);
  language::Options optionsAt(const Lengths &) const;
  /// The spec's module with these lengths; `said` gets what is wrong with it.
  mlir::OwningOpRef<mlir::ModuleOp> importAt(const Lengths &, language::DiagnosticSink said,
                                             language::Decisions *decisions = nullptr);
  bool findFactors(mlir::ModuleOp atBounds, const language::Decisions &);
  /// Whether the text's numbers decide the same at all lengths; false after an error at the one that does not.
  bool decidesAlike(const Lengths &bounds, const std::vector<language::Decisions> &atFittingPoints);
  /// Adds the layers of other lengths to each kernel that has some.
  bool importShorter(language::Decisions atBounds);
  /// `add` for the module, and for the kernel's shorter ones where it has some; then all of them are one.
  mlir::OwningOpRef<mlir::ModuleOp> runOnAll(const Kernel &, const char *what,
                                             llvm::function_ref<void(mlir::OpPassManager &)> add);
  mlir::OwningOpRef<mlir::ModuleOp> runOnLengths(const Kernel &, const char *what,
                                                 llvm::function_ref<void(mlir::OpPassManager &)> add);
  /// Runs passes; `what` names them in the message where none of them said why it failed.
  bool runPasses(mlir::ModuleOp, const std::string &name, const char *what,
                 llvm::function_ref<void(mlir::OpPassManager &)> add);

  /// What a user hears where the compiler fails at something that the text may ask for: one error at its line, and what
  /// to try. `about` is what a verifier said, without operations and constraints.
  void reportOwnFault(mlir::Location, const std::string &name, const char *what, const std::string &about);

  std::set<size_t> factorsAtRunTime; // of the text's numbers: those that depend on a length
  Target machine;
  bool isText = false; // an .attn spec, whose author wrote no operations
  language::Parameters parameters;
  std::string specPath, specHash;
  llvm::SourceMgr sources;
  std::unique_ptr<mlir::MLIRContext> mlirContext;
  std::set<size_t> spelledFactors; // of factorsAtRunTime, those made of whole numbers that are computed too
};

/// Passes that every kernel's `schedule` begins with, in MLIR's textual form. False after an error.
bool useOwnPasses(const std::string &pipeline);

} // namespace skewer::driver
