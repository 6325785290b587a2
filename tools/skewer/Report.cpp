// `skewer report`: makes one page with all the data of explain and plot about a spec's kernels. The page's own script
// draws the data.
#include "tools/skewer/Report.h"
#include "codegen/Compiler/Compiler.h"
#include "passes/Analysis/AttentionShape.h"
#include "tools/skewer/Commands.h"
#include "tools/skewer/Execution.h"
#include "tools/skewer/ExplainText.h"
#include "tools/skewer/Messages.h"
#include "tools/skewer/OpenSpec.h"
#include "tools/skewer/PlotData.h"
#include "tools/skewer/PlotSvg.h"
#include "tools/skewer/ScheduleText.h"
#include "tools/skewer/WriteFiles.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/raw_ostream.h"

using namespace mlir;

namespace skewer::driver {
namespace {

constexpr int64_t kMostTiles = 96; // side of a drawn mask; a larger one is drawn as blocks of tiles

/// Returns the states of a masked attention's tiles, a character for each: '.' dead, '+' edge, '#' full. Null without a
/// mask, or if the mask depends on more than positions.
llvm::json::Value tilesOf(attn::AttentionOp attention, const LayerFacts &layer) {
  auto shape = shapeOfAttention(attention);
  if (!shape || !attention.getMask() || layer.tileRows <= 0 || layer.tileKeys <= 0)
    return nullptr;
  auto timesOf = [](int64_t all, int64_t tile) {
    return std::max<int64_t>(1, (all + tile * kMostTiles - 1) / (tile * kMostTiles));
  };
  int64_t down = timesOf(shape->queries, layer.tileRows), across = timesOf(shape->keys, layer.tileKeys);
  int64_t rows = layer.tileRows * down, keys = layer.tileKeys * across;
  std::vector<std::string> states((shape->queries + rows - 1) / rows,
                                  std::string((shape->keys + keys - 1) / keys, '.'));
  auto counts = countTiles(*shape, rows, keys, [&](int64_t row, int64_t key, TileState state) {
    states[row / rows][key / keys] = state == TileState::Dead ? '.' : state == TileState::Edge ? '+' : '#';
  });
  if (!counts)
    return nullptr;
  return llvm::json::Object{
      {"queries", shape->queries},          {"keys", shape->keys},  {"tile_queries", layer.tileRows},
      {"tile_keys", layer.tileKeys},        {"cell_queries", rows}, {"cell_keys", keys},
      {"states", llvm::json::Array(states)}};
}

/// Returns all data about one kernel; nothing after a message.
std::optional<llvm::json::Object> dataOf(Compilation &compilation, const Kernel &kernel, const Options &options) {
  OwningOpRef<ModuleOp> scheduled;
  auto explanation = explainKernel(compilation, kernel, options, &scheduled);
  if (!explanation)
    return std::nullopt;
  llvm::json::Object data{{"explain", toJson(*explanation)}};
  std::string text;
  llvm::raw_string_ostream out(text);
  printText(*explanation, out);
  data["text"] = std::move(text);
  llvm::json::Array tiles;
  size_t number = 0;
  scheduled->walk(
      [&](attn::AttentionOp attention) { tiles.push_back(tilesOf(attention, explanation->layers[number++])); });
  data["tiles"] = std::move(tiles);

  auto operands = prepareOperands(kernel.signature, options.inputs, options.sizes, options.seed, options.origins);
  if (!operands) {
    sayError(operands.takeError());
    return std::nullopt;
  }
  auto plot = plotKernel(compilation, kernel, std::move(*operands), options.head);
  if (plot) {
    data["plot"] = toJson(*plot);
  } else {
    // A head that does not exist is the user's error; for a layer with nothing to draw, the rest of the page is still
    // made.
    std::string why = llvm::toString(plot.takeError());
    if (options.head > 0) {
      sayError("kernel '" + kernel.name + "': " + why);
      return std::nullopt;
    }
    data["not_drawn"] = why;
  }
  return data;
}

llvm::StringRef partNamed(llvm::StringRef name) {
  for (const ReportPart &part : reportParts())
    if (part.name == name)
      return part.text;
  return "";
}

/// Returns JSON for use inside a script element, without a '<' that could end the element.
std::string scriptText(const llvm::json::Value &value) {
  std::string text = llvm::formatv("{0}", value), safe;
  for (char c : text)
    safe += c == '<' ? std::string("\\u003c") : std::string(1, c);
  return safe;
}

std::string pageOf(llvm::json::Value data, const std::string &title) {
  std::string page;
  llvm::StringRef rest = partNamed("page");
  while (!rest.empty()) {
    auto [before, after] = rest.split("{{");
    page += before;
    if (after.empty())
      break;
    auto [name, behind] = after.split("}}");
    page += name == "title" ? xmlEscaped(title) : name == "data" ? scriptText(data) : partNamed(name).str();
    rest = behind;
  }
  return page;
}

} // namespace

int report(const Options &options) {
  if (options.isForGpu()) {
    sayError("report is about processors; 'skewer explain --target=" + options.target +
             "' says what a kernel is on a GPU");
    return kUsage;
  }
  if (!checkSchedule(options, true, false))
    return kUsage;
  std::optional<Target> target = targetNamed(options.target);
  if (!target)
    return kWrong;
  const std::string &spec = options.specs.front();
  auto compilation = openSpecOf(options, spec, *target);
  if (!compilation)
    return kWrong;
  compilation->pinned = options.cpuSchedule;
  std::vector<const Kernel *> chosen = chooseKernels(*compilation, options.kernel, /*one=*/false);
  if (chosen.empty())
    return kWrong;
  llvm::json::Array kernels;
  for (const Kernel *kernel : chosen) {
    auto data = dataOf(*compilation, *kernel, optionsOf(*kernel, chosen, options));
    if (!data)
      return kWrong;
    kernels.push_back(std::move(*data));
  }
  llvm::json::Object parameters;
  for (const auto &[name, value] : options.parameters)
    parameters[name] = value.text();
  std::string title = llvm::sys::path::filename(spec).str();
  llvm::json::Object data{{"spec", title},
                          {"text", llvm::json::fixUTF8(compilation->text())},
                          {"target", target->name},
                          {"seed", static_cast<int64_t>(options.seed)},
                          {"parameters", std::move(parameters)},
                          {"kernels", std::move(kernels)}};
  if (options.picture.empty()) {
    printed() << pageOf(std::move(data), title);
    return kDone;
  }
  if (llvm::Error error = writeFiles({{options.picture, pageOf(std::move(data), title)}})) {
    sayError(std::move(error));
    return kWrong;
  }
  return kDone;
}

} // namespace skewer::driver
