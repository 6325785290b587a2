// One call of a kernel: checks arrays against the signature, and makes the argument struct of them.
#pragma once
#include "LoadedCode.h"
#include "Signature.h"
#include <cstdlib>
#include <memory>
#include <new>

namespace skewer::python {

class Call {
public:
  /// `isOnGpu`: the arrays are in the memory of one GPU. `isResolved`: no array is negated when it is read, so none is
  /// asked.
  Call(Signature &signature, const LoadedCode &code, bool isOnGpu, bool isResolved)
      : signature(signature), code(code), isOnGpu(isOnGpu), isResolved(isResolved) {}

  /// Takes the operands, in the spec's order, and the results, a tuple of arrays; None: `allocate(number, shape)` makes
  /// them. `given` holds, by name, the run-time sizes that the arrays do not determine.
  void take(nb::tuple arrays, nb::object outputs, nb::object allocate, nb::object given, int64_t q0, int64_t k0,
            int64_t head0);
  /// Takes the `const` operands; `arrays` has None for the others. Shapes are checked as far as sizes are known; each
  /// call checks them in full.
  void takeConst(nb::tuple arrays, nb::object given);
  /// Returns whether no result has an element, so that there is nothing to compute.
  bool isEmpty() const { return empty; }
  const void *arguments() const { return words.data(); }
  /// Copies results that were computed elsewhere to where they belong.
  void copyBack();
  nb::object result() const;
  [[noreturn]] void refuseStatus(int32_t status) const;

private:
  void begin(nb::tuple arrays);
  void takeInput(size_t number, nb::handle array);
  void takeOutputs(nb::object outputs, nb::object allocate);
  void checkPlace(const std::string &role, const Tensor &);
  std::vector<std::string> findSizes(nb::handle given);
  void inferSizes(nb::handle given);
  void allowEmpty(const std::string &from, size_t size);
  bool isKnown(const Extent &) const;
  void checkShape(const Argument &, const Tensor &, const std::string &role) const;
  void passInput(size_t number);
  void *converted(size_t number);
  void passSizes(int64_t q0, int64_t k0, int64_t head0);
  void note(Argument &, const std::string &role, const Tensor &, bool isResult) const;
  std::string sharedMemory() const;
  void *copyOf(const Tensor &tensor) { return memoryOf(tensor.elements() * bytesOf(tensor.element)); }
  void *memoryOf(int64_t count);

  Signature &signature;
  const LoadedCode &code;
  const bool isOnGpu, isResolved;
  bool empty = false;
  int gpu = -1; // the GPU whose memory holds the first operand
  std::unique_ptr<Tensor[]> inputs, outputs;
  std::vector<nb::object> results;
  std::vector<std::unique_ptr<void, decltype(&std::free)>> copies;
  std::vector<std::pair<size_t, void *>> copiedOutputs; // results that must be copied back
  std::vector<int64_t> sizes;                           // -1: not known yet
  std::vector<uint64_t> words;                          // the argument struct
};

} // namespace skewer::python
