// The engines that multiply on a processor, as scheduling sees them: which operands an engine takes on which machine,
// what its steps hold, which tiles it supports, and what its products cost. The engine of the same name in
// passes/Cpu/Engines emits the code.
#pragma once
#include "dialect/IR/KernelPlan.h"
#include "passes/Schedule/Target.h"

namespace skewer {

class CpuEngineCost {
public:
  virtual ~CpuEngineCost() = default;

  virtual llvm::StringRef name() const = 0;
  /// Returns whether the engine multiplies operands of this element type in memory on the target.
  virtual bool fits(ElementType element, const Target &) const = 0;
  /// Returns how many elements of the depth a step holds. A step takes 32 bits of a packed row, and of each column of a
  /// panel.
  virtual int64_t elementsOfStep() const = 0;
  /// Returns the steps of packed rows and columns of this depth.
  virtual int64_t stepsOf(int64_t depth) const { return (depth + elementsOfStep() - 1) / elementsOfStep(); }
  /// Return the numbers of rows and of vectors of a tile that scheduling tries, in this order.
  virtual llvm::ArrayRef<int64_t> rows() const = 0;
  virtual llvm::ArrayRef<int64_t> vectors() const = 0;
  /// Returns whether the registers hold the sums of a tile and the operands of a step.
  virtual bool holds(int64_t rows, int64_t vectors, const Target &) const = 0;
  /// Returns the cycles of one step of a tile.
  virtual double stepCycles(int64_t rows, int64_t vectors, const Target &) const = 0;
  /// Returns the products in each lane and cycle, as far as instructions that multiply limit them.
  virtual double products(const Target &) const = 0;
  /// Returns whether the engine also multiplies weights with values, and rounds weights to the type of the values. Only
  /// a result of that type is computed in this way.
  virtual bool takesWeights() const { return false; }
  /// Returns whether sums are integers of 32 bits, which are exact. Such an engine multiplies queries with keys only: a
  /// kernel scales the sums of each query and key.
  virtual bool sumsIntegers() const { return false; }
  /// Returns how many rows are best multiplied at once, because sums go through memory anyway; 0 for an engine whose
  /// sums stay in registers.
  virtual int64_t rowsInMemory() const { return 0; }
  /// Returns how many groups of `tileRows` rows are multiplied at once: the most that divide a block of rows and whose
  /// sums the engine holds; 1 if there is no such number.
  int64_t groupsTogether(int64_t tileRows, int64_t vectors, int64_t rowBlock, const Target &) const;
};

/// The values of an attention, as far as they decide which engine multiplies weights with them.
struct WeighedValues {
  ElementType element = {}; // in memory; f32 if they have no memory
  ElementType result = {};  // of the memory in which the result of the attention is stored
  bool areRows = true;      // the elements of a row are adjacent
  bool areChanged = false;  // a strategy adds to them
  bool areInPlace = false;  // their keys are multiplied where they lie: too few rows meet them for packing to pay
  bool areOfPhases = false; // the rows of a work item are not adjacent
};

/// Returns all engines. The first one takes operands of all types, which it widens to f32.
llvm::ArrayRef<const CpuEngineCost *> cpuEngines();
/// Returns the engine of this name, which must exist.
const CpuEngineCost &cpuEngine(llvm::StringRef name);
/// Returns the fastest engine for operands of this type in memory; f32 if they have different types, or no memory. Its
/// sums are f32.
const CpuEngineCost &cpuEngineFor(ElementType element, const Target &);
/// Returns the fastest engine for queries and keys of this type and depth. Its sums are integers if they cannot exceed
/// 32 bits.
const CpuEngineCost &contentEngineFor(ElementType element, int64_t depth, const Target &);
/// Returns the engine with sums in vector registers that multiplies the most elements of this type at once, whatever
/// the rate: for products that wait for memory.
const CpuEngineCost &widestVectorsFor(ElementType element, const Target &);
/// Returns the products of a cycle of the fastest engine for this type, as a multiple of those of FMAs.
double productsOverFma(ElementType element, const Target &);
/// Returns the engine that multiplies weights with values, `rows` rows at once: the fastest one for their type if it
/// takes weights, packs these values and has a result of their type; else the first one. Scheduling and the kernel both
/// ask it.
const CpuEngineCost &cpuEngineOf(const WeighedValues &, int64_t rows, const Target &);

} // namespace skewer
