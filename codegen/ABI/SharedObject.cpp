// Finds LLVM's linker, ld.lld, and links a kernel's objects with it in a temporary folder.
#include "codegen/ABI/SharedObject.h"
#include "llvm/ADT/ScopeExit.h"
#include "llvm/ADT/SmallString.h"
#include "llvm/Config/llvm-config.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/Program.h"
#include "llvm/Support/raw_ostream.h"
#include <cmath>
#include <cstdlib>
#include <dlfcn.h>
#include <fmt/format.h>

namespace fs = llvm::sys::fs;

namespace skewer {

static llvm::Error failed(const std::string &text) {
  return llvm::createStringError(llvm::inconvertibleErrorCode(), "--emit=shared: " + text);
}

/// Returns $SKEWER_LLD, or LLVM's linker under its name in the system; the linker of this LLVM version comes first.
static std::string findLinker() {
  if (const char *chosen = std::getenv("SKEWER_LLD"); chosen && *chosen)
    return chosen;
  const std::string major = std::to_string(LLVM_VERSION_MAJOR), folder = "/usr/lib/llvm-" + major + "/bin";
  for (const std::string &name : {"ld.lld-" + major, std::string("ld.lld")})
    for (bool inFolder : {false, true})
      if (auto found = inFolder ? llvm::sys::findProgramByName(name, {folder}) : llvm::sys::findProgramByName(name))
        return *found;
  return "";
}

/// Returns the path of the file that contains a function of this process. So a kernel is linked with the same libm and
/// libc as this process.
static std::string fileOf(const void *function) {
  Dl_info info;
  return dladdr(function, &info) && info.dli_fname ? info.dli_fname : "";
}

/// Writes a temporary file into the folder and returns its path.
static llvm::Expected<std::string> put(llvm::StringRef folder, const std::string &name, llvm::StringRef bytes) {
  llvm::SmallString<128> path(folder);
  llvm::sys::path::append(path, name);
  std::error_code code;
  llvm::raw_fd_ostream file(path, code);
  if (!code) {
    file << bytes;
    file.close();
    code = file.error();
    file.clear_error();
  }
  if (code)
    return failed(fmt::format("cannot write '{}': {}", path.str().str(), code.message()));
  return path.str().str();
}

/// Links the objects in a folder of temporary files and returns the result's bytes.
static llvm::Expected<std::string> linkIn(llvm::StringRef folder, const std::string &linker, const std::string &kernel,
                                          llvm::ArrayRef<llvm::StringRef> objects) {
  // The pattern fits the variable by which a program refuses AMX; an exact name would have to exist in each kernel.
  auto script = put(folder, "exports", fmt::format("{{ global: {0}; {0}_*; skewer_refuse_*; local: *; }};\n", kernel));
  if (!script)
    return script.takeError();
  std::string result = folder.str() + "/kernel.so", log = folder.str() + "/log";
  std::vector<std::string> arguments = {
      linker,    "-shared",      "--gc-sections",    "-z",    "now", "-z",  "noexecstack", "--build-id=sha1",
      "-soname", kernel + ".so", "--version-script", *script, "-o",  result};
  for (size_t k = 0; k < objects.size(); ++k) {
    auto object = put(folder, std::to_string(k) + ".o", objects[k]);
    if (!object)
      return object.takeError();
    arguments.push_back(*object);
  }
  arguments.push_back("--as-needed");
  double (*fromMath)(double) = &std::lgamma;
  for (const std::string &library :
       {fileOf(reinterpret_cast<const void *>(fromMath)), fileOf(reinterpret_cast<const void *>(&std::malloc))})
    if (llvm::sys::path::is_absolute(library))
      arguments.push_back(library);
  std::string why;
  std::vector<llvm::StringRef> words(arguments.begin(), arguments.end());
  int status = llvm::sys::ExecuteAndWait(linker, words, std::nullopt, {llvm::StringRef(""), log, log}, 0, 0, &why);
  if (status != 0) {
    auto said = llvm::MemoryBuffer::getFile(log);
    if (why.empty())
      why = said ? (*said)->getBuffer().trim().str() : fmt::format("exit code {}", status);
    return failed(fmt::format("'{}' failed: {}", linker, why));
  }
  auto bytes = llvm::MemoryBuffer::getFile(result);
  if (!bytes)
    return failed(fmt::format("cannot read '{}': {}", result, bytes.getError().message()));
  return (*bytes)->getBuffer().str();
}

llvm::Expected<std::string> linkShared(const std::string &kernel, llvm::ArrayRef<llvm::StringRef> objects) {
  std::string linker = findLinker();
  if (linker.empty())
    return failed(
        fmt::format("LLVM's linker ld.lld is not found; install lld-{} or name it in SKEWER_LLD", LLVM_VERSION_MAJOR));
  llvm::SmallString<128> folder;
  if (std::error_code code = fs::createUniqueDirectory("skewer", folder))
    return failed("cannot make a folder for temporary files: " + code.message());
  llvm::scope_exit cleaned([&] { (void)fs::remove_directories(folder); });
  return linkIn(folder, linker, kernel, objects);
}

} // namespace skewer
