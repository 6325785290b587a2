// Verifiers of #attn.program and its launches. Every launcher of a program may rely on these checks.
#include "dialect/IR/KernelPlan.h"
#include "dialect/IR/Verification.h"
#include "mlir/IR/SymbolTable.h"

using namespace mlir;
using namespace skewer::attn;

using EmitError = function_ref<InFlightDiagnostic()>;

// CUDA: the threads of a warp, and the maximum of a block (CUDA C++ Programming Guide, table of compute capabilities).
static constexpr int64_t kWarp = 32, kMostThreads = 1024;
// Vectors in shared memory begin at multiples of 16 bytes.
static constexpr int64_t kSharedUnit = 16;

LogicalResult LaunchAttr::verify(EmitError emitError, StringRef kernel, StringRef, int64_t threads, int64_t sharedBytes,
                                 SizeAttr, int64_t rows, int64_t keys, StringRef) {
  if (kernel.empty())
    return emitError() << "a launch names no kernel (program_c1)";
  if (threads < kWarp || threads > kMostThreads || threads % kWarp != 0)
    return emitError() << "kernel '" << kernel << "' has blocks of " << threads << " threads, expected a multiple of "
                       << kWarp << " up to " << kMostThreads << " (program_c2)";
  if (sharedBytes < 0 || sharedBytes > INT32_MAX || sharedBytes % kSharedUnit != 0)
    return emitError() << "kernel '" << kernel << "' has " << sharedBytes
                       << " bytes of shared memory, expected a multiple of " << kSharedUnit << " (program_c3)";
  if (rows < 0 || keys < 0 || (rows == 0) != (keys == 0))
    return emitError() << "kernel '" << kernel << "' has a tile of " << rows << " rows and " << keys
                       << " keys, expected positive numbers, or 0 and 0 (program_c4)";
  return success();
}

LogicalResult ProgramAttr::verify(EmitError emitError, StringRef name, SizeAttr workspace,
                                  ArrayRef<LaunchAttr> launches) {
  if (name.empty() || launches.empty())
    return emitError() << (name.empty() ? "a program has no name" : "a program launches nothing") << " (program_c5)";
  return success();
}

/// Checks that the plan declares the run-time sizes on which a program's numbers depend.
static LogicalResult verifyDeclared(Operation *op, SizeAttr size, PlanAttr plan, const Twine &what) {
  auto isDeclared = [&](const std::string &name) {
    return llvm::any_of(plan.getSizes(), [&](StringAttr size) { return size.getValue() == name; });
  };
  for (StringAttr factor : size.getFactors())
    if (std::vector<std::string> parts = skewer::sizesIn(factor.getValue());
        parts.empty() || !llvm::all_of(parts, isDeclared))
      return op->emitOpError() << what << " depends on '" << factor.getValue()
                               << "', which is none of the kernel's sizes (program_c8)";
  return success();
}

LogicalResult skewer::attn::verifyProgram(Operation *op, Attribute attribute) {
  auto program = dyn_cast<ProgramAttr>(attribute);
  // Compares the name, because the dialect does not depend on the GPU dialect.
  if (!program || op->getName().getStringRef() != "gpu.module")
    return op->emitOpError() << "has " << kProgram << ", expected a gpu.module with an #attn.program (program_c6)";
  Operation *parent = op->getParentOp();
  auto plan = parent ? parent->getAttrOfType<PlanAttr>(kPlan) : PlanAttr();
  if (plan && failed(verifyDeclared(op, program.getWorkspace(), plan, "the workspace")))
    return failure();
  for (LaunchAttr launch : program.getLaunches()) {
    if (!SymbolTable::lookupSymbolIn(op, launch.getKernel()))
      return op->emitOpError() << "launches '" << launch.getKernel()
                               << "', which is none of its functions (program_c7)";
    if (plan && failed(verifyDeclared(op, launch.getBlocks(), plan, "the grid of '" + launch.getKernel() + "'")))
      return failure();
  }
  return success();
}
