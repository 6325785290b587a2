"""The texts of einsum, rearrange and broadcast: subscripts to dimensions, and the sizes of axes."""
import re
from dataclasses import dataclass, field

from . import syntax as s
from .errors import AttnError
from .lexer import RESERVED
from .parser import parse_expression
from .positions import Field

NAME = re.compile(r"[A-Za-z_][A-Za-z_0-9]*")
LETTER = re.compile(r"[A-Za-z_]\d*")


@dataclass
class Dimension:
    """A dimension of a text. `axes` has one axis, or several for a product, or none for the literal 1. An axis without a name has
    its size as a name. `expression` is the index expression at which the operand is read."""
    axes: list = field(default_factory=list)
    expression: object = None


def split_outside(text, separator):
    parts, depth, begin = [], 0, 0
    for at, character in enumerate(text):
        depth += (character in "([") - (character in ")]")
        if character == separator and depth == 0:
            parts.append(text[begin:at])
            begin = at + 1
    return parts + [text[begin:]]


def pieces_of(text, line):
    """Returns the pieces of a text: names, numbers and parentheses."""
    out, at = [], 0
    while at < len(text):
        if text[at].isspace():
            at += 1
        elif text[at] == "(":
            depth, end = 0, at
            while end < len(text):
                depth += (text[end] == "(") - (text[end] == ")")
                end += 1
                if depth == 0:
                    break
            if depth:
                raise AttnError(f"unbalanced parentheses in '{text}'", line)
            out.append(text[at:end])
            at = end
        else:
            match = NAME.match(text, at) or re.compile(r"\d+").match(text, at)
            if not match:
                raise AttnError(f"unexpected '{text[at]}' in the text '{text}'", line)
            out.append(match.group())
            at = match.end()
    return out


def parse_text(text, is_value, line):
    """Returns (operands, result) as lists of Dimensions. `is_value(name)` is true for a name that is no axis."""
    sides = text.split("->")
    if len(sides) != 2:
        raise AttnError(f"the text '{text}' has no '->', or several", line)
    subscripts = [pieces_of(part, line) for part in split_outside(sides[0], ",")] + [pieces_of(sides[1], line)]
    # Each letter is an axis, unless the text has parentheses or spaces between names.
    apart = "(" in text or any(len(part.split()) > 1 for side in sides for part in side.split(","))
    parsed = []
    for pieces in subscripts:
        dimensions = []
        for piece in pieces:
            if piece.startswith("("):
                dimensions.append(parse_parentheses(piece[1:-1], is_value, line))
            elif piece.isdigit():
                dimensions.append(Dimension([] if piece == "1" else [piece]))
            else:
                for name in [piece] if apart else LETTER.findall(piece):
                    if name in RESERVED:
                        raise AttnError(f"'{name}' is a word of the language", line)
                    dimensions.append(Dimension([name]))
        parsed.append(dimensions)
    return parsed[:-1], parsed[-1]


def parse_parentheses(inside, is_value, line):
    names = inside.split()
    if not names:
        return Dimension()
    if all(NAME.fullmatch(name) and name not in RESERVED or name.isdigit() for name in names):
        if len(names) == 1 and (is_value(names[0]) or names[0].isdigit()):
            return Dimension(expression=parse_expression(inside, line))
        return Dimension([name for name in names if name != "1"])
    return Dimension(expression=parse_expression(inside, line))


def bare_axes(text, is_value, line):
    """Returns the names of axes in a text."""
    operands, result = parse_text(text, is_value, line)
    return [name for dimensions in [*operands, result] for d in dimensions for name in d.axes if not name.isdigit()]


def walk(node):
    yield node
    for value in vars(node).values():
        for each in value.values() if isinstance(value, dict) else value if isinstance(value, list) else [value]:
            if isinstance(each, s.Node):
                yield from walk(each)


def names_in(node):
    """Yields (name, whether it stands alone) for each name that an expression uses as a position: not the base of a subscript,
    and not an axis in `len`."""
    if isinstance(node, s.Name):
        yield node.name, True
    elif isinstance(node, s.Call) and node.name in ("len", "position") and len(node.positional) == 1 and isinstance(node.positional[0], s.Name):
        if node.name == "position":
            yield node.positional[0].name, False
    else:
        base = node.base if isinstance(node, s.Subscript) and isinstance(node.base, s.Name) else None
        for value in vars(node).values():
            for each in value.values() if isinstance(value, dict) else value if isinstance(value, list) else [value]:
                if isinstance(each, s.Node) and each is not base:
                    yield from names_in(each)


def subscripts_in(node):
    return [each for each in walk(node) if isinstance(each, s.Subscript)]


class Sizes:
    """The sizes of axes, from operands and the call, then from products, then from the other sources in LANGUAGE.md."""

    def __init__(self, line, names=()):
        self.known, self.line = {name: int(name) for name in names if name.isdigit()}, line

    def tell(self, name, size):
        if self.known.setdefault(name, size) != size:
            raise AttnError(f"the axis '{name}' is {self.known[name]} and {size} long", self.line)

    def products(self, dimensions):
        """Solves products. `dimensions` has (axes, size) of operands; a product tells the size of its last unknown axis."""
        changed = True
        while changed:
            changed = False
            for axes, size in dimensions:
                unknown = [name for name in axes if name not in self.known]
                known = 1
                for name in axes:
                    known *= self.known.get(name, 1)
                if len(unknown) == 1:
                    if size % known:
                        raise AttnError(f"a dimension of {size} is no product with {known}", self.line)
                    self.tell(unknown[0], size // known)
                    changed = True
                elif not unknown and known != size:
                    raise AttnError(f"({' '.join(axes)}) makes {known}, but the dimension has {size}", self.line)


def named_dimension(dimension, sizes, scope, line):
    """Returns the names of a dimension of a result; none if an axis has no name."""
    if not dimension.axes or any(name.isdigit() for name in dimension.axes):
        return []
    return [tuple((scope.symbol(name, line), sizes.known[name]) for name in dimension.axes)]


def check_names(dimensions, sizes, scope, line):
    """Checks names: a name alone is an axis; if it is a number too, that is its size. Each axis tells its size to the body."""
    for name in dict.fromkeys(name for dimension in dimensions for name in dimension.axes):
        if name.isdigit():
            continue
        value = scope.value_of(name) if scope.has_value(name) else None
        if isinstance(value, (int, float)) and value != sizes.known.get(name):
            raise AttnError(f"'{name}' is an axis of size {sizes.known.get(name)}, and the number {value} too", line)
        if isinstance(value, Field):
            raise AttnError(f"'{name}' is an axis, and a function of positions too", line)
        scope.symbol(name, line).tell(sizes.known[name])
