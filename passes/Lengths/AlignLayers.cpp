// Finds the corresponding operations of the layers, from their results backward, and rebuilds each layer from them.
#include "passes/Lengths/AlignLayers.h"
#include "llvm/ADT/STLExtras.h"
#include <map>

using namespace mlir;
using namespace skewer;

namespace {
/// One operation of each layer.
using Same = SmallVector<Operation *>;

/// A value that corresponding operations read from outside of themselves.
struct Read {
  size_t slot = 0; // number among all operands of the operation and of the operations in it
  const Same *producers = nullptr;
  unsigned result = 0;
};

class Alignment {
public:
  explicit Alignment(ArrayRef<func::FuncOp> layers) {
    for (func::FuncOp layer : layers)
      bodies.push_back(&layer.getBody().front());
  }
  void run();

private:
  const Same *add(const Same &);
  std::optional<SmallVector<Read>> readsOf(const Same &);
  bool isAligned() const;
  void rebuild(size_t layer);

  SmallVector<Block *> bodies;
  std::map<std::vector<Operation *>, std::unique_ptr<Same>> known;
  SmallVector<const Same *> ordered; // the terminators are first until the list is sorted
  DenseMap<const Same *, SmallVector<Read>> reads;
};
} // namespace

/// Returns the operands of the operation and of all operations in it.
static SmallVector<OpOperand *> slotsOf(Operation *op) {
  SmallVector<OpOperand *> slots;
  op->walk<WalkOrder::PreOrder>([&](Operation *inner) {
    for (OpOperand &operand : inner->getOpOperands())
      slots.push_back(&operand);
  });
  return slots;
}

const Same *Alignment::add(const Same &same) {
  auto &entry = known[{same.begin(), same.end()}];
  if (!entry) {
    entry = std::make_unique<Same>(same);
    ordered.push_back(entry.get());
  }
  return entry.get();
}

/// Returns the values that the operations read from outside of themselves; nothing if they do not correspond.
std::optional<SmallVector<Read>> Alignment::readsOf(const Same &same) {
  SmallVector<SmallVector<OpOperand *>> slots = llvm::map_to_vector(same, slotsOf);
  for (auto [op, own] : llvm::zip(same, slots))
    if (op->getName() != same[0]->getName() || op->getNumResults() != same[0]->getNumResults() ||
        own.size() != slots[0].size())
      return std::nullopt;
  SmallVector<Read> found;
  for (size_t slot = 0; slot < slots[0].size(); ++slot) {
    Same producers;
    std::optional<unsigned> number; // the number of the result or of the argument
    size_t outside = 0;
    for (auto [body, own] : llvm::zip(bodies, slots)) {
      Value value = own[slot]->get();
      if (value.getParentBlock() != body)
        continue;
      ++outside;
      auto result = dyn_cast<OpResult>(value);
      unsigned its = result ? result.getResultNumber() : cast<BlockArgument>(value).getArgNumber();
      if (result)
        producers.push_back(result.getOwner());
      if (number.value_or(its) != its)
        return std::nullopt;
      number = its;
    }
    if ((outside != 0 && outside != bodies.size()) || (!producers.empty() && producers.size() != bodies.size()))
      return std::nullopt;
    if (!producers.empty())
      found.push_back({slot, add(producers), *number});
  }
  return found;
}

bool Alignment::isAligned() const {
  for (auto [layer, body] : llvm::enumerate(bodies)) {
    if (body->getOperations().size() != ordered.size())
      return false;
    for (auto [op, same] : llvm::zip(*body, ordered))
      if (&op != (*same)[layer])
        return false;
  }
  return true;
}

/// Replaces the operations of a layer by copies of the combined ones.
void Alignment::rebuild(size_t layer) {
  Block &body = *bodies[layer];
  SmallVector<Operation *> before = llvm::map_to_vector(body, [](Operation &op) { return &op; });
  DenseMap<const Same *, Operation *> copies;
  for (const Same *same : ordered) {
    Operation *copy = (*same)[layer]->clone();
    body.push_back(copy);
    SmallVector<OpOperand *> slots = slotsOf(copy);
    for (const Read &read : reads[same])
      slots[read.slot]->set(copies[read.producers]->getResult(read.result));
    copies[same] = copy;
  }
  for (Operation *op : before)
    op->dropAllReferences();
  for (Operation *op : llvm::reverse(before))
    op->erase();
}

void Alignment::run() {
  add(llvm::map_to_vector(bodies, [](Block *body) { return body->getTerminator(); }));
  for (size_t k = 0; k < ordered.size(); ++k) {
    const Same *same = ordered[k];
    auto its = readsOf(*same);
    if (!its)
      return;
    reads[same] = std::move(*its);
  }
  // In each layer a value is read after the operation that computes it, so the order of any layer is right for all.
  SmallVector<DenseMap<Operation *, size_t>> places(bodies.size());
  for (auto [body, own] : llvm::zip(bodies, places))
    for (auto [place, op] : llvm::enumerate(*body))
      own[&op] = place;
  llvm::sort(ordered, [&](const Same *a, const Same *b) {
    for (auto [own, first, second] : llvm::zip(places, *a, *b))
      if (first != second)
        return own[first] < own[second];
    return false;
  });
  if (!isAligned())
    for (size_t layer = 0; layer < bodies.size(); ++layer)
      rebuild(layer);
}

void skewer::alignLayers(ArrayRef<func::FuncOp> layers) { Alignment(layers).run(); }
