// The options of the commands, on llvm::cl. Parsing errors and values that do not fit 64 bits are usage errors.
#include "tools/skewer/Options.h"
#include "codegen/GPU/GpuTarget.h"
#include "tools/skewer/CommandTexts.h"
#include "tools/skewer/OptionErrors.h"
#include "tools/skewer/OptionTexts.h"
#include "tools/skewer/ScheduleText.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/CommandLine.h"
#include "llvm/Support/Threading.h"
#include "llvm/Support/raw_ostream.h"
#include <fmt/format.h>
#include <type_traits>

namespace cl = llvm::cl;

namespace skewer::driver {
namespace {

cl::SubCommand compileCommand("compile", "a spec becomes object files, headers and manifests");
cl::SubCommand runCommand("run", "runs a spec's kernel here and checks what it returns");
cl::SubCommand benchCommand("bench", "times a spec's kernels beside this processor's measured peak");
cl::SubCommand explainCommand("explain", "says what became of each term of the score");
cl::SubCommand plotCommand("plot", "draws how positions are read, scores and tables");
cl::SubCommand reportCommand("report", "one page that shows a spec's kernels, for a browser");
cl::SubCommand schemesCommand("schemes", "lists the built-in positional schemes");
cl::SubCommand formatCommand("format", "lays specs out in one way");
cl::SubCommand targetCommand("target", "lists and prints machine files, and measures this machine for one");

cl::OptionCategory category("Options");

constexpr int64_t kMostThreads = 1024;

cl::list<std::string> specs(cl::Positional, cl::desc("SPEC…"), cl::cat(category), cl::sub(compileCommand),
                            cl::sub(benchCommand), cl::sub(explainCommand), cl::sub(formatCommand));
cl::opt<std::string> spec(cl::Positional, cl::desc("SPEC"), cl::cat(category), cl::sub(runCommand),
                          cl::sub(plotCommand), cl::sub(reportCommand));
cl::list<std::string> parameters("D", cl::Prefix, cl::desc("Value of a param: a compile-time size, or a real number"),
                                 cl::value_desc("NAME=VALUE"), cl::cat(category), cl::sub(compileCommand),
                                 cl::sub(runCommand), cl::sub(benchCommand), cl::sub(explainCommand),
                                 cl::sub(plotCommand), cl::sub(reportCommand));
cl::opt<std::string>
    target("target",
           cl::desc("What to make code for: host (default), zen4, x86-64-v3, a machine file MY.json, sm_80, sm_90a, "
                    "…; for compile a list; for run and bench host or others whose code runs here, a GPU, or "
                    "gpu: this machine's own"),
           cl::value_desc("name"), cl::init("host"), cl::cat(category), cl::sub(compileCommand), cl::sub(runCommand),
           cl::sub(benchCommand), cl::sub(explainCommand), cl::sub(reportCommand));
cl::opt<std::string> outputFolder("o", cl::desc("Folder for NAME.o, NAME.h and NAME.json; made if need be"),
                                  cl::value_desc("folder"), cl::cat(category), cl::sub(compileCommand));
cl::list<std::string>
    emit("emit", cl::CommaSeparated,
         cl::desc("Further files: resolved (what names stand for), typed (each tensor with its dimensions), attn, "
                  "fused, scheduled, loops, llvm, asm, shared: NAME.so (obj is always written)"),
         cl::value_desc("kind,…"), cl::cat(category), cl::sub(compileCommand));
cl::opt<std::string> cudaPath("cuda-path", cl::desc("CUDA toolkit whose bin/ptxas makes cubins (default: found)"),
                              cl::value_desc("folder"), cl::cat(category), cl::sub(compileCommand), cl::sub(runCommand),
                              cl::sub(benchCommand), cl::sub(explainCommand));
cl::opt<bool> ptxOnly("ptx-only", cl::desc("GPU targets: PTX, no cubins; needs no ptxas, the GPU's driver compiles it"),
                      cl::cat(category), cl::sub(compileCommand), cl::sub(runCommand), cl::sub(benchCommand),
                      cl::sub(explainCommand));
cl::opt<bool> fatbin("fatbin", cl::desc("GPU targets: NAME.fatbin too, with all cubins and PTX; needs fatbinary"),
                     cl::cat(category), cl::sub(compileCommand));
cl::list<std::string> schedule(
    "schedule", cl::CommaSeparated,
    cl::desc(
        "Parts of the schedule that the cost model does not choose. Processors: tile_rows, tile_vectors, row_block, "
        "key_block, rows_per_item, keys_per_item, strategyN=NAME for the N-th term that explain "
        "lists (explain says which fit); GPUs: rows, keys, stages (1 to 4), "
        "queries=registers or queries=shared, columns of the values, warp_rows, key_parts, engine, copies=cp_async or "
        "copies=tma"),
    cl::value_desc("NAME=VALUE,…"), cl::cat(category), cl::sub(compileCommand), cl::sub(runCommand),
    cl::sub(benchCommand), cl::sub(explainCommand), cl::sub(reportCommand));
cl::opt<std::string> dependencyFile("depfile", cl::desc("Dependency file in Make's format"), cl::value_desc("file"),
                                    cl::cat(category), cl::sub(compileCommand));

cl::opt<std::string> dependencyTarget("depfile-target",
                                      cl::desc("What the dependency file says is made (default: all files): one name "
                                               "that stays, where the files' names change with the spec"),
                                      cl::value_desc("file"), cl::cat(category), cl::sub(compileCommand));
cl::opt<std::string> prefix("prefix",
                            cl::desc("What all kernels' names, files and symbols begin with: one spec at several sizes "
                                     "in one program"),
                            cl::value_desc("text"), cl::cat(category), cl::sub(compileCommand));
cl::list<std::string> names("name", cl::desc("What a kernel of the spec is called instead"), cl::value_desc("OLD=NEW"),
                            cl::cat(category), cl::sub(compileCommand));
cl::list<std::string> chosenKernels("kernel", cl::CommaSeparated,
                                    cl::desc("Which kernels of the spec, by their names in its text (default: all)"),
                                    cl::value_desc("name,…"), cl::cat(category), cl::sub(compileCommand));

cl::opt<std::string> jobs("jobs",
                          cl::desc("How many specs, kernels and targets to compile at a time (also -j N; default: as "
                                   "many as there are processors)"),
                          cl::value_desc("n"), cl::cat(category), cl::sub(compileCommand));
cl::alias jobsInShort("j", cl::desc("Alias for --jobs"), cl::aliasopt(jobs), cl::Prefix, cl::cat(category));

cl::list<std::string> sizes("size", cl::desc("Value of a run-time size; else taken from the inputs, else 1"),
                            cl::value_desc("NAME=VALUE"), cl::cat(category), cl::sub(runCommand), cl::sub(benchCommand),
                            cl::sub(explainCommand), cl::sub(plotCommand), cl::sub(reportCommand));
cl::list<std::string> origins("origin", cl::desc("Where a part of a larger layer begins: q0, k0 or head0; else 0"),
                              cl::value_desc("NAME=VALUE"), cl::cat(category), cl::sub(runCommand),
                              cl::sub(benchCommand), cl::sub(plotCommand), cl::sub(reportCommand));
cl::opt<std::string> picture("o", cl::desc("Where to write the picture (bench: of a sweep), or the page"),
                             cl::value_desc("file"), cl::cat(category), cl::sub(benchCommand), cl::sub(plotCommand),
                             cl::sub(reportCommand));
cl::opt<std::string> sweep(
    "sweep",
    cl::desc("Time at several values of a param, a size or a length of the text, or of threads, beside plain attention "
             "and the roofline: FROM:TO doubles, FROM:TO:STEP adds, A,B,C is a list; -o draws it"),
    cl::value_desc("NAME=FROM:TO"), cl::cat(category), cl::sub(benchCommand));
cl::list<std::string> inputs(
    "input",
    cl::desc(
        "An argument's values; others are seeded as the spec declares them ('~'): normal numbers, or indices in range"),
    cl::value_desc("NAME=FILE.npy"), cl::cat(category), cl::sub(runCommand), cl::sub(benchCommand),
    cl::sub(explainCommand), cl::sub(plotCommand), cl::sub(reportCommand));
cl::list<std::string> outputs("output", cl::desc("Where to write the result; with a name one of several"),
                              cl::value_desc("[NAME=]FILE.npy"), cl::cat(category), cl::sub(runCommand));
cl::list<std::string> expected("expect",
                               cl::desc("Compare with these values instead of the float64 reference; with a name one "
                                        "of several results"),
                               cl::value_desc("[NAME=]FILE.npy"), cl::cat(category), cl::sub(runCommand));
cl::opt<std::string> kernel("kernel", cl::desc("Which kernel, where the spec has several"), cl::value_desc("name"),
                            cl::cat(category), cl::sub(runCommand), cl::sub(benchCommand), cl::sub(explainCommand),
                            cl::sub(plotCommand), cl::sub(reportCommand));
cl::opt<std::string> head("head", cl::desc("Which head's scores and weights to draw, counted from 0 (default 0)"),
                          cl::value_desc("n"), cl::cat(category), cl::sub(plotCommand), cl::sub(reportCommand));
cl::opt<std::string> tolerance("tolerance",
                               cl::desc("Largest error, as a share of the largest absolute value (default: 4 times "
                                        "the most that roundings to the layer's types do to it in eight evaluations)"),
                               cl::value_desc("x"), cl::cat(category), cl::sub(runCommand), cl::sub(benchCommand));
cl::opt<std::string> seed("seed", cl::desc("Seed of the inputs and of the sample of rows (default 1)"),
                          cl::value_desc("n"), cl::cat(category), cl::sub(runCommand), cl::sub(benchCommand),
                          cl::sub(plotCommand), cl::sub(reportCommand));
cl::opt<std::string> seeds("seeds", cl::desc("So many seeds, one after the other, from --seed on (default 1)"),
                           cl::value_desc("n"), cl::cat(category), cl::sub(runCommand));
cl::opt<std::string> repeats("repeats",
                             cl::desc("So many calls with the same operands: all must return the same bytes (default "
                                      "1)"),
                             cl::value_desc("n"), cl::cat(category), cl::sub(runCommand));
cl::opt<std::string> rows("rows", cl::desc("Rows of the result to check (default: all where that is cheap)"),
                          cl::value_desc("n"), cl::cat(category), cl::sub(runCommand), cl::sub(benchCommand));
cl::opt<std::string> threads("threads", cl::desc("Threads to run on (default 1)"), cl::value_desc("n"),
                             cl::cat(category), cl::sub(runCommand), cl::sub(benchCommand));
cl::opt<std::string> seconds("seconds", cl::desc("Time to spend on each kernel (default 1)"), cl::value_desc("s"),
                             cl::cat(category), cl::sub(benchCommand));
cl::opt<bool> unfused("unfused", cl::desc("run: the generic path, without fusion; bench: time it too"),
                      cl::cat(category), cl::sub(runCommand), cl::sub(benchCommand));
cl::opt<bool> prepared("prepared",
                       cl::desc("Make what const operands alone determine before the call (NAME_prepare), not in it"),
                       cl::cat(category), cl::sub(runCommand), cl::sub(benchCommand));
cl::opt<bool> plain("plain", cl::desc("Time attention of the same sizes without positions too, in turns"),
                    cl::cat(category), cl::sub(benchCommand));
cl::opt<bool> besideRead("read", cl::desc("Time a plain read of all operands beside each call: what memory allows"),
                         cl::cat(category), cl::sub(benchCommand));
cl::opt<bool> json("json", cl::desc("Print JSON"), cl::cat(category), cl::sub(benchCommand), cl::sub(explainCommand),
                   cl::sub(schemesCommand));

cl::opt<bool> inPlace("i", cl::desc("Write each file anew where that changes it"), cl::cat(category),
                      cl::sub(formatCommand));
cl::opt<bool> check("check", cl::desc("Write nothing; say which files would change, and exit with 1 if one would"),
                    cl::cat(category), cl::sub(formatCommand));

cl::opt<std::string> schemeName(cl::Positional, cl::desc("[NAME]"), cl::cat(category), cl::sub(schemesCommand));

cl::opt<std::string> machine(cl::Positional, cl::desc("[NAME or MY.json]"), cl::cat(category), cl::sub(targetCommand));
cl::opt<bool> probe("probe", cl::desc("Measure this machine, for about a second; best while nothing else runs"),
                    cl::cat(category), cl::sub(targetCommand));
cl::opt<std::string> machineFile("o", cl::desc("Where to write the machine file (default: standard output)"),
                                 cl::value_desc("file.json"), cl::cat(category), cl::sub(targetCommand));

cl::list<std::string> dialectPlugins("load-dialect-plugin",
                                     cl::desc("A shared object with functions, term classes or dialects of one's own"),
                                     cl::value_desc("file.so"), cl::cat(category), cl::sub(compileCommand),
                                     cl::sub(runCommand), cl::sub(benchCommand), cl::sub(explainCommand),
                                     cl::sub(plotCommand), cl::sub(reportCommand));
cl::list<std::string> passPlugins("load-pass-plugin", cl::desc("A shared object with passes of one's own"),
                                  cl::value_desc("file.so"), cl::cat(category), cl::sub(compileCommand),
                                  cl::sub(runCommand), cl::sub(benchCommand), cl::sub(explainCommand),
                                  cl::sub(plotCommand), cl::sub(reportCommand));
cl::opt<std::string> passes("passes", cl::desc("Passes to run on each kernel before fusion, as in --pass-pipeline"),
                            cl::value_desc("pipeline"), cl::cat(category), cl::sub(compileCommand), cl::sub(runCommand),
                            cl::sub(benchCommand), cl::sub(explainCommand), cl::sub(plotCommand),
                            cl::sub(reportCommand));

struct KnownCommand {
  Command command;
  cl::SubCommand *sub;
};

const KnownCommand kCommands[] = {
    {Command::Compile, &compileCommand}, {Command::Run, &runCommand},       {Command::Bench, &benchCommand},
    {Command::Explain, &explainCommand}, {Command::Plot, &plotCommand},     {Command::Report, &reportCommand},
    {Command::Schemes, &schemesCommand}, {Command::Format, &formatCommand}, {Command::Target, &targetCommand},
};

std::string knownGpus() {
  std::string names;
  for (const gpu::GpuTarget &known : gpu::knownGpuTargets())
    names += (names.empty() ? "" : ", ") + known.name;
  return names;
}

std::string knownProcessors() {
  std::string names;
  for (const Target &known : knownTargets())
    names += (names.empty() ? "" : ", ") + known.name;
  return names;
}

/// Checks that no option with one value is given twice: only one of the values would count, and it is unclear which is
/// meant.
bool eachIsGivenOnce(cl::SubCommand &command) {
  for (auto &[name, option] : command.OptionsMap)
    if (option->getNumOccurrences() > 1 && option->getValueExpectedFlag() == cl::ValueRequired &&
        (option->getNumOccurrencesFlag() == cl::Optional || option->getNumOccurrencesFlag() == cl::Required))
      return usage(fmt::format("{}{} is given twice", name.size() == 1 ? "-" : "--", std::string(name)));
  return true;
}

/// Rejects '-' as a path: many programs use it for standard output, and nobody means a file or a folder of that name.
bool isPath(const char *option, llvm::StringRef path, const char *what) {
  if (path != "-")
    return true;
  return usage(fmt::format("{}: '-' does not stand for standard output here; {} ('./-' is a name too)", option, what));
}

/// Reads the options of `skewer target`.
bool fillTarget(Options &options) {
  options.machine = machine;
  options.machineFile = machineFile;
  options.probe = probe;
  if (probe && !options.machine.empty())
    return usage("--probe measures this machine; leave '" + options.machine + "' out");
  if (!probe && options.machine.empty() && !options.machineFile.empty())
    return usage("-o: expected the name of a machine, or --probe, whose file is to be written");
  return isPath("-o", options.machineFile, "leave -o out to have the machine file printed, or name a file");
}

/// Returns whether `run` and `bench` take the target: a GPU, or processors, among which a call chooses.
bool isRunnable(const std::string &target) {
  if (target == "gpu")
    return true;
  if (gpu::isGpuName(target))
    return gpu::findGpuTarget(target).has_value();
  return llvm::all_of(llvm::split(target, ','), [](llvm::StringRef name) { return findTarget(name).has_value(); });
}

/// Reads specs and target, and checks that the command supports the target.
bool readSpecsAndTarget(Options &options, int &exitCode) {
  options.specs.assign(specs.begin(), specs.end());
  if (options.command == Command::Run || options.command == Command::Plot || options.command == Command::Report)
    options.specs = {spec};
  if (options.command != Command::Schemes && (options.specs.empty() || options.specs.front().empty()))
    return usage("a spec is missing: expected the file of a layer, such as layer.attn");
  if (llvm::is_contained(options.specs, "-") && options.command == Command::Format && inPlace)
    return usage("-i: '-' is standard input, which cannot be written anew; leave -i out to have the text printed");
  if (llvm::is_contained(options.specs, "-") && options.command != Command::Format)
    return usage("'-' does not stand for standard input; name a file, or pipe the spec into /dev/stdin");
  options.target = target;
  if (!readMachineFiles(options.target, exitCode))
    return false;
  if ((options.command == Command::Run || options.command == Command::Bench) && !isRunnable(options.target))
    return usage(fmt::format("--target: expected host, other processors whose code runs here ({}), a machine file "
                             "MY.json, gpu or one of the GPUs "
                             "{}, found '{}'",
                             knownProcessors(), knownGpus(), options.target));
  if (options.command != Command::Compile && options.isForGpu() && (unfused || plain || prepared || besideRead))
    return usage(fmt::format("{} is for processors; leave --target={} out",
                             unfused      ? "--unfused"
                             : plain      ? "--plain"
                             : besideRead ? "--read"
                                          : "--prepared",
                             options.target));
  return true;
}

/// Reads the new names of kernels, and the choice of kernels to compile.
bool readNames(Options &options) {
  for (const std::string &text : names) {
    std::string old;
    llvm::StringRef made;
    if (!split("--name", text, old, made))
      return false;
    if (!options.names.emplace(old, made.str()).second)
      return usage(fmt::format("--name {} is given twice", old));
  }
  options.prefix = prefix;
  options.chosenKernels.assign(chosenKernels.begin(), chosenKernels.end());
  options.dependencyTarget = dependencyTarget;
  if (!options.dependencyTarget.empty() && options.dependencyFile.empty())
    return usage("--depfile-target: --depfile is missing: expected the dependency file to be written");
  return true;
}

/// Reads the files and folders that are written, and the kinds of output of a compilation.
bool readOutputs(Options &options) {
  options.outputFolder = outputFolder;
  options.dependencyFile = dependencyFile;
  options.picture = picture;
  bool drawsFile = options.command == Command::Plot || options.command == Command::Report;
  if (options.command == Command::Compile ? outputFolder.empty() : drawsFile && picture.empty())
    return usage(drawsFile ? "-o is missing: expected the file to be written, such as layer.svg or layer.html"
                           : "-o is missing: expected the folder for NAME.o, NAME.h and NAME.json, such as out/");
  if (!isPath("-o", options.outputFolder, "object file, header and manifest go into a folder: name one") ||
      !isPath("--depfile", options.dependencyFile, "name a file") ||
      !isPath("-o", options.picture, "name a file for the picture, such as picture.svg"))
    return false;
  return readKinds(emit, options.emit);
}

/// Reads the files for a run's operands and results.
bool readTensorFiles(Options &options) {
  for (const std::string &text : inputs) {
    std::string name;
    llvm::StringRef file;
    if (!split("--input", text, name, file))
      return false;
    if (!options.inputs.emplace(name, file.str()).second)
      return usage(fmt::format("--input {} is given twice", name));
  }
  for (auto &[list, option, files] :
       {std::tuple(&outputs, "--output", &options.outputs), std::tuple(&expected, "--expect", &options.expected)})
    for (const std::string &text : *list) {
      llvm::StringRef name, file = text;
      if (file.contains('='))
        std::tie(name, file) = file.split('=');
      if (file.empty())
        return usage(fmt::format("{} expects FILE or NAME=FILE, found '{}'", option, text));
      if (!isPath(option, file, "name a .npy file"))
        return false;
      if (!files->emplace(name.str(), file.str()).second)
        return usage(fmt::format("{} {}is given twice", option, name.empty() ? "" : name.str() + " "));
    }
  return true;
}

/// Reads an option's number if it is given; returns false after an error.
template <typename Number> bool readNumber(const cl::opt<std::string> &option, Number &to) {
  if (!option.getNumOccurrences())
    return true;
  llvm::StringRef text = option.getValue();
  bool isWrong = false;
  if constexpr (std::is_floating_point_v<Number>)
    isWrong = text.getAsDouble(to);
  else
    isWrong = text.getAsInteger(10, to);
  return !isWrong || usage(fmt::format("--{}: expected a {}number{}, found '{}'", option.ArgStr.str(),
                                       std::is_floating_point_v<Number> ? "" : "whole ",
                                       std::is_unsigned_v<Number> ? " that is not negative" : "", text.str()));
}

/// Reads numbers with bounds: jobs, tolerance, seeds, repeats, rows, threads, seconds.
bool readBoundedNumbers(Options &options) {
  options.jobs = llvm::hardware_concurrency().compute_thread_count();
  if (tolerance.getNumOccurrences()) {
    double value;
    if (llvm::StringRef(tolerance).getAsDouble(value) || !(value >= 0))
      return usage(
          fmt::format("--tolerance: expected a number that is not negative, found '{}'", tolerance.getValue()));
    options.tolerance = value;
  }
  if (!readNumber(head, options.head) || !readNumber(seed, options.seed) || !readNumber(seeds, options.seeds) ||
      !readNumber(repeats, options.repeats) || !readNumber(rows, options.rows) ||
      !readNumber(threads, options.threads) || !readNumber(seconds, options.seconds) ||
      !readNumber(jobs, options.jobs))
    return false;
  if (options.head < 0)
    return usage(fmt::format("--head: expected a number that is not negative, found {}", options.head));
  if (options.seeds < 1 || options.seeds > 1000000)
    return usage(fmt::format("--seeds: expected 1 to 1000000, found {}", options.seeds));
  if (options.repeats < 1 || options.repeats > 1000000)
    return usage(fmt::format("--repeats: expected 1 to 1000000, found {}", options.repeats));
  if (options.seeds > 1 && !(options.outputs.empty() && options.expected.empty()))
    return usage("--seeds: a result of --output or --expect has one seed; choose it with --seed");
  if (options.rows < 0)
    return usage("--rows: expected a number that is not negative");
  if (options.threads < 1 || options.threads > kMostThreads)
    return usage(fmt::format("--threads: expected 1 to {}, found {}", kMostThreads, options.threads));
  if (options.jobs < 1 || options.jobs > kMostThreads)
    return usage(fmt::format("--jobs: expected 1 to {}, found {}", kMostThreads, options.jobs));
  if (!(options.seconds >= 0) || options.seconds > 3600)
    return usage("--seconds: expected 0 to 3600");
  return true;
}

/// Reads --sweep, and checks that no other option gives the swept name a value.
bool readSweepOption(Options &options, int &exitCode) {
  if (!sweep.getNumOccurrences())
    return options.command != Command::Bench || options.picture.empty() ||
           usage("-o: the picture is that of a sweep; add --sweep NAME=FROM:TO, or leave -o out");
  if (!readSweep(sweep.getValue(), options.sweep, exitCode))
    return false;
  const std::string &name = options.sweep->name;
  if (options.isForGpu())
    return usage(fmt::format("--sweep is for processors; leave --target={} out", options.target));
  for (auto [option, isGiven] :
       {std::pair("-D", options.parameters.count(name) > 0), std::pair("--size", options.sizes.count(name) > 0)})
    if (isGiven)
      return usage(fmt::format("--sweep {0} gives {0} its values; leave {1} {0}=… out", name, option));
  if (name == kThreads && threads.getNumOccurrences())
    return usage("--sweep threads gives the number of threads; leave --threads out");
  int64_t most = *llvm::max_element(options.sweep->values);
  if (name == kThreads && most > kMostThreads)
    return usage(fmt::format("--sweep threads: expected 1 to {}, found {}", kMostThreads, most));
  return true;
}

bool fill(Options &options, int &exitCode) {
  if (options.command == Command::Target)
    return fillTarget(options);
  options.scheme = schemeName;
  options.inPlace = inPlace;
  options.check = check;
  if (inPlace && check)
    return usage("-i writes files and --check writes none; leave one out");
  if (!readSpecsAndTarget(options, exitCode) || !readOutputs(options) || !readNames(options) ||
      !readParameters(parameters, options.parameters, exitCode) ||
      !readNumbers("--size", sizes, options.sizes, exitCode) ||
      !readNumbers("--origin", origins, options.origins, exitCode) ||
      !readSchedule(schedule, options.cpuSchedule, options.gpu.schedule) || !readTensorFiles(options) ||
      !readBoundedNumbers(options) || !readSweepOption(options, exitCode))
    return false;
  options.gpu.cudaPath = cudaPath;
  options.gpu.ptxOnly = ptxOnly;
  options.fatbin = fatbin;
  options.kernel = kernel;
  options.dialectPlugins.assign(dialectPlugins.begin(), dialectPlugins.end());
  options.passPlugins.assign(passPlugins.begin(), passPlugins.end());
  options.passes = passes;
  options.unfused = unfused;
  options.prepared = prepared;
  options.plain = plain;
  options.besideRead = besideRead;
  options.json = json;
  return true;
}

/// Returns the command that the first word names; an error suggests the nearest one.
const KnownCommand *commandOf(llvm::StringRef word) {
  const KnownCommand *nearest = nullptr;
  unsigned distance = std::min<unsigned>(4, (word.size() + 1) / 2); // none for a very different word
  for (const KnownCommand &known : kCommands) {
    if (known.sub->getName() == word)
      return &known;
    unsigned d = word.edit_distance(known.sub->getName(), true, 4);
    if (d < distance)
      distance = d, nearest = &known;
  }
  usage(fmt::format("unknown command '{}'{}", word.str(),
                    nearest ? fmt::format("; did you mean '{}'?", nearest->sub->getName().str())
                            : std::string("; 'skewer --help' lists the commands")));
  return nullptr;
}

} // namespace

std::optional<Options> parseOptions(int argc, char **argv, int &exitCode) {
  exitCode = kUsage;
  cl::SetVersionPrinter([](llvm::raw_ostream &out) { out << "skewer " SKEWER_VERSION "\n"; });
  for (const KnownCommand &known : kCommands)
    cl::HideUnrelatedOptions(category, *known.sub);
  cl::HideUnrelatedOptions(category);
  if (argc < 2) {
    llvm::errs() << overview();
    return std::nullopt;
  }
  std::vector<const char *> words(argv, argv + argc);
  if (llvm::StringRef(words[1]) == "version")
    words[1] = "--version";
  if (llvm::StringRef(words[1]) == "help") {
    if (words.size() > 3) {
      usage("help: expected one command, as in 'skewer help compile'");
      return std::nullopt;
    }
    words.erase(words.begin() + 1);
    words.push_back("--help");
  }
  const KnownCommand *command = nullptr;
  if (words[1][0] != '-' && !(command = commandOf(words[1])))
    return std::nullopt;
  for (llvm::StringRef text : llvm::drop_begin(words, 2)) // rejects -oout
    if (command && text.starts_with("-o") && !text.starts_with("-o=") && text.size() > 2 &&
        command->sub->OptionsMap.count("o") && !command->sub->OptionsMap.count(text.drop_front().split('=').first)) {
      usage(fmt::format("'{}': expected a space behind -o, as in '-o {}'", text.str(), text.drop_front(2).str()));
      return std::nullopt;
    }
  std::string wrong;
  llvm::raw_string_ostream stream(wrong);
  if (!cl::ParseCommandLineOptions(int(words.size()), words.data(), command ? overviewOf(command->command) : overview(),
                                   &stream)) {
    sayOptionErrors(wrong, command ? command->sub->getName() : "");
    return std::nullopt;
  }
  if (!command) {
    usage("a command is missing; 'skewer --help' lists them");
    return std::nullopt;
  }
  Options options;
  options.command = command->command;
  if (!eachIsGivenOnce(*command->sub) || !fill(options, exitCode))
    return std::nullopt;
  exitCode = kDone;
  return options;
}

} // namespace skewer::driver
