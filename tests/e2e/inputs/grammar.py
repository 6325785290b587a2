"""Tests the TextMate grammar of tools/editors (its form, its words, and the scopes that it gives a layer's text), and the words
of the lexer for Pygments."""
import ast
import glob
import json
import os
import re
import unittest

ROOT = os.path.abspath(os.path.join(os.path.dirname(__file__), "..", "..", ".."))
LAYER = '''# BoTNet
param H = 14, dim = .5e3
kernel botnet(const q : f32[batch, 2*H - 1], s : i32[N] in 0..3) -> f32[batch] {
  rows = einsum("b (iy ix) d, (jy - iy + max(H, 1)) d -> b d", q, jy = H)
  return softmax(rows where j <= i and not s) if H >= 3 else -inf
}
'''


def read(*path):
    with open(os.path.join(ROOT, *path), encoding="utf-8") as stream:
        return stream.read()


GRAMMAR = json.loads(read("tools", "editors", "attn.tmLanguage.json"))
# Constants of the lexer. The file is read and not imported, because it needs Pygments.
LEXER = {node.targets[0].id: ast.literal_eval(node.value)
         for node in ast.parse(read("tools", "python", "skewer", "_lexer.py")).body
         if isinstance(node, ast.Assign) and node.targets[0].id.isupper() and not node.targets[0].id.startswith("_")}


def rules(patterns):
    """Yields the rules of a list of patterns, with included ones, in the order in which an editor tries them."""
    for pattern in patterns:
        if "include" in pattern:
            yield from rules([GRAMMAR["repository"][pattern["include"].lstrip("#")]])
        elif "patterns" in pattern and "match" not in pattern and "begin" not in pattern:
            yield from rules(pattern["patterns"])
        else:
            yield pattern


def scopes(line, patterns=None, at=0, end=None):
    """Returns (text, scope) for each piece that a rule takes. Of the rules that match earliest, the first one wins."""
    found = []
    end = len(line) if end is None else end
    while at < end:
        best = None
        for rule in rules(GRAMMAR["patterns"] if patterns is None else patterns):
            match = re.compile(rule.get("match") or rule["begin"]).search(line, at, end)
            if match and (best is None or match.start() < best[0].start()):
                best = match, rule
        if best is None:
            break
        match, rule = best
        if "begin" in rule:
            close = re.compile(rule["end"]).search(line, match.end())
            found.append((line[match.start():close.end()], rule["name"]))
            found += scopes(line, rule["patterns"], match.end(), close.start())
            at = close.end()
            continue
        if "captures" in rule:
            found += [(match.group(int(n)), capture["name"]) for n, capture in rule["captures"].items()]
        else:
            found.append((match.group(), rule["name"]))
        at = max(match.end(), at + 1)
    return found


def own_words():
    """Returns the words of the language, from the front end."""
    source = read("dialect", "Language", "FormatLines.cpp")
    source = source[source.index("keywords() {"):]
    return set(re.findall(r'"(\w+)"', source[:source.index("return words")]))


class GrammarTest(unittest.TestCase):
    def test_form(self):
        self.assertEqual(GRAMMAR["scopeName"], "source.attn")
        self.assertEqual(GRAMMAR["fileTypes"], ["attn"])
        every = list(rules(GRAMMAR["patterns"]))
        self.assertGreater(len(every), 10)
        for rule in every:
            for key in ("match", "begin", "end"):
                if key in rule:
                    re.compile(rule[key])
            self.assertTrue("name" not in rule or rule["name"].endswith(".attn"), rule)

    def test_words_are_those_of_the_language(self):
        own = own_words()
        coloured = set()
        for rule in GRAMMAR["repository"]["keyword"]["patterns"]:
            coloured |= set(re.search(r"\((.*)\)", rule["match"]).group(1).split("|"))
        self.assertEqual(coloured, own)
        # The words of the grammar in LANGUAGE.md, and its types.
        page = read("dialect", "LANGUAGE.md")
        page = page[page.index("    program     ="):]
        words = set(re.findall(r'"([a-z]\w+)"', page)) - {"f32", "f16", "bf16", "i8", "f8e4m3", "i32"}
        self.assertEqual(words, own)
        types = set(re.search(r"\((f32[^)]*)\)", GRAMMAR["repository"]["type"]["match"]).group(1).split("|"))
        self.assertEqual(types, set(re.findall(r'"(b?[fi]\d+(?:e\dm\d)?)"', page)))

    def test_symbols_are_those_of_the_lexer(self):
        source = read("dialect", "Language", "Lexer.cpp")
        symbols = re.search(r'StringRef symbol : \{(.*?)\}\)', source).group(1)
        single = re.search(r'StringRef\("([^"]*)"\)\.contains\(c\)\)\n    return take\(TokenKind::Symbol', source).group(1)
        wanted = set(re.findall(r'"([^"]+)"', symbols)) | set(single)
        wanted -= {"...", "..", *"(){}[],:;"}  # a constant, and punctuation
        operator = re.compile(GRAMMAR["repository"]["operator"]["match"])
        self.assertEqual({symbol for symbol in wanted if not operator.fullmatch(symbol)}, set())
        self.assertEqual(set(LEXER["SYMBOLS"]), wanted)

    def test_a_layer_is_coloured(self):
        found = [pair for line in LAYER.split("\n") for pair in scopes(line)]
        kinds = {}
        for text, scope in found:
            kinds.setdefault(text, set()).add(scope)
        for text, scope in (("# BoTNet", "comment.line.number-sign.attn"), ("param", "keyword.declaration.attn"),
                            ("14", "constant.numeric.attn"), (".5e3", "constant.numeric.attn"),
                            ("kernel", "keyword.declaration.attn"), ("botnet", "entity.name.function.attn"),
                            ("const", "keyword.declaration.attn"), ("f32", "storage.type.attn"), ("in", "keyword.control.attn"),
                            ("einsum", "entity.name.function.call.attn"), ("(jy - iy + max(H, 1))", "variable.parameter.index.attn"),
                            ("jy", "variable.parameter.keyword.attn"), ("where", "keyword.control.attn"),
                            ("and", "keyword.operator.word.attn"), ("inf", "constant.language.attn"), ("<=", "keyword.operator.attn")):
            self.assertEqual(kinds.get(text), {scope}, text)
        self.assertNotIn("batch", kinds)  # a name

    def test_words_of_the_lexer_for_pygments(self):
        grammar = {rule["name"]: set(re.search(r"\((.*)\)", rule["match"]).group(1).split("|"))
                   for rule in GRAMMAR["repository"]["keyword"]["patterns"]}
        for name, scope in (("DECLARATIONS", "declaration"), ("CONTROL", "control"), ("WORD_OPERATORS", "operator.word")):
            self.assertEqual(set(LEXER[name]), grammar[f"keyword.{scope}.attn"], name)
        self.assertEqual(set(LEXER["DECLARATIONS"] + LEXER["CONTROL"] + LEXER["WORD_OPERATORS"]), own_words())
        self.assertEqual(set(LEXER["TYPES"]), set(re.search(r"\((f32[^)]*)\)", GRAMMAR["repository"]["type"]["match"]).group(1).split("|")))
        functions = read("tools", "skewer-lsp-server", "Builtins.cpp").split("kFunctions[] = {")[1].split("};")[0]
        self.assertEqual(set(LEXER["FUNCTIONS"]), set(re.findall(r'^    \{"(\w+)"', functions, re.MULTILINE)))
        schemes = set()
        for path in glob.glob(os.path.join(ROOT, "dialect", "Schemes", "*.attn")):
            schemes |= set(re.findall(r"^scheme (\w+)", read(path), re.MULTILINE))
        self.assertEqual(set(LEXER["SCHEMES"]), schemes)


if __name__ == "__main__":
    unittest.main()
