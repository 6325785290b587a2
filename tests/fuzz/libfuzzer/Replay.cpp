// The fuzz targets without libFuzzer: runs files, or all files of folders, through one of them.
#include "tests/fuzz/libfuzzer/Fuzzing.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/raw_ostream.h"
#include <algorithm>
#include <map>
#include <unistd.h>
#include <vector>

// A sanitizer's report is not among what a target captures.
extern "C" __attribute__((weak)) void __sanitizer_set_report_fd(void *);

namespace skewer::fuzzing {
static std::map<std::string, Function> &targets() {
  static std::map<std::string, Function> all;
  return all;
}
Registration::Registration(const char *name, Function target) { targets()[name] = target; }
} // namespace skewer::fuzzing

static std::vector<std::string> filesOf(const std::string &path) {
  std::vector<std::string> files;
  std::error_code code;
  for (llvm::sys::fs::recursive_directory_iterator entry(path, code), end; entry != end && !code; entry.increment(code))
    if (entry->type() == llvm::sys::fs::file_type::regular_file)
      files.push_back(entry->path());
  if (files.empty())
    files.push_back(path);
  std::sort(files.begin(), files.end());
  return files;
}

int main(int argc, char **argv) {
  auto target = skewer::fuzzing::targets().find(argc > 1 ? argv[1] : "");
  if (argc < 3 || target == skewer::fuzzing::targets().end()) {
    llvm::errs() << "usage: skewer-fuzz-replay TARGET FILE-OR-FOLDER…\nof the targets";
    for (const auto &[name, function] : skewer::fuzzing::targets())
      llvm::errs() << " " << name;
    llvm::errs() << "\n";
    return 2;
  }
  if (__sanitizer_set_report_fd)
    __sanitizer_set_report_fd(reinterpret_cast<void *>(intptr_t(dup(STDERR_FILENO))));
  size_t count = 0;
  for (int k = 2; k < argc; ++k)
    for (const std::string &path : filesOf(argv[k])) {
      auto buffer = llvm::MemoryBuffer::getFile(path, /*IsText=*/false, /*RequiresNullTerminator=*/false);
      if (!buffer) {
        llvm::errs() << path << ": " << buffer.getError().message() << "\n";
        return 2;
      }
      llvm::outs() << path << "\n"; // the last one is to blame where the process ends
      llvm::outs().flush();
      target->second((*buffer)->getBuffer());
      ++count;
    }
  llvm::outs() << count << " inputs\n";
  return 0;
}
