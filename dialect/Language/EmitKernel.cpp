// A kernel: what it is declared as, its function, and what it returns.
#include "dialect/Language/Emitter.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

using namespace mlir;

namespace skewer::language {

static Type elementType(OpBuilder &builder, StringRef name) {
  return name == "f16"    ? Type(builder.getF16Type())
         : name == "bf16" ? Type(builder.getBF16Type())
         : name == "i32"  ? Type(builder.getI32Type())
         : name == "i8"   ? Type(builder.getI8Type())
                          : builder.getF32Type();
}

/// The shapes of the results; their names are taken by nothing else. False after an error.
bool Emitter::declareResults(const Kernel &kernel, Scope &own, std::vector<Dimensions> &results) {
  bool good = true;
  std::map<std::string, StringRef> names;
  for (const KernelResult &result : kernel.results) {
    good &= shape(result.type, results.emplace_back());
    if (result.type.element == "i32" || result.type.element == "i8" || result.type.low || result.type.deviation ||
        result.type.from) {
      error(result.type.text, "a kernel's result is of f32, f16 or bf16, and has no range and no standard deviation");
      good = false;
    }
    if (result.name.empty())
      continue;
    auto operand = own.declared.find(result.name.str());
    auto [entry, fresh] = names.insert({result.name.str(), result.name});
    if (!fresh || operand != own.declared.end()) {
      error(result.name, "result '" + result.name.str() + "' has the name of another " +
                             (fresh ? "tensor of the kernel" : "result") + "; choose another");
      diagnostics.note(fresh ? operand->second : entry->second, "declared here");
      good = false;
    }
  }
  return good;
}

/// What a kernel's operands and results are declared as, one element each.
struct Emitter::KernelSignature {
  std::vector<Dimensions> operands, results;
  std::vector<std::optional<subscript::Range>> ranges;
  std::vector<Spread> spreads;

  bool has(const std::string &runtimeSize) const {
    return llvm::any_of(operands, [&](const Dimensions &shape) {
      return llvm::any_of(shape, [&](const Dimension &d) { return d.runtime == runtimeSize; });
    });
  }
};

/// The operands' types; their names are taken by nothing else. False after an error.
bool Emitter::declareOperands(const Kernel &kernel, Scope &own, KernelSignature &signature) {
  bool good = true;
  std::map<const TypeExpression *, std::pair<bool, Dimensions>> groups; // the operands of a group share their type
  for (const KernelOperand &operand : kernel.operands) {
    if (!groups.count(operand.type.get())) {
      auto &group = groups[operand.type.get()];
      group.first = shape(*operand.type, group.second);
    }
    auto &[fine, dimensions] = groups[operand.type.get()];
    good &= fine;
    signature.operands.push_back(dimensions);
    good &= declaredRange(operand, signature.ranges.emplace_back());
    good &= declaredSpread(operand, signature.spreads.emplace_back());
    auto [entry, fresh] = own.declared.insert({operand.name.str(), operand.name});
    if (!fresh) {
      error(operand.name, "operand '" + operand.name.str() + "' is declared twice");
      good = false;
    }
    if (auto global = globals.declared.find(operand.name.str()); global != globals.declared.end()) {
      error(operand.name, "'" + operand.name.str() + "' is already a param or a size");
      diagnostics.note(global->second, "declared here");
      good = false;
    }
  }
  return good;
}

/// An empty function of the kernel's name and types, with what its operands and results are called.
func::FuncOp Emitter::createFunction(const Kernel &kernel, const KernelSignature &signature) {
  SmallVector<Type> inputs, results;
  for (auto [operand, dimensions] : llvm::zip(kernel.operands, signature.operands))
    inputs.push_back(typeOf(dimensions, elementType(builder, operand.type->element)));
  for (auto [result, dimensions] : llvm::zip(kernel.results, signature.results))
    results.push_back(typeOf(dimensions, elementType(builder, result.type.element)));
  auto function =
      func::FuncOp::create(builder, location(kernel.name), kernel.name, builder.getFunctionType(inputs, results));
  function->setAttr("attn.kernel", builder.getUnitAttr());
  SmallVector<StringRef> sizes; // those that this kernel's operands have, in order of declaration
  llvm::copy_if(runtimeSizes, std::back_inserter(sizes), [&](const std::string &size) { return signature.has(size); });
  function->setAttr("attn.sizes", builder.getStrArrayAttr(sizes));
  if (!lengths.empty())
    function->setAttr(attn::kLengths, builder.getDictionaryAttr(lengths));
  for (auto [number, result] : llvm::enumerate(kernel.results)) {
    function.setResultAttr(number, "attn.shape", shapeAttribute(signature.results[number]));
    if (!result.name.empty())
      function.setResultAttr(number, attn::kArgumentName, builder.getStringAttr(result.name));
  }
  for (size_t k = 0; k < kernel.operands.size(); ++k) {
    const KernelOperand &operand = kernel.operands[k];
    function.setArgAttr(k, "attn.name", builder.getStringAttr(operand.name));
    function.setArgAttr(k, "attn.shape", shapeAttribute(signature.operands[k]));
    if (operand.isConst)
      function.setArgAttr(k, attn::kArgumentConst, builder.getUnitAttr());
    const Spread &spread = signature.spreads[k];
    if (spread.deviation)
      function.setArgAttr(k, attn::kArgumentDeviation, builder.getF64FloatAttr(*spread.deviation));
    if (spread.mean)
      function.setArgAttr(k, attn::kArgumentMean, builder.getF64FloatAttr(*spread.mean));
    if (spread.from)
      function.setArgAttr(k, attn::kArgumentBetween, builder.getDenseF64ArrayAttr({*spread.from, *spread.to}));
    if (auto range = signature.ranges[k]; range && operand.type->element == "i32")
      function.setArgAttr(k, attn::kArgumentRange, builder.getDenseI64ArrayAttr({range->low, range->high}));
  }
  return function;
}

/// The values of the operands' names, and where run-time sizes are read from.
void Emitter::bindOperands(const Kernel &kernel, const KernelSignature &signature, Block &block, Scope &own) {
  for (size_t k = 0; k < kernel.operands.size(); ++k) {
    const KernelOperand &operand = kernel.operands[k];
    const Dimensions &shape = signature.operands[k];
    for (size_t d = 0; d < shape.size(); ++d)
      if (shape[d].isRuntime())
        runtimeSources.insert({shape[d].runtime, {block.getArgument(k), d}});
    Value &value = own.values[operand.name.str()];
    if (operand.type->element == "i32")
      value = indexOperands[operand.name.str()] = indexOperand(operand.name, block.getArgument(k), shape);
    else
      value = tensorValue(block.getArgument(k), shape);
    if (operand.type->element == "i8") // numbers like any others from here on
      value.tensor =
          arith::SIToFPOp::create(builder, location(operand.name), typeOf(shape, builder.getF32Type()), value.tensor);
  }
}

/// What a condition has replaced, or a variable held that nothing uses, is left over.
void Emitter::eraseUnused(Block &block) {
  for (Operation &op : llvm::make_early_inc_range(llvm::reverse(block)))
    if (isOpTriviallyDead(&op)) {
      einsumTexts.erase(&op);
      op.erase();
    }
}

void Emitter::emitKernel(const Kernel &kernel) {
  Scope own;
  scope = &globals;
  KernelSignature signature;
  bool good = declareOperands(kernel, own, signature);
  good &= declareResults(kernel, own, signature.results);
  scope = nullptr;
  if (!good)
    return;
  func::FuncOp function = createFunction(kernel, signature);
  Block &block = *function.addEntryBlock();
  builder.setInsertionPointToStart(&block);
  runtimeSources.clear();
  einsumTexts.clear();
  indexOperands.clear();
  readPlaces.clear();
  tablePlaces.clear();
  kernelAtHand = &kernel;
  callPath.clear();
  if (!isScouting)
    knownFacts = nullptr, scouted.reset();
  bindOperands(kernel, signature, block, own);
  for (auto [result, dimensions] : llvm::zip(kernel.results, signature.results))
    for (const Dimension &d : dimensions)
      if (d.isRuntime() && !runtimeSources.count(d.runtime)) {
        error(result.type.text, "no operand has the run-time size '" + d.runtime + "' of the result");
        good = false;
      }

  scope = &own;
  Value value;
  StringRef place;
  expectResults(kernel, signature.results);
  if (good && emitBody(kernel.body, value, place, kernel.end))
    finishKernel(kernel, signature.results, value, place);
  scope = nullptr;
  for (const auto &[name, where] : own.declared)
    if (!own.used.count(name) && !diagnostics.hasErrors())
      diagnostics.warning(where, "'" + name + "' is never used");
  if (diagnostics.hasErrors())
    return;
  eraseUnused(block);
  checkSubscripts(function);
  checkReads(function);
  checkTables(function);
}

/// One result as its declared type. Null after an error.
mlir::Value Emitter::finishResult(const Kernel &kernel, size_t number, const Dimensions &declared, const Value &result,
                                  StringRef place) {
  const KernelResult &stated = kernel.results[number];
  std::string title = stated.name.empty() || kernel.results.size() == 1
                          ? "kernel '" + kernel.name.str() + "' returns "
                          : "result '" + stated.name.str() + "' of kernel '" + kernel.name.str() + "' is ";
  if (!result.is(ValueKind::Tensor)) {
    error(place, title + "a tensor, found " + describe(result));
    if (result.is(ValueKind::List) && kernel.results.size() == 1)
      diagnostics.note("several results are declared by their names: -> (out : f32[…], lse : f32[…])");
    return {};
  }
  bool same = declared.size() == result.dimensions.size();
  for (size_t d = 0; same && d < declared.size(); ++d)
    same = declared[d].size == result.dimensions[d].size && declared[d].runtime == result.dimensions[d].runtime;
  if (!same) {
    error(place, title + describe(declared) + ", but this is " + describe(result.dimensions));
    diagnostics.note(stated.type.text, "declared here");
    return {};
  }
  if (!refuseAbsent(place, result, "kernel '" + kernel.name.str() + "' returns") ||
      !requireOrder(place, result, "a kernel's result"))
    return {};
  Node node{NodeKind::Name, place, place, 0, 0, false, {}, {}};
  mlir::Value tensor = written(node, result).tensor;
  if (!tensor)
    return {};
  Type element = elementType(builder, stated.type.element), type = typeOf(declared, element);
  if (tensor.getType() == type)
    return tensor;
  // An einsum writes the declared element type itself: one rounding, from its accumulator.
  if (tensor.getDefiningOp<attn::EinsumOp>() && tensor.use_empty()) {
    tensor.setType(cast<RankedTensorType>(type));
    return tensor;
  }
  if (cast<RankedTensorType>(tensor.getType()).getElementType().getIntOrFloatBitWidth() >
      element.getIntOrFloatBitWidth())
    return arith::TruncFOp::create(builder, location(place), type, tensor);
  return arith::ExtFOp::create(builder, location(place), type, tensor);
}

void Emitter::finishKernel(const Kernel &kernel, ArrayRef<Dimensions> declared, Value result, StringRef place) {
  std::vector<Value> values = {result};
  if (kernel.results.size() > 1) {
    if (!result.is(ValueKind::List) || result.items.size() != kernel.results.size()) {
      error(place, "kernel '" + kernel.name.str() + "' returns " + std::to_string(kernel.results.size()) +
                       " tensors, found " + describe(result));
      diagnostics.note(kernel.resultText, "declared here");
      return;
    }
    values = result.items;
  }
  SmallVector<mlir::Value> tensors;
  for (size_t number = 0; number < values.size(); ++number) {
    tensors.push_back(finishResult(kernel, number, declared[number], values[number], place));
    if (!tensors.back())
      return;
  }
  func::ReturnOp::create(builder, location(place), tensors);
}

} // namespace skewer::language
