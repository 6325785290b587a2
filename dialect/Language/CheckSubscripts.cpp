// Proofs that every index expression stays inside its table, under the guard or the softmax's mask that covers it.
// checkKernel (Emission.h) runs them on a finished function.
#include "dialect/IR/Expressions.h"
#include "dialect/IR/SeenElements.h"
#include "dialect/Language/Emission.h"
#include "llvm/ADT/MapVector.h"

using namespace llvm;
using namespace mlir;

namespace skewer::language {
using subscript::Expr;

namespace {
struct TableReads { // all einsums' reads of one dimension of an operand
  StringRef place;
  std::string name;
  Diagnostics::Calls calls;
  int64_t rows = 0;
  std::vector<subscript::Range> runs;
  bool isWhole = false;
};
using Tables = MapVector<std::pair<const void *, size_t>, TableReads>; // by value and dimension

class Checks {
public:
  Checks(const typed::Kernel &kernel, Diagnostics &diagnostics, llvm::function_ref<bool(StringRef)> isWhole)
      : kernel(kernel), diagnostics(diagnostics), isWhole(isWhole) {}
  void checkSubscripts(ArrayRef<EmittedEinsum>);
  void checkReads(func::FuncOp);
  void checkTables(func::FuncOp);

private:
  void checkEinsum(attn::EinsumOp, const typed::Places &, Tables &);
  void noteUnreadRows(Tables &);
  void noteMissingRanges(const Expr &);

  const typed::Kernel &kernel;
  Diagnostics &diagnostics;
  llvm::function_ref<bool(StringRef)> isWhole;
};
} // namespace

void Checks::checkSubscripts(ArrayRef<EmittedEinsum> einsums) {
  Tables tables;
  for (const EmittedEinsum &einsum : einsums)
    if (!diagnostics.exhausted()) {
      const typed::Places &places = *einsum.tensor->as<typed::Einsum>()->places;
      diagnostics.reopenCalls(places.calls);
      checkEinsum(einsum.operation, places, tables);
    }
  diagnostics.reopenCalls({});
  if (!diagnostics.hasErrors())
    noteUnreadRows(tables);
}

/// Notes the rows of a table that no read reaches, once for each table. A table with other readers counts as read
/// whole.
void Checks::noteUnreadRows(Tables &tables) {
  for (auto &[key, table] : tables) {
    if (table.isWhole || !table.place.data())
      continue;
    llvm::sort(table.runs, [](subscript::Range a, subscript::Range b) { return a.low < b.low; });
    std::vector<subscript::Range> runs;
    for (subscript::Range run : table.runs)
      if (!runs.empty() && run.low <= runs.back().high + 1)
        runs.back().high = std::max(runs.back().high, run.high);
      else
        runs.push_back(run);
    if (runs.front().low == 0 && runs.front().high == table.rows - 1)
      continue;
    std::string read;
    for (subscript::Range run : runs)
      read += (read.empty() ? "" : ", ") + std::to_string(run.low) +
              (run.low == run.high ? "" : ".." + std::to_string(run.high));
    diagnostics.reopenCalls(table.calls);
    diagnostics.remark(table.place, "of rows 0.." + std::to_string(table.rows - 1) + " of '" + table.name + "' only " +
                                        read + " are ever read");
  }
  diagnostics.reopenCalls({});
}

/// Returns whether a constant table is part of the expression: a bucket function, for example, whose far buckets a
/// short layer never reads.
static bool looksUp(const Expr &e) { return e.kind() == subscript::Kind::Table || llvm::any_of(e.operands(), looksUp); }

/// Adds a guard to the einsum; returns false if it adds nothing new.
static bool addGuard(attn::EinsumOp op, const attn::ResolvedEinsum &resolved, Expr guard) {
  if (resolved.guard && *resolved.guard != guard)
    guard = logicalAnd(*resolved.guard, guard);
  if (guard.isConstant(1) || (resolved.guard && *resolved.guard == guard))
    return false;
  op.setGuard(subscript::print(guard));
  attn::bindIndices(op);
  return true;
}

/// Returns where the softmax's mask does not hide the elements of a tensor of weights: a predicate on their places d0,
/// d1, …, carried through moves. Nothing if the tensor is not weights, or if no mask hides any.
static std::optional<Expr> shownWeights(mlir::Value tensor) {
  Operation *op = tensor.getDefiningOp();
  auto place = [](size_t d) { return Expr::symbol("d" + std::to_string(d)); };
  if (auto softmax = dyn_cast_or_null<attn::SoftmaxOp>(op)) {
    auto dimensions = subscript::parseDimensions(std::string_view(softmax.getAxes()));
    auto mask = softmax.getMask() ? subscript::parse(std::string_view(*softmax.getMask())) : std::nullopt;
    if (!dimensions || !mask)
      return std::nullopt;
    subscript::Substitution places;
    for (auto [d, dimension] : llvm::enumerate(*dimensions)) {
      if (!dimension.isAxis())
        return std::nullopt;
      places[dimension.axes[0]] = place(d);
    }
    return subscript::substitute(*mask, places);
  }
  auto map = dyn_cast_or_null<attn::IndexMapOpInterface>(op);
  auto below = map ? shownWeights(map.getMappedOperand()) : std::nullopt;
  if (!below)
    return std::nullopt;
  attn::IndexMap index = map.getIndexMap();
  if (!index.inside.isConstant(1)) // the elements that a pad adds are not hidden
    return std::nullopt;
  subscript::Substitution places;
  subscript::Domain domain;
  for (auto [d, subscript] : llvm::enumerate(index.subscripts))
    places["d" + std::to_string(d)] = subscript;
  for (auto [d, size] : llvm::enumerate(attn::shapeOf(tensor)))
    if (size != subscript::kRuntime)
      domain["d" + std::to_string(d)] = {0, size - 1};
  return subscript::simplify(subscript::substitute(*below, places), domain);
}

/// Guards an einsum by the masks of its weights: the weight of a hidden key is 0, so the guard skips reading its other
/// factor.
static bool guardByWeights(attn::EinsumOp op, const subscript::Domain &domain) {
  attn::ResolvedEinsum resolved = attn::resolve(op);
  for (auto [input, subscripts] : llvm::zip(op.getInputs(), resolved.subscripts)) {
    auto shown = shownWeights(input);
    if (!shown)
      continue;
    subscript::Substitution axes;
    for (auto [d, subscript] : llvm::enumerate(subscripts))
      axes["d" + std::to_string(d)] = subscript;
    if (addGuard(op, resolved, subscript::simplify(subscript::substitute(*shown, axes), domain)))
      return true;
  }
  return false;
}

/// Guards an einsum by the mask of the softmaxes above it: an element that all of them discard may have any value.
static bool guardByMask(attn::EinsumOp op, const subscript::Domain &domain) {
  auto mask = attn::SeenElements().of(op.getResult());
  attn::ResolvedEinsum resolved = attn::resolve(op);
  if (!mask || !resolved.spec.result)
    return false;
  subscript::Substitution axes;
  for (size_t d = 0; d < resolved.spec.result->size(); ++d)
    axes["d" + std::to_string(d)] = subscript::flatIndex((*resolved.spec.result)[d], resolved.sizes);
  return addGuard(op, resolved, subscript::simplify(subscript::substitute(*mask, axes), domain));
}

void Checks::checkEinsum(attn::EinsumOp op, const typed::Places &places, Tables &tables) {
  attn::ResolvedEinsum resolved = attn::resolve(op);
  subscript::Domain domain = subscript::domainOf(resolved.sizes);
  attn::addRanges(domain, attn::kernelIndices(op));
  for (bool byWeights : {false, true}) // elements of index operands, which checkReads judges later
    if (attn::findReadOutside(op) && (byWeights ? guardByWeights(op, domain) : guardByMask(op, domain)))
      resolved = attn::resolve(op);
  if (resolved.guard)
    if (auto bad = subscript::findTableOutside(*resolved.guard, domain))
      return sayTableOutside(diagnostics, kernel.lookups, {}, *bad);
  for (size_t k = 0; k < resolved.spec.operands.size(); ++k) {
    std::vector<int64_t> shape = attn::shapeOf(op.getInputs()[k]);
    for (size_t d = 0; d < shape.size(); ++d) {
      const subscript::Dimension dimension = resolved.spec.operands[k][d]; // a copy: `resolved` may be computed again
      TableReads &table = tables[{op.getInputs()[k].getAsOpaquePointer(), d}];
      table.isWhole |= !llvm::all_of(op.getInputs()[k].getUsers(), llvm::IsaPred<attn::EinsumOp>);
      if (dimension.isProduct() || shape[d] == subscript::kRuntime) {
        table.isWhole = true;
        continue;
      }
      subscript::Range rows{0, shape[d] - 1};
      auto proof = subscript::proveWithin(dimension.index, rows, domain, resolved.guard);
      auto bad = subscript::findTableOutside(dimension.index, domain, resolved.guard);
      for (bool byWeights : {false, true})
        if ((proof.outcome != subscript::Proof::Proven || bad) &&
            (byWeights ? guardByWeights(op, domain) : guardByMask(op, domain))) {
          resolved = attn::resolve(op);
          proof = subscript::proveWithin(dimension.index, rows, domain, resolved.guard);
          bad = subscript::findTableOutside(dimension.index, domain, resolved.guard);
        }
      StringRef place = places.dimensions[k][d];
      if (bad) {
        sayTableOutside(diagnostics, kernel.lookups, place, *bad);
        continue;
      }
      StringRef written = place;
      if (written.consume_front("("))
        written.consume_back(")");
      std::string name = "'" + places.operandNames[k] + "'";
      std::string range = "rows 0.." + std::to_string(shape[d] - 1);
      if (proof.outcome == subscript::Proof::Refuted) {
        diagnostics.error(written, "table " + name + " is read outside its rows");
        std::string note;
        if (dimension.index.isConstant())
          note = written.str() + " is " + std::to_string(dimension.index.value()) + ", but " + name + " has " + range;
        else if (proof.range)
          note = written.str() + " runs from " + std::to_string(proof.range->low) + " to " +
                 std::to_string(proof.range->high) + ", but " + name + " has " + range + "; ";
        else
          note = name + " has " + range + "; ";
        diagnostics.note(dimension.index.isConstant() ? note
                                                      : note + "at " + describe(proof.counterexample) +
                                                            " it reads row " + std::to_string(proof.value));
        if (proof.range && proof.range->high - proof.range->low == rows.high && proof.range->low != 0) {
          int64_t shift = -proof.range->low;
          diagnostics.note("its values are as many as the rows: " + written.str() + (shift < 0 ? " - " : " + ") +
                           std::to_string(std::abs(shift)) + " runs from 0 to " + std::to_string(rows.high));
        } else if (dimension.index.isConstant()) {
          if (isWhole(written))
            diagnostics.note("'" + written.str() +
                             "' is a number, so this is a single place; to read every place, write an axis: " +
                             places.operandNames[k] + "[h]");
        } else if (!resolved.guard) {
          diagnostics.note("to leave out positions, give a condition on the others: einsum(…, where = …)");
        }
      } else if (proof.outcome == subscript::Proof::Unknown) {
        diagnostics.error(written, "cannot prove that this stays inside " + range + " of " + name);
        noteMissingRanges(dimension.index);
      } else if (!proof.range || looksUp(dimension.index)) {
        table.isWhole = true;
      } else {
        table.rows = shape[d];
        table.runs.push_back(*proof.range);
        if (!table.place.data() && !dimension.index.isConstant()) // a constant picks one row on purpose
          table.place = written, table.name = places.operandNames[k], table.calls = places.calls;
      }
    }
  }
}

/// Adds a note for each index operand without a range: because of such operands, the expression has no bounds.
void Checks::noteMissingRanges(const Expr &expression) {
  for (const std::string &name : subscript::readsOf(expression))
    if (const typed::Operand *operand = kernel.indexOperand(name); operand && !operand->range)
      diagnostics.note("nothing is known about the values of '" + name + "'; declare their range: " + name + " : i32" +
                       describe(operand->dimensions) + " in low..high");
}

/// Checks reads that were not proven where they are written, in the operations that finally contain them.
void Checks::checkReads(func::FuncOp function) {
  const auto &reads = kernel.lookups.reads;
  if (reads.empty())
    return;
  function.walk([&](Operation *op) {
    if (diagnostics.exhausted() || attn::indicesOf(op).empty())
      return;
    if (auto bad = attn::findReadOutside(op)) {
      auto place = reads.find(bad->read.name());
      diagnostics.error(place == reads.end() ? StringRef() : place->second,
                        "index operand '" + bad->read.name() + "' is read outside its elements");
      const Expr &at = bad->read.operands()[bad->dimension];
      std::string written = subscript::print(at);
      diagnostics.note(
          "dimension " + std::to_string(bad->dimension + 1) + " has elements 0.." + std::to_string(bad->size - 1) +
          ", and " + written +
          (bad->value ? " may be " + std::to_string(*bad->value) : std::string(" is not proven to stay inside")));
      noteMissingRanges(at);
    }
  });
}

/// Checks tables whose reads were not proven where they are written, in the operations that finally contain them.
void Checks::checkTables(func::FuncOp function) {
  function.walk([&](Operation *op) {
    if (!diagnostics.exhausted() && !isa<attn::EinsumOp>(op)) // checkEinsum handles einsums
      if (auto bad = attn::findTableOutside(op))
        sayTableOutside(diagnostics, kernel.lookups, {}, *bad);
  });
}

void checkKernel(const typed::Kernel &kernel, const EmittedKernel &emitted, Diagnostics &diagnostics,
                 llvm::function_ref<bool(StringRef)> isWhole) {
  Checks checks(kernel, diagnostics, isWhole);
  checks.checkSubscripts(emitted.einsums);
  checks.checkReads(emitted.function);
  checks.checkTables(emitted.function);
}

} // namespace skewer::language
