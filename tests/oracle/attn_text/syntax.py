"""The nodes of the trees that the parser makes."""
from dataclasses import dataclass, field
from typing import Any, Optional


@dataclass
class Node:
    line: int


@dataclass
class Number(Node):
    value: Any                       # int, or float if it was written with a point or an exponent


@dataclass
class Text(Node):
    value: str


@dataclass
class Name(Node):
    name: str


@dataclass
class Items(Node):
    items: list


@dataclass
class Call(Node):
    name: str
    positional: list
    named: dict


@dataclass
class Slice(Node):
    low: Optional[Node]
    high: Optional[Node]
    step: Optional[Node]


@dataclass
class Dots(Node):
    pass


@dataclass
class New(Node):                     # None among subscripts
    pass


@dataclass
class Subscript(Node):
    base: Node
    subscripts: list


@dataclass
class Unary(Node):
    op: str
    value: Node


@dataclass
class Binary(Node):
    op: str
    left: Node
    right: Node


@dataclass
class Where(Node):
    value: Node
    condition: Node


@dataclass
class Conditional(Node):
    then: Node
    condition: Node
    otherwise: Node


# Statements.
@dataclass
class Assign(Node):
    names: list                      # one, or several if a list is unpacked
    apart: bool
    value: Node


@dataclass
class Return(Node):
    values: list


@dataclass
class Require(Node):
    condition: Node
    message: str


@dataclass
class Part(Node):
    axis: str
    length: Optional[Node]
    whole: Node
    origin: str


# Declarations.
@dataclass
class Param(Node):
    name: str
    value: Optional[Node]


@dataclass
class Type(Node):
    element: str
    sizes: list
    low: Optional[Node] = None
    high: Optional[Node] = None
    deviation: Optional[Node] = None
    mean: Optional[Node] = None
    between: Optional[tuple] = None


@dataclass
class Kernel(Node):
    name: str
    operands: list                   # (name, Type)
    results: list                    # (name or None, Type)
    body: list


@dataclass
class Formal(Node):
    name: str
    dimensions: Optional[list] = None
    default: Optional[Node] = None
    parts: Optional[list] = None     # map = (H, W)


@dataclass
class Scheme(Node):
    name: str
    formals: list
    body: list
    result: Optional[list] = None    # -> [b, h, i, j]


@dataclass
class File:
    params: list = field(default_factory=list)
    sizes: list = field(default_factory=list)
    kernels: dict = field(default_factory=dict)
    schemes: dict = field(default_factory=dict)
