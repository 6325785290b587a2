// Errors that suggest what may have been meant: for names without a value (one message for each) and for misplaced
// values.
#include "dialect/Language/Typer.h"
#include "dialect/Language/Habits.h"

using namespace llvm;

namespace skewer::language {

std::vector<std::string> NameMeanings::visibleNames() const {
  std::vector<std::string> names;
  for (const Scope *s : {static_cast<const Scope *>(scope), static_cast<const Scope *>(&state.globals)})
    if (s && (s == scope || !scope || !scope->isBuiltin)) {
      for (const auto &[name, value] : s->values)
        names.push_back(name);
      for (const Axis &axis : s->axes)
        names.push_back(axis.name);
    }
  return names;
}

/// Returns a text such as "b, h, i, j".
static std::string listOf(const std::vector<Axis> &axes) {
  std::string list;
  for (size_t k = 0; k < axes.size(); ++k)
    list += (k == 0 ? "" : ", ") + axes[k].name;
  return list;
}

/// Returns whether `name` looks like a row or a column of an axis that has been named: iy and ix of i.
bool NameMeanings::isPartOfAxis(const std::string &name) const {
  const Axis *whole = name.size() == 2 ? findAxis(name.substr(0, 1)) : nullptr;
  return whole && whole->runtime.empty() && StringRef("yrhutxcwv").contains(name[1]);
}

/// Adds a note on how to write a row or a column of an axis. Returns false if `name` is neither.
bool NameMeanings::noteOnAxis(const std::string &name) {
  if (!isPartOfAxis(name))
    return false;
  const Axis *whole = findAxis(name.substr(0, 1));
  bool isRow = StringRef("yrhut").contains(name[1]);
  const Value *width = lookup("W");
  bool known = width && width->isWhole() && width->integer > 0 && whole->size % width->integer == 0;
  diagnostics.note("'" + whole->name + "' is one axis of " + std::to_string(whole->size) + " positions; on a map " +
                   (known ? "W" : "that is W") + " wide its " + (isRow ? "row" : "column") + " is " + whole->name +
                   (isRow ? " // W" : " % W") + ", or the einsum names both: \"b h (" + whole->name + "y " +
                   whole->name + "x) d\"");
  for (const Axis &other : scope->axes) // one message for both, as in iy - jy
    scope->unknown.insert(other.name + name[1]);
  return true;
}

/// Returns whether "//" stands right before a piece of the file; a comment may have been meant.
bool NameMeanings::isAfterSlashes(StringRef place) const {
  StringRef file = diagnostics.sources.getMemoryBuffer(diagnostics.sources.getMainFileID())->getBuffer();
  if (place.data() < file.data() || place.data() > file.end())
    return false; // in a built-in scheme
  return file.take_front(place.data() - file.data()).rtrim(" \t").ends_with("//");
}

/// Reports the error about a name that has no value, once for each name of a scope.
Value NameMeanings::unknownName(const Node &node) {
  std::string name = node.name.str();
  if (!scope->unknown.insert(name).second)
    return {};
  // A built-in scheme calls the score's axes i and j.
  if (scope->isBuiltin && (name == "i" || name == "j")) {
    scope->unknown.insert({"i", "j"});
    diagnostics.errorOfCall(node.text,
                            "it uses the score's axes i (of the queries) and j (of the keys), but no text "
                            "before this call names " +
                                std::string(findAxis("i") || findAxis("j") ? "the axis '" + name + "'" : "them"));
    diagnostics.note("name them so in the einsum of the score: \"b h i d, b h j d -> b h i j\"");
    return {};
  }
  bool isComment = isAfterSlashes(node.text);
  if (const Symbol *symbol = resolver.symbols.of(node); symbol && symbol->kind == SymbolKind::Axis) {
    error(node.text, "nothing tells the size of axis '" + name + "'");
    diagnostics.note(symbol->declared,
                     "the axis is named here; where an einsum names it, its size is given by " + name + " = …");
    return {};
  }
  auto isOf = [&](const Scope *s) { return s && (s->values.count(name) || s->axis(name)); };
  StringRef constant = insteadOfConstant(name);
  std::string part = isComment || !constant.empty() ? "" : suggestion(name, visibleNames());
  error(node.text, "unknown name '" + name + "'" + (isPartOfAxis(name) ? "" : part));
  if (isComment)
    diagnostics.note("a comment begins with '#'; '//' divides rounding down");
  else if (!constant.empty())
    diagnostics.note(constant.str());
  else if (resolver.schemes.seenBy(scope->isBuiltin).count(name))
    diagnostics.note("it is a scheme, which is called with its operands: " + name + "(…)");
  else if (typer.functions.isFunction(name))
    diagnostics.note("it is a function, which is called with its argument: " + name + "(x)");
  else if (scope == &state.globals) {
    auto later = llvm::find_if(state.program->params, [&](const ParamDeclaration &p) { return p.name == name; });
    if (later != state.program->params.end())
      diagnostics.note(later->name, "it is declared after; a param may use those before it");
    else if (part.empty())
      diagnostics.note("declare it: 'param " + name + " = …' is known at compile time, 'size " + name +
                       "' is given by the caller");
  } else if (scope->caller && isOf(scope->caller))
    diagnostics.note("the caller has that name, but a scheme sees its own operands only: pass it as one");
  else if (!noteOnAxis(name) && part.empty() && name.size() <= 3) // a longer name is meant to be a value
    diagnostics.note("a name is an axis once an einsum, or an operand of a scheme, has named it; " +
                     (scope->axes.empty() ? "none has yet" : "so far: " + listOf(scope->axes)));
  return {};
}

/// Reports the error about a call of something that is neither a function nor a scheme.
Value NameMeanings::unknownCall(const Node &node, const std::vector<std::string> &names) {
  std::string name = node.name.str();
  if (is_contained(state.program->brokenSchemes, node.name))
    return {};
  if (const Value *value = lookup(name)) {
    if (!value->good())
      return {};
    error(node.name, "'" + name + "' is " + describe(*value) + " and cannot be called");
    if (value->is(ValueKind::Tensor) || value->is(ValueKind::Indices) || value->is(ValueKind::List))
      diagnostics.note("its elements are read in brackets: " + name + "[…]");
    return {};
  }
  StringRef instead = insteadOfFunction(node.name);
  error(node.name, "unknown function or scheme '" + name + "'" + (instead.empty() ? suggestion(name, names) : ""));
  if (!instead.empty())
    diagnostics.note(instead.str());
  else if (llvm::any_of(state.program->kernels, [&](const Kernel &kernel) { return kernel.name == name; }))
    diagnostics.note(
        "it is a kernel, and only programs call kernels; to share a formula, write a scheme: scheme NAME(x) = …");
  return {};
}

/// Reports the error about a value that cannot be an operand of arithmetic.
Value NameMeanings::notAnOperand(StringRef place, const std::string &who, const Value &value) {
  error(place, "'" + who + "' takes numbers, positions and tensors, found " + describe(value));
  if (value.is(ValueKind::Size))
    diagnostics.note("a run-time size is no number here; a size known at compile time is a 'param'");
  if (value.is(ValueKind::Indices)) {
    std::string subscripts;
    for (const Dimension &dimension : value.dimensions)
      subscripts +=
          (subscripts.empty() ? "" : ", ") + std::string(dimension.namings.empty() ? "…" : print(dimension.namings[0]));
    diagnostics.note("its elements are read in brackets, at positions: " + value.name + "[" + subscripts + "]");
  }
  return {};
}

} // namespace skewer::language
