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

/// Returns the dimension of an index expression.
OrError<SpecDimension> indexDimension(std::string_view text) {
  auto index = parseExpression(text);
  if (!index)
    return Error{index.reason};
  return SpecDimension{{}, std::move(*index)};
}

/// Parses the dimension at `text[at]`, and moves `at` behind it.
OrError<SpecDimension> parseDimension(std::string_view text, size_t &at) {
  size_t begin = at++;
  if (text[begin] == '(') {
    int depth = 1;
    for (; at < text.size() && depth > 0; ++at)
      depth += text[at] == '(' ? 1 : text[at] == ')' ? -1 : 0;
    if (depth > 0)
      return Error{"a ')' is missing in '" + std::string(text) + "'"};
    std::string_view inside = text.substr(begin + 1, at - begin - 2);
    SpecDimension dimension;
    if (!onlyNames(inside, dimension.axes))
      return indexDimension(inside);
    return dimension.axes.empty() ? indexDimension("0") : std::move(dimension);
  }
  if (isLetter(text[begin])) {
    while (at < text.size() && isWord(text[at]))
      ++at;
    return SpecDimension{{std::string(text.substr(begin, at - begin))}, {}};
  }
  if (text[begin] == '1' && (at == text.size() || !isWord(text[at])))
    return indexDimension("0");
  return Error{"'" + std::string(1, text[begin]) + "' begins no dimension in '" + std::string(text) + "'"};
}

OrError<SpecDimensions> parseDimensions(std::string_view text) {
  SpecDimensions dimensions;
  for (size_t at = 0; at < text.size();) {
    if (isSpace(text[at])) {
      ++at;
      continue;
    }
    auto dimension = parseDimension(text, at);
    if (!dimension)
      return Error{dimension.reason};
    dimensions.push_back(std::move(*dimension));
  }
  return dimensions;
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

OrError<Spec> parseSpec(std::string_view text, bool compact) {
  Spec spec;
  size_t begin = 0;
  int depth = 0;
  for (size_t k = 0; k <= text.size(); ++k) {
    bool last = k == text.size();
    if (!last && (text[k] == '(' || text[k] == '['))
      ++depth;
    if (!last && (text[k] == ')' || text[k] == ']'))
      --depth;
    bool arrow = !last && depth == 0 && text.substr(k, 2) == "->";
    if (!last && !arrow && (depth != 0 || text[k] != ','))
      continue;
    auto list = parseDimensions(text.substr(begin, k - begin));
    if (!list)
      return Error{list.reason};
    if (spec.hasResult)
      spec.result = std::move(*list);
    else
      spec.operands.push_back(std::move(*list));
    if (arrow) {
      spec.hasResult = true;
      ++k;
    }
    begin = k + 1;
  }
  if (!compact)
    return spec;
  std::vector<SpecDimensions *> lists;
  for (SpecDimensions &operand : spec.operands)
    lists.push_back(&operand);
  if (spec.hasResult)
    lists.push_back(&spec.result);
  splitLetters(lists, text);
  return spec;
}

OrError<AxisSizes> solveSizes(const Spec &spec, const std::vector<std::vector<int64_t>> &shapes, AxisSizes sizes) {
  if (shapes.size() != spec.operands.size())
    return Error{"the text has " + std::to_string(spec.operands.size()) + " operands, the operation " +
                 std::to_string(shapes.size())};
  for (bool changed = true; changed;) {
    changed = false;
    for (size_t k = 0; k < shapes.size(); ++k) {
      if (shapes[k].size() != spec.operands[k].size())
        return Error{"operand " + std::to_string(k + 1) + " has " + std::to_string(shapes[k].size()) +
                     " dimensions, the text gives it " + std::to_string(spec.operands[k].size())};
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
        if (!fits)
          return Error{"dimension " + std::to_string(d) + " of operand " + std::to_string(k + 1) + " has size " +
                       std::to_string(shapes[k][d]) + ", which does not agree with its axes"};
        if (!unknown.empty()) {
          sizes[unknown[0]] = shapes[k][d] / known;
          changed = true;
        }
      }
    }
  }
  for (const std::string &axis : spec.axes())
    if (!sizes.count(axis))
      return Error{"axis '" + axis + "' has no size"};
  return sizes;
}

} // namespace skewer::reference
