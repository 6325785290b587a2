// Reads and writes files of NumPy's .npy format (versions 1 to 3): little-endian numbers in C order. Operands, results
// and expected values of `run` are such files.
#pragma once
#include "tools/skewer/Tensors.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"

namespace skewer::driver {

struct NpyFile {
  std::string type; // as the file states it: "<f4", "<f8", "<f2", "|i1", "|u1", "<i4" or "<i8"
  Array array;
};

/// Reads a file. Errors give the expected and the found value: the file is cut short, has extra bytes, holds another
/// type or Fortran order, or has no .npy header.
llvm::Expected<NpyFile> readNpy(llvm::StringRef path);
/// Does the same for the bytes of a file.
llvm::Expected<NpyFile> parseNpy(llvm::StringRef bytes);

/// Returns the bytes of a version 1.0 file; `type` is one of the types in NpyFile.
std::string npyBytes(const Array &, llvm::StringRef type);

} // namespace skewer::driver
