"""Turns a text into tokens (LANGUAGE.md, Grammar)."""
import re
from dataclasses import dataclass

from .errors import AttnError

PATTERN = re.compile(
    r"(?P<space>[ \t\r\f]+|#[^\n]*)|(?P<newline>\n)"
    r"|(?P<number>\d+(?:\.\d+)?(?:[eE][+-]?\d+)?|\.\d+(?:[eE][+-]?\d+)?)"
    r"|(?P<name>[A-Za-z_][A-Za-z_0-9]*)"
    r"|(?P<string>\"[^\"\n]*\"|'[^'\n]*')"
    r"|(?P<op>\.\.\.|\.\.|->|\*\*|//|<<|>>|<=|>=|==|!=|&&|\|\||[-+*/%^<>=!~&,:;()\[\]{}])")

# Other spellings of one operator.
SAME = {"&&": "and", "||": "or", "!": "not", "**": "^", "floordiv": "//", "mod": "%"}
WORDS = {"and", "or", "not", "where", "if", "else", "floordiv", "mod"}
# Words that cannot be names (LANGUAGE.md, Names). The operators above cannot either.
RESERVED = WORDS | {"inf", "None", "return", "require", "param", "size", "kernel", "scheme"}


@dataclass
class Token:
    kind: str          # number, name, string, op, end
    text: str
    line: int
    first: bool        # whether it is the first of its line


def tokens_of(text, line=1):
    tokens, at, first = [], 0, True
    while at < len(text):
        match = PATTERN.match(text, at)
        if not match:
            raise AttnError(f"unexpected character {text[at]!r}", line)
        at, kind, what = match.end(), match.lastgroup, match.group()
        if kind == "newline":
            line, first = line + 1, True
        elif kind != "space":
            if kind == "string":
                what = what[1:-1]
            elif what in SAME or what in WORDS:
                kind, what = "op", SAME.get(what, what)
            tokens.append(Token(kind, what, line, first))
            first = False
    tokens.append(Token("end", "", line, True))
    return tokens
