// Runs the parts of the typer on a file, kernel by kernel.
#include "dialect/Language/Typer.h"

using namespace llvm;

namespace skewer::language {

TyperParts::TyperParts(TypingState &state)
    : kernels(state, *this), expressions(state, *this), decisions(state, *this), names(state, *this),
      positions(state, *this), sizes(state, *this), functions(state, *this), reals(state, *this),
      predicates(state, *this), choices(state, *this), absent(state, *this), arithmetic(state, *this),
      reductions(state, *this), einsums(state, *this), moves(state, *this), schemes(state, *this) {}

Typer::Typer(Diagnostics &diagnostics, const Options &options, mlir::MLIRContext *context)
    : state{diagnostics, options, context, Resolver(diagnostics)}, parts(state) {}

void Typer::addBuiltins(const Program &builtin) {
  state.resolver.schemes.addBuiltins(builtin);
  state.builtins.push_back(&builtin);
}

void Typer::type(const Program &program, function_ref<void(const typed::Kernel &)> finished) {
  state.program = &program;
  state.resolver.resolve(program);
  parts.kernels.declare(program);
  for (const Kernel &kernel : program.kernels) {
    if (state.diagnostics.exhausted())
      break;
    if (state.isScouting && &kernel != state.kernelAtHand)
      continue;
    if (parts.kernels.typeKernel(kernel))
      finished(state.kernel);
  }
  if (program.kernels.empty() && !state.diagnostics.hasErrors())
    state.diagnostics.error(parts.names.wholeText(),
                            "there is no 'kernel' in the specification, so there is nothing to compile");
}

bool Typer::isWholeParam(StringRef name) const {
  auto global = state.globals.values.find(name.str());
  return global != state.globals.values.end() && global->second.isWhole();
}

void Typer::scoutFor(const Kernel &kernel, const AxisFacts &known, bool readsTell, AxisFacts &found) {
  state.isScouting = true;
  state.kernelAtHand = &kernel;
  parts.sizes.scoutWith(known, readsTell, found);
}

} // namespace skewer::language
