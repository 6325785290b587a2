// The tensors of a kernel at level 4: their shapes, known before code is emitted (Shapes.cpp), and their memory in each
// phase (Memory.cpp).
#pragma once
#include "dialect/IR/Attn.h"
#include "passes/Generic/PhaseCode.h"
#include "passes/Stages/Stages.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/DenseSet.h"

namespace skewer::generic {

class Tensors {
public:
  Tensors(mlir::ModuleOp module, mlir::ImplicitLocOpBuilder &b, KernelPlan &plan, PhaseCode &code)
      : module(module), b(b), plan(plan), code(code) {}

  //===- Facts that are known before code is emitted ---===//
  /// Fills in `storage` of the operation's results, except for the memory. Returns false after a diagnostic.
  bool describe(mlir::Operation *);
  /// Returns the size of each axis, run-time sizes by name; nothing if a run-time size has no name.
  std::optional<std::map<std::string, Extent>> extentsOf(mlir::Operation *, const attn::ResolvedEinsum &);
  /// Returns the sizes of the axes of an attention's score and values.
  std::optional<std::map<std::string, Extent>> extentsOf(attn::AttentionOp);
  std::optional<std::vector<Extent>> extentsOf(const subscript::Dimensions &, const std::map<std::string, Extent> &);
  /// Returns whether a product must check which elements of an operand are absent (hidesOthers).
  bool checksAbsence(attn::EinsumOp);
  /// Returns whether a tensor is in memory when a stage runs, and not computed when it is read.
  bool isStored(mlir::Value tensor) { return stored.contains(memoryOf(tensor)); }
  /// Returns whether a tensor in memory is the same at every call.
  bool isConst(mlir::Value);

  //===- Memory in a phase ---===//
  /// Returns the tensors in memory that a stage reads.
  llvm::SmallVector<mlir::Value> readsOf(const Stage &);
  /// Sets the memory, in the phase, of all tensors that the stage reads or writes.
  void openMemory(const Stage &, const PhaseFunction &);
  /// Returns the memory that contains a place.
  mlir::Value memoryAt(const PhaseFunction &opened, const Place &place) {
    return place.prepared ? opened.prepared : opened.shared;
  }

  llvm::DenseMap<mlir::Value, Storage> storage;
  llvm::DenseMap<mlir::Value, unsigned> outputOf; // values that are written to an output of the kernel; its number
  llvm::DenseSet<mlir::Value> stored;             // arguments, numbers, results of stages
  llvm::DenseSet<mlir::Value> prepared;           // results of stages that depend on `const` arguments alone

private:
  std::optional<std::vector<Extent>> shapeOf(mlir::Operation *);
  std::optional<std::vector<Extent>> shapeOfType(mlir::Operation *);
  std::optional<std::vector<Extent>> shapeByText(mlir::Operation *);
  std::vector<Extent> shapeOfRows(attn::LogSumExpOp);
  std::optional<std::vector<Extent>> keepRuntimeSizes(mlir::Operation *, std::vector<Extent> shape);
  void collectExtents(const attn::ResolvedEinsum &, mlir::ValueRange operands, std::map<std::string, Extent> &);
  mlir::Value memoryIn(const PhaseFunction &, mlir::Value);

  mlir::ModuleOp module;
  mlir::ImplicitLocOpBuilder &b;
  KernelPlan &plan;
  PhaseCode &code;
  llvm::DenseMap<mlir::Operation *, std::string> globals; // names of the constants' globals
};

} // namespace skewer::generic
