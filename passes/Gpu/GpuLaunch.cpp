// The program as an attribute of the GPU module, and the signature that its kernels share.
#include "passes/Gpu/GpuLaunch.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/IR/Builders.h"
#include "passes/Gpu/GpuBuilder.h"

using namespace mlir;
using namespace skewer;
using namespace skewer::gpu;

static constexpr StringLiteral kProgram = "attn.program";

static Attribute describe(Builder &b, const SizeExpression &size) {
  SmallVector<StringRef> factors(size.factors.begin(), size.factors.end());
  return b.getDictionaryAttr({b.getNamedAttr("factors", b.getStrArrayAttr(factors)),
                              b.getNamedAttr("fixed", b.getI64IntegerAttr(size.fixed)),
                              b.getNamedAttr("scaled", b.getI64IntegerAttr(size.scaled))});
}

void skewer::gpu::attachProgram(mlir::gpu::GPUModuleOp module, const GpuProgram &program) {
  Builder b(module.getContext());
  SmallVector<Attribute> launches;
  for (const GpuLaunch &launch : program.launches)
    launches.push_back(b.getDictionaryAttr(
        {b.getNamedAttr("blocks", describe(b, launch.blocks)), b.getNamedAttr("kernel", b.getStringAttr(launch.kernel)),
         b.getNamedAttr("keys", b.getI64IntegerAttr(launch.keys)), b.getNamedAttr("note", b.getStringAttr(launch.note)),
         b.getNamedAttr("rows", b.getI64IntegerAttr(launch.rows)),
         b.getNamedAttr("shared_bytes", b.getI64IntegerAttr(launch.sharedBytes)),
         b.getNamedAttr("threads", b.getI64IntegerAttr(launch.threads)),
         b.getNamedAttr("title", b.getStringAttr(launch.title))}));
  module->setAttr(kProgram, b.getDictionaryAttr({b.getNamedAttr("launches", b.getArrayAttr(launches)),
                                                 b.getNamedAttr("name", b.getStringAttr(program.name)),
                                                 b.getNamedAttr("workspace", describe(b, program.workspace))}));
}

static int64_t number(DictionaryAttr dictionary, StringRef name) {
  auto value = dictionary ? dictionary.getAs<IntegerAttr>(name) : IntegerAttr();
  return value ? value.getInt() : 0;
}
static std::string text(DictionaryAttr dictionary, StringRef name) {
  auto value = dictionary ? dictionary.getAs<StringAttr>(name) : StringAttr();
  return value ? value.str() : std::string();
}
static SizeExpression size(DictionaryAttr dictionary, StringRef name) {
  auto described = dictionary ? dictionary.getAs<DictionaryAttr>(name) : DictionaryAttr();
  SizeExpression result{number(described, "fixed"), number(described, "scaled"), {}};
  if (auto factors = described ? described.getAs<ArrayAttr>("factors") : ArrayAttr())
    for (auto factor : factors.getAsRange<StringAttr>())
      result.factors.push_back(factor.str());
  return result;
}

std::optional<GpuProgram> skewer::gpu::programOf(mlir::gpu::GPUModuleOp module) {
  auto dictionary = module->getAttrOfType<DictionaryAttr>(kProgram);
  if (!dictionary)
    return std::nullopt;
  GpuProgram program{text(dictionary, "name"), size(dictionary, "workspace"), {}};
  if (auto launches = dictionary.getAs<ArrayAttr>("launches"))
    for (auto launch : launches.getAsRange<DictionaryAttr>())
      program.launches.push_back({text(launch, "kernel"), text(launch, "title"), number(launch, "threads"),
                                  number(launch, "shared_bytes"), size(launch, "blocks"), number(launch, "rows"),
                                  number(launch, "keys"), text(launch, "note")});
  return program;
}

LLVM::LLVMFuncOp skewer::gpu::createKernel(OpBuilder &b, Location location, mlir::gpu::GPUModuleOp module,
                                           const KernelPlan &plan, StringRef name, int64_t threads) {
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToEnd(module.getBody());
  size_t pointers = plan.outputs.size(), origins = 0;
  for (const TensorArgument &input : plan.inputs)
    ++(input.origin ? origins : pointers);
  auto pointer = LLVM::LLVMPointerType::get(b.getContext(), kGlobalSpace);
  SmallVector<Type> types(pointers + 1, pointer);
  types.append(plan.sizes.size() + origins, b.getI64Type());
  auto type = LLVM::LLVMFunctionType::get(LLVM::LLVMVoidType::get(b.getContext()), types);
  auto function = LLVM::LLVMFuncOp::create(b, location, name, type);
  function->setAttr(NVVM::NVVMDialect::getKernelFuncAttrName(), b.getUnitAttr());
  function->setAttr(NVVM::NVVMDialect::getMaxntidAttrName(), b.getDenseI32ArrayAttr({int32_t(threads), 1, 1}));
  for (size_t k = 0; k <= pointers; ++k) {
    function.setArgAttr(unsigned(k), LLVM::LLVMDialect::getNoAliasAttrName(), b.getUnitAttr());
    function.setArgAttr(unsigned(k), LLVM::LLVMDialect::getAlignAttrName(),
                        b.getI64IntegerAttr(k < pointers ? 16 : 256));
  }
  function.addEntryBlock(b);
  return function;
}

KernelArguments skewer::gpu::argumentsOf(LLVM::LLVMFuncOp kernel, const KernelPlan &plan) {
  KernelArguments result;
  unsigned next = 0;
  auto take = [&]() -> Value { return kernel.getArgument(next++); };
  for (const TensorArgument &input : plan.inputs)
    result.inputs.push_back(input.origin ? Value() : take());
  for (size_t k = 0; k < plan.outputs.size(); ++k)
    result.outputs.push_back(take());
  result.workspace = take();
  for (const std::string &size : plan.sizes)
    result.sizes[size] = take();
  for (const TensorArgument &input : plan.inputs)
    if (input.origin)
      result.origins[input.name] = take();
  return result;
}

StringRef skewer::gpu::sharedMemory(mlir::gpu::GPUModuleOp module) {
  constexpr StringLiteral name = "shared_memory";
  if (!module.lookupSymbol(name)) {
    OpBuilder b = OpBuilder::atBlockBegin(module.getBody());
    LLVM::GlobalOp::create(b, module.getLoc(), LLVM::LLVMArrayType::get(b.getI8Type(), 0), /*isConstant=*/false,
                           LLVM::Linkage::External, name, Attribute(), /*alignment=*/16, kSharedSpace);
  }
  return name;
}
