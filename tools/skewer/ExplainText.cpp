// Prints an explanation for people.
#include "tools/skewer/ExplainText.h"
#include <fmt/format.h>

namespace skewer::driver {
namespace {

bool hasRunTimeSize(const std::vector<int64_t> &shape) {
  return std::any_of(shape.begin(), shape.end(), [](int64_t size) { return size < 0; });
}

/// Returns a text such as "content, scores and 6 more of [batch,4,196,196] (4.9 MB a batch row)".
std::string tensorsText(const std::vector<TensorFacts> &tensors, const std::vector<std::string> &runTimeSizes) {
  std::string text;
  bool anyRunTime = false;
  double bytes = 0;
  for (const TensorFacts &tensor : tensors) {
    text += text.empty() ? "" : "; ";
    std::string names;
    for (const std::string &name : tensor.names)
      names += (names.empty() ? "" : ", ") + name;
    int64_t others = tensor.count - static_cast<int64_t>(tensor.names.size());
    if (names.empty())
      text += others > 1 ? fmt::format("{} of ", others) : "";
    else
      text += names + (others > 0 ? fmt::format(" and {} more of ", others) : " ");
    text += shapeText(tensor.shape, runTimeSizes);
    bytes += tensor.bytes;
    anyRunTime |= hasRunTimeSize(tensor.shape);
  }
  return fmt::format("{} ({}{})", text, bytesText(bytes), anyRunTime ? " a batch row" : "");
}

/// Returns "line 9" of the spec that the term names; for a built-in scheme "built-in rel2d.attn:5 from line 9".
std::string shortPlaceText(attn::TextPlace place) {
  std::string line = fmt::format("line {}", place.lineOfSpec());
  if (std::exchange(place.calls, {}).empty())
    return line;
  return placeText(place) + " from " + line;
}

/// Prints a line such as "skew composed (was: einsum [4,14,27], pad [4,14,28] line 9): 1.2 MB a batch row that are
/// never held".
void printComposed(const std::vector<ComposedOperation> &operations,
                   const std::vector<std::string> &runTimeSizes, Page &page) {
  auto list = [&](bool maps, std::string &text, double &bytes, bool &anyRunTime) {
    for (const ComposedOperation &operation : operations) {
      // The contraction belongs to the maps that moved its result.
      bool isMap = isIndexMap(operation) || operation.operation == "einsum";
      if (isMap != maps)
        continue;
      text += (text.empty() ? "" : ", ") + operation.operation + " " + shapeText(operation.shape, runTimeSizes);
      if (operation.place.line)
        text += " " + shortPlaceText(operation.place);
      bytes += bytesOf(operation);
      anyRunTime |= hasRunTimeSize(operation.shape);
    }
  };
  for (bool maps : {true, false}) {
    std::string text;
    double bytes = 0;
    bool anyRunTime = false;
    list(maps, text, bytes, anyRunTime);
    bool skew = maps && llvm::any_of(operations, [](const ComposedOperation &operation) {
                  return operation.operation == "einsum"; // the logits were moved
                });
    if (!text.empty())
      page.line(6, fmt::format("{} (was: {}): {}{} never held",
                               skew   ? "skew composed"
                               : maps ? "index maps composed"
                                      : "scale folded",
                               text, bytesText(bytes), anyRunTime ? " a batch row" : ""));
  }
}

void printTiles(const LayerFacts &layer, const AttentionFacts &facts, Page &page) {
  std::string text = "mask      " + facts.mask;
  if (layer.tiles) {
    const TileCounts &tiles = *layer.tiles;
    int64_t all = tiles.dead + tiles.edge + tiles.full;
    text +=
        fmt::format(": of {} of {} x {}, {} dead", counted(all, "tile", "tiles"),
                    counted(layer.tileRows, "query", "queries"), counted(layer.tileKeys, "key", "keys"), tiles.dead);
    if (tiles.dead)
      text += tiles.skipped == tiles.dead ? " (not computed)"
              : tiles.skipped             ? fmt::format(" ({} of them not computed)", tiles.skipped)
                                          : " (computed all the same)";
    text += fmt::format(", {} edge, {} full", tiles.edge, tiles.full);
  } else if (layer.tileRows) {
    text += ": which tiles are dead is found out at run time";
  }
  page.line(4, text);
}

/// Returns the other strategies of a term, by the cost model: "gathered_rows (1.3 × the layer's time), …".
static std::string alternativesTo(size_t term, const LayerFacts &layer) {
  std::string text;
  for (const Alternative &other : layer.alternatives)
    if (other.term == term)
      text +=
          fmt::format("{}{} ({})", text.empty() ? "" : ", ", other.strategy.str(),
                      other.whyNot ? other.whyNot->reason
                                   : fmt::format("{:.2g} × the layer's time", other.cycles / layer.work.cycles));
  return text;
}

void printLayer(const AttentionFacts &facts, const LayerFacts &layer,
                const std::vector<std::string> &runTimeSizes, Page &page) {
  page.line(2, fmt::format("{} {} for {}{}, space \"{}\"{}", facts.direct ? "weights of" : "softmax over",
                           counted(facts.keys, "key", "keys"), counted(facts.queries, "query", "queries"),
                           facts.map.empty() ? "" : ", map " + facts.map, facts.space,
                           facts.mask.empty() ? "" : ", where " + facts.mask));
  page.line(4, layer.formula);
  std::string values = "weights·" + facts.values;
  size_t text = displayWidth(values), kind = 12, strategy = 8;
  for (const TermFacts &term : facts.terms) {
    text = std::max(text, displayWidth(term.text));
    kind = std::max(kind, displayWidth(term.className));
    strategy = std::max(strategy, displayWidth(term.strategy));
  }
  text = std::min<size_t>(text, 44); // a longer one gets a line of its own
  auto row = [&](const std::string &a, const std::string &b, const std::string &c, double flops,
                 const std::string &place) {
    std::string rest =
        padded(b, kind + 2) + padded(c, strategy + 2) + flopsText(flops) + (place.empty() ? "" : "  (" + place + ")");
    if (displayWidth(a) <= text)
      return page.line(4, padded(a, text + 2) + rest);
    page.line(4, a);
    page.line(6, rest);
  };
  for (size_t k = 0; k < facts.terms.size(); ++k) {
    const TermFacts &term = facts.terms[k];
    row(term.text, term.className, term.strategy, term.flops,
        term.place.line ? placeText(term.place) : "");
    page.line(6, term.description);
    if (layer.integerTerm == k)
      page.line(6, "multiplied as integers of 8 bits, whose sums are exact in 32; scales multiply the sums");
    if (std::string other = alternativesTo(k, layer); !other.empty())
      page.line(6, "also fits: " + other);
    if (k < layer.composed.size())
      printComposed(layer.composed[k], runTimeSizes, page);
  }
  row(values, "values", "matmul", facts.valueFlops, facts.place.line ? placeText(facts.place) : "");
  if (!facts.finish.empty())
    page.line(4, fmt::format("finished as it is stored: {}{}", facts.finish,
                             facts.finishPlace.line ? fmt::format("  ({})", placeText(facts.finishPlace)) : ""));
  if (!facts.mask.empty())
    printTiles(layer, facts, page);
  for (const UnreadRows &unread : layer.unread) {
    std::string runs;
    for (const subscript::Range &run : unread.runs)
      runs += (runs.empty() ? "" : ", ") +
              (run.low == run.high ? std::to_string(run.low) : fmt::format("{}..{}", run.low, run.high));
    page.line(4,
              fmt::format("note: of the {} rows of '{}', these are never read: {}", unread.rows, unread.operand, runs));
  }
  if (!facts.schedule.empty())
    page.line(4, "schedule  " + facts.schedule);
}

/// Returns a text such as " with batch = 4".
std::string sizesText(const Explanation &explanation) {
  std::string ones = explanation.facts.runTimeSizes.empty() ? "" : " with every run-time size 1";
  if (!explanation.sizes.empty()) {
    ones = "";
    for (const std::string &name : explanation.facts.runTimeSizes) {
      auto given = explanation.sizes.find(name);
      ones += (ones.empty() ? " with " : ", ") + name + " = " +
              std::to_string(given == explanation.sizes.end() ? 1 : given->second);
    }
  }
  return ones;
}

/// Returns a text such as "compiled for N = 512 alone, -D N=512: 3.54 ms, 0.85 of that".
std::string aloneText(const Explanation &explanation) {
  std::string values, options;
  bool isBound = true;
  for (const auto &[name, value] : explanation.alone->lengths) {
    values += (values.empty() ? "" : ", ") + name + " = " + std::to_string(value);
    options += " -D " + name + "=" + std::to_string(value);
    isBound &= explanation.plan.boundOf(name) == value;
  }
  double seconds = explanation.alone->predictedSeconds;
  std::string text = fmt::format("compiled for {} alone,{}: {}", values, options, timeText(seconds));
  if (isBound && explanation.work.predictedSeconds > 0)
    text += fmt::format(", {:.2f} of that", seconds / explanation.work.predictedSeconds);
  return text;
}

void printWork(const Explanation &explanation, Page &page) {
  const WorkFacts &work = explanation.work;
  std::string ones = sizesText(explanation);
  std::string notes;
  for (const AttentionFacts &attention : explanation.facts.attentions)
    if (!attention.pairsNote.empty() && notes.empty())
      notes = "; " + attention.pairsNote;
  page.line(2, fmt::format("useful work: {}{}{}", flopsText(work.usefulFlops), ones, notes));
  if (work.matmulFlops > 0)
    page.line(2, fmt::format("work done: {} in matmuls, rounded up to whole tiles", flopsText(work.matmulFlops)));
  else
    page.line(2, "work done: not known, because " + work.whyNotPredicted);
  page.line(
      2, fmt::format("memory: {} if every argument is read and the result written once", bytesText(work.bytesMoved)));
  page.line(2,
            fmt::format("roofline: at least {}, bound by {}: arithmetic {} at {:.1f} GFLOP/s, memory {} at {:.1f} "
                        "GB/s{}",
                        timeText(work.boundSeconds()), work.isMemoryBound() ? "memory" : "arithmetic",
                        timeText(work.computeSeconds), work.peak * 1e-9, timeText(work.memorySeconds),
                        work.memoryRate * 1e-9, work.isMemoryBound() ? " a core" : ""));
  if (work.predictedSeconds > 0)
    page.line(2, fmt::format("predicted: {} on one core of {}, {:.0f} % of its peak", timeText(work.predictedSeconds),
                             explanation.target, 100 * work.shareOfPeak()));
  else
    page.line(2, "predicted: no time, because " + work.whyNotPredicted);
  if (explanation.alone && explanation.alone->predictedSeconds > 0)
    page.line(2, aloneText(explanation));
}

} // namespace

void printText(const Explanation &explanation, llvm::raw_ostream &out) {
  const KernelFacts &facts = explanation.facts;
  Page page(out);
  std::string head = facts.name + ": " + facts.elementType;
  for (const std::string &size : facts.runTimeSizes)
    head += ", " + size + " at run time";
  page.line(0, head);
  page.line(2, textOf(verdictOf(explanation)));
  for (const std::string &size : explanation.plan.sizes)
    if (auto bound = explanation.plan.boundOf(size))
      page.line(2, fmt::format(
                       "length {}: 1 to {}, one kernel for all; tiles, schedule and figures are those of the bound",
                       size, *bound));
  for (size_t k = 0; k < facts.attentions.size(); ++k)
    printLayer(facts.attentions[k], explanation.layers[k], facts.runTimeSizes, page);
  if (!facts.neverMaterialised.empty())
    page.line(2, "never held: " + tensorsText(facts.neverMaterialised, facts.runTimeSizes));
  for (const Remark &remark : explanation.remarks)
    page.line(2, fmt::format("{}: {}", placeText(remark.place), remark.text));
  if (explanation.remarks.empty())
    for (const std::string &reason : facts.unfused)
      page.line(2, "not fused: " + reason);
  if (!facts.generic.empty())
    page.line(2, "generic path: " +
                     (facts.genericPlace.line ? placeText(facts.genericPlace) + ": " : std::string()) +
                     facts.generic);
  if (!facts.materialised.empty())
    page.line(2, "held between stages: " + tensorsText(facts.materialised, facts.runTimeSizes));
  if (explanation.gpu)
    return printGpu(*explanation.gpu, explanation.work.usefulFlops, explanation.work.bytesMoved, sizesText(explanation),
                    page);
  const KernelPlan &plan = explanation.plan;
  if (plan.stages.size() > 1) {
    page.line(2, "stages:");
    for (const StagePlan &stage : plan.stages) {
      double bytes = static_cast<double>(stage.bytes.fixed + stage.bytes.scaled);
      page.line(
          4, fmt::format("{}{} to {}", stage.title,
                         stage.line ? fmt::format(" ({})", placeText({explanation.spec, stage.line, 0, {}})) : std::string(),
                         bytes > 0 ? "a buffer of " + bytesText(bytes) : std::string("the output")));
    }
  }
  page.line(2,
            fmt::format("workspace: {} shared, {} a worker{}",
                        bytesText(static_cast<double>(plan.sharedBytes.fixed + plan.sharedBytes.scaled)),
                        bytesText(static_cast<double>(plan.localBytes)),
                        plan.preparedBytes ? fmt::format(", {} that {}_prepare() can make once",
                                                         bytesText(static_cast<double>(plan.preparedBytes)), facts.name)
                                           : ""));
  printWork(explanation, page);
}

} // namespace skewer::driver
