// Tests kernels with AMX's instructions: they run by the emulation, and are refused where the processor has no tiles.
#include "AbiTesting.h"
#include "codegen/ABI/Status.h"
#include "codegen/ABI/Tiles.h"
#include "llvm/Support/raw_ostream.h"
#include <cmath>

using namespace skewer;
using namespace skewer::testing;

namespace {

// One work item: out[16, 16] = a[16, 16, 2] · b[16, 16, 2], pairs of bf16. The configuration is in local memory.
constexpr const char *kTileProduct = R"mlir(
func.func @product(%a: memref<?xbf16>, %b: memref<?xbf16>, %out: memref<?xf32>, %shared: memref<?xi8>,
                   %local: memref<?xi8>, %begin: index, %end: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %c8 = arith.constant 8 : index
  %c16 = arith.constant 16 : index
  %c48 = arith.constant 48 : index
  %c64 = arith.constant 64 : index
  %zero = arith.constant 0 : i8
  %palette = arith.constant 1 : i8
  %row_bytes = arith.constant 64 : i8
  %rows = arith.constant 16 : i8
  %stride = llvm.mlir.constant(64 : i64) : i64
  %t0 = llvm.mlir.constant(0 : i8) : i8
  %t1 = llvm.mlir.constant(1 : i8) : i8
  %t2 = llvm.mlir.constant(2 : i8) : i8
  scf.for %i = %c0 to %c64 step %c1 {
    memref.store %zero, %local[%i] : memref<?xi8>
  }
  memref.store %palette, %local[%c0] : memref<?xi8>
  scf.for %tile = %c0 to %c8 step %c1 {
    %twice = arith.muli %tile, %c2 : index
    %bytes_at = arith.addi %twice, %c16 : index
    %rows_at = arith.addi %tile, %c48 : index
    memref.store %row_bytes, %local[%bytes_at] : memref<?xi8>
    memref.store %rows, %local[%rows_at] : memref<?xi8>
  }
  %local_index = memref.extract_aligned_pointer_as_index %local : memref<?xi8> -> index
  %local_word = arith.index_cast %local_index : index to i64
  %config = llvm.inttoptr %local_word : i64 to !llvm.ptr
  %a_index = memref.extract_aligned_pointer_as_index %a : memref<?xbf16> -> index
  %a_word = arith.index_cast %a_index : index to i64
  %a_tile = llvm.inttoptr %a_word : i64 to !llvm.ptr
  %b_index = memref.extract_aligned_pointer_as_index %b : memref<?xbf16> -> index
  %b_word = arith.index_cast %b_index : index to i64
  %b_tile = llvm.inttoptr %b_word : i64 to !llvm.ptr
  %out_index = memref.extract_aligned_pointer_as_index %out : memref<?xf32> -> index
  %out_word = arith.index_cast %out_index : index to i64
  %out_tile = llvm.inttoptr %out_word : i64 to !llvm.ptr
  llvm.call_intrinsic "llvm.x86.ldtilecfg"(%config) : (!llvm.ptr) -> ()
  llvm.call_intrinsic "llvm.x86.tilezero"(%t0) : (i8) -> ()
  llvm.call_intrinsic "llvm.x86.tileloadd64"(%t1, %a_tile, %stride) : (i8, !llvm.ptr, i64) -> ()
  llvm.call_intrinsic "llvm.x86.tileloaddt164"(%t2, %b_tile, %stride) : (i8, !llvm.ptr, i64) -> ()
  llvm.call_intrinsic "llvm.x86.tdpbf16ps"(%t0, %t1, %t2) : (i8, i8, i8) -> ()
  llvm.call_intrinsic "llvm.x86.tilestored64"(%t0, %out_tile, %stride) : (i8, !llvm.ptr, i64) -> ()
  llvm.call_intrinsic "llvm.x86.tilerelease"() : () -> ()
  return
}
)mlir";

KernelPlan tilePlan() {
  KernelPlan plan;
  plan.name = "tile_product";
  plan.inputs = {{"a", ElementType::BF16, {{"", 16}, {"", 32}}}, {"b", ElementType::BF16, {{"", 16}, {"", 32}}}};
  plan.outputs = {{"output", ElementType::F32, {{"", 16}, {"", 16}}}};
  plan.phases = {{"product", "product", {1, 0, {}}}};
  plan.localBytes = 64;
  return plan;
}

/// Returns a target with AMX, or one whose tiles are emulated.
Target tileTarget(bool isEmulated) {
  Target target = plainTarget();
  target.tileStepsPerCycle = 1;
  if (!isEmulated)
    target.features = "+amx-tile,+amx-bf16";
  return target;
}

struct TileCall {
  std::vector<uint16_t> a = std::vector<uint16_t>(512), b = a;
  std::vector<float> out = std::vector<float>(256, -1);

  /// Fills a with rows of 1, 2, 4, … and b with ones, except for its last column of zeros.
  TileCall() {
    for (size_t k = 0; k < a.size(); ++k) {
      a[k] = uint16_t(0x3f80 + 0x80 * (k / 32));
      b[k] = k % 32 < 30 ? 0x3f80 : 0;
    }
  }
  Status run(const Target &target) {
    auto context = std::make_unique<llvm::LLVMContext>();
    auto module = emit(*context, tilePlan(), target, kTileProduct);
    if (!module) {
      ADD_FAILURE() << llvm::toString(module.takeError());
      return Status::NullArgs;
    }
    if (llvm::Error error = optimize(**module, target))
      ADD_FAILURE() << llvm::toString(std::move(error));
    auto kernel = JitKernel::create(std::move(*module), std::move(context), tilePlan(), target);
    if (!kernel) {
      ADD_FAILURE() << llvm::toString(kernel.takeError());
      return Status::NullArgs;
    }
    alignas(64) char workspace[64];
    Exec exec;
    exec.workspace = workspace;
    exec.workspaceBytes = sizeof workspace;
    return Status((*kernel)->run({a.data(), b.data()}, out.data(), {}, exec));
  }
  void expectProducts() const {
    for (size_t k = 0; k < out.size(); ++k)
      EXPECT_EQ(out[k], k % 16 < 15 ? 32 * std::ldexp(1.0f, int(k / 16)) : 0) << k;
  }
};

TEST(AbiTiles, EmulatedTilesMultiplyOnEveryProcessor) {
  TileCall call;
  EXPECT_EQ(call.run(tileTarget(true)), Status::Ok);
  call.expectProducts();
}

TEST(AbiTiles, AProcessorWithoutTilesIsRefused) {
  TileCall call;
  Status status = call.run(tileTarget(false));
  if (status == Status::Ok) // the processor has AMX, and the system permits it
    return call.expectProducts();
  EXPECT_EQ(status, Status::UnsupportedCpu);
  EXPECT_EQ(call.out, std::vector<float>(256, -1));
}

TEST(AbiTiles, TheCheckAsksForPermissionOnlyForTiles) {
  auto textOf = [](const Target &target, const KernelPlan &plan, const char *text) {
    llvm::LLVMContext context;
    auto module = emit(context, plan, target, text);
    if (!module) {
      ADD_FAILURE() << llvm::toString(module.takeError());
      return std::string();
    }
    EXPECT_EQ(usesTiles(**module), text == kTileProduct && !emulatesTiles(target));
    std::string printed;
    llvm::raw_string_ostream(printed) << **module;
    return printed;
  };
  std::string tiles = textOf(tileTarget(false), tilePlan(), kTileProduct);
  EXPECT_NE(tiles.find("@skewer_refuse_amx = weak global i32 0"), std::string::npos);
  EXPECT_NE(tiles.find("asm sideeffect \"syscall\""), std::string::npos);
  EXPECT_EQ(tiles.find("@skewer_amx_"), std::string::npos);
  std::string emulated = textOf(tileTarget(true), tilePlan(), kTileProduct);
  EXPECT_NE(emulated.find("call void @skewer_amx_tdpbf16ps(i32 0, i32 1, i32 2)"), std::string::npos);
  EXPECT_EQ(emulated.find("llvm.x86.t"), std::string::npos);
  for (const std::string &other : {emulated, textOf(tileTarget(false), doublePlan(), kPhases)}) {
    EXPECT_EQ(other.find("skewer_refuse_amx"), std::string::npos);
    EXPECT_EQ(other.find("syscall"), std::string::npos);
  }
}

} // namespace
