// Tests entries for GPUs: the description that the launcher reads. Both sides must count and number in the same way.
#include "codegen/ABI/Cuda.h"
#include "codegen/ABI/Emit.h"
#include "codegen/ABI/Status.h"
#include "codegen/Runtime/skewer_cuda.h"
#include "llvm/IR/Constants.h"
#include "llvm/IR/DataLayout.h"
#include "gtest/gtest.h"

using namespace skewer;

namespace {

KernelPlan layer() {
  KernelPlan plan;
  plan.name = "layer";
  TensorArgument origin{"k0", ElementType::I32, {{"", 1}}, IndexRange{0, 48}};
  origin.origin = 1;
  plan.inputs = {{"q", ElementType::F16, {{"batch", 1}, {"", 64}}},
                 origin,
                 {"ids", ElementType::I32, {{"", 8}}, IndexRange{0, 7}}};
  plan.outputs = {{"output", ElementType::F32, {{"batch", 1}, {"", 64}}}};
  plan.sizes = {"batch"};
  return plan;
}

std::vector<CudaImage> images() {
  skewer::gpu::GpuLaunch launch;
  launch.kernel = "layer";
  launch.threads = 128;
  launch.sharedBytes = 65536;
  launch.blocks = {1, 4, {"batch"}};
  return {{"sm_80", "", ".version 8.0\n.target sm_80\n", {launch}, {256, 512, {"batch"}}},
          {"sm_90a", "", ".version 8.7\n.target sm_90a\n", {launch}, {0, 0, {}}}};
}

TEST(CudaEntry, NumbersOfBothSidesAreTheSame) {
#define SAME(c, cpp) static_assert(int(c) == int(Status::cpp))
  SAME(SKEWER_OK, Ok);
  SAME(SKEWER_NULL_ARGS, NullArgs);
  SAME(SKEWER_BAD_ARGS_SIZE, BadArgsSize);
  SAME(SKEWER_BAD_ARGS_VERSION, BadArgsVersion);
  SAME(SKEWER_BAD_SIZE, BadSize);
  SAME(SKEWER_BAD_ORIGIN, BadOrigin);
  SAME(SKEWER_NULL_TENSOR, NullTensor);
  SAME(SKEWER_NULL_EXEC, NullExec);
  SAME(SKEWER_BAD_EXEC_SIZE, BadExecSize);
  SAME(SKEWER_BAD_EXEC_VERSION, BadExecVersion);
  SAME(SKEWER_NULL_WORKSPACE, NullWorkspace);
  SAME(SKEWER_SMALL_WORKSPACE, SmallWorkspace);
  SAME(SKEWER_OVERLAP, Overlap);
  SAME(SKEWER_NULL_PREPARED, NullPrepared);
  SAME(SKEWER_CUDA_NO_DRIVER, CudaNoDriver);
  SAME(SKEWER_CUDA_NO_GPU, CudaNoGpu);
  SAME(SKEWER_CUDA_NO_CONTEXT, CudaNoContext);
  SAME(SKEWER_CUDA_OLD_DRIVER, CudaOldDriver);
  SAME(SKEWER_CUDA_NO_CODE, CudaNoCode);
  SAME(SKEWER_CUDA_SHARED_MEMORY, CudaSharedMemory);
  SAME(SKEWER_CUDA_HOST_POINTER, CudaHostPointer);
  SAME(SKEWER_CUDA_MISALIGNED, CudaMisaligned);
  SAME(SKEWER_CUDA_GRID, CudaGrid);
  SAME(SKEWER_CUDA_FAILED, CudaFailed);
  SAME(SKEWER_CUDA_OTHER_DEVICE, CudaOtherDevice);
#undef SAME
  static_assert(SKEWER_ABI_VERSION == kAbiVersion);
  EXPECT_STREQ(statusText(int(Status::CudaNoGpu)), "NVIDIA's driver finds no GPU");
  EXPECT_STREQ(statusText(kFirstCudaStatus - 1), "unknown status");
}

TEST(CudaEntry, TargetsAndVersions) {
  EXPECT_EQ(capabilityOf("sm_80").number, 80u);
  EXPECT_FALSE(capabilityOf("sm_80").isExact);
  EXPECT_EQ(capabilityOf("sm_120a").number, 120u);
  EXPECT_TRUE(capabilityOf("sm_120a").isExact);
  EXPECT_EQ(firstDriverOf("//\n.version 8.0\n.target sm_80\n"), 12000u);
  EXPECT_EQ(firstDriverOf(".version 8.7\n"), 12080u);
  EXPECT_EQ(firstDriverOf("nothing"), 0u);
}

TEST(CudaEntry, DescriptionHasTheLauncherLayout) {
  llvm::LLVMContext context;
  auto module = cudaModule(layer(), images(), "{}", context, kAbiVersion);
  ASSERT_TRUE(bool(module)) << llvm::toString(module.takeError());
  const llvm::DataLayout &layout = (*module)->getDataLayout();
  auto bytes = [&](const char *name) {
    return layout.getTypeAllocSize((*module)->getNamedGlobal(name)->getValueType()).getFixedValue();
  };
  EXPECT_EQ(bytes("layer.cuda.program"), sizeof(skewer_cuda_program));
  EXPECT_EQ(bytes("layer.cuda.tensors"), 3 * sizeof(skewer_cuda_tensor));
  EXPECT_EQ(bytes("layer.cuda.images"), 2 * sizeof(skewer_cuda_image));
  EXPECT_EQ(bytes("layer.cuda.launches"), sizeof(skewer_cuda_launch));
  auto *program = llvm::cast<llvm::ConstantStruct>((*module)->getNamedGlobal("layer.cuda.program")->getInitializer());
  const llvm::StructLayout *fields = layout.getStructLayout(program->getType());
  EXPECT_EQ(fields->getElementOffset(10), offsetof(skewer_cuda_program, origin_word));
  EXPECT_EQ(fields->getElementOffset(11), offsetof(skewer_cuda_program, last_origins));
  EXPECT_EQ(fields->getElementOffset(13), offsetof(skewer_cuda_program, passed_origins));
  EXPECT_EQ(fields->getElementOffset(14), offsetof(skewer_cuda_program, loaded));
  EXPECT_EQ(fields->getElementOffset(15), offsetof(skewer_cuda_program, ranges));
  // k0, which is no tensor: at most 48, and passed to the kernels.
  auto *last = llvm::cast<llvm::ConstantDataArray>(program->getOperand(11));
  EXPECT_EQ(last->getElementAsInteger(0), 0u);
  EXPECT_EQ(last->getElementAsInteger(1), 48u);
  EXPECT_EQ(llvm::cast<llvm::ConstantInt>(program->getOperand(12))->getZExtValue(), 1u);
  EXPECT_EQ(llvm::cast<llvm::ConstantDataArray>(program->getOperand(13))->getElementAsInteger(0), 1u);
}

TEST(CudaEntry, TensorMapsAreDescribed) {
  llvm::LLVMContext context;
  std::vector<CudaImage> codes = images();
  skewer::gpu::GpuTensorMap map;
  map.argument = 1;
  map.type = ElementType::BF16;
  map.offset = {256, 0, {}};
  map.columns = 40;
  map.rows = {0, 1, {"batch"}};
  map.places = {7, 0, {}};
  map.rowBytes = 80, map.placeBytes = 160;
  map.boxColumns = 32, map.boxRows = 64;
  codes.front().launches.front().boxKernel = "layer_tma";
  codes.front().launches.front().maps = {map, map};
  auto module = cudaModule(layer(), codes, "{}", context, kAbiVersion);
  ASSERT_TRUE(bool(module)) << llvm::toString(module.takeError());
  const llvm::DataLayout &layout = (*module)->getDataLayout();
  auto constant = [&](const char *name) {
    return llvm::cast<llvm::ConstantArray>((*module)->getNamedGlobal(name)->getInitializer());
  };
  auto offset = [&](llvm::Constant *of, unsigned field) {
    return uint64_t(layout.getStructLayout(llvm::cast<llvm::StructType>(of->getType()))->getElementOffset(field));
  };
  auto number = [](llvm::Constant *of, unsigned field) {
    return llvm::cast<llvm::ConstantInt>(of->getAggregateElement(field))->getZExtValue();
  };
  auto *launch = constant("layer.cuda.launches")->getOperand(0);
  EXPECT_EQ(number(launch, 5), 2u);
  EXPECT_EQ(offset(launch, 5), offsetof(skewer_cuda_launch, map_count));
  EXPECT_EQ(offset(launch, 6), offsetof(skewer_cuda_launch, box_kernel));
  EXPECT_EQ(offset(launch, 7), offsetof(skewer_cuda_launch, maps));
  EXPECT_EQ(layout.getTypeAllocSize(constant("layer.cuda.maps")->getType()), 2 * sizeof(skewer_cuda_map));
  auto *first = constant("layer.cuda.maps")->getOperand(0);
  EXPECT_EQ(offset(first, 2), offsetof(skewer_cuda_map, offset));
  EXPECT_EQ(offset(first, 4), offsetof(skewer_cuda_map, places));
  EXPECT_EQ(offset(first, 7), offsetof(skewer_cuda_map, place_bytes));
  EXPECT_EQ(offset(first, 10), offsetof(skewer_cuda_map, swizzle));
  const uint64_t fields[] = {1, 9, 0, 0, 0, 40, 80, 160, 32, 64, 2}; // bf16; a swizzle of 64 bytes
  for (unsigned field : {0u, 1u, 5u, 6u, 7u, 8u, 9u, 10u})
    EXPECT_EQ(number(first, field), fields[field]) << field;
}

TEST(CudaEntry, WorkspaceNeedsNoGpu) {
  auto kernel = JitKernel::createForGpu(layer(), images());
  ASSERT_TRUE(bool(kernel)) << llvm::toString(kernel.takeError());
  EXPECT_EQ((*kernel)->cudaWorkspaceBytes({3}), 256u + 3 * 512); // the largest need of a target
  EXPECT_EQ((*kernel)->cudaWorkspaceBytes({0}), UINT64_MAX);
}

TEST(CudaEntry, ArgumentsAreCheckedBeforeTheDriver) {
  auto kernel = JitKernel::createForGpu(layer(), images());
  ASSERT_TRUE(bool(kernel)) << llvm::toString(kernel.takeError());
  alignas(256) static char memory[8192];
  int32_t k0 = 49;
  skewer_cuda_exec exec = {sizeof exec, kAbiVersion, nullptr, nullptr, memory + 4096, 4096};
  auto run = [&](void *q, void *out) { return (*kernel)->run({q, &k0, memory + 1024}, {out}, {1}, exec); };
  EXPECT_EQ(run(memory, memory + 2048), int(Status::BadOrigin));
  EXPECT_STREQ(skewer_cuda_error(), "layer: k0 is 49; expected 0 to 48");
  k0 = 48;
  EXPECT_EQ(run(nullptr, memory + 2048), int(Status::NullTensor));
  EXPECT_EQ(run(memory + 8, memory + 2048), int(Status::CudaMisaligned));
  EXPECT_EQ(run(memory, memory + 64), int(Status::Overlap));
  EXPECT_STREQ(skewer_cuda_error(), "layer: 'out' shares memory with 'q'");
  exec.workspace_bytes = 767;
  EXPECT_EQ(run(memory, memory + 2048), int(Status::SmallWorkspace));
}

TEST(CudaEntry, PreparedMemoryIsKnownOfConstOperandsAlone) {
  llvm::LLVMContext context;
  KernelPlan plan = layer();
  auto without = cudaModule(plan, images(), "{}", context, kAbiVersion);
  ASSERT_TRUE(bool(without)) << llvm::toString(without.takeError());
  EXPECT_FALSE((*without)->getFunction("layer_cuda_prepared"));
  plan.inputs.front().isConst = true;
  std::vector<CudaImage> codes = images();
  codes.front().preparedBytes = 320;
  codes.front().launches.front().prepares = true;
  auto module = cudaModule(plan, codes, "{}", context, kAbiVersion);
  ASSERT_TRUE(bool(module)) << llvm::toString(module.takeError());
  for (const char *entry : {"layer_cuda_prepared_bytes", "layer_cuda_prepare_const", "layer_cuda_prepared"})
    EXPECT_TRUE((*module)->getFunction(entry)) << entry;
  auto *tensors = llvm::cast<llvm::ConstantArray>((*module)->getNamedGlobal("layer.cuda.tensors")->getInitializer());
  auto number = [](llvm::Constant *value) { return llvm::cast<llvm::ConstantInt>(value)->getZExtValue(); };
  EXPECT_EQ(number(tensors->getOperand(0)->getAggregateElement(3u)), unsigned(SKEWER_CUDA_CONST));
  EXPECT_EQ(number(tensors->getOperand(1)->getAggregateElement(3u)), unsigned(SKEWER_CUDA_READ));
  EXPECT_EQ(number(tensors->getOperand(2)->getAggregateElement(3u)), unsigned(SKEWER_CUDA_WRITTEN));
  auto *code = llvm::cast<llvm::ConstantArray>((*module)->getNamedGlobal("layer.cuda.images")->getInitializer());
  const llvm::DataLayout &layout = (*module)->getDataLayout();
  auto *image = llvm::cast<llvm::StructType>(code->getType()->getElementType());
  EXPECT_EQ(layout.getStructLayout(image)->getElementOffset(9), offsetof(skewer_cuda_image, prepared_bytes));
  EXPECT_EQ(number(code->getOperand(0)->getAggregateElement(9u)), 512u); // the data after it is at a multiple of 256
  auto *launches = llvm::cast<llvm::ConstantArray>((*module)->getNamedGlobal("layer.cuda.launches")->getInitializer());
  auto *launch = launches->getOperand(0);
  EXPECT_EQ(layout.getStructLayout(llvm::cast<llvm::StructType>(launch->getType()))->getElementOffset(4),
            offsetof(skewer_cuda_launch, prepares));
  EXPECT_EQ(number(launch->getAggregateElement(4u)), 1u);
}

TEST(CudaEntry, TooManyArgumentsAreRefused) {
  KernelPlan plan = layer();
  while (plan.inputs.size() < 520)
    plan.inputs.push_back({"t" + std::to_string(plan.inputs.size()), ElementType::F16, {{"", 8}}});
  llvm::LLVMContext context;
  auto module = cudaModule(plan, images(), "{}", context, kAbiVersion);
  ASSERT_FALSE(bool(module));
  EXPECT_EQ(llvm::toString(module.takeError()), "kernel 'layer': it has 523 arguments; a launch on a GPU takes 512");
}

} // namespace
