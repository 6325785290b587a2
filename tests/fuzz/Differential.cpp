// The pipeline of `skewer run`, with the result compared in several ways.
#include "tests/fuzz/Differential.h"
#include "codegen/Compiler/Compiler.h"
#include "tests/fuzz/Dice.h"
#include "tests/fuzz/Export.h"
#include "tests/fuzz/OnGpu.h"
#include "tests/fuzz/Rename.h"
#include "tools/skewer/Check.h"
#include "tools/skewer/Execution.h"
#include <cmath>
#include <cstring>
#include <fmt/format.h>
#include <set>

namespace skewer::fuzz {

using namespace driver;

const char *nameOf(Failure failure) {
  static const char *const names[] = {"none",    "spec",    "compile", "call",  "reference", "mismatch", "not-finite",
                                      "threads", "unfused", "names",   "fault", "crash",     "timeout"};
  return names[static_cast<int>(failure)];
}

/// The host, and sometimes an older processor that it can stand in for: other vector lengths, tiles and blocks.
static std::string targetFor(uint64_t seed) {
  const Target host = hostTarget();
  uint64_t turn = seed % 8;
  if (turn == 5 && host.lanes >= 8)
    return "x86-64-v3";
  return turn == 7 ? "x86-64-v2" : "host";
}

Plan planFor(uint64_t seed) {
  Dice dice(seed ^ 0x706c616e);
  Plan plan;
  plan.target = targetFor(seed);
  plan.operandSeed = seed + 1;
  plan.threads = dice.chance(25);
  plan.unfused = dice.chance(15);
  // Those from 700 on are about what hidden keys count for (RandomSpec.cpp), which a NaN shows best.
  if (dice.chance(seed < 700 ? 15 : 50))
    plan.poison = dice.next();
  plan.renamed = dice.chance(50);
  return plan;
}

namespace {

class Judge {
public:
  Judge(const Subject &subject, const Plan &plan) : subject(subject), plan(plan) {}

  Outcome run() {
    auto target = findTarget(plan.target);
    auto compilation = Compilation::createFromText(subject.text, "layer.attn", {}, *target);
    if (!compilation)
      return fail(Failure::Spec, "the spec was refused");
    for (const Kernel &kernel : compilation->kernels)
      if (outcome.failure == Failure::None)
        run(*compilation, kernel);
    return outcome;
  }

private:
  Outcome run(Compilation &compilation, const Kernel &kernel) {
    compilation.remarks.clear();
    auto scheduled = compilation.schedule(kernel);
    if (!scheduled)
      return fail(Failure::Compile, "fusion or scheduling failed");
    note(factsOf(kernel, *scheduled));
    noteDropped(compilation.remarks);
    if (plan.renamed && !compareRenamed(kernel, *scheduled))
      return outcome;
    if (plan.onlyFusion)
      return outcome;

    KernelPlan signature = signatureOf(kernel.einsumFunction());
    std::map<std::string, int64_t> sizes;
    for (const std::string &name : signature.sizes) {
      auto given = subject.sizes.find(name);
      sizes[name] = given == subject.sizes.end() ? 2 : given->second;
    }
    auto operands = prepareOperands(signature, {}, sizes, plan.operandSeed, subject.origins);
    if (!operands)
      return fail(Failure::Spec, llvm::toString(operands.takeError()));
    outcome.operands = static_cast<int64_t>(signature.inputs.size());
    mlir::OwningOpRef<mlir::ModuleOp> fused;
    std::unique_ptr<Execution> execution;
    if (plan.gpu) {
      fused = compilation.fuse(kernel, nullptr, /*forGpu=*/true);
      if (!fused)
        return fail(Failure::Compile, "fusion failed");
    } else {
      execution = Execution::create(compilation, kernel, Execution::Form::Fused);
      if (!execution)
        return fail(Failure::Compile, "lowering failed");
    }
    auto judgeCall = [&](const Operands &called) {
      tolerances.clear();
      return plan.gpu ? runOnGpu(compilation, kernel, *fused, called) : runHere(kernel, *execution, called);
    };
    isPoisoned = false, wantsTolerance = true;
    if (plan.poison)
      poison(signature, *operands, *plan.poison);
    if (!judgeCall(*operands))
      return outcome;
    if (plan.threads && !compareThreads(*operands, *execution))
      return outcome;
    if (plan.unfused && outcome.isFused)
      compareUnfused(compilation, kernel, *operands, *execution);
    wantsTolerance = false;
    for (int64_t number = 0; plan.eachPoisoned && outcome.failure == Failure::None && number < outcome.operands;
         ++number) {
      Operands poisoned = *operands;
      isPoisoned = false;
      poison(signature, poisoned, number);
      // A crash says no more than what was printed before it.
      llvm::errs() << "then with a NaN in operand " << number << "\n";
      if (!judgeCall(poisoned))
        outcome.message = fmt::format("with a NaN in operand {}: {}", number, outcome.message);
    }
    return outcome;
  }

  /// Calls the kernel and compares its results; returns false after a failure.
  bool runHere(const Kernel &kernel, Execution &execution, const Operands &operands) {
    ThreadPool one(1);
    if (!execution.bind(operands, one) || !execution.run()) {
      fail(Failure::Call, "the call failed");
      return false;
    }
    auto resultOf = [&](size_t number) { return execution.result(number); };
    if (!compareToReference(kernel, operands, execution.plan(), resultOf))
      return false;
    if (!plan.exportFolder.empty()) {
      auto arrayOf = [&](size_t number) { return execution.resultArray(number); };
      if (llvm::Error error = writeCase(fmt::format("{}/{}", plan.exportFolder, kernel.name),
                                        {subject, execution.plan(), kernel.name, kernel.einsumFunction(), operands,
                                         *llvm::max_element(tolerances), arrayOf})) {
        fail(Failure::Reference, llvm::toString(std::move(error)));
        return false;
      }
    }
    return true;
  }

  bool runOnGpu(Compilation &compilation, const Kernel &kernel, mlir::ModuleOp fused, const Operands &operands) {
    GpuRun gpu = fuzz::runOnGpu(compilation, kernel, fused, operands, *plan.gpu);
    if (gpu.failure != Failure::None) {
      fail(gpu.failure, gpu.message);
      return false;
    }
    if (outcome.isFused && !gpu.isFused) {
      outcome.isFused = false;
      outcome.generic = gpu.reason;
    }
    auto resultOf = [&](size_t number) { return gpu.results[number].data(); };
    return compareToReference(kernel, operands, gpu.plan, resultOf, /*isOnGpu=*/true, gpu.roundsVectors ? 2 : 1);
  }

  Outcome fail(Failure failure, std::string message) {
    outcome.failure = failure;
    outcome.message = std::move(message);
    return outcome;
  }

  void note(const KernelFacts &facts) {
    outcome.classes.clear();
    outcome.isFused = facts.generic.empty();
    outcome.generic = facts.generic;
    for (const AttentionFacts &attention : facts.attentions)
      for (const TermFacts &term : attention.terms)
        outcome.classes.push_back(term.className);
  }

  /// A term of the query alone is dropped, because softmax is invariant to it, and so is a NaN in its operands. Its
  /// line may be that of a sum, so that what a dropped line names counts as dropped too.
  void noteDropped(const std::vector<Remark> &remarks) {
    llvm::SmallVector<llvm::StringRef> lines;
    llvm::StringRef(subject.text).split(lines, '\n');
    std::set<size_t> numbers;
    for (const Remark &remark : remarks)
      if (remark.text.find("depends on the query only") != std::string::npos) {
        outcome.classes.push_back("query only");
        numbers.insert(remark.place.lineOfSpec() - 1);
      }
    for (size_t number = lines.size(); number-- > 0;) {
      auto [name, value] = lines[number].split(" = ");
      if (numbers.count(number) || (!dropped.empty() && !value.empty() && isDropped(name.trim())))
        dropped += lines[number].str() + "\n";
    }
    if (!numbers.empty() && dropped.empty())
      dropped = subject.text;
  }
  bool isDropped(llvm::StringRef operand) const {
    // Whether its name stands in such a line: q, t0, u1.
    llvm::StringRef text = dropped;
    for (size_t at = text.find(operand); at != llvm::StringRef::npos; at = text.find(operand, at + 1)) {
      bool begins = at == 0 || !llvm::isAlnum(text[at - 1]);
      bool ends = at + operand.size() == text.size() || !llvm::isAlnum(text[at + operand.size()]);
      if (begins && ends)
        return true;
    }
    return false;
  }

  /// One element of an operand is NaN, of the chosen one if it can be, else of one after it.
  void poison(const KernelPlan &signature, Operands &operands, uint64_t number) {
    Dice dice(number);
    for (size_t k = 0; k < operands.inputs.size() && !isPoisoned; ++k) {
      size_t chosen = (number + k) % operands.inputs.size();
      const TensorArgument &input = signature.inputs[chosen];
      Array &array = operands.inputs[chosen];
      if (input.type == ElementType::I32 || input.origin || isDropped(input.name) || array.values.empty())
        continue;
      array.values[dice.below(static_cast<int64_t>(array.values.size()))] = std::nan("");
      isPoisoned = true;
    }
  }

  bool compareToReference(const Kernel &kernel, const Operands &operands, const KernelPlan &made,
                          llvm::function_ref<const void *(size_t)> resultOf, bool isOnGpu = false, double room = 1) {
    for (size_t number = 0; number < made.outputs.size() && outcome.failure == Failure::None; ++number) {
      ElementType type = made.outputs[number].type;
      const void *got = resultOf(number);
      Judgement how{/*rows=*/1 << 30, plan.operandSeed, /*flops=*/0, isOnGpu};
      // Else the tolerance itself is asked for: the generic path is compared under it, and a case is exported with it.
      how.stopsWithin = !plan.wholeTolerance && plan.exportFolder.empty() && !(plan.unfused && wantsTolerance);
      auto comparison = compareWithReference(kernel.einsumFunction(), operands, type, got, how, number);
      if (!comparison) {
        fail(Failure::Reference, llvm::toString(comparison.takeError()));
        return false;
      }
      double error = comparison->error;
      // The outcome reports the result whose error is the largest share of its tolerance.
      double tolerance = room * comparison->tolerance;
      tolerances.push_back(tolerance);
      if (number == 0 || error * outcome.tolerance > outcome.error * tolerance) {
        outcome.error = error;
        outcome.tolerance = tolerance;
      }
      if (comparison->mismatches)
        fail(Failure::NotFinite, fmt::format("{} elements are NaN or infinite on one side only; {}",
                                             comparison->mismatches, comparison->where));
      else if (!(error <= tolerance))
        fail(Failure::Mismatch,
             fmt::format("result {}: error {:.3g} of the largest value, tolerance {:.3g}; worst at {}", number, error,
                         tolerance, comparison->where));
    }
    return outcome.failure == Failure::None;
  }

  bool compareThreads(const Operands &operands, Execution &execution) {
    auto bytes = [&] {
      std::vector<char> all;
      for (auto [number, output] : llvm::enumerate(execution.plan().outputs)) {
        const char *data = static_cast<const char *>(execution.result(number));
        all.insert(all.end(), data, data + *elementsOf(operands.outputShapes[number]) * bytesOf(output.type));
      }
      return all;
    };
    std::vector<char> serial = bytes();
    ThreadPool three(3);
    if (!execution.bind(operands, three) || !execution.run()) {
      fail(Failure::Call, "the call with three threads failed");
      return false;
    }
    std::vector<char> parallel = bytes();
    // NaN has no bits of its own.
    if (!isPoisoned && std::memcmp(serial.data(), parallel.data(), serial.size()) != 0)
      fail(Failure::Threads, "three threads give other bits than one");
    return outcome.failure == Failure::None;
  }

  /// Compares the lowered modules of the layer and of the same layer with other names of axes, letter by letter. If
  /// they are equal, so is every byte of the objects.
  bool compareRenamed(const Kernel &kernel, mlir::ModuleOp scheduled) {
    auto target = findTarget(plan.target);
    auto other = Compilation::createFromText(withOtherAxisNames(subject.text), "layer.attn", {}, *target);
    if (!other) {
      fail(Failure::Names, "the spec is refused with other names of axes");
      return false;
    }
    for (const Kernel &renamed : other->kernels)
      if (renamed.name == kernel.name)
        if (auto module = other->schedule(renamed);
            !module || Compilation::textOf(*module) != Compilation::textOf(scheduled))
          fail(Failure::Names, "other names of axes make another kernel:\n" + withOtherAxisNames(subject.text));
    return outcome.failure == Failure::None;
  }

  void compareUnfused(Compilation &compilation, const Kernel &kernel, const Operands &operands, Execution &fused) {
    auto unfused = Execution::create(compilation, kernel, Execution::Form::Unfused);
    if (!unfused) {
      fail(Failure::Compile, "lowering without fusion failed");
      return;
    }
    ThreadPool one(1);
    if (!unfused->bind(operands, one) || !unfused->run()) {
      fail(Failure::Call, "the call of the unfused kernel failed");
      return;
    }
    for (auto [number, output] : llvm::enumerate(unfused->plan().outputs)) {
      Array values = fused.resultArray(number);
      Comparison comparison = compareWith(values, output.type, unfused->result(number));
      // Both may be off by the tolerance, in opposite directions; the generic path rounds a few times even where the
      // fused kernel hardly does.
      constexpr double kFewRoundings = 0x1p-22;
      // In a narrow type, what lies near the middle between two numbers may become either.
      double step = output.type == ElementType::F16 ? 0x1p-10 : output.type == ElementType::BF16 ? 0x1p-7 : 0;
      if (comparison.mismatches || !(comparison.error <= 2 * std::max(tolerances[number], kFewRoundings) + step))
        fail(Failure::Unfused, fmt::format("the generic path differs by {:.3g} of the largest value; worst at {}",
                                           comparison.error, comparison.where));
    }
  }

  const Subject &subject;
  const Plan &plan;
  bool isPoisoned = false;
  bool wantsTolerance = true;     // for the comparison with the generic path
  std::vector<double> tolerances; // of each result
  std::string dropped;            // lines of terms that are not computed
  Outcome outcome;
};

} // namespace

Subject subjectOf(const Spec &spec) { return {print(spec), runTimeSizes(spec), originsOf(spec)}; }

Outcome judge(const Subject &subject, const Plan &plan) {
  driver::Buffer::endAtGuardPages(plan.guardPages);
  return Judge(subject, plan).run();
}

} // namespace skewer::fuzz
