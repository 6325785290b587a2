// Converts between bytes, characters and UTF-16 units.
#include "tools/skewer-lsp-server/Positions.h"
#include "llvm/ADT/StringExtras.h"

using namespace llvm;

namespace skewer::lsp {

/// Returns the number of UTF-16 units that begin at a UTF-8 byte: 0 inside a character, 2 for a character of four
/// bytes.
static int unitsOf(char byte) {
  auto value = static_cast<unsigned char>(byte);
  return (value & 0xC0) == 0x80 ? 0 : value >= 0xF0 ? 2 : 1;
}

llvm::lsp::Position positionOf(StringRef text, size_t offset) {
  StringRef before = text.take_front(offset);
  llvm::lsp::Position position;
  position.line = static_cast<int>(before.count('\n'));
  for (char byte : before.drop_front(before.rfind('\n') + 1)) // npos + 1 is 0
    position.character += unitsOf(byte);
  return position;
}

size_t offsetOf(StringRef text, llvm::lsp::Position position) {
  size_t offset = 0;
  for (int line = 0; line < position.line; ++line) {
    size_t end = text.find('\n', offset);
    if (end == StringRef::npos)
      return text.size();
    offset = end + 1;
  }
  int units = 0;
  while (offset < text.size() && text[offset] != '\n' && units + unitsOf(text[offset]) <= position.character &&
         (units < position.character || unitsOf(text[offset]) == 0))
    units += unitsOf(text[offset++]);
  return offset;
}

llvm::lsp::Range rangeOf(StringRef text, StringRef piece) {
  size_t begin = piece.data() - text.data();
  return {positionOf(text, begin), positionOf(text, begin + piece.size())};
}

StringRef wordAt(StringRef text, size_t offset) {
  auto isWord = [&](size_t at) { return at < text.size() && (isAlnum(text[at]) || text[at] == '_'); };
  size_t begin = offset, end = offset;
  while (begin > 0 && isWord(begin - 1))
    --begin;
  while (isWord(end))
    ++end;
  StringRef word = text.slice(begin, end);
  return word.empty() || isDigit(word.front()) ? StringRef() : word;
}

} // namespace skewer::lsp
