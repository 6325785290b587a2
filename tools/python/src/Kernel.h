// A compiled kernel that Python calls with arrays: Module.cpp exports it, and the package's _layer.py uses it. It
// checks every array and converts or copies where the kernel cannot read it in place. Wrong arrays are Python
// exceptions with the expected and the found value.
#pragma once
#include "LoadedCode.h"
#include "Signature.h"
#include "Workspaces.h"
#include <cstdlib>
#include <functional>
#include <memory>

namespace skewer::python {

/// The data that depends on `const` operands only, made by NAME_prepare (docs/abi.md).
struct Prepared {
  std::unique_ptr<void, decltype(&std::free)> memory{nullptr, &std::free};
  size_t bytes = 0;
};

class Call;

class Kernel {
public:
  /// See Signature and LoadedCode.
  Kernel(std::string name, nb::list objects, std::string sharedObject, nb::list inputs, nb::list results,
         nb::list sizes)
      : signature(std::move(name), inputs, results, sizes), code(signature.name, objects, sharedObject) {}
  /// Calls the kernel and returns its result, or a tuple of its results. `arrays` are in the spec's order. `outputs` is
  /// a tuple of arrays, or None; then `allocate(number, shape)` makes them. `given` holds, by name, the run-time sizes
  /// that the arrays do not determine. With `prepared`, uses its data. With `ofFramework`, runs on threads of OpenMP if
  /// there are any. With `isResolved`, no array is negated when it is read, so none is asked.
  nb::object call(nb::tuple arrays, nb::object outputs, nb::handle threads, nb::object allocate, nb::object given,
                  int64_t q0, int64_t k0, int64_t head0, const Prepared *prepared, bool ofFramework, bool isResolved);
  /// Does the same for arrays in the memory of one GPU. The call is queued on the stream with number `stream`.
  /// `newWorkspace(bytes)` returns the address of memory of that GPU, for work on the stream. The context of the GPU is
  /// current.
  nb::object callOnGpu(nb::tuple arrays, nb::object outputs, nb::object allocate, nb::object given, int64_t q0,
                       int64_t k0, int64_t head0, uintptr_t stream, nb::object newWorkspace);
  /// Makes the data for `call` with `prepared`. `arrays` are in the spec's order, None for operands that are not const.
  /// `given` holds run-time sizes by name.
  Prepared prepare(nb::tuple arrays, nb::handle threads, nb::object given);

  Signature signature;
  const LoadedCode code;

private:
  int threadsOf(nb::handle) const;
  using Entry = std::function<int32_t(const void *args, const void *exec)>;
  void run(Call &, int threads, bool ofFramework, const Entry &);

  Workspaces workspaces;
};

} // namespace skewer::python
