// Verifiers of #attn.plan and its parts. Every reader of a plan may rely on these checks.
#include "dialect/IR/KernelPlan.h"
#include "dialect/IR/RangeEnds.h"
#include "dialect/IR/Verification.h"
#include "llvm/ADT/StringSet.h"
#include <cmath>

using namespace mlir;
using namespace skewer::attn;

namespace {
using EmitError = function_ref<InFlightDiagnostic()>;

// Workspaces begin at whole cache lines, and their sizes are whole cache lines.
constexpr int64_t kWorkspaceUnit = 64;
constexpr int64_t kOriginWords = 3; // q0, k0, head0

/// Checks that every run-time size on which a plan's numbers depend is declared.
LogicalResult verifyDeclared(EmitError emitError, ArrayRef<StringAttr> names, const llvm::StringSet<> &sizes,
                             StringRef where) {
  for (StringAttr name : names) {
    std::vector<std::string> parts = skewer::sizesIn(name.getValue());
    if (parts.empty() || !llvm::all_of(parts, [&](const std::string &part) { return sizes.contains(part); }))
      return emitError() << where << " depends on '" << name.getValue() << "', which is none of the kernel's sizes "
                         << "(plan_c8)";
  }
  return success();
}

LogicalResult verifyArguments(EmitError emitError, ArrayRef<ArgumentAttr> arguments, const llvm::StringSet<> &sizes,
                              llvm::StringSet<> &names) {
  for (ArgumentAttr argument : arguments) {
    if (!names.insert(argument.getName()).second)
      return emitError() << "two arguments are called '" << argument.getName() << "' (plan_c7)";
    for (Attribute extent : argument.getShape())
      if (auto name = dyn_cast<StringAttr>(extent))
        if (failed(verifyDeclared(emitError, name, sizes, ("argument '" + argument.getName() + "'").str())))
          return failure();
  }
  return success();
}

LogicalResult verifyWorkspace(EmitError emitError, StringRef name, int64_t bytes) {
  if (bytes >= 0 && bytes % kWorkspaceUnit == 0)
    return success();
  return emitError() << name << " is " << bytes << ", expected a multiple of " << kWorkspaceUnit << " (plan_c10)";
}
} // namespace

LogicalResult SizeAttr::verify(EmitError emitError, int64_t fixed, int64_t scaled, ArrayRef<StringAttr> factors) {
  if (fixed < 0 || scaled < 0)
    return emitError() << "a size of " << fixed << " + " << scaled << " × …, expected no negative numbers (plan_c1)";
  if (llvm::any_of(factors, [](StringAttr name) { return name.getValue().empty(); }))
    return emitError() << "a size depends on a run-time size without a name (plan_c1)";
  return success();
}

LogicalResult ArgumentAttr::verify(EmitError emitError, StringRef name, Type type, ArrayRef<Attribute> shape,
                                   DenseI64ArrayAttr range, FloatAttr deviation, FloatAttr mean,
                                   DenseF64ArrayAttr between, IntegerAttr origin, UnitAttr length,
                                   UnitAttr isConst) {
  if (name.empty())
    return emitError() << "an argument has no name (plan_c2)";
  if (!elementNamedBy(type))
    return emitError() << "argument '" << name << "' has elements of type " << type
                       << ", expected f32, f16, bf16, i32, i8 or f8E4M3FN (plan_c2)";
  for (Attribute extent : shape) {
    auto fixed = dyn_cast<IntegerAttr>(extent);
    auto named = dyn_cast<StringAttr>(extent);
    if (!(fixed && fixed.getType().isInteger(64) && fixed.getInt() >= 0) && !(named && !named.getValue().empty()))
      return emitError() << "argument '" << name << "' has the extent " << extent
                         << ", expected a number of i64 from 0 on or the name of a run-time size (plan_c3)";
  }
  if (range && (range.size() != 2 || range[0] > range[1] || !type.isInteger(32)))
    return emitError() << "argument '" << name << "' has the range " << range
                       << ", expected array<i64: low, high>, low <= high, of an i32 (plan_c4)";
  if (deviation &&
      (!deviation.getType().isF64() || !deviation.getValue().isFiniteNonZero() || deviation.getValue().isNegative()))
    return emitError() << "argument '" << name << "' has the standard deviation " << deviation
                       << ", expected a positive f64 (plan_c4)";
  if (mean && (!mean.getType().isF64() || !mean.getValue().isFinite()))
    return emitError() << "argument '" << name << "' has the mean " << mean << ", expected a finite f64 (plan_c4)";
  if (between && (deviation || mean || between.size() != 2 || !std::isfinite(between[0]) ||
                  !std::isfinite(between[1]) || between[0] > between[1]))
    return emitError() << "argument '" << name << "' has values between " << between
                       << ", expected array<f64: low, high>, low <= high, and no mean or deviation beside it (plan_c4)";
  if (origin && (!origin.getType().isInteger(64) || origin.getInt() < 0 || origin.getInt() >= kOriginWords ||
                 !type.isInteger(32)))
    return emitError() << "argument '" << name << "' is in word " << origin
                       << ", expected 0, 1 or 2 (q0, k0, head0) of an i32 (plan_c4)";
  if (length && (origin || !type.isInteger(32) || !range || range.size() != 2 || range[0] != 1))
    return emitError() << "argument '" << name << "' is a length, expected an i32 with a range from 1 (plan_c4)";
  if (isConst && (origin || length))
    return emitError() << "argument '" << name
                       << "' is const, expected a tensor, no word of the argument struct (plan_c4)";
  return success();
}

LogicalResult PhaseAttr::verify(EmitError emitError, StringRef function, StringRef, SizeAttr items, bool prepares) {
  if (function.empty())
    return emitError() << "a phase names no function (plan_c5)";
  if (prepares && items.getScaled())
    return emitError() << "a phase that prepares has items that depend on run-time sizes, expected a number (plan_c5)";
  return success();
}

LogicalResult StageAttr::verify(EmitError emitError, StringRef, int64_t line, SizeAttr) {
  if (line >= 0 && line <= INT32_MAX)
    return success();
  return emitError() << "a stage is in line " << line << " of the text, expected a number of a line or 0 (plan_c6)";
}

LogicalResult PlanAttr::verify(EmitError emitError, StringRef name, ArrayRef<ArgumentAttr> inputs,
                               ArrayRef<ArgumentAttr> outputs, ArrayRef<StringAttr> sizes, ArrayRef<StageAttr> stages,
                               ArrayRef<PhaseAttr> phases, SizeAttr sharedBytes, int64_t localBytes,
                               int64_t preparedBytes) {
  if (name.empty() || outputs.empty())
    return emitError() << (name.empty() ? "a kernel has no name" : "a kernel has no output") << " (plan_c7)";
  llvm::StringSet<> declared, names;
  for (StringAttr size : sizes)
    if (size.getValue().empty() || !declared.insert(size.getValue()).second)
      return emitError() << "the run-time sizes are not of different names (plan_c8)";
  if (failed(verifyArguments(emitError, inputs, declared, names)) ||
      failed(verifyArguments(emitError, outputs, declared, names)))
    return failure();
  for (StageAttr stage : stages)
    if (failed(verifyDeclared(emitError, stage.getBytes().getFactors(), declared, "a stage")))
      return failure();
  for (PhaseAttr phase : phases)
    if (failed(verifyDeclared(emitError, phase.getItems().getFactors(), declared, "a phase")))
      return failure();
  if (failed(verifyDeclared(emitError, sharedBytes.getFactors(), declared, "the shared workspace")) ||
      failed(verifyWorkspace(emitError, "shared_bytes", sharedBytes.getFixed())) ||
      failed(verifyWorkspace(emitError, "shared_bytes", sharedBytes.getScaled())) ||
      failed(verifyWorkspace(emitError, "prepared_bytes", preparedBytes)))
    return failure();
  if (!preparedBytes && llvm::any_of(phases, [](PhaseAttr phase) { return phase.getPrepares(); }))
    return emitError() << "a phase prepares, but prepared_bytes is 0 (plan_c10)";
  return verifyWorkspace(emitError, "local_bytes", localBytes);
}

/// Checks `attn.range_ends` of a lowered module: the ends of ranges that depend on lengths. Its keys are the names of
/// the plan's inputs.
static LogicalResult verifyRangeEnds(Operation *op, Attribute attribute) {
  auto plan = op->getAttrOfType<PlanAttr>(kPlan);
  auto all = dyn_cast<DictionaryAttr>(attribute);
  if (!plan || !all)
    return op->emitOpError() << "has " << kRangeEnds << ", expected a dictionary beside " << kPlan << " (plan_c11)";
  llvm::StringSet<> sizes;
  for (StringAttr size : plan.getSizes())
    sizes.insert(size.getValue());
  for (NamedAttribute own : all) {
    bool isRanged = llvm::any_of(plan.getInputs(), [&](ArgumentAttr input) {
      return input.getName() == own.getName().getValue() && input.getRange();
    });
    if (!isRanged || !areRangeEnds(own.getValue()))
      return op->emitOpError() << "has the ends " << own.getValue() << " of a range of '" << own.getName().getValue()
                               << "', expected two numbers or expressions of lengths, of an input that has a range "
                               << "(plan_c11)";
    for (Attribute end : cast<ArrayAttr>(own.getValue()))
      if (auto name = dyn_cast<StringAttr>(end))
        if (failed(verifyDeclared([&] { return op->emitOpError(); }, name, sizes,
                                  ("the range of '" + own.getName().getValue() + "'").str())))
          return failure();
  }
  return success();
}

LogicalResult AttnDialect::verifyOperationAttribute(Operation *op, NamedAttribute attribute) {
  if (attribute.getName() == kProgram)
    return verifyProgram(op, attribute.getValue());
  if (attribute.getName() == kRangeEnds)
    return verifyRangeEnds(op, attribute.getValue());
  if (attribute.getName() != kPlan)
    return success();
  auto plan = dyn_cast<PlanAttr>(attribute.getValue());
  auto module = dyn_cast<ModuleOp>(op);
  if (!plan || !module)
    return op->emitOpError() << "has " << kPlan << ", expected a module with an #attn.plan (plan_c9)";
  return success();
}
