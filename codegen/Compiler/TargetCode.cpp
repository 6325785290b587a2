// Lowers a kernel to LLVM, a second time without tiles if there are any, and joins the two codes.
#include "codegen/Compiler/TargetCode.h"
#include "codegen/ABI/Emit.h"
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
              const ModuleTexts *texts)
      : compilation(compilation), kernel(kernel), symbol(symbol), context(context), texts(texts) {}

  /// Lowers a scheduled module. `name` is that of the code in `texts`.
  std::optional<Code> build(OwningOpRef<ModuleOp> scheduled, const std::string &name) {
    if (!scheduled)
      return std::nullopt;
    Code code;
    code.details = texts ? manifestDetails(kernel, *scheduled) : "{}";
    addText(Emit::Scheduled, name, *scheduled);
    code.scheduled = OwningOpRef<ModuleOp>(cast<ModuleOp>((*scheduled)->clone()));
    auto lowered = compilation.lower(std::move(scheduled), kernel.name);
    if (!lowered)
      return std::nullopt;
    addText(Emit::Loops, name, *lowered->module);
    lowered->plan.name = symbol;
    code.module = compilation.toLlvm(*lowered, context);
    code.plan = std::move(lowered->plan);
    return code.module ? std::optional<Code>(std::move(code)) : std::nullopt;
  }

private:
  void addText(Emit kind, const std::string &name, ModuleOp module) const {
    if (texts && texts->wants(kind))
      texts->add(kind, name, Compilation::textOf(module));
  }

  Compilation &compilation;
  const Kernel &kernel;
  const std::string &symbol; // its entries begin with this
  llvm::LLVMContext &context;
  const ModuleTexts *texts; // may be null
};

/// Returns a code as a part of its variant. Its entries will get a name of their own (joinedModule).
TargetCode asCode(Code &code, const Target &target, TileUse tiles) {
  TargetCode made{codeName(target, tiles), tiles, std::move(code.plan), std::move(code.details)};
  made.plan.name += "_" + symbolSuffix(instructionsOf(target, tiles));
  return made;
}

/// Renames the functions and data of a module that begin with `symbol`.
void rename(llvm::Module &module, llvm::StringRef symbol, const std::string &to) {
  for (llvm::GlobalValue &value : module.global_values())
    if (llvm::StringRef name = value.getName(); !value.isDeclaration() && name.consume_front(symbol))
      value.setName(to + name);
}

/// Makes a compilation compile without tiles, and without given parts of schedules, during its lifetime. The given
/// parts are for the code with tiles; other engines may not have such tiles.
class WithoutTiles {
public:
  explicit WithoutTiles(Compilation &compilation)
      : compilation(compilation), other(compilation, withoutTiles(compilation.target())), pinned(compilation.pinned),
        remarks(compilation.remarks.size()) {
    compilation.pinned = CpuRequest();
  }
  ~WithoutTiles() {
    compilation.pinned = pinned;
    compilation.remarks.resize(remarks); // they repeat those of the first code
  }

private:
  Compilation &compilation;
  const ForTarget other;
  const CpuRequest pinned;
  const size_t remarks;
};

} // namespace

std::optional<CodesForTarget> codesForTarget(Compilation &compilation, const Kernel &kernel, const std::string &symbol,
                                             llvm::LLVMContext &context,
                                             llvm::function_ref<OwningOpRef<ModuleOp>()> schedule,
                                             const ModuleTexts *texts) {
  CodeBuilder builder(compilation, kernel, symbol, context, texts);
  auto first = builder.build(schedule(), "");
  if (!first)
    return std::nullopt;
  CodesForTarget made;
  TargetVariant &variant = made.variant;
  variant.target = compilation.target();
  variant.symbol = symbol;
  variant.plan = first->plan;
  variant.details = first->details;
  made.scheduled.push_back(std::move(first->scheduled));
  TileUse tiles = tileUse(*first->module);
  made.modules.push_back(std::move(first->module));
  if (tiles == TileUse::None)
    return made;
  variant.codes.push_back(asCode(*first, variant.target, tiles));
  // In this process, whose modules nobody else sees, nobody refuses tiles that are emulated.
  if (texts || tiles != TileUse::Emulated) {
    WithoutTiles without(compilation);
    auto second = builder.build(schedule(), instructionsOf(variant.target).str());
    if (!second)
      return std::nullopt;
    variant.codes.push_back(asCode(*second, variant.target, TileUse::None));
    made.scheduled.push_back(std::move(second->scheduled));
    made.modules.push_back(std::move(second->module));
  }
  return made;
}

llvm::Expected<std::unique_ptr<llvm::Module>> joinedModule(const TargetVariant &variant, LlvmModules modules,
                                                           llvm::StringRef specHash, llvm::LLVMContext &context) {
  for (auto [number, module] : llvm::enumerate(modules))
    if (llvm::Error error = optimize(*module, number ? withoutTiles(variant.target) : variant.target))
      return error;
  if (variant.codes.empty())
    return std::move(modules.front());
  for (auto [code, module] : llvm::zip_equal(variant.codes, modules))
    rename(*module, variant.symbol, code.plan.name);
  return joinCodes(variant, std::move(modules), manifestText(withoutDetails(variant), specHash), context);
}

std::optional<ModuleInProcess> moduleInProcess(Compilation &compilation, const Kernel &kernel,
                                               llvm::LLVMContext &context,
                                               llvm::function_ref<OwningOpRef<ModuleOp>()> schedule) {
  ModuleInProcess made;
  std::vector<TargetVariant> variants;
  LlvmModules modules;
  // Returns false after a diagnostic.
  auto add = [&](const std::string &symbol) {
    auto one = codesForTarget(compilation, kernel, symbol, context, schedule);
    if (!one)
      return false;
    auto module = joinedModule(one->variant, std::move(one->modules), compilation.hash(), context);
    if (!module) {
      Compilation::report(kernel.name, module.takeError());
      return false;
    }
    variants.push_back(one->variant);
    modules.push_back(std::move(*module));
    made.all.push_back(std::move(*one));
    return true;
  };
  if (compilation.targets.size() < 2) {
    if (!add(kernel.name))
      return std::nullopt;
    made.module = std::move(modules.front());
    return made;
  }
  for (const Target &target : compilation.targets) {
    ForTarget other(compilation, target);
    if (!add(kernel.name + "_" + symbolSuffix(target.name)))
      return std::nullopt;
  }
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
