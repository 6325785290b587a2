// Builds the dispatching entries as LLVM IR, and joins the headers and manifests of the variants.
#include "codegen/ABI/Dispatch.h"
#include "codegen/ABI/CpuCheck.h"
#include "codegen/ABI/Emit.h"
#include "codegen/ABI/TargetMachine.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/IR/IRBuilder.h"
#include "llvm/IR/Verifier.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/JSON.h"
#include "llvm/Support/raw_ostream.h"
#include <algorithm>

using namespace llvm;

namespace skewer {

std::string symbolSuffix(StringRef target) {
  std::string suffix = target.str();
  for (char &c : suffix)
    c = isAlnum(c) ? c : '_';
  return suffix;
}

std::vector<Target> inOrderOfChoice(ArrayRef<Target> targets) {
  std::vector<Target> ordered;
  for (const Target &target : targets)
    ordered.insert(upper_bound(ordered, target, [](const Target &a, const Target &b) { return a.lanes > b.lanes; }),
                   target);
  return ordered;
}

Target dispatcherTarget() {
  Target target;
  target.name = "x86-64";
  target.cpu = "x86-64";
  target.lanes = 4;
  return target;
}

namespace {

class DispatcherBuilder {
public:
  DispatcherBuilder(llvm::Module &module, StringRef name, ArrayRef<TargetVariant> variants)
      : module(module), context(module.getContext()), name(name), variants(variants), b(context) {}

  void build(StringRef info) {
    buildChoice();
    Type *i32 = b.getInt32Ty(), *i64 = b.getInt64Ty(), *pointer = b.getPtrTy();
    buildEntry("", i32, {pointer, pointer});
    buildEntry("_raw", i32, {pointer, pointer, i32, i64, i64, i32});
    buildEntry("_phases", i32, {});
    buildEntry("_items", i64, {pointer, i32});
    buildEntry("_workspace_bytes", i64, {pointer, pointer});
    if (variants.front().plan.hasConst()) {
      buildEntry("_prepared_bytes", i64, {});
      buildEntry("_prepare", i32, {pointer, pointer, pointer});
      buildEntry("_prepared", i32, {pointer, pointer, pointer});
    }
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

  /// Builds i32 NAME.choice(), which returns the number of the variant for this processor. Each check remembers its
  /// answer.
  void buildChoice() {
    choice = declare(".choice", b.getInt32Ty(), {}, GlobalValue::InternalLinkage);
    begin(choice);
    for (size_t k = 0; k + 1 < variants.size(); ++k) {
      Function *check = addCpuCheck(module, variants[k].symbol, variants[k].target, variants[k].usesTiles);
      if (!check) { // this variant runs everywhere
        b.CreateRet(b.getInt32(k));
        return;
      }
      BasicBlock *found = BasicBlock::Create(context, "", choice), *next = BasicBlock::Create(context, "", choice);
      b.CreateCondBr(b.CreateCall(check), found, next);
      b.SetInsertPoint(found);
      b.CreateRet(b.getInt32(k));
      b.SetInsertPoint(next);
    }
    b.CreateRet(b.getInt32(variants.size() - 1));
  }

  void buildEntry(StringRef suffix, Type *result, ArrayRef<Type *> parameters) {
    auto *type = FunctionType::get(result, parameters, false);
    Function *entry = declare(suffix, result, parameters, GlobalValue::ExternalLinkage);
    begin(entry);
    SmallVector<Value *> arguments;
    for (Argument &argument : entry->args())
      arguments.push_back(&argument);
    Value *number = b.CreateCall(choice);
    auto call = [&](const TargetVariant &variant) {
      CallInst *made = b.CreateCall(module.getOrInsertFunction((variant.symbol + suffix).str(), type), arguments);
      made->setTailCall();
      b.CreateRet(made);
    };
    BasicBlock *last = BasicBlock::Create(context, "", entry);
    SwitchInst *select = b.CreateSwitch(number, last, variants.size() - 1);
    for (size_t k = 0; k + 1 < variants.size(); ++k) {
      BasicBlock *block = BasicBlock::Create(context, "", entry);
      select->addCase(b.getInt32(k), block);
      b.SetInsertPoint(block);
      call(variants[k]);
    }
    b.SetInsertPoint(last);
    call(variants.back());
  }

  llvm::Module &module;
  LLVMContext &context;
  StringRef name;
  ArrayRef<TargetVariant> variants;
  IRBuilder<> b;
  Function *choice = nullptr;
};

} // namespace

Expected<std::unique_ptr<llvm::Module>> dispatcherModule(StringRef name, ArrayRef<TargetVariant> variants,
                                                         StringRef info, LLVMContext &context) {
  auto module = std::make_unique<llvm::Module>(name, context);
  auto machine = createTargetMachine(dispatcherTarget());
  if (!machine)
    return machine.takeError();
  module->setTargetTriple(targetTriple());
  module->setDataLayout((*machine)->createDataLayout());
  module->setPICLevel(PICLevel::BigPIC);
  DispatcherBuilder(*module, name, variants).build(info);
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
  return module;
}

std::string manifestText(StringRef name, ArrayRef<TargetVariant> variants, StringRef specHash) {
  // Entries that depend on the processor move into the list. The other entries are the same for all processors.
  constexpr StringLiteral kOwn[] = {"phases", "workspace", "details"};
  json::Object manifest;
  json::Array targets;
  for (const TargetVariant &variant : variants) {
    auto parsed = json::parse(manifestText(variant.plan, variant.target, specHash, variant.details));
    if (!parsed) { // cannot fail: the text has just been written
      consumeError(parsed.takeError());
      continue;
    }
    json::Object &one = *parsed->getAsObject();
    json::Object target = std::move(*one.getObject("target"));
    target["symbol"] = variant.symbol;
    target["object"] = variant.object;
    for (StringRef key : kOwn)
      if (json::Value *value = one.get(key)) {
        target[key] = std::move(*value);
        one.erase(key);
      }
    one.erase("target");
    targets.push_back(std::move(target));
    if (manifest.empty())
      manifest = std::move(one);
  }
  manifest["name"] = name;
  manifest["targets"] = std::move(targets);
  std::string text;
  raw_string_ostream stream(text);
  stream << formatv("{0:2}", json::Value(std::move(manifest))) << '\n'; // keys are sorted
  return text;
}

} // namespace skewer
