// Lets code outside of the analysis keep a term that analysis would give a class: a plugin's strategy that computes the
// term as a whole.
#pragma once
#include "mlir/IR/DialectInterface.h"
#include "passes/Analysis/AttentionShape.h"

namespace skewer {

/// The attn dialect of a context holds it, if there is such code (passes/Cpu/TermStrategy.h).
class EarlyTerms : public mlir::DialectInterface::Base<EarlyTerms> {
public:
  /// Returns the strategy that keeps the term, for OtherTerm::own; null if none does. Of the shape, only the space, the
  /// sizes and the axes are known.
  using Keep = std::function<const TermStrategy *(const OtherTerm &, const AttentionShape &)>;

  EarlyTerms(mlir::Dialect *dialect, Keep keep) : Base(dialect), keep(std::move(keep)) {}
  const Keep keep;
};

} // namespace skewer
