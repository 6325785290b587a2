// skewer-fuzz: random layers, compiled and judged by the float64 reference.
#include "tests/fuzz/Campaign.h"
#include "tests/fuzz/OnGpu.h"
#include "llvm/Support/CommandLine.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/raw_ostream.h"
#include <fmt/format.h>

namespace cl = llvm::cl;
using namespace skewer::fuzz;

static cl::OptionCategory category("Options");
static cl::opt<std::string> seeds("seeds", cl::desc("Seeds to try; END is not included (default 0:500)"),
                                  cl::value_desc("BEGIN:END"), cl::init("0:500"), cl::cat(category));
static cl::opt<unsigned> jobs("jobs", cl::desc("Seeds at a time (default 1)"), cl::init(1), cl::cat(category));
static cl::opt<double> seconds("seconds", cl::desc("Start no seed after this time, and say where to go on"),
                               cl::init(0), cl::cat(category));
static cl::opt<unsigned> limit("limit", cl::desc("Seconds that one seed may take (default 60)"), cl::init(60),
                               cl::cat(category));
static cl::opt<unsigned> failures("failures", cl::desc("Stop after so many failures (default 10)"), cl::init(10),
                                  cl::cat(category));
static cl::opt<bool> printOnly("print", cl::desc("Print the specs and do nothing with them"), cl::cat(category));
static cl::opt<bool> onlyFusion("only-fusion", cl::desc("Check, fuse and schedule; make no code"), cl::cat(category));
static cl::opt<bool> gpu("gpu", cl::desc("As kernels for GPUs, run by the interpreter, in f16, bf16 and f32"),
                         cl::cat(category));
static cl::opt<std::string>
    type("type", cl::desc("Type of operands and results: f32, f16 or bf16 (default: what the seed says)"),
         cl::value_desc("name"), cl::cat(category));
static cl::opt<bool> coverage("coverage",
                              cl::desc("Print what the seeds held; a class, kind of term or mask that did "
                                       "not occur, or was never fused, is a failure"),
                              cl::cat(category));
static cl::opt<bool> noShrink("no-shrink", cl::desc("Print failing specs as they are"), cl::cat(category));
static cl::opt<bool> noGuard("no-guard-pages", cl::desc("Let kernels read behind their operands"), cl::cat(category));
static cl::opt<bool> room("room", cl::desc("Say how much of its tolerance the largest error takes; takes longer"),
                          cl::cat(category));
static cl::opt<bool> quiet("quiet", cl::desc("No progress line"), cl::cat(category));
static cl::opt<std::string> save("save", cl::desc("Write small failing specs to this folder"), cl::value_desc("FOLDER"),
                                 cl::cat(category));

static cl::opt<std::string> exportTo(
    "export",
    cl::desc("Write every layer, its operands, the kernel's results and the reference's to FOLDER/SEED/KERNEL"),
    cl::value_desc("FOLDER"), cl::cat(category));
static cl::opt<std::string> specFile("spec", cl::desc("Judge this .attn file instead of seeds, in every way"),
                                     cl::value_desc("FILE"), cl::cat(category));

static bool readRange(llvm::StringRef text, Range &range) {
  auto [begin, end] = text.split(':');
  return !begin.getAsInteger(10, range.begin) && !end.getAsInteger(10, range.end) && range.begin < range.end;
}

int main(int argc, char **argv) {
  cl::HideUnrelatedOptions(category);
  if (!cl::ParseCommandLineOptions(argc, argv,
                                   "Random layers, compiled and judged by the float64 reference.\n\n"
                                   "  skewer-fuzz --seeds 0:500 --jobs 2    try these; exit code 1 if one fails\n"
                                   "  skewer-fuzz --seeds 17:18 --print     the spec of a seed\n",
                                   &llvm::errs()))
    return 2;
  CampaignOptions options;
  if (!readRange(seeds, options.seeds)) {
    llvm::errs() << "skewer-fuzz: error: --seeds expects BEGIN:END with BEGIN before END, found '" << seeds << "'\n";
    return 2;
  }
  if (!llvm::is_contained({"", "f32", "f16", "bf16"}, type.getValue())) {
    llvm::errs() << "skewer-fuzz: error: --type expects f32, f16 or bf16, found '" << type << "'\n";
    return 2;
  }
  if (printOnly) {
    for (uint64_t seed = options.seeds.begin; seed < options.seeds.end; ++seed)
      llvm::outs() << fmt::format("# seed {}\n{}\n", seed, print(specOfSeed(seed, gpu, type)));
    return 0;
  }
  options.jobs = std::max(1u, jobs.getValue());
  options.seconds = seconds;
  options.limitSeconds = limit;
  options.mostFailures = std::max(1u, failures.getValue());
  options.gpu = gpu;
  options.type = type;
  options.onlyFusion = onlyFusion;
  options.shrink = !noShrink;
  options.guardPages = !noGuard;
  options.quiet = quiet;
  options.wholeTolerance = room;
  options.saveFolder = save;
  options.exportFolder = exportTo;

  if (!specFile.empty()) {
    auto file = llvm::MemoryBuffer::getFile(specFile);
    if (!file) {
      llvm::errs() << "skewer-fuzz: error: " << specFile << ": " << file.getError().message() << "\n";
      return 2;
    }
    return judgeFile((*file)->getBuffer().str(), options) ? 1 : 0;
  }
  CampaignResult result = runCampaign(options);
  int exitCode = result.failures ? 1 : 0;
  if (coverage) {
    llvm::outs() << result.coverage.report();
    for (const std::string &gap : result.coverage.gaps(gpu)) {
      llvm::outs() << "gap: " << gap << "\n";
      exitCode = 1;
    }
  }
  llvm::outs() << fmt::format("{} seeds from {}: {} failures\n", result.next - options.seeds.begin, options.seeds.begin,
                              result.failures);
  if (result.next < options.seeds.end)
    llvm::outs() << fmt::format("stopped before seed {}; go on with --seeds {}:{}\n", result.next, result.next,
                                options.seeds.end);
  return exitCode;
}
