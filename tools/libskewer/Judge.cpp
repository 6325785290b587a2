// Computes the float64 reference of a layer, and compares results with it by the rules of `skewer run`.
#include "tools/libskewer/Judge.h"
#include "codegen/Compiler/Compiler.h"
#include "codegen/Reference/Reference.h"
#include "tools/skewer/Check.h"
#include "tools/skewer/Execution.h"
#include "tools/skewer/Messages.h"
#include "tools/skewer/Npy.h"
#include "tools/skewer/OpenSpec.h"
#include "llvm/Support/JSON.h"
#include <fmt/format.h>

namespace skewer::driver {
namespace {

ExitCode wrong(const std::string &text) {
  sayError(text);
  return kWrong;
}

/// A kernel under comparison, with its operands in float64.
struct Judged {
  std::unique_ptr<Compilation> compilation;
  std::optional<Kernel> kernel; // for the operands' lengths
  Operands operands;
  KernelPlan signature;
};

/// Reports the expected and the found shape of a tensor.
ExitCode wrongShape(const TensorArgument &argument, llvm::ArrayRef<int64_t> found) {
  return wrong(fmt::format("'{}': expected shape {}, found {}", argument.name, textOf(argument.shape), textOf(found)));
}

/// Adds the run-time sizes in the tensors' shapes to the sizes of the request.
ExitCode findSizes(const KernelPlan &plan, const std::vector<skewer_tensor> &tensors,
                   std::map<std::string, int64_t> &sizes) {
  size_t next = 0;
  for (const TensorArgument &argument : plan.inputs) {
    if (!argument.isTensor())
      continue;
    const skewer_tensor &tensor = tensors[next++];
    if (tensor.rank != argument.shape.size())
      return wrongShape(argument, {tensor.shape, tensor.rank});
    for (size_t k = 0; k < tensor.rank; ++k)
      if (const std::string &name = argument.shape[k].name; sizesIn(name) == std::vector<std::string>{name})
        sizes.emplace(name, tensor.shape[k]);
  }
  for (const std::string &name : plan.sizes)
    if (!sizes.count(name))
      return wrong(fmt::format("no operand's shape determines the size '{0}'; give it as a size, \"{0}=…\"", name));
  return kDone;
}

std::optional<std::vector<int64_t>> shapeAt(const TensorArgument &argument, const std::map<std::string, int64_t> &sizes) {
  std::vector<int64_t> shape;
  for (const Extent &extent : argument.shape) {
    auto size = extent.name.empty() ? std::optional(extent.fixed) : valueOf(extent.name, sizes);
    if (!size)
      return std::nullopt;
    shape.push_back(*size);
  }
  return shape;
}

ExitCode takeOperands(const Options &options, const std::vector<skewer_tensor> &tensors, const int64_t *origins,
                      Judged &judged) {
  const KernelPlan &plan = judged.signature;
  Operands &operands = judged.operands;
  size_t expected = llvm::count_if(plan.inputs, [](const TensorArgument &one) { return one.isTensor(); });
  if (tensors.size() != expected)
    return wrong(fmt::format("kernel '{}': expected {} operands, found {}", plan.name, expected, tensors.size()));
  operands.sizeByName = options.sizes;
  if (ExitCode status = findSizes(plan, tensors, operands.sizeByName))
    return status;
  for (const std::string &name : plan.sizes)
    operands.sizes.push_back(operands.sizeByName.at(name));
  size_t next = 0;
  for (const TensorArgument &argument : plan.inputs) {
    if (!argument.isTensor()) {
      int64_t value = argument.isLength ? operands.sizeByName.at(argument.name)
                      : origins         ? origins[*argument.origin]
                                        : 0;
      operands.inputs.push_back({{1}, {static_cast<double>(value)}});
      continue;
    }
    const skewer_tensor &tensor = tensors[next++];
    llvm::ArrayRef<int64_t> shape(tensor.shape, tensor.rank);
    auto wanted = shapeAt(argument, operands.sizeByName);
    if (!wanted || shape != llvm::ArrayRef<int64_t>(*wanted))
      return wrongShape(argument, shape);
    operands.inputs.push_back(unpack(argument.type, tensor.data, shape));
  }
  for (const TensorArgument &output : plan.outputs) {
    auto shape = shapeAt(output, operands.sizeByName);
    if (!shape)
      return wrong(fmt::format("kernel '{}': a result's shape is not known", plan.name));
    operands.outputShapes.push_back(std::move(*shape));
  }
  return kDone;
}

ExitCode open(const Options &options, const std::vector<skewer_tensor> &tensors, const int64_t *origins,
              Judged &judged) {
  judged.compilation = openSpecOf(options, options.specs.front(), hostTarget());
  if (!judged.compilation)
    return kWrong;
  std::vector<const Kernel *> chosen = chooseKernels(*judged.compilation, options.kernel, /*one=*/true);
  if (chosen.empty())
    return kWrong;
  judged.signature = chosen.front()->signature;
  if (ExitCode status = takeOperands(options, tensors, origins, judged))
    return status;
  judged.kernel = judged.compilation->kernelAt(*chosen.front(), judged.operands.sizeByName);
  return judged.kernel ? kDone : kWrong;
}

std::string titleOf(const TensorArgument &result) { return result.name == "output" ? "out" : result.name; }

} // namespace

int reference(const Options &options, const std::vector<skewer_tensor> &tensors, const int64_t *origins,
              std::vector<OutputFile> &files) {
  Judged judged;
  if (ExitCode status = open(options, tensors, origins, judged))
    return status;
  mlir::func::FuncOp function = judged.kernel->einsumFunction();
  std::vector<reference::Tensor> inputs;
  for (const Array &input : llvm::ArrayRef(judged.operands.inputs).take_front(function.getNumArguments()))
    inputs.push_back({input.shape, input.values});
  reference::Interpreter interpreter(function, std::move(inputs));
  for (size_t number = 0; number < judged.signature.outputs.size(); ++number) {
    Array result{judged.operands.outputShapes[number], {}};
    for (const std::vector<int64_t> &leading : reference::sampleRows(result.shape, INT64_MAX, 1)) {
      auto row = interpreter.row(leading, number);
      if (!row)
        return wrong(fmt::format("the reference cannot judge row {}: {}", textOf(leading), row.reason));
      result.values.insert(result.values.end(), row->begin(), row->end());
    }
    files.push_back({titleOf(judged.signature.outputs[number]) + ".npy", npyBytes(result, "<f8")});
  }
  return kDone;
}

int check(const Options &options, const std::vector<skewer_tensor> &tensors, const int64_t *origins,
          const std::vector<skewer_tensor> &results) {
  Judged judged;
  if (ExitCode status = open(options, tensors, origins, judged))
    return status;
  const KernelPlan &plan = judged.signature;
  if (results.size() != plan.outputs.size())
    return wrong(fmt::format("kernel '{}': expected {} results, found {}", plan.name, plan.outputs.size(), results.size()));
  mlir::func::FuncOp function = judged.kernel->einsumFunction();
  Judgement how;
  how.rows = options.rows;
  how.flops = usefulFlops(function, judged.operands.sizeByName);
  llvm::json::Array all;
  for (size_t number = 0; number < results.size(); ++number) {
    llvm::ArrayRef<int64_t> shape(results[number].shape, results[number].rank);
    if (shape != llvm::ArrayRef<int64_t>(judged.operands.outputShapes[number]))
      return wrong(fmt::format("result '{}': expected shape {}, found {}", titleOf(plan.outputs[number]),
                               textOf(judged.operands.outputShapes[number]), textOf(shape)));
    auto comparison = compareWithReference(function, judged.operands, plan.outputs[number].type, results[number].data,
                                           how, number);
    if (!comparison)
      return wrong(fmt::format("kernel '{}': {}", plan.name, llvm::toString(comparison.takeError())));
    all.push_back(llvm::json::Object{{"result", titleOf(plan.outputs[number])},
                                     {"rows", comparison->rows},
                                     {"all_rows", comparison->allRows},
                                     {"error", comparison->error},
                                     {"tolerance", comparison->tolerance},
                                     {"largest", comparison->largest},
                                     {"mismatches", comparison->mismatches},
                                     {"where", comparison->where}});
  }
  printed() << llvm::json::Value(std::move(all));
  return kDone;
}

} // namespace skewer::driver
