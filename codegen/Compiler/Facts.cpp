// Collects the facts by comparing a kernel's level 1 with its level 3.
#include "codegen/Compiler/Facts.h"
#include "codegen/Compiler/Flops.h"
#include "codegen/Compiler/FunctionText.h"
#include "dialect/IR/Attn.h"
#include "dialect/IR/BuiltinFunctions.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "passes/Analysis/TermClass.h"
#include "passes/Cpu/Schedule/ShortSchedule.h"
#include "passes/Gpu/Shape/GpuShape.h"
#include "passes/Stages/Matmul.h"
#include "passes/Stages/PrepareStages.h"
#include "passes/Stages/Stages.h"
#include "llvm/ADT/StringExtras.h"
#include <algorithm>
#include <fmt/format.h>

using namespace mlir;
using namespace skewer::attn;
using namespace skewer::subscript;

namespace skewer {

/// Returns the name of a value in the text, from the location of its operation; empty if the operation was composed, or
/// if the value no longer has the shape of the named tensor.
static std::string nameInText(Value value) {
  Operation *op = value.getDefiningOp();
  Location location = op ? op->getLoc() : UnknownLoc::get(value.getContext());
  while (auto fused = dyn_cast<FusedLoc>(location)) {
    if (isa_and_nonnull<DictionaryAttr>(fused.getMetadata())) // the location of a composed operation
      return "";
    location = fused.getLocations().front();
  }
  auto name = dyn_cast<NameLoc>(location);
  auto inner = name ? dyn_cast<FusedLoc>(name.getChildLoc()) : FusedLoc();
  auto type = inner ? dyn_cast_or_null<TypeAttr>(inner.getMetadata()) : TypeAttr();
  auto named = type ? dyn_cast<RankedTensorType>(type.getValue()) : RankedTensorType();
  auto own = dyn_cast<RankedTensorType>(value.getType());
  return named && own && named.getShape() == own.getShape() ? name.getName().str() : "";
}

std::string nameOfOperand(Value value, func::FuncOp function) {
  if (auto argument = dyn_cast<BlockArgument>(value))
    if (auto name = function.getArgAttrOfType<StringAttr>(argument.getArgNumber(), "attn.name"))
      return name.str();
  if (std::string name = nameInText(value); !name.empty())
    return name;
  if (auto reshape = value.getDefiningOp<ReshapeOp>()) // the same elements; fusion may have given them one dimension
    return nameOfOperand(reshape.getInput(), function);
  if (Operation *op = value.getDefiningOp())
    if (unsigned line = textPlaceOf(op->getLoc()).lineOfSpec())
      return fmt::format("(line {})", line);
  return "(computed)";
}

namespace {

/// Returns a text such as "0.125 q·table[j - i + 13] where abs(j - i) <= 4".
std::string textOfTerm(TermOp term, func::FuncOp function) {
  std::string text;
  double scale = term.getScale().convertToDouble();
  if (scale != 1 || (term.getInputs().empty() && !term.getValue()))
    text = fmt::format("{:.6g} ", scale);
  bool first = true;
  auto factor = [&](const std::string &name) {
    text += (first ? "" : "·") + name;
    first = false;
  };
  auto spec = parseEinsum(std::string_view(term.getSubscripts()));
  auto application = applicationOf(term);
  std::vector<std::string> elements;
  ScoreSpace space = scoreSpace(term->getParentOfType<AttentionOp>());
  auto isPosition = [&](const Dimension &dimension) { // distinguishes the arguments of a function
    return llvm::any_of(dimension.axes, [&](auto &axis) { return !llvm::is_contained(space.leading, axis); });
  };
  for (auto [k, input] : llvm::enumerate(term.getInputs())) {
    std::vector<std::string> indices;
    if (spec && k < spec->operands.size())
      for (const Dimension &dimension : spec->operands[k]) {
        if (!dimension.isProduct() && !dimension.index.isConstant())
          indices.push_back(subscript::abbreviateTables(print(dimension.index)));
        else if (application && application->takes(k) && isPosition(dimension))
          indices.push_back(llvm::join(dimension.axes, " "));
      }
    elements.push_back(nameOfOperand(input, function) + (indices.empty() ? "" : "[" + llvm::join(indices, ", ") + "]"));
    if (!application || !application->takes(k))
      factor(elements.back());
  }
  if (application) {
    std::vector<std::string> arguments;
    for (const Application::Argument &argument : application->arguments)
      arguments.push_back(argument.operand >= 0 ? elements[argument.operand] : print(argument.position));
    llvm::StringRef name = application->function->name();
    auto builtin = builtinText(name, arguments);
    factor((builtin ? "" : name.str()) + "(" + builtin.value_or(llvm::join(arguments, ", ")) + ")");
  }
  if (term.getValue())
    factor("(" + term.getValue()->str() + ")");
  if (term.getGuard())
    text += " where " + term.getGuard()->str();
  return text;
}

/// Returns, for a term that adds a number for each query and key, the place of the sum that computes these numbers, and
/// their count; empty if there is no such sum.
std::string madeBefore(const Term &term) {
  if (!term.einsum.contracted.empty())
    return "";
  for (Value input : TermOp(term.op).getInputs()) {
    auto sum = input.getDefiningOp<EinsumOp>();
    if (!sum || resolve(sum).contracted.empty())
      continue;
    double elements = 1;
    for (int64_t size : shapeOf(input))
      elements *= size == kRuntime ? 1 : static_cast<double>(size);
    unsigned line = textPlaceOf(sum.getLoc()).lineOfSpec();
    return fmt::format("; a sum that is made once, before, and not for each pair: {:.0f} of them{}", elements,
                       line ? fmt::format(" (line {})", line) : "");
  }
  return "";
}

/// Returns "14x14" if positions are products of axes.
std::string mapOf(const ScoreSpace &space) {
  if (space.query.size() < 2)
    return "";
  std::string text;
  for (const std::string &axis : space.query) {
    auto size = space.sizes.find(axis);
    text += (text.empty() ? "" : "x") + std::to_string(size == space.sizes.end() ? 0 : size->second);
  }
  return text;
}

/// Returns the strategies of `schedule` that differ from those of `other` for the same terms: "band".
static std::string strategiesBeside(CpuScheduleAttr other, CpuScheduleAttr schedule) {
  std::string names;
  for (auto [before, strategy] : llvm::zip(other.getStrategies(), schedule.getStrategies()))
    if (before != strategy)
      names += (names.empty() ? "" : ", ") + strategy.str();
  return names;
}

AttentionFacts factsOf(AttentionOp attention, func::FuncOp function) {
  ScoreSpace space = scoreSpace(attention);
  AttentionFacts facts;
  facts.space = attention.getSpace().str();
  if (attention.getMask())
    facts.mask = attention.getMask()->str();
  facts.map = mapOf(space);
  facts.queries = space.queries();
  facts.keys = space.keys();
  facts.direct = attention.getDirect();
  VisiblePairs seen = visiblePairs(attention);
  facts.pairs = seen.count;
  facts.pairsNote = std::move(seen.note);
  facts.values = nameOfOperand(attention.getValue(), function);
  facts.place = textPlaceOf(attention.getLoc());
  facts.valueFlops = valueFlops(attention, facts.pairs);
  facts.width = facts.pairs > 0 ? static_cast<int64_t>(facts.valueFlops / facts.pairs / 2) : 0;
  auto schedule = dyn_cast_or_null<CpuScheduleAttr>(attention.getScheduleAttr());
  if (schedule)
    facts.schedule = fmt::format(
        "{}: {} lanes, tile {}x{}, row block {}, keys {} at a time, {} {}{} an item", schedule.getTarget().str(),
        schedule.getLanes(), schedule.getTileRows(), schedule.getTileVectors(), schedule.getRowBlock(),
        schedule.getKeyBlock(), schedule.getRowsPerItem(), schedule.getRowsPerItem() == 1 ? "row" : "rows",
        schedule.getKeysPerItem() ? fmt::format(" and {} keys", schedule.getKeysPerItem()) : "");
  if (auto forShort = shortScheduleOf(attention))
    facts.schedule += fmt::format("; up to {} queries: {}, tile {}x{}, row block {}, keys {} at a time",
                                  forShort->atMost, strategiesBeside(schedule, forShort->schedule),
                                  forShort->schedule.getTileRows(), forShort->schedule.getTileVectors(),
                                  forShort->schedule.getRowBlock(), forShort->schedule.getKeyBlock());
  auto onGpu = dyn_cast_or_null<GpuScheduleAttr>(attention.getScheduleAttr());
  auto keyParts = attention->getAttrOfType<IntegerAttr>(gpu::kGpuKeyParts);
  if (onGpu)
    facts.schedule =
        fmt::format("{}: {}, {} queries a block, {} keys a step, {}, queries in {}{}{}{}{}", onGpu.getTarget().str(),
                    onGpu.getEngine().str(), onGpu.getRows(), onGpu.getKeys(),
                    onGpu.getStages() == 1 ? "single-buffered operands" : fmt::format("{} stages", onGpu.getStages()),
                    onGpu.getKeepQueries() ? "registers" : "shared memory",
                    onGpu.getColumns() ? fmt::format(", {} columns of the values", onGpu.getColumns()) : "",
                    onGpu.getWarpRows() == 16 ? "" : fmt::format(", {} queries a warp", onGpu.getWarpRows()),
                    onGpu.getCopies() == gpu::kTma ? ", copies by TMA" : "",
                    keyParts ? fmt::format(", keys in {} parts", keyParts.getInt()) : "");
  ArrayRef<StringAttr> strategies = schedule ? schedule.getStrategies()
                                    : onGpu  ? onGpu.getStrategies()
                                             : ArrayRef<StringAttr>();
  auto add = [&](const Term &term) {
    TermAnalysis analysis = analyse(term);
    TermOp op = term.op;
    TermFacts fact{textOfTerm(op, function),
                   analysis.className,
                   subscript::abbreviateTables(skewer::describe(term, analysis)) + madeBefore(term),
                   "",
                   usefulFlops(term, facts.pairs),
                   textPlaceOf(op.getLoc()),
                   term.isOfValues};
    if (facts.terms.size() < strategies.size())
      fact.strategy = strategies[facts.terms.size()].str();
    facts.terms.push_back(std::move(fact));
  };
  auto view = viewOf(attention);
  llvm::for_each(view->score, add);
  llvm::for_each(view->values, add);
  return facts;
}

/// Explains why no fused kernel is made, with the lowering's own messages about its stages.
void explainGeneric(func::FuncOp function, KernelFacts &facts) {
  bool isFused = false;
  for (const Stage &stage : stagesOf(function)) {
    isFused |= stage.kind == StageKind::Attention;
    if (stage.kind != StageKind::Rows)
      continue;
    facts.generic = stage.reason;
    facts.genericPlace = textPlaceOf(stage.result.getLoc());
  }
  if (isFused)
    facts.generic.clear(), facts.genericPlace = {};
  else if (facts.generic.empty()) {
    bool isAny = function.walk([](SoftmaxOp) { return WalkResult::interrupt(); }).wasInterrupted();
    facts.generic = isAny ? "no attention was formed"
                          : "no weights that are computed from scores are multiplied by values, so there is no "
                            "attention to fuse";
  }
}

/// Describes the operations on each attention's result before it is stored, in the order of the attentions.
void describeFinish(func::FuncOp function, std::vector<AttentionFacts> &facts) {
  llvm::DenseMap<Operation *, size_t> numbers;
  for (AttentionOp attention : function.getOps<AttentionOp>())
    numbers.try_emplace(attention, numbers.size());
  for (const Stage &stage : stagesOf(function)) {
    auto found = stage.finishes ? numbers.find(stage.finishes) : numbers.end();
    if (found == numbers.end() || found->second >= facts.size())
      continue;
    Value made = stage.finishes->getResult(0);
    auto isFolded = [&](Value value) {
      Operation *op = value.getDefiningOp();
      return value == stage.result || isa_and_nonnull<arith::ConstantOp, tensor::SplatOp>(op) ||
             (op && isArithmetic(op) && llvm::is_contained(stage.folded, op));
    };
    std::string text = textOfTensor(stage.result, [&](Value value) -> std::string {
      return value == made ? "result" : isFolded(value) ? "" : nameOfOperand(value, function);
    });
    if (text != "result") { // not just a conversion
      facts[found->second].finish = text;
      facts[found->second].finishPlace = textPlaceOf(stage.result.getLoc());
    }
  }
}

using Shape = std::vector<int64_t>;

/// Tensors of one shape: their number, the bytes of an element, their names in the text.
struct Held {
  int64_t first = 0, second = 0;
  std::vector<std::string> names;
};
using Tensors = std::map<Shape, Held>;

void count(Value tensor, Tensors &found) {
  auto type = dyn_cast<RankedTensorType>(tensor.getType());
  if (!type || type.getRank() == 0)
    return;
  Shape shape;
  for (int64_t size : type.getShape())
    shape.push_back(ShapedType::isDynamic(size) ? -1 : size);
  auto &entry = found[shape];
  ++entry.first;
  entry.second = type.getElementTypeBitWidth() / 8;
  if (std::string name = nameInText(tensor); !name.empty() && !llvm::is_contained(entry.names, name))
    entry.names.push_back(name);
}

/// Returns the results of the spec's operations. A value that the function returns must be written anyway.
Tensors resultsOf(func::FuncOp function) {
  Tensors found;
  Operation *last = function.getBody().front().getTerminator();
  function.walk([&](Operation *op) {
    for (Value result : op->getResults())
      if (!llvm::is_contained(last->getOperands(), result))
        count(result, found);
  });
  return found;
}

/// Returns the tensors that stages leave in memory for each other; all others are computed where they are read.
Tensors buffersOf(func::FuncOp function) {
  Tensors found;
  llvm::DenseSet<Value> outputs;
  for (Value result : function.getBody().front().getTerminator()->getOperands())
    outputs.insert(memoryOf(result));
  auto isMatmul = [](EinsumOp einsum) {
    return getElementTypeOrSelf(einsum.getResult().getType()).isF32() && matmulOf(einsum);
  };
  for (const Stage &stage : stagesOf(function, isMatmul))
    for (Value made : skewer::resultsOf(stage))
      if (!outputs.contains(memoryOf(made)))
        count(made, found);
  return found;
}

double elements(const Shape &shape) {
  double product = 1;
  for (int64_t size : shape)
    product *= size < 0 ? 1 : static_cast<double>(size);
  return product;
}

} // namespace

KernelFacts factsOf(const Kernel &kernel, ModuleOp scheduled, const std::map<std::string, int64_t> &sizes) {
  KernelFacts facts;
  facts.name = kernel.name;
  func::FuncOp before = kernel.einsumFunction(), after = *scheduled.getOps<func::FuncOp>().begin();
  KernelPlan signature = signatureOf(before);
  facts.elementType = nameOf(signature.outputs.front().type);
  facts.runTimeSizes = signature.sizes;
  after.walk([&](AttentionOp attention) { facts.attentions.push_back(factsOf(attention, after)); });
  if (auto reasons = after->getAttrOfType<ArrayAttr>("attn.unfused"))
    for (Attribute reason : reasons)
      if (auto text = dyn_cast<StringAttr>(reason))
        facts.unfused.push_back(text.str());

  explainGeneric(after, facts);

  // An attention writes its result in the order in which it is needed.
  OwningOpRef<ModuleOp> lowered(cast<ModuleOp>(scheduled->clone()));
  func::FuncOp last = *lowered->getOps<func::FuncOp>().begin();
  separateResults(last);
  prepareStages(last);
  describeFinish(last, facts.attentions);
  Tensors atFirst = resultsOf(before), atLast = buffersOf(last);
  // Only tensors that grow with queries × keys are listed.
  double threshold = 0;
  for (const AttentionFacts &attention : facts.attentions)
    threshold = std::max(threshold, static_cast<double>(attention.queries) * static_cast<double>(attention.keys));
  for (const auto &[shape, entry] : atFirst) {
    auto left = atLast.find(shape);
    int64_t gone = entry.first - (left == atLast.end() ? 0 : left->second.first);
    if (threshold <= 0 || gone <= 0 || elements(shape) < threshold)
      continue;
    std::vector<std::string> names = entry.names;
    for (const auto &[other, held] : atLast)
      llvm::erase_if(names,
                     [&, &kept = held.names](const std::string &name) { return llvm::is_contained(kept, name); });
    facts.neverMaterialised.push_back(
        {shape, gone, elements(shape) * static_cast<double>(gone * entry.second), std::move(names)});
  }
  for (const auto &[shape, entry] : atLast)
    facts.materialised.push_back(
        {shape, entry.first, elements(shape) * static_cast<double>(entry.first * entry.second), entry.names});
  auto bySize = [](const TensorFacts &a, const TensorFacts &b) {
    return a.bytes != b.bytes ? a.bytes > b.bytes : a.shape < b.shape;
  };
  std::sort(facts.neverMaterialised.begin(), facts.neverMaterialised.end(), bySize);
  std::sort(facts.materialised.begin(), facts.materialised.end(), bySize);

  std::map<std::string, int64_t> ones;
  for (const std::string &size : signature.sizes) {
    auto given = sizes.find(size);
    ones[size] = given == sizes.end() ? 1 : given->second;
  }
  facts.flops = usefulFlops(after, ones);
  return facts;
}

static llvm::json::Array toJson(const std::vector<TensorFacts> &tensors) {
  llvm::json::Array array;
  for (const TensorFacts &tensor : tensors)
    array.push_back(llvm::json::Object{{"shape", llvm::json::Array(tensor.shape)},
                                       {"count", tensor.count},
                                       {"bytes", tensor.bytes},
                                       {"names", llvm::json::Array(tensor.names)}});
  return array;
}

void addPlace(llvm::json::Object &object, const TextPlace &place) {
  llvm::json::Array calls;
  for (const SchemeCallPlace &call : place.calls) {
    llvm::json::Object one{{"scheme", call.scheme}, {"line", static_cast<int64_t>(call.line)}};
    if (!call.file.empty())
      one["file"] = call.file;
    calls.push_back(std::move(one));
  }
  if (!place.file.empty())
    object["file"] = place.file;
  object["line"] = static_cast<int64_t>(place.line);
  object["calls"] = std::move(calls);
}

llvm::json::Object toJson(const KernelFacts &facts) {
  llvm::json::Array attentions;
  for (const AttentionFacts &attention : facts.attentions) {
    llvm::json::Array terms;
    for (const TermFacts &term : attention.terms) {
      llvm::json::Object object{{"text", term.text},
                                {"class", term.className},
                                {"description", term.description},
                                {"strategy", term.strategy},
                                {"side", term.valueSide ? "value" : "score"},
                                {"flops", term.flops}};
      addPlace(object, term.place);
      terms.push_back(std::move(object));
    }
    attentions.push_back(llvm::json::Object{{"space", attention.space},
                                            {"mask", attention.mask},
                                            {"schedule", attention.schedule},
                                            {"queries", attention.queries},
                                            {"keys", attention.keys},
                                            {"value_width", attention.width},
                                            {"visible_pairs", attention.pairs},
                                            {"value_flops", attention.valueFlops},
                                            {"finish", attention.finish},
                                            {"terms", std::move(terms)}});
  }
  return llvm::json::Object{{"name", facts.name},
                            {"type", facts.elementType},
                            {"sizes", llvm::json::Array(facts.runTimeSizes)},
                            {"attentions", std::move(attentions)},
                            {"generic", facts.generic},
                            {"generic_line", static_cast<int64_t>(facts.genericPlace.lineOfSpec())},
                            {"unfused", llvm::json::Array(facts.unfused)},
                            {"never_materialised", toJson(facts.neverMaterialised)},
                            {"materialised", toJson(facts.materialised)},
                            {"useful_flops", facts.flops}};
}

std::string manifestDetails(const Kernel &kernel, ModuleOp scheduled) {
  KernelFacts facts = factsOf(kernel, scheduled);
  // The same text gives the same bytes, whatever its file is called and wherever it is: the spec has no name, and other
  // files have no folder.
  for (AttentionFacts &attention : facts.attentions)
    for (TermFacts &term : attention.terms) {
      TextPlace &place = term.place;
      std::string spec = place.calls.empty() ? place.file : place.calls.back().file;
      auto forget = [&](std::string &file) { file = file == spec ? "" : file.substr(file.rfind('/') + 1); };
      forget(place.file);
      for (SchemeCallPlace &call : place.calls)
        forget(call.file);
    }
  return llvm::formatv("{0}", llvm::json::Value(toJson(facts))).str();
}

} // namespace skewer
