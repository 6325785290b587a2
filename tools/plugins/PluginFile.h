// Plugins as files: whether one fits this program is found out before anything of it runs.
#pragma once
#include "mlir/IR/DialectRegistry.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"
#include <string>
#include <vector>

namespace skewer {

/// The functions that a plugin of dialects and extensions, and one of passes, must export.
constexpr llvm::StringLiteral kDialectEntry = "mlirGetDialectPluginInfo", kPassEntry = "mlirGetPassPluginInfo";

/// An error where the file is no shared object, none of Skewer's plugins, one for another version, or one without
/// `entry`. Reads the file's symbols, and loads nothing.
llvm::Error checkPlugin(const std::string &path, llvm::StringRef entry);

/// Loads plugins (after `checkPlugin`) and keeps what they bring for every later `registerPlugins`.
llvm::Error loadDialectPlugin(const std::string &path);
/// The same of a plugin of passes, whose passes are registered at once.
llvm::Error loadPassPlugin(const std::string &path);
/// Adds what the loaded plugins bring: dialects, and extensions of the attn dialect.
void registerPlugins(mlir::DialectRegistry &);

/// The files that `--load-dialect-plugin` and `--load-pass-plugin` name on a command line of MLIR's, each with the
/// function that it must export.
std::vector<std::pair<std::string, llvm::StringRef>> pluginsOnCommandLine(int argc, char **argv);

} // namespace skewer
