// Chooses kernels, renames them, and reports clashes and names that C does not allow.
#include "codegen/Compiler/KernelNames.h"
#include "codegen/ABI/TakenNames.h"
#include "codegen/Compiler/Messages.h"
#include "llvm/ADT/StringExtras.h"

namespace skewer {

static void setName(Kernel &kernel, const std::string &name) {
  kernel.einsumFunction().setName(name);
  for (const auto &shorter : kernel.shorter)
    (*(*shorter).getOps<mlir::func::FuncOp>().begin()).setName(name);
  kernel.signature.name = name;
  kernel.name = name;
}

bool chooseAndName(Compilation &compilation, const CompileRequest &request) {
  std::vector<std::string> known;
  for (const Kernel &kernel : compilation.kernels)
    known.push_back(kernel.name);
  auto isKnown = [&](const char *option, const std::string &name) {
    if (llvm::is_contained(known, name))
      return true;
    sayErrorOf(compilation.path(),
               option + (" '" + name) + "': the spec has no such kernel; it has " + llvm::join(known, ", "));
    return false;
  };
  for (const std::string &name : request.kernels)
    if (!isKnown("--kernel", name))
      return false;
  for (const auto &[name, made] : request.names)
    if (!isKnown("--name", name))
      return false;
  if (!request.kernels.empty())
    llvm::erase_if(compilation.kernels,
                   [&](const Kernel &kernel) { return !llvm::is_contained(request.kernels, kernel.name); });
  for (Kernel &kernel : compilation.kernels) {
    auto named = request.names.find(kernel.name);
    std::string name = request.prefix + (named == request.names.end() ? kernel.name : named->second);
    std::string why = name == kernel.name ? "" : whyNoKernel(name); // a wrong name in the text is reported at its line
    if (!why.empty()) {
      sayError("kernel '" + kernel.name + "' would be called '" + name + "': " + why);
      return false;
    }
    if (name != kernel.name)
      setName(kernel, name);
  }
  return true;
}

bool DeclaredNames::add(const std::string &path, const std::string &name) {
  kernels.push_back(name);
  for (const std::string &declared : declaredNames(name)) {
    auto [known, isNew] = names.emplace(declared, name);
    if (isNew)
      continue;
    sayErrorOf(path, known->second == name ? "two kernels are named '" + name + "'"
                                           : "kernels '" + known->second + "' and '" + name + "' would both have '" +
                                                 declared + "' in their headers; rename one, here or with --name");
    return false;
  }
  return true;
}

bool DeclaredNames::addAll(const std::string &path, const DeclaredNames &ofSpec) {
  return llvm::all_of(ofSpec.kernels, [&](const std::string &kernel) { return add(path, kernel); });
}

} // namespace skewer
