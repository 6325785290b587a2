// Characters of UTF-8 in messages: texts come from papers, web pages and word processors, and bring what ASCII lacks.
#pragma once
#include <string>
#include <string_view>

namespace skewer::subscript {

struct Character {
  size_t length = 1;      // its bytes
  bool isText = true;     // false: a control character, or a byte that is part of no character
  std::string shown;      // for a message: "'×'" in quotes, "U+200B (zero-width space)" where nothing would be seen
  std::string_view plain; // what it stands for in ASCII: "*" for "×", " " for a wide space; empty where for nothing
  bool seen = true;       // false: a text looks the same without it
};

/// The character that begins at text[at], which there is.
Character characterAt(std::string_view text, size_t at);

/// What to do about it, behind an error: "; write '*'", "; delete it"; empty where nothing is known.
std::string adviceOn(const Character &character);

} // namespace skewer::subscript
