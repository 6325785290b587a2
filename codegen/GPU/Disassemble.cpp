// Runs cuobjdump on a cubin.
#include "codegen/GPU/Sass.h"
#include "codegen/GPU/Tool.h"
#include "llvm/ADT/SmallString.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/Process.h"
#include "llvm/Support/Program.h"

using namespace llvm;

static Error problem(const Twine &text) { return createStringError(inconvertibleErrorCode(), text); }

Expected<std::string> skewer::gpu::findCuobjdump(StringRef cudaPath, StringRef ptxas) {
  SmallString<128> inToolkit(cudaPath), beside(sys::path::parent_path(ptxas));
  sys::path::append(inToolkit, "bin", "cuobjdump");
  sys::path::append(beside, "cuobjdump");
  for (const auto &path : {inToolkit, beside})
    if (sys::path::has_parent_path(path) && sys::fs::can_execute(path))
      return path.str().str();
  if (sys::fs::can_execute(SKEWER_CUOBJDUMP))
    return std::string(SKEWER_CUOBJDUMP);
  if (auto path = sys::findProgramByName("cuobjdump"))
    return *path;
  return problem("cuobjdump was not found, which takes cubins apart; install the Python packages nvidia-cuda-cuobjdump "
                 "and nvidia-cuda-nvdisasm where ptxas is (tools/bootstrap setup does)");
}

Expected<std::string> skewer::gpu::disassemble(StringRef cubin, StringRef cuobjdump) {
  auto file = TemporaryFile::create("cubin", cubin);
  if (!file)
    return file.takeError();
  // It starts nvdisasm by name.
  std::string path = "PATH=" + sys::path::parent_path(cuobjdump).str() + ":";
  if (auto inherited = sys::Process::GetEnv("PATH"))
    path += *inherited;
  return runTool(cuobjdump, {"-sass", file->path()}, ArrayRef<StringRef>{path});
}
