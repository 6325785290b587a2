"""The Pygments lexer of `.attn` texts. The package registers it, so that Sphinx, MkDocs, Jupyter and `pygmentize` know `attn`.

This file imports nothing of the package: tools/site loads it without installing the package.
"""

from typing import Any, ClassVar

from pygments.lexer import RegexLexer, bygroups, default, include, words
from pygments.token import Comment, Keyword, Name, Number, Operator, Punctuation, String, Whitespace

__all__ = ["AttnLexer"]

# tests/e2e/inputs/grammar.py compares these words with the front end, the language server and the built-in schemes.
DECLARATIONS = ("param", "size", "kernel", "scheme", "const", "part")
CONTROL = ("return", "require", "where", "if", "else", "in", "of", "from")
WORD_OPERATORS = ("and", "or", "not", "floordiv", "mod")
TYPES = ("f32", "f16", "bf16", "i8", "f8e4m3", "i32")
FUNCTIONS = (
    "einsum", "softmax", "logsumexp", "sum", "mean", "max", "min", "cumsum", "skew", "pad", "reshape", "rearrange", "broadcast",
    "concat", "gather", "tabulate", "exp", "log", "sqrt", "rsqrt", "sigmoid", "tanh", "relu", "erf", "sin", "cos", "abs", "floor",
    "ceil", "round", "clamp", "select", "len", "highest", "lowest", "f32", "f64")
SCHEMES = (
    "alibi", "axes_product", "axis_frequency", "deberta", "deberta_bucket", "decomposed", "elu", "gelu", "gelu_tanh", "half_pair",
    "half_partner", "interpolate", "isfinite", "isnan", "longrope_half_at", "longrope_rate", "merge", "merge_lse", "merge_pair",
    "merge_pair_lse", "mrope_half_at", "mrope_product", "music", "quick_gelu", "rel1d", "rel2d", "rope", "rope2d", "rope2d_angle",
    "rope2d_half", "rope_angle", "rope_at", "rope_axes_at", "rope_half", "rope_half_at", "rope_part", "rope_rate", "rope_step",
    "rotate", "rotate_half", "rotate_half_rows", "rotate_rows", "searchsorted", "sign", "silu", "sincos1d", "sincos1d_concatenated",
    "sincos2d", "sincos2d_mae", "sincos2d_timm", "sincos2d_value", "sincos_angle", "softcap", "softplus", "t5", "t5_bucket",
    "t5_bucket_causal", "t5_causal", "turn_product", "turned_half", "wavlm_bucket", "yarn_frequency", "yarn_half_at", "yarn_pair",
    "yarn_rate")
SYMBOLS = ("->", "<=", ">=", "==", "!=", "//", "**", "&&", "||", "<<", ">>", "+", "-", "*", "/", "%", "^", "<", ">", "!", "~", "&", "=")

_NAME = r"[A-Za-z_]\w*"
# Parentheses inside of a text, with those inside of them: an index expression.
_INDEX = r"\([^()\"'\n]*(?:\([^()\"'\n]*\)[^()\"'\n]*)*\)"


def _text(quote: str, kind: Any) -> Any:
    """The rules of a text of einsum from its opening quote on: index expressions, arrows, and letters of axes."""
    return [(_INDEX, String.Interpol), (r"->", Operator), (quote, kind, "#pop"), (r"[^\"'()\n-]+|[\"'()-]", kind), default("#pop")]


class AttnLexer(RegexLexer):
    """Tokens of a text in the language of attention layers."""

    name = "attn"
    aliases: ClassVar = ["attn"]
    filenames: ClassVar = ["*.attn"]

    tokens: ClassVar = {
        "root": [
            (r"\s+", Whitespace),
            (r"#:.*", Comment.Special),  # what a scheme is, for lists of schemes
            (r"#.*", Comment.Single),
            (rf"(kernel|scheme)(\s+)({_NAME})", bygroups(Keyword.Declaration, Whitespace, Name.Function)),
            (words(DECLARATIONS, r"\b", r"\b"), Keyword.Declaration),
            (words(CONTROL, r"\b", r"\b"), Keyword),
            (words(WORD_OPERATORS, r"\b", r"\b"), Operator.Word),
            (words(TYPES, r"\b", r"(?=\s*[\[(])"), Keyword.Type),
            (r"(?:None|inf)\b|\.\.\.", Keyword.Constant),
            (words(FUNCTIONS, r"\b", r"(?=\()"), Name.Builtin),
            (words(SCHEMES, r"\b", r"(?=\()"), Name.Builtin.Pseudo),
            (rf"{_NAME}(?=\()", Name.Function),
            (r"\d+(?:\.(?!\.)\d*(?:[eE][+-]?\d+)?|[eE][+-]?\d+)|\.\d+(?:[eE][+-]?\d+)?", Number.Float),
            (r"\d+", Number.Integer),
            (r'"', String.Double, "double"),
            (r"'", String.Single, "single"),
            (words(SYMBOLS), Operator),
            (r"\(", Punctuation, "parentheses"),
            (r"\.\.|[{}\[\],:;)]", Punctuation),
            (_NAME, Name),
        ],
        # Here a name before `=` is an argument, or a parameter with a default; elsewhere it is a value.
        "parentheses": [(rf"(?!where\b){_NAME}(?=\s*=(?!=))", Name.Attribute), (r"\)", Punctuation, "#pop"), include("root")],
        "double": _text('"', String.Double),
        "single": _text("'", String.Single),
    }
