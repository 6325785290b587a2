// Scans the brackets and strings of JSON text.
#include "passes/Schedule/JsonPlaces.h"
#include "llvm/ADT/STLFunctionalExtras.h"

using namespace skewer;

static constexpr llvm::StringLiteral kSpace = " \t\r\n";

/// Returns the place of the quote that ends the string which begins at `at`, or the end of the text.
static size_t endOfString(llvm::StringRef text, size_t at) {
  for (++at; at < text.size() && text[at] != '"'; ++at)
    at += text[at] == '\\';
  return std::min(at, text.size());
}

/// Calls `visit` with each opening bracket, each comma and the first quote of each string, and with the depth around
/// it, until it returns false.
static void scan(llvm::StringRef text, llvm::function_ref<bool(size_t at, size_t depth)> visit) {
  size_t depth = 0;
  for (size_t at = 0; at < text.size(); ++at) {
    char c = text[at];
    if (c == '}' || c == ']')
      depth -= depth > 0;
    if (!llvm::StringRef("\"{[,").contains(c))
      continue;
    if (!visit(at, depth))
      return;
    if (c == '"')
      at = endOfString(text, at);
    else if (c != ',')
      ++depth;
  }
}

std::vector<JsonMember> skewer::jsonMembers(llvm::StringRef text) {
  struct Level { // an open object or list: the name of its member, or the number of its element
    std::string name;
    size_t element = 0;
  };
  std::vector<JsonMember> members;
  std::vector<Level> levels;
  scan(text, [&](size_t at, size_t depth) {
    if (text[at] == ',' && depth > 0)
      ++levels[depth - 1].element;
    if (text[at] == '{' || text[at] == '[')
      levels.resize(depth), levels.push_back({});
    if (text[at] != '"' || depth == 0)
      return true;
    size_t end = endOfString(text, at), colon = text.find_first_not_of(kSpace, end + 1);
    if (colon == llvm::StringRef::npos || text[colon] != ':')
      return true;
    levels[depth - 1].name = text.slice(at + 1, end).str();
    std::string path;
    for (size_t level = 0; level < depth; ++level)
      if (const auto &[name, element] = levels[level]; name.empty() && level + 1 < depth)
        path += "[" + std::to_string(element) + "]";
      else
        path += (path.empty() ? "" : ".") + name;
    members.push_back({path, at, std::min(text.find_first_not_of(kSpace, colon + 1), text.size())});
    return true;
  });
  return members;
}

size_t skewer::jsonDeeperThan(llvm::StringRef text, unsigned most) {
  size_t found = llvm::StringRef::npos;
  scan(text, [&](size_t at, size_t depth) {
    if ((text[at] == '{' || text[at] == '[') && depth >= most)
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
