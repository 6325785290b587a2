// The same layer with other axes' names.
#include "tests/fuzz/Rename.h"
#include "llvm/ADT/StringExtras.h"
#include <map>

namespace skewer::fuzz {

std::string withOtherAxisNames(const std::string &text) {
  // In another order of the alphabet. Those of query and key begin with i and j, by which the language knows that they
  // are as long as each other.
  static const std::map<std::string, std::string> names = {
      {"b", "z"},     {"h", "ah"},   {"g", "w"},    {"r", "ar"},    {"d", "ad"},   {"e", "ab"},
      {"i", "i_row"}, {"iy", "i_b"}, {"ix", "i_a"}, {"j", "j_row"}, {"jy", "j_b"}, {"jx", "j_a"}};
  std::string result;
  for (size_t at = 0; at < text.size();) {
    auto isName = [&](size_t place) {
      return place < text.size() && (llvm::isAlnum(text[place]) || text[place] == '_');
    };
    size_t end = at + 1;
    while (isName(at) && isName(end))
      ++end;
    std::string word = text.substr(at, end - at);
    auto other = names.find(word);
    result += other == names.end() ? word : other->second;
    at = end;
  }
  return result;
}

} // namespace skewer::fuzz
