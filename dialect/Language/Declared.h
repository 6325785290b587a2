// The names that a text declares for its numbers and sizes, for commands that must know what a name stands for before
// they give it a value.
#pragma once
#include "llvm/Support/SourceMgr.h"
#include <string>
#include <vector>

namespace skewer::language {

struct DeclaredNames {
  std::vector<std::string> params; // param N = 16
  std::vector<std::string> sizes;  // size batch, and lengths: size N <= 4096
};

/// Returns the names that the main buffer declares, in their order. Reports nothing: the import of the text reports
/// its errors.
DeclaredNames declaredNames(llvm::SourceMgr &sources);

} // namespace skewer::language
