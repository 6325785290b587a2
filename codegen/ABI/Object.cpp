// Runs LLVM's optimisation and code generation, and returns the bytes of an object file or an assembly listing.
#include "codegen/ABI/Emit.h"
#include "codegen/ABI/TargetMachine.h"
#include "llvm/Analysis/TargetLibraryInfo.h"
#include "llvm/IR/LegacyPassManager.h"
#include "llvm/IR/Verifier.h"
#include "llvm/MC/MCSubtargetInfo.h"
#include "llvm/MC/TargetRegistry.h"
#include "llvm/Passes/PassBuilder.h"
#include "llvm/Support/TargetSelect.h"
#include "llvm/TargetParser/Host.h"
#include "llvm/Transforms/IPO/GlobalDCE.h"

using namespace llvm;

namespace skewer {

Triple targetTriple() { return Triple(sys::getProcessTriple()); }

TargetOptions targetOptions() {
  TargetOptions options;
  // Fuse only where the IR has `fma` or `contract`. So the lowering decides, and the result is the same on every
  // target.
  options.AllowFPOpFusion = FPOpFusion::Standard;
  options.FunctionSections = true;
  options.DataSections = true;
  return options;
}

void initializeBackEnd() {
  static const bool once = [] {
    InitializeNativeTarget();
    InitializeNativeTargetAsmPrinter();
    InitializeNativeTargetAsmParser();
    return true;
  }();
  (void)once;
}

Expected<std::unique_ptr<TargetMachine>> createTargetMachine(const Target &target) {
  initializeBackEnd();
  Triple triple = targetTriple();
  std::string message;
  const llvm::Target *backEnd = TargetRegistry::lookupTarget(triple, message);
  if (!backEnd)
    return createStringError(inconvertibleErrorCode(), "target '" + target.name + "': " + message);
  // For an unknown processor LLVM only warns, and then generates code for the oldest one.
  std::unique_ptr<MCSubtargetInfo> subtarget(backEnd->createMCSubtargetInfo(triple, "", ""));
  if (!subtarget || (!target.cpu.empty() && !subtarget->isCPUStringValid(target.cpu)))
    return createStringError(inconvertibleErrorCode(), "target '" + target.name + "': the code generator for " +
                                                           triple.str() + " knows no processor '" + target.cpu + "'");
  std::unique_ptr<TargetMachine> machine(backEnd->createTargetMachine(
      triple, target.cpu, target.features, targetOptions(), Reloc::PIC_, std::nullopt, CodeGenOptLevel::Aggressive));
  if (!machine)
    return createStringError(inconvertibleErrorCode(),
                             "target '" + target.name + "': no code generator for " + triple.str());
  return machine;
}

// Passes of LLVM's default pipeline that find nothing in kernels, or do not change a kernel's time. Tiles are already
// vectors and straight-line code when they are emitted, and there is nothing to propagate between functions. The names
// are class names. The first seven take a fifth of the pipeline's time. The others take a hundredth, and changed no
// function of the 110 layers of tests/bench/compile_time.py (zen4, x86-64-v2 and sapphirerapids, 2026-11-28).
static constexpr StringLiteral kIdlePasses[] = {"LoopLoadEliminationPass",
                                                "LoopFullUnrollPass",
                                                "IPSCCPPass",
                                                "CalledValuePropagationPass",
                                                "SLPVectorizerPass",
                                                "VectorCombinePass",
                                                "LoopIdiomRecognizePass",
                                                "AggressiveInstCombinePass",
                                                "Float2IntPass",
                                                "InjectTLIMappings",
                                                "LoopDistributePass",
                                                "LoopVectorizePass",
                                                "RecomputeGlobalsAAPass",
                                                "ReversePostOrderFunctionAttrsPass"};

/// Returns a function that says for one pass after the other whether it runs.
static auto chooserOfPasses() {
  // The simplification of functions ends with CoroElide, SimplifyCFG and InstCombine, and InstCombine runs again soon
  // after, for what the vectoriser leaves. The second run finds all that the first one does.
  return [last = StringRef(), lastButOne = StringRef()](StringRef pass, Any) mutable {
    bool isRepeated = pass == "InstCombinePass" && last == "SimplifyCFGPass" && lastButOne == "CoroElidePass";
    lastButOne = std::exchange(last, pass);
    return !isRepeated && !llvm::is_contained(kIdlePasses, pass);
  };
}

namespace {
/// The analyses that passes over a module use.
struct Analyses {
  explicit Analyses(PassBuilder &builder) {
    builder.registerModuleAnalyses(modules);
    builder.registerCGSCCAnalyses(components);
    builder.registerFunctionAnalyses(functions);
    builder.registerLoopAnalyses(loops);
    builder.crossRegisterProxies(loops, functions, components, modules);
  }
  LoopAnalysisManager loops;
  FunctionAnalysisManager functions;
  CGSCCAnalysisManager components;
  ModuleAnalysisManager modules;
};
} // namespace

Error optimize(llvm::Module &module, const Target &target) {
  auto machine = createTargetMachine(target);
  if (!machine)
    return machine.takeError();
  PipelineTuningOptions tuning;
  tuning.LoopVectorization = false;
  tuning.LoopInterleaving = false;
  tuning.SLPVectorization = false;
  tuning.LoopUnrolling = false; // except for the loops that attn-unroll-small-loops has marked
  PassInstrumentationCallbacks callbacks;
  callbacks.registerShouldRunOptionalPassCallback(chooserOfPasses());
  PassBuilder builder(machine->get(), tuning, std::nullopt, &callbacks);
  Analyses analyses(builder);
  builder.buildPerModuleDefaultPipeline(OptimizationLevel::O3).run(module, analyses.modules);
  return Error::success();
}

void removeUnused(llvm::Module &module) {
  PassBuilder builder;
  Analyses analyses(builder);
  GlobalDCEPass().run(module, analyses.modules);
}

/// Adds the notes that programs expect of any object. Unwind tables let backtraces and exceptions pass through each
/// function. A note says that the object satisfies control-flow enforcement (CET); one object without it turns CET off
/// for the whole program. The instructions do not change, except for an endbr64 where a function can be reached by a
/// pointer.
static void addNotes(llvm::Module &module) {
  for (Function &function : module)
    if (!function.isDeclaration())
      function.setUWTableKind(UWTableKind::Async);
  for (StringRef flag : {"cf-protection-branch", "cf-protection-return"})
    if (!module.getModuleFlag(flag))
      module.addModuleFlag(llvm::Module::Min, flag, 1);
}

Expected<std::string> emitObject(llvm::Module &module, const Target &target, bool assembly) {
  auto machine = createTargetMachine(target);
  if (!machine)
    return machine.takeError();
  addNotes(module);
  SmallVector<char, 0> bytes;
  raw_svector_ostream stream(bytes);
  legacy::PassManager passes;
  passes.add(new TargetLibraryInfoWrapperPass(targetTriple()));
  if ((*machine)->addPassesToEmitFile(passes, stream, nullptr,
                                      assembly ? CodeGenFileType::AssemblyFile : CodeGenFileType::ObjectFile))
    return createStringError(inconvertibleErrorCode(),
                             "target '" + target.name + "': the code generator writes no such file");
  passes.run(module);
  return std::string(bytes.begin(), bytes.end());
}

} // namespace skewer
