// Numbers in the text of an einsum or a rearrange that stand for axes of that size: "b n (3 h d) -> 3 b h n d". The
// resolver replaces them by names before it parses the text.
#include "dialect/Language/EinsumText.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"

using namespace llvm;

namespace skewer::language {

namespace {
bool isPartOfName(char c) { return isAlnum(c) || c == '_' || c == '\''; }

/// Returns a name that the text does not contain and that is as long as the number, so that places in the text stay the
/// same.
std::string nameFor(StringRef digits, StringRef text, const std::map<std::string, int64_t> &taken) {
  for (char first = 'A'; first <= 'Z'; ++first) {
    std::string name = std::string(1, first) + digits.drop_front().str();
    if (!text.contains(name) && !taken.count(name))
      return name;
  }
  return "";
}

/// Returns whether the text in parentheses is a product of at least two words, such as "3 h d".
bool isProduct(StringRef inner) {
  static const StringRef operators[] = {"floordiv", "mod", "and", "or", "not"};
  size_t words = 0;
  while (!(inner = inner.ltrim()).empty()) {
    StringRef word = inner.take_while(isPartOfName);
    if (word.empty() || is_contained(operators, word) || word.starts_with("len'"))
      return false;
    inner = inner.drop_front(word.size());
    ++words;
  }
  return words > 1;
}
} // namespace

std::string withNumberAxes(std::string text, std::map<std::string, int64_t> &numbers) {
  std::map<std::string, std::string> names; // names by the digits that they replace
  const std::string written = text;
  auto replace = [&](size_t from, size_t to, bool one) {
    for (size_t at = from; at < to;) {
      StringRef word = StringRef(written).slice(at, to).take_while(isPartOfName);
      int64_t value = 0;
      bool isNumber = !word.empty() && all_of(word, isDigit) && word[0] != '0' && !word.getAsInteger(10, value);
      if (isNumber && (one || value != 1) && value > 0) {
        auto [name, fresh] = names.insert({word.str(), ""});
        if (fresh)
          name->second = nameFor(word, written, numbers);
        if (!name->second.empty()) {
          numbers[name->second] = value;
          text.replace(at, word.size(), name->second);
        }
      }
      at += std::max<size_t>(word.size(), 1);
    }
  };
  size_t begin = 0; // where the text outside of parentheses begins
  for (size_t at = 0; at < written.size(); ++at) {
    if (written[at] != '(')
      continue;
    replace(begin, at, /*one=*/false);
    int depth = 0;
    size_t end = at;
    do {
      depth += written[end] == '(' ? 1 : written[end] == ')' ? -1 : 0;
      ++end;
    } while (end < written.size() && depth > 0);
    if (depth == 0 && isProduct(StringRef(written).slice(at + 1, end - 1)))
      replace(at + 1, end - 1, /*one=*/true);
    begin = end;
    at = end - 1;
  }
  replace(std::min(begin, written.size()), written.size(), /*one=*/false);
  return text;
}

const subscript::Dimension *renameNumberAxes(subscript::Einsum &spec, const std::map<std::string, int64_t> &numbers,
                                             subscript::AxisSizes &sizes) {
  std::map<std::string, std::string> names;
  for (const auto &[name, value] : numbers) {
    std::string own = "'" + std::to_string(value); // no axis of a specification has a quotation mark
    names[name] = own;
    sizes[own] = value;
  }
  const subscript::Dimension *twice = nullptr;
  auto rename = [&](subscript::Dimensions &list) {
    std::set<std::string> seen;
    for (subscript::Dimension &dimension : list)
      for (std::string &axis : dimension.axes)
        if (auto name = names.find(axis); name != names.end()) {
          axis = name->second;
          if (!seen.insert(axis).second)
            twice = twice ? twice : &dimension;
        }
  };
  for (subscript::Dimensions &operand : spec.operands)
    rename(operand);
  if (spec.result)
    rename(*spec.result);
  return twice;
}

} // namespace skewer::language
