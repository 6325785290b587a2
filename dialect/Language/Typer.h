// The typer: turns the syntax tree into typed tensors (Typed.h). importSource (Language.h) runs it after the parser; it
// resolves names first (Resolver.h). It implements the rules of the language and reports all errors except those that
// need the finished function (Emission.h). It decides how every expression is computed, and creates no operation of
// MLIR: it uses the context only to look up functions of plugins.
//
// Each part types one kind of expression or statement. Parts call each other, because expressions contain expressions.
#pragma once
#include "dialect/Language/AbsentElements.h"
#include "dialect/Language/Arithmetic.h"
#include "dialect/Language/Choices.h"
#include "dialect/Language/DecisionLog.h"
#include "dialect/Language/Einsums.h"
#include "dialect/Language/Expressions.h"
#include "dialect/Language/Functions.h"
#include "dialect/Language/KernelTyper.h"
#include "dialect/Language/KnownSizes.h"
#include "dialect/Language/Moves.h"
#include "dialect/Language/NameMeanings.h"
#include "dialect/Language/Positions.h"
#include "dialect/Language/Predicates.h"
#include "dialect/Language/RealFunctions.h"
#include "dialect/Language/Reductions.h"
#include "dialect/Language/Schemes.h"

namespace skewer::language {

struct TyperParts {
  explicit TyperParts(TypingState &);

  KernelTyper kernels;
  Expressions expressions;
  DecisionLog decisions;
  NameMeanings names;
  Positions positions;
  KnownSizes sizes;
  Functions functions;
  RealFunctions reals;
  Predicates predicates;
  Choices choices;
  AbsentElements absent;
  Arithmetic arithmetic;
  Reductions reductions;
  Einsums einsums;
  Moves moves;
  Schemes schemes;
};

class Typer {
public:
  Typer(Diagnostics &, const Options &, mlir::MLIRContext *);
  /// Adds built-in schemes. One counts only if `program` has no scheme of that name.
  void addBuiltins(const Program &builtin);
  /// Calls `finished` with each kernel after it is typed, until there is an error.
  void type(const Program &, llvm::function_ref<void(const typed::Kernel &)> finished);
  /// Returns whether a name is a whole number known at compile time in the whole file.
  bool isWholeParam(llvm::StringRef name) const;
  /// Makes this a typer of one kernel that reports nothing. It knows the sizes in `known`, and adds to `found` those
  /// that it meets.
  void scoutFor(const Kernel &, const AxisFacts &known, bool readsTell, AxisFacts &found);

private:
  TypingState state;
  TyperParts parts;
};

} // namespace skewer::language
