// Divides the keys of a head into parts, one work item each, so that few long rows give work to many threads. Each item
// leaves a record of its results for the rows. The phase `NAME_join` joins the records in the order of the parts,
// whichever worker made them, so that results depend on the schedule and the sizes, not on the number of threads.
// Source: Dao et al. 2023, "Flash-Decoding for long-context inference".
#pragma once
#include "passes/Cpu/RowSoftmax.h"

namespace skewer {

class KeyParts : KernelPart {
public:
  KeyParts(KernelContext &context, RowSoftmax &softmax) : KernelPart(context), softmax(softmax) {}
  bool exist() const { return g.parts > 1; }
  /// Returns how many bytes of the shared workspace each head needs for its records; a multiple of 64.
  int64_t bytesOfHead() const;

  /// Decides whether the heads of this call are so few that their keys are divided.
  void enterCall();
  /// Runs `body` if the keys of this call are divided.
  void ifDivided(const std::function<void()> &body);
  /// Enters the item of a part of the head, and runs `attend` for it. If keys are not divided, the first item has all
  /// of them.
  void enter(mlir::Value part, const std::function<void()> &attend);
  /// Returns the range of keys of the current item; it may be empty.
  KeyRange keys();
  /// Finishes the rows of the item: leaves its record. `write` writes rows that have met all keys.
  void finish(const KeyRange &live, const std::function<void()> &write);
  /// Adds up the parts of a row, each rescaled to the largest maximum of all parts.
  void join(mlir::Value row);

private:
  struct Record;
  Record record() const;
  mlir::Value placeOf(mlir::Value which);
  void leave(mlir::Value some);
  void forLive(const std::function<void(mlir::Value place)> &body);

  RowSoftmax &softmax;
  mlir::Value part;    // the current part of the keys of the head
  mlir::Value divided; // i1: keys are divided; null: they are for any number of heads
};

} // namespace skewer
