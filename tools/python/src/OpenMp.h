// The threads of a framework that computes with OpenMP, for kernels that are called from it.
#pragma once
#include <cstdint>
#include <string>

namespace skewer::python::openmp {

/// Takes the functions of a runtime of OpenMP that is already loaded from there: GNU's entries, which LLVM's and Intel's
/// have too. False where there is no such one.
bool use(const std::string &path);

/// Whether there is one, in the process that loaded it: its threads do not survive a fork, and it would wait for them.
bool isUsable();

/// skewer_exec's parallel_for; `context` is the number of workers.
void parallelFor(void *context, int64_t count, void (*body)(void *data, int64_t begin, int64_t end, int32_t worker),
                 void *data);

} // namespace skewer::python::openmp
