// The work items of a phase: finds the head and the rows of an item, and what earlier items of the same worker have
// already packed for it.
#pragma once
#include "passes/Cpu/ContentProducts.h"
#include "passes/Cpu/HeadValues.h"

namespace skewer {

struct WorkItem {
  mlir::Value chunk;           // the item's rows within the head: a run of rows, or a phase
  mlir::Value packs, prepares; // i1: pack keys and values; prepare the rest that is made once for the rows of a head
  mlir::Value firstOfRun;      // i1: the first item of a worker; null: the item does nothing for other items
  mlir::Value changes;         // i1: the phase differs from that of the item before; null: always
};

class WorkItems : KernelPart {
public:
  WorkItems(KernelContext &context, ContentProducts &content, HeadValues &values, const CpuStrategies &strategies)
      : KernelPart(context), content(content), values(values), strategies(strategies) {}
  /// Enters a work item; `first` is the first item of the worker. The items of one head are consecutive; the first of
  /// them that this worker does packs the keys.
  WorkItem enter(mlir::Value item, mlir::Value first);

private:
  WorkItem enterPhase(mlir::Value item, mlir::Value first);
  std::vector<subscript::Expr> basesOfKeys() const;
  mlir::Value keysChange(llvm::ArrayRef<subscript::Expr> bases);

  ContentProducts &content;
  HeadValues &values;
  const CpuStrategies &strategies;
};

} // namespace skewer
