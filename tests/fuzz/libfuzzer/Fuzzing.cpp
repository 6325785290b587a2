// Capturing what the compiler says.
#include "tests/fuzz/libfuzzer/Fuzzing.h"
#include <cstdio>
#include <cstdlib>
#include <sys/mman.h>
#include <unistd.h>

namespace skewer::fuzzing {

std::string said(llvm::function_ref<void()> work) {
  static const int file = memfd_create("said", 0);
  int before = dup(STDERR_FILENO);
  if (file < 0 || before < 0 || ftruncate(file, 0) != 0 || lseek(file, 0, SEEK_SET) != 0 ||
      dup2(file, STDERR_FILENO) < 0)
    finding("standard error cannot be captured");
  work();
  dup2(before, STDERR_FILENO);
  close(before);
  std::string text(size_t(lseek(file, 0, SEEK_END)), '\0');
  if (pread(file, text.data(), text.size(), 0) != ssize_t(text.size()))
    finding("what was captured cannot be read");
  return text;
}

void finding(const std::string &what, llvm::StringRef more) {
  std::printf("finding: %s\n%.*s\n", what.c_str(), int(more.size()), more.data());
  std::fflush(stdout);
  std::abort();
}

} // namespace skewer::fuzzing
