// Imports a text with run-time lengths at the fitting points (LengthPolynomial.h), and checks that its decisions are
// the same at all lengths. Part of Compilation.
#include "codegen/Compiler/Collected.h"
#include "codegen/Compiler/Compilation.h"
#include "codegen/Compiler/ExactDecisions.h"
#include "codegen/Compiler/MlirDiagnostics.h"
#include "dialect/Language/Diagnostics.h"
#include "passes/Lengths/FitLengths.h"
#include <fmt/format.h>

using namespace mlir;

namespace skewer {

bool Compilation::decidesAlike(const Lengths &bounds, const std::vector<language::Decisions> &atFittingPoints) {
  EveryLength every(atFittingPoints, bounds);
  auto unlike = every.amongFitted();
  for (const Lengths &lengths : sampledLengths(bounds)) {
    if (unlike)
      break;
    Collected collected;
    language::Decisions there;
    importAt(lengths, collected.sink(),
             &there); // if the layer has no meaning there (N - 1 rows of one), these are the decisions before the error
    unlike = every.at(lengths, there);
  }
  if (!unlike) // no decision differs at these lengths; prove it for all lengths
    unlike = findUnproven(atFittingPoints, bounds);
  if (!unlike)
    return true;
  language::Diagnostics diagnostics(sources, say);
  diagnostics.error(unlike->place, "a layer of run-time length: this depends on the length: " + unlike->what);
  diagnostics.note("one kernel serves all lengths; give the length its value at compile time (-D " +
                   bounds.begin()->first + "=…), or write the text so that this is the same at every length");
  return false;
}

/// Finds the numbers that meet tensors, and the tables of numbers, that differ between lengths. Returns false if there
/// are none.
bool Compilation::findFactors(ModuleOp atBounds, const language::Decisions &decisions) {
  using language::Decision;
  auto factorsOf = [](const language::Decisions &all) {
    std::vector<Decision> factors;
    for (const Decision &decision : all)
      if (decision.kind == Decision::Factor || (decision.kind == Decision::Table && decision.number))
        factors.push_back(decision);
    return factors;
  };
  // A constant table may be longer at another length, but only at its end.
  auto beginAlike = [](const Decision &there, const Decision &atBounds) {
    return llvm::equal(there.ranges, atBounds.ranges,
                       [](const subscript::Range &a, const subscript::Range &b) { return a.low == b.low; });
  };
  auto areSame = [&](const Decision &there, const Decision &atBounds) {
    return there.kind == Decision::Table ? beginAlike(there, atBounds) && isPartOf(there, atBounds)
                                         : there.values == atBounds.values;
  };
  auto kernel = llvm::find_if(atBounds.getOps<func::FuncOp>(), [](func::FuncOp f) { return !boundsOf(f).empty(); });
  if (kernel == atBounds.getOps<func::FuncOp>().end())
    return false;
  std::vector<Decision> longest = factorsOf(decisions);
  std::vector<Lengths> points = fittingPoints(boundsOf(*kernel));
  std::set<size_t> found, spelled; // all texts are read in the same way as the first
  std::vector<std::vector<Decision>> all = {longest};
  for (const Lengths &point : llvm::drop_begin(points)) {
    Collected collected;
    language::Decisions there;
    importAt(point, collected.sink(), &there);
    std::vector<Decision> factors = factorsOf(there);
    if (factors.size() != longest.size())
      return false; // the layers differ in form: the later comparison reports it
    for (size_t k = 0; k < factors.size(); ++k)
      if (factors[k].kind != longest[k].kind || factors[k].wholes.size() != longest[k].wholes.size())
        return false;
      else if (!areSame(factors[k], longest[k]))
        found.insert(k);
    all.push_back(std::move(factors));
  }
  Lengths bounds = boundsOf(*kernel);
  auto across = [&](auto &&valueOf) { return llvm::map_to_vector(all, valueOf); };
  for (size_t k = 0; k < longest.size(); ++k) {
    // Equal at the fitting points, but not at all lengths.
    if (longest[k].made && !found.count(k) && longest[k].kind == Decision::Factor)
      if (auto number = NumberOfLengths::through(
              across([&](const std::vector<Decision> &own) { return own[k].made; }), bounds);
          !number || !number->isConstant())
        found.insert(k);
    for (size_t n = 0; n < longest[k].wholes.size(); ++n)
      if (!LengthPolynomial::through(across([&](const std::vector<Decision> &own) { return own[k].wholes[n]; }),
                                     bounds))
        spelled.insert(k);
  }
  factorsAtRunTime = std::move(found);
  spelledFactors = std::move(spelled);
  return !factorsAtRunTime.empty();
}

bool Compilation::importShorter(language::Decisions atBounds) {
  Lengths bounds = kernels.empty() ? Lengths() : boundsOf(kernels.front().einsumFunction());
  if (bounds.empty())
    return true;
  if (!isText) {
    sayErrorOf(specPath, "attn.lengths: lengths are declared in .attn texts, 'size N <= 4096'");
    return false;
  }
  for (const auto &[name, bound] : bounds)
    if (bound < kLeastFitted) {
      sayErrorOf(specPath,
                 fmt::format("the length '{0}' has the bound {1}, expected at least {2}; with a smaller bound, compile "
                             "a kernel for each size: -D {0}={1}",
                             name, bound, kLeastFitted));
      return false;
    }
  std::vector<Lengths> points = fittingPoints(bounds);
  std::vector<language::Decisions> decisions = {std::move(atBounds)};
  for (const Lengths &point : llvm::drop_begin(points)) {
    Collected collected;
    decisions.emplace_back();
    OwningOpRef<ModuleOp> module = importAt(point, collected.sink(), &decisions.back());
    if (!module) {
      sayErrorOf(specPath, "the layer has no meaning where " + sayLengths(point) + ":");
      collected.sayAll();
      return false;
    }
    for (Kernel &kernel : kernels)
      kernel.shorter.push_back(moduleOf(module->lookupSymbol<func::FuncOp>(kernel.name)));
  }
  if (!decidesAlike(bounds, decisions))
    return false;
  for (Kernel &kernel : kernels) {
    OwningOpRef<ModuleOp> longest = cloneOf(kernel);
    SmallVector<func::FuncOp> layers = {*longest->getOps<func::FuncOp>().begin()};
    for (const auto &shorter : kernel.shorter)
      layers.push_back(*(*shorter).getOps<func::FuncOp>().begin());
    MlirDiagnostics said(sources, mlirContext.get());
    if (failed(fitSignature(layers)))
      return false;
    kernel.signature = signatureOf(layers.front());
  }
  return true;
}

} // namespace skewer
