// The sums of weights × values of a block of rows, a block of keys at a time.
#pragma once
#include "passes/Cpu/HeadValues.h"
#include "passes/Cpu/HiddenKeys.h"
#include "passes/Cpu/RowSoftmax.h"
#include "passes/Cpu/UpcomingHead.h"

namespace skewer {

class ValueSums : KernelPart {
public:
  ValueSums(KernelContext &context, HeadValues &values, HiddenKeys &hidden, RowSoftmax &softmax, UpcomingHead &upcoming)
      : KernelPart(context), values(values), hidden(hidden), softmax(softmax), upcoming(upcoming) {}
  void plan(Layout &);
  void open();

  /// Sets the sums of a row to 0.
  void begin(mlir::Value row);
  /// Adds the products of the weights of a group of rows and the values of a block of keys.
  void add(const WeightedRows &);
  /// Multiplies the sums of a group of rows by the factors of the rows for earlier blocks of keys.
  void rescale(mlir::Value group);
  /// Returns whether some sum of a block of rows is infinite or NaN.
  mlir::Value someAreNoNumbers(mlir::Value rows);

private:
  /// Returns whether all keys of a row are met at once, so that their sums are stored and nothing is added to them.
  bool areStoredOnce() const;
  struct KeyTurn { // `count` consecutive keys from `key` on
    mlir::Value key;
    int64_t count;
    mlir::Value weights; // place of their weights for the first row of the group
    bool tested;         // test for each row whether it sees the key
  };
  llvm::SmallVector<mlir::Value> addKeys(const KeyTurn &, int64_t firstVector, int64_t vectors,
                                         llvm::ArrayRef<mlir::Value> before);
  std::pair<mlir::Value, mlir::Value> untestedKeys(mlir::Value position, mlir::Value low, mlir::Value high);
  void storeSums(mlir::Value row, mlir::Value out, int64_t vectors, llvm::ArrayRef<mlir::Value> sums);
  void addToStoredSums(mlir::Value out, int64_t vectors, llvm::ArrayRef<mlir::Value> more);

  HeadValues &values;
  HiddenKeys &hidden;
  RowSoftmax &softmax;
  UpcomingHead &upcoming;
  Buffer accumulators;
};

} // namespace skewer
