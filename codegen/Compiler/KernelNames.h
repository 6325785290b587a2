// The names of kernels: chooses the kernels that a request wants, gives them the request's names, and finds clashes
// between the names that their headers declare. `compile` calls it.
#pragma once
#include "codegen/Compiler/Compilation.h"
#include "codegen/Compiler/Request.h"

namespace skewer {

/// Keeps the kernels that the request chooses, under the names that it gives them. Returns false after an error.
bool chooseAndName(Compilation &, const CompileRequest &);

/// The names that the headers of a request's kernels declare.
class DeclaredNames {
public:
  /// Adds what the header of a kernel declares; returns false after an error, about the spec's path, if another
  /// kernel's header declares it.
  bool add(const std::string &path, const std::string &kernel);
  /// Does the same for the kernels of another spec, in their order.
  bool addAll(const std::string &path, const DeclaredNames &ofSpec);

private:
  std::vector<std::string> kernels;
  std::map<std::string, std::string> names; // each with the kernel that declares it
};

} // namespace skewer
