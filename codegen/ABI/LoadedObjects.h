// Object files in this process: the way from the bytes that compile has written to a function pointer.
#pragma once
#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"
#include <memory>
#include <string>

namespace skewer {

class LoadedObjects {
public:
  /// Links the objects of one kernel with each other and with this process's libc and libm. Errors: bytes that are no
  /// object of this machine, a symbol that is nowhere, no kernel of that name.
  static llvm::Expected<std::unique_ptr<LoadedObjects>> load(llvm::ArrayRef<llvm::StringRef> objects,
                                                             const std::string &kernel);
  ~LoadedObjects();
  /// The address of a symbol; null where there is none. Any number of threads may ask.
  void *symbol(const std::string &name) const;

private:
  LoadedObjects();
  struct Implementation;
  std::unique_ptr<Implementation> implementation;
};

} // namespace skewer
