// UTF-8 characters: their bytes, the names of invisible ones, and their ASCII replacements.
#include "dialect/Subscript/Characters.h"
#include <cstdint>

namespace skewer::subscript {

namespace {
struct Range {
  uint32_t first, last;
  std::string_view name;
};
// From the Unicode character database, version 15: characters that are drawn as a space, and characters that are
// invisible.
constexpr Range kSpaces[] = {{0xA0, 0xA0, "no-break space"},       {0x1680, 0x1680, "ogham space"},
                             {0x2000, 0x200A, "typeset space"},    {0x2028, 0x2028, "line separator"},
                             {0x2029, 0x2029, "new paragraph"},    {0x202F, 0x202F, "narrow no-break space"},
                             {0x205F, 0x205F, "typeset space"},    {0x2800, 0x2800, "blank braille pattern"},
                             {0x3000, 0x3000, "ideographic space"}};
constexpr Range kUnseen[] = {{0xAD, 0xAD, "soft hyphen"},
                             {0x300, 0x36F, "an accent of the character before it"},
                             {0x61C, 0x61C, "direction of writing"},
                             {0x180E, 0x180E, "vowel separator"},
                             {0x200B, 0x200B, "zero-width space"},
                             {0x200C, 0x200D, "zero-width joiner"},
                             {0x200E, 0x200F, "direction of writing"},
                             {0x202A, 0x202E, "direction of writing"},
                             {0x2060, 0x2060, "word joiner"},
                             {0x2061, 0x2064, "invisible operator"},
                             {0x2066, 0x2069, "direction of writing"},
                             {0xFE00, 0xFE0F, "variation of the character before it"},
                             {0xFEFF, 0xFEFF, "byte order mark"},
                             {0xE0000, 0xE0FFF, "tag"}};
constexpr Range kNoGlyph[] = {{0x80, 0x9F, "control character"},
                              {0xE000, 0xF8FF, "private use"},
                              {0xFFF0, 0xFFFF, "no letter"},
                              {0xF0000, 0x10FFFF, "private use"}};

struct Spelling {
  std::string_view typeset, plain;
};
constexpr Spelling kSpellings[] = {
    {"×", "*"},  {"·", "*"},   {"∗", "*"},  {"⋅", "*"},   {"÷", "/"},   {"−", "-"},   {"–", "-"},       {"—", "-"},
    {"→", "->"}, {"≤", "<="},  {"≥", ">="}, {"≠", "!="},  {"“", "\""},  {"”", "\""},  {"„", "\""},      {"‘", "'"},
    {"’", "'"},  {"∧", "and"}, {"∨", "or"}, {"¬", "not"}, {"∞", "inf"}, {"…", "..."}, {"√", "sqrt(…)"}, {"²", "^2"}};

uint8_t byteAt(std::string_view text, size_t at) { return static_cast<uint8_t>(text[at]); }

/// Returns the number of bytes of the character and sets its number (RFC 3629, section 4); 0 bytes if it is not well
/// formed.
size_t decode(std::string_view text, size_t at, uint32_t &number) {
  uint8_t lead = byteAt(text, at);
  size_t length = lead < 0x80 ? 1 : lead < 0xC2 ? 0 : lead < 0xE0 ? 2 : lead < 0xF0 ? 3 : lead < 0xF5 ? 4 : 0;
  if (length == 0 || at + length > text.size())
    return 0;
  number = length == 1 ? lead : lead & (0xFF >> (length + 1));
  for (size_t k = 1; k < length; ++k) {
    if ((byteAt(text, at + k) & 0xC0) != 0x80)
      return 0;
    number = number << 6 | (byteAt(text, at + k) & 0x3F);
  }
  bool overlong = (length == 3 && number < 0x800) || (length == 4 && number < 0x10000);
  bool surrogate = number >= 0xD800 && number <= 0xDFFF;
  return overlong || surrogate || number > 0x10FFFF ? 0 : length;
}

std::string hexadecimal(uint32_t number, int digits) {
  std::string text;
  for (; number > 0 || digits > 0; number >>= 4, --digits)
    text.insert(text.begin(), "0123456789ABCDEF"[number & 15]);
  return text;
}

template <size_t N> std::string_view nameIn(const Range (&ranges)[N], uint32_t number) {
  for (const Range &range : ranges)
    if (number >= range.first && number <= range.last)
      return range.name;
  return "";
}
} // namespace

Character characterAt(std::string_view text, size_t at) {
  Character character;
  uint32_t number = 0;
  size_t length = decode(text, at, number);
  if (length == 0 || number < 32 || number == 127) {
    character.isText = false;
    character.shown = "the byte 0x" + hexadecimal(byteAt(text, at), 2);
    return character;
  }
  character.length = length;
  std::string_view space = nameIn(kSpaces, number), unseen = nameIn(kUnseen, number), odd = nameIn(kNoGlyph, number);
  std::string_view name = !space.empty() ? space : !unseen.empty() ? unseen : odd;
  character.shown = name.empty() ? "'" + std::string(text.substr(at, length)) + "'"
                                 : "U+" + hexadecimal(number, 4) + " (" + std::string(name) + ")";
  character.seen = unseen.empty();
  if (!space.empty())
    character.plain = " ";
  for (const Spelling &spelling : kSpellings)
    if (text.substr(at, length) == spelling.typeset)
      character.plain = spelling.plain;
  return character;
}

std::string adviceOn(const Character &character) {
  if (!character.seen)
    return "; delete it";
  if (character.plain.empty())
    return "";
  return "; write " + (character.plain == " "                              ? std::string("a space")
                       : character.plain == "\"" || character.plain == "'" ? "straight quotes, \"…\""
                                                                           : "'" + std::string(character.plain) + "'");
}

} // namespace skewer::subscript
