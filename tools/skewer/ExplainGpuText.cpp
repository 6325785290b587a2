// Prints the facts about a kernel on a GPU, for people and as JSON.
#include "tools/skewer/ExplainGpu.h"
#include <fmt/format.h>

namespace skewer::driver {
namespace {

std::string loopText(const GpuKernelFacts &kernel) {
  std::string text =
      fmt::format("{}: {:.2f} instructions a score:", kernel.loop->once ? "the kernel, without a loop" : "main loop",
                  static_cast<double>(kernel.loop->all()) / kernel.scoresOfThread);
  for (size_t kind = 0; kind < gpu::kInstructionKinds; ++kind)
    text += fmt::format("{} {} {:.3f}", kind ? "," : "", gpu::nameOf(gpu::InstructionKind(kind)),
                        static_cast<double>(kernel.loop->counts[kind]) / kernel.scoresOfThread);
  return text;
}

/// Prints the model's prediction, the pipes that it consists of, and the predictions for more or fewer queries in a
/// warp.
void printModel(const GpuKernelFacts &kernel, Page &page) {
  const gpu::GpuPrediction &prediction = *kernel.prediction;
  page.line(4,
            fmt::format("model: {:.1f} steps a block, {:.0f} cycles each, bound by {}; {:.2f} instructions a score",
                        prediction.steps, prediction.stepCycles, prediction.bound, prediction.instructionsPerScore()));
  std::string pipes;
  for (const gpu::PipeTime &one : prediction.pipes)
    pipes += fmt::format("{} {} {:.0f}", pipes.empty() ? "" : ",", one.pipe, one.cycles);
  page.line(4, "cycles of each pipe, which overlap:" + pipes);
  std::string best;
  for (const gpu::GpuPrediction &one : kernel.byWarpRows)
    best += fmt::format("{} {} queries a warp {:.1f} (blocks of {}, {} keys a step)", best.empty() ? "" : ",",
                        one.tile.warpRows, one.cyclesPerQuery, one.tile.rows, one.tile.keys);
  if (!best.empty())
    page.line(4, "model's cycles a query:" + best);
}

void printKernel(const GpuKernelFacts &kernel, const gpu::GpuTarget &target, Page &page) {
  page.line(2, fmt::format("kernel {} ({}): {} threads a block, {} of shared memory, {}", kernel.name, kernel.title,
                           kernel.threads, bytesText(static_cast<double>(kernel.sharedBytes)),
                           kernel.registers ? fmt::format("{} registers a thread", *kernel.registers)
                                            : "registers unknown without ptxas"));
  page.line(4,
            fmt::format("a multiprocessor of {} holds {} block{}, {} warps; {} limit{} them{}", target.name,
                        kernel.occupancy.blocks, kernel.occupancy.blocks == 1 ? "" : "s", kernel.occupancy.warps,
                        kernel.occupancy.limit, llvm::StringRef(kernel.occupancy.limit).ends_with("memory") ? "s" : "",
                        kernel.registers ? "" : " (by the model's guess of registers)"));
  if (kernel.prepares)
    page.line(4, "of const operands alone: not in a call of what _cuda_prepare_const() made once");
  if (!kernel.without.empty())
    page.line(4, fmt::format("it copies boxes of tensors; where a call cannot make its tensor maps, {} runs",
                             kernel.without));
  if (!kernel.note.empty())
    page.line(4, "by rows: " + kernel.note);
  if (kernel.prediction)
    printModel(kernel, page);
  if (kernel.loop)
    page.line(4, loopText(kernel));
}

llvm::json::Object modelToJson(const GpuKernelFacts &kernel) {
  llvm::json::Object pipes;
  for (const gpu::PipeTime &one : kernel.prediction->pipes)
    pipes[one.pipe] = one.cycles;
  llvm::json::Array byWarpRows;
  for (const gpu::GpuPrediction &one : kernel.byWarpRows)
    byWarpRows.push_back(llvm::json::Object{{"warp_rows", one.tile.warpRows},
                                            {"rows", one.tile.rows},
                                            {"keys", one.tile.keys},
                                            {"cycles_per_query", one.cyclesPerQuery}});
  return llvm::json::Object{
      {"steps", kernel.prediction->steps}, {"step_cycles", kernel.prediction->stepCycles},
      {"bound", kernel.prediction->bound}, {"instructions_per_score", kernel.prediction->instructionsPerScore()},
      {"pipe_cycles", std::move(pipes)},   {"by_warp_rows", std::move(byWarpRows)}};
}

llvm::json::Object toJson(const GpuKernelFacts &kernel) {
  llvm::json::Object object{{"name", kernel.name},
                            {"title", kernel.title},
                            {"note", kernel.note},
                            {"without_maps", kernel.without},
                            {"prepares", kernel.prepares},
                            {"threads", kernel.threads},
                            {"shared_bytes", kernel.sharedBytes},
                            {"registers", nullptr},
                            {"occupancy", llvm::json::Object{{"blocks", kernel.occupancy.blocks},
                                                             {"warps", kernel.occupancy.warps},
                                                             {"limit", kernel.occupancy.limit}}},
                            {"model", nullptr},
                            {"instructions_per_score", nullptr}};
  if (kernel.registers)
    object["registers"] = *kernel.registers;
  if (kernel.prediction)
    object["model"] = modelToJson(kernel);
  if (kernel.loop) {
    llvm::json::Object counts;
    for (size_t kind = 0; kind < gpu::kInstructionKinds; ++kind)
      counts[gpu::nameOf(gpu::InstructionKind(kind))] =
          static_cast<double>(kernel.loop->counts[kind]) / kernel.scoresOfThread;
    object["instructions_per_score"] = std::move(counts);
  }
  return object;
}

} // namespace

void printGpu(const GpuFacts &facts, double usefulFlops, double bytesMoved, const std::string &sizes, Page &page) {
  for (const GpuKernelFacts &kernel : facts.kernels)
    printKernel(kernel, facts.target, page);
  page.line(2, fmt::format("useful work: {}; memory: {} if every argument is read and the result written once{}",
                           flopsText(usefulFlops), bytesText(bytesMoved), sizes.empty() ? "" : "; both" + sizes));
  for (const DeviceFacts &one : facts.devices)
    page.line(2, fmt::format("{}: predicted {}, {:.0f} % of what {} does; roofline: at least {}, bound by {}",
                             one.device.name, timeText(one.predictedSeconds), 100 * one.shareOfPeak(),
                             facts.engine == gpu::kMmaSync ? "mma.sync" : facts.engine, timeText(one.boundSeconds()),
                             one.memorySeconds > one.computeSeconds ? "memory" : "tensor cores"));
  if (facts.devices.empty())
    page.line(2, facts.kernels.size() > 1 ? "nothing is predicted: it is more than its attention"
                                          : "nothing is predicted: no device of this target is known");
  for (const std::string &text : facts.missing)
    page.line(2, text);
}

llvm::json::Object toJson(const GpuFacts &facts) {
  llvm::json::Array kernels, devices, missing;
  for (const GpuKernelFacts &kernel : facts.kernels)
    kernels.push_back(toJson(kernel));
  for (const DeviceFacts &one : facts.devices)
    devices.push_back(llvm::json::Object{{"name", one.device.name},
                                         {"predicted_seconds", one.predictedSeconds},
                                         {"predicted_share_of_peak", one.shareOfPeak()},
                                         {"compute_seconds", one.computeSeconds},
                                         {"memory_seconds", one.memorySeconds},
                                         {"bound", one.memorySeconds > one.computeSeconds ? "memory" : "compute"}});
  for (const std::string &text : facts.missing)
    missing.push_back(text);
  return llvm::json::Object{{"ptxas", facts.assembler},
                            {"kernels", std::move(kernels)},
                            {"devices", std::move(devices)},
                            {"missing", std::move(missing)}};
}

} // namespace skewer::driver
