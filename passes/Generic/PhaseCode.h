// The code of the phase that is being emitted: loops, loads, stores, guards and work items. Everything above it on the
// generic path writes code through this class.
#pragma once
#include "mlir/IR/ImplicitLocOpBuilder.h"
#include "passes/Emit/EmitIndex.h"
#include "passes/Emit/PhaseFunction.h"
#include "passes/Generic/Storage.h"
#include <functional>

namespace skewer::generic {

class PhaseCode {
public:
  PhaseCode(mlir::ImplicitLocOpBuilder &b, KernelPlan &plan) : b(b), plan(plan) {}

  //===- Numbers ---===//
  mlir::Value index(int64_t);
  mlir::Value real(double);
  mlir::Value real(double, bool vector);
  mlir::Value spread(mlir::Value scalar); // to a vector
  /// Returns the mark of an absent element, -0.0 (Storage::mayBeAbsent).
  mlir::Value absent(bool vector = false) { return real(-0.0, vector); }
  /// Returns whether a number, or each lane of a vector, is this mark.
  mlir::Value isAbsent(mlir::Value);
  /// Returns the same number, or 0 for the mark.
  mlir::Value present(mlir::Value);
  mlir::Value widen(mlir::Value);
  mlir::Value narrow(mlir::Value, mlir::Type element);
  mlir::Value extent(const Extent &);
  /// Returns the number of elements of a shape.
  mlir::Value count(llvm::ArrayRef<Extent>);
  mlir::Value address(const Place &); // in bytes

  //===- Loops ---===//
  void loop(mlir::Value low, mlir::Value high, int64_t step, const std::function<void(mlir::Value)> &body);
  void loops(llvm::ArrayRef<Axis>, Symbols &, const std::function<void()> &body);
  /// Emits the loops along an axis of fixed extent: `vectors` gets the first place of 4 vectors, then of single ones,
  /// and their number; `single` gets each place behind the last vector. Vectors share the scalars that they need.
  void alongVectors(const Axis &, const std::function<void(mlir::Value first, int64_t count)> &vectors,
                    const std::function<void(mlir::Value)> &single);
  /// Emits the same loops, carries values from one iteration to the next, and returns the results of the last one.
  llvm::SmallVector<mlir::Value> carry(llvm::ArrayRef<Axis>, Symbols &, mlir::ValueRange start,
                                       const std::function<llvm::SmallVector<mlir::Value>(mlir::ValueRange)> &body);
  /// Emits the same loops for sums, and returns `zeros` plus all that the body adds, `terms` at a time. For any axes,
  /// it is a tree of sums, each of at most `kChain` terms.
  llvm::SmallVector<mlir::Value> sums(llvm::ArrayRef<Axis>, Symbols &, mlir::ValueRange zeros, int64_t terms,
                                      const std::function<llvm::SmallVector<mlir::Value>(mlir::ValueRange)> &body);
  /// Returns zeros plus the sum over at most `steps` steps of `step` positions, up to `high`. The sum consists of
  /// chains of `chain` steps, each from zero. The chains are added in groups, and the groups in groups again.
  llvm::SmallVector<mlir::Value>
  sumsOfChains(mlir::Value high, int64_t step, int64_t steps, int64_t chain, mlir::ValueRange zeros,
               const std::function<llvm::SmallVector<mlir::Value>(mlir::Value at, mlir::ValueRange)> &body);
  mlir::Value guarded(mlir::Value predicate, mlir::Value otherwise, const std::function<mlir::Value()> &body);
  /// Makes work items of the first axes of the phase: as few axes as give enough items, but at most `most` axes. The
  /// body is emitted once, in a loop over the items, and gets the remaining axes.
  void items(llvm::ArrayRef<Axis>, size_t most, Symbols &, const std::function<void(llvm::ArrayRef<Axis>)> &body);

  //===- Positions ---===//
  mlir::Value flat(const Storage &, llvm::ArrayRef<mlir::Value> indices);
  mlir::Value position(const Storage &, llvm::ArrayRef<subscript::Expr>, const Symbols &);
  FindIndices indexOperands();                                     // finds the kernel's index operands in the phase
  IndexEmitter::Read reads();                                      // loads elements of these operands
  mlir::Value value(const subscript::Expr &, const Symbols &);     // index
  mlir::Value predicate(const subscript::Expr &, const Symbols &); // i1
  void addRuntimeSizes(const std::map<std::string, Extent> &, Symbols &);
  void addRuntimeSymbols(Symbols &);

  //===- Memory ---===//
  /// Loads an element as f32, or a vector of `lanes` consecutive ones.
  mlir::Value load(const Storage &, mlir::Value position, bool vector = false);
  void store(mlir::Value, const Storage &, mlir::Value position);

  PhaseFunction phase;                      // the phase that is being emitted
  std::map<std::string, mlir::Value> sizes; // the run-time sizes in the phase
  bool roundsToBf16 = false;                // whether the processor rounds vectors of f32 to bf16
  int64_t lanes = kLanes;                   // the number of lanes of vectors
  bool elementItems = false;                // every element of a result is an item, and there are no vectors
  std::string failure;                      // why an expression could not be emitted; empty: none failed

private:
  mlir::ImplicitLocOpBuilder &b;
  KernelPlan &plan;
};

} // namespace skewer::generic
