// Takes axes and sizes from the typed tensors of a kernel, and the classes of terms from its fused form.
#include "tools/skewer-lsp-server/Meanings.h"
#include "codegen/Compiler/Compiler.h"
#include "dialect/IR/Attn.h"
#include "dialect/Language/Language.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "passes/Schedule/Target.h"
#include "tools/skewer-lsp-server/Messages.h"
#include "tools/skewer/ExplainLayer.h"
#include "tools/skewer/ReaderAxes.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/raw_ostream.h"
#include <set>

using llvm::StringRef;
using namespace mlir;

namespace skewer::lsp {
namespace {

std::pair<std::string, unsigned> placeOf(Location location) {
  attn::TextPlace place = attn::textPlaceOf(location);
  return {place.file, place.line};
}

/// Returns the lines of the einsums that a value is computed from, up to softmaxes.
std::set<std::pair<std::string, unsigned>> linesOf(Value value) {
  std::set<std::pair<std::string, unsigned>> lines;
  std::set<Operation *> seen;
  std::vector<Value> left{value};
  while (!left.empty()) {
    Operation *op = left.back().getDefiningOp();
    left.pop_back();
    if (!op || !seen.insert(op).second)
      continue;
    if (mlir::isa<attn::EinsumOp>(op))
      lines.insert(placeOf(op->getLoc()));
    left.insert(left.end(), op->operand_begin(), op->operand_end());
  }
  return lines;
}

std::string typeText(Type type, ArrayAttr shape) {
  std::string text;
  llvm::raw_string_ostream out(text);
  out << mlir::cast<ShapedType>(type).getElementType() << "[";
  llvm::interleaveComma(shape, out, [&](Attribute extent) {
    if (auto size = mlir::dyn_cast<StringAttr>(extent))
      out << size.getValue();
    else
      out << mlir::cast<IntegerAttr>(extent).getInt();
  });
  out << "]";
  return text;
}

struct Term {
  std::pair<std::string, unsigned> place;
  std::string text;
};

std::vector<Term> termsOf(Compilation &compilation, const Kernel &kernel) {
  std::vector<Term> terms;
  auto scheduled = compilation.schedule(kernel);
  if (!scheduled)
    return terms;
  scheduled = driver::withReadersAxes(kernel, *scheduled);
  KernelFacts facts = factsOf(kernel, *scheduled);
  for (const AttentionFacts &attention : facts.attentions)
    for (const TermFacts &term : attention.terms)
      terms.push_back({{term.place.file, term.place.line}, term.text + ": " + term.className});
  for (const std::string &reason : facts.unfused)
    terms.push_back({{}, "not fused: " + reason});
  return terms;
}

} // namespace

Meanings meaningsOf(StringRef text, const std::string &name) {
  Meanings meanings;
  auto compilation = Compilation::createFromText(text.str(), name, parametersIn(text), hostTarget());
  if (!compilation)
    return meanings;
  for (const language::NamedTensor &named : compilation->typedTensors().names) {
    Meaning &meaning = meanings[named.kernel][named.name];
    meaning.type = named.type, meaning.axes = named.axes;
  }
  for (const Kernel &kernel : compilation->kernels) {
    std::map<std::string, Meaning> &own = meanings[kernel.name];
    func::FuncOp function = kernel.einsumFunction();
    for (unsigned k = 0; k < function.getNumArguments(); ++k)
      if (auto argument = function.getArgAttrOfType<StringAttr>(k, attn::kArgumentName))
        own[argument.str()].type =
            typeText(function.getArgumentTypes()[k], function.getArgAttrOfType<ArrayAttr>(k, "attn.shape"));
    std::vector<Term> terms = termsOf(*compilation, kernel);
    function.walk([&](Operation *op) {
      auto named = mlir::dyn_cast<NameLoc>(op->getLoc());
      if (!named || op->getNumResults() != 1 || !mlir::isa<ShapedType>(op->getResultTypes()[0]))
        return;
      Meaning &meaning = own[named.getName().str()];
      auto lines = linesOf(op->getResult(0));
      meaning.terms.clear();
      for (const Term &term : terms)
        if (lines.count(term.place))
          meaning.terms.push_back(term.text);
    });
    for (const Term &term : terms)
      own[kernel.name].terms.push_back(term.text);
  }
  return meanings;
}

} // namespace skewer::lsp
