// Builds the structs of codegen/Runtime/skewer_cuda.h as constants, and the entries that pass them to its functions.
#include "codegen/ABI/Cuda.h"
#include "codegen/ABI/Dispatch.h"
#include "codegen/ABI/Emit.h"
#include "codegen/ABI/Status.h"
#include "codegen/ABI/TargetMachine.h"
#include "codegen/GPU/GpuTarget.h"
#include "dialect/Subscript/Expr.h"
#include "llvm/IR/IRBuilder.h"
#include "llvm/IR/Verifier.h"

using namespace llvm;

namespace skewer {

/// The most arguments of a kernel: cuLaunchKernel passes 4096 bytes, and skewer_cuda.c has room for as many.
static constexpr size_t kMaximumArguments = 512;

Capability capabilityOf(StringRef target) {
  Capability capability;
  StringRef rest = target;
  rest.consume_front("sm_");
  rest.consumeInteger(10, capability.number);
  capability.isExact = !rest.empty();
  return capability;
}

uint32_t firstDriverOf(StringRef ptx) {
  StringRef rest = ptx.substr(ptx.find(".version"));
  unsigned major = 0, minor = 0;
  if (!rest.consume_front(".version") || (rest = rest.ltrim()).consumeInteger(10, major) || !rest.consume_front(".") ||
      rest.consumeInteger(10, minor))
    return 0;
  return gpu::cudaOfPtx(major, minor);
}

namespace {

class CudaEntryBuilder {
public:
  CudaEntryBuilder(llvm::Module &module, const KernelPlan &plan, uint32_t argsVersion)
      : module(module), context(module.getContext()), plan(plan), argsVersion(argsVersion), layout(layoutOf(plan)),
        b(context), i32(b.getInt32Ty()), i64(b.getInt64Ty()), pointer(b.getPtrTy()),
        product(StructType::get(context, {i64, pointer, i32, i32})),
        factor(StructType::get(context, {pointer, i32, i32})),
        count(StructType::get(context, {i64, i64, pointer, i32, i32})),
        tensor(StructType::get(context, {pointer, count, i32, i32})),
        range(StructType::get(context, {pointer, count, count, i32, i32})),
        map(StructType::get(context, {i32, i32, count, count, count, i64, i64, i64, i32, i32, i32, i32})),
        launch(StructType::get(context, {pointer, i32, i32, count, i32, i32, pointer, pointer})),
        image(StructType::get(context, {pointer, i32, i32, pointer, pointer, i32, i32, pointer, count, i64})) {}

  void build(ArrayRef<CudaImage> images) {
    Constant *program = programOf(images);
    auto entry = [&](const char *suffix, const char *callee, Type *result, unsigned parameters) {
      SmallVector<Type *> own(parameters, pointer), passed(parameters + 1, pointer);
      Function *function = declare(plan.name + suffix, FunctionType::get(result, own, false));
      b.SetInsertPoint(BasicBlock::Create(context, "", function));
      SmallVector<Value *> arguments{program};
      for (Argument &argument : function->args())
        arguments.push_back(&argument);
      CallInst *call =
          b.CreateCall(module.getOrInsertFunction(callee, FunctionType::get(result, passed, false)), arguments);
      call->setTailCall();
      b.CreateRet(call);
    };
    entry("_cuda", "skewer_cuda_call", i32, 2);
    entry("_cuda_workspace_bytes", "skewer_cuda_workspace", i64, 1);
    entry("_cuda_prepare", "skewer_cuda_load", i32, 1);
    entry("_cuda_unload", "skewer_cuda_unload", i32, 1);
    if (!plan.hasConst())
      return;
    entry("_cuda_prepared_bytes", "skewer_cuda_prepared_bytes", i64, 0);
    entry("_cuda_prepare_const", "skewer_cuda_prepare_const", i32, 3);
    entry("_cuda_prepared", "skewer_cuda_call_prepared", i32, 3);
  }
  void buildInfo(StringRef info) {
    Function *function = declare(plan.name + "_info", FunctionType::get(pointer, {}, false));
    b.SetInsertPoint(BasicBlock::Create(context, "", function));
    b.CreateRet(b.CreateGlobalString(info, plan.name + ".info"));
  }

private:
  llvm::Module &module;
  LLVMContext &context;
  const KernelPlan &plan;
  uint32_t argsVersion;
  ArgumentLayout layout;
  IRBuilder<> b;
  Type *i32, *i64;
  PointerType *pointer;
  StructType *product, *factor, *count, *tensor, *range, *map, *launch, *image;

  Function *declare(const Twine &name, FunctionType *type) {
    Function *function = Function::Create(type, GlobalValue::ExternalLinkage, name, module);
    function->addFnAttr(Attribute::NoUnwind);
    function->addFnAttr("target-cpu", "x86-64");
    function->addFnAttr("target-features", "+sse2");
    return function;
  }

  // Constants --------------------------------------------------------------------------------------------------------
  Constant *global(Constant *value, const Twine &name, uint64_t alignment = 8) {
    auto *made = new GlobalVariable(module, value->getType(), /*isConstant=*/true, GlobalValue::InternalLinkage, value,
                                    plan.name + ".cuda." + name);
    made->setAlignment(Align(alignment));
    return made;
  }
  Constant *nothing() { return ConstantPointerNull::get(pointer); }
  /// Returns the bytes as a constant; null if there are none.
  Constant *data(StringRef bytes, const Twine &name, bool isText) {
    return bytes.empty() ? nothing() : global(ConstantDataArray::getString(context, bytes, isText), name, 16);
  }
  Constant *array(StructType *type, ArrayRef<Constant *> values, const Twine &name) {
    return values.empty() ? nothing() : global(ConstantArray::get(ArrayType::get(type, values.size()), values), name);
  }
  Constant *words(ArrayRef<uint32_t> values, const Twine &name) {
    return values.empty() ? nothing() : global(ConstantDataArray::get(context, values), name);
  }
  /// Coefficients by product of words.
  using Products = std::map<std::vector<uint32_t>, int64_t>;
  /// Returns the products in an extent's name (dialect/IR/KernelPlan.h), which consists of sums and products.
  Products productsOf(const subscript::Expr &extent) {
    switch (extent.kind()) {
    case subscript::Kind::Constant:
      return {{{}, extent.value()}};
    case subscript::Kind::Symbol:
      return {{{uint32_t(layout.sizeWord(find(plan.sizes, extent.name()) - plan.sizes.begin()))}, 1}};
    default:
      break;
    }
    Products left = productsOf(extent.operands()[0]), right = productsOf(extent.operands()[1]), result;
    if (extent.kind() == subscript::Kind::Add) {
      for (const auto &[factors, coefficient] : right)
        left[factors] += coefficient;
      return left;
    }
    for (const auto &[ours, times] : left)
      for (const auto &[theirs, coefficient] : right) {
        std::vector<uint32_t> factors = ours;
        factors.insert(factors.end(), theirs.begin(), theirs.end());
        llvm::sort(factors);
        result[factors] += times * coefficient;
      }
    return result;
  }
  /// Returns an extent, or its number of blocks: the extent divided by a number, rounded down.
  Constant *factorOf(const subscript::Expr &extent) {
    bool isDivided = extent.kind() == subscript::Kind::FloorDiv;
    int64_t divisor = isDivided ? extent.operands()[1].value() : 1;
    SmallVector<Constant *> products;
    for (const auto &[factors, coefficient] : productsOf(isDivided ? extent.operands()[0] : extent))
      products.push_back(ConstantStruct::get(
          product, {b.getInt64(coefficient), words(factors, "words"), b.getInt32(factors.size()), b.getInt32(0)}));
    return ConstantStruct::get(
        factor, {array(product, products, "products"), b.getInt32(products.size()), b.getInt32(uint32_t(divisor))});
  }
  Constant *countOf(const SizeExpression &size) {
    SmallVector<Constant *> factors;
    for (const std::string &name : size.factors)
      factors.push_back(factorOf(*subscript::parse(std::string_view(name))));
    return ConstantStruct::get(count, {b.getInt64(size.fixed), b.getInt64(size.scaled),
                                       array(factor, factors, "factors"), b.getInt32(factors.size()), b.getInt32(0)});
  }
  /// Returns the description of a tensor. `kind` is 0 for an operand, 1 for a result, 2 for a `const` operand.
  Constant *tensorOf(const TensorArgument &argument, StringRef field, unsigned word, unsigned kind) {
    SizeExpression bytes{0, fixedBytes(argument), {}};
    for (const Extent &extent : argument.shape)
      if (!extent.name.empty())
        bytes.factors.push_back(extent.name);
    return ConstantStruct::get(tensor, {data(field, "name", true), countOf(bytes), b.getInt32(word), b.getInt32(kind)});
  }
  Constant *endOf(const Extent &end) {
    return countOf(end.name.empty() ? SizeExpression{end.fixed, 0, {}} : SizeExpression{0, 1, {end.name}});
  }
  /// Returns the ranges of index operands that depend on lengths.
  SmallVector<Constant *> rangesOfLengths() {
    SmallVector<Constant *> ranges;
    for (auto [number, input] : enumerate(rangedInputs(plan)))
      if (const TensorArgument &argument = plan.inputs[input]; !argument.range->ends.empty())
        ranges.push_back(ConstantStruct::get(range, {data(layout.inputs[input], "name", true),
                                                     endOf(argument.range->ends[0]), endOf(argument.range->ends[1]),
                                                     b.getInt32(uint32_t(Status::BadIndex) + uint32_t(number)),
                                                     b.getInt32(argument.isConst)}));
    return ranges;
  }
  /// Returns the description of a tensor map, with the numbers of cuda.h.
  Constant *mapOf(const gpu::GpuTensorMap &of) {
    constexpr uint32_t kF16 = 6, kBf16 = 9; // CUtensorMapDataType
    int64_t rowBytes = of.boxColumns * bytesOf(of.type);
    uint32_t swizzle = rowBytes == 128 ? 3 : rowBytes == 64 ? 2 : 1; // CUtensorMapSwizzle: of 128, 64, 32 bytes
    return ConstantStruct::get(map, {b.getInt32(of.argument), b.getInt32(of.type == ElementType::BF16 ? kBf16 : kF16),
                                     countOf(of.offset), countOf(of.rows), countOf(of.places), b.getInt64(of.columns),
                                     b.getInt64(of.rowBytes), b.getInt64(of.placeBytes), b.getInt32(of.boxColumns),
                                     b.getInt32(of.boxRows), b.getInt32(swizzle), b.getInt32(0)});
  }
  Constant *launchOf(const gpu::GpuLaunch &one) {
    SmallVector<Constant *> maps;
    for (const gpu::GpuTensorMap &of : one.maps)
      maps.push_back(mapOf(of));
    return ConstantStruct::get(launch,
                               {data(one.kernel, "name", true), b.getInt32(one.threads), b.getInt32(one.sharedBytes),
                                countOf(one.blocks), b.getInt32(one.prepares), b.getInt32(maps.size()),
                                data(one.boxKernel, "name", true), array(map, maps, "maps")});
  }
  Constant *imageOf(const CudaImage &code) {
    SmallVector<Constant *> launches;
    for (const gpu::GpuLaunch &one : code.launches)
      launches.push_back(launchOf(one));
    Capability capability = capabilityOf(code.target);
    return ConstantStruct::get(image, {data(code.target, "name", true), b.getInt32(capability.number),
                                       b.getInt32(capability.isExact), data(code.cubin, code.target + ".cubin", false),
                                       data(code.ptx, code.target + ".ptx", true), b.getInt32(firstDriverOf(code.ptx)),
                                       b.getInt32(launches.size()), array(launch, launches, "launches"),
                                       countOf(code.workspaceBytes), b.getInt64(alignTo(code.preparedBytes, 256))});
  }
  Constant *programOf(ArrayRef<CudaImage> codes) {
    SmallVector<Constant *> tensors, images;
    int64_t lastOrigins[std::size(kOrigins)] = {};
    SmallVector<uint32_t> passed;
    for (size_t k = 0; k < plan.inputs.size(); ++k)
      if (auto origin = plan.inputs[k].origin) {
        lastOrigins[*origin] = plan.inputs[k].range->high;
        passed.push_back(*origin);
      } else if (plan.inputs[k].isTensor()) {
        tensors.push_back(
            tensorOf(plan.inputs[k], layout.inputs[k], layout.inputWord(k), plan.inputs[k].isConst ? 2 : 0));
      }
    uint32_t origins = passed.size();
    passed.resize(std::size(kOrigins));
    for (size_t k = 0; k < plan.outputs.size(); ++k)
      tensors.push_back(tensorOf(plan.outputs[k], layout.outputs[k], layout.outputWord(k), 1));
    for (const CudaImage &code : codes)
      images.push_back(imageOf(code));
    SmallVector<uint32_t> sizes;
    SmallVector<uint64_t> bounds;
    for (size_t k = 0; k < plan.sizes.size(); ++k) {
      sizes.push_back(layout.sizeWord(k));
      bounds.push_back(uint64_t(plan.boundOf(plan.sizes[k]).value_or(INT64_MAX)));
    }
    SmallVector<Constant *> ranges = rangesOfLengths();
    Constant *limits = bounds.empty() ? nothing() : global(ConstantDataArray::get(context, bounds), "bounds");
    auto *loaded = new GlobalVariable(module, pointer, /*isConstant=*/false, GlobalValue::InternalLinkage, nothing(),
                                      plan.name + ".cuda.loaded");
    return global(ConstantStruct::getAnon(
                      {data(plan.name, "name", true), b.getInt32(argsVersion), b.getInt32(layout.bytes()),
                       array(tensor, tensors, "tensors"), words(sizes, "sizes"), limits, array(image, images, "images"),
                       b.getInt32(tensors.size()), b.getInt32(sizes.size()), b.getInt32(images.size()),
                       b.getInt32(layout.originWord()), ConstantDataArray::get(context, ArrayRef(lastOrigins)),
                       b.getInt32(origins), ConstantDataArray::get(context, passed), loaded,
                       array(range, ranges, "ranges"), b.getInt32(ranges.size()), b.getInt32(0)}),
                  "program");
  }
};

Error check(const KernelPlan &plan) {
  if (Error error = validateSignature(plan))
    return error;
  if (Error error = checkName(plan))
    return error;
  size_t arguments = plan.inputs.size() + plan.outputs.size() + plan.sizes.size() + (plan.hasConst() ? 2 : 1);
  if (arguments > kMaximumArguments)
    return kernelError(plan, "it has " + Twine(arguments) + " arguments; a launch on a GPU takes " +
                                 Twine(kMaximumArguments));
  return Error::success();
}

} // namespace

Error addCudaEntries(llvm::Module &module, const KernelPlan &plan, ArrayRef<CudaImage> images, uint32_t argsVersion) {
  if (Error error = check(plan))
    return error;
  CudaEntryBuilder(module, plan, argsVersion).build(images);
  std::string why;
  raw_string_ostream stream(why);
  if (verifyModule(module, &stream))
    return kernelError(plan, "the entries for GPUs are malformed: " + why);
  return Error::success();
}

Expected<std::unique_ptr<llvm::Module>> cudaModule(const KernelPlan &plan, ArrayRef<CudaImage> images, StringRef info,
                                                   LLVMContext &context, uint32_t argsVersion) {
  if (Error error = check(plan))
    return error;
  auto machine = createTargetMachine(dispatcherTarget());
  if (!machine)
    return machine.takeError();
  auto module = std::make_unique<llvm::Module>(plan.name, context);
  module->setTargetTriple(targetTriple());
  module->setDataLayout((*machine)->createDataLayout());
  module->setPICLevel(PICLevel::BigPIC);
  CudaEntryBuilder(*module, plan, argsVersion).buildInfo(info);
  if (Error error = addCudaEntries(*module, plan, images, argsVersion))
    return error;
  return module;
}

} // namespace skewer
