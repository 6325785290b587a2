// skewer-meaning: what many texts mean, for tests that compare texts with each other (metamorphic.py). Standard input has the texts, each
// behind a line `=== NAME [PARAM=VALUE …]`. For each it prints that line, then a line for each result of each kernel: the shape and
// all values by the float64 reference or, with --kernels, those that the compiled kernel returns. A text that is refused has none. Standard error has the
// messages, behind the same lines.
#include "codegen/Reference/Reference.h"
#include "tools/skewer/Execution.h"
#include "tools/skewer/Inputs.h"
#include "tools/skewer/ThreadPool.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/CommandLine.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/raw_ostream.h"
#include <fmt/format.h>

namespace cl = llvm::cl;
using namespace skewer;
using namespace skewer::driver;

static cl::opt<bool> kernels("kernels", cl::desc("What compiled kernels return, not what the reference computes"));
static cl::opt<uint64_t> seed("seed", cl::desc("Seed of the operands (default 1)"), cl::init(1));

namespace {
struct Text {
  std::string header, body;
  language::Parameters parameters;
};
} // namespace

/// The texts of the input, with the params that their headers give.
static std::vector<Text> textsOf(llvm::StringRef input) {
  std::vector<Text> texts;
  llvm::SmallVector<llvm::StringRef> lines;
  input.split(lines, '\n');
  for (llvm::StringRef line : lines) {
    if (!line.consume_front("=== ")) {
      if (!texts.empty())
        texts.back().body += line.str() + "\n";
      continue;
    }
    Text text{line.str(), "", {}};
    llvm::SmallVector<llvm::StringRef> words;
    line.split(words, ' ', -1, false);
    for (llvm::StringRef word : llvm::drop_begin(words)) {
      auto [name, value] = word.split('=');
      int64_t whole = 0;
      double real = 0;
      if (!value.getAsInteger(10, whole))
        text.parameters.insert({name.str(), language::Parameter(whole)});
      else if (!value.getAsDouble(real))
        text.parameters.insert({name.str(), language::Parameter(real)});
    }
    texts.push_back(std::move(text));
  }
  return texts;
}

static void print(const std::string &kernel, size_t number, const Array &result) {
  std::string line = fmt::format("{} {} {}", kernel, number, result.shape.size());
  for (int64_t size : result.shape)
    line += fmt::format(" {}", size);
  for (double value : result.values)
    line += fmt::format(" {:.17g}", value);
  llvm::outs() << line << "\n";
}

/// Prints the results of a kernel by the reference; false after a message.
static bool printReference(const Kernel &kernel, const Operands &operands) {
  std::vector<reference::Tensor> inputs;
  for (const Array &array : operands.inputs)
    inputs.push_back({array.shape, array.values});
  reference::Interpreter interpreter(kernel.einsumFunction(), std::move(inputs));
  for (size_t number = 0; number < kernel.einsumFunction().getNumResults(); ++number) {
    Array all{interpreter.resultShape(number), {}};
    for (const std::vector<int64_t> &leading : reference::sampleRows(all.shape, /*limit=*/1 << 30, /*seed=*/0)) {
      auto row = interpreter.row(leading, number);
      if (!row) {
        llvm::errs() << "error: the reference: " << row.reason << "\n";
        return false;
      }
      llvm::append_range(all.values, *row);
    }
    print(kernel.name, number, all);
  }
  return true;
}

/// Prints the results of a compiled kernel; false after a message.
static bool printCompiled(Compilation &compilation, const Kernel &kernel, const Operands &operands) {
  auto execution = Execution::create(compilation, kernel, Execution::Form::Fused);
  ThreadPool one(1);
  if (!execution || !execution->bind(operands, one) || !execution->run())
    return false;
  for (size_t number = 0; number < execution->plan().outputs.size(); ++number)
    print(kernel.name, number, execution->resultArray(number));
  return true;
}

static void judge(const Text &text) {
  llvm::outs() << "=== " << text.header << "\n";
  llvm::errs() << "=== " << text.header << "\n";
  auto compilation = Compilation::createFromText(text.body, "text.attn", text.parameters, hostTarget());
  if (!compilation)
    return;
  for (const Kernel &kernel : compilation->kernels) {
    KernelPlan signature = signatureOf(kernel.einsumFunction());
    std::map<std::string, int64_t> sizes;
    for (const std::string &name : signature.sizes)
      sizes[name] = 2;
    auto operands = prepareOperands(signature, {}, sizes, seed);
    if (!operands) {
      llvm::errs() << "error: " << llvm::toString(operands.takeError()) << "\n";
      return;
    }
    if (!(kernels ? printCompiled(*compilation, kernel, *operands) : printReference(kernel, *operands)))
      return;
  }
}

int main(int argc, char **argv) {
  if (!cl::ParseCommandLineOptions(argc, argv, "What many texts mean: the float64 reference's results for each text of standard input.\n", &llvm::errs()))
    return 2;
  auto input = llvm::MemoryBuffer::getSTDIN();
  if (!input) {
    llvm::errs() << "skewer-meaning: error: standard input: " << input.getError().message() << "\n";
    return 2;
  }
  for (const Text &text : textsOf((*input)->getBuffer()))
    judge(text);
  return 0;
}
