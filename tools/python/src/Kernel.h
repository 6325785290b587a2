// A compiled kernel that Python calls with arrays: Module.cpp exports it, and the package's _layer.py uses it. It
// checks every array and converts or copies where the kernel cannot read it in place. Wrong arrays are Python
// exceptions with the expected and the found value.
#pragma once
#include "Tensor.h"
#include "Workspaces.h"
#include "skewer.h"
#include <cstdlib>
#include <functional>
#include <memory>
#include <optional>
#include <utility>

namespace skewer::python {

/// A size of a dimension: a number known at compile time, the index of a run-time size, or an expression of run-time
/// sizes (a Python function of their values in order).
struct Extent {
  int64_t fixed = 0;
  int size = -1;
  nb::object expression;
  std::vector<int> used; // indices of the run-time sizes in the expression
  std::string text; // "4", "batch", "2*N - 1"

  /// Returns the number for these values of the run-time sizes. An expression needs the interpreter's lock.
  int64_t at(const std::vector<int64_t> &sizes) const;
};

struct Argument {
  std::string name;
  Element element;
  std::string typeName;
  std::vector<Extent> shape;
  std::optional<std::pair<Extent, Extent>> range; // the range of its elements; both ends are included
  bool hasNote = false;                           // a note about its copy has been printed
};

/// The data that depends on `const` operands only, made by NAME_prepare (docs/abi.md).
struct Prepared {
  std::unique_ptr<void, decltype(&std::free)> memory{nullptr, &std::free};
  size_t bytes = 0;
};

class Kernel {
public:
  /// Loads the code from `sharedObject`, the path of a shared object, or, if that is empty, from `objects`, the bytes
  /// of object files. Each of `inputs` and `results` is (name, type, shape, (low, high) or None). An extent of a shape
  /// is a number, (place, name) of a run-time size, or (function, text, places of sizes). Each of `sizes` is (name,
  /// bound or 0).
  Kernel(std::string name, nb::list objects, std::string sharedObject, nb::list inputs, nb::list results,
         nb::list sizes);
  Kernel(const Kernel &) = delete;
  ~Kernel();
  /// Calls the kernel and returns a tuple of the results. `arrays` are in the spec's order. `outputs` is a tuple of
  /// arrays, or None; then `allocate(number, shape)` makes them. `given` holds, by name, the run-time sizes that the
  /// arrays do not determine. With `prepared`, uses its data. With `ofFramework`, runs on threads of OpenMP if there
  /// are any. With `isResolved`, no array is negated when it is read, so none is asked.
  nb::object call(nb::tuple arrays, nb::object outputs, nb::handle threads, nb::object allocate, nb::object given,
                  int64_t q0, int64_t k0, int64_t head0, const Prepared *prepared, bool ofFramework, bool isResolved);
  /// Does the same for arrays in the memory of one GPU. The call is queued on the stream with number `stream`.
  /// `newWorkspace(bytes)` returns the address of memory of that GPU, for work on the stream. The context of the GPU is
  /// current.
  nb::object callOnGpu(nb::tuple arrays, nb::object outputs, nb::object allocate, nb::object given, int64_t q0,
                       int64_t k0, int64_t head0, uintptr_t stream, nb::object newWorkspace);
  bool isForGpu() const { return cudaEntry != nullptr; }
  bool isForProcessor() const { return entry != nullptr; }
  /// Makes the data for `call` with `prepared`. `arrays` are in the spec's order, None for operands that are not const.
  /// `given` holds run-time sizes by name. Shapes are checked as far as sizes are known; each call checks them in full.
  Prepared prepare(nb::tuple arrays, nb::handle threads, nb::object given);
  const std::vector<Argument> &operands() const { return inputs; }
  size_t resultCount() const { return results.size(); }
  size_t sizeCount() const { return sizes.size(); }
  /// Return addresses for callers that call the C entry themselves.
  uintptr_t entryAddress() const { return reinterpret_cast<uintptr_t>(entry); }
  uintptr_t workspaceAddress() const { return reinterpret_cast<uintptr_t>(workspaceBytes); }

private:
  struct Call;
  void load(nb::list objects, const std::string &sharedObject);
  void unload();
  Extent extentOf(nb::handle) const;
  Argument argumentOf(nb::handle) const;
  void takeInput(Call &, size_t number, nb::handle array);
  void checkPlace(Call &, const std::string &role, const Tensor &) const;
  static nb::object resultsOf(const Call &);
  void findSizes(Call &, nb::handle given, std::vector<std::string> &from);
  void inferSizes(Call &, nb::handle given);
  void allowEmpty(Call &, const std::string &from, size_t size);
  bool isKnown(const Extent &, const Call &) const;
  int64_t valueOf(const Extent &, const Call &) const;
  void checkShape(const Call &, const Argument &, const Tensor &, const char *role);
  void takeOutputs(Call &, nb::object outputs, nb::object allocate);
  void note(Argument &, const std::string &role, const Tensor &, bool isResult);
  int threadsOf(nb::handle) const;
  void begin(Call &, nb::tuple arrays);
  void passInput(Call &, size_t number);
  void *converted(Call &, size_t number);
  void passSizes(Call &, int64_t q0, int64_t k0, int64_t head0);
  using Entry = std::function<int32_t(const void *args, const void *exec)>;
  void run(Call &, int threads, bool ofFramework, const Entry &);
  std::string sharedMemory(const Call &) const;
  [[noreturn]] void refuseStatus(const Call &, int32_t status) const;
  [[noreturn]] void refuse(const std::string &argument, nb::object dimension, const std::string &expected,
                           const std::string &found) const;

  std::string name;
  std::vector<Argument> inputs, results;
  std::vector<std::pair<std::string, int64_t>> sizes;
  skewer_loaded *loaded = nullptr;
  void *library = nullptr;
  int32_t (*entry)(const void *args, const void *exec) = nullptr;
  size_t (*workspaceBytes)(const void *args, const void *exec) = nullptr;
  // Null if the kernel has no entries for GPUs.
  int32_t (*cudaEntry)(const void *args, const void *exec) = nullptr;
  size_t (*cudaWorkspaceBytes)(const void *args) = nullptr;
  // Null if no operand is const.
  size_t (*preparedBytes)() = nullptr;
  int32_t (*prepareEntry)(const void *args, const void *exec, void *prepared) = nullptr;
  int32_t (*preparedEntry)(const void *args, const void *exec, const void *prepared) = nullptr;
  Workspaces workspaces;
};

} // namespace skewer::python
