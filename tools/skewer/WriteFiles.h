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

/// What becomes of a file that has several names (hard links): one of them gets a new file, or the file changes for all.
enum class OtherNames { KeepOld, ChangeToo };

/// Writes every file to a temporary in its own folder and then renames them all. On an error (a folder that cannot be
/// written, a full disk) the temporaries are removed and no file has changed. A path that exists and is no regular file
/// (/dev/stdout, a pipe) is written in place. A file that is replaced keeps its permissions, and where that is allowed its
/// owner.
llvm::Error writeFiles(const std::vector<OutputFile> &, OtherNames = OtherNames::KeepOld);

/// Makes a folder and those above it as mkdir does: open to whom the umask leaves in.
std::error_code makeFolders(llvm::StringRef path);

} // namespace skewer::driver
