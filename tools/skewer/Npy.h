// Files of NumPy's .npy format (versions 1 to 3): little-endian numbers in C order.
#pragma once
#include "tools/skewer/Tensors.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"

namespace skewer::driver {

struct NpyFile {
  std::string type; // "<f4", "<f8", "<f2", "<i4" or "<i8", as the file says it
  Array array;
};

/// Reads a file. Errors say what was expected and what was found: a file that is cut short, has bytes left over, holds
/// another type or Fortran order, or has no .npy header.
llvm::Expected<NpyFile> readNpy(llvm::StringRef path);
/// The same from the file's bytes.
llvm::Expected<NpyFile> parseNpy(llvm::StringRef bytes);

/// A version 1.0 file's bytes: `type` is one of those that are read.
std::string npyBytes(const Array &, llvm::StringRef type);

} // namespace skewer::driver
