// Parses the texts in options: NAME=VALUE, whole numbers, targets, kinds of files. The command line and the library,
// which has no command line, share them.
#pragma once
#include "codegen/Compiler/Request.h"
#include "tools/skewer/Sweep.h"
#include <optional>

namespace skewer::driver {

/// Prints a usage error and returns false, so that callers can return the result.
bool usage(const std::string &text);
/// Splits NAME=VALUE; returns false after an error that names the option.
bool split(const char *option, llvm::StringRef text, std::string &name, llvm::StringRef &value);
/// Reads NAME=NUMBER from each text; no name may occur twice. Returns false after an error. `exitCode` is 1 if a number
/// has the right form but does not fit 64 bits.
bool readNumbers(const char *option, llvm::ArrayRef<std::string> list, std::map<std::string, int64_t> &to,
                 int &exitCode);
/// Reads the machine files among the targets, so that their errors are reported before any other work.
bool readMachineFiles(const std::string &targets, int &exitCode);
/// Reads the kinds of files in --emit.
bool readKinds(llvm::ArrayRef<std::string> kinds, std::set<Emit> &emit);

/// Reads the text of --sweep: NAME=FROM:TO (each value twice the one before it, up to TO), NAME=FROM:TO:STEP or
/// NAME=A,B,C. Returns false after an error; `exitCode` is set as by readNumbers.
bool readSweep(llvm::StringRef text, std::optional<Sweep> &to, int &exitCode);

/// Does the same as readNumbers for -D, where a number may also be a real one.
bool readParameters(llvm::ArrayRef<std::string> list, language::Parameters &to, int &exitCode);

} // namespace skewer::driver
