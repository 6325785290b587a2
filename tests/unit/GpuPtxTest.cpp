// Tests what is changed in the PTX of LLVM's code generator: instructions that ptxas joins to wrong ones.
#include "codegen/GPU/Ptx.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Parser/Parser.h"
#include "tests/unit/GpuTesting.h"
#include "tests/unit/LanguageTesting.h"
#include "llvm/Support/Regex.h"

using namespace skewer;
using namespace skewer::testing;

namespace {

/// Returns a kernel with an operand that these lines define, from which it subtracts, or to which it adds, its
/// argument.
std::string kernelText(const std::string &name, const std::string &lines, const std::string &operation,
                       const std::string &type = "i64") {
  return "llvm.func @" + name + "(%out: !llvm.ptr<1>, %n: i32, %x: " + type +
         ") attributes {gpu.kernel, nvvm.kernel} {\n  %divisor = llvm.mlir.constant(641 : i32) : i32\n" + lines +
         "  %result = " + operation + " %operand, %x : " + type + "\n  llvm.store %result, %out : " + type +
         ", !llvm.ptr<1>\n  llvm.return\n}\n";
}

/// Returns kernels that divide a number by 641, which LLVM does by an upper half of a product alone. `less` subtracts
/// its argument from the quotient in 64 bits, `more` adds it, `copied` subtracts it from the quotient or another
/// number; `narrow` uses 32 bits alone.
std::string kernels() {
  const std::string quotient = "  %number = llvm.udiv %n, %divisor : i32\n";
  const std::string either = R"(
    %zero = llvm.mlir.constant(0 : i64) : i64
    %block = nvvm.read.ptx.sreg.ctaid.x : i32
    %condition = llvm.icmp "eq" %x, %zero : i64
    llvm.cond_br %condition, ^divided, ^done(%block : i32)
  ^divided:
    nvvm.barrier0
    %quotient = llvm.udiv %n, %divisor : i32
    llvm.br ^done(%quotient : i32)
  ^done(%number: i32):
)";
  const std::string extended = "  %operand = llvm.zext %number : i32 to i64\n";
  return "gpu.module @kernels {\n" + kernelText("less", quotient + extended, "llvm.sub") +
         kernelText("more", quotient + extended, "llvm.add") + kernelText("copied", either + extended, "llvm.sub") +
         kernelText("narrow", "  %operand = llvm.udiv %n, %divisor : i32\n", "llvm.sub", "i32") + "}\n";
}

std::string ptxOfKernels(const gpu::GpuTarget &target) {
  mlir::DialectRegistry registry;
  gpu::registerGpuTarget(registry);
  mlir::MLIRContext context(registry);
  context.loadAllAvailableDialects();
  auto module = mlir::parseSourceString<mlir::ModuleOp>(kernels(), &context);
  if (!module)
    return "";
  auto ptx = gpu::ptxOf(*module, target);
  return ptx ? *ptx : "error: " + llvm::toString(ptx.takeError());
}

/// Returns the text of a kernel.
std::string kernelOf(llvm::StringRef ptx, const std::string &name) {
  return ptx.drop_front(std::min(ptx.find(".entry " + name + "("), ptx.size())).split("\n}").first.str();
}

TEST(GpuPtx, UpperHalvesThatAreExtendedAreOfWideProducts) {
  std::string ptx = ptxOfKernels(*gpu::findGpuTarget("sm_90a"));
  for (const char *name : {"less", "more", "copied"}) {
    std::string kernel = kernelOf(ptx, name);
    EXPECT_EQ(kernel.find("mul.hi.u32"), std::string::npos) << kernel;
    EXPECT_SAYS(kernel, "mul.wide.u32 %wide, ");
  }
  std::string kernel = kernelOf(ptx, "narrow");
  EXPECT_SAYS(kernel, "mul.hi.u32"); // shorter, where ptxas gets it right
  EXPECT_EQ(kernel.find("%wide"), std::string::npos) << kernel;
}

TEST(GpuPtx, NoBorrowIsTakenFromTheSumWithANegative) {
  std::optional<SassTools> tools = findSassTools();
  if (!tools)
    GTEST_SKIP() << "no ptxas or no cuobjdump";
  for (const char *name : {"sm_80", "sm_90a"}) {
    gpu::GpuTarget target = *gpu::findGpuTarget(name);
    std::string ptx = ptxOfKernels(target);
    auto sass = sassOf(ptx, target, *tools);
    ASSERT_TRUE(bool(sass)) << llvm::toString(sass.takeError());
    EXPECT_SAYS(*sass, "IMAD.WIDE.U32");
    EXPECT_FALSE(llvm::Regex("IMAD\\.HI\\.U32 R[0-9]+, P").match(*sass)) << *sass; // with a carry
  }
}

} // namespace
