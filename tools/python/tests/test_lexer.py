"""The tokens that Pygments gets of `.attn` texts, and that an installed package registers the lexer."""

import unittest
from importlib import metadata
from pathlib import Path

from pygments.lexers import get_lexer_by_name, get_lexer_for_filename
from pygments.token import Token

ROOT = Path(__file__).resolve().parents[3]
LAYER = '''#: what it is
# BoTNet
param H = 14, dim = .5e3
kernel botnet(const q : f32[batch, 2*H - 1], s : i32[N] in 0..3) -> f32[batch] {
  rows = einsum("b (iy ix) d, (jy - iy + max(H, 1)) d -> b d", q, jy = H, where = j <= i)
  return softmax(rows where j <= i and not s) + rel1d(q, t) + own(x)[..., 1:] if H >= 3 else -inf
}
'''


def tokens(text):
    return [(str(kind)[len("Token."):], value) for kind, value in get_lexer_by_name("attn").get_tokens(text) if value.strip()]


class Lexer(unittest.TestCase):
    def test_it_is_registered(self):
        found = {entry.name: entry.value for entry in metadata.entry_points(group="pygments.lexers")}
        self.assertEqual(found["attn"], "skewer._lexer:AttnLexer")
        self.assertEqual(get_lexer_for_filename("layer.attn").name, "attn")

    def test_tokens_of_a_layer(self):
        found = tokens(LAYER)
        for kind, value in (("Comment.Special", "#: what it is"), ("Comment.Single", "# BoTNet"), ("Keyword.Declaration", "param"),
                            ("Literal.Number.Integer", "14"), ("Literal.Number.Float", ".5e3"), ("Name.Function", "botnet"),
                            ("Keyword.Type", "f32"), ("Keyword.Type", "i32"), ("Keyword", "in"), ("Punctuation", ".."), ("Name", "rows"),
                            ("Name.Builtin", "einsum"), ("Literal.String.Interpol", "(jy - iy + max(H, 1))"), ("Name.Attribute", "jy"),
                            ("Keyword", "where"), ("Operator", "<="), ("Operator.Word", "and"), ("Name.Builtin.Pseudo", "rel1d"),
                            ("Name.Function", "own"), ("Keyword.Constant", "..."), ("Keyword.Constant", "inf")):
            self.assertIn((kind, value), found)
            self.assertNotIn(value, [other for name, other in found if name != kind], f"{value} is {kind} alone")

    def test_a_text_ends_with_its_line(self):
        self.assertEqual(tokens('x = "a b\ny'), [("Name", "x"), ("Operator", "="), ("Literal.String.Double", '"'),
                                               ("Literal.String.Double", "a b"), ("Name", "y")])

    def test_no_character_of_the_language_is_an_error(self):
        files = [path for folder in ("examples", "dialect/Schemes", "tests/e2e/layers") for path in (ROOT / folder).rglob("*.attn")]
        self.assertGreater(len(files), 80)
        for path in files:
            text = path.read_text(encoding="utf-8")
            found = list(get_lexer_by_name("attn", stripnl=False).get_tokens(text))
            self.assertEqual("".join(value for _, value in found), text, path)
            self.assertNotIn(Token.Error, [kind for kind, _ in found], path)
        self.assertIn(("Error", "@"), tokens("q @ k"))


if __name__ == "__main__":
    unittest.main()
