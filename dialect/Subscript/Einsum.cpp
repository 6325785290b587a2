// Einsum texts: parsing and printing.
#include "dialect/Subscript/Einsum.h"
#include "dialect/Subscript/Characters.h"
#include <algorithm>
#include <cctype>

namespace skewer::subscript {

namespace {
bool isSpace(char c) { return std::isspace(static_cast<unsigned char>(c)); }
bool isWordStart(char c) { return std::isalpha(static_cast<unsigned char>(c)) || c == '_' || c == '\''; }
bool isWord(char c) { return isWordStart(c) || std::isdigit(static_cast<unsigned char>(c)); }

/// Returns whether a word could be axes of one letter each: "bhij".
bool isWordOfLetters(const std::string &word) {
  return std::all_of(word.begin(), word.end(), [](char c) { return c >= 'a' && c <= 'z'; });
}

class EinsumParser {
public:
  explicit EinsumParser(std::string_view text) : text(text) {}

  Parsed<Einsum> einsum() {
    Einsum spec;
    auto parts = split();
    if (!parts)
      return error;
    bool nothing = parts->size() == 1 && !arrow && blank((*parts)[0]);
    for (size_t k = 0; k < parts->size(); ++k) {
      auto [begin, end] = (*parts)[k];
      auto list = dimensions(begin, end);
      if (!list)
        return error;
      if (arrow && k + 1 == parts->size())
        spec.result = std::move(*list);
      else if (!nothing)
        spec.operands.push_back(std::move(*list));
    }
    splitCompactWords(spec);
    return spec;
  }

  Parsed<Dimensions> plain() {
    auto list = dimensions(0, text.size());
    return list ? Parsed<Dimensions>(std::move(*list)) : error;
  }

private:
  using Span = std::pair<size_t, size_t>;
  std::nullopt_t fail(size_t position, std::string message) {
    if (error.message.empty())
      error = {position, std::move(message)};
    return std::nullopt;
  }
  bool blank(Span s) const { return std::all_of(text.begin() + s.first, text.begin() + s.second, isSpace); }

  /// Cuts at the commas and the arrow outside parentheses. With an arrow, the last part is the result.
  std::optional<std::vector<Span>> split() {
    std::vector<Span> parts;
    std::vector<size_t> open;
    size_t begin = 0;
    for (size_t k = 0; k < text.size(); ++k) {
      char c = text[k];
      if (c == '(' || c == '[') {
        open.push_back(k);
      } else if (c == ')' || c == ']') {
        if (open.empty())
          return fail(k, std::string("'") + c + "' closes nothing");
        open.pop_back();
      } else if (open.empty() && c == ',') {
        if (arrow)
          return fail(k, "an einsum has one result, found ',' after '->'");
        parts.push_back({begin, k});
        begin = k + 1;
      } else if (open.empty() && text.substr(k, 2) == "->") {
        if (arrow)
          return fail(k, "an einsum has one result, found a second '->'");
        arrow = true;
        parts.push_back({begin, k});
        begin = ++k + 1;
      }
    }
    if (!open.empty())
      return fail(open.back(), std::string("this '") + text[open.back()] + "' is never closed");
    parts.push_back({begin, text.size()});
    return parts;
  }

  std::optional<Dimensions> dimensions(size_t at, size_t end) {
    Dimensions list;
    while (true) {
      while (at < end && isSpace(text[at]))
        ++at;
      if (at == end)
        return list;
      Dimension dimension;
      dimension.begin = at;
      if (isWordStart(text[at])) {
        while (at < end && isWord(text[at]))
          ++at;
        dimension.axes.push_back(std::string(text.substr(dimension.begin, at - dimension.begin)));
      } else if (text[at] == '(') {
        int depth = 0;
        do {
          depth += text[at] == '(' ? 1 : text[at] == ')' ? -1 : 0;
          ++at;
        } while (at < end && depth > 0);
        if (depth > 0)
          return fail(dimension.begin, "this '(' is never closed");
        if (!parenthesised(dimension, dimension.begin + 1, at - 1))
          return std::nullopt;
      } else if (text[at] == '1' && (at + 1 == end || !isWord(text[at + 1]))) {
        ++at; // a dimension of size 1, read at 0
      } else if (text.substr(at, 3) == "...") {
        return fail(at, "'...' is not supported; name the axes");
      } else if (std::isdigit(static_cast<unsigned char>(text[at]))) {
        return fail(at, "a number stands by itself or in parentheses: \"3 b n\", \"b (3 n)\"");
      } else {
        Character found = characterAt(text, at);
        return fail(at, "expected an axis or '(', found " + found.shown +
                            (found.plain == "*" || text[at] == '*' || text[at] == ';' ? "; operands are parted by ','"
                             : found.plain == "->" || text[at] == '-' || text[at] == '=' ? "; the arrow is '->'"
                                                                                         : adviceOn(found)));
      }
      dimension.end = at;
      list.push_back(std::move(dimension));
    }
  }

  /// "(iy ix)" is a product of axes. Parentheses that contain more than names are an index expression. "()" has size 1.
  bool parenthesised(Dimension &dimension, size_t begin, size_t end) {
    bool names = true;
    std::vector<std::string> axes;
    for (size_t at = begin; at < end && names;) {
      if (isSpace(text[at])) {
        ++at;
      } else if (isWordStart(text[at])) {
        size_t start = at;
        while (at < end && isWord(text[at]))
          ++at;
        axes.push_back(std::string(text.substr(start, at - start)));
      } else {
        names = false;
      }
    }
    static const char *operators[] = {"floordiv", "mod", "and", "or", "not"};
    for (const char *o : operators)
      names = names && std::find(axes.begin(), axes.end(), o) == axes.end();
    if (names) {
      dimension.axes = std::move(axes);
      return true;
    }
    auto index = parse(text.substr(begin, end - begin));
    if (!index) {
      fail(begin + index.error().position, index.error().message);
      return false;
    }
    dimension.index = *index;
    return true;
  }

  /// "bhid,bhjd->bhij": letters are axes if every operand and the result are one word, and at least one of them has
  /// several letters.
  static void splitCompactWords(Einsum &spec) {
    std::vector<Dimensions *> lists;
    for (Dimensions &operand : spec.operands)
      lists.push_back(&operand);
    if (spec.result)
      lists.push_back(&*spec.result);
    bool several = false;
    for (const Dimensions *list : lists) {
      if (list->empty())
        continue;
      const Dimension &d = (*list)[0];
      if (list->size() != 1 || !d.isAxis() || d.end - d.begin != d.axes[0].size() || !isWordOfLetters(d.axes[0]))
        return;
      several |= d.axes[0].size() > 1;
    }
    if (!several)
      return;
    for (Dimensions *list : lists) {
      if (list->empty())
        continue;
      Dimension word = (*list)[0];
      list->clear();
      for (size_t k = 0; k < word.axes[0].size(); ++k) {
        Dimension letter;
        letter.axes = {std::string(1, word.axes[0][k])};
        letter.begin = word.begin + k, letter.end = letter.begin + 1;
        list->push_back(std::move(letter));
      }
    }
  }

  std::string_view text;
  ParseError error;
  bool arrow = false;
};

void addNew(std::vector<std::string> &axes, const std::string &axis) {
  if (std::find(axes.begin(), axes.end(), axis) == axes.end())
    axes.push_back(axis);
}
/// Adds the symbols from left to right, unlike `symbolsOf`.
void addSymbols(std::vector<std::string> &axes, const Expr &e) {
  if (e.isSymbol())
    addNew(axes, e.name());
  for (const Expr &operand : e.operands())
    addSymbols(axes, operand);
}
void addAxes(std::vector<std::string> &axes, const Dimensions &dimensions) {
  for (const Dimension &dimension : dimensions) {
    for (const std::string &axis : dimension.axes)
      addNew(axes, axis);
    if (dimension.axes.empty())
      addSymbols(axes, dimension.index);
  }
}
} // namespace

std::vector<std::string> Einsum::axes() const {
  std::vector<std::string> all;
  for (const Dimensions &operand : operands)
    addAxes(all, operand);
  if (result)
    addAxes(all, *result);
  return all;
}

std::vector<std::string> Einsum::contracted() const {
  std::vector<std::string> read, kept, missing;
  for (const Dimensions &operand : operands)
    addAxes(read, operand);
  if (result)
    addAxes(kept, *result);
  for (const std::string &axis : read)
    if (std::find(kept.begin(), kept.end(), axis) == kept.end())
      missing.push_back(axis);
  return missing;
}

Parsed<Einsum> parseEinsum(std::string_view text) { return EinsumParser(text).einsum(); }
Parsed<Dimensions> parseDimensions(std::string_view text) { return EinsumParser(text).plain(); }

std::set<std::string> axesOf(const Dimensions &dimensions) {
  std::set<std::string> axes;
  for (const Dimension &dimension : dimensions)
    axes.insert(dimension.axes.begin(), dimension.axes.end());
  return axes;
}

std::string print(const Dimensions &dimensions) {
  std::string text;
  for (const Dimension &dimension : dimensions) {
    text += text.empty() ? "" : " ";
    if (dimension.isAxis()) {
      text += dimension.axes[0];
    } else if (dimension.isProduct()) {
      for (size_t k = 0; k < dimension.axes.size(); ++k)
        text += (k ? " " : "(") + dimension.axes[k];
      text += ")";
    } else if (dimension.index.isConstant(0)) {
      text += "1";
    } else if (dimension.index.isSymbol()) {
      text += dimension.index.name(); // "(j)" is the axis j
    } else {
      text += "(" + print(dimension.index) + ")";
    }
  }
  return text;
}

/// Returns whether the parser would split the printed text into axes of one letter each although it means words: "iy".
static bool wouldSplit(const Einsum &spec) {
  bool several = false;
  auto isWord = [&](const Dimensions &list) {
    if (list.empty())
      return true;
    bool isSymbol = !list[0].isProduct() && list[0].index.isSymbol();
    const std::string &name = list[0].isAxis() ? list[0].axes[0] : isSymbol ? list[0].index.name() : std::string();
    several |= name.size() > 1;
    return list.size() == 1 && !name.empty() && isWordOfLetters(name);
  };
  return std::all_of(spec.operands.begin(), spec.operands.end(), isWord) && (!spec.result || isWord(*spec.result)) &&
         several;
}

std::string print(const Einsum &spec) {
  if (wouldSplit(spec)) {
    // "(iy)" is one axis, whatever the form of the rest.
    std::string text;
    for (size_t k = 0; k < spec.operands.size(); ++k)
      text += (k ? ", " : "") + (spec.operands[k].empty() ? "" : "(" + print(spec.operands[k]) + ")");
    if (spec.result)
      text += (text.empty() ? "->" : " ->") + (spec.result->empty() ? std::string() : " (" + print(*spec.result) + ")");
    return text;
  }
  std::string text;
  for (size_t k = 0; k < spec.operands.size(); ++k)
    text += (k ? ", " : "") + print(spec.operands[k]);
  if (spec.result)
    text += (text.empty() ? "->" : " ->") + (spec.result->empty() ? std::string() : " " + print(*spec.result));
  return text;
}

} // namespace skewer::subscript
