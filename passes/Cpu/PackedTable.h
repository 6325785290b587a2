// A table that a strategy packs once a call, before any attention, in the shared workspace. It has a copy for each
// tuple of the leading axes on which it depends.
#pragma once
#include "passes/Cpu/KernelContext.h"
#include "passes/Cpu/Layout.h"

namespace skewer {

class PackedTable : KernelPart {
public:
  PackedTable(KernelContext &context, std::vector<std::string> axes) : KernelPart(context), axes(std::move(axes)) {}
  /// The table of a term that reads rows of one operand.
  template <class Term> PackedTable(KernelContext &context, const Term &term) : PackedTable(context, term.tableAxes) {
    if (!term.rowLength && subscript::readsOf(term.tableBase).empty())
      arguments = {{term.table}};
  }

  int64_t itemsOfCopy = 0, copyFloats = 0;
  /// The numbers of the operands that alone determine the table; nothing if it may depend on anything else.
  std::optional<llvm::SmallVector<unsigned>> arguments;

  void plan(Layout &layout, Layout::Zone zone) {
    layout.reserve(buffer, copies() * copyFloats, zone, Layout::Space::Shared);
  }
  /// Returns the number of items of parallel work.
  int64_t items() const { return copies() * itemsOfCopy; }
  /// Emits a worker's items [low, high), counted from `first` on: `packItem` stores an item of a copy, at its leading
  /// axes, in the table.
  using PackItem = llvm::function_ref<void(mlir::Value table, mlir::Value copy, mlir::Value item)>;
  void pack(mlir::Value low, mlir::Value high, int64_t first, PackItem packItem);

  mlir::Value view();
  /// Returns where the copy of the current head begins.
  mlir::Value copyOfHead() { return b.mul(positions.copyOf(axes), copyFloats); }

private:
  int64_t copies() const { return countOf(axes, shape.space); }

  std::vector<std::string> axes;
  Buffer buffer;
};

} // namespace skewer
