// `skewer explain`: what became of each term.
#include "tools/skewer/Commands.h"
#include "tools/skewer/Facts.h"
#include "tools/skewer/Session/Targets.h"
#include "llvm/Support/raw_ostream.h"
#include <fmt/format.h>

namespace skewer::driver {
namespace {

std::string bytesText(double bytes) {
  if (bytes < 1e4)
    return fmt::format("{:.0f} B", bytes);
  if (bytes < 1e6)
    return fmt::format("{:.1f} KB", bytes * 1e-3);
  return bytes < 1e9 ? fmt::format("{:.1f} MB", bytes * 1e-6) : fmt::format("{:.2f} GB", bytes * 1e-9);
}

std::string flopsText(double flops) {
  if (flops == 0)
    return "not counted";
  if (flops < 1e6)
    return fmt::format("{:.2f} KFLOP", flops * 1e-3);
  return flops < 1e9 ? fmt::format("{:.2f} MFLOP", flops * 1e-6) : fmt::format("{:.2f} GFLOP", flops * 1e-9);
}

std::string shapeText(const std::vector<int64_t> &shape) {
  std::string text;
  for (int64_t size : shape)
    if (size >= 0)
      text += (text.empty() ? "" : ",") + std::to_string(size);
  return "[" + text + "]";
}

/// "2 x [4,196,196], [196,196]".
std::string tensorsText(const std::vector<TensorFacts> &tensors, bool &anyRunTime, double &bytes) {
  std::string text;
  for (const TensorFacts &tensor : tensors) {
    text += text.empty() ? "" : ", ";
    if (tensor.count > 1)
      text += fmt::format("{} x ", tensor.count);
    text += shapeText(tensor.shape);
    bytes += tensor.bytes;
    for (int64_t size : tensor.shape)
      anyRunTime |= size < 0;
  }
  return text;
}

size_t displayWidth(const std::string &text) {
  size_t width = 0; // of UTF-8: continuation bytes take no column
  for (char c : text)
    width += (static_cast<unsigned char>(c) & 0xc0) != 0x80;
  return width;
}
std::string padded(const std::string &text, size_t width) {
  size_t now = displayWidth(text);
  return text + std::string(now < width ? width - now : 1, ' ');
}

void print(const AttentionFacts &attention, llvm::raw_ostream &out) {
  out << fmt::format("  softmax over {} keys for {} queries{}, space \"{}\"{}\n", attention.keys, attention.queries,
                     attention.map.empty() ? "" : ", map " + attention.map, attention.space,
                     attention.mask.empty() ? "" : ", where " + attention.mask);
  size_t text = 14, kind = 12, strategy = 8;
  for (const TermFacts &term : attention.terms) {
    text = std::max(text, displayWidth(term.text));
    kind = std::max(kind, displayWidth(term.className));
    strategy = std::max(strategy, displayWidth(term.strategy));
  }
  auto row = [&](const std::string &a, const std::string &b, const std::string &c, double flops, unsigned line) {
    out << "    " << padded(a, text + 2) << padded(b, kind + 2) << padded(c, strategy + 2) << flopsText(flops);
    if (line)
      out << "  (line " << line << ")";
    out << "\n";
  };
  for (const TermFacts &term : attention.terms) {
    row(term.text, term.className, term.strategy, term.flops, term.line);
    out << "      " << term.description << "\n";
  }
  row("weights·values", "values", "matmul", attention.valueFlops, 0);
  if (!attention.schedule.empty())
    out << "    schedule  " << attention.schedule << "\n";
}

void print(const KernelFacts &facts, const std::vector<Remark> &remarks, const KernelPlan *plan,
           llvm::raw_ostream &out) {
  out << facts.name << ": " << facts.elementType;
  for (const std::string &size : facts.runTimeSizes)
    out << ", " << size << " at run time";
  out << "\n";
  for (const AttentionFacts &attention : facts.attentions)
    print(attention, out);
  bool perBatch = false;
  double bytes = 0;
  if (!facts.neverMaterialised.empty()) {
    std::string text = tensorsText(facts.neverMaterialised, perBatch, bytes);
    out << "  never materialised: " << text << " (" << bytesText(bytes) << (perBatch ? " a batch row" : "") << ")\n";
  }
  for (const Remark &remark : remarks)
    out << "  line " << remark.line << ": " << remark.text << "\n";
  if (remarks.empty())
    for (const std::string &reason : facts.unfused)
      out << "  not fused: " << reason << "\n";
  if (!facts.generic.empty()) {
    out << "  generic path, one worker: ";
    if (facts.genericLine)
      out << "line " << facts.genericLine << ": ";
    out << facts.generic << "\n";
  }
  if (!facts.materialised.empty()) {
    perBatch = false;
    bytes = 0;
    std::string text = tensorsText(facts.materialised, perBatch, bytes);
    out << "  materialised: " << text << " (" << bytesText(bytes) << (perBatch ? " a batch row" : "") << ")\n";
  }
  if (plan) {
    double shared = static_cast<double>(plan->sharedBytes.fixed + plan->sharedBytes.scaled);
    out << "  workspace: " << bytesText(shared) << " shared, " << bytesText(static_cast<double>(plan->localBytes))
        << " a worker\n";
  }
  out << "  useful work: " << flopsText(facts.flops)
      << (facts.runTimeSizes.empty() ? "" : " with every run-time size 1") << "\n";
}

} // namespace

int explain(const Options &options) {
  std::optional<Target> target = targetNamed(options.target);
  if (!target)
    return kUsage;
  llvm::json::Array kernels;
  bool found = false;
  for (const std::string &spec : options.specs) {
    auto compilation = Compilation::create(spec, options.parameters, *target);
    if (!compilation)
      return kWrong;
    for (const Kernel &kernel : compilation->kernels) {
      if (!options.kernel.empty() && kernel.name != options.kernel)
        continue;
      found = true;
      compilation->remarks.clear();
      auto scheduled = compilation->schedule(kernel);
      if (!scheduled)
        return kWrong;
      KernelFacts facts = factsOf(kernel, *scheduled);
      auto lowered = compilation->lower(std::move(scheduled), kernel.name);
      if (!lowered)
        return kWrong;
      const std::vector<Remark> &remarks = compilation->remarks;
      if (options.json) {
        llvm::json::Object object = toJson(facts);
        object["workspace_bytes"] =
            lowered->plan.sharedBytes.fixed + lowered->plan.sharedBytes.scaled + lowered->plan.localBytes;
        kernels.push_back(std::move(object));
      } else {
        print(facts, remarks, &lowered->plan, llvm::outs());
      }
    }
  }
  if (!found) {
    llvm::errs() << "skewer: error: no kernel is named '" << options.kernel << "'\n";
    return kWrong;
  }
  if (options.json)
    llvm::outs() << llvm::formatv("{0:2}", llvm::json::Value(llvm::json::Object{{"kernels", std::move(kernels)}}))
                 << "\n";
  return kDone;
}

} // namespace skewer::driver
