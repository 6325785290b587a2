// UTF-8 characters in error messages. Texts come from papers, web pages and word processors, and contain characters
// outside ASCII.
#pragma once
#include <string>
#include <string_view>

namespace skewer::subscript {

struct Character {
  size_t length = 1;  // its bytes
  bool isText = true; // false: a control character, or a byte that is part of no character
  // Its form in a message: "'×'" in quotes, or "U+200B (zero-width space)" if it is invisible.
  std::string shown;
  std::string_view plain; // its ASCII equivalent: "*" for "×", " " for a wide space; empty: none
  bool seen = true;       // false: the text looks the same without it
};

/// Returns the character that begins at text[at], which must exist.
Character characterAt(std::string_view text, size_t at);

/// Returns advice to append to an error: "; write '*'", "; delete it"; empty if there is none.
std::string adviceOn(const Character &character);

} // namespace skewer::subscript
