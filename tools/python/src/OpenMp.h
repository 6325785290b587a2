// Runs kernels on the OpenMP threads of the framework that calls them (PyTorch), instead of a kernel's own threads.
#pragma once
#include <cstdint>
#include <string>

namespace skewer::python::openmp {

/// Finds the functions of an OpenMP runtime that is already loaded from `path`: GNU's entries, which LLVM's and Intel's
/// runtimes also have. Returns false if no such runtime is loaded.
bool use(const std::string &path);

/// Returns whether this process loaded a runtime. A forked process must not use its parent's runtime: the threads do
/// not survive a fork, and the runtime would wait for them.
bool isUsable();

/// Implements skewer_exec's parallel_for; `context` is the number of workers.
void parallelFor(void *context, int64_t count, void (*body)(void *data, int64_t begin, int64_t end, int32_t worker),
                 void *data);

} // namespace skewer::python::openmp
