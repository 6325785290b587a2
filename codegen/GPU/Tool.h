// Programs of a CUDA toolkit, run on files of their own in the system's temporary folder.
#pragma once
#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/SmallString.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"
#include <optional>
#include <string>

namespace skewer::gpu {

/// An error that consists of a text.
llvm::Error problem(const llvm::Twine &text);

/// A file with an ending of its own, removed with this.
class TemporaryFile {
public:
  static llvm::Expected<TemporaryFile> create(llvm::StringRef ending, llvm::StringRef contents = {});
  TemporaryFile(TemporaryFile &&);
  ~TemporaryFile();
  llvm::StringRef path() const { return name; }
  /// Empty where it cannot be read.
  std::string contents() const;

private:
  TemporaryFile() = default;
  llvm::SmallString<128> name;
};

/// What it printed. Where it fails, an error with its name and what it printed; `environment`, if given, is all that it
/// inherits.
llvm::Expected<std::string> runTool(llvm::StringRef path, llvm::ArrayRef<llvm::StringRef> arguments,
                                    std::optional<llvm::ArrayRef<llvm::StringRef>> environment = std::nullopt);

/// The path of a program: in the toolkit's folder `cudaPath`, else beside ptxas (either may be ""), else `known`, else
/// on PATH; "" where it is nowhere.
std::string findTool(llvm::StringRef name, llvm::StringRef cudaPath, llvm::StringRef ptxas, llvm::StringRef known = "");

/// "13.0.88", as `ptxas --version` says; "unknown" where it says nothing of the kind.
std::string versionOfTool(llvm::StringRef path);

} // namespace skewer::gpu
