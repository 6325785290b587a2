// Finishes the rows of a block when all their keys are met: divides them by the sums of their weights, and writes them
// with the other results.
#pragma once
#include "passes/Cpu/StoredWeights.h"
#include "passes/Cpu/StreamedResult.h"

namespace skewer {

class ResultRows : KernelPart {
public:
  ResultRows(KernelContext &context, RowSoftmax &softmax, StoredWeights &weights, StreamedResult &stream)
      : KernelPart(context), softmax(softmax), weights(weights), stream(stream) {}
  void write(mlir::Value firstRow, mlir::Value rows);

private:
  mlir::Value inverseOf(mlir::Value sum);
  void finish(mlir::Value position, mlir::Value from, mlir::Value factor);

  RowSoftmax &softmax;
  StoredWeights &weights;
  StreamedResult &stream;
};

} // namespace skewer
