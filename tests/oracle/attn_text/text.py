"""The texts of einsum, rearrange and broadcast: subscripts to dimensions, and the sizes of axes."""
import re
from dataclasses import dataclass, field

from . import syntax as s
from .errors import AttnError
from .parser import parse_expression

NAME = re.compile(r"[A-Za-z_][A-Za-z_0-9]*")


@dataclass
class Dimension:
    """axes: those of an axis (one) or a product (several); none for the literal 1. An axis without a name has that of its size.
    expression: where the operand is read."""
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
    """What stands beside each other: names, numbers and parentheses."""
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
    """(operands, result): lists of Dimensions. `is_value(name)` tells what is no axis."""
    sides = text.split("->")
    if len(sides) != 2:
        raise AttnError(f"the text '{text}' has no '->', or several", line)
    subscripts = [pieces_of(part, line) for part in split_outside(sides[0], ",")] + [pieces_of(sides[1], line)]
    # One letter an axis, unless there are parentheses, or names that stand apart.
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
                dimensions += [Dimension([name]) for name in ([piece] if apart else piece)]
        parsed.append(dimensions)
    return parsed[:-1], parsed[-1]


def parse_parentheses(inside, is_value, line):
    names = inside.split()
    if names and all(NAME.fullmatch(name) and name != "not" or name.isdigit() for name in names):
        if len(names) == 1 and (is_value(names[0]) or names[0].isdigit()):
            return Dimension(expression=parse_expression(inside, line))
        return Dimension([name for name in names if name != "1"])
    return Dimension(expression=parse_expression(inside, line))


def walk(node):
    yield node
    for value in vars(node).values():
        for each in value.values() if isinstance(value, dict) else value if isinstance(value, list) else [value]:
            if isinstance(each, s.Node):
                yield from walk(each)


def names_in(node):
    """Names that an expression reads, but not those of functions."""
    return [each.name for each in walk(node) if isinstance(each, s.Name)]


def subscripts_in(node):
    return [each for each in walk(node) if isinstance(each, s.Subscript)]


class Sizes:
    """The sizes of axes: told by operands and the call, then products, then what LANGUAGE.md lists."""

    def __init__(self, line, names=()):
        self.known, self.line = {name: int(name) for name in names if name.isdigit()}, line

    def tell(self, name, size):
        if self.known.setdefault(name, size) != size:
            raise AttnError(f"the axis '{name}' is {self.known[name]} and {size} long", self.line)

    def products(self, dimensions):
        """dimensions: (axes, size) of operands. A product tells its last unknown axis."""
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

    def partners(self, names):
        """i and j, iy and jy: the same size unless something says otherwise."""
        changed = False
        for name in names:
            if name not in self.known and name[:1] in "ij":
                other = ("j" if name[0] == "i" else "i") + name[1:]
                if other in self.known:
                    self.tell(name, self.known[other])
                    changed = True
        return changed


def named_dimension(dimension, sizes):
    """The names of a dimension of a result: none where an axis has none."""
    if not dimension.axes or any(name.isdigit() for name in dimension.axes):
        return []
    return [tuple((name, sizes.known[name]) for name in dimension.axes)]


def check_names(dimensions, sizes, scope, line):
    """A bare name is an axis, and if it is a number too, that is its size."""
    for name in dict.fromkeys(name for dimension in dimensions for name in dimension.axes):
        value = scope.value_of(name)
        is_its_size = name in scope.program.file.sizes or isinstance(value, int) and value == sizes.known.get(name)
        if scope.is_position_value(name) and not isinstance(value, list) and not is_its_size:
            raise AttnError(f"'{name}' is an axis of size {sizes.known.get(name)}, and a value too", line)
