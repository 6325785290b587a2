// Loads the object files that `compile` has written into this process, and returns pointers to their functions. The C
// API (tools/libskewer) calls it.
#pragma once
#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"
#include <memory>
#include <string>

namespace skewer {

class LoadedObjects {
public:
  /// Links the objects of one kernel with each other and with this process's libc and libm. Errors: the bytes are no
  /// object of this machine, a symbol is not defined anywhere, there is no kernel of that name.
  static llvm::Expected<std::unique_ptr<LoadedObjects>> load(llvm::ArrayRef<llvm::StringRef> objects,
                                                             const std::string &kernel);
  ~LoadedObjects();
  /// Returns the address of a symbol; null if there is none. Any number of threads may call it.
  void *symbol(const std::string &name) const;

private:
  LoadedObjects();
  struct Implementation;
  std::unique_ptr<Implementation> implementation;
};

} // namespace skewer
