// Finds OpenMP's runtime and runs a kernel's items on its threads. Two teams of threads on the same processors disturb
// each other: the threads of OpenMP wait actively for the next operation of their framework, and take the processors
// from a kernel's own threads.
#include "OpenMp.h"
#include "Workspaces.h"
#include <algorithm>
#include <dlfcn.h>

namespace skewer::python::openmp {

static void (*parallel)(void (*)(void *), void *, unsigned workers, unsigned flags) = nullptr;
static int (*threadNumber)() = nullptr;
static int (*threadCount)() = nullptr;
static uint64_t itsProcess = 0;

bool use(const std::string &path) {
  void *library = dlopen(path.c_str(), RTLD_LAZY | RTLD_NOLOAD); // never closed, as the framework keeps it too
  if (!library)
    return false;
  auto find = [&](const char *name, auto &address) {
    address = reinterpret_cast<std::remove_reference_t<decltype(address)>>(dlsym(library, name));
    return address != nullptr;
  };
  if (!find("omp_get_thread_num", threadNumber) || !find("omp_get_num_threads", threadCount) ||
      !find("GOMP_parallel", parallel))
    return parallel = nullptr, false;
  itsProcess = processNow();
  return true;
}

bool isUsable() { return parallel && itsProcess == processNow(); }

namespace {
struct Work {
  int64_t count;
  void (*body)(void *data, int64_t begin, int64_t end, int32_t worker);
  void *data;
};
} // namespace

/// Runs the share of one thread. There may be fewer threads than requested: one, inside another parallel region.
static void doShare(void *data) {
  const Work &work = *static_cast<const Work *>(data);
  int64_t threads = threadCount(), me = threadNumber();
  int64_t each = work.count / threads, left = work.count % threads;
  int64_t begin = each * me + std::min(me, left), end = begin + each + (me < left);
  if (begin < end)
    work.body(work.data, begin, end, int32_t(me));
}

void parallelFor(void *context, int64_t count, void (*body)(void *data, int64_t begin, int64_t end, int32_t worker),
                 void *data) {
  Work work = {count, body, data};
  if (count <= 1)
    return count ? body(data, 0, 1, 0) : void();
  // Uses as many threads as the framework's own operations: for another size the runtime would make a new team.
  parallel(&doShare, &work, unsigned(reinterpret_cast<uintptr_t>(context)), 0);
}

} // namespace skewer::python::openmp
