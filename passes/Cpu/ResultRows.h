// Finishes the rows of a block when all their keys are met: divides them by the sums of their weights, and writes them
// with the other results.
#pragma once
#include "passes/Cpu/StoredWeights.h"
#include "passes/Cpu/StreamedResult.h"

namespace skewer {

class ResultRows {
public:
  ResultRows(KernelContext &context, RowSoftmax &softmax, StoredWeights &weights, StreamedResult &stream)
      : b(context.b), shape(context.shape), g(context.geometry), memory(context.memory), context(context),
        softmax(softmax), weights(weights), stream(stream) {}
  void write(mlir::Value firstRow, mlir::Value rows);

private:
  mlir::Value inverseOf(mlir::Value sum);
  void finish(mlir::Value position, mlir::Value from, mlir::Value factor);

  VectorBuilder &b;
  const AttentionShape &shape;
  const Geometry &g;
  KernelMemory &memory;
  KernelContext &context;
  RowSoftmax &softmax;
  StoredWeights &weights;
  StreamedResult &stream;
};

} // namespace skewer
