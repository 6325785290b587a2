// Runs programs of a CUDA toolkit on temporary files in the system's temporary folder: ptxas, fatbinary and cuobjdump
// (Assemble.cpp, Fatbinary.cpp, Disassemble.cpp).
#pragma once
#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/SmallString.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"
#include <optional>
#include <string>

namespace skewer::gpu {

/// Returns an error with this text.
llvm::Error problem(const llvm::Twine &text);

/// A file with the given ending. The destructor removes it.
class TemporaryFile {
public:
  static llvm::Expected<TemporaryFile> create(llvm::StringRef ending, llvm::StringRef contents = {});
  TemporaryFile(TemporaryFile &&);
  ~TemporaryFile();
  llvm::StringRef path() const { return name; }
  /// Returns the contents; empty if the file cannot be read.
  std::string contents() const;

private:
  TemporaryFile() = default;
  llvm::SmallString<128> name;
};

/// Returns the output. If the program fails, returns an error with its name and its output. If `environment` is given,
/// the program inherits nothing else.
llvm::Expected<std::string> runTool(llvm::StringRef path, llvm::ArrayRef<llvm::StringRef> arguments,
                                    std::optional<llvm::ArrayRef<llvm::StringRef>> environment = std::nullopt);

/// Returns the path of a program: in the toolkit's folder `cudaPath`, else in the folder of ptxas (either may be ""),
/// else `known`, else on PATH; "" if it is nowhere.
std::string findTool(llvm::StringRef name, llvm::StringRef cudaPath, llvm::StringRef ptxas, llvm::StringRef known = "");

/// Returns the version in the output of `ptxas --version`, "13.0.88"; "unknown" if there is none.
std::string versionOfTool(llvm::StringRef path);

} // namespace skewer::gpu
