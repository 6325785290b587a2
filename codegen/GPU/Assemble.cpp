// Finds ptxas, runs it on temporary files, and parses its report.
#include "codegen/GPU/Assemble.h"
#include "codegen/GPU/Tool.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/Process.h"
#include "llvm/Support/Program.h"

using namespace llvm;

Expected<std::string> skewer::gpu::findPtxas(StringRef cudaPath) {
  auto inside = [](StringRef folder) -> std::string {
    SmallString<128> path(folder);
    sys::path::append(path, "bin", "ptxas");
    return sys::fs::can_execute(path) ? path.str().str() : std::string();
  };
  if (!cudaPath.empty()) {
    std::string path = inside(cudaPath);
    if (path.empty())
      return problem("--cuda-path: there is no bin/ptxas in '" + cudaPath + "'");
    return path;
  }
  for (const char *variable : {"CUDA_HOME", "CUDA_PATH"})
    if (auto folder = sys::Process::GetEnv(variable))
      if (std::string path = inside(*folder); !path.empty())
        return path;
  if (sys::fs::can_execute(SKEWER_PTXAS))
    return std::string(SKEWER_PTXAS);
  if (auto path = sys::findProgramByName("ptxas"))
    return *path;
  return problem("ptxas was not found, which makes cubins from PTX; install a CUDA toolkit or the Python package "
                 "nvidia-cuda-nvcc, and name its folder with --cuda-path (the one that holds bin/ptxas), or take PTX "
                 "alone with --ptx-only");
}

skewer::gpu::Resources skewer::gpu::resourcesOf(StringRef output) {
  Resources resources;
  auto numberBefore = [](StringRef line, StringRef words) -> int64_t {
    size_t end = line.find(words);
    if (end == StringRef::npos)
      return 0;
    StringRef digits = line.take_front(end).rtrim();
    size_t begin = digits.find_last_not_of("0123456789");
    int64_t number = 0;
    digits.drop_front(begin == StringRef::npos ? 0 : begin + 1).getAsInteger(10, number);
    return number;
  };
  SmallVector<StringRef> lines;
  output.split(lines, '\n');
  KernelResources unnamed, *kernel = &unnamed;
  for (StringRef line : lines) {
    if (size_t begin = line.find("entry function '"); begin != StringRef::npos)
      kernel = &resources.kernels[line.drop_front(begin).split('\'').second.split('\'').first.str()];
    int64_t spilled = numberBefore(line, "bytes spill stores") + numberBefore(line, "bytes spill loads");
    resources.spilledBytes += spilled;
    kernel->spilledBytes += spilled;
    if (line.contains("Used ")) {
      kernel->registers = numberBefore(line, "registers");
      resources.registers = std::max(resources.registers, kernel->registers);
    }
    bool loses = line.contains("Potential Performance Loss") || line.contains("(C75");
    if (line.contains("warning") || loses)
      resources.warnings += line.str() + "\n";
    if (loses)
      resources.losses += line.str() + "\n";
  }
  return resources;
}

std::string skewer::gpu::releaseOf(StringRef version) {
  // "Cuda compilation tools, release 13.0, V13.0.88"
  auto [before, after] = version.split("release ");
  return after.take_while([](char c) { return isDigit(c) || c == '.'; }).str();
}

bool skewer::gpu::isTooOld(StringRef output) {
  return (output.contains("is not defined for option") && output.contains("gpu-name")) ||
         output.contains("Unsupported .version") || output.contains("Unsupported .target");
}

Expected<skewer::gpu::Assembled> skewer::gpu::assemble(StringRef ptx, const GpuTarget &target, StringRef ptxas) {
  auto source = TemporaryFile::create("ptx", ptx);
  if (!source)
    return source.takeError();
  auto cubin = TemporaryFile::create("cubin");
  if (!cubin)
    return cubin.takeError();
  std::string architecture = "-arch=" + target.name;
  auto said = runTool(ptxas, {"-v", architecture, source->path(), "-o", cubin->path()});
  if (!said) {
    std::string text = toString(said.takeError());
    if (!isTooOld(text))
      return problem("target '" + target.name + "': " + text);
    auto version = runTool(ptxas, {"--version"});
    std::string release = version ? releaseOf(*version) : std::string();
    consumeError(version.takeError());
    return problem("target '" + target.name + "': ptxas '" + ptxas + "'" +
                   (release.empty() ? "" : " of CUDA " + release) + " is too old for it: CUDA " +
                   textOfCuda(firstCudaOf(target)) +
                   " or newer is needed; install it, or the Python package nvidia-cuda-nvcc, and name its folder with "
                   "--cuda-path, or take PTX alone with --ptx-only\n" +
                   text);
  }
  std::string bytes = cubin->contents();
  if (bytes.empty())
    return problem("target '" + target.name + "': ptxas left no cubin");
  return Assembled{std::move(bytes), resourcesOf(*said)};
}
