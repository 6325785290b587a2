// Output files that appear whole or not at all.
#pragma once
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"
#include <string>
#include <vector>

namespace skewer::driver {

struct OutputFile {
  std::string path, bytes;
};

/// Writes every file to a temporary in its own folder and then renames them all. On an error (a folder that cannot be
/// written, a full disk) the temporaries are removed and no file has changed. A path that exists and is no regular file
/// (/dev/stdout, a pipe) is written in place.
llvm::Error writeFiles(const std::vector<OutputFile> &);

} // namespace skewer::driver
