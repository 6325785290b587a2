// Uses the threads of a framework that computes with OpenMP, for kernels that are called from it.
#pragma once
#include <cstdint>
#include <string>

namespace skewer::python::openmp {

/// Takes the functions of an OpenMP runtime that is already loaded from `path`: GNU's entries, which LLVM's and Intel's
/// runtimes also have. Returns false if no such runtime is loaded.
bool use(const std::string &path);

/// Returns whether there is a runtime in the process that loaded it. Its threads do not survive a fork, and after a
/// fork it would wait for them.
bool isUsable();

/// Implements skewer_exec's parallel_for; `context` is the number of workers.
void parallelFor(void *context, int64_t count, void (*body)(void *data, int64_t begin, int64_t end, int32_t worker),
                 void *data);

} // namespace skewer::python::openmp
