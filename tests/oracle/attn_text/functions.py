"""Functions of numbers, positions and tensors, element by element; softmax and logsumexp."""
import math

import numpy as np

from .axes import closure
from .errors import AttnError
from .joining import combine
from .positions import COMPARE, FLOAT, Constant, Field, Operation, Read, as_field, axes_of, either, is_real, reads_tensors
from .tensors import Tensor

ONE = {"exp", "log", "sqrt", "rsqrt", "sigmoid", "tanh", "relu", "abs", "sin", "cos", "erf", "floor", "ceil", "round"}
ELEMENTWISE = ONE | {"min", "max", "clamp", "select", "f32", "f64"}


def on_numbers(op, values):
    """Checks a number: it is finite, or infinite because one of `values` is; whole numbers have 64 bits."""
    value = arithmetic(op, values)
    if isinstance(value, complex) or value != value or (isinstance(value, int) and not -2**63 <= value < 2**63):
        raise AttnError(f"'{op}' of {', '.join(map(str, values))} is no number of 64 bits")
    return value


def arithmetic(op, values):
    a = values[0]
    try:
        if op == "neg":
            return -a
        if op == "not":
            return int(not a)
        if op == "abs":
            return abs(a)
        if op in ("floor", "ceil"):
            return getattr(math, op)(a)
        if op == "round":
            return round(a)
        if op in ("min", "max"):
            return min(values) if op == "min" else max(values)
        if op == "clamp":
            return min(max(a, values[1]), values[2])
        if op == "f32":
            return float(np.float32(a))
        if op == "f64":
            return float(a)
        if op in ("and", "or"):
            return int(bool(a) and bool(values[1]) if op == "and" else bool(a) or bool(values[1]))
        if op in COMPARE:
            return int(COMPARE[op](a, values[1]))
        if op in ("+", "-", "*"):
            b = values[1]
            return a + b if op == "+" else a - b if op == "-" else a * b
        if op in ("//", "%"):
            if not all(isinstance(each, int) for each in values):
                raise AttnError(f"'{op}' divides whole numbers")
            return a // values[1] if op == "//" else a % values[1]
        if op in ("<<", ">>", "&"):
            b, most = values[1], 2 ** 62 - 1 if op == "&" else 62
            if not all(isinstance(each, int) for each in values) or not 0 <= b <= most:
                raise AttnError(f"'{op}' is of whole numbers, the second from 0 to {most}")
            return a & b if op == "&" else a << b if op == "<<" else a >> b
        if op == "/":
            b = values[1]
            return a // b if isinstance(a, int) and isinstance(b, int) and a % b == 0 else a / b
        if op == "^":
            return a ** values[1]
        with np.errstate(all="ignore"):
            value = float(FLOAT[op](np.float64(a)))
        if not math.isfinite(value):
            raise AttnError(f"'{op}' of {a} is no finite number", line=None)
        return value
    except (ZeroDivisionError, OverflowError, ValueError) as error:
        raise AttnError(f"{op}: {error}") from None


def is_condition(field):
    """Returns whether the field consists of comparisons of whole numbers."""
    if not isinstance(field, Operation):
        return False
    if field.op in ("and", "or", "not"):
        return all(map(is_condition, field.arguments))
    return field.op in COMPARE and not any(map(is_real, field.arguments))


def is_truth(value):
    """Returns whether it is a condition on values: comparisons of tensors, joined by `and`, `or` and `not`."""
    if isinstance(value, (Tensor, Read)):
        return getattr(value, "truth", False)
    if not isinstance(value, Operation) or not reads_tensors(value):
        return False
    if value.op in ("and", "or", "not"):
        return all(is_truth(each) or is_condition(each) or is_bit(each) for each in value.arguments)
    return value.op in COMPARE


def is_bit(value):
    return getattr(value, "value", value) in (0, 1) if isinstance(value, (int, Constant)) else False


def truth_of(op, values, line):
    """Evaluates a comparison of tensors, or joined conditions on values, to a tensor of 1 and 0."""
    if op in COMPARE:
        for value in values:
            if isinstance(value, Tensor):
                value.present(f"'{op}'")
        function = COMPARE[op]
    else:
        for value in values:
            if not (is_truth(value) or is_bit(value) or (isinstance(value, Field) and is_condition(value))):
                raise AttnError(f"'{op}' is of conditions", line)
        function = {"and": np.logical_and, "or": np.logical_or, "not": np.logical_not}[op]
    out = combine(lambda *arrays: function(*arrays).astype(np.float64), values, "a comparison")
    out.truth, out.minus = True, None
    return out


def chosen(condition, a, b):
    """Chooses between numbers by a condition on values; the other one does not count."""
    return combine(lambda c, x, y: np.where(c != 0, x, y), [condition, a, b], "a choice by values")


def keeps(values):
    """Evaluates a tensor times a condition on its axes: the tensor where the condition holds, and 0 elsewhere, even for NaN."""
    tensors = [v for v in values if isinstance(v, Tensor)]
    if len(tensors) != 1 or tensors[0].absent is not None or tensors[0].minus is not None:
        return False
    names = {name for factorisations in tensors[0].names for factors in factorisations for name, _ in factors}
    return all(isinstance(v, Tensor) or (is_condition(v) and set(axes_of(v)) <= names) for v in values)


def taken_away(values):
    """Returns a tensor times a condition; its elements are missing where the condition does not hold."""
    tensor, condition = values if isinstance(values[0], Tensor) else values[::-1]
    return without(combine(lambda x, c: np.where(c != 0, x, 0.0), [tensor, condition], "a product"), condition, 0)


def without(tensor, condition, value):
    """Returns the tensor without the elements at which the condition has this value."""
    shape = Tensor(np.zeros(tensor.shape), tensor.names)
    gone = combine(lambda _, c: (c != 0) == bool(value), [shape, condition], "a product")
    tensor.hidden = either(tensor.hidden, gone.data != 0)
    return tensor


def apply(op, values, line=None):
    """Applies one operation to arguments of any kind."""
    for value in values:
        if not isinstance(value, (int, float, Field, Tensor)):
            raise AttnError(f"'{op}' of {getattr(value, 'what', type(value).__name__)}", line)
    if any(isinstance(v, Tensor) for v in values):
        if op in ("and", "or", "not") or op in COMPARE:
            return truth_of(op, values, line)
        if op == "*" and any(map(is_truth, values)) and all(is_truth(v) or reads(v) for v in values):
            return chosen(*sorted(values, key=lambda v: not is_truth(v)), 0)
        if op == "f32":  # arithmetic on tensors is in f32 for every stored type
            return values[0]
        if op == "clamp":
            function = (lambda x, low, high: np.minimum(np.maximum(x, low), high))
        elif op in ("//", "%", "f64", "<<", ">>", "&"):
            raise AttnError(f"'{op}' is of numbers and positions", line)
        elif op == "*" and keeps(values):
            return taken_away(values)
        else:
            function = FLOAT[op]
        return combine(function, values, op)
    if any(isinstance(v, Field) for v in values):
        if op in ("//", "%") and isinstance(values[1], float):
            raise AttnError(f"'{op}' divides positions by whole numbers", line)
        if op in ("<<", ">>", "&") and any(is_real(as_field(each)) for each in values):
            raise AttnError(f"'{op}' is of whole numbers", line)
        if op == "*" and any(map(is_truth, values)) and all(is_truth(v) or reads(v) for v in values):
            return Operation("select", [*sorted(values, key=lambda v: not is_truth(v)), Constant(0)])
        return Operation(op, [as_field(v) for v in values])
    return on_numbers(op, values)


def reads(value):
    return isinstance(value, Tensor) or (isinstance(value, Field) and reads_tensors(value))


def select(condition, a, b, line):
    """Evaluates `x if P else y` and select(P, x, y) over the axes of x and y and those that P names. P is not a number."""
    if not all(isinstance(each, (int, float, Field, Tensor)) for each in (a, b)):
        raise AttnError("a choice is between numbers, positions and tensors", line)
    if is_truth(condition) and any(isinstance(each, Tensor) for each in (condition, a, b)):
        return chosen(condition, a, b)
    if not isinstance(condition, Field) or (reads_tensors(condition) and not is_truth(condition)):
        raise AttnError("what decides is no condition", line)
    if not isinstance(a, Tensor) and not isinstance(b, Tensor):
        return Operation("select", [condition, as_field(a), as_field(b)])
    out = combine(lambda c, x, y: np.where(c != 0, x, y), [condition, a, b], "a choice")
    for value, number in ((0, b), (1, a)):
        if isinstance(number, (int, float)) and number == 0:
            out = without(out, condition, value)
    return out


def decided(taken, other):
    """Returns the branch that a number has chosen, over the axes of both."""
    if isinstance(taken, (int, float)) and isinstance(other, (int, float)):
        return taken
    if not all(isinstance(each, (int, float, Field, Tensor)) for each in (taken, other)):
        return taken
    if not isinstance(taken, Tensor) and not isinstance(other, Tensor):
        return Operation("select", [Constant(1), as_field(taken), as_field(other)])
    if isinstance(other, Tensor):
        other = Tensor(np.zeros(other.shape), other.names)
        if isinstance(taken, Tensor) and taken.shape == other.shape and taken.names == other.names:
            return taken
    elif isinstance(taken, Tensor) and (isinstance(other, (int, float)) or set(axes_of(other)) <= set(taken.axes())):
        return taken
    out = combine(lambda x, _: x, [taken, other], "a choice")
    out.truth = getattr(taken, "truth", False)
    return out


def shown(tensor, keep):
    """Returns the tensor for softmax, with -inf for absent elements."""
    absent = np.False_
    for each in (tensor.absent, tensor.minus):
        absent = absent if each is None else absent | each
    if keep is not None:
        absent = absent | ~keep
    return np.where(absent, -np.inf, tensor.data), np.broadcast_to(absent, tensor.shape)


def softmax(tensor, keep, at):
    x, absent = shown(tensor, keep)
    with np.errstate(all="ignore"):
        top = np.max(x, at, keepdims=True, initial=-np.inf)
        weights = np.where(absent, 0, np.exp(x - np.where(np.isfinite(top) | np.isnan(top), top, 0)))
        total = weights.sum(at, keepdims=True)
        out = np.where(total == 0, 0, weights / total)
    result = Tensor(np.where(absent, 0, out), tensor.names, hidden=absent if np.any(absent) else None)
    result.before, result.soft = tensor.before, tensor.soft
    return result


def logsumexp(tensor, keep, at):
    x, absent = shown(tensor, keep)
    with np.errstate(all="ignore"):
        top = np.max(x, at, keepdims=True, initial=-np.inf)
        safe = np.where(np.isfinite(top) | np.isnan(top), top, 0)
        out = safe + np.log(np.where(absent, 0, np.exp(x - safe)).sum(at, keepdims=True))
        out = np.where(np.any(np.isposinf(x), at, keepdims=True), np.inf, out)
    return dropped(tensor, np.squeeze(out, at), at)


def dropped(tensor, data, at):
    """Returns a result without one dimension of the tensor."""
    out = Tensor(data, tensor.names[:at] + tensor.names[at + 1:])
    if tensor.before is not None:
        left = (lambda k: k - (k > at))
        out.before = {(left(a), left(b)) for a, b in closure(tensor.before) if at not in (a, b)}
    out.soft = tensor.soft
    return out
