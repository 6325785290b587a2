"""Axes and their order (LANGUAGE.md, Axes)."""
from .errors import AttnError, UnknownSize


class Symbol:
    """An axis of one body. Axes of two bodies differ, even if they have the same name."""

    def __init__(self, name, stretch=None):
        self.name, self.stretch = name, stretch
        self.told, self.read, self.asked = set(), set(), False

    def tell(self, size):
        """Records the size that a statement gives the axis."""
        if self.stretch is None or size != self.stretch.whole:
            self.told.add(size)

    def size(self):
        """Returns the only size that the body gives the axis."""
        if self.stretch:
            return self.stretch.length
        sizes = self.told or self.read
        if not sizes:
            raise UnknownSize(self)
        if len(sizes) > 1:
            raise AttnError(f"'{self.name}' is {' and '.join(map(str, sorted(sizes)))} long")
        self.asked = True
        return next(iter(sizes))

    def check(self):
        """Checks, at the end of the body, that the size that was used is the only one."""
        if self.asked:
            self.size()
        if self.told and self.stretch is None:
            for size in self.read:
                if size > max(self.told):
                    raise AttnError(f"'{self.name}' is {max(self.told)} long, and reads a dimension of {size}: cut that")

    def __repr__(self):
        return self.name


class Known:
    """The meaning of an axis's name in a scope: a symbol, and a size of its own if the present tensor decides it."""

    def __init__(self, symbol, fixed=None):
        self.symbol, self.fixed = symbol, fixed

    def size(self):
        return self.symbol.size() if self.fixed is None else self.fixed


def closure(pairs):
    """Returns the transitive closure of 'stands before'."""
    pairs = set(pairs)
    while True:
        more = {(a, d) for a, b in pairs for c, d in pairs if b == c} - pairs
        if not more:
            return pairs
        pairs |= more


def contradictions(pairs):
    return {(a, b) for a, b in closure(pairs) if a == b}


def united(first, second):
    """Returns the union of two soft orders, without pairs that contradict the other order."""
    both = closure(first | second)
    return {(a, b) for a, b in first | second if (b, a) not in both}


def refined(firm, soft):
    """Returns a firm order with the pairs of a soft one that do not contradict it."""
    firm, out = closure(firm), set(firm)
    both = closure(firm | soft)
    for pair in soft:
        if (pair[1], pair[0]) not in both:
            out.add(pair)
    return out


def laid_out(items, pairs):
    """Returns the items in an order that keeps the pairs, and else in the order in which they come."""
    left, out = list(items), []
    while left:
        here = next(x for x in left if not any((y, x) in pairs for y in left if y is not x))
        out.append(here)
        left.remove(here)
    return out


def is_total(items, pairs):
    pairs = closure(pairs)
    return all((a, b) in pairs or (b, a) in pairs for n, a in enumerate(items) for b in items[:n])
