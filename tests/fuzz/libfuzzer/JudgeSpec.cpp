// Specs: from text to schedules, as `skewer` does it.
#include "codegen/Compiler/Compiler.h"
#include "mlir/Parser/Parser.h"
#include "passes/Schedule/GpuMachine.h"
#include "tests/fuzz/libfuzzer/Fuzzing.h"

namespace skewer::fuzzing {

/// A refusal has a reason that is for the reader of the spec.
static void expectReason(llvm::StringRef messages, const char *step) {
  if (!messages.contains("error: "))
    finding(std::string(step) + " failed without an error", messages);
  llvm::SmallVector<llvm::StringRef> lines;
  messages.split(lines, '\n');
  for (llvm::StringRef line : lines) // the spec's own, below a message, may hold anything
    if (line.contains(": error: kernel '") && line.ends_with(" failed without giving a reason"))
      finding(std::string(step) + " failed without giving a reason", messages);
}

/// Fails if a module that is printed and parsed is printed differently: what an operation or an attribute loses in its
/// text was never verified.
static void expectRoundTrip(mlir::ModuleOp module) {
  std::string text = Compilation::textOf(module), again;
  mlir::OwningOpRef<mlir::ModuleOp> parsed;
  std::string messages = said([&] {
    parsed = mlir::parseSourceString<mlir::ModuleOp>(text, mlir::ParserConfig(module.getContext()), "printed.mlir");
  });
  if (!parsed)
    finding("what was printed cannot be parsed", messages + "\n" + text);
  again = Compilation::textOf(*parsed);
  if (again != text)
    finding("printing, parsing and printing gives another text", text + "\n" + again);
}

static bool isScheduledByHand(mlir::ModuleOp module) {
  return module
      .walk([](attn::AttentionOp attention) {
        return attention.getScheduleAttr() ? mlir::WalkResult::interrupt() : mlir::WalkResult::advance();
      })
      .wasInterrupted();
}

void judgeSpec(llvm::StringRef text, const std::string &name) {
  static const Target target = *findTarget("x86-64-v3");
  std::unique_ptr<Compilation> compilation;
  std::string messages = said([&] { compilation = Compilation::createFromText(text.str(), name, {}, target); });
  if (!compilation)
    return expectReason(messages, "reading the spec");
  for (const Kernel &kernel : compilation->kernels) {
    expectRoundTrip(*kernel.einsum);
    mlir::OwningOpRef<mlir::ModuleOp> scheduled;
    messages = said([&] { scheduled = compilation->schedule(kernel); });
    if (!scheduled && isScheduledByHand(*kernel.einsum)) {
      expectReason(messages, "scheduling"); // for another processor, or in a way that does not fit
      continue;
    }
    if (!scheduled)
      finding("a spec that was accepted does not fuse", messages);
    expectRoundTrip(*scheduled);
    mlir::OwningOpRef<mlir::ModuleOp> forGpu;
    messages = said([&] {
      if (mlir::OwningOpRef<mlir::ModuleOp> fused = compilation->fuse(kernel))
        forGpu = compilation->scheduleForGpu(*fused, kernel.name, gpu::GpuRequest());
    });
    if (!forGpu && isScheduledByHand(*kernel.einsum))
      expectReason(messages, "scheduling for GPUs"); // a processor's schedule is no GPU's
    else if (!forGpu)
      finding("a spec that was accepted has no schedule for GPUs", messages);
  }
}

} // namespace skewer::fuzzing
