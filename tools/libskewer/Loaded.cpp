// Implements skewer_load and skewer_team of the C API: loads kernels into this process, and provides threads for them.
#include "codegen/ABI/Launcher.h"
#include "codegen/ABI/LoadedObjects.h"
#include "codegen/Runtime/skewer_cuda.h"
#include "tools/libskewer/Answer.h"
#include "tools/skewer/Messages.h"
#include "tools/skewer/ThreadPool.h"
#include <string>

struct skewer_loaded {
  std::string name;
  std::unique_ptr<skewer::LoadedObjects> objects;
};

skewer_answer *skewer_load(const char *kernel, const void *const *objects, const size_t *bytes, size_t count,
                           skewer_loaded **loaded) {
  if (loaded)
    *loaded = nullptr;
  return skewer_answer::of([&](skewer_answer &) -> int32_t {
    bool isWhole = kernel && objects && bytes && loaded;
    for (size_t k = 0; isWhole && k < count; ++k)
      isWhole = objects[k] != nullptr;
    if (!isWhole) {
      skewer::sayError("skewer_load: a null pointer");
      return SKEWER_ANSWER_BAD_REQUEST;
    }
    std::vector<llvm::StringRef> images;
    for (size_t k = 0; k < count; ++k)
      images.emplace_back(static_cast<const char *>(objects[k]), bytes[k]);
    auto made = skewer::LoadedObjects::load(images, kernel);
    if (!made) {
      skewer::sayError("kernel '" + std::string(kernel) + "' cannot be loaded: " +
                               llvm::toString(made.takeError()));
      return SKEWER_ANSWER_WRONG;
    }
    *loaded = new skewer_loaded{kernel, std::move(*made)};
    return SKEWER_ANSWER_DONE;
  });
}

void skewer_unload(skewer_loaded *loaded) { delete loaded; }

void *skewer_loaded_symbol(const skewer_loaded *loaded, const char *suffix) {
  return loaded && suffix ? loaded->objects->symbol(loaded->name + suffix) : nullptr;
}

void skewer_loaded_refuse_amx(int32_t refused) { skewer::refusesTiles() = refused; }

const char *skewer_loaded_gpu_error(void) { return skewer_cuda_error(); }

struct skewer_team {
  explicit skewer_team(int32_t workers) : pool(workers) {}
  skewer::driver::ThreadPool pool;
};

skewer_team *skewer_team_create(int32_t workers) {
  return workers >= 1 && workers <= 1024 ? new skewer_team(workers) : nullptr;
}

void skewer_team_free(skewer_team *team) { delete team; }

void skewer_team_parallel_for(void *team, int64_t count,
                              void (*body)(void *data, int64_t begin, int64_t end, int32_t worker), void *data) {
  skewer::driver::ThreadPool::parallelFor(&static_cast<skewer_team *>(team)->pool, count, body, data);
}
