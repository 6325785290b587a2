// Finds cuobjdump and runs it on a cubin.
#include "codegen/GPU/Sass.h"
#include "codegen/GPU/Tool.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/Process.h"

using namespace llvm;

Expected<std::string> skewer::gpu::findCuobjdump(StringRef cudaPath, StringRef ptxas) {
  if (std::string path = findTool("cuobjdump", cudaPath, ptxas, SKEWER_CUOBJDUMP); !path.empty())
    return path;
  return problem("cuobjdump was not found, which takes cubins apart; install the Python packages nvidia-cuda-cuobjdump "
                 "and nvidia-cuda-nvdisasm where ptxas is (tools/bootstrap setup does)");
}

Expected<std::string> skewer::gpu::disassemble(StringRef cubin, StringRef cuobjdump) {
  auto file = TemporaryFile::create("cubin", cubin);
  if (!file)
    return file.takeError();
  // cuobjdump starts nvdisasm by name.
  std::string path = "PATH=" + sys::path::parent_path(cuobjdump).str() + ":";
  if (auto inherited = sys::Process::GetEnv("PATH"))
    path += *inherited;
  return runTool(cuobjdump, {"-sass", file->path()}, ArrayRef<StringRef>{path});
}
