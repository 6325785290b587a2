// Finds the verdict, the first line of an explanation: fused, partly fused or not fused, and the reasons.
#include "tools/skewer/ExplainText.h"
#include <fmt/format.h>

namespace skewer::driver {

static std::string placeText(llvm::StringRef file, unsigned line) {
  return fmt::format("{}:{}", file.substr(file.rfind('/') + 1).str(), line);
}

std::string placeText(const attn::TextPlace &place) {
  std::string text = placeText(place.file, place.line);
  for (const attn::SchemeCallPlace &call : place.calls)
    if (!llvm::StringRef(call.file).starts_with("built-in "))
      text += " from " + placeText(call.file, call.line);
  return text;
}

std::string shapeText(const std::vector<int64_t> &shape, const std::vector<std::string> &runTimeSizes) {
  std::string text;
  for (int64_t size : shape)
    text += (text.empty() ? "" : ",") + (size >= 0                  ? std::to_string(size)
                                         : runTimeSizes.size() == 1 ? runTimeSizes.front()
                                                                    : "?");
  return "[" + text + "]";
}

Verdict verdictOf(const Explanation &explanation) {
  const KernelFacts &facts = explanation.facts;
  std::vector<std::string> reasons;
  for (const Remark &remark : explanation.remarks)
    if (llvm::StringRef text = remark.text; text.consume_front("not fused: "))
      reasons.push_back(text.split(';').first.str() + " (" + placeText(remark.place) + ")");
  if (explanation.remarks.empty())
    for (const std::string &reason : facts.unfused)
      reasons.push_back(reason);
  if (explanation.gpu)
    for (const GpuKernelFacts &kernel : explanation.gpu->kernels)
      if (!kernel.note.empty())
        reasons.push_back(kernel.note);
  if (!facts.generic.empty() && reasons.empty())
    reasons.push_back(facts.generic +
                      (facts.genericPlace.line ? " (" + placeText(facts.genericPlace) + ")" : std::string()));
  if (facts.attentions.empty())
    return {"not fused", reasons};
  double scores = 0;
  for (size_t k = 0; k < facts.attentions.size(); ++k)
    scores = std::max(scores, explanation.layers[k].leading * static_cast<double>(facts.attentions[k].queries) *
                                  static_cast<double>(facts.attentions[k].keys));
  for (const TensorFacts &held : facts.materialised) {
    double elements = 1;
    for (int64_t size : held.shape)
      elements *= size < 0 ? 1 : static_cast<double>(size);
    if (elements < scores)
      continue;
    std::string names;
    for (const std::string &name : held.names)
      names += (names.empty() ? "" : ", ") + name;
    std::string what = names.empty()
                           ? fmt::format("{} tensor{}", held.count, held.count == 1 ? "" : "s")
                           : names + (held.count > static_cast<int64_t>(held.names.size()) ? " and others" : "");
    reasons.push_back(fmt::format("{} of {}, as large as the scores, {} held in memory", what,
                                  shapeText(held.shape, facts.runTimeSizes), held.count == 1 ? "is" : "are"));
  }
  return {reasons.empty() ? "fused" : "partly fused", reasons};
}

std::string textOf(const Verdict &verdict) {
  std::string text = verdict.word;
  for (size_t k = 0; k < verdict.reasons.size(); ++k)
    text += (k == 0 ? ", because " : "; ") + verdict.reasons[k];
  return verdict.word == "fused" ? text + ": nothing as large as the scores is held in memory" : text;
}

} // namespace skewer::driver
