// Loads code and finds its entries.
#include "LoadedCode.h"
#include "Signature.h"
#include <atomic>
#include <dlfcn.h>
#include <type_traits>

namespace skewer::python {

static std::atomic<bool> refusesAmx = false;

void refuseAmx(bool refused) {
  refusesAmx = refused;
  skewer_loaded_refuse_amx(refused);
}

LoadedCode::LoadedCode(const std::string &name, nb::list objects, const std::string &sharedObject) {
  if (!sharedObject.empty()) {
    library = dlopen(sharedObject.c_str(), RTLD_NOW | RTLD_LOCAL);
    if (!library)
      raise(errors("LoadError")("kernel '" + name + "' cannot be loaded: " + dlerror()));
    if (auto *refused = static_cast<int *>(dlsym(library, "skewer_refuse_amx"))) // each shared object has its own
      *refused = refusesAmx;
  } else {
    std::vector<const void *> data;
    std::vector<size_t> bytes;
    for (nb::handle object : objects) {
      data.push_back(PyBytes_AsString(object.ptr()));
      bytes.push_back(nb::len(object));
    }
    skewer_answer *answer;
    {
      nb::gil_scoped_release released;
      answer = skewer_load(name.c_str(), data.data(), bytes.data(), data.size(), &loaded);
    }
    std::string why = skewer_answer_diagnostic(answer, 0).text;
    skewer_answer_free(answer);
    if (!loaded)
      raise(errors("LoadError")(why));
  }
  auto find = [&](const char *suffix, auto &address) {
    void *found = library ? dlsym(library, (name + suffix).c_str()) : skewer_loaded_symbol(loaded, suffix);
    address = reinterpret_cast<std::remove_reference_t<decltype(address)>>(found);
  };
  find("", entry);
  find("_cuda", cudaEntry);
  find("_cuda_workspace_bytes", cudaWorkspaceBytes);
  find("_workspace_bytes", workspaceBytes);
  find("_code", codeName);
  find("_prepared_bytes", preparedBytes);
  find("_prepare", prepareEntry);
  find("_prepared", preparedEntry);
  if (!(entry && workspaceBytes) && !(cudaEntry && cudaWorkspaceBytes)) {
    unload();
    raise(errors("LoadError")("there is no kernel '" + name + "' in it"));
  }
}

LoadedCode::~LoadedCode() { unload(); }

void LoadedCode::unload() {
  skewer_unload(loaded);
  if (library)
    dlclose(library);
  loaded = nullptr, library = nullptr;
}

} // namespace skewer::python
