// Opens a spec and checks its size, characters, lines and nesting.
#include "codegen/Compiler/SpecFile.h"
#include "codegen/Compiler/Messages.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/raw_ostream.h"
#include <algorithm>
#include <fmt/format.h>

namespace skewer {

// The limits are far beyond any hand-written spec. They exist because parsers recurse and diagnostics print whole
// lines.
constexpr size_t kMostBytes = 64 << 20, kLongestLine = 1 << 16, kDeepestNesting = 1000;

static bool wrong(const std::string &path, const std::string &text, unsigned line = 0, unsigned column = 0) {
  say({language::Severity::Error, text, path, line, column});
  return false;
}

static bool checkText(const std::string &path, llvm::StringRef text, SpecKind kind) {
  if (text.trim().empty())
    return wrong(path, "the spec is empty: expected at least one kernel");
  if (text.starts_with("\xFF\xFE") || text.starts_with("\xFE\xFF"))
    return wrong(path, "the spec is in UTF-16; save it in UTF-8");
  size_t line = 1, lineStart = 0, depth = 0, angles = 0;
  for (size_t k = 0; k < text.size(); ++k) {
    unsigned char c = static_cast<unsigned char>(text[k]);
    if (c < 32 && c != '\n' && c != '\r' && c != '\t' && c != '\f' && c != '\v')
      return wrong(path, fmt::format("the spec is not text: found the byte 0x{:02x}", c), line, k - lineStart + 1);
    // Some editors show two lines here and the language sees one, so a comment would hide the second line.
    if (kind == SpecKind::Attn && c == '\r' && (k == 0 || text[k - 1] != '\r') &&
        !text.drop_front(k).ltrim('\r').starts_with("\n") && k + 1 < text.size())
      return wrong(path, "a carriage return alone ends no line; save the spec with the line ends of Unix or Windows",
                   line, k - lineStart + 1);
    if (c == '\n') {
      ++line;
      lineStart = k + 1;
    } else if (kind == SpecKind::Attn && k - lineStart >= kLongestLine) {
      return wrong(path, fmt::format("the line is longer than {} bytes", kLongestLine), line, 1);
    }
    if (c == '(' || c == '[' || c == '{')
      ++depth;
    else if ((c == ')' || c == ']' || c == '}') && depth)
      --depth;
    // MLIR nests types in angle brackets. '<=' and '->' are no brackets.
    char next = k + 1 < text.size() ? text[k + 1] : '\0';
    if (kind == SpecKind::Mlir && c == '<' && next != '=' && next != ' ')
      ++angles;
    else if (c == '>' && angles && text[k - 1] != '-')
      --angles;
    if (std::max(depth, angles) > kDeepestNesting)
      return wrong(path, fmt::format("brackets are nested deeper than {}", kDeepestNesting), line, k - lineStart + 1);
  }
  return true;
}

bool openSpec(const std::string &path, llvm::SourceMgr &sources, SpecKind &kind) {
  llvm::sys::fs::file_status status;
  if (std::error_code code = llvm::sys::fs::status(path, status))
    return wrong(path, fmt::format("cannot read the spec: {}", code.message()));
  if (llvm::sys::fs::is_directory(status))
    return wrong(path, "the spec is a folder: expected a .attn or .mlir file");
  if (status.type() != llvm::sys::fs::file_type::regular_file && status.type() != llvm::sys::fs::file_type::fifo_file)
    return wrong(path, "the spec is neither a regular file nor a pipe");
  if (status.getSize() > kMostBytes)
    return wrong(path, fmt::format("the spec has {} bytes: expected at most {}", status.getSize(), kMostBytes));
  auto buffer = llvm::MemoryBuffer::getFile(path, /*IsText=*/false, /*RequiresNullTerminator=*/true);
  if (!buffer)
    return wrong(path, fmt::format("cannot read the spec: {}", buffer.getError().message()));
  return addSpec(std::move(*buffer), sources, kind);
}

bool openStandardInput(llvm::SourceMgr &sources, SpecKind &kind) {
  auto buffer = llvm::MemoryBuffer::getSTDIN();
  if (!buffer)
    return wrong("<stdin>", fmt::format("cannot read the spec: {}", buffer.getError().message()));
  return addSpec(llvm::MemoryBuffer::getMemBufferCopy((*buffer)->getBuffer(), "<stdin>"), sources, kind);
}

bool addSpec(std::unique_ptr<llvm::MemoryBuffer> buffer, llvm::SourceMgr &sources, SpecKind &kind) {
  std::string path = buffer->getBufferIdentifier().str();
  kind = llvm::sys::path::extension(path) == ".mlir" ? SpecKind::Mlir : SpecKind::Attn;
  if (!checkText(path, buffer->getBuffer(), kind))
    return false;
  sources.AddNewSourceBuffer(std::move(buffer), llvm::SMLoc());
  return true;
}

} // namespace skewer
