// Computes the flat places that a term reads in its operands, and its guards.
#include "passes/Analysis/ElementTerm.h"
#include "passes/Analysis/Strides.h"

using namespace mlir;
using namespace skewer;
using namespace skewer::attn;
using namespace skewer::subscript;

ElementTerm skewer::flatTermOf(const Term &term, ArrayRef<Value> operands) {
  ElementTerm flat;
  for (auto [operand, subscripts] : llvm::zip_equal(TermOp(term.op).getInputs(), term.einsum.subscripts)) {
    flat.arguments.push_back(static_cast<unsigned>(llvm::find(operands, operand) - operands.begin()));
    flat.offsets.push_back(simplify(rowMajorIn(attn::extentsOf(operand), subscripts), term.domain));
  }
  for (const std::string &axis : term.einsum.contracted)
    flat.contracted.push_back({axis, term.sizeOf(axis)});
  flat.factor = term.factor;
  flat.application = term.application;
  flat.scale = term.scale;
  flat.sum = term.sum;
  return flat;
}

std::optional<Expr> skewer::ownGuardOf(const Term &term, const std::optional<Expr> &mask) {
  return term.repeats(mask) ? std::nullopt : term.einsum.guard;
}

std::optional<Expr> skewer::guardOf(const Term &term, const std::optional<Expr> &mask) {
  std::optional<Expr> guard = ownGuardOf(term, mask);
  if (!mask || term.staysInside(guard))
    return guard;
  return guard ? logicalAnd(*guard, *mask) : *mask;
}

std::vector<Expr> skewer::expressionsOf(const ElementTerm &term, ArrayRef<unsigned> left) {
  std::vector<Expr> expressions;
  for (auto [place, offset] : llvm::enumerate(term.offsets))
    if (!llvm::is_contained(left, place))
      expressions.push_back(offset);
  for (const std::optional<Expr> &expression : {term.factor, term.guard})
    if (expression)
      expressions.push_back(*expression);
  if (term.application)
    for (const Application::Argument &argument : term.application->arguments)
      expressions.push_back(argument.position);
  return expressions;
}
