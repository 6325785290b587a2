// Writes files through a temporary file and a rename.
#include "tools/skewer/WriteFiles.h"
#include "llvm/ADT/SmallString.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/Process.h"
#include "llvm/Support/raw_ostream.h"
#include <cerrno>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>
#include <utility>

namespace skewer::driver {

static llvm::Error failed(llvm::StringRef path, std::error_code code) {
  return llvm::createStringError(code, "%s", fmt::format("cannot write '{}': {}", path.str(), code.message()).c_str());
}

/// Writes and closes the file; a full disk may cause an error only at the flush or the close.
static std::error_code writeAll(int descriptor, llvm::StringRef bytes) {
  llvm::raw_fd_ostream stream(descriptor, /*shouldClose=*/true, /*unbuffered=*/true);
  stream << bytes;
  stream.close();
  std::error_code code = stream.error();
  stream.clear_error(); // otherwise the destructor would end the process
  return code;
}

/// Returns the file that a symbolic link leads to, so that the file and not the link is replaced. /dev/stdout is a
/// link, perhaps to a file.
static std::string behindLinks(const std::string &path) {
  llvm::SmallString<128> real;
  bool isLink = llvm::sys::fs::is_symlink_file(path) && !llvm::sys::fs::real_path(path, real);
  return isLink ? real.str().str() : path;
}

/// Makes a new file beside `path`. Chooses the name here, because LLVM's function would also replace a '%' in the
/// folder's name.
static std::error_code createBeside(llvm::StringRef path, int &descriptor, std::string &temporary) {
  namespace fs = llvm::sys::fs;
  for (int attempt = 0; attempt < 100; ++attempt) {
    temporary = fmt::format("{}.{:08x}.part", path.str(), llvm::sys::Process::GetRandomNumber());
    std::error_code code = fs::openFileForReadWrite(temporary, descriptor, fs::CD_CreateNew, fs::OF_None,
                                                    fs::all_read | fs::all_write);
    if (!code)
      return code;
    std::string name = std::exchange(temporary, "");
    if (code != std::errc::file_exists)
      return code;
  }
  return std::make_error_code(std::errc::file_exists);
}

/// Gives a new file the owner and the permissions of the file that it replaces.
static std::error_code adopt(int descriptor, const struct stat &old) {
  // Works for root, and for one's own group; otherwise the writer owns the file.
  (void)!fchown(descriptor, old.st_uid, old.st_gid);
  if (fchmod(descriptor, old.st_mode & 0777))
    return std::error_code(errno, std::generic_category());
  return {};
}

std::error_code makeFolders(llvm::StringRef path) {
  return llvm::sys::fs::create_directories(path, /*IgnoreExisting=*/true, llvm::sys::fs::all_all);
}

llvm::Error writeFiles(const std::vector<OutputFile> &files, OtherNames otherNames) {
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
    struct stat old;
    bool exists = !::stat(paths[k].c_str(), &old);
    int descriptor;
    std::error_code code;
    if (exists && S_ISDIR(old.st_mode)) {
      code = std::make_error_code(std::errc::is_a_directory);
    } else if (exists && (!S_ISREG(old.st_mode) || (old.st_nlink > 1 && otherNames == OtherNames::ChangeToo))) {
      code = fs::openFileForWrite(path, descriptor, S_ISREG(old.st_mode) ? fs::CD_CreateAlways : fs::CD_OpenExisting);
    } else {
      code = createBeside(path, descriptor, temporaries[k]);
      if (!code && exists)
        code = adopt(descriptor, old);
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
