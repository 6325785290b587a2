// Writes an explanation as JSON; docs/explain.md describes the keys.
#include "tools/skewer/ExplainText.h"

namespace skewer::driver {
namespace {

llvm::json::Array composedJson(const std::vector<ComposedOperation> &operations) {
  llvm::json::Array array;
  for (const ComposedOperation &operation : operations) {
    llvm::json::Object object{{"operation", operation.operation},
                              {"shape", llvm::json::Array(operation.shape)},
                              {"bytes", bytesOf(operation)}};
    addPlace(object, operation.place);
    array.push_back(std::move(object));
  }
  return array;
}

llvm::json::Array unreadJson(const std::vector<UnreadRows> &tables) {
  llvm::json::Array array;
  for (const UnreadRows &table : tables) {
    llvm::json::Array runs;
    for (const subscript::Range &run : table.runs)
      runs.push_back(llvm::json::Array{run.low, run.high});
    array.push_back(llvm::json::Object{{"operand", table.operand}, {"rows", table.rows}, {"unread", std::move(runs)}});
  }
  return array;
}

/// Returns the other strategies of a term. `time` is the layer's time with the strategy, as a multiple of the
/// prediction for the schedule.
llvm::json::Array alternativesJson(size_t term, const LayerFacts &layer) {
  llvm::json::Array array;
  for (const Alternative &other : layer.alternatives)
    if (other.term == term && !other.whyNot)
      array.push_back(llvm::json::Object{{"strategy", other.strategy}, {"time", other.cycles / layer.work.cycles}});
  return array;
}

llvm::json::Value tilesJson(const LayerFacts &layer) {
  if (!layer.tiles)
    return nullptr;
  return llvm::json::Object{{"queries", layer.tileRows}, {"keys", layer.tileKeys},
                            {"dead", layer.tiles->dead}, {"edge", layer.tiles->edge},
                            {"full", layer.tiles->full}, {"not_computed", layer.tiles->skipped}};
}

} // namespace

llvm::json::Object toJson(const Explanation &explanation) {
  llvm::json::Object object = toJson(explanation.facts);
  llvm::json::Array *attentions = object.getArray("attentions");
  for (size_t k = 0; k < attentions->size(); ++k) {
    const LayerFacts &layer = explanation.layers[k];
    llvm::json::Object &attention = *(*attentions)[k].getAsObject();
    attention["formula"] = layer.formula;
    attention["visible_pairs_note"] = explanation.facts.attentions[k].pairsNote;
    attention["tiles"] = tilesJson(layer);
    attention["rows_never_read"] = unreadJson(layer.unread);
    llvm::json::Array &terms = *attention.getArray("terms");
    for (size_t n = 0; n < terms.size() && n < layer.composed.size(); ++n) {
      (*terms[n].getAsObject())["composed"] = composedJson(layer.composed[n]);
      (*terms[n].getAsObject())["also_fits"] = alternativesJson(n, layer);
    }
  }
  llvm::json::Array remarks;
  for (const Remark &remark : explanation.remarks)
    remarks.push_back(llvm::json::Object{{"line", static_cast<int64_t>(remark.place.lineOfSpec())}, {"text", remark.text}});
  object["remarks"] = std::move(remarks);
  Verdict verdict = verdictOf(explanation);
  object["verdict"] = verdict.word;
  object["because"] = llvm::json::Array(verdict.reasons);
  const WorkFacts &work = explanation.work;
  object["target"] = explanation.target;
  object["bytes_moved"] = work.bytesMoved;
  if (explanation.gpu) {
    object["gpu"] = toJson(*explanation.gpu);
    return object;
  }
  const KernelPlan &plan = explanation.plan;
  int64_t shared = plan.sharedBytes.fixed + plan.sharedBytes.scaled;
  object["workspace_bytes"] = shared + plan.localBytes + plan.preparedBytes;
  llvm::json::Array stages;
  for (const StagePlan &stage : plan.stages)
    stages.push_back(llvm::json::Object{{"title", stage.title},
                                        {"line", static_cast<int64_t>(stage.line)},
                                        {"buffer_bytes", stage.bytes.fixed + stage.bytes.scaled}});
  object["stages"] = std::move(stages);
  object["workspace"] = llvm::json::Object{
      {"shared_bytes", shared}, {"worker_bytes", plan.localBytes}, {"prepared_bytes", plan.preparedBytes}};
  bool predicted = work.predictedSeconds > 0;
  auto known = [&](double value) { return predicted ? llvm::json::Value(value) : llvm::json::Value(nullptr); };
  object["done_flops"] = known(work.matmulFlops);
  object["roofline"] = llvm::json::Object{{"peak_gflops", work.peak * 1e-9},
                                          {"memory_gb_per_second", work.memoryRate * 1e-9},
                                          {"compute_seconds", work.computeSeconds},
                                          {"memory_seconds", work.memorySeconds},
                                          {"bound", work.isMemoryBound() ? "memory" : "compute"},
                                          {"seconds", work.boundSeconds()}};
  object["predicted_seconds"] = known(work.predictedSeconds);
  object["predicted_share_of_peak"] = known(work.shareOfPeak());
  if (explanation.alone) {
    llvm::json::Object lengths;
    for (const auto &[name, value] : explanation.alone->lengths)
      lengths[name] = value;
    double seconds = explanation.alone->predictedSeconds;
    object["compiled_for_lengths"] = llvm::json::Object{
        {"lengths", std::move(lengths)},
        {"useful_flops", explanation.alone->usefulFlops},
        {"predicted_seconds", seconds > 0 ? llvm::json::Value(seconds) : llvm::json::Value(nullptr)}};
  }
  return object;
}

} // namespace skewer::driver
