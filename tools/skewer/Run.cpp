// `skewer run`: one call, checked.
#include "tools/skewer/Check.h"
#include "tools/skewer/Commands.h"
#include "tools/skewer/Execution.h"
#include "tools/skewer/Npy.h"
#include "tools/skewer/WriteFiles.h"
#include "llvm/Support/raw_ostream.h"
#include <fmt/format.h>

namespace skewer::driver {
namespace {

int wrong(const std::string &text) {
  llvm::errs() << "skewer: error: " << text << "\n";
  return kWrong;
}

/// Reads --expect; a file of another shape than the result is an error.
llvm::Expected<Array> readExpected(const std::string &path, const std::vector<int64_t> &shape) {
  auto file = readNpy(path);
  std::string why;
  if (!file)
    why = llvm::toString(file.takeError());
  else if (file->array.shape != shape)
    why = fmt::format("expected shape {}, found {}", textOf(shape), textOf(file->array.shape));
  else
    return std::move(file->array);
  return llvm::createStringError(std::errc::invalid_argument, "%s", fmt::format("--expect: {}: {}", path, why).c_str());
}

llvm::Error writeResult(const std::string &path, const Execution &execution) {
  // A bf16 has no .npy type of its own; f4 holds it exactly.
  bool isHalf = execution.plan().output.type == ElementType::F16;
  return writeFiles({{path, npyBytes(execution.resultArray(), isHalf ? "<f2" : "<f4")}});
}

} // namespace

int run(const Options &options) {
  auto compilation = Compilation::create(options.specs.front(), options.parameters, hostTarget());
  if (!compilation)
    return kWrong;
  std::vector<const Kernel *> chosen = chooseKernels(*compilation, options.kernel, /*one=*/true);
  if (chosen.empty())
    return kWrong;
  const Kernel &kernel = *chosen.front();

  // Operands first: a wrong file is found before time goes into compiling.
  auto operands = prepareOperands(signatureOf(kernel.einsumFunction()), options.inputs, options.sizes, options.seed);
  if (!operands)
    return wrong(llvm::toString(operands.takeError()));
  Array expected;
  if (!options.expect.empty()) {
    auto read = readExpected(options.expect, operands->outputShape);
    if (!read)
      return wrong(llvm::toString(read.takeError()));
    expected = std::move(*read);
  }

  auto execution = Execution::create(*compilation, kernel, options.unfused ? Execution::Form::Unfused : Execution::Form::Fused);
  if (!execution)
    return kWrong;
  ThreadPool pool(options.threads);
  if (!execution->bind(*operands, pool) || !execution->run())
    return kWrong;
  if (!options.output.empty())
    if (llvm::Error error = writeResult(options.output, *execution))
      return wrong("--output: " + llvm::toString(std::move(error)));

  const KernelPlan &plan = execution->plan();
  Comparison comparison;
  if (!options.expect.empty()) {
    comparison = compareWith(expected, plan.output.type, execution->result());
  } else {
    auto judged = compareWithReference(kernel.einsumFunction(), *operands, plan.output.type, execution->result(),
                                       options.rows, options.seed, execution->flops());
    if (!judged)
      return wrong(fmt::format("kernel '{}': {}", kernel.name, llvm::toString(judged.takeError())));
    comparison = std::move(*judged);
  }
  double tolerance = options.tolerance.value_or(defaultTolerance(plan));
  llvm::outs() << fmt::format("{}: {} of {} rows compared with {}, largest error {:.3g} of the largest value "
                              "(tolerance {:.3g})\n",
                              kernel.name, comparison.rows, comparison.allRows,
                              options.expect.empty() ? "the float64 reference" : options.expect, comparison.error,
                              tolerance);
  llvm::outs().flush(); // the line comes before the error that it leads to
  if (comparison.within(tolerance))
    return kDone;
  if (comparison.mismatches)
    return wrong(fmt::format("kernel '{}': {} elements are NaN or infinite on one side only; first at {}", kernel.name,
                             comparison.mismatches, comparison.where));
  return wrong(
      fmt::format("kernel '{}': the error is above the tolerance; worst at {}", kernel.name, comparison.where));
}

} // namespace skewer::driver
