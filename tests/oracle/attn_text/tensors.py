"""Tensors with names of axes.

A dimension has a list of names. Each name is a tuple of factors, (symbol, size): one factor for an axis, several for a product. A
dimension without a name has an empty list. `before` has the order of the dimensions if it is open; None means that they stand as
they lie. `absent` marks the elements that `where` removed. `minus` marks the elements that are -inf by their position, which is a
mask too. `hidden` marks missing elements: masked keys of a softmax, elements that a condition removed, and `x if P else 0`. A
hidden element is 0, and so is each product with it.
"""
import numpy as np

from .axes import is_total, laid_out
from .errors import AttnError
from .positions import Evaluation, axes_of, order_of, reads_tensors


class Tensor:
    def __init__(self, data, names=None, absent=None, hidden=None, minus=None):
        self.data = np.asarray(data, np.float64)
        self.names = [[] for _ in self.data.shape] if names is None else names
        self.absent, self.hidden, self.minus = absent, hidden, minus
        self.truth = False   # whether it holds 1 and 0 of a condition on values
        self.before = None   # pairs of dimensions; None: all of them, as they lie
        self.soft = False    # the order of a function of positions: a tensor's order comes first
        assert len(self.names) == self.data.ndim

    @property
    def shape(self):
        return self.data.shape

    def like(self, data):
        out = Tensor(data, [list(each) for each in self.names], self.absent, self.hidden, self.minus)
        out.before, out.soft = self.before, self.soft
        return out

    def pairs(self):
        if self.before is not None:
            return self.before
        return {(a, b) for b in range(len(self.shape)) for a in range(b)}

    def is_named(self):
        return all(self.names)

    def ordered(self, what):
        """Returns the tensor, if all its dimensions stand in an order."""
        if self.before is not None and not is_total(list(range(len(self.shape))), self.before):
            raise AttnError(f"{what}: {self.spoken()} stand in no order here")
        return self

    def spoken(self):
        return " ".join("_" if not names else " ".join(str(each) for each, _ in names[0]) if len(names[0]) == 1 else
                        "(" + " ".join(str(each) for each, _ in names[0]) + ")" for names in self.names)

    def axes(self):
        """Returns (dimension, stride inside the dimension, size) for each symbol; a name of a whole dimension comes first."""
        found = {}
        for whole in (True, False):
            for at, factorisations in enumerate(self.names):
                for factors in factorisations:
                    inner = self.shape[at]
                    for symbol, size in factors:
                        inner //= size
                        if (len(factors) == 1) == whole:
                            found.setdefault(symbol, (at, inner, size))
        return found

    def coordinates(self, symbols):
        """Returns the position at every element for each of these axes, as arrays that broadcast to the tensor's shape."""
        axes, out = self.axes(), {}
        for symbol in symbols:
            if symbol not in axes:
                raise AttnError(f"no axis '{symbol}': the tensor's axes are {self.spoken()}")
            at, inner, size = axes[symbol]
            along = np.arange(self.shape[at]) // inner % size
            out[symbol] = along.reshape([-1 if k == at else 1 for k in range(self.data.ndim)])
        return out

    def present(self, what):
        if self.absent is not None:
            raise AttnError(f"{what} reads elements that `where` made absent")
        return self

    def moved(self, order):
        """Returns the tensor with its dimensions in another order; nothing else changes."""
        if order == list(range(len(order))):
            return self
        turn = (lambda array: None if array is None else np.broadcast_to(array, self.shape).transpose(order))
        out = Tensor(self.data.transpose(order), [self.names[k] for k in order], turn(self.absent), turn(self.hidden), turn(self.minus))
        out.truth, out.soft = self.truth, self.soft
        if self.before is not None:
            at = {k: n for n, k in enumerate(order)}
            out.before = {(at[a], at[b]) for a, b in self.before}
        return out


def place(field, tensor, in_f32=False):
    """Evaluates a field over the dimensions of a tensor. Returns (values, where they do not exist)."""
    axes, own = axes_of(field), tensor.axes()
    coordinates = tensor.coordinates(axes)
    for symbol, axis in axes.items():
        if axis.fixed is not None and own[symbol][2] != axis.fixed:
            raise AttnError(f"'{symbol}' is {axis.fixed} and {own[symbol][2]} long")
    return Evaluation(coordinates, in_f32)(field)


def grid_of(symbols_and_sizes):
    """Returns the coordinates of a tensor with a dimension for each of these axes."""
    count = len(symbols_and_sizes)
    return {symbol: np.arange(size).reshape([-1 if k == at else 1 for k in range(count)])
            for at, (symbol, size) in enumerate(symbols_and_sizes)}


def poisoned(value, bad):
    """Returns real numbers, with NaN where they do not exist."""
    value = np.asarray(value, np.float64)
    return value if bad is None else np.where(bad, np.nan, value)


def materialised(field, order=None):
    """Returns a field as a tensor over its axes; `order` has (symbol, size) of each, as a call gives them."""
    if order is None:
        axes, pairs = axes_of(field), order_of(field)
        order = [(symbol, axes[symbol].size()) for symbol in laid_out(list(axes), pairs)]
        at = {symbol: k for k, (symbol, _) in enumerate(order)}
        before = {(at[a], at[b]) for a, b in pairs}
    else:
        before = None
    value = np.broadcast_to(poisoned(*Evaluation(grid_of(order), False)(field)), [size for _, size in order])
    out = Tensor(value, [[((symbol, size),)] for symbol, size in order], minus=minus_infinity(field, value))
    out.before, out.soft, out.truth = before, before is not None, getattr(field, "truth", False)
    return out


def minus_infinity(field, value):
    """Returns where a function of positions is -inf; that is a mask if it is added to scores."""
    found = np.isneginf(value)
    return found if np.any(found) and not reads_tensors(field) else None
