// Judging seeds in child processes; a failure is made small and printed with the command that repeats it.
#include "tests/fuzz/Campaign.h"
#include "passes/Schedule/Target.h"
#include "tests/fuzz/Isolate.h"
#include "tests/fuzz/OnGpu.h"
#include "tests/fuzz/Shrink.h"
#include "tools/skewer/WriteFiles.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/raw_ostream.h"
#include <chrono>
#include <fmt/format.h>
#include <sys/wait.h>
#include <unistd.h>

namespace skewer::fuzz {

Spec specOfSeed(uint64_t seed, bool forGpu, const std::string &type) {
  Spec spec = forGpu ? specForGpu(seed) : randomSpec(seed);
  if (!type.empty()) {
    spec.type = spec.tableType = type;
    normalise(spec);
  }
  return spec;
}

namespace {

double now() { return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count(); }

class Campaign {
public:
  explicit Campaign(const CampaignOptions &options) : options(options), start(now()) {}

  CampaignResult run() {
    uint64_t next = options.seeds.begin;
    while (true) {
      bool mayStart = next < options.seeds.end && result.failures < options.mostFailures &&
                      (options.seconds <= 0 || now() - start < options.seconds);
      if (mayStart && running.size() < options.jobs) {
        Child child = Child::start(subjectOf(specOf(next)), planOf(next), options.limitSeconds);
        running.emplace(child.process(), std::make_pair(next, child));
        ++next;
        continue;
      }
      if (running.empty())
        break;
      reap();
    }
    if (!options.quiet && isTerminal)
      llvm::errs() << "\r\033[K";
    result.next = next;
    return std::move(result);
  }

private:
  Spec specOf(uint64_t seed) const { return specOfSeed(seed, options.gpu, options.type); }
  Plan planOf(uint64_t seed) const {
    Plan plan = options.gpu ? planForGpu(seed) : planFor(seed);
    plan.onlyFusion = options.onlyFusion;
    plan.guardPages = options.guardPages;
    plan.wholeTolerance = options.wholeTolerance;
    if (!options.exportFolder.empty())
      plan.exportFolder = fmt::format("{}/{}", options.exportFolder, seed);
    return plan;
  }

  void reap() {
    int status = 0;
    pid_t process = waitpid(-1, &status, 0);
    auto found = running.find(process);
    if (found == running.end())
      return;
    auto [seed, child] = found->second;
    running.erase(found);
    Outcome outcome = child.finish(status);
    Spec spec = specOf(seed);
    result.coverage.add(spec, outcome);
    if (outcome.tolerance > 0 && outcome.error < 1e300)
      worst = std::max(worst, outcome.error / outcome.tolerance);
    ++done;
    if (outcome.failure != Failure::None)
      report(seed, spec, outcome);
    progress();
  }

  void progress() {
    uint64_t all = options.seeds.end - options.seeds.begin;
    if (options.quiet || (!isTerminal && done % 50 != 0))
      return;
    std::string room =
        options.wholeTolerance ? fmt::format("largest error {:.2f} of the tolerance, ", worst) : std::string();
    llvm::errs() << fmt::format("{}{}/{} seeds, {} failures, {}{:.0f} s{}", isTerminal ? "\r\033[K" : "", done, all,
                                result.failures, room, now() - start, isTerminal ? "" : "\n");
  }

  void report(uint64_t seed, Spec spec, Outcome outcome) {
    ++result.failures;
    Plan plan = planOf(seed);
    plan.exportFolder.clear();
    llvm::outs() << fmt::format("{}seed {}: {}: {}\n", isTerminal ? "\n" : "", seed, nameOf(outcome.failure),
                                outcome.message);
    if (options.shrink) {
      Failure failure = outcome.failure;
      std::string step = failure == Failure::Compile ? outcome.message : ""; // that fails
      spec = shrink(std::move(spec), [&](const Spec &smaller) {
        Outcome tried = Child::start(subjectOf(smaller), plan, options.limitSeconds).wait();
        if (tried.failure != failure || (!step.empty() && tried.message != step))
          return false;
        outcome = std::move(tried);
        return true;
      });
    }
    std::string text = print(spec);
    llvm::outs() << fmt::format("as small as it got: {}\n{}", outcome.message, text);
    llvm::outs() << fmt::format("again: skewer-fuzz --seeds {}:{}{}{}   target {}{}{}{}, operands of seed {}\n\n", seed,
                                seed + 1, plan.gpu ? " --gpu" : "",
                                options.type.empty() ? "" : " --type=" + options.type,
                                plan.gpu ? textOf(*plan.gpu) : plan.target, plan.threads ? ", threads" : "",
                                plan.unfused ? ", unfused" : "", plan.poison ? ", one NaN" : "", plan.operandSeed);
    llvm::outs().flush();
    if (options.saveFolder.empty())
      return;
    std::string path = fmt::format("{}/seed-{}.attn", options.saveFolder, seed);
    std::string why = fmt::format("# seed {}: {}\n", seed, nameOf(outcome.failure));
    if (llvm::Error error = driver::writeFiles({{path, text + why}}))
      llvm::errs() << "skewer-fuzz: error: " << llvm::toString(std::move(error)) << "\n";
  }

  const CampaignOptions &options;
  double start, worst = 0;
  uint64_t done = 0;
  bool isTerminal = isatty(STDERR_FILENO);
  std::map<pid_t, std::pair<uint64_t, Child>> running;
  CampaignResult result;
};

} // namespace

CampaignResult runCampaign(const CampaignOptions &options) { return Campaign(options).run(); }

/// The values that "--origin NAME=VALUE" gives in a file's first line.
static std::map<std::string, int64_t> originsIn(llvm::StringRef text) {
  std::map<std::string, int64_t> origins;
  llvm::SmallVector<llvm::StringRef> words;
  llvm::SplitString(text.take_until([](char c) { return c == '\n'; }), words);
  for (size_t k = 0; k + 1 < words.size(); ++k) {
    auto [name, value] = words[k + 1].split('=');
    if (words[k] == "--origin")
      value.getAsInteger(10, origins[name.str()]);
  }
  return origins;
}

/// Every target that the host can stand in for, or GPUs with tiles as their models want them and with small ones.
static std::vector<Plan> plansOfFile(const CampaignOptions &options) {
  std::vector<Plan> plans(1);
  plans[0].guardPages = options.guardPages;
  auto add = [&](auto change) {
    plans.push_back(plans[0]);
    change(plans.back());
  };
  if (options.gpu) {
    for (const char *target : {"sm_80", "sm_90a"})
      add([&](Plan &plan) { plan.gpu.emplace().target = target; });
    add([&](Plan &plan) { plan.gpu = gpu::GpuRequest{"sm_80", 16, 16, 2, false}; });
  } else {
    for (const char *target : {"host", "x86-64-v3", "x86-64-v2"})
      if (auto known = findTarget(target); known->lanes <= hostTarget().lanes)
        add([&](Plan &plan) { plan.target = target; });
  }
  plans.erase(plans.begin());
  return plans;
}

unsigned judgeFile(const std::string &text, const CampaignOptions &options) {
  unsigned failures = 0;
  for (Plan plan : plansOfFile(options)) {
    plan.threads = plan.unfused = !plan.gpu;
    plan.eachPoisoned = true;
    Outcome outcome = Child::start({text, {}, originsIn(text)}, plan, options.limitSeconds).wait();
    if (outcome.failure == Failure::None)
      continue;
    ++failures;
    llvm::outs() << fmt::format("target {}: {}: {}\n", plan.gpu ? textOf(*plan.gpu) : plan.target,
                                nameOf(outcome.failure), outcome.message);
  }
  return failures;
}

} // namespace skewer::fuzz
