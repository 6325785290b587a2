// Lowers a kernel to LLVM, a second time without tiles if there are any, and joins the two codes.
#include "codegen/Compiler/TargetCode.h"
#include "codegen/Compiler/Facts.h"
#include "passes/Schedule/Machine.h"
#include "llvm/Support/raw_ostream.h"

using namespace mlir;

namespace skewer {
namespace {

/// One code: its module, and its part of the variant.
struct Code {
  KernelPlan plan;
  std::string details;
  std::unique_ptr<llvm::Module> module;
  OwningOpRef<ModuleOp> scheduled;
};

class CodeBuilder {
public:
  CodeBuilder(Compilation &compilation, const Kernel &kernel, const std::string &symbol, llvm::LLVMContext &context,
              const ModuleTexts &texts)
      : compilation(compilation), kernel(kernel), symbol(symbol), context(context), texts(texts) {}

  /// Lowers a scheduled module. `name` is that of the code in `texts`.
  std::optional<Code> build(OwningOpRef<ModuleOp> scheduled, const std::string &name) {
    if (!scheduled)
      return std::nullopt;
    Code code;
    code.details = texts.details ? manifestDetails(kernel, *scheduled) : "{}";
    if (texts.wants(Emit::Scheduled))
      texts.add(Emit::Scheduled, name, Compilation::textOf(*scheduled));
    code.scheduled = OwningOpRef<ModuleOp>(cast<ModuleOp>((*scheduled)->clone()));
    auto lowered = compilation.lower(std::move(scheduled), kernel.name);
    if (!lowered)
      return std::nullopt;
    if (texts.wants(Emit::Loops))
      texts.add(Emit::Loops, name, Compilation::textOf(*lowered->module));
    lowered->plan.name = symbol;
    code.module = compilation.toLlvm(*lowered, context);
    code.plan = std::move(lowered->plan);
    return code.module ? std::optional<Code>(std::move(code)) : std::nullopt;
  }

private:
  Compilation &compilation;
  const Kernel &kernel;
  const std::string &symbol; // its entries begin with this
  llvm::LLVMContext &context;
  const ModuleTexts &texts;
};

/// Returns the instructions that a code computes with, from its name: "amx", "avx512".
std::string instructionsOf(const std::string &codeName) { return codeName.substr(codeName.rfind('/') + 1); }

/// Returns a code as a part of its variant. The names of its functions, which begin with the variant's symbol, get the
/// code's own.
TargetCode asCode(Code &code, const Target &target, TileUse tiles) {
  TargetCode made{codeName(target, tiles), tiles, std::move(code.plan), std::move(code.details)};
  std::string suffix = "_" + symbolSuffix(instructionsOf(made.name));
  for (llvm::GlobalValue &value : code.module->global_values())
    if (llvm::StringRef name = value.getName(); !value.isDeclaration() && name.consume_front(made.plan.name))
      value.setName(made.plan.name + suffix + name);
  made.plan.name += suffix;
  return made;
}

/// Sets the target of a compilation, without given parts of schedules, and restores both. The given parts are for the
/// code with tiles; other engines may not have such tiles.
class WithoutTiles {
public:
  explicit WithoutTiles(Compilation &compilation)
      : compilation(compilation), target(compilation.target()), pinned(compilation.pinned),
        remarks(compilation.remarks.size()) {
    compilation.retarget(withoutTiles(target));
    compilation.pinned = CpuRequest();
  }
  ~WithoutTiles() {
    compilation.retarget(target);
    compilation.pinned = pinned;
    compilation.remarks.resize(remarks); // they repeat those of the first code
  }

private:
  Compilation &compilation;
  const Target target;
  const CpuRequest pinned;
  const size_t remarks;
};

} // namespace

std::optional<ModuleForTarget> moduleForTarget(Compilation &compilation, const Kernel &kernel,
                                               const std::string &symbol, llvm::LLVMContext &context,
                                               llvm::function_ref<OwningOpRef<ModuleOp>()> schedule,
                                               const ModuleTexts &texts) {
  CodeBuilder builder(compilation, kernel, symbol, context, texts);
  auto first = builder.build(schedule(), "");
  if (!first)
    return std::nullopt;
  ModuleForTarget made;
  TargetVariant &variant = made.variant;
  variant.target = compilation.target();
  variant.symbol = symbol;
  variant.plan = first->plan;
  variant.details = first->details;
  made.scheduled.push_back(std::move(first->scheduled));
  TileUse tiles = tileUse(*first->module);
  if (tiles == TileUse::None) {
    made.module = std::move(first->module);
    return made;
  }
  std::vector<std::unique_ptr<llvm::Module>> modules;
  variant.codes.push_back(asCode(*first, variant.target, tiles));
  modules.push_back(std::move(first->module));
  // In this process, whose modules nobody else sees, nobody refuses tiles that are emulated.
  if (tiles != TileUse::Emulated || texts.add) {
    WithoutTiles without(compilation);
    OwningOpRef<ModuleOp> scheduled = schedule();
    auto second = builder.build(std::move(scheduled), instructionsOf(codeName(variant.target)));
    if (!second)
      return std::nullopt;
    variant.codes.push_back(asCode(*second, variant.target, TileUse::None));
    made.scheduled.push_back(std::move(second->scheduled));
    modules.push_back(std::move(second->module));
  }
  std::string info = manifestText(withoutDetails(variant), compilation.hash());
  auto joined = joinCodes(variant, std::move(modules), info, context);
  if (!joined) {
    Compilation::report(kernel.name, joined.takeError());
    return std::nullopt;
  }
  made.module = std::move(*joined);
  return made;
}

std::optional<ModuleInProcess> moduleInProcess(Compilation &compilation, const Kernel &kernel,
                                               llvm::LLVMContext &context,
                                               llvm::function_ref<OwningOpRef<ModuleOp>()> schedule) {
  ModuleInProcess made;
  if (compilation.targets.size() < 2) {
    auto one = moduleForTarget(compilation, kernel, kernel.name, context, schedule);
    if (!one)
      return std::nullopt;
    made.module = std::move(one->module);
    made.all.push_back(std::move(*one));
    return made;
  }
  const Target own = compilation.target();
  std::vector<TargetVariant> variants;
  std::vector<std::unique_ptr<llvm::Module>> modules;
  for (const Target &target : compilation.targets) {
    compilation.retarget(target);
    auto one = moduleForTarget(compilation, kernel, kernel.name + "_" + symbolSuffix(target.name), context, schedule);
    if (!one)
      return std::nullopt;
    variants.push_back(one->variant);
    modules.push_back(std::move(one->module));
    made.all.push_back(std::move(*one));
  }
  compilation.retarget(own);
  auto dispatcher = dispatcherModule(kernel.name, variants, "{}", context);
  if (dispatcher)
    dispatcher = joinModules(std::move(*dispatcher), std::move(modules));
  if (!dispatcher) {
    Compilation::report(kernel.name, dispatcher.takeError());
    return std::nullopt;
  }
  made.module = std::move(*dispatcher);
  return made;
}

} // namespace skewer
