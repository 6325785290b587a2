// The views of a context's attentions, held by its attn dialect. Only Term.cpp uses it.
#pragma once
#include "dialect/IR/Term.h"
#include "mlir/IR/DialectInterface.h"
#include "llvm/ADT/DenseMap.h"
#include <mutex>

namespace skewer::attn {

class TermViews : public mlir::DialectInterface::Base<TermViews> {
public:
  explicit TermViews(mlir::Dialect *dialect) : Base(dialect) {}
  /// Everything that a view is made from. Equal states give equal views.
  using State = llvm::SmallVector<uintptr_t, 32>;

  std::shared_ptr<const AttentionView> of(AttentionOp);

private:
  // A module has some tens of attentions. When this many views are held, all are dropped, also those of erased
  // operations.
  static constexpr size_t kMostViews = 256;

  struct Entry {
    State state;
    std::shared_ptr<const AttentionView> view;
  };
  std::mutex mutex; // passes of several functions may run at once
  llvm::DenseMap<mlir::Operation *, Entry> entries;
};

} // namespace skewer::attn
