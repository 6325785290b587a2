"""A hook of MkDocs: Pygments knows `.attn` by the lexer of the Python package, which need not be installed.

build.py stages this file and the lexer, as attn_lexer.py, in one folder. MkDocs forgets changes of the path behind a hook, so
the lexer is imported here."""
import importlib.util
import os
import sys

from pygments.lexers import LEXERS

spec = importlib.util.spec_from_file_location("attn_lexer", os.path.join(os.path.dirname(os.path.abspath(__file__)), "attn_lexer.py"))
sys.modules["attn_lexer"] = importlib.util.module_from_spec(spec)
spec.loader.exec_module(sys.modules["attn_lexer"])
LEXERS["AttnLexer"] = ("attn_lexer", "attn", ("attn",), ("*.attn",), ())
