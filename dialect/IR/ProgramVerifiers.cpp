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

// CUDA driver API, cuTensorMapEncodeTiled: the unit and the end of distances, the rows of a box. A launcher has room
// for so many maps of a launch (codegen/Runtime/skewer_cuda.c).
static constexpr int64_t kMapUnit = 16, kEndOfDistances = int64_t(1) << 40, kMostBoxRows = 256;
static constexpr size_t kMostMaps = 8;

LogicalResult TensorMapAttr::verify(EmitError emitError, int64_t argument, SizeAttr, Type type, int64_t columns,
                                    SizeAttr, SizeAttr, int64_t rowBytes, int64_t placeBytes, int64_t boxColumns,
                                    int64_t boxRows) {
  if (argument < 0 || columns < 1)
    return emitError() << "a tensor map of argument " << argument << " with " << columns
                       << " columns, expected a number from 0 and some columns (program_c9)";
  if (!type.isF16() && !type.isBF16())
    return emitError() << "a tensor map of " << type << ", expected f16 or bf16 (program_c9)";
  for (int64_t distance : {rowBytes, placeBytes})
    if (distance < kMapUnit || distance % kMapUnit || distance >= kEndOfDistances)
      return emitError() << "a tensor map with a distance of " << distance << " bytes, expected a multiple of "
                         << kMapUnit << " below 2^40 (program_c9)";
  int64_t bytes = boxColumns < 0 || boxColumns > kMostBoxRows ? 0 : 2 * boxColumns;
  if ((bytes != 32 && bytes != 64 && bytes != 128) || boxRows < 1 || boxRows > kMostBoxRows)
    return emitError() << "a box of " << boxRows << " rows of " << boxColumns
                       << " elements, expected 1 to 256 rows of 16, 32 or 64 (program_c9)";
  return success();
}

LogicalResult BoxesAttr::verify(EmitError emitError, StringRef kernel, ArrayRef<TensorMapAttr> maps) {
  if (kernel.empty() || maps.empty() || maps.size() > kMostMaps)
    return emitError() << "kernel '" << kernel << "' with " << maps.size() << " tensor maps, expected a name and 1 to "
                       << kMostMaps << " (program_c10)";
  return success();
}

LogicalResult LaunchAttr::verify(EmitError emitError, StringRef kernel, StringRef, int64_t threads, int64_t sharedBytes,
                                 SizeAttr, int64_t rows, int64_t keys, StringRef, BoxesAttr) {
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

/// Checks the symbols and the sizes of a kernel that copies boxes.
static LogicalResult verifyBoxes(Operation *op, BoxesAttr boxes, PlanAttr plan) {
  if (!SymbolTable::lookupSymbolIn(op, boxes.getKernel()))
    return op->emitOpError() << "launches '" << boxes.getKernel() << "', which is none of its functions (program_c7)";
  for (TensorMapAttr map : boxes.getMaps())
    for (SizeAttr size : {map.getOffset(), map.getRows(), map.getPlaces()})
      if (plan && failed(verifyDeclared(op, size, plan, "a tensor map of '" + boxes.getKernel() + "'")))
        return failure();
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
    if (BoxesAttr boxes = launch.getBoxes(); boxes && failed(verifyBoxes(op, boxes, plan)))
      return failure();
  }
  return success();
}
