// Joins and optimises the codes of an object, and writes its bytes.
#include "codegen/Compiler/ObjectJob.h"
#include "codegen/ABI/Emit.h"
#include "llvm/Transforms/Utils/Cloning.h"

namespace skewer {

bool ObjectJob::run() {
  auto failed = [&](llvm::Error error) {
    Compilation::report(kernel, std::move(error));
    return false;
  };
  auto module = joinedModule(variant, std::move(modules), specHash, *context);
  if (!module)
    return failed(module.takeError());
  if (llvmText)
    llvm::raw_string_ostream(llvmText->bytes) << **module;
  if (!images.empty())
    if (llvm::Error error = addCudaEntries(**module, variant.plan, images, argsVersionOf(specHash)))
      return failed(std::move(error));
  if (assembly) {
    // Code generation changes the module, so the assembly is made from a copy.
    auto text = emitObject(*llvm::CloneModule(**module), variant.target, /*assembly=*/true);
    if (!text)
      return failed(text.takeError());
    assembly->bytes = std::move(*text);
  }
  auto bytes = emitObject(**module, variant.target);
  if (!bytes)
    return failed(bytes.takeError());
  object->bytes = std::move(*bytes);
  module->reset(); // before its context ends, and on the thread that used it
  context.reset();
  return true;
}

} // namespace skewer
