// What stands in options as text: NAME=VALUE, whole numbers, targets, kinds of files. Shared by the command line and by
// the library, which has no command line.
#pragma once
#include "dialect/Language/Parameter.h"
#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"
#include <map>
#include <string>
#include <vector>

namespace skewer::driver {

/// Prints a usage error; false, for who returns it.
bool usage(const std::string &text);
/// NAME=VALUE; false after an error that names the option.
bool split(const char *option, llvm::StringRef text, std::string &name, llvm::StringRef &value);
/// NAME=NUMBER of each text, none of them twice. False after an error; `exitCode` is 1 where a number has the right
/// form and does not fit 64 bits.
bool readNumbers(const char *option, llvm::ArrayRef<std::string> list, std::map<std::string, int64_t> &to,
                 int &exitCode);
/// Machine files among the targets: what is wrong with one is said before anything else is done.
bool readMachineFiles(const std::string &targets, int &exitCode);
/// The files that --emit names, each once.
bool readKinds(llvm::ArrayRef<std::string> kinds, std::vector<std::string> &emit);

/// The same as readNumbers of -D, where a number may be a real one.
bool readParameters(llvm::ArrayRef<std::string> list, language::Parameters &to, int &exitCode);

} // namespace skewer::driver
