// Finds and runs programs of a CUDA toolkit.
#include "codegen/GPU/Tool.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/Program.h"
#include "llvm/Support/raw_ostream.h"

using namespace llvm;
using namespace skewer::gpu;

Error skewer::gpu::problem(const Twine &text) { return createStringError(inconvertibleErrorCode(), text); }

Expected<TemporaryFile> TemporaryFile::create(StringRef ending, StringRef contents) {
  TemporaryFile file;
  if (sys::fs::createTemporaryFile("skewer", ending, file.name))
    return problem("a temporary file cannot be made");
  std::error_code code;
  raw_fd_ostream out(file.name, code);
  if (!code) {
    out << contents;
    out.close();
  }
  if (code || out.has_error()) {
    out.clear_error();
    return problem("the temporary file '" + file.name + "' cannot be written");
  }
  return file;
}

TemporaryFile::TemporaryFile(TemporaryFile &&other) {
  name = other.name;
  other.name.clear();
}
TemporaryFile::~TemporaryFile() {
  if (!name.empty())
    sys::fs::remove(name);
}

std::string TemporaryFile::contents() const {
  auto buffer = MemoryBuffer::getFile(name, /*IsText=*/false, /*RequiresNullTerminator=*/false);
  return buffer ? (*buffer)->getBuffer().str() : std::string();
}

Expected<std::string> skewer::gpu::runTool(StringRef path, ArrayRef<StringRef> arguments,
                                           std::optional<ArrayRef<StringRef>> environment) {
  auto log = TemporaryFile::create("log");
  if (!log)
    return log.takeError();
  SmallVector<StringRef> line{path};
  line.append(arguments.begin(), arguments.end());
  std::string message;
  int status = sys::ExecuteAndWait(path, line, environment, {StringRef(""), log->path(), log->path()},
                                   /*SecondsToWait=*/600, /*MemoryLimit=*/0, &message);
  std::string text = log->contents();
  if (status != 0)
    return problem(sys::path::filename(path) + " failed" + (message.empty() ? "" : ": " + message) +
                   (text.empty() ? "" : "\n" + StringRef(text).rtrim()));
  return text;
}

std::string skewer::gpu::findTool(StringRef name, StringRef cudaPath, StringRef ptxas, StringRef known) {
  SmallString<128> inToolkit(cudaPath), beside(sys::path::parent_path(ptxas));
  sys::path::append(inToolkit, "bin", name);
  sys::path::append(beside, name);
  if (!cudaPath.empty() && sys::fs::can_execute(inToolkit))
    return inToolkit.str().str();
  if (!ptxas.empty() && sys::fs::can_execute(beside))
    return beside.str().str();
  if (sys::fs::can_execute(known))
    return known.str();
  auto path = sys::findProgramByName(name);
  return path ? *path : std::string();
}

std::string skewer::gpu::versionOfTool(StringRef path) {
  auto said = runTool(path, {"--version"});
  if (!said) {
    consumeError(said.takeError());
    return "unknown";
  }
  // "Cuda compilation tools, release 13.0, V13.0.88"
  StringRef version = StringRef(*said).split(", V").second.take_until([](char c) { return c == '\n' || c == ' '; });
  return version.empty() ? "unknown" : version.str();
}
