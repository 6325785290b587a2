// Declares what the fuzz targets share: their entry points, and the function that reports a finding.
//
// A target is a function of bytes: SKEWER_FUZZ_TARGET(npy) { … input … }. With libFuzzer (preset `fuzzers`) it is the
// program's LLVMFuzzerTestOneInput; without, it is one of the targets of skewer-fuzz-replay, by its name.
#pragma once
#include "llvm/ADT/STLFunctionalExtras.h"
#include "llvm/ADT/StringRef.h"
#include <cstddef>
#include <cstdint>
#include <string>

namespace skewer::fuzzing {

using Function = void (*)(llvm::StringRef input);

/// Adds a target to those that Replay.cpp knows.
struct Registration {
  Registration(const char *name, Function);
};

/// Returns what `work` writes to standard error. libFuzzer's own reports are elsewhere if it runs with
/// -close_fd_mask=2.
std::string said(llvm::function_ref<void()> work);

/// Says on standard output what is wrong, and aborts.
[[noreturn]] void finding(const std::string &what, llvm::StringRef more = "");

/// A spec through the compiler as the driver takes it, up to the schedules for a processor and for a GPU: `name`, which
/// ends in .attn or .mlir, says which kind it is. It may be refused, by an error; what is taken must stay what it is
/// when it is printed and parsed, and must fuse.
void judgeSpec(llvm::StringRef text, const std::string &name);

} // namespace skewer::fuzzing

#ifdef SKEWER_LIBFUZZER
#define SKEWER_FUZZ_TARGET(NAME)                                                                                       \
  static void NAME(llvm::StringRef);                                                                                   \
  extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {                                            \
    NAME({reinterpret_cast<const char *>(data), size});                                                                \
    return 0;                                                                                                          \
  }                                                                                                                    \
  static void NAME(llvm::StringRef input)
#else
#define SKEWER_FUZZ_TARGET(NAME)                                                                                       \
  static void NAME(llvm::StringRef);                                                                                   \
  static const skewer::fuzzing::Registration NAME##Registration(#NAME, NAME);                                          \
  static void NAME(llvm::StringRef input)
#endif
