// Times kernels at several values of a param, of a run-time size or of the number of threads.
#include "tools/skewer/BenchSweep.h"
#include "codegen/Compiler/Compiler.h"
#include "dialect/Language/Declared.h"
#include "dialect/Language/Diagnostics.h"
#include "tools/skewer/ExplainPage.h"
#include "tools/skewer/Messages.h"
#include "tools/skewer/Peak.h"
#include "tools/skewer/Progress.h"
#include "tools/skewer/SweepPicture.h"
#include "tools/skewer/WriteFiles.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/Path.h"
#include <fmt/format.h>
#include <set>

namespace skewer::driver {
namespace {

/// Prints each warning and note once during its lifetime: every value of a sweep would repeat them.
class EachOnce {
public:
  EachOnce() : here([this](const language::Diagnostic &diagnostic) { print(diagnostic); }) {}

private:
  void print(const language::Diagnostic &diagnostic) {
    bool isError = diagnostic.severity == language::Severity::Error;
    if (!diagnostic.isAttached)
      isNew = isError || said.insert(fmt::format("{}:{}:{}:{}", diagnostic.file, diagnostic.line, diagnostic.column,
                                                 diagnostic.text))
                             .second;
    if (!isNew)
      return;
    clearProgress();
    printMessage(llvm::errs(), diagnostic);
  }
  std::set<std::string> said;
  bool isNew = true; // whether the last message that was not attached to another one was printed
  DiagnosticsTo here;
};

/// A spec of the sweep, and what the swept name stands for in it.
struct SweptSpec {
  enum class Meaning { Threads, Param, Size };
  std::string path, text; // the text is read once: a pipe has no second reading
  Meaning meaning;
};

/// Returns a spec and what the name stands for in it. Nothing after an error.
std::optional<SweptSpec> sweptSpec(const std::string &path, const std::string &name) {
  llvm::SourceMgr sources;
  SpecKind kind;
  if (!openSpec(path, sources, kind))
    return std::nullopt;
  using Meaning = SweptSpec::Meaning;
  auto as = [&](Meaning meaning) {
    return SweptSpec{path, sources.getMemoryBuffer(sources.getMainFileID())->getBuffer().str(), meaning};
  };
  if (kind == SpecKind::Mlir) // its kernels know their sizes, and refuse others
    return as(name == kThreads ? Meaning::Threads : Meaning::Size);
  language::DeclaredNames names = language::declaredNames(sources);
  bool isParam = llvm::is_contained(names.params, name), isSize = llvm::is_contained(names.sizes, name);
  if (name == kThreads && (isParam || isSize)) {
    sayErrorOf(path, "--sweep threads gives the number of threads, but the spec has a size of this name; rename it");
    return std::nullopt;
  }
  if (name == kThreads || isParam || isSize)
    return as(isParam ? Meaning::Param : isSize ? Meaning::Size : Meaning::Threads);
  std::vector<std::string> known = names.params;
  known.insert(known.end(), names.sizes.begin(), names.sizes.end());
  known.push_back(kThreads);
  sayErrorOf(path, fmt::format("--sweep {0}: the spec has no param and no size '{0}'{1}; expected one of {2}", name,
                               language::suggestion(name, known), llvm::join(known, ", ")));
  return std::nullopt;
}

/// Returns the options of one value: it is given as -D, --size or --threads would give it. Plain attention and a read
/// of the operands stand beside each call.
Options optionsAt(const Options &options, const SweptSpec &spec, int64_t value) {
  Options own = options;
  own.specs = {spec.path};
  own.text = spec.text;
  own.plain = own.besideRead = true;
  switch (spec.meaning) {
  case SweptSpec::Meaning::Threads:
    own.threads = static_cast<int32_t>(value);
    break;
  case SweptSpec::Meaning::Param:
    own.parameters.emplace(options.sweep->name, value);
    break;
  case SweptSpec::Meaning::Size:
    own.sizes[options.sweep->name] = value;
    break;
  }
  return own;
}

std::string numberOr(const std::optional<double> &number, const char *format) {
  return number ? fmt::format(fmt::runtime(format), *number) : "-";
}

void printHead(const Options &options) {
  printed() << fmt::format("peaks of {} in f32, measured beside each line; {} seconds a line\n", peakInstructions(),
                           options.seconds);
  printed() << fmt::format("{:>9} {:<20} {:>11} {:>9} {:>8} {:>7} {:>10} {:>7} {:>10} {:>9}{}\n", options.sweep->name,
                           "kernel", "ms", "GFLOP/s", "peak", "% peak", "% roofline", "x plain", "workspace",
                           "compile s", options.unfused ? fmt::format(" {:>11}", "unfused ms") : "");
  printed().flush();
}

void printLine(const SweptRow &swept) {
  const Row &row = swept.row;
  std::optional<double> overPlain, rate;
  if (row.plain && *row.plain > 0)
    overPlain = row.timing.median / *row.plain;
  if (row.flops > 0)
    rate = row.gflops();
  printed() << fmt::format("{:>9} {:<20} {:>11.4f} {:>9} {:>8.1f} {:>7} {:>10} {:>7} {:>10} {:>9.3f}", swept.value,
                           swept.kernel, row.timing.median * 1e3, numberOr(rate, "{:.1f}"), row.peak(),
                           numberOr(row.percent(), "{:.1f}"), numberOr(row.percentOfRoofline(), "{:.1f}"),
                           numberOr(overPlain, "{:.2f}"), bytesText(static_cast<double>(row.workspaceBytes)),
                           row.compileSeconds);
  if (row.unfused)
    printed() << fmt::format(" {:>11.4f}", *row.unfused * 1e3);
  printed() << "\n";
  printed().flush();
}

void printJson(const Sweep &sweep, const std::vector<SweptRow> &rows) {
  llvm::json::Array kernels;
  for (const SweptRow &swept : rows) {
    llvm::json::Object kernel = jsonOf(swept.row);
    kernel["name"] = swept.kernel;
    kernel["value"] = swept.value;
    kernel["threads"] = swept.threads;
    kernel["peak_gflops"] = swept.row.fmaPeak;
    kernel["percent_of_roofline"] =
        swept.row.percentOfRoofline() ? llvm::json::Value(*swept.row.percentOfRoofline()) : nullptr;
    kernels.push_back(std::move(kernel));
  }
  llvm::json::Object document{{"sweep", sweep.name}, {"kernels", std::move(kernels)}};
  printed() << llvm::formatv("{0:2}", llvm::json::Value(std::move(document))) << "\n";
}

/// Times the kernels of a spec at one value and appends their figures. Returns false after a message.
bool measureAt(const Options &options, const SweptSpec &spec, int64_t value, std::vector<SweptRow> &rows) {
  Options all = optionsAt(options, spec, value);
  ThreadPool pool(all.threads);
  std::vector<double> peaks;
  std::string file = options.specs.size() > 1 ? llvm::sys::path::filename(spec.path).str() + ":" : "";
  return forEachKernel(all, [&](const Options &own, Compilation &compilation, const Kernel &kernel) {
    SweptRow swept{file + kernel.name, value, all.threads, {}};
    if (!benchKernel(own, compilation, kernel, pool, peaks, swept.row))
      return false;
    if (!options.json)
      printLine(swept);
    rows.push_back(std::move(swept));
    return true;
  });
}

/// Warns once about all lines with impossible figures.
void warnOfBadLines(const Options &options, const std::vector<SweptRow> &rows) {
  auto targets = targetsNamed(options.target);
  std::set<int64_t> values;
  for (const SweptRow &swept : rows)
    if (targets && !canBeTrusted(swept.row, swept.threads, targets->front()))
      values.insert(swept.value);
  if (!values.empty())
    sayWarning(fmt::format("the figures at {} = {} cannot be trusted: the measured peak is less than half of the peak "
                           "of target '{}', or a kernel computed faster than the measured peak{}",
                           options.sweep->name, fmt::join(values, ", "), targets->front().name, kMeasureAgain));
}

/// Returns whether the picture's folder exists. A long sweep checks it at its beginning, not at its end.
bool hasFolder(const std::string &picture) {
  llvm::StringRef folder = llvm::sys::path::parent_path(picture);
  if (folder.empty() || llvm::sys::fs::is_directory(folder))
    return true;
  sayError(fmt::format("-o: there is no folder '{}' for the picture", folder.str()));
  return false;
}

} // namespace

int benchSweep(const Options &options) {
  EachOnce once;
  std::vector<SweptSpec> specs;
  for (const std::string &path : options.specs) {
    auto spec = sweptSpec(path, options.sweep->name);
    if (!spec)
      return kWrong;
    specs.push_back(std::move(*spec));
  }
  if (!hasFolder(options.picture))
    return kWrong;
  if (!options.json)
    printHead(options);
  std::vector<SweptRow> rows;
  size_t done = 0, all = options.sweep->values.size() * specs.size();
  for (int64_t value : options.sweep->values)
    for (const SweptSpec &spec : specs) {
      nowAtStep(done++, all, fmt::format("{} = {}", options.sweep->name, value));
      if (!measureAt(options, spec, value, rows))
        return kWrong;
    }
  warnOfBadLines(options, rows);
  if (options.json)
    printJson(*options.sweep, rows);
  if (!options.picture.empty())
    if (llvm::Error error = writeFiles({{options.picture, drawSweep(options.sweep->name, rows)}})) {
      sayError(std::move(error));
      return kWrong;
    }
  return llvm::all_of(rows, [](const SweptRow &swept) { return swept.row.isRight; }) ? kDone : kWrong;
}

} // namespace skewer::driver
