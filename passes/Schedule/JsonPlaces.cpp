// Scans the brackets and strings of JSON text.
#include "passes/Schedule/JsonPlaces.h"
#include "llvm/ADT/STLFunctionalExtras.h"
#include "llvm/ADT/StringExtras.h"

using namespace skewer;

static constexpr llvm::StringLiteral kSpace = " \t\r\n";

/// Returns the place of the quote that ends the string which begins at `at`, or the end of the text.
static size_t endOfString(llvm::StringRef text, size_t at) {
  for (++at; at < text.size() && text[at] != '"'; ++at)
    at += text[at] == '\\';
  return std::min(at, text.size());
}

/// Calls `visit` with each bracket and the first quote of each string, and with the depth around it, until it returns
/// false.
static void scan(llvm::StringRef text, llvm::function_ref<bool(size_t at, size_t depth)> visit) {
  size_t depth = 0;
  for (size_t at = 0; at < text.size(); ++at) {
    char c = text[at];
    if (c == '}' || c == ']')
      depth -= depth > 0;
    if (c != '"' && c != '{' && c != '[')
      continue;
    if (!visit(at, depth))
      return;
    if (c == '"')
      at = endOfString(text, at);
    else
      ++depth;
  }
}

std::vector<JsonMember> skewer::jsonMembers(llvm::StringRef text) {
  std::vector<JsonMember> members;
  std::vector<std::string> names;
  scan(text, [&](size_t at, size_t depth) {
    if (text[at] != '"' || depth == 0)
      return true;
    size_t end = endOfString(text, at), colon = text.find_first_not_of(kSpace, end + 1);
    if (colon == llvm::StringRef::npos || text[colon] != ':')
      return true;
    names.resize(depth);
    names.back() = text.slice(at + 1, end).str();
    members.push_back({llvm::join(names, "."), at, std::min(text.find_first_not_of(kSpace, colon + 1), text.size())});
    return true;
  });
  return members;
}

size_t skewer::jsonDeeperThan(llvm::StringRef text, unsigned most) {
  size_t found = llvm::StringRef::npos;
  scan(text, [&](size_t at, size_t depth) {
    if (text[at] != '"' && depth >= most)
      found = at;
    return found == llvm::StringRef::npos;
  });
  return found;
}

std::pair<unsigned, unsigned> skewer::lineAndColumn(llvm::StringRef text, size_t offset) {
  llvm::StringRef before = text.take_front(offset);
  size_t start = before.rfind('\n') + 1; // npos + 1 is 0
  return {unsigned(before.count('\n') + 1), unsigned(before.size() - start + 1)};
}
