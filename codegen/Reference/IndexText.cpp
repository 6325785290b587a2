// Parses einsum texts for the reference, and solves for the sizes of their axes.
#include "codegen/Reference/IndexText.h"
#include <algorithm>
#include <cctype>

namespace skewer::reference {

namespace {
bool isLetter(char c) { return std::isalpha(static_cast<unsigned char>(c)) || c == '_' || c == '\''; }
bool isWord(char c) { return isLetter(c) || std::isdigit(static_cast<unsigned char>(c)); }
bool isSpace(char c) { return std::isspace(static_cast<unsigned char>(c)); }

/// Returns whether the text consists only of names, such as "iy ix", none of them an operator.
bool onlyNames(std::string_view text, std::vector<std::string> &names) {
  for (size_t at = 0; at < text.size();) {
    if (isSpace(text[at])) {
      ++at;
      continue;
    }
    if (!isLetter(text[at]))
      return false;
    size_t end = at;
    while (end < text.size() && isWord(text[end]))
      ++end;
    names.emplace_back(text.substr(at, end - at));
    at = end;
  }
  for (const char *reserved : {"floordiv", "mod", "and", "or", "not"})
    if (std::find(names.begin(), names.end(), reserved) != names.end())
      return false;
  return true;
}

bool parseDimensions(std::string_view text, SpecDimensions &dimensions, std::string &error) {
  for (size_t at = 0; at < text.size();) {
    if (isSpace(text[at])) {
      ++at;
      continue;
    }
    SpecDimension dimension;
    size_t end = at;
    if (text[at] == '(') {
      int depth = 0;
      for (; end < text.size(); ++end)
        if (text[end] == '(')
          ++depth;
        else if (text[end] == ')' && --depth == 0)
          break;
      if (end == text.size()) {
        error = "a ')' is missing in '" + std::string(text) + "'";
        return false;
      }
      std::string_view inside = text.substr(at + 1, end - at - 1);
      ++end;
      if (!onlyNames(inside, dimension.axes)) {
        dimension.axes.clear();
        if (!parseExpression(inside, dimension.index, error))
          return false;
      } else if (dimension.axes.empty() && !parseExpression("0", dimension.index, error)) {
        return false;
      }
    } else if (isLetter(text[at])) {
      while (end < text.size() && isWord(text[end]))
        ++end;
      dimension.axes.emplace_back(text.substr(at, end - at));
    } else if (text[at] == '1' && (at + 1 == text.size() || !isWord(text[at + 1]))) {
      ++end;
      if (!parseExpression("0", dimension.index, error))
        return false;
    } else {
      error = "'" + std::string(1, text[at]) + "' begins no dimension in '" + std::string(text) + "'";
      return false;
    }
    dimensions.push_back(std::move(dimension));
    at = end;
  }
  return true;
}

/// Splits words into one-letter axes if every operand and the result are a single word: "bhid,bhjd->bhij".
void splitLetters(std::vector<SpecDimensions *> lists, std::string_view text) {
  bool several = false;
  for (SpecDimensions *list : lists) {
    if (list->empty())
      continue;
    if (list->size() != 1 || list->front().axes.size() != 1)
      return;
    const std::string &word = list->front().axes[0];
    if (!std::all_of(word.begin(), word.end(), [](char c) { return c >= 'a' && c <= 'z'; }))
      return;
    several |= word.size() > 1;
  }
  if (!several || text.find('(') != std::string_view::npos)
    return;
  for (SpecDimensions *list : lists) {
    if (list->empty())
      continue;
    std::string word = list->front().axes[0];
    list->clear();
    for (char c : word)
      list->push_back({{std::string(1, c)}, {}});
  }
}

void addAxes(const SpecDimensions &dimensions, std::vector<std::string> &axes) {
  for (const SpecDimension &dimension : dimensions)
    for (const std::string &axis : dimension.axes.empty() ? dimension.index.names : dimension.axes)
      if (std::find(axes.begin(), axes.end(), axis) == axes.end())
        axes.push_back(axis);
}
} // namespace

std::vector<std::string> Spec::axes() const {
  std::vector<std::string> all;
  addAxes(result, all);
  for (const SpecDimensions &operand : operands)
    addAxes(operand, all);
  return all;
}

bool parseSpec(std::string_view text, Spec &spec, std::string &error, bool compact) {
  spec = {};
  size_t begin = 0;
  int depth = 0;
  auto part = [&](size_t end, SpecDimensions &into) {
    return parseDimensions(text.substr(begin, end - begin), into, error);
  };
  for (size_t k = 0; k <= text.size(); ++k) {
    bool last = k == text.size();
    if (!last && (text[k] == '(' || text[k] == '['))
      ++depth;
    if (!last && (text[k] == ')' || text[k] == ']'))
      --depth;
    bool arrow = !last && depth == 0 && text.substr(k, 2) == "->";
    if (!last && !arrow && (depth != 0 || text[k] != ','))
      continue;
    SpecDimensions list;
    if (!part(k, list))
      return false;
    if (spec.hasResult)
      spec.result = std::move(list);
    else
      spec.operands.push_back(std::move(list));
    if (arrow) {
      spec.hasResult = true;
      ++k;
    }
    begin = k + 1;
  }
  if (!compact)
    return true;
  std::vector<SpecDimensions *> lists;
  for (SpecDimensions &operand : spec.operands)
    lists.push_back(&operand);
  if (spec.hasResult)
    lists.push_back(&spec.result);
  splitLetters(lists, text);
  return true;
}

bool solveSizes(const Spec &spec, const std::vector<std::vector<int64_t>> &shapes,
                std::map<std::string, int64_t> &sizes, std::string &error) {
  if (shapes.size() != spec.operands.size()) {
    error = "the text has " + std::to_string(spec.operands.size()) + " operands, the operation " +
            std::to_string(shapes.size());
    return false;
  }
  for (bool changed = true; changed;) {
    changed = false;
    for (size_t k = 0; k < shapes.size(); ++k) {
      if (shapes[k].size() != spec.operands[k].size()) {
        error = "operand " + std::to_string(k + 1) + " has " + std::to_string(shapes[k].size()) +
                " dimensions, the text gives it " + std::to_string(spec.operands[k].size());
        return false;
      }
      for (size_t d = 0; d < shapes[k].size(); ++d) {
        const std::vector<std::string> &axes = spec.operands[k][d].axes;
        int64_t known = 1;
        std::vector<std::string> unknown;
        for (const std::string &axis : axes)
          if (auto found = sizes.find(axis); found != sizes.end())
            known *= found->second;
          else
            unknown.push_back(axis);
        if (axes.empty() || unknown.size() > 1)
          continue;
        bool fits = unknown.empty() ? known == shapes[k][d] : known > 0 && shapes[k][d] % known == 0;
        if (!fits) {
          error = "dimension " + std::to_string(d) + " of operand " + std::to_string(k + 1) + " has size " +
                  std::to_string(shapes[k][d]) + ", which does not agree with its axes";
          return false;
        }
        if (!unknown.empty()) {
          sizes[unknown[0]] = shapes[k][d] / known;
          changed = true;
        }
      }
    }
  }
  for (const std::string &axis : spec.axes())
    if (!sizes.count(axis)) {
      error = "axis '" + axis + "' has no size";
      return false;
    }
  return true;
}

} // namespace skewer::reference
