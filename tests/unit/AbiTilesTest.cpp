// Tests kernels with AMX's instructions and a second code without them: which one runs on which machine, by asking a
// machine of the test's own, and that the emulation multiplies right.
#include "AbiTesting.h"
#include "codegen/ABI/Dispatch.h"
#include "codegen/ABI/Launcher.h"
#include "codegen/ABI/Status.h"
#include "codegen/ABI/Tiles.h"
#include "llvm/IR/IRBuilder.h"
#include "llvm/IR/InlineAsm.h"
#include "llvm/Support/raw_ostream.h"
#include <atomic>
#include <cerrno>
#include <cmath>
#include <functional>
#include <thread>

using namespace skewer;
using namespace skewer::testing;

namespace {

/// Returns a module whose function computes one work item, out[16, 16] of a and b, by this body.
std::string productBy(const char *body) {
  return R"mlir(
func.func @product(%a: memref<?xbf16>, %b: memref<?xbf16>, %out: memref<?xf32>, %shared: memref<?xi8>,
                   %local: memref<?xi8>, %begin: index, %end: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
)mlir" + std::string(body) +
         "  return\n}\n";
}

// out[16, 16] = a[16, 16, 2] · b[16, 16, 2], pairs of bf16. The configuration is in local memory.
constexpr const char *kTileProduct = R"mlir(
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
)mlir";

// The code without tiles: it writes -2, so that a result says which code made it. It needs no local memory.
constexpr const char *kOtherCode = R"mlir(
  %c256 = arith.constant 256 : index
  %value = arith.constant -2.0 : f32
  scf.for %i = %c0 to %c256 step %c1 {
    memref.store %value, %out[%i] : memref<?xf32>
  }
)mlir";

KernelPlan tilePlan(const std::string &name = "tile_product") {
  KernelPlan plan;
  plan.name = name;
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

/// A machine that answers what checks ask of the processor and of the system.
struct Machine {
  bool hasTiles = true, hasInt8 = true;               // cpuid
  bool savesTiles = true;                             // xgetbv
  bool hasLeaves = true;                              // cpuid has leaf 7
  std::function<int64_t()> answer = [] { return 0; }; // of the system to the request
  std::atomic<int> requests = 0;
};
Machine *machine = nullptr;

void answerCpuid(uint32_t leaf, uint32_t subleaf, uint32_t *words) {
  constexpr uint32_t kTiles = 1u << 22 | 1u << 24, kInt8 = 1u << 25;
  std::fill_n(words, 4, ~0u);
  if (leaf == 0)
    words[0] = machine->hasLeaves ? 31 : 6;
  if (leaf == 7 && subleaf == 0 && !machine->hasTiles)
    words[3] &= ~kTiles;
  if (leaf == 7 && subleaf == 0 && !machine->hasInt8)
    words[3] &= ~kInt8;
}

void answerXgetbv(uint32_t, uint32_t *words) {
  words[0] = machine->savesTiles ? 0x602e7 : 0x2e7;
  words[1] = 0;
}

int64_t answerSyscall(int64_t number, int64_t first, int64_t second) {
  EXPECT_EQ(number, 158);   // arch_prctl
  EXPECT_EQ(first, 0x1023); // ARCH_REQ_XCOMP_PERM
  EXPECT_EQ(second, 18);    // the tiles' data
  ++machine->requests;
  return machine->answer();
}

/// Replaces the instructions by which a module asks the machine by calls of the functions above.
void askTheTest(llvm::Module &module) {
  llvm::LLVMContext &context = module.getContext();
  for (llvm::Function &function : module)
    for (llvm::BasicBlock &block : function)
      for (llvm::Instruction &instruction : llvm::make_early_inc_range(block)) {
        auto *call = llvm::dyn_cast<llvm::CallInst>(&instruction);
        auto *text = call ? llvm::dyn_cast<llvm::InlineAsm>(call->getCalledOperand()) : nullptr;
        if (!text)
          continue;
        llvm::IRBuilder<> b(call);
        auto callTo = [&](void *address, llvm::Type *result, llvm::ArrayRef<llvm::Value *> arguments) {
          llvm::SmallVector<llvm::Type *> types;
          for (llvm::Value *argument : arguments)
            types.push_back(argument->getType());
          llvm::Value *number = b.getInt64(reinterpret_cast<uintptr_t>(address));
          return b.CreateCall(llvm::FunctionType::get(result, types, false),
                              b.CreateIntToPtr(number, llvm::PointerType::get(context, 0)), arguments);
        };
        llvm::SmallVector<llvm::Value *> arguments(call->args());
        llvm::Value *answer;
        if (text->getAsmString() == "syscall") {
          answer = callTo(reinterpret_cast<void *>(&answerSyscall), call->getType(), arguments);
        } else {
          bool isCpuid = text->getAsmString() == "cpuid";
          EXPECT_TRUE(isCpuid || text->getAsmString() == "xgetbv") << text->getAsmString().str();
          arguments.push_back(b.CreateAlloca(call->getType()));
          callTo(isCpuid ? reinterpret_cast<void *>(&answerCpuid) : reinterpret_cast<void *>(&answerXgetbv),
                 b.getVoidTy(), arguments);
          answer = b.CreateLoad(call->getType(), arguments.back());
        }
        call->replaceAllUsesWith(answer);
        call->eraseFromParent();
      }
}

/// A kernel with two codes in this process. Each has its own answer about tiles, which its first call finds.
class TwoCodes {
public:
  /// Makes the module. `prepare` may change it before it is compiled.
  explicit TwoCodes(const Target &target, llvm::function_ref<void(llvm::Module &)> prepare = nullptr) {
    auto context = std::make_unique<llvm::LLVMContext>();
    TargetVariant variant;
    variant.target = target;
    variant.symbol = "tile_product";
    variant.plan = tilePlan();
    std::vector<std::unique_ptr<llvm::Module>> modules;
    for (bool hasTiles : {true, false}) {
      Target own = target;
      KernelPlan plan = tilePlan(hasTiles ? "tile_product_amx" : "tile_product_other");
      if (!hasTiles)
        own.tileStepsPerCycle = plan.localBytes = 0;
      auto module = emit(*context, plan, own, productBy(hasTiles ? kTileProduct : kOtherCode).c_str());
      if (!module) {
        ADD_FAILURE() << llvm::toString(module.takeError());
        return;
      }
      TileUse tiles = tileUse(**module);
      variant.codes.push_back({codeName(own, tiles), tiles, plan, "{}"});
      modules.push_back(std::move(*module));
    }
    auto joined = joinCodes(variant, std::move(modules), "{}", *context);
    if (!joined) {
      ADD_FAILURE() << llvm::toString(joined.takeError());
      return;
    }
    for (const llvm::GlobalValue &value : (*joined)->global_values())
      if (!value.hasLocalLinkage() && !value.isDeclaration())
        visible.push_back(value.getName().str());
    llvm::raw_string_ostream(text) << **joined;
    if (prepare)
      prepare(**joined);
    auto made = JitKernel::create(std::move(*joined), std::move(context), tilePlan(), target);
    if (!made)
      ADD_FAILURE() << llvm::toString(made.takeError());
    else
      kernel = std::move(*made);
  }
  /// Makes a module that asks `machine`, and whose tiles are emulated.
  static TwoCodes onTheTestsMachine(const Target &target = tileTarget(false)) {
    return TwoCodes(target, [](llvm::Module &module) {
      askTheTest(module);
      emulateTiles(module);
    });
  }
  std::string code() const { return kernel->code(); }
  uint64_t workspaceBytes() const { return kernel->workspaceBytes({}, 1); }
  /// Calls the kernel with rows of 1, 2, 4, … and columns of ones, except for a last column of zeros.
  Status run() {
    std::vector<uint16_t> a(512), b(512);
    for (size_t k = 0; k < a.size(); ++k) {
      a[k] = uint16_t(0x3f80 + 0x80 * (k / 32));
      b[k] = k % 32 < 30 ? 0x3f80 : 0;
    }
    out.assign(256, -1);
    alignas(64) char workspace[64];
    Exec exec;
    exec.workspace = workspace;
    exec.workspaceBytes = sizeof workspace;
    return Status(kernel->run({a.data(), b.data()}, out.data(), {}, exec));
  }
  bool hasProducts() const {
    for (size_t k = 0; k < out.size(); ++k)
      if (out[k] != (k % 16 < 15 ? 32 * std::ldexp(1.0f, int(k / 16)) : 0))
        return false;
    return true;
  }
  bool isOfOtherCode() const { return out == std::vector<float>(256, -2); }

  std::unique_ptr<JitKernel> kernel;
  std::vector<std::string> visible;
  std::string text;

private:
  std::vector<float> out;
};

TEST(AbiTiles, EmulatedTilesMultiplyOnEveryProcessor) {
  TwoCodes codes(tileTarget(true));
  ASSERT_TRUE(codes.kernel);
  EXPECT_EQ(codes.code(), "plain/amx-emulated");
  EXPECT_EQ(codes.run(), Status::Ok);
  EXPECT_TRUE(codes.hasProducts());
}

TEST(AbiTiles, AProcessorWithTilesAndPermissionRunsThem) {
  Machine with;
  machine = &with;
  TwoCodes codes = TwoCodes::onTheTestsMachine();
  ASSERT_TRUE(codes.kernel);
  EXPECT_EQ(codes.workspaceBytes(), 64u);
  EXPECT_EQ(with.requests, 1); // whichever entry is first
  EXPECT_EQ(codes.code(), "plain/amx");
  EXPECT_EQ(codes.run(), Status::Ok);
  EXPECT_TRUE(codes.hasProducts());
  with.answer = [] { return -ENOSPC; }; // nobody asks again
  EXPECT_EQ(codes.run(), Status::Ok);
  EXPECT_TRUE(codes.hasProducts());
  EXPECT_EQ(with.requests, 1);
}

TEST(AbiTiles, WithoutTilesOrPermissionTheOtherCodeRuns) {
  auto expectOther = [](Machine &given, int requests) {
    machine = &given;
    TwoCodes codes = TwoCodes::onTheTestsMachine();
    ASSERT_TRUE(codes.kernel);
    for (int call = 0; call < 2; ++call) {
      EXPECT_EQ(codes.run(), Status::Ok);
      EXPECT_TRUE(codes.isOfOtherCode());
    }
    EXPECT_EQ(codes.code(), "plain/sse");
    EXPECT_EQ(codes.workspaceBytes(), 0u); // the other code's
    EXPECT_EQ(given.requests, requests);
  };
  {
    SCOPED_TRACE("no AMX");
    Machine without;
    without.hasTiles = false;
    expectOther(without, 0);
  }
  {
    SCOPED_TRACE("a processor that is too old for the question");
    Machine old;
    old.hasLeaves = false;
    expectOther(old, 0);
  }
  {
    SCOPED_TRACE("a system that does not save tiles");
    Machine unsaved;
    unsaved.savesTiles = false;
    expectOther(unsaved, 0);
  }
  // An old kernel, a filter of system calls, an alternate signal stack that is too small, and a policy of the system.
  for (int error : {EINVAL, ENOSYS, EPERM, ENOSPC, EOPNOTSUPP}) {
    SCOPED_TRACE(error);
    Machine refusing;
    refusing.answer = [error] { return -error; };
    expectOther(refusing, 1);
  }
}

TEST(AbiTiles, TilesOfBytesAreAskedForWhereTheTargetHasThem) {
  Machine without;
  without.hasInt8 = false;
  machine = &without;
  TwoCodes pairs = TwoCodes::onTheTestsMachine();
  Target withBytes = tileTarget(false);
  withBytes.features += ",+amx-int8";
  TwoCodes bytes = TwoCodes::onTheTestsMachine(withBytes);
  ASSERT_TRUE(pairs.kernel && bytes.kernel);
  EXPECT_EQ(pairs.code(), "plain/amx");
  EXPECT_EQ(bytes.code(), "plain/sse");
}

TEST(AbiTiles, AProgramRefusesTilesUntilTheFirstCall) {
  Machine with;
  machine = &with;
  refusesTiles() = 1;
  TwoCodes refused = TwoCodes::onTheTestsMachine(), emulated(tileTarget(true));
  ASSERT_TRUE(refused.kernel && emulated.kernel);
  EXPECT_EQ(refused.run(), Status::Ok);
  EXPECT_TRUE(refused.isOfOtherCode());
  EXPECT_EQ(emulated.run(), Status::Ok);
  EXPECT_TRUE(emulated.isOfOtherCode());
  EXPECT_EQ(with.requests, 0);
  refusesTiles() = 0;
  EXPECT_EQ(refused.code(), "plain/sse"); // an answer stays
  TwoCodes allowed = TwoCodes::onTheTestsMachine();
  EXPECT_EQ(allowed.run(), Status::Ok);
  refusesTiles() = 1;
  EXPECT_EQ(allowed.run(), Status::Ok);
  EXPECT_TRUE(allowed.hasProducts());
  refusesTiles() = 0;
}

// Two threads ask at the same time, and the system's answer changes in between: an alternate signal stack has been
// made.
TEST(AbiTiles, ThreadsThatAskFirstAtTheSameTimeRunTheSameCode) {
  Machine changing;
  machine = &changing;
  std::atomic<int> waiting = 0;
  changing.answer = [&]() -> int64_t {
    bool isFirst = waiting++ == 0;
    while (waiting < 2)
      std::this_thread::yield();
    return isFirst ? 0 : -ENOSPC;
  };
  TwoCodes codes = TwoCodes::onTheTestsMachine();
  ASSERT_TRUE(codes.kernel);
  std::string first, second;
  std::thread one([&] { first = codes.code(); }), other([&] { second = codes.code(); });
  one.join();
  other.join();
  EXPECT_EQ(changing.requests, 2);
  EXPECT_EQ(first, second);
  EXPECT_EQ(codes.code(), first);
}

TEST(AbiTiles, OnlyEntriesAndTheRefusalAreVisible) {
  TwoCodes codes(tileTarget(false));
  llvm::sort(codes.visible);
  EXPECT_EQ(codes.visible,
            (std::vector<std::string>{"skewer_refuse_amx", "tile_product", "tile_product_code", "tile_product_info",
                                      "tile_product_items", "tile_product_phases", "tile_product_raw",
                                      "tile_product_workspace_bytes"}));
  EXPECT_NE(codes.text.find("define internal i32 @tile_product_amx("), std::string::npos);
  EXPECT_NE(codes.text.find("define internal i32 @tile_product_other("), std::string::npos);
  EXPECT_EQ(codes.text.find("@tile_product_amx_info"), std::string::npos); // nobody calls it
}

TEST(AbiTiles, OnlyCodeWithTilesAsksForPermission) {
  auto textOf = [](const Target &target, const KernelPlan &plan, const char *text, TileUse tiles) {
    llvm::LLVMContext context;
    auto module = emit(context, plan, target, text);
    if (!module) {
      ADD_FAILURE() << llvm::toString(module.takeError());
      return std::string();
    }
    EXPECT_EQ(tileUse(**module), tiles);
    std::string printed;
    llvm::raw_string_ostream(printed) << **module;
    return printed;
  };
  std::string tiles = TwoCodes(tileTarget(false)).text, emulated = TwoCodes(tileTarget(true)).text;
  EXPECT_NE(tiles.find("@skewer_refuse_amx = weak "), std::string::npos);
  EXPECT_NE(tiles.find("asm sideeffect \"syscall\""), std::string::npos);
  EXPECT_EQ(tiles.find("@skewer_amx_"), std::string::npos);
  EXPECT_NE(emulated.find("call void @skewer_amx_tdpbf16ps(i32 0, i32 1, i32 2)"), std::string::npos);
  EXPECT_NE(emulated.find("call i64 @skewer_amx_request()"), std::string::npos);
  EXPECT_EQ(emulated.find("llvm.x86.t"), std::string::npos);
  EXPECT_EQ(emulated.find("syscall"), std::string::npos);
  const std::string product = productBy(kTileProduct);
  for (const std::string &other : {textOf(tileTarget(false), tilePlan(), product.c_str(), TileUse::Native),
                                   textOf(tileTarget(true), tilePlan(), product.c_str(), TileUse::Emulated),
                                   textOf(tileTarget(false), doublePlan(), kPhases, TileUse::None)}) {
    EXPECT_EQ(other.find("skewer_refuse_amx"), std::string::npos);
    EXPECT_EQ(other.find("syscall"), std::string::npos);
  }
}

// A processor that runs the code of a target with more features runs that of the others too.
TEST(AbiTiles, TargetsWithMoreFeaturesAreTriedFirst) {
  auto orderOf = [](std::initializer_list<const char *> names) {
    std::vector<Target> targets;
    for (const char *name : names)
      targets.push_back(*findTarget(name));
    std::vector<std::string> ordered;
    for (const Target &target : inOrderOfChoice(targets))
      ordered.push_back(target.name);
    return ordered;
  };
  using Names = std::vector<std::string>;
  EXPECT_EQ(orderOf({"x86-64-v3", "x86-64-v4", "emeraldrapids", "x86-64-v2"}),
            (Names{"emeraldrapids", "x86-64-v4", "x86-64-v3", "x86-64-v2"}));
  EXPECT_EQ(orderOf({"x86-64-v4", "zen4"}), (Names{"zen4", "x86-64-v4"}));
  EXPECT_EQ(orderOf({"zen4", "sapphirerapids"}), (Names{"sapphirerapids", "zen4"}));
  // The same features: as given.
  EXPECT_EQ(orderOf({"emeraldrapids", "sapphirerapids"}), (Names{"emeraldrapids", "sapphirerapids"}));
  EXPECT_EQ(orderOf({"sapphirerapids", "emeraldrapids"}), (Names{"sapphirerapids", "emeraldrapids"}));
}

} // namespace
