// Builds the check as LLVM IR: it compares cpuid's words with the features that LLVM's code generator was allowed to
// use. Leaves and bits: Intel 64 and IA-32 Architectures Software Developer's Manual, volume 2A, CPUID; AMD64
// Architecture Programmer's Manual, volume 3, appendix E.
#include "codegen/ABI/CpuCheck.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/IR/IRBuilder.h"
#include "llvm/IR/InlineAsm.h"
#include "llvm/TargetParser/X86TargetParser.h"
#include <map>
#include <set>

using namespace llvm;

namespace skewer {
namespace {

enum Register : unsigned { Eax, Ebx, Ecx, Edx };
struct Place {
  uint32_t leaf, subleaf;
  Register word;
  unsigned bit;
};

/// Features that code generation may use on its own. Features that a program must request are left out.
const std::pair<StringRef, Place> kPlaces[] = {
    {"sse3", {1, 0, Ecx, 0}},
    {"pclmul", {1, 0, Ecx, 1}},
    {"ssse3", {1, 0, Ecx, 9}},
    {"fma", {1, 0, Ecx, 12}},
    {"cx16", {1, 0, Ecx, 13}},
    {"sse4.1", {1, 0, Ecx, 19}},
    {"sse4.2", {1, 0, Ecx, 20}},
    {"movbe", {1, 0, Ecx, 22}},
    {"popcnt", {1, 0, Ecx, 23}},
    {"aes", {1, 0, Ecx, 25}},
    {"avx", {1, 0, Ecx, 28}},
    {"f16c", {1, 0, Ecx, 29}},
    {"bmi", {7, 0, Ebx, 3}},
    {"avx2", {7, 0, Ebx, 5}},
    {"bmi2", {7, 0, Ebx, 8}},
    {"avx512f", {7, 0, Ebx, 16}},
    {"avx512dq", {7, 0, Ebx, 17}},
    {"adx", {7, 0, Ebx, 19}},
    {"avx512ifma", {7, 0, Ebx, 21}},
    {"avx512cd", {7, 0, Ebx, 28}},
    {"sha", {7, 0, Ebx, 29}},
    {"avx512bw", {7, 0, Ebx, 30}},
    {"avx512vl", {7, 0, Ebx, 31}},
    {"avx512vbmi", {7, 0, Ecx, 1}},
    {"avx512vbmi2", {7, 0, Ecx, 6}},
    {"gfni", {7, 0, Ecx, 8}},
    {"vaes", {7, 0, Ecx, 9}},
    {"vpclmulqdq", {7, 0, Ecx, 10}},
    {"avx512vnni", {7, 0, Ecx, 11}},
    {"avx512bitalg", {7, 0, Ecx, 12}},
    {"avx512vpopcntdq", {7, 0, Ecx, 14}},
    {"avx512fp16", {7, 0, Edx, 23}},
    {"avxvnni", {7, 1, Eax, 4}},
    {"avx512bf16", {7, 1, Eax, 5}},
    {"lzcnt", {0x80000001, 0, Ecx, 5}},
};

std::set<std::string> featuresOf(const Target &target) {
  std::set<std::string> wanted;
  SmallVector<StringRef> ofCpu, ofList;
  if (!target.cpu.empty() && X86::parseArchX86(target.cpu) != X86::CK_None)
    X86::getFeaturesForCPU(target.cpu, ofCpu);
  for (StringRef feature : ofCpu)
    wanted.insert(feature.str());
  // "+avx2,-avx512f": removes the features that a hypervisor hides.
  StringRef(target.features).split(ofList, ',', -1, false);
  for (StringRef feature : ofList) {
    if (feature.consume_front("-"))
      wanted.erase(feature.str());
    else if (feature.consume_front("+"))
      wanted.insert(feature.str());
  }
  return wanted;
}

class Checker {
public:
  Checker(llvm::Module &module, StringRef name, const Target &target, TileUse tiles)
      : module(module), context(module.getContext()), b(context), i32(b.getInt32Ty()), tiles(tiles) {
    std::set<std::string> wanted = featuresOf(target);
    for (const auto &[feature, place] : kPlaces)
      if (wanted.count(feature.str()))
        masks[{place.leaf, place.subleaf}][place.word] |= bit(place.bit);
    wide = wanted.count("avx512f");
    vectors = wide || wanted.count("avx");
    if (tiles == TileUse::Native)
      masks[{7, 0}][Edx] |= bit(kAmxTile) | bit(kAmxBf16) | (wanted.count("amx-int8") ? bit(kAmxInt8) : 0);
    if (masks.empty() && tiles == TileUse::None)
      return;
    check =
        Function::Create(FunctionType::get(b.getInt1Ty(), false), GlobalValue::InternalLinkage, name + ".cpu", module);
    makeBaseline(*check);
    auto *known = new GlobalVariable(module, b.getInt8Ty(), false, GlobalValue::InternalLinkage, b.getInt8(0),
                                     name + ".cpu.known");
    build(known);
  }
  Function *check = nullptr;

private:
  static uint32_t bit(unsigned number) { return uint32_t(1) << number; }
  /// Returns eax, ebx, ecx, edx.
  SmallVector<Value *> cpuid(uint32_t leaf, uint32_t subleaf) {
    auto *type = FunctionType::get(StructType::get(context, {i32, i32, i32, i32}), {i32, i32}, false);
    auto *text = InlineAsm::get(type, "cpuid", "={ax},={bx},={cx},={dx},{ax},{cx},~{dirflag},~{fpsr},~{flags}", true);
    Value *words = b.CreateCall(type, text, {b.getInt32(leaf), b.getInt32(subleaf)});
    return {b.CreateExtractValue(words, 0), b.CreateExtractValue(words, 1), b.CreateExtractValue(words, 2),
            b.CreateExtractValue(words, 3)};
  }
  Value *hasBits(Value *word, uint32_t bits) {
    return b.CreateICmpEQ(b.CreateAnd(word, b.getInt32(bits)), b.getInt32(bits));
  }
  BasicBlock *block() { return BasicBlock::Create(context, "", check); }
  /// Emits a branch to `no` unless `good` holds.
  void require(Value *good) {
    BasicBlock *next = block();
    b.CreateCondBr(good, next, no);
    b.SetInsertPoint(next);
  }

  /// Emits a branch to `no` unless the caller lets kernels use tiles and the system permits it. Linux reserves memory
  /// for the tiles of a thread only after a process has asked for it (Documentation/arch/x86/xstate.rst); without that,
  /// the first tile instruction is an illegal one. The permission is the whole process's, whatever thread asks.
  void requirePermission() {
    GlobalVariable *refused = module.getNamedGlobal(kRefuseTiles);
    if (!refused)
      refused = new GlobalVariable(module, i32, false, GlobalValue::WeakAnyLinkage, b.getInt32(0), kRefuseTiles);
    require(b.CreateIsNull(b.CreateLoad(i32, refused)));
    require(b.CreateIsNull(requestPermission()));
  }

  /// Emits the request and returns its status, 0 if tiles may be used. The emulation has a function for it.
  Value *requestPermission() {
    if (tiles == TileUse::Emulated)
      return b.CreateCall(module.getOrInsertFunction(kEmulatedRequest, FunctionType::get(b.getInt64Ty(), false)));
    constexpr int64_t kArchPrctl = 158, kRequestPermission = 0x1023, kTileData = 18;
    Type *i64 = b.getInt64Ty();
    auto *text = InlineAsm::get(FunctionType::get(i64, {i64, i64, i64}, false), "syscall",
                                "={ax},{ax},{di},{si},~{cx},~{r11},~{memory},~{dirflag},~{fpsr},~{flags}", true);
    return b.CreateCall(text, {b.getInt64(kArchPrctl), b.getInt64(kRequestPermission), b.getInt64(kTileData)});
  }

  /// Emits the end of a first call, which returns `yes`. The system's answer may change between two first calls that
  /// run at the same time, so both return the one that was written first.
  void conclude(GlobalVariable *known, bool yes) {
    Value *answer = b.getInt8(yes ? kYes : kNo);
    if (tiles == TileUse::None) {
      b.CreateAlignedStore(answer, known, Align(1))->setAtomic(AtomicOrdering::Monotonic);
      b.CreateRet(b.getInt1(yes));
      return;
    }
    Value *written = b.CreateAtomicCmpXchg(known, b.getInt8(0), answer, Align(1), AtomicOrdering::Monotonic,
                                           AtomicOrdering::Monotonic);
    Value *before = b.CreateExtractValue(written, 0);
    b.CreateRet(b.CreateICmpEQ(b.CreateSelect(b.CreateIsNull(before), answer, before), b.getInt8(kYes)));
  }

  void build(GlobalVariable *known) {
    BasicBlock *start = block(), *ask = block(), *answer = block();
    no = block();
    b.SetInsertPoint(start);
    auto load = b.CreateAlignedLoad(b.getInt8Ty(), known, Align(1));
    load->setAtomic(AtomicOrdering::Monotonic);
    b.CreateCondBr(b.CreateIsNull(load), ask, answer);
    b.SetInsertPoint(answer);
    b.CreateRet(b.CreateICmpEQ(load, b.getInt8(kYes)));
    b.SetInsertPoint(no);
    conclude(known, false);

    b.SetInsertPoint(ask);
    uint32_t basic = 1, extended = 0;
    for (const auto &[leaf, words] : masks)
      (leaf.first >= 0x80000000 ? extended : basic) = std::max(leaf.first, leaf.first >= 0x80000000 ? extended : basic);
    require(b.CreateICmpUGE(cpuid(0, 0)[Eax], b.getInt32(basic)));
    if (extended)
      require(b.CreateICmpUGE(cpuid(0x80000000, 0)[Eax], b.getInt32(extended)));
    for (const auto &[leaf, words] : masks) {
      if (leaf.first == 7 && leaf.second == 1)
        require(b.CreateICmpUGE(cpuid(7, 0)[Eax], b.getInt32(1)));
      SmallVector<Value *> found = cpuid(leaf.first, leaf.second);
      for (const auto &[word, bits] : words)
        require(hasBits(found[word], bits));
    }
    bool isNative = tiles == TileUse::Native;
    if (vectors || isNative) {
      // The system must save the registers: OSXSAVE, then XCR0's bits for SSE and AVX, the three bits of AVX-512, and
      // the two of the tiles.
      uint32_t saved = (wide ? 0xe6 : 0x06) | (isNative ? 0x60000 : 0);
      require(hasBits(cpuid(1, 0)[Ecx], 1u << 27));
      auto *type = FunctionType::get(StructType::get(context, {i32, i32}), {i32}, false);
      auto *text = InlineAsm::get(type, "xgetbv", "={ax},={dx},{cx},~{dirflag},~{fpsr},~{flags}", true);
      require(hasBits(b.CreateExtractValue(b.CreateCall(type, text, {b.getInt32(0)}), 0), saved));
    }
    if (tiles != TileUse::None)
      requirePermission();
    conclude(known, true);
  }

  static constexpr unsigned kAmxBf16 = 22, kAmxTile = 24, kAmxInt8 = 25; // bits of edx
  static constexpr StringLiteral kEmulatedRequest = "skewer_amx_request";
  static constexpr uint8_t kYes = 1, kNo = 2; // answers; 0: none yet

  llvm::Module &module;
  LLVMContext &context;
  IRBuilder<> b;
  Type *i32;
  BasicBlock *no = nullptr;
  bool vectors = false, wide = false;
  const TileUse tiles;
  std::map<std::pair<uint32_t, uint32_t>, std::map<Register, uint32_t>> masks;
};

constexpr StringLiteral kBaseline = "skewer-baseline";

} // namespace

Function *addCpuCheck(llvm::Module &module, StringRef name, const Target &target, TileUse tiles) {
  return Checker(module, name, target, tiles).check;
}

size_t checkedFeatures(const Target &target) {
  std::set<std::string> wanted = featuresOf(target);
  return count_if(kPlaces, [&](const auto &one) { return wanted.count(one.first.str()) != 0; });
}

void makeBaseline(Function &function) { function.addFnAttr(kBaseline); }
bool isBaseline(const Function &function) { return function.hasFnAttribute(kBaseline); }

} // namespace skewer
