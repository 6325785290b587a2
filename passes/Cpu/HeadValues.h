// The values of a head: read in place, or packed with zeros behind each row if their width does not fill whole vectors,
// if they have no memory, or if a strategy adds to them. If an engine multiplies weights with them, they are packed
// into its panels, and rows are needed only where a mask may hide values that are not finite.
#pragma once
#include "passes/Cpu/PanelPacker.h"

namespace skewer {

class HeadValues : KernelPart {
public:
  HeadValues(KernelContext &context, PanelPacker &packer) : KernelPart(context), packer(packer) {}
  /// Returns whether an engine multiplies packed weights with panels of the values. `change`: a strategy adds to the
  /// values.
  bool meetPackedWeights(bool change) const { return engineOf(change); }
  /// Reserves the buffer, if values are packed. `change`: a strategy adds to them.
  void plan(Layout &, bool change);
  void open();
  /// If heads take turns at a phase: begins the head of this turn, which has packed values of its own.
  void enterTurn(mlir::Value turn);

  /// Packs the values of a head. With `streaming`, a block of keys meets no other rows, and `packBlock` packs the
  /// values of its keys instead.
  void pack();
  void packBlock(const KeyBlock &);
  void enterHead();
  /// Tests whether the values of the head are finite, and the rows that strategies multiply with weights. A masked key
  /// has weight 0, which times a finite value adds nothing. Only if some value is NaN or infinite, products with
  /// weights of 0 must be left out. The test costs a pass over the values of the head; leaving products out costs a
  /// select for each product.
  void test(const CpuStrategies &);
  /// i1: the values of masked keys may be multiplied by 0; null if no mask needs to know.
  mlir::Value areFinite() const { return finite; }

  /// Returns the engine that multiplies weights with the values, whose panels `panels` holds; null if values are
  /// multiplied in f32, one key after another.
  const CpuEngine *engine() const { return ownEngine; }
  /// Returns the panels: a panel for each vector of the width.
  ProductOperand panels() const { return {panelMemory, b.index(0), panelStride()}; }

  bool arePacked() const { return packed.floats; }
  bool arePicked() const { return shape.value.picked && !arePacked(); }
  mlir::Value memory() const { return values; }
  /// Returns the number that scales the values at `place`, `offset` elements behind the beginning of their row; null if
  /// they are not scaled.
  mlir::Value scaleAt(mlir::Value place, int64_t offset);
  /// Returns the places of the values of `count` consecutive keys, from `offset` on. `isAligned`: `key` is a multiple
  /// of their number.
  llvm::SmallVector<mlir::Value> placesOf(mlir::Value key, int64_t count, int64_t offset, bool isAligned);
  /// Prefetches the values that come kFetchedAhead bytes after those of this turn, if values are read once.
  void fetchAhead(mlir::Value key, int64_t keysOfTurn);

private:
  mlir::Value placeOf(mlir::Value key, int64_t offset);
  void packRows(mlir::Value low, mlir::Value high);
  const CpuEngine *engineOf(bool change) const;
  bool mayMeetHidden() const;
  int64_t panelStride() const;
  void packPanels(mlir::Value low, mlir::Value high);
  mlir::Value panelPlace(mlir::Value step, int64_t vector);
  void packStep(mlir::Value step, const KeyRange &some);

  PanelPacker &packer;
  const CpuEngine *ownEngine = nullptr;
  Buffer packed, packedPanels;
  mlir::Value panelMemory;
  mlir::Value values; // in the buffer, or the operand itself
  mlir::Value base;   // element offset of (key 0, width 0)
  int64_t stride = 0;
  mlir::Value finite;
};

} // namespace skewer
