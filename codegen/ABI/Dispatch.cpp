// Builds the dispatching entries as LLVM IR, and joins the headers and manifests of the variants.
#include "codegen/ABI/Dispatch.h"
#include "codegen/ABI/CpuCheck.h"
#include "codegen/ABI/Emit.h"
#include "codegen/ABI/Manifest.h"
#include "codegen/ABI/TargetMachine.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/IR/IRBuilder.h"
#include "llvm/IR/Verifier.h"
#include "llvm/Linker/Linker.h"
#include "llvm/Support/raw_ostream.h"
#include <algorithm>
#include <tuple>

using namespace llvm;

namespace skewer {

std::string symbolSuffix(StringRef target) {
  std::string suffix = target.str();
  for (char &c : suffix)
    c = isAlnum(c) ? c : '_';
  return suffix;
}

std::vector<Target> inOrderOfChoice(ArrayRef<Target> targets) {
  auto rank = [](const Target &target) {
    return std::tuple(target.lanes, checkedFeatures(target), target.tileStepsPerCycle > 0);
  };
  std::vector<Target> ordered = targets.vec();
  stable_sort(ordered, [&](const Target &a, const Target &b) { return rank(a) > rank(b); });
  return ordered;
}

StringRef instructionsOf(const Target &target, TileUse tiles) {
  return tiles == TileUse::Native     ? "amx"
         : tiles == TileUse::Emulated ? "amx-emulated"
         : target.lanes >= 16         ? "avx512"
         : target.lanes >= 8          ? "avx2"
                                      : "sse";
}

std::string codeName(const Target &target, TileUse tiles) {
  return (target.name + "/" + instructionsOf(target, tiles)).str();
}

Target dispatcherTarget() {
  Target target;
  target.name = "x86-64";
  target.cpu = "x86-64";
  target.lanes = 4;
  return target;
}

namespace {

/// One of the codes among which entries choose.
struct Alternative {
  std::string symbol; // its entries begin with this
  const Target &target;
  TileUse tiles = TileUse::None;
  std::string name; // what NAME_code returns of it; empty: its own entry says that
};

class DispatcherBuilder {
public:
  DispatcherBuilder(llvm::Module &module, StringRef name, ArrayRef<Alternative> alternatives, bool hasConst)
      : module(module), context(module.getContext()), name(name), alternatives(alternatives), hasConst(hasConst),
        b(context) {}

  void build(StringRef info) {
    buildChoice();
    Type *i32 = b.getInt32Ty(), *i64 = b.getInt64Ty(), *pointer = b.getPtrTy();
    buildEntry("", i32, {pointer, pointer});
    buildEntry("_raw", i32, {pointer, pointer, i32, i64, i64, i32});
    buildEntry("_phases", i32, {});
    buildEntry("_items", i64, {pointer, i32});
    buildEntry("_workspace_bytes", i64, {pointer, pointer});
    if (hasConst) {
      buildEntry("_prepared_bytes", i64, {});
      buildEntry("_prepare", i32, {pointer, pointer, pointer});
      buildEntry("_prepared", i32, {pointer, pointer, pointer});
    }
    buildCode();
    begin(declare("_info", pointer, {}, GlobalValue::ExternalLinkage));
    b.CreateRet(b.CreateGlobalString(info, name + ".info"));
  }

private:
  Function *declare(const Twine &suffix, Type *result, ArrayRef<Type *> parameters, GlobalValue::LinkageTypes linkage) {
    Function *function = Function::Create(FunctionType::get(result, parameters, false), linkage, name + suffix, module);
    makeBaseline(*function);
    return function;
  }
  void begin(Function *function) { b.SetInsertPoint(BasicBlock::Create(context, "", function)); }

  /// Builds i32 NAME.choice(), which returns the number of the code for this processor. Each check remembers its
  /// answer.
  void buildChoice() {
    choice = declare(".choice", b.getInt32Ty(), {}, GlobalValue::InternalLinkage);
    begin(choice);
    for (size_t k = 0; k + 1 < alternatives.size(); ++k) {
      const Alternative &one = alternatives[k];
      Function *check = addCpuCheck(module, one.symbol, one.target, one.tiles);
      if (!check) { // this code runs everywhere
        b.CreateRet(b.getInt32(k));
        return;
      }
      BasicBlock *found = BasicBlock::Create(context, "", choice), *next = BasicBlock::Create(context, "", choice);
      b.CreateCondBr(b.CreateCall(check), found, next);
      b.SetInsertPoint(found);
      b.CreateRet(b.getInt32(k));
      b.SetInsertPoint(next);
    }
    b.CreateRet(b.getInt32(alternatives.size() - 1));
  }

  void buildEntry(StringRef suffix, Type *result, ArrayRef<Type *> parameters) {
    auto *type = FunctionType::get(result, parameters, false);
    Function *entry = declare(suffix, result, parameters, GlobalValue::ExternalLinkage);
    begin(entry);
    SmallVector<Value *> arguments;
    for (Argument &argument : entry->args())
      arguments.push_back(&argument);
    forChosen(entry, [&](const Alternative &one) {
      CallInst *made = b.CreateCall(module.getOrInsertFunction((one.symbol + suffix).str(), type), arguments);
      made->setTailCall();
      b.CreateRet(made);
    });
  }

  /// Builds const char *NAME_code(void).
  void buildCode() {
    Function *entry = declare("_code", b.getPtrTy(), {}, GlobalValue::ExternalLinkage);
    begin(entry);
    forChosen(entry, [&](const Alternative &one) {
      auto *type = FunctionType::get(b.getPtrTy(), false);
      Value *text = one.name.empty() ? static_cast<Value *>(
                                           b.CreateCall(module.getOrInsertFunction(one.symbol + "_code", type)))
                                     : b.CreateGlobalString(one.name, name + ".code");
      b.CreateRet(text);
    });
  }

  /// Emits the choice, and after it what `body` emits for each code.
  void forChosen(Function *entry, function_ref<void(const Alternative &)> body) {
    Value *number = b.CreateCall(choice);
    BasicBlock *last = BasicBlock::Create(context, "", entry);
    SwitchInst *select = b.CreateSwitch(number, last, alternatives.size() - 1);
    for (size_t k = 0; k + 1 < alternatives.size(); ++k) {
      BasicBlock *block = BasicBlock::Create(context, "", entry);
      select->addCase(b.getInt32(k), block);
      b.SetInsertPoint(block);
      body(alternatives[k]);
    }
    b.SetInsertPoint(last);
    body(alternatives.back());
  }

  llvm::Module &module;
  LLVMContext &context;
  StringRef name;
  ArrayRef<Alternative> alternatives;
  const bool hasConst;
  IRBuilder<> b;
  Function *choice = nullptr;
};

Expected<std::unique_ptr<llvm::Module>> moduleThatChooses(StringRef name, ArrayRef<Alternative> alternatives,
                                                          bool hasConst, StringRef info, LLVMContext &context) {
  auto module = std::make_unique<llvm::Module>(name, context);
  auto machine = createTargetMachine(dispatcherTarget());
  if (!machine)
    return machine.takeError();
  module->setTargetTriple(targetTriple());
  module->setDataLayout((*machine)->createDataLayout());
  module->setPICLevel(PICLevel::BigPIC);
  DispatcherBuilder(*module, name, alternatives, hasConst).build(info);
  for (Function &function : *module) {
    if (function.isDeclaration())
      continue;
    if (function.hasLocalLinkage()) // exceptions of the caller's parallel_for pass through the other functions
      function.addFnAttr(Attribute::NoUnwind);
    function.addFnAttr("target-cpu", "x86-64");
    function.addFnAttr("target-features", "+sse2");
  }
  std::string why;
  raw_string_ostream stream(why);
  if (verifyModule(*module, &stream))
    return createStringError(inconvertibleErrorCode(),
                             "kernel '" + Twine(name) + "': the dispatcher is malformed: " + why);
  if (Error error = optimize(*module, dispatcherTarget()))
    return error;
  return module;
}

} // namespace

Expected<std::unique_ptr<llvm::Module>> dispatcherModule(StringRef name, ArrayRef<TargetVariant> variants,
                                                         StringRef info, LLVMContext &context) {
  std::vector<Alternative> alternatives;
  for (const TargetVariant &variant : variants)
    alternatives.push_back({variant.symbol, variant.target, TileUse::None,
                            variant.codes.empty() ? codeName(variant.target) : std::string()});
  return moduleThatChooses(name, alternatives, variants.front().plan.hasConst(), info, context);
}

Expected<std::unique_ptr<llvm::Module>> joinModules(std::unique_ptr<llvm::Module> dispatcher,
                                                    std::vector<std::unique_ptr<llvm::Module>> modules) {
  std::vector<std::string> visible{kRefuseTiles.str()};
  for (const Function &function : *dispatcher)
    if (!function.isDeclaration() && function.hasExternalLinkage())
      visible.push_back(function.getName().str());
  for (std::unique_ptr<llvm::Module> &module : modules)
    if (Linker::linkModules(*dispatcher, std::move(module)))
      return createStringError(inconvertibleErrorCode(), "kernel '" + Twine(dispatcher->getName()) +
                                                             "': its codes cannot be linked into one module");
  for (GlobalValue &value : dispatcher->global_values())
    if (!value.isDeclaration() && !is_contained(visible, value.getName().str()))
      value.setLinkage(GlobalValue::InternalLinkage);
  removeUnused(*dispatcher);
  return dispatcher;
}

Expected<std::unique_ptr<llvm::Module>> joinCodes(const TargetVariant &variant,
                                                  std::vector<std::unique_ptr<llvm::Module>> modules, StringRef info,
                                                  LLVMContext &context) {
  std::vector<Alternative> alternatives;
  for (const TargetCode &code : variant.codes)
    alternatives.push_back({code.plan.name, variant.target, code.tiles, code.name});
  auto dispatcher = moduleThatChooses(variant.symbol, alternatives, variant.plan.hasConst(), info, context);
  return dispatcher ? joinModules(std::move(*dispatcher), std::move(modules)) : std::move(dispatcher);
}

namespace {

// Entries of a manifest that depend on the code. The other entries are the same for all codes and processors.
constexpr StringLiteral kOfCode[] = {"phases", "workspace", "details"};

/// Moves entries from a manifest, if it has them.
void moveEntries(json::Object &from, json::Object &to, ArrayRef<StringLiteral> keys) {
  for (StringRef key : keys)
    if (json::Value *value = from.get(key)) {
      to[key] = std::move(*value);
      from.erase(key);
    }
}

json::Object manifestOf(const TargetVariant &variant, StringRef specHash) {
  json::Object manifest = manifestOf(variant.plan, variant.target, specHash, variant.details);
  if (variant.codes.empty())
    return manifest;
  json::Object unused;
  moveEntries(manifest, unused, kOfCode);
  json::Array codes;
  for (const TargetCode &code : variant.codes) {
    json::Object own = manifestOf(code.plan, variant.target, specHash, code.details), described{{"name", code.name}};
    moveEntries(own, described, kOfCode);
    codes.push_back(std::move(described));
  }
  manifest["codes"] = std::move(codes);
  return manifest;
}

} // namespace

std::string manifestText(const TargetVariant &variant, StringRef specHash) {
  return textOf(manifestOf(variant, specHash));
}

TargetVariant withoutDetails(TargetVariant variant) {
  variant.details = "{}";
  for (TargetCode &code : variant.codes)
    code.details = "{}";
  return variant;
}

std::string manifestText(StringRef name, ArrayRef<TargetVariant> variants, StringRef specHash) {
  json::Object manifest;
  json::Array targets;
  for (const TargetVariant &variant : variants) {
    json::Object one = manifestOf(variant, specHash);
    json::Object target = std::move(*one.getObject("target"));
    target["symbol"] = variant.symbol;
    target["object"] = variant.object;
    moveEntries(one, target, kOfCode);
    moveEntries(one, target, {"codes"});
    one.erase("target");
    targets.push_back(std::move(target));
    if (manifest.empty())
      manifest = std::move(one);
  }
  manifest["name"] = name;
  manifest["targets"] = std::move(targets);
  return textOf(std::move(manifest));
}

} // namespace skewer
