// Stores rows of the result, past the caches if the result is large. A result that does not fit into the caches is read
// from memory later in any case, and a usual store would first read each of its lines.
#pragma once
#include "passes/Cpu/KernelContext.h"

namespace skewer {

class StreamedResult : KernelPart {
public:
  explicit StreamedResult(KernelContext &context) : KernelPart(context) {}
  /// Begins a phase whose rows are stored as usual.
  void begin() { streams = {}; }
  /// Decides, once a call, whether the rows of this phase are stored past the caches.
  void decide();
  void store(llvm::ArrayRef<mlir::Value> row, mlir::Value at);
  /// Makes other threads see what was stored past the caches before anything that is stored later.
  void end();

private:
  bool rowsAreVectors() const;

  mlir::Value streams; // i1; null: rows are stored as usual
};

} // namespace skewer
