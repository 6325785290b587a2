// Types a kernel: its declarations, its body, and the conversion of its results to their declared types.
#include "dialect/Language/Typer.h"

using namespace llvm;

namespace skewer::language {

/// Declares the shapes of the results. Nothing else may have their names. False after an error.
bool KernelTyper::declareResults(const Kernel &kernel, Scope &own, typed::Kernel &declared) {
  bool good = true;
  std::map<std::string, StringRef> names;
  for (const KernelResult &result : kernel.results) {
    declared.results.push_back({result.name, {}, typed::elementNamed(result.type.element)});
    good &= shape(result.type, declared.results.back().dimensions);
    if (!is_contained({"f32", "f16", "bf16"}, result.type.element) || result.type.low || result.type.deviation ||
        result.type.from) {
      error(result.type.text, "a kernel's result is of f32, f16 or bf16, and has no range and no standard deviation");
      good = false;
    }
    if (result.name.empty())
      continue;
    auto operand = own.declared.find(result.name.str());
    auto [entry, fresh] = names.insert({result.name.str(), result.name});
    if (!fresh || operand != own.declared.end()) {
      error(result.name, "result '" + result.name.str() + "' has the name of another " +
                             (fresh ? "tensor of the kernel" : "result") + "; choose another");
      diagnostics.note(fresh ? operand->second : entry->second, "declared here");
      good = false;
    }
  }
  return good;
}

/// Declares the types of the operands. Nothing else may have their names. False after an error.
bool KernelTyper::declareOperands(const Kernel &kernel, Scope &own, typed::Kernel &declared) {
  bool good = true;
  std::map<const TypeExpression *, std::pair<bool, Dimensions>> groups; // the operands of a group share their type
  for (const KernelOperand &operand : kernel.operands) {
    if (!groups.count(operand.type.get())) {
      auto &group = groups[operand.type.get()];
      group.first = shape(*operand.type, group.second);
    }
    auto &[fine, dimensions] = groups[operand.type.get()];
    good &= fine;
    typed::Operand &stated = declared.operands.emplace_back();
    stated.name = operand.name, stated.dimensions = dimensions;
    stated.element = typed::elementNamed(operand.type->element), stated.isConst = operand.isConst;
    good &= declaredRange(operand, stated);
    good &= declaredSpread(operand, stated.spread);
    auto [entry, fresh] = own.declared.insert({operand.name.str(), operand.name});
    if (!fresh) {
      error(operand.name, "operand '" + operand.name.str() + "' is declared twice");
      good = false;
    }
    if (auto global = state.globals.declared.find(operand.name.str()); global != state.globals.declared.end()) {
      error(operand.name, "'" + operand.name.str() + "' is already a param or a size");
      diagnostics.note(global->second, "declared here");
      good = false;
    }
  }
  return good;
}

/// Binds the operands' names to their values.
void KernelTyper::bindOperands(Scope &own) {
  for (const auto &[number, operand] : enumerate(kernel.operands)) {
    Value &value = own.values[operand.name.str()];
    if (operand.element == typed::Element::I32) {
      value = typer.positions.indexOperand(operand.name, operand.dimensions);
      continue;
    }
    Node place{NodeKind::Name, operand.name, operand.name, 0, 0, false, {}, {}};
    typed::Tensor *tensor = append(place, typed::Argument{number}, {}, operand.dimensions, operand.element);
    if (operand.element == typed::Element::I8 || operand.element == typed::Element::F8E4M3) // now ordinary numbers
      tensor = append(place, typed::Cast{}, tensor, operand.dimensions);
    value = tensorValue(tensor, operand.dimensions);
  }
}

/// Types the kernel; false after an error.
bool KernelTyper::typeKernel(const Kernel &declared) {
  Scope own;
  scope = &state.globals;
  kernel = {};
  typed::Kernel signature;
  bool good = declareOperands(declared, own, signature);
  good &= declareResults(declared, own, signature);
  scope = nullptr;
  if (!good)
    return false;
  kernel = std::move(signature);
  kernel.name = declared.name, kernel.lengths = state.lengths;
  llvm::copy_if(state.runtimeSizes, std::back_inserter(kernel.runtimeSizes),
                [&](const std::string &size) { return kernel.hasRuntimeSize(size); });
  typer.sizes.startKernel(declared);
  bindOperands(own);
  for (auto [result, stated] : llvm::zip(declared.results, kernel.results))
    for (const Dimension &d : stated.dimensions)
      if (d.isRuntime() && !kernel.hasRuntimeSize(d.runtime)) {
        error(result.type.text, "no operand has the run-time size '" + d.runtime + "' of the result");
        good = false;
      }

  scope = &own;
  Value value;
  StringRef place;
  typer.sizes.expectResults(declared);
  if (good && typeBody(declared.body, value, place, declared.end))
    finishKernel(declared, value, place);
  scope = nullptr;
  for (const auto &[name, where] : own.declared)
    if (!own.used.count(name) && !diagnostics.hasErrors())
      diagnostics.warning(where, "'" + name + "' is never used");
  if (diagnostics.hasErrors() || state.isScouting)
    return false;
  kernel.eraseUnused(); // tensors that a condition replaced, or that only unused variables hold
  return true;
}

/// Returns one result as its declared type. Null after an error.
typed::Tensor *KernelTyper::finishResult(const Kernel &declaredKernel, size_t number, const Value &result,
                                         StringRef place) {
  const KernelResult &stated = declaredKernel.results[number];
  const Dimensions &declared = kernel.results[number].dimensions;
  std::string title = stated.name.empty() || kernel.results.size() == 1
                          ? "kernel '" + kernel.name.str() + "' returns "
                          : "result '" + stated.name.str() + "' of kernel '" + kernel.name.str() + "' is ";
  if (!result.is(ValueKind::Tensor)) {
    error(place, title + "a tensor, found " + describe(result));
    if (result.is(ValueKind::List) && kernel.results.size() == 1)
      diagnostics.note("several results are declared by their names: -> (out : f32[…], lse : f32[…])");
    return {};
  }
  bool same = declared.size() == result.dimensions.size();
  for (size_t d = 0; same && d < declared.size(); ++d)
    same = declared[d].size == result.dimensions[d].size && declared[d].runtime == result.dimensions[d].runtime;
  if (!same) {
    error(place, title + describe(declared) + ", but this is " + describe(result.dimensions));
    diagnostics.note(stated.type.text, "declared here");
    return {};
  }
  if (!typer.absent.refuseAbsent(place, result, "kernel '" + kernel.name.str() + "' returns") ||
      !typer.moves.requireOrder(place, result, "a kernel's result"))
    return {};
  Node node{NodeKind::Name, place, place, 0, 0, false, {}, {}};
  typed::Tensor *tensor = typer.absent.written(node, result).tensor;
  typed::Element element = kernel.results[number].element;
  if (!tensor || tensor->element == element)
    return tensor;
  // An einsum writes the declared element type itself, which rounds its accumulator only once.
  if (tensor->as<typed::Einsum>() && tensor->uses == 0) {
    tensor->element = element;
    return tensor;
  }
  return append(node, typed::Cast{}, tensor, declared, element);
}

void KernelTyper::finishKernel(const Kernel &declared, Value result, StringRef place) {
  std::vector<Value> values = {result};
  if (kernel.results.size() > 1) {
    if (!result.is(ValueKind::List) || result.items.size() != kernel.results.size()) {
      error(place, "kernel '" + kernel.name.str() + "' returns " + std::to_string(kernel.results.size()) +
                       " tensors, found " + describe(result));
      diagnostics.note(declared.resultText, "declared here");
      return;
    }
    values = result.items;
  }
  for (size_t number = 0; number < values.size(); ++number) {
    kernel.returned.push_back(finishResult(declared, number, values[number], place));
    if (!kernel.returned.back())
      return;
  }
  for (typed::Tensor *tensor : kernel.returned)
    ++tensor->uses;
  kernel.returnPlace = place;
}

/// Sets the declared range of a kernel's operand; false after an error.
bool KernelTyper::declaredRange(const KernelOperand &operand, typed::Operand &stated) {
  const TypeExpression &type = *operand.type;
  if (!type.low)
    return true;
  if (type.element != "i32")
    return error(type.low->text, "only an index operand, of i32, has a range; '" + operand.name.str() + "' is of " +
                                     type.element.str()),
           false;
  auto low = typer.expressions.evaluateWhole(*type.low, "the end of a range"),
       high = typer.expressions.evaluateWhole(*type.high, "the end of a range");
  if (!low || !high)
    return false;
  if (*low > *high)
    return error(type.low->text, "the range of '" + operand.name.str() + "', " + std::to_string(*low) + ".." +
                                     std::to_string(*high) + ", is empty"),
           false;
  if (*low < INT32_MIN || *high > INT32_MAX)
    return error(type.low->text, "the range of '" + operand.name.str() + "', " + std::to_string(*low) + ".." +
                                     std::to_string(*high) + ", has values that do not fit i32"),
           false;
  stated.range = subscript::Range{*low, *high};
  stated.low = type.low->text, stated.high = type.high->text;
  return true;
}

/// Returns a number, known at compile time, of the distribution of seeded values; nothing after an error.
std::optional<double> KernelTyper::numberOfSpread(const Node &node, const std::string &what) {
  Value value = evaluate(node);
  if (!value.good())
    return std::nullopt;
  if (!value.is(ValueKind::Number))
    return error(node.text, what + " is a number known at compile time, found " + describe(value)), std::nullopt;
  if (!std::isfinite(value.number))
    return error(node.text, what + " is a finite number, found " + describe(value)), std::nullopt;
  return value.number;
}

/// Sets the distribution of seeded values of a kernel's operand; false after an error.
bool KernelTyper::declaredSpread(const KernelOperand &operand, typed::Spread &spread) {
  const TypeExpression &type = *operand.type;
  if (!type.deviation && !type.from)
    return true;
  std::string name = "'" + operand.name.str() + "'";
  StringRef place = type.from ? type.from->text : type.mean ? type.mean->text : type.deviation->text;
  const char *what = type.from ? "range of real numbers" : type.mean ? "mean" : "standard deviation";
  if (type.element == "i8")
    return error(place, std::string("an operand of i8 has no ") + what + "; " + name +
                            " is filled with whole numbers from -127 to 127"),
           false;
  if (type.element == "i32")
    return error(place, std::string("an index operand has no ") + what + "; " + name +
                            " is of i32, whose values may have a range: i32[…] in 0..31"),
           false;
  if (type.from) {
    spread.from = numberOfSpread(*type.from, "the least value");
    spread.to = numberOfSpread(*type.to, "the largest value");
    if (!spread.from || !spread.to)
      return false;
    if (*spread.from > *spread.to)
      return error(place, "the range of " + name + " is empty: its least value is above its largest"), false;
    return true;
  }
  if (type.mean && !(spread.mean = numberOfSpread(*type.mean, "a mean")))
    return false;
  Value value = evaluate(*type.deviation);
  if (!value.good())
    return false;
  if (!value.is(ValueKind::Number))
    return error(type.deviation->text,
                 "a standard deviation is a number known at compile time, found " + describe(value)),
           false;
  if (!(value.number > 0) || std::isinf(value.number))
    return error(type.deviation->text,
                 "the standard deviation of " + name + " is a positive number, found " + describe(value)),
           false;
  spread.deviation = value.number;
  return true;
}

} // namespace skewer::language
