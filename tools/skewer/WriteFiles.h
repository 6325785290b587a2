// Writes output files completely or not at all, so that an error leaves no half-written result. All commands that write
// files call it.
#pragma once
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"
#include <string>
#include <vector>

namespace skewer::driver {

struct OutputFile {
  std::string path, bytes;
};

/// The treatment of a file that has several names (hard links): one name gets a new file, or the file changes under all
/// names.
enum class OtherNames { KeepOld, ChangeToo };

/// Writes every file to a temporary file in its own folder, then renames them all. On an error (a folder that cannot be
/// written, a full disk) removes the temporary files and changes no file. A path that exists and is not a regular file
/// (/dev/stdout, a pipe) is written in place. A replaced file keeps its permissions and, where that is allowed, its
/// owner.
llvm::Error writeFiles(const std::vector<OutputFile> &, OtherNames = OtherNames::KeepOld);

/// Makes a folder and its parents like mkdir: with the permissions that the umask allows.
std::error_code makeFolders(llvm::StringRef path);

} // namespace skewer::driver
