// Checks and links object files in memory, with LLVM's JIT linker.
#include "codegen/ABI/LoadedObjects.h"
#include "codegen/ABI/Launcher.h"
#include "codegen/ABI/TargetMachine.h"
#include "llvm/ExecutionEngine/Orc/LLJIT.h"
#include "llvm/Object/ELFObjectFile.h"

using namespace llvm;

namespace skewer {

struct LoadedObjects::Implementation {
  std::unique_ptr<orc::LLJIT> jit;
};

LoadedObjects::LoadedObjects() : implementation(std::make_unique<Implementation>()) {}
LoadedObjects::~LoadedObjects() = default;

/// Checks that the bytes are a complete relocatable object for this kind of machine, because the linker trusts the
/// tables in its input.
static Error check(StringRef bytes) {
  auto bad = [](const Twine &text) { return createStringError(inconvertibleErrorCode(), text); };
  auto file = object::ObjectFile::createELFObjectFile(MemoryBufferRef(bytes, "kernel.o"));
  if (!file)
    return joinErrors(bad("the object is no ELF file"), file.takeError());
  if (!(*file)->isRelocatableObject() || (*file)->getArch() != targetTriple().getArch())
    return bad("the file is no relocatable object for " + targetTriple().getArchName());
  for (const object::SectionRef &section : (*file)->sections())
    if (auto contents = section.getContents(); !contents && !section.isBSS())
      return joinErrors(bad("the object is cut short"), contents.takeError());
  return Error::success();
}

Expected<std::unique_ptr<LoadedObjects>> LoadedObjects::load(ArrayRef<StringRef> objects, const std::string &kernel) {
  for (StringRef bytes : objects)
    if (Error error = check(bytes))
      return error;
  initializeBackEnd();
  orc::JITTargetMachineBuilder machine(targetTriple());
  machine.setRelocationModel(Reloc::PIC_);
  auto jit = orc::LLJITBuilder().setJITTargetMachineBuilder(std::move(machine)).create();
  if (!jit)
    return jit.takeError();
  // `lookup` returns the errors; without this, the session would print them, and a library must not print.
  Error reported = Error::success();
  (void)!reported;
  (*jit)->getExecutionSession().setErrorReporter(
      [&](Error error) { reported = joinErrors(std::move(reported), std::move(error)); });
  auto process = orc::DynamicLibrarySearchGenerator::GetForCurrentProcess((*jit)->getDataLayout().getGlobalPrefix());
  if (!process)
    return joinErrors(process.takeError(), std::move(reported));
  (*jit)->getMainJITDylib().addGenerator(std::move(*process));
  Error failed = addLauncher(**jit);
  for (StringRef bytes : objects)
    failed = joinErrors(std::move(failed), (*jit)->addObjectFile(MemoryBuffer::getMemBufferCopy(bytes, "kernel.o")));
  if (!failed)
    if (auto entry = (*jit)->lookup(kernel); !entry) {
      // A kernel for GPUs alone has only the other entry.
      if (auto cuda = (*jit)->lookup(kernel + "_cuda"); cuda)
        consumeError(entry.takeError());
      else
        consumeError(cuda.takeError()), failed = entry.takeError();
    }
  (*jit)->getExecutionSession().setErrorReporter([](Error error) { consumeError(std::move(error)); });
  if (failed)
    return joinErrors(std::move(failed), std::move(reported));
  consumeError(std::move(reported));
  std::unique_ptr<LoadedObjects> loaded(new LoadedObjects);
  loaded->implementation->jit = std::move(*jit);
  return loaded;
}

void *LoadedObjects::symbol(const std::string &name) const {
  auto found = implementation->jit->lookup(name);
  if (!found) {
    consumeError(found.takeError());
    return nullptr;
  }
  return found->toPtr<void *>();
}

} // namespace skewer
