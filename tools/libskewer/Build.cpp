// Identifies this build of the library by its version and the linker's build-id (skewer_library_build).
#include "tools/libskewer/skewer.h"
#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringExtras.h"
#include <link.h>
#include <string>

uint32_t skewer_library_api_version() { return SKEWER_LIBRARY_API_VERSION; }
const char *skewer_library_version() { return SKEWER_VERSION; }

/// Finds the linker's build-id in the notes of the shared object that contains this function: a hash over its contents.
static int findBuildId(dl_phdr_info *object, size_t, void *result) {
  auto here = reinterpret_cast<uintptr_t>(&skewer_library_api_version);
  llvm::ArrayRef<ElfW(Phdr)> headers(object->dlpi_phdr, object->dlpi_phnum);
  auto holds = [&](const ElfW(Phdr) & header) {
    uintptr_t begin = object->dlpi_addr + header.p_vaddr;
    return header.p_type == PT_LOAD && here >= begin && here - begin < header.p_memsz;
  };
  if (!llvm::any_of(headers, holds))
    return 0;
  for (const ElfW(Phdr) &header : headers) {
    if (header.p_type != PT_NOTE)
      continue;
    auto *at = reinterpret_cast<const char *>(object->dlpi_addr + header.p_vaddr), *end = at + header.p_memsz;
    while (at + sizeof(ElfW(Nhdr)) <= end) {
      auto *note = reinterpret_cast<const ElfW(Nhdr) *>(at);
      const char *name = at + sizeof(*note), *bytes = name + (note->n_namesz + 3) / 4 * 4;
      if (note->n_type == NT_GNU_BUILD_ID && llvm::StringRef(name, 3) == "GNU")
        *static_cast<std::string *>(result) = llvm::toHex({bytes, note->n_descsz}, /*LowerCase=*/true);
      at = bytes + (note->n_descsz + 3) / 4 * 4;
    }
  }
  return 1;
}

const char *skewer_library_build() {
  static const std::string build = [] {
    std::string id;
    dl_iterate_phdr(findBuildId, &id);
    return std::string(SKEWER_VERSION "-") + (id.empty() ? "unknown" : id);
  }();
  return build.c_str();
}
