// `skewer run`: calls each kernel once, on the processor or on a GPU, and checks the results.
#include "codegen/Compiler/Compiler.h"
#include "tools/skewer/Check.h"
#include "tools/skewer/Commands.h"
#include "tools/skewer/Execution.h"
#include "tools/skewer/Messages.h"
#include "tools/skewer/Npy.h"
#include "tools/skewer/ScheduleText.h"
#include "tools/skewer/SeedByUse.h"
#include "tools/skewer/WriteFiles.h"
#include "llvm/Support/raw_ostream.h"
#include <algorithm>
#include <fmt/format.h>
#include <map>

namespace skewer::driver {
namespace {

ExitCode wrong(const std::string &text) {
  sayError(text);
  return kWrong;
}

/// Returns the name of a result for options and messages: `out` if it has no name of its own.
std::string titleOf(const TensorArgument &result) { return result.name == "output" ? "out" : result.name; }

/// Returns the files of --output or --expect by the number of the result; a file without a name belongs to the only
/// result.
llvm::Expected<std::map<size_t, std::string>> filesOf(const char *option, const KernelPlan &plan,
                                                      const std::map<std::string, std::string> &given) {
  std::map<size_t, std::string> files;
  std::string known;
  for (const TensorArgument &result : plan.outputs)
    known += (known.empty() ? "" : ", ") + titleOf(result);
  for (const auto &[name, path] : given) {
    size_t number = 0;
    while (number < plan.outputs.size() && titleOf(plan.outputs[number]) != name)
      ++number;
    if (name.empty() && plan.outputs.size() == 1)
      number = 0;
    std::string why;
    if (number == plan.outputs.size())
      why = name.empty() ? fmt::format("{}: kernel '{}' has {} results, say which: {}=FILE, with one of {}", option,
                                       plan.name, plan.outputs.size(), option, known)
                         : fmt::format("{}: kernel '{}' has no result '{}'; it has {}", option, plan.name, name, known);
    else if (!files.emplace(number, path).second)
      why = fmt::format("{}: result '{}' is given twice", option, titleOf(plan.outputs[number]));
    if (!why.empty())
      return llvm::createStringError(std::errc::invalid_argument, "%s", why.c_str());
  }
  return files;
}

/// Reads a file of --expect; an error if its shape differs from the result's.
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

llvm::Error writeResults(const std::map<size_t, std::string> &files, const Execution &execution) {
  std::vector<OutputFile> contents;
  for (const auto &[number, path] : files) {
    // .npy has no bf16 type; f4 holds a bf16 exactly.
    bool isHalf = execution.plan().outputs[number].type == ElementType::F16;
    contents.push_back({path, npyBytes(execution.resultArray(number), isHalf ? "<f2" : "<f4")});
  }
  return writeFiles(contents);
}

/// Prints the outcome of comparing one result; returns false after a diagnostic.
bool report(const std::string &title, const Comparison &comparison, const std::string &judge, double tolerance) {
  comparison.noteNonFinite(title);
  printed() << fmt::format("{}: {} of {} rows compared with {}, largest error {:.3g} of the largest value "
                           "(tolerance {:.3g}): {}\n",
                           title, comparison.rows, comparison.allRows, judge, comparison.error, tolerance,
                           comparison.within(tolerance) ? "passed" : "failed");
  printed().flush(); // so that the line comes before its error
  if (comparison.within(tolerance))
    return true;
  if (comparison.mismatches)
    wrong(fmt::format("kernel '{}': {} elements are NaN or infinite on one side only; first at {}", title,
                      comparison.mismatches, comparison.where));
  else
    wrong(fmt::format("kernel '{}': the error is above the tolerance; worst at {}", title, comparison.where));
  return false;
}

/// Results to compare with files: file names and values, by the number of the result.
struct Expectations {
  std::map<size_t, std::string> files;
  std::map<size_t, Array> values;
};

/// Prints which of a kernel's codes runs, if it has several, and why not the first one.
void reportCode(const std::string &name, const Execution &execution) {
  if (!execution.code().empty())
    printed() << fmt::format("{}: runs {}{}\n", name, execution.code(), execution.whyNotFirst());
}

/// Calls the kernel again with the operands that it has, until it was called `repeats` times. Returns false after a
/// diagnostic if a call fails or returns other bytes than the first one: then what it returns depends on the order in
/// which threads run.
bool repeat(const std::string &name, uint64_t repeats, Execution &execution) {
  size_t count = execution.plan().outputs.size();
  std::vector<std::vector<char>> first;
  for (size_t number = 0; number < count; ++number)
    first.push_back(execution.resultBytes(number).vec());
  for (uint64_t call = 2; call <= repeats; ++call) {
    if (!execution.run())
      return false;
    for (size_t number = 0; number < count; ++number) {
      llvm::ArrayRef<char> bytes = execution.resultBytes(number);
      size_t same = std::mismatch(bytes.begin(), bytes.end(), first[number].begin()).first - bytes.begin();
      if (same == bytes.size())
        continue;
      const TensorArgument &result = execution.plan().outputs[number];
      wrong(fmt::format("kernel '{}': call {} of {} with the same operands returns other bytes than the first; "
                        "result '{}' differs first at element {}",
                        name, call, repeats, titleOf(result), same / bytesOf(result.type)));
      return false;
    }
  }
  if (repeats > 1)
    printed() << fmt::format("{}: {} calls return the same bytes\n", name, repeats);
  return true;
}

/// Calls the kernel as often as --repeats says, writes the files of --output and compares the results; returns false
/// after a diagnostic.
/// `kernel` is the kernel for the operands' lengths.
bool runOn(const Operands &operands, uint64_t seed, const Options &options, const Kernel &kernel, Execution &execution,
           const std::map<size_t, std::string> &outputs, const Expectations &expected, ThreadPool &pool) {
  if (!execution.start(operands, pool, options.prepared))
    return false;
  if (llvm::Error error = writeResults(outputs, execution)) {
    wrong("--output: " + llvm::toString(std::move(error)));
    return false;
  }
  bool good = repeat(kernel.name, options.repeats, execution);
  const KernelPlan &plan = execution.plan();
  Judgement how{options.rows, seed, execution.flops(), execution.isOnGpu(), !options.tolerance};
  for (size_t number = 0; number < plan.outputs.size(); ++number) {
    std::string title = kernel.name + (plan.outputs.size() > 1 ? "." + titleOf(plan.outputs[number]) : "");
    ElementType type = plan.outputs[number].type;
    if (auto given = expected.values.find(number); given != expected.values.end()) {
      Comparison comparison = compareWith(given->second, type, execution.result(number));
      double tolerance = options.tolerance.value_or(0);
      if (!options.tolerance) {
        auto own = toleranceOf(kernel.einsumFunction(), operands, type, how, comparison.largest, number);
        if (!own) {
          wrong(fmt::format("kernel '{}': --tolerance is needed: {}", kernel.name, llvm::toString(own.takeError())));
          return false;
        }
        tolerance = *own;
      }
      good &= report(title, comparison, expected.files.at(number), tolerance);
      continue;
    }
    auto judged = compareWithReference(kernel.einsumFunction(), operands, type, execution.result(number), how, number);
    if (!judged) {
      wrong(fmt::format("kernel '{}': {}", kernel.name, llvm::toString(judged.takeError())));
      return false;
    }
    good &= report(title, *judged, "the float64 reference", options.tolerance.value_or(judged->tolerance));
  }
  return good;
}

/// Runs one kernel with each seed and compares. Operands come first, so that a wrong file is reported before the
/// compilation, which takes time.
ExitCode runKernel(const Options &options, Compilation &compilation, const Kernel &kernel, Device *device,
                   ThreadPool &pool) {
  const KernelPlan &signature = kernel.signature;
  auto outputs = filesOf("--output", signature, options.outputs);
  if (!outputs)
    return wrong(llvm::toString(outputs.takeError()));
  auto expectations = filesOf("--expect", signature, options.expected);
  if (!expectations)
    return wrong(llvm::toString(expectations.takeError()));
  auto operands = prepareOperands(signature, options.inputs, options.sizes, options.seed, options.origins);
  if (!operands)
    return wrong(llvm::toString(operands.takeError()));
  seedByUse(*operands, signature, kernel.einsumFunction());
  noteOperands(kernel.name, signature, *operands, options.seed);
  Expectations expected{std::move(*expectations), {}};
  for (const auto &[number, path] : expected.files) {
    auto read = readExpected(path, operands->outputShapes[number]);
    if (!read)
      return wrong(llvm::toString(read.takeError()));
    expected.values[number] = std::move(*read);
  }

  auto form = options.unfused ? Execution::Form::Unfused : Execution::Form::Fused;
  auto execution = device ? Execution::createForGpu(compilation, kernel, *device, options)
                          : Execution::create(compilation, kernel, form);
  if (!execution)
    return kWrong;
  auto own = compilation.kernelAt(kernel, operands->sizeByName);
  if (!own || !execution->countAsIn(compilation, *own))
    return kWrong;
  reportCode(kernel.name, *execution);
  bool good = runOn(*operands, options.seed, options, *own, *execution, *outputs, expected, pool);
  for (uint64_t seed = options.seed + 1; seed < options.seed + options.seeds; ++seed) {
    auto others = prepareOperands(signature, options.inputs, options.sizes, seed, options.origins);
    if (!others)
      return wrong(llvm::toString(others.takeError()));
    seedByUse(*others, signature, kernel.einsumFunction());
    noteOperands(kernel.name, signature, *others, seed);
    good &= runOn(*others, seed, options, *own, *execution, *outputs, expected, pool);
  }
  return good ? kDone : kWrong;
}

} // namespace

int run(const Options &options) {
  std::unique_ptr<Device> device;
  if (options.isForGpu() && !(device = openDevice()))
    return kNoDevice;
  if (!checkSchedule(options, !device, bool(device)))
    return kUsage;
  auto targets = targetsNamed(device ? "host" : options.target);
  if (!targets)
    return kUsage;
  auto compilation = Compilation::create(options.specs.front(), options.parameters, targets->front());
  if (!compilation)
    return kWrong;
  compilation->targets = std::move(*targets);
  compilation->pinned = options.cpuSchedule;
  // A file of results belongs to one kernel.
  bool isOne = !options.outputs.empty() || !options.expected.empty();
  std::vector<const Kernel *> chosen = chooseKernels(*compilation, options.kernel, isOne);
  if (chosen.empty())
    return kWrong;
  ThreadPool pool(options.threads);
  bool good = true; // kernels after a wrong one also run
  for (const Kernel *kernel : chosen)
    good &= runKernel(optionsOf(*kernel, chosen, options), *compilation, *kernel, device.get(), pool) == kDone;
  return good ? kDone : kWrong;
}

} // namespace skewer::driver
