// Emits the kernels of each stage.
#include "passes/Gpu/GpuStages.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "passes/Gpu/BoxMaps.h"
#include "passes/Gpu/GpuKernel.h"
#include "passes/Gpu/KeyParts.h"
#include "passes/Gpu/PrepareGpuStages.h"
#include "passes/Gpu/Schedule/GpuCostModel.h"
#include "passes/Gpu/Schedule/GpuSchedule.h"
#include "passes/Gpu/Shape/GpuLayout.h"
#include "passes/Stages/NarrowRows.h"

using namespace mlir;
using namespace skewer;
using namespace skewer::gpu;
using generic::fail;

GpuStages::GpuStages(ModuleOp module, func::FuncOp function, bool fuse) : Kernel(module, function), fuse(fuse) {
  code.elementItems = true;
  packsRows = false;
}

bool GpuStages::lower() {
  prepareStages(source);
  if (!fuse) // a schedule says that the attention reads its operands as they stand in memory (NarrowRows.h)
    for (auto attention : source.getOps<attn::AttentionOp>())
      attention.removeScheduleAttr();
  OpBuilder at(source);
  gpuModule = mlir::gpu::GPUModuleOp::create(at, source.getLoc(), plan.name + "_gpu");
  program.name = plan.name;
  bool made = emit();
  for (auto constant : llvm::make_early_inc_range(module.getOps<memref::GlobalOp>()))
    constant.erase();
  if (!made)
    return false;
  program.workspace = plan.sharedBytes;
  return succeeded(attachProgram(gpuModule, program));
}

std::string GpuStages::kernelName(StringRef title) {
  if (stages.size() == 1 && program.launches.empty())
    return plan.name;
  std::string base = plan.name + "_" + title.str(), name = base;
  for (int number = 2; gpuModule.lookupSymbol(name); ++number)
    name = base + "_" + std::to_string(number);
  return name;
}

void GpuStages::takePhases(ItemOf by, const std::string &note, int64_t threads, int64_t sharedBytes) {
  for (const Phase &phase : plan.phases) {
    auto function = module.lookupSymbol<func::FuncOp>(phase.function);
    program.launches.push_back(kernelOfPhase(function, phase, gpuModule, plan, kernelName(phase.title), by, threads));
    program.launches.back().sharedBytes = sharedBytes;
    program.launches.back().note = note;
  }
  plan.phases.clear();
}

bool GpuStages::emit(const Stage &stage) {
  size_t first = program.launches.size();
  if (!emitKernels(stage))
    return false;
  if (tensors.prepared.contains(memoryOf(stage.result)))
    for (GpuLaunch &made : llvm::drop_begin(program.launches, first)) {
      made.prepares = true;
      gpuModule.lookupSymbol<LLVM::LLVMFuncOp>(made.kernel)->setAttr(kPrepares, UnitAttr::get(module.getContext()));
    }
  return true;
}

bool GpuStages::emitKernels(const Stage &stage) {
  if (stage.kind == StageKind::Rows || stage.kind == StageKind::Attention)
    return emitAttention(stage, cast<attn::AttentionOp>(stage.result.getDefiningOp()));
  if (auto einsum = dyn_cast<attn::EinsumOp>(stage.maker());
      einsum && stage.kind == StageKind::Einsum && isMatrixProduct(einsum))
    return emitTensorProduct(stage, einsum);
  if (!Kernel::emit(stage))
    return false;
  takePhases(ItemOf::Thread);
  return true;
}

/// Returns the product of the axes' extents. Only the outermost axis may have a run-time length.
static Extent productOf(ArrayRef<std::string> axes, const std::map<std::string, Extent> &extents) {
  Extent product{"", 1};
  for (const std::string &axis : axes)
    if (const Extent &extent = extents.at(axis); !extent.name.empty())
      product.name = extent.name;
    else
      product.fixed *= extent.fixed;
  if (!product.name.empty())
    product.name = subscript::print(*subscript::parse(product.name) * subscript::Expr(std::exchange(product.fixed, 1)));
  return product;
}

GpuTensors GpuStages::tensorsOf(attn::AttentionOp attention) {
  GpuTensors result;
  result.signature = result.plan = plan;
  result.kernel = kernelName("attention");
  result.workspace = plan.sharedBytes;
  auto describe = [&](Value tensor) {
    TensorArgument argument; // without a name, so that it is no index operand
    argument.shape = tensors.storage[tensor].shape;
    argument.type = elementTypeOf(tensor.getType());
    return argument;
  };
  auto numberOf = [&](Value operand) -> unsigned {
    Value owner = memoryOf(operand);
    if (auto argument = dyn_cast<BlockArgument>(owner))
      return argument.getArgNumber();
    auto number = unsigned(result.plan.inputs.size());
    result.plan.inputs.push_back(describe(operand));
    auto output = tensors.outputOf.find(owner);
    result.furtherInputs.push_back(output == tensors.outputOf.end()
                                       ? GpuPlace{std::nullopt, *tensors.storage[owner].place}
                                       : GpuPlace{output->second, {}});
    return number;
  };
  for (Value operand : operandsOf(attention)) {
    auto rows = narrowRows(operand);
    result.inputs.push_back(numberOf(rows ? rows->stored : operand));
    std::vector<RowScale> &scales = result.scales.emplace_back();
    result.scaledElements.push_back(rows ? rows->rowElements : 0);
    if (rows)
      for (const NarrowRows::Scale &scale : rows->scales)
        scales.push_back({numberOf(scale.tensor), scale.place});
  }
  auto write = [&](Value made) -> unsigned {
    auto output = tensors.outputOf.find(memoryOf(made));
    if (output != tensors.outputOf.end())
      return output->second;
    result.plan.outputs.push_back(describe(made));
    result.furtherOutputs.push_back({std::nullopt, *tensors.storage[made].place});
    return unsigned(result.plan.outputs.size() - 1);
  };
  result.resultOutput = write(attention.getResult());
  for (Value ofRows : {attention.getLse(), attention.getTotal()})
    if (ofRows)
      result.rowOutput = write(ofRows);
  if (auto parts = partPlaces.find(attention); parts != partPlaces.end()) {
    result.parts = unsigned(result.plan.outputs.size());
    result.plan.outputs.push_back({});
    result.furtherOutputs.push_back({std::nullopt, parts->second});
  }
  if (auto extents = tensors.extentsOf(attention)) {
    attn::ScoreSpace space = attn::scoreSpace(attention);
    for (const std::string &axis : space.leading)
      result.leading.push_back(extents->at(axis));
    result.queryExtent = productOf(space.query, *extents);
    if (llvm::all_of(space.key, [&](const std::string &axis) { return extents->count(axis) > 0; }))
      result.keyExtent = productOf(space.key, *extents);
  }
  return result;
}

OrRefusal<GpuAttention> GpuStages::placed(attn::AttentionOp attention) {
  auto shape = gpuShapeOf(attention);
  if (!shape)
    return shape.refusal();
  GpuAttention result(tensorsOf(attention), std::move(*shape));
  if (result.leading.size() != result.attention.space.leading.size())
    return Refusal{"a run-time size of the score is no operand's dimension"};
  return result;
}

/// Checks the attention's schedule, if it has one, for the GPU that the schedule names. False after a diagnostic.
static bool hasValidSchedule(attn::AttentionOp attention, const GpuShape *shape, StringRef reason) {
  attn::ScheduleInterface given = attention.getScheduleAttr();
  if (!given)
    return true;
  auto machine = findGpuMachine(given.getTarget());
  if (!machine) {
    attention.emitError() << "schedule is for '" << given.getTarget() << "', which is no GPU that code is made for; "
                          << "'skewer target' lists them (gpu_schedule_c7)";
    return false;
  }
  return succeeded(verifyGpuSchedule(attention, shape, reason, *machine));
}

/// Returns the number of blocks: for each leading index, as many as its queries, columns and keys are divided into.
static SizeExpression gridOf(const GpuAttention &shape) {
  SizeExpression blocks;
  blocks.scaled = shape.tile.partsOf(shape.attention.width) * shape.tile.keyParts;
  if (Extent count = shape.queryExtent; count.name.empty())
    blocks.scaled *= (count.fixed + shape.tile.rows - 1) / shape.tile.rows;
  else
    blocks.factors.push_back(skewer::gpu::blocksOf(count.name, shape.tile.rows));
  for (const Extent &extent : shape.leading)
    if (extent.name.empty())
      blocks.scaled *= extent.fixed;
    else
      blocks.factors.push_back(extent.name);
  return blocks;
}

bool GpuStages::emitFused(const GpuAttention &shape, attn::AttentionOp attention) {
  GpuBuilder b(attention.getLoc(), attention.getContext());
  const GpuTile &tile = shape.tile;
  auto failed = [&](const Refusal &refusal) {
    return fail(attention, "no kernel for a GPU can be made of it: " + refusal.reason);
  };
  GpuLaunch launch;
  launch.kernel = shape.kernel;
  if (tile.copies == kTma) { // where its maps cannot be made, the same kernel runs whose threads copy
    GpuAttention boxed = shape;
    launch.boxKernel = boxed.kernel = shape.kernel + "_tma";
    if (boxed.attention.bounds.keyLength && boxed.keyExtent.name.empty())
      return failed({"the number of keys is no size of the call, which copies by TMA need"});
    launch.maps = mapsOfBoxes(boxed);
    // The bytes of a launch's arguments (CUDA C++ Programming Guide, "Kernel parameters"); a map begins at a multiple
    // of 64.
    constexpr size_t kMostBytes = 4096, kMapBytes = 128, kAlignment = 64;
    size_t arguments = plan.inputs.size() + plan.outputs.size() + plan.sizes.size() + 2;
    if (8 * arguments + kAlignment + kMapBytes * launch.maps.size() > kMostBytes)
      return failed({"its arguments leave no room for tensor maps in the 4096 bytes of a launch"});
    if (auto refusal = emitAttentionKernel(b, boxed, gpuModule))
      return failed(*refusal);
  }
  GpuAttention plain = shape;
  plain.tile.copies = kCpAsync; // with the tiles in the same places
  if (auto refusal = emitAttentionKernel(b, plain, gpuModule))
    return failed(*refusal);
  launch.title = "attention";
  launch.threads = tile.blockThreads();
  launch.rows = tile.rows;
  launch.keys = tile.keys;
  launch.sharedBytes = layoutOf(shape, tile).bytes;
  launch.blocks = gridOf(shape);
  program.launches.push_back(std::move(launch));
  if (tile.keyParts == 1)
    return true;
  GpuLaunch join;
  if (auto refusal = emitJoinKernel(b, shape, gpuModule, kernelName(kJoin), join))
    return failed(*refusal);
  program.launches.push_back(std::move(join));
  return true;
}

/// Returns the memory for the records of parts of the keys, if a schedule divides them.
GpuStages::OwnMemory GpuStages::ownMemory(const Stage &stage) {
  auto attention = stage.result.getDefiningOp<attn::AttentionOp>();
  if (!fuse || !attention || !attention->hasAttr(kGpuKeyParts))
    return {};
  auto shape = gpuShapeOf(attention);
  auto extents = tensors.extentsOf(attention);
  if (!shape || !extents || refuseParts(*shape, shape->tile, shape->tile.keyParts))
    return {}; // emitAttention says why
  std::vector<Extent> leading;
  for (const std::string &axis : shape->attention.space.leading)
    leading.push_back(extents->at(axis));
  return {{{&partPlaces[attention], PartRecord(*shape).bytes(), leading}}};
}

bool GpuStages::emitAttention(const Stage &stage, attn::AttentionOp attention) {
  std::string reason = "nothing is to be fused";
  if (fuse) {
    auto shape = placed(attention);
    if (!hasValidSchedule(attention, shape ? &*shape : nullptr, shape.reason()))
      return false;
    if (shape)
      return emitFused(*shape, attention);
    reason = shape.reason();
  }
  beginPhase(stage, "rows");
  if (!emitWarpRows(attention))
    return false;
  takePhases(ItemOf::Warp, reason);
  return true;
}
