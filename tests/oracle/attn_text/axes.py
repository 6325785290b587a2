"""Axes, and in which order they stand (LANGUAGE.md, Axes)."""
from .errors import AttnError, UnknownSize


class Symbol:
    """An axis of one body. Axes of two bodies are two, whatever they are called."""

    def __init__(self, name, stretch=None):
        self.name, self.stretch = name, stretch
        self.told, self.read, self.asked = set(), set(), False

    def tell(self, size):
        """A statement names the axis, and has this size of it."""
        if self.stretch is None or size != self.stretch.whole:
            self.told.add(size)

    def size(self):
        """The one size that the body has of it."""
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
        """When all of the body is known: what was taken for its size is the only one."""
        if self.asked:
            self.size()
        if self.told and self.stretch is None:
            for size in self.read:
                if size > max(self.told):
                    raise AttnError(f"'{self.name}' is {max(self.told)} long, and reads a dimension of {size}: cut that")

    def __repr__(self):
        return self.name


class Known:
    """What a name of an axis means in a scope: a symbol, with a size of its own where the tensor at hand decides it."""

    def __init__(self, symbol, fixed=None):
        self.symbol, self.fixed = symbol, fixed

    def size(self):
        return self.symbol.size() if self.fixed is None else self.fixed


def closure(pairs):
    """All that follows from 'stands before'."""
    pairs = set(pairs)
    while True:
        more = {(a, d) for a, b in pairs for c, d in pairs if b == c} - pairs
        if not more:
            return pairs
        pairs |= more


def contradictions(pairs):
    return {(a, b) for a, b in closure(pairs) if a == b}


def united(first, second):
    """Two soft orders: what contradicts the other says nothing."""
    both = closure(first | second)
    return {(a, b) for a, b in first | second if (b, a) not in both}


def refined(firm, soft):
    """A firm order, with what a soft one adds without contradicting it."""
    firm, out = closure(firm), set(firm)
    both = closure(firm | soft)
    for pair in soft:
        if (pair[1], pair[0]) not in both:
            out.add(pair)
    return out


def laid_out(items, pairs):
    """The items in an order that keeps the pairs: first come, first."""
    left, out = list(items), []
    while left:
        here = next(x for x in left if not any((y, x) in pairs for y in left if y is not x))
        out.append(here)
        left.remove(here)
    return out


def is_total(items, pairs):
    pairs = closure(pairs)
    return all((a, b) in pairs or (b, a) in pairs for n, a in enumerate(items) for b in items[:n])
