// Makes the texts of small kernels, and gives them to the interpreter and to ptxas.
#include "tests/unit/HopperProgram.h"
#include "codegen/GPU/Assemble.h"
#include "codegen/GPU/Ptx.h"
#include "mlir/Conversion/NVVMToLLVM/NVVMToLLVM.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Parser/Parser.h"
#include "mlir/Pass/PassManager.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/Base64.h"
#include "llvm/Support/JSON.h"
#include "llvm/Support/raw_ostream.h"
#include <cstdlib>

using namespace skewer;
using namespace skewer::testing;

std::string skewer::testing::mapParameter(const std::string &name) {
  return "%" + name +
         ": !llvm.ptr {llvm.byval = !llvm.array<128 x i8>, llvm.align = 64 : i64, nvvm.grid_constant, llvm.noundef}";
}

std::string skewer::testing::number(const std::string &name, int64_t value, unsigned bits) {
  std::string type = "i" + std::to_string(bits);
  return "  %" + name + " = llvm.mlir.constant(" + std::to_string(value) + " : " + type + ") : " + type + "\n";
}

std::string skewer::testing::shared(const std::string &name, int64_t offset, const std::string &moving) {
  std::string base = "%s", text;
  if (!moving.empty()) {
    base = "%" + name + "_m";
    text = "  " + base + " = llvm.getelementptr %s[%" + moving + "] : (!llvm.ptr<3>, i32) -> !llvm.ptr<3>, i8\n";
  }
  return text + "  %" + name + " = llvm.getelementptr " + base + "[" + std::to_string(offset) +
         "] : (!llvm.ptr<3>) -> !llvm.ptr<3>, i8\n";
}

uint64_t skewer::testing::descriptor(uint64_t address, uint64_t leading, uint64_t stride, unsigned swizzle) {
  uint64_t layout = swizzle == 128 ? 1 : swizzle == 64 ? 2 : swizzle == 32 ? 3 : 0;
  return address >> 4 | leading >> 4 << 16 | stride >> 4 << 32 | layout << 62;
}

std::string skewer::testing::floats(unsigned count) {
  std::string text;
  for (unsigned k = 0; k < count; ++k)
    text += k ? ", f32" : "f32";
  return text;
}

std::string WgmmaText::list(const std::string &sums, const std::string &suffix) const {
  std::string text;
  for (unsigned k = 0; k < columns / 2; ++k)
    text += (k ? ", %" : "%") + sums + std::to_string(k) + suffix;
  return text;
}

std::string WgmmaText::begin(const std::string &sums) const {
  std::string text;
  for (unsigned k = 0; k < columns / 2; ++k)
    text += "  %" + sums + std::to_string(k) + " = llvm.mlir.poison : f32\n";
  return text;
}

/// Returns the text that extracts the elements of a struct of f32.
static std::string takeApart(const std::string &name, unsigned count) {
  std::string text;
  for (unsigned k = 0; k < count; ++k) {
    std::string n = std::to_string(k);
    text +=
        "  %" + name + n + " = llvm.extractvalue %" + name + "[" + n + "] : !llvm.struct<(" + floats(count) + ")>\n";
  }
  return text;
}

std::string WgmmaText::issue(const std::string &sums, const std::string &result, const std::vector<std::string> &a,
                             const std::string &b, const std::string &scale) const {
  unsigned count = columns / 2, next = 2 * count;
  auto operand = [](unsigned k) { return "$" + std::to_string(k); };
  std::string text = "wgmma.mma_async.sync.aligned.m64n" + std::to_string(columns) + "k" + std::to_string(depth()) +
                     ".f32." + type + "." + type + " {",
              constraints, tied, operands = list(sums), types = floats(count);
  for (unsigned k = 0; k < count; ++k) {
    text += (k ? ", " : "") + operand(k);
    constraints += "=f,";
    tied += std::to_string(k) + ",";
  }
  text += a.size() == 4 ? "}, {" : "}, ";
  for (size_t k = 0; k < a.size(); ++k) {
    text += (k ? ", " : "") + operand(next++);
    tied += a.size() == 4 ? "r," : "l,";
    operands += ", %" + a[k];
    types += a.size() == 4 ? ", i32" : ", i64";
  }
  text += a.size() == 4 ? "}, " : ", ";
  text += operand(next++) + ", p, 1, 1";
  if (type == "bf16" || type == "f16")
    text += (a.size() == 4 ? "" : transposedA ? ", 1" : ", 0") + std::string(transposedB ? ", 1" : ", 0");
  std::string all = "{ .reg .pred p; setp.ne.b32 p, " + operand(next) + ", 0; " + text + "; }";
  return "  %" + result + " = llvm.inline_asm has_side_effects asm_dialect = att \"" + all + "\", \"" + constraints +
         tied + "l,r,~{memory}\" " + operands + ", %" + b + ", %" + scale + " : (" + types +
         ", i64, i32) -> !llvm.struct<(" + floats(count) + ")>\n" + takeApart(result, count);
}

std::string WgmmaText::wait(unsigned pending, const std::string &sums, const std::string &result) const {
  unsigned count = columns / 2;
  std::string constraints;
  for (unsigned k = 0; k < count; ++k)
    constraints += "=f,";
  for (unsigned k = 0; k < count; ++k)
    constraints += std::to_string(k) + ",";
  return "  %" + result + " = llvm.inline_asm has_side_effects asm_dialect = att \"wgmma.wait_group.sync.aligned " +
         std::to_string(pending) + ";\", \"" + constraints + "~{memory}\" " + list(sums) + " : (" + floats(count) +
         ") -> !llvm.struct<(" + floats(count) + ")>\n" + takeApart(result, count);
}

Outcome::Outcome(const gpu::Report &report) : said(report.text()) {
  for (const gpu::Fault &fault : report.faults)
    faults.push_back(fault.kind);
}

bool skewer::testing::has(const Outcome &outcome, FaultKind kind) { return llvm::is_contained(outcome.faults, kind); }

HopperKernel::HopperKernel(const std::string &body, const std::string &parameters, unsigned threads, size_t sharedBytes)
    : threads(threads), sharedBytes(sharedBytes) {
  mlir::DialectRegistry registry;
  gpu::registerGpuTarget(registry);
  mlir::registerConvertNVVMToLLVMInterface(registry);
  context.appendDialectRegistry(registry);
  context.loadAllAvailableDialects();
  std::string constants;
  for (int k : {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 32, 128})
    constants += number("c" + std::to_string(k), k);
  std::string text =
      "module attributes {gpu.container_module} {\ngpu.module @kernels {\n"
      "llvm.mlir.global external @smem() {addr_space = 3 : i32, alignment = 1024 : i64} : !llvm.array<0 x i8>\n"
      "llvm.func @kernel(" +
      parameters + ") attributes {gpu.kernel, nvvm.kernel, nvvm.maxntid = array<i32: " + std::to_string(threads) +
      ">, nvvm.minctasm = 1 : i32} {\n  %s = llvm.mlir.addressof @smem : !llvm.ptr<3>\n"
      "  %tid = nvvm.read.ptx.sreg.tid.x : i32\n" +
      constants + number("c4_64", 4, 64) +
      "  %sAt = llvm.ptrtoint %s : !llvm.ptr<3> to i64\n  %s16 = llvm.lshr %sAt, %c4_64 : i64\n" + body + "}\n}\n}\n";
  module = mlir::parseSourceString<mlir::ModuleOp>(text, &context);
}

Outcome HopperKernel::run(llvm::ArrayRef<LaunchArgument> arguments, unsigned seed) {
  mlir::LLVM::LLVMFuncOp kernel;
  module->walk([&](mlir::LLVM::LLVMFuncOp op) { kernel = op; });
  gpu::LaunchShape shape{1, threads, sharedBytes};
  shape.seed = seed;
  Outcome outcome(gpu::launch(kernel, shape, arguments));
  const char *folder = std::getenv("SKEWER_LAUNCHES");
  if (folder && outcome.faults.empty() && !code.empty())
    write(folder, arguments);
  return outcome;
}

static std::string base64(const void *data, size_t bytes) {
  return llvm::encodeBase64(llvm::ArrayRef<char>(static_cast<const char *>(data), bytes));
}

void HopperKernel::write(llvm::StringRef folder, llvm::ArrayRef<LaunchArgument> arguments) {
  llvm::json::Array written;
  for (const LaunchArgument &argument : arguments)
    if (argument.map)
      written.push_back(llvm::json::Object{{"map", int64_t(argument.buffer)},
                                           {"type", int64_t(argument.map->type)},
                                           {"rank", int64_t(argument.map->rank)},
                                           {"address", int64_t(argument.map->address)},
                                           {"dims", llvm::json::Array(argument.map->dims)},
                                           {"strides", llvm::json::Array(argument.map->strides)},
                                           {"box", llvm::json::Array(argument.map->box)},
                                           {"swizzle", int64_t(argument.map->swizzleBytes)}});
    else if (argument.isOutput)
      written.push_back(llvm::json::Object{{"output", base64(argument.sink, argument.bytes)}});
    else if (argument.isBuffer)
      written.push_back(llvm::json::Object{{"input", base64(argument.source, argument.bytes)}});
    else
      written.push_back(llvm::json::Object{{"number", argument.value}});
  const ::testing::TestInfo *test = ::testing::UnitTest::GetInstance()->current_test_info();
  static unsigned count = 0; // a test may have several kernels
  std::string name = std::string(test->test_suite_name()) + "." + test->name();
  std::replace(name.begin(), name.end(), '/', '-');
  std::error_code error;
  llvm::raw_fd_ostream out((folder + "/" + name + "-" + llvm::Twine(count++) + ".json").str(), error);
  EXPECT_FALSE(error) << error.message();
  out << llvm::json::Value(llvm::json::Object{{"test", name},
                                              {"threads", int64_t(threads)},
                                              {"shared_bytes", int64_t(sharedBytes)},
                                              {"code", base64(code.data(), code.size())},
                                              {"arguments", std::move(written)}});
  code.clear();
}

std::string HopperKernel::assembles() {
  mlir::OwningOpRef<mlir::ModuleOp> copy = module->clone();
  mlir::PassManager manager(&context);
  manager.addPass(mlir::createConvertNVVMToLLVMPass());
  if (failed(manager.run(*copy)))
    return "no LLVM of the kernel";
  gpu::GpuTarget target = *gpu::findGpuTarget("sm_90a");
  auto ptx = gpu::ptxOf(*copy, target);
  if (!ptx)
    return llvm::toString(ptx.takeError());
  auto ptxas = gpu::findPtxas("");
  if (!ptxas) {
    llvm::consumeError(ptxas.takeError());
    code = *ptx;
    return "";
  }
  auto assembled = gpu::assemble(*ptx, target, *ptxas);
  if (!assembled)
    return llvm::toString(assembled.takeError()) + "\n" + *ptx;
  code = assembled->cubin;
  return assembled->resources.warnings;
}
