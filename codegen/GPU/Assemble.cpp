// Runs ptxas on files of its own in the system's temporary folder.
#include "codegen/GPU/Assemble.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringExtras.h"
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

/// What ptxas prints, errors included.
static std::string outputOf(StringRef ptxas, ArrayRef<StringRef> arguments, int &status, std::string &message) {
  SmallString<128> log;
  if (sys::fs::createTemporaryFile("skewer", "log", log)) {
    status = -1, message = "a temporary file for ptxas cannot be made";
    return {};
  }
  FileRemover removeLog(log);
  SmallVector<StringRef> words{ptxas};
  words.append(arguments.begin(), arguments.end());
  status = sys::ExecuteAndWait(ptxas, words, std::nullopt, {StringRef(""), StringRef(log), StringRef(log)},
                               /*SecondsToWait=*/600, /*MemoryLimit=*/0, &message);
  auto said = MemoryBuffer::getFile(log);
  return said ? (*said)->getBuffer().str() : std::string();
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
  SmallString<128> source, cubin;
  if (sys::fs::createTemporaryFile("skewer", "ptx", source) || sys::fs::createTemporaryFile("skewer", "cubin", cubin))
    return problem("a temporary file for ptxas cannot be made");
  FileRemover removeSource(source), removeCubin(cubin);
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
  std::string architecture = "-arch=" + target.name, message;
  int status = 0;
  std::string text = outputOf(ptxas, {"-v", architecture, source, "-o", cubin}, status, message);
  if (status != 0 && isTooOld(text)) {
    int asked = 0;
    std::string release = releaseOf(outputOf(ptxas, {"--version"}, asked, message));
    return problem("target '" + target.name + "': ptxas '" + ptxas + "'" +
                   (release.empty() ? "" : " of CUDA " + release) + " is too old for it: CUDA " +
                   textOfCuda(firstCudaOf(target)) +
                   " or newer is needed; install it, or the Python package nvidia-cuda-nvcc, and name its folder with "
                   "--cuda-path, or take PTX alone with --ptx-only\n" +
                   StringRef(text).rtrim());
  }
  if (status != 0)
    return problem("target '" + target.name + "': ptxas failed" + (message.empty() ? "" : ": " + message) +
                   (text.empty() ? "" : "\n" + StringRef(text).rtrim()));
  auto bytes = MemoryBuffer::getFile(cubin, /*IsText=*/false, /*RequiresNullTerminator=*/false);
  if (!bytes || (*bytes)->getBufferSize() == 0)
    return problem("target '" + target.name + "': ptxas left no cubin");
  return Assembled{(*bytes)->getBuffer().str(), resourcesOf(text)};
}
