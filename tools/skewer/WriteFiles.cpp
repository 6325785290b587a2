// Writing by temporary and rename.
#include "tools/skewer/WriteFiles.h"
#include "llvm/ADT/SmallString.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/raw_ostream.h"
#include <fmt/format.h>

namespace skewer::driver {

static llvm::Error failed(llvm::StringRef path, std::error_code code) {
  return llvm::createStringError(code, "%s", fmt::format("cannot write '{}': {}", path.str(), code.message()).c_str());
}

/// Writes and closes; a full disk may show only when the buffer is flushed or the file closed.
static std::error_code writeAll(int descriptor, llvm::StringRef bytes) {
  llvm::raw_fd_ostream stream(descriptor, /*shouldClose=*/true, /*unbuffered=*/true);
  stream << bytes;
  stream.close();
  std::error_code code = stream.error();
  stream.clear_error(); // the destructor would end the process
  return code;
}

/// The file that a symbolic link leads to, so that it is replaced and not the link: /dev/stdout is one, to a file too.
static std::string behindLinks(const std::string &path) {
  llvm::SmallString<128> real;
  bool isLink = llvm::sys::fs::is_symlink_file(path) && !llvm::sys::fs::real_path(path, real);
  return isLink ? real.str().str() : path;
}

llvm::Error writeFiles(const std::vector<OutputFile> &files) {
  namespace fs = llvm::sys::fs;
  std::vector<std::string> paths;
  for (const OutputFile &file : files)
    paths.push_back(behindLinks(file.path));
  std::vector<std::string> temporaries(files.size());
  auto removeAll = [&] {
    for (const std::string &temporary : temporaries)
      if (!temporary.empty())
        fs::remove(temporary);
  };
  for (size_t k = 0; k < files.size(); ++k) {
    llvm::StringRef path = paths[k];
    fs::file_status status;
    bool exists = !fs::status(path, status) && fs::exists(status);
    int descriptor;
    std::error_code code;
    if (exists && fs::is_directory(status)) {
      code = std::make_error_code(std::errc::is_a_directory);
    } else if (exists && !fs::is_regular_file(status)) {
      code = fs::openFileForWrite(path, descriptor, fs::CD_OpenExisting);
    } else {
      llvm::SmallString<128> temporary;
      code = fs::createUniqueFile(llvm::Twine(path) + ".%%%%%%%%.part", descriptor, temporary, fs::OF_None,
                                  fs::all_read | fs::all_write);
      if (!code)
        temporaries[k] = temporary.str().str();
    }
    if (!code)
      code = writeAll(descriptor, files[k].bytes);
    if (code) {
      removeAll();
      return failed(files[k].path, code);
    }
  }
  for (size_t k = 0; k < files.size(); ++k) {
    if (temporaries[k].empty())
      continue;
    if (std::error_code code = fs::rename(temporaries[k], paths[k])) {
      removeAll();
      return failed(files[k].path, code);
    }
    temporaries[k].clear();
  }
  return llvm::Error::success();
}

} // namespace skewer::driver
