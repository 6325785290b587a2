// What stands in options as text: NAME=VALUE, whole numbers.
#pragma once
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/CommandLine.h"
#include <map>
#include <string>

namespace skewer::driver {

/// Prints a usage error; false, for who returns it.
bool usage(const std::string &text);
/// NAME=VALUE; false after an error that names the option.
bool split(const char *option, llvm::StringRef text, std::string &name, llvm::StringRef &value);
/// NAME=NUMBER of each text, none of them twice. False after an error; `exitCode` is 1 where a number has the right
/// form and does not fit 64 bits.
bool readNumbers(const char *option, const llvm::cl::list<std::string> &list, std::map<std::string, int64_t> &to,
                 int &exitCode);

} // namespace skewer::driver
