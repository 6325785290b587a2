// Sizes of axes that their own statement does not determine: an axis is as long as in the other statements, if they all
// agree on one length. The typer looks these sizes up whenever it meets such an axis.
#include "dialect/Language/EinsumText.h"
#include "dialect/Language/Typer.h"

using namespace llvm;

namespace skewer::language {
using subscript::kRuntime;

static std::string sizeOf(const Axis &axis) { return axis.runtime.empty() ? std::to_string(axis.size) : axis.runtime; }

static std::string listOf(ArrayRef<Axis> axes) {
  std::string list;
  for (size_t k = 0; k < axes.size(); ++k)
    list += (k == 0 ? "" : k + 1 == axes.size() ? " and " : ", ") + sizeOf(axes[k]);
  return list;
}

bool Scope::learn(const Axis &axis, bool isPosition) {
  if (isPosition && !this->axis(axis.name))
    axes.push_back(axis);
  std::vector<Axis> &known = sizes[axis.name];
  if (llvm::is_contained(known, axis))
    return false;
  known.push_back(axis);
  return true;
}

Scope Scope::withAxes(ArrayRef<Axis> own) const {
  Scope inner = *this;
  for (const Axis &axis : own) {
    llvm::erase_if(inner.axes, [&](const Axis &outer) { return outer.name == axis.name; });
    inner.sizes.erase(axis.name);
    inner.reliances.erase(axis.name);
    inner.ownAxes.insert(axis.name);
  }
  std::vector<Axis> outer = std::move(inner.axes);
  inner.axes.clear();
  for (const Axis &axis : own)
    inner.learn(axis);
  inner.axes.insert(inner.axes.end(), outer.begin(), outer.end());
  return inner;
}

void Scope::returnFrom(const Scope &inner) {
  used.insert(inner.used.begin(), inner.used.end());
  for (const auto &[name, place] : inner.reliances)
    if (!inner.ownAxes.count(name) || ownAxes.count(name))
      reliances.insert({name, place});
}

/// Adds the axes of these dimensions to the scope.
void KnownSizes::rememberAxes(const Dimensions &dimensions) {
  for (const Dimension &dimension : dimensions)
    for (const Naming &naming : dimension.namings)
      for (const Axis &axis : naming)
        rememberAxis(axis, /*isPosition=*/true);
}

void KnownSizes::rememberAxis(const Axis &axis, bool isPosition) {
  if (!scope->learn(axis, isPosition))
    return;
  if (facts)
    facts->found[state.callPath][axis.name].push_back(axis);
  auto relied = scope->reliances.find(axis.name);
  if (relied != scope->reliances.end() && scope->sizes[axis.name].size() == 2 && !state.isScouting)
    sayTwoSizes(relied->second, axis.name, scope->sizes[axis.name]);
}

void KnownSizes::sayTwoSizes(StringRef place, const std::string &name, ArrayRef<Axis> sizes) {
  error(place, "axis '" + name + "' has the sizes " + listOf(sizes) + " here, and it is unclear which one is meant");
  diagnostics.note("give the size where a call takes it, " + name + " = …, or rename one of the axes");
}

/// Checks that the axis has one size in the text; reports an error and returns false if it has several. From then on, a
/// second size further down is an error.
bool KnownSizes::relyOnSize(StringRef place, const std::string &name) {
  auto known = scope->sizes.find(name);
  if (known != scope->sizes.end() && known->second.size() > 1) {
    if (!state.isScouting)
      sayTwoSizes(place, name, known->second);
    return false;
  }
  scope->reliances.insert({name, place});
  return true;
}

/// Checks the same for all axes of a function of positions that the tensor beside it lacks.
bool KnownSizes::relyOnSizes(StringRef place, const Value &function, const Dimensions *beside) {
  std::set<std::string> told;
  if (beside)
    for (const Dimension &d : *beside)
      for (const Naming &naming : d.namings)
        for (const Axis &axis : naming)
          told.insert(axis.name);
  for (const auto &[name, axis] : function.axes)
    if (!told.count(name) && !relyOnSize(place, name))
      return false;
  return true;
}

/// Returns an axis that its own statement does not determine, with its size in the other statements. Nothing if none of
/// them has it; nothing after an error if they have several sizes.
std::optional<Axis> KnownSizes::adoptedAxis(StringRef place, const std::string &name, bool *isAmbiguous) {
  if (!scope->sizes.count(name) && !learnLater(name))
    return std::nullopt;
  if (relyOnSize(place, name))
    return scope->sizes[name].front();
  if (isAmbiguous)
    *isAmbiguous = true;
  return std::nullopt;
}

/// Adds the axis to the scope if other statements determine it: statements further down, or the expression that
/// contains this one. Returns whether they do.
bool KnownSizes::learnLater(const std::string &name) {
  return learnFrom(factsOfAll(/*readsTell=*/false), name) || learnFrom(factsOfAll(/*readsTell=*/true), name);
}

/// Returns the axis of the kernel or scheme, wherever it is named; null if nothing has the name or determines its size.
const Axis *KnownSizes::axisOfBody(const std::string &name) {
  const Axis *axis = findAxis(name);
  return axis || !learnLater(name) ? axis : findAxis(name);
}

bool KnownSizes::learnFrom(const AxisFacts *all, const std::string &name) {
  if (!all)
    return false;
  // The calls whose statements may determine the axis: i and j of a scheme are those of its caller.
  std::vector<const Node *> calls = state.callPath;
  for (const Scope *own = scope; own && own->inherited.count(name) && !calls.empty(); own = own->caller)
    calls.pop_back();
  auto path = all->found.find(calls);
  if (path == all->found.end())
    return false;
  auto found = path->second.find(name);
  if (found == path->second.end())
    return false;
  for (const Axis &axis : found->second)
    scope->learn(axis);
  return true;
}

/// Returns the sizes of axes that all statements of the kernel determine. It types the kernel again, without what is
/// not known yet, until it finds nothing new; most kernels never ask. Sizes from reads and from the type of the result
/// count only for axes of which nothing else is known.
const AxisFacts *KnownSizes::factsOfAll(bool readsTell) {
  constexpr unsigned kMostRounds = 8;
  if (state.isScouting || !state.kernelAtHand || (knownFacts && (!readsTell || this->readsTell)))
    return knownFacts;
  if (!knownFacts)
    knownFacts = &scouted.emplace();
  this->readsTell = readsTell;
  for (unsigned round = 0; round < kMostRounds && scout(*scouted, readsTell); ++round)
    ;
  return knownFacts;
}

void KnownSizes::startKernel(const Kernel &declared) {
  state.kernelAtHand = &declared;
  state.callPath.clear();
  if (!state.isScouting)
    knownFacts = nullptr, scouted.reset(), readsTell = false;
}

void KnownSizes::scoutWith(const AxisFacts &known, bool readsTell, AxisFacts &found) {
  facts = &found, knownFacts = &known;
  this->readsTell = readsTell;
}

/// Types the kernel once with these facts and adds the new ones. Returns whether there are new ones.
bool KnownSizes::scout(AxisFacts &known, bool readsTell) {
  Options own = options;
  own.decisions = nullptr;
  Diagnostics silent = Diagnostics::none(diagnostics.sources);
  Typer scout(silent, own, state.context);
  for (const Program *builtin : state.builtins)
    scout.addBuiltins(*builtin);
  AxisFacts found;
  scout.scoutFor(*state.kernelAtHand, known, readsTell, found);
  scout.type(*state.program, [](const typed::Kernel &) {});
  bool isNew = false;
  for (const auto &[calls, axes] : found.found)
    for (const auto &[name, sizes] : axes)
      for (const Axis &axis : sizes)
        if (std::vector<Axis> &all = known.found[calls][name]; !llvm::is_contained(all, axis)) {
          all.push_back(axis);
          isNew = true;
        }
  return isNew;
}

/// Evaluates the parts of an expression that has no value yet, in a scouting typer: one part may determine an axis that
/// another part lacks. Each part is evaluated once.
void KnownSizes::scoutParts(const Node &node) {
  if (!state.isScouting || !scoutedParts.insert({&node, state.callPath}).second)
    return;
  for (const NodePtr &operand : node.operands)
    if (operand && operand->kind != NodeKind::Slice && operand->kind != NodeKind::Ellipsis)
      evaluate(*operand);
  for (const Keyword &k : node.keywords)
    evaluate(*k.value);
}

/// Learns the axis n from k[n, d]: it is as long as the dimension that it reads, if nothing else determines its size.
void KnownSizes::learnFromRead(const Node &subscript, const Dimension &dimension) {
  const Symbol *symbol = state.isScouting && readsTell ? resolver.symbols.of(subscript) : nullptr;
  if (!symbol || subscript.kind != NodeKind::Name || symbol->kind != SymbolKind::Axis)
    return;
  std::string name = subscript.name.str();
  if (!axisOfBody(name))
    rememberAxis({name, dimension.size, dimension.runtime}, /*isPosition=*/true);
}

/// Learns the sizes that the call of an einsum or a rearrangement determines, together with the operands whose value is
/// known.
void KnownSizes::learnFromOthers(const Node &node, const subscript::Einsum &spec, ArrayRef<Value> operands,
                                 subscript::AxisSizes sizes) {
  std::vector<std::vector<int64_t>> shapes;
  std::map<std::string, std::string> runtimes;
  for (const auto &[operand, dimensions] : llvm::zip(operands, spec.operands)) {
    shapes.emplace_back();
    if (operand.dimensions.size() != dimensions.size())
      continue;
    for (const auto &[own, dimension] : llvm::zip(operand.dimensions, dimensions)) {
      shapes.back().push_back(own.size);
      if (dimension.isAxis() && own.isRuntime())
        runtimes[dimension.axes[0]] = own.runtime;
    }
  }
  learnSizes(spec, shapes, sizes);
  for (const auto &[name, size] : sizes)
    if (name[0] != '\'' && (size == kRuntime) == (runtimes.count(name) > 0))
      rememberAxis({name, size, size == kRuntime ? runtimes[name] : ""}, /*isPosition=*/false);
  for (const std::string &name : spec.axes())
    if (auto axis = readsTell && !sizes.count(name) ? expectedAxis(node, spec, name) : std::nullopt;
        axis && !axisOfBody(name))
      rememberAxis(*axis, /*isPosition=*/false);
}

/// Learns the sizes that a `tabulate` or a `gather` gives axes of which nothing else is known: its function may be the
/// value of a statement above.
void KnownSizes::learnFromCall(ArrayRef<Axis> given) {
  if (!state.isScouting || !readsTell)
    return;
  for (const Axis &axis : given)
    if (namedByCalls.count(axis.name) || !axisOfBody(axis.name)) {
      namedByCalls.insert(axis.name);
      rememberAxis(axis, /*isPosition=*/false);
    }
}

/// Lets a scheme that has no axis `i` or `j` of its own use the axis of its caller, with all sizes that it has there.
/// If the caller learns a size only further down, it is looked up when the scheme needs it.
void KnownSizes::inheritAxis(const std::string &name, Scope &own) {
  if (auto known = scope->sizes.find(name); known != scope->sizes.end())
    for (const Axis &axis : known->second)
      own.learn(axis);
  own.inherited.insert(name);
}

/// Makes the caller rely on the axis sizes that the scheme relied on.
void KnownSizes::returnAxes(StringRef call, const Scope &own) {
  for (const std::string &name : own.inherited)
    if (own.reliances.count(name))
      scope->reliances.insert({name, call});
}

} // namespace skewer::language
