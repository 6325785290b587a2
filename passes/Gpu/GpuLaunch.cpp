// The program as an attribute of the GPU module, and the signature that its kernels share.
#include "passes/Gpu/GpuLaunch.h"
#include "dialect/IR/Attn.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/IR/Builders.h"
#include "passes/Emit/EmitIndex.h"
#include "passes/Gpu/GpuBuilder.h"
#include "passes/Gpu/Memory.h"

using namespace mlir;
using namespace skewer;
using namespace skewer::gpu;

std::string skewer::gpu::blocksOf(StringRef extent, int64_t rows) {
  auto count = subscript::parse(std::string_view(extent));
  return subscript::print(subscript::floorDiv(*count + subscript::Expr(rows - 1), rows));
}

/// Returns the kernel of a launch that copies boxes, as an attribute; null if there is none or an error has been
/// emitted.
static attn::BoxesAttr boxesOf(MLIRContext *context, function_ref<InFlightDiagnostic()> emitError,
                               const GpuLaunch &launch) {
  SmallVector<attn::TensorMapAttr> maps;
  for (const GpuTensorMap &map : launch.maps) {
    maps.push_back(attn::TensorMapAttr::getChecked(
        emitError, context, int64_t(map.argument), attributeOf(context, map.offset), typeOf(map.type, context),
        map.columns, attributeOf(context, map.rows), attributeOf(context, map.places), map.rowBytes, map.placeBytes,
        map.boxColumns, map.boxRows));
    if (!maps.back())
      return {};
  }
  return attn::BoxesAttr::getChecked(emitError, context, StringRef(launch.boxKernel),
                                     ArrayRef<attn::TensorMapAttr>(maps));
}

static std::vector<GpuTensorMap> mapsIn(attn::BoxesAttr boxes) {
  std::vector<GpuTensorMap> maps;
  for (attn::TensorMapAttr map : boxes.getMaps())
    maps.push_back({unsigned(map.getArgument()), sizeOf(map.getOffset()),
                    map.getType().isBF16() ? ElementType::BF16 : ElementType::F16, map.getColumns(),
                    sizeOf(map.getRows()), sizeOf(map.getPlaces()), map.getRowBytes(), map.getPlaceBytes(),
                    map.getBoxColumns(), map.getBoxRows()});
  return maps;
}

LogicalResult skewer::gpu::attachProgram(mlir::gpu::GPUModuleOp module, const GpuProgram &program) {
  MLIRContext *context = module.getContext();
  auto emitError = [&] { return module.emitError(); };
  SmallVector<attn::LaunchAttr> launches;
  for (const GpuLaunch &launch : program.launches) {
    attn::BoxesAttr boxes = launch.boxKernel.empty() ? attn::BoxesAttr() : boxesOf(context, emitError, launch);
    if (!boxes && !launch.boxKernel.empty())
      return failure();
    launches.push_back(attn::LaunchAttr::getChecked(
        emitError, context, StringRef(launch.kernel), StringRef(launch.title), launch.threads, launch.sharedBytes,
        attributeOf(context, launch.blocks), launch.rows, launch.keys, StringRef(launch.note), boxes));
    if (!launches.back())
      return failure();
  }
  auto attribute =
      attn::ProgramAttr::getChecked(emitError, context, StringRef(program.name),
                                    attributeOf(context, program.workspace), ArrayRef<attn::LaunchAttr>(launches));
  if (attribute)
    module->setAttr(attn::kProgram, attribute);
  return success(attribute != nullptr);
}

std::optional<GpuProgram> skewer::gpu::programOf(mlir::gpu::GPUModuleOp module) {
  auto attribute = module->getAttrOfType<attn::ProgramAttr>(attn::kProgram);
  if (!attribute)
    return std::nullopt;
  GpuProgram program{attribute.getName().str(), sizeOf(attribute.getWorkspace()), {}};
  for (attn::LaunchAttr launch : attribute.getLaunches()) {
    auto kernel = module.lookupSymbol<LLVM::LLVMFuncOp>(launch.getKernel());
    attn::BoxesAttr boxes = launch.getBoxes();
    program.launches.push_back({launch.getKernel().str(), launch.getTitle().str(), launch.getThreads(),
                                launch.getSharedBytes(), sizeOf(launch.getBlocks()), launch.getRows(), launch.getKeys(),
                                launch.getNote().str(), boxes ? boxes.getKernel().str() : "",
                                boxes ? mapsIn(boxes) : std::vector<GpuTensorMap>(),
                                kernel && kernel->hasAttr(kPrepares)});
  }
  return program;
}

/// Makes an argument a tensor map that is passed by value and stays in the memory of parameters, from where the
/// hardware reads it: 128 bytes at a multiple of 64 (CUDA driver API, CUtensorMap).
static void passByValue(LLVM::LLVMFuncOp function, unsigned argument) {
  constexpr int64_t kMapBytes = 128, kMapAlignment = 64;
  Builder b(function.getContext());
  Type bytes = LLVM::LLVMArrayType::get(b.getI8Type(), kMapBytes);
  function.setArgAttr(argument, LLVM::LLVMDialect::getByValAttrName(), TypeAttr::get(bytes));
  function.setArgAttr(argument, LLVM::LLVMDialect::getAlignAttrName(), b.getI64IntegerAttr(kMapAlignment));
  function.setArgAttr(argument, NVVM::NVVMDialect::getGridConstantAttrName(), b.getUnitAttr());
  function.setArgAttr(argument, LLVM::LLVMDialect::getNoUndefAttrName(), b.getUnitAttr());
}

LLVM::LLVMFuncOp skewer::gpu::createKernel(OpBuilder &b, Location location, mlir::gpu::GPUModuleOp module,
                                           const KernelPlan &plan, StringRef name, int64_t threads, size_t maps) {
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToEnd(module.getBody());
  size_t tensors = plan.outputs.size(), origins = 0;
  for (const TensorArgument &input : plan.inputs)
    if (input.isTensor())
      ++tensors;
    else if (input.origin) // a length is one of the sizes
      ++origins;
  auto pointer = LLVM::LLVMPointerType::get(b.getContext(), kGlobalSpace);
  size_t pointers = tensors + (plan.preparedBytes ? 2 : 1);
  SmallVector<Type> types(pointers, pointer);
  types.append(plan.sizes.size() + origins, b.getI64Type());
  types.append(maps, LLVM::LLVMPointerType::get(b.getContext()));
  auto type = LLVM::LLVMFunctionType::get(LLVM::LLVMVoidType::get(b.getContext()), types);
  auto function = LLVM::LLVMFuncOp::create(b, location, name, type);
  function->setAttr(NVVM::NVVMDialect::getKernelFuncAttrName(), b.getUnitAttr());
  function->setAttr(NVVM::NVVMDialect::getMaxntidAttrName(), b.getDenseI32ArrayAttr({int32_t(threads), 1, 1}));
  for (size_t k = 0; k < pointers; ++k) {
    function.setArgAttr(unsigned(k), LLVM::LLVMDialect::getNoAliasAttrName(), b.getUnitAttr());
    function.setArgAttr(unsigned(k), LLVM::LLVMDialect::getAlignAttrName(),
                        b.getI64IntegerAttr(k < tensors ? 16 : 256));
  }
  for (size_t k = types.size() - maps; k < types.size(); ++k)
    passByValue(function, unsigned(k));
  function.addEntryBlock(b);
  return function;
}

ValueRange skewer::gpu::mapsOf(LLVM::LLVMFuncOp kernel, size_t maps) { return kernel.getArguments().take_back(maps); }

KernelArguments skewer::gpu::argumentsOf(LLVM::LLVMFuncOp kernel, const KernelPlan &plan) {
  KernelArguments result;
  unsigned next = 0;
  auto take = [&]() -> Value { return kernel.getArgument(next++); };
  for (const TensorArgument &input : plan.inputs)
    result.inputs.push_back(input.isTensor() ? take() : Value());
  for (size_t k = 0; k < plan.outputs.size(); ++k)
    result.outputs.push_back(take());
  result.workspace = take();
  if (plan.preparedBytes)
    result.prepared = take();
  for (const std::string &size : plan.sizes)
    result.sizes[size] = take();
  for (const TensorArgument &input : plan.inputs)
    if (input.origin)
      result.origins[input.name] = take();
  return result;
}

Value KernelArguments::size(GpuBuilder &b, StringRef name) const {
  if (auto known = sizes.find(name.str()); known != sizes.end())
    return known->second;
  std::map<std::string, Value> symbols;
  for (const std::string &part : sizesIn(name))
    symbols[part] = b.toIndex(sizes.at(part));
  return b.toI64(IndexEmitter(b, b.getLoc(), std::move(symbols)).emit(*subscript::parse(std::string_view(name))));
}

Value KernelArguments::number(const TensorArgument &input) const {
  return input.origin ? origins.at(input.name) : sizes.at(input.name);
}

StringRef skewer::gpu::sharedMemory(mlir::gpu::GPUModuleOp module, int64_t alignment) {
  constexpr StringLiteral name = "shared_memory";
  auto memory = module.lookupSymbol<LLVM::GlobalOp>(name);
  if (!memory) {
    OpBuilder b = OpBuilder::atBlockBegin(module.getBody());
    memory = LLVM::GlobalOp::create(b, module.getLoc(), LLVM::LLVMArrayType::get(b.getI8Type(), 0),
                                    /*isConstant=*/false, LLVM::Linkage::External, name, Attribute(),
                                    uint64_t(kChunkAlignment), kSharedSpace);
  }
  if (alignment > int64_t(memory.getAlignment().value_or(0)))
    memory.setAlignment(uint64_t(alignment));
  return name;
}
