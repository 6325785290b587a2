// Loads plugins from files, for the command line and skewer-opt. It checks that a plugin fits this program before any
// of the plugin's code runs.
#pragma once
#include "mlir/IR/DialectRegistry.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"
#include <string>
#include <vector>

namespace skewer {

/// The functions that a plugin must export: for dialects and extensions, and for passes.
constexpr llvm::StringLiteral kDialectEntry = "mlirGetDialectPluginInfo", kPassEntry = "mlirGetPassPluginInfo";

/// Returns an error if the file is no shared object, no plugin of Skewer, a plugin for another version, or a plugin
/// without `entry`. Reads the file's symbols only, and loads nothing.
llvm::Error checkPlugin(const std::string &path, llvm::StringRef entry);

/// Loads a plugin (after `checkPlugin`) and keeps its additions for every later `registerPlugins`.
llvm::Error loadDialectPlugin(const std::string &path);
/// Loads a plugin of passes in the same way and registers its passes at once.
llvm::Error loadPassPlugin(const std::string &path);
/// Adds the loaded plugins' dialects, and their extensions of the attn dialect.
void registerPlugins(mlir::DialectRegistry &);

/// Returns the files that `--load-dialect-plugin` and `--load-pass-plugin` name on a command line of an MLIR tool, each
/// with the function that it must export.
std::vector<std::pair<std::string, llvm::StringRef>> pluginsOnCommandLine(int argc, char **argv);

} // namespace skewer
