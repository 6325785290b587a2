// Tests how messages show characters outside ASCII.
#include "dialect/Subscript/Characters.h"
#include "dialect/Subscript/Einsum.h"
#include <gtest/gtest.h>

using namespace skewer::subscript;

namespace {
std::string shown(std::string_view text) { return characterAt(text, 0).shown + adviceOn(characterAt(text, 0)); }

TEST(Characters, VisibleOnesAreShown) {
  EXPECT_EQ(shown("a"), "'a'");
  EXPECT_EQ(shown("ü = 1"), "'ü'");
  EXPECT_EQ(shown("😀"), "'😀'");
  EXPECT_EQ(shown("×"), "'×'; write '*'");
  EXPECT_EQ(shown("−"), "'−'; write '-'");
  EXPECT_EQ(shown("≤"), "'≤'; write '<='");
  EXPECT_EQ(shown("“b i d”"), "'“'; write straight quotes, \"…\"");
  EXPECT_EQ(shown("√x"), "'√'; write 'sqrt(…)'");
}

TEST(Characters, OthersHaveNames) {
  EXPECT_EQ(shown("\u00A0"), "U+00A0 (no-break space); write a space");
  EXPECT_EQ(shown("\u2009"), "U+2009 (typeset space); write a space");
  EXPECT_EQ(shown("\u3000"), "U+3000 (ideographic space); write a space");
  EXPECT_EQ(shown("\u200B"), "U+200B (zero-width space); delete it");
  EXPECT_EQ(shown("\u202E"), "U+202E (direction of writing); delete it");
  EXPECT_EQ(shown("\u0301"), "U+0301 (an accent of the character before it); delete it");
  EXPECT_EQ(shown("\U000E0041"), "U+E0041 (tag); delete it");
  EXPECT_EQ(shown("\uE000"), "U+E000 (private use)");
}

TEST(Characters, BytesThatAreNone) {
  // A continuation, a cut character, an overlong '/', a surrogate, and one beyond U+10FFFF.
  for (std::string_view bytes : {"\x80", "\xE2\x80", "\xC0\xAF", "\xED\xA0\x80", "\xF4\x90\x80\x80", "\x01", "\x7F"}) {
    Character character = characterAt(bytes, 0);
    EXPECT_FALSE(character.isText) << character.shown;
    EXPECT_EQ(character.length, 1u);
  }
  EXPECT_EQ(shown("\x0B"), "the byte 0x0B");
  EXPECT_EQ(shown("\xFF"), "the byte 0xFF");
}

TEST(Characters, MessagesShowAllOfOne) {
  auto messageOf = [](std::string_view text) {
    auto spec = parseEinsum(text);
    EXPECT_FALSE(spec) << text;
    return spec.error().message;
  };
  EXPECT_EQ(messageOf("i d, (j − i + 3) d -> i j"), "unexpected '−' after the expression; write '-'");
  EXPECT_EQ(messageOf("i d, (j -\u00A0i + 3) d -> i j"),
            "expected an operand, found U+00A0 (no-break space); write a space");
  EXPECT_EQ(messageOf("i d,\u200B j d -> i j"), "expected an axis or '(', found U+200B (zero-width space); delete it");
  EXPECT_EQ(messageOf("i d → d"), "expected an axis or '(', found '→'; the arrow is '->'");
  EXPECT_EQ(messageOf("i d × d -> i"), "expected an axis or '(', found '×'; operands are parted by ','");
}
} // namespace
