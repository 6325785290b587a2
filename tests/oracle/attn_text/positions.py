"""Functions of positions: trees over axes, numbers and reads of operands, and their evaluation.

A field is a function of positions (`j - i`, `bucket(j - i)`, `seg[b, i] != seg[b, j]`, `slope[h] * abs(i - j)`). Its axes have
the order of the places of its reads, as far as they give one. `Evaluation` computes a field for arrays of coordinates, one for
each axis, that broadcast against each other. It returns the values, and where they do not exist (a read outside, a divisor of
0). Only the operands that `select` takes, and that `and` and `or` need, must exist.
"""
import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from .axes import united
from .errors import AttnError, outside

LIMIT = 2.0 ** 62                      # a larger whole number is an error
WHOLE, REAL = "whole numbers", "real numbers"
MAKES_REAL = {"/", "^", "exp", "log", "sqrt", "rsqrt", "sin", "cos", "tanh", "erf", "sigmoid", "relu", "f32", "f64"}
COMPARE = {"<": np.less, "<=": np.less_equal, ">": np.greater, ">=": np.greater_equal, "==": np.equal, "!=": np.not_equal}


def erf(x):
    return np.vectorize(math.erf, otypes=[np.float64])(x) if np.size(x) else np.asarray(x, np.float64)


def sigmoid(x):
    return np.where(x >= 0, 1 / (1 + np.exp(-np.abs(x))), np.exp(-np.abs(x)) / (1 + np.exp(-np.abs(x))))


FLOAT = {"exp": np.exp, "log": np.log, "sqrt": np.sqrt, "rsqrt": lambda x: 1 / np.sqrt(x), "sin": np.sin, "cos": np.cos,
         "tanh": np.tanh, "erf": erf, "sigmoid": sigmoid, "relu": lambda x: np.maximum(x, 0), "floor": np.floor,
         "ceil": np.ceil, "round": np.rint, "neg": np.negative, "abs": np.abs, "+": np.add, "-": np.subtract, "*": np.multiply,
         "/": np.true_divide, "^": np.power, "min": np.minimum, "max": np.maximum, "//": lambda a, b: np.floor(a / b),
         "%": lambda a, b: a - np.floor(a / b) * b}


class Field:
    """A function of positions."""


@dataclass
class Stretch:
    """A part of an axis: n positions from `origin` of the whole on."""
    length: int
    whole: int
    origin: int


@dataclass(eq=False)
class Axis(Field):
    symbol: Any
    fixed: Any = None                  # a size that the present tensor decides
    absolute: bool = False             # for tabulate and gather: along the whole, even in a part

    @property
    def stretch(self):
        return None if self.absolute else self.symbol.stretch

    def size(self):
        return self.symbol.size() if self.fixed is None else self.fixed


@dataclass(eq=False)
class Constant(Field):
    value: Any


@dataclass(eq=False)
class Operation(Field):
    op: str
    arguments: list


@dataclass(eq=False)
class Read(Field):
    """A read of an element of an array: an index operand, a tensor, or a constant list."""
    name: str
    array: np.ndarray
    subscripts: list

    @property
    def is_whole(self):
        return self.array.dtype.kind == "i"


def as_field(value):
    if isinstance(value, Field):
        return value
    if isinstance(value, (int, float)):
        return Constant(value)
    raise AttnError(f"expected a number or a function of positions, found {type(value).__name__}")


def below(field):
    return getattr(field, "arguments", None) or getattr(field, "subscripts", None) or ()


def collect(field, found):
    if isinstance(field, Axis):
        if field.symbol not in found or field.fixed is not None:
            found[field.symbol] = field
    for each in below(field):
        collect(each, found)
    return found


def axes_of(field):
    """Returns the axes by their symbols, in the order in which they come."""
    return collect(field, {})


def order_of(field):
    """Returns the order of axes: those of one place of a read stand before those of the next place."""
    if not isinstance(field, Read):
        out = set()
        for each in below(field):
            out = united(out, order_of(each))
        return out
    out, seen = set(), []
    for subscript in field.subscripts:
        here = [symbol for symbol in axes_of(subscript) if symbol not in seen]
        out = united(out, {pair for pair in order_of(subscript) if pair[0] in here and pair[1] in here})
        out |= {(a, b) for a in seen for b in here}
        seen += here
    return out


def is_real(field):
    """Returns whether the field may have values that are not whole."""
    if isinstance(field, Constant):
        return isinstance(field.value, float) or abs(field.value) >= 2 ** 53
    if isinstance(field, Axis):
        return False
    if isinstance(field, Read):
        return not field.is_whole
    if field.op in MAKES_REAL:
        return True
    if field.op in COMPARE or field.op in ("and", "or", "not"):
        return False
    values = field.arguments[1:] if field.op == "select" else field.arguments
    return any(is_real(argument) for argument in values)


def reads_tensors(field):
    if isinstance(field, Read):
        return not field.is_whole or any(map(reads_tensors, field.subscripts))
    return any(reads_tensors(argument) for argument in getattr(field, "arguments", ()))


def either(*bads):
    out = None
    for bad in bads:
        if bad is not None:
            out = bad if out is None else out | bad
    return out


class Evaluation:
    """Evaluates fields. `coordinates` has an array for each axis. In f32 it rounds each operation on real numbers as written."""

    def __init__(self, coordinates, in_f32):
        self.coordinates, self.in_f32 = coordinates, in_f32

    def rounded(self, array, exact=False):
        if not self.in_f32 or exact:
            return array
        with np.errstate(all="ignore"):
            return np.asarray(array, np.float64).astype(np.float32).astype(np.float64)

    def real(self, field):
        """Evaluates a field to real numbers; in f32 a whole number is rounded before its use."""
        value, bad = self(field)
        value = np.asarray(value)
        if value.dtype.kind != "f":
            value = self.rounded(value.astype(np.float64))
        elif isinstance(field, Constant):
            value = self.rounded(value)
        return value, bad

    def __call__(self, field):
        if isinstance(field, Constant):
            if isinstance(field.value, float) or abs(field.value) >= 2 ** 53:
                return np.float64(field.value), None
            return np.int64(field.value), None
        if isinstance(field, Axis):
            at = self.coordinates[field.symbol]
            return (at + field.stretch.origin if field.stretch else at), None
        if isinstance(field, Read):
            return self.read(field)
        return self.operation(field)

    def read(self, field):
        index, bad = [], None
        for size, subscript in zip(field.array.shape, field.subscripts):
            if isinstance(subscript, Axis) and subscript.stretch and size == subscript.stretch.length:
                at, strange = self.coordinates[subscript.symbol], None      # a part is read in place
            else:
                at, strange = whole_of(*Evaluation(self.coordinates, True)(subscript), field.name)
            strange = either(strange, (at < 0) | (at >= size))
            index.append(np.clip(at, 0, size - 1))
            bad = either(bad, strange)
        if bad is not None and np.any(bad):
            outside.append(field.name)
        else:
            bad = None
        return field.array[tuple(np.broadcast_arrays(*index))] if index else field.array[()], bad

    def operation(self, field):
        op, arguments = field.op, field.arguments
        if op == "f64":
            return Evaluation(self.coordinates, False).real(arguments[0])
        if op == "f32":
            value, bad = self.real(arguments[0])
            return np.asarray(value).astype(np.float32).astype(np.float64), bad
        if op in ("and", "or", "not"):
            return self.logic(op, arguments)
        if op == "select":
            return self.select(*arguments)
        if op in COMPARE:
            (a, bad_a), (b, bad_b) = self.pair(arguments)
            return COMPARE[op](a, b).astype(np.int64), either(bad_a, bad_b)
        if op == "clamp":
            x, low, high = arguments
            return self.operation(Operation("min", [Operation("max", [x, low]), high]))
        if is_real(field) or (op in FLOAT and any(map(is_real, arguments))):
            values, bads = zip(*map(self.real, arguments))
            with np.errstate(all="ignore"):
                out = self.rounded(FLOAT[op](*values), exact=op in ("min", "max", "abs", "neg", "floor", "ceil", "round"))
            # A missing value is an error only where a whole number is needed (whole_of), because log(0) may still be clamped.
            return out, either(*bads)
        values, bads = zip(*map(self, arguments))
        return self.whole(op, values, either(*bads))

    def pair(self, arguments):
        if any(map(is_real, arguments)):
            return [self.real(a) for a in arguments]
        return [self(a) for a in arguments]

    def logic(self, op, arguments):
        (a, bad), *rest = map(self, arguments)
        a = np.asarray(a) != 0
        if op == "not":
            return (~a).astype(np.int64), bad
        (b, bad_b), = rest
        b = np.asarray(b) != 0
        decided = (lambda x, bad: (~x if op == "and" else x) & (True if bad is None else ~bad))
        out = a & b if op == "and" else a | b
        both = either(bad, bad_b)
        if both is not None:
            sure = decided(a, bad) | decided(b, bad_b)
            out = np.where(sure, op == "or", out)
            both = both & ~sure
        return out.astype(np.int64), both

    def select(self, condition, a, b):
        c, bad = self(condition)
        c = np.asarray(c) != 0
        evaluate = self.real if is_real(a) or is_real(b) else self
        (x, bad_x), (y, bad_y) = evaluate(a), evaluate(b)
        if bad_x is not None or bad_y is not None:
            no = np.False_
            bad = either(bad, np.where(c, no if bad_x is None else bad_x, no if bad_y is None else bad_y))
        return np.where(c, x, y), bad

    def whole(self, op, values, bad):
        values = [np.asarray(v, np.int64) for v in values]
        if op in ("//", "%"):
            a, b = values
            zero = b == 0
            if np.any(zero):
                bad, b = either(bad, zero), np.where(zero, 1, b)
            return (a // b if op == "//" else a % b), bad
        if op in ("floor", "ceil", "round"):
            return values[0], bad
        if op in ("<<", ">>", "&"):
            return bits(op, *values, bad)
        out = {"+": np.add, "-": np.subtract, "*": np.multiply, "neg": np.negative, "abs": np.abs, "min": np.minimum,
               "max": np.maximum}[op](*values)
        if op in "+-*" and np.any(np.abs(FLOAT[op](*[v.astype(np.float64) for v in values])) > LIMIT):
            raise AttnError("whole numbers overflow in arithmetic on positions")
        return out, bad


def bits(op, a, b, bad):
    """Evaluates shifts by 0 to 62, which multiply with 2^r or divide by it, and `&` with a mask."""
    most = 2 ** 62 - 1 if op == "&" else 62
    strange = (b < 0) | (b > most)
    if np.any(strange if bad is None else strange & ~bad):
        raise AttnError(f"'{op}' by {b.min()}..{b.max()}: expected 0 to {most}")
    b = np.where(strange, 0, b)
    if op == "<<" and np.any(np.abs(a.astype(np.float64)) * 2.0 ** b > LIMIT):
        raise AttnError("whole numbers overflow in a shift")
    return (a & b if op == "&" else a << b if op == "<<" else a >> b), bad


def whole_of(value, bad, what):
    """Returns the value as an index. It must be whole wherever it exists."""
    value = np.asarray(value)
    if value.dtype.kind == "f":
        strange = ~np.isfinite(value)
        bad = either(bad, strange if np.any(strange) else None)
        value = np.where(strange, 0, value)
        fraction = value != np.floor(value)
        if np.any(fraction if bad is None else fraction & ~bad):
            raise AttnError(f"an index of '{what}' is not a whole number")
        value = np.clip(value, -2.0 ** 62, 2.0 ** 62).astype(np.int64)
    return value, bad
