// Runs ptxas on files of its own in the system's temporary folder.
#include "codegen/GPU/Assemble.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/FileUtilities.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/Process.h"
#include "llvm/Support/Program.h"
#include "llvm/Support/raw_ostream.h"

using namespace llvm;

static Error problem(const Twine &text) { return createStringError(inconvertibleErrorCode(), text); }

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
  for (StringRef line : lines) {
    resources.spilledBytes += numberBefore(line, "bytes spill stores") + numberBefore(line, "bytes spill loads");
    if (line.contains("Used "))
      resources.registers = std::max(resources.registers, numberBefore(line, "registers"));
    if (line.contains("warning") || line.contains("C75"))
      resources.warnings += line.str() + "\n";
  }
  return resources;
}

Expected<skewer::gpu::Assembled> skewer::gpu::assemble(StringRef ptx, const GpuTarget &target, StringRef ptxas) {
  SmallString<128> source, cubin, log;
  if (sys::fs::createTemporaryFile("skewer", "ptx", source) || sys::fs::createTemporaryFile("skewer", "cubin", cubin) ||
      sys::fs::createTemporaryFile("skewer", "log", log))
    return problem("a temporary file for ptxas cannot be made");
  FileRemover removeSource(source), removeCubin(cubin), removeLog(log);
  {
    std::error_code code;
    raw_fd_ostream out(source, code);
    out << ptx;
    out.close();
    if (code || out.has_error()) {
      out.clear_error();
      return problem("a temporary file for ptxas cannot be written");
    }
  }
  std::string architecture = "-arch=" + target.name;
  std::string message;
  int status = sys::ExecuteAndWait(ptxas, {ptxas, "-v", architecture, source, "-o", cubin}, std::nullopt,
                                   {StringRef(""), StringRef(log), StringRef(log)}, /*SecondsToWait=*/600,
                                   /*MemoryLimit=*/0, &message);
  auto said = MemoryBuffer::getFile(log);
  std::string text = said ? (*said)->getBuffer().str() : std::string();
  if (status != 0)
    return problem("target '" + target.name + "': ptxas failed" + (message.empty() ? "" : ": " + message) +
                   (text.empty() ? "" : "\n" + StringRef(text).rtrim()));
  auto bytes = MemoryBuffer::getFile(cubin, /*IsText=*/false, /*RequiresNullTerminator=*/false);
  if (!bytes || (*bytes)->getBufferSize() == 0)
    return problem("target '" + target.name + "': ptxas left no cubin");
  return Assembled{(*bytes)->getBuffer().str(), resourcesOf(text)};
}
