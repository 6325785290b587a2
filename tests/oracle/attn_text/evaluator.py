"""Expressions to values: numbers, lists, fields, tensors."""
import re

import numpy as np

from . import syntax as s
from .einsum import einsum
from .errors import AttnError
from .functions import ONE, apply, logsumexp, select, softmax
from .moves import concat, gather, pad, rearrange, reshape, skew, sliced
from .positions import Constant, Field, Operation, Read, as_field, reads_tensors
from .scope import IndexOperand, Scope, bind_formals, run_part
from .tensors import Tensor, materialised, place


def evaluate(node, scope):
    return globals()["of_" + type(node).__name__.lower()](node, scope)


def of_number(node, scope):
    return node.value


def of_text(node, scope):
    return node.value


def of_name(node, scope):
    return scope.look_up(node.name, node.line)


def of_items(node, scope):
    return [evaluate(item, scope) for item in node.items]


def of_unary(node, scope):
    return apply("neg" if node.op == "-" else node.op, [evaluate(node.value, scope)], node.line, scope.parts)


def of_binary(node, scope):
    return apply(node.op, [evaluate(node.left, scope), evaluate(node.right, scope)], node.line, scope.parts)


def condition_on(tensor, node, scope):
    """Where a condition holds at the elements of a tensor; names are its axes."""
    condition = scope.inside_condition(tensor).evaluate(node)
    if isinstance(condition, (int, float)):
        return np.broadcast_to(np.bool_(condition != 0), tensor.shape)
    if not isinstance(condition, Field):
        raise AttnError("a condition is on positions", node.line)
    if reads_tensors(condition):
        raise AttnError("a condition reads positions and index operands alone", node.line)
    value, bad = place(condition, tensor, in_f32=True)
    if bad is not None:
        raise AttnError("a condition reads outside", node.line)
    return np.broadcast_to(np.asarray(value) != 0, tensor.shape)


def as_tensor(value, what, line):
    if isinstance(value, Field):
        return materialised(value)
    if not isinstance(value, Tensor):
        raise AttnError(f"{what} is of a tensor", line)
    return value


def of_where(node, scope):
    value = as_tensor(evaluate(node.value, scope), "where", node.line)
    hidden = ~condition_on(value, node.condition, scope)
    if value.absent is not None:
        hidden = hidden | value.absent
    return Tensor(value.data, value.names, hidden)


def of_conditional(node, scope):
    then, otherwise = evaluate(node.then, scope), evaluate(node.otherwise, scope)
    return choice(node.condition, then, otherwise, scope, node.line)


def choice(condition, a, b, scope, line):
    inner = scope
    for tensor in (a, b):
        if isinstance(tensor, Tensor):
            inner = inner.inside_condition(tensor)
    return select(inner.evaluate(condition), a, b, scope, line)


def of_subscript(node, scope):
    base = evaluate(node.base, scope)
    if any(isinstance(each, (s.Slice, s.Dots, s.New)) for each in node.subscripts):
        return moved(slice_of(as_tensor(base, "a slice", node.line), node, scope), base)
    subscripts = [evaluate(each, scope) for each in node.subscripts]
    if isinstance(base, list):
        return element(base, subscripts, node.line)
    if not isinstance(base, (Tensor, IndexOperand)):
        raise AttnError("subscripts are of tensors, index operands and lists", node.line)
    array = base.array if isinstance(base, IndexOperand) else base.present("a subscript").data
    if isinstance(base, Tensor) and len(subscripts) < array.ndim and all(isinstance(each, int) for each in subscripts):
        return moved(slice_of(base, node, scope), base)
    if len(subscripts) != array.ndim:
        raise AttnError(f"{len(subscripts)} subscripts for {array.ndim} dimensions", node.line)
    return moved(read(array, subscripts, getattr(base, "name", "a tensor"), node.line), base)


def moved(value, base):
    """Moved elements of a condition on values are one."""
    value.truth = getattr(base, "truth", False)
    return value


def read(array, subscripts, name, line):
    fields = [as_field(each) for each in subscripts]
    if any(map(reads_tensors, fields)):
        raise AttnError("an index is made of positions and index operands", line)
    return Read(name, array, fields)


def slice_of(tensor, node, scope):
    def end(each):
        return None if each is None else scope.whole(each, "an end")

    subscripts = []
    for each in node.subscripts:
        if isinstance(each, s.Slice):
            subscripts.append(slice(end(each.low), end(each.high), end(each.step)))
        else:
            subscripts.append(Ellipsis if isinstance(each, s.Dots) else None if isinstance(each, s.New)
                              else scope.whole(each, "an index"))
    return sliced(tensor, subscripts, node.line)


def element(items, subscripts, line):
    """map[0], or a constant list that positions read."""
    if all(isinstance(each, int) for each in subscripts):
        for each in subscripts:
            if not isinstance(items, list) or not 0 <= each < len(items):
                raise AttnError(f"the index {each} is outside the list", line)
            items = items[each]
        return items
    array = np.array(items)
    if array.dtype.kind not in "if" or array.ndim != len(subscripts):
        raise AttnError("a list that positions read holds numbers", line)
    return read(array.astype(np.int64 if array.dtype.kind == "i" else np.float64), subscripts, "a list", line)


# Calls.
def of_call(node, scope):
    scheme, program = scope.program.scheme(node.name)
    if scheme is not None:
        return call_scheme(scheme, node, scope, program)
    handler = CALLS.get(node.name)
    if node.name in EXTREMA and (len(node.positional) == 1 or node.named):
        if len(node.positional) != 1:
            raise AttnError(f"'{node.name}' is of two values, or along an axis", node.line)
        handler = EXTREMA[node.name]
    if handler is not None:
        return handler(node, scope)
    if node.name in ONE or node.name in ("min", "max", "clamp", "f32", "f64"):
        values = [evaluate(each, scope) for each in node.positional]
        if node.named:
            raise AttnError(f"'{node.name}' takes no names", node.line)
        if len(values) != (2 if node.name in ("min", "max") else 3 if node.name == "clamp" else 1):
            raise AttnError(f"'{node.name}' of {len(values)} arguments", node.line)
        return apply(node.name, values, node.line, scope.parts)
    raise AttnError(f"unknown function '{node.name}'", node.line)


def call_scheme(scheme, node, scope, program):
    if scope.program.depth > 100:
        raise AttnError("schemes call each other without end", node.line)
    inner = bind_formals(scheme, node, scope, program)
    scope.program.depth += 1
    try:
        return run_body(scheme.body, inner)[0]
    finally:
        scope.program.depth -= 1


def run_body(body, scope):
    for statement in body:
        if isinstance(statement, s.Assign):
            value = evaluate(statement.value, scope)
            if statement.apart:
                if isinstance(value, Tensor) and len(value.shape) > 1:
                    value = [sliced(value, [at], statement.line) for at in range(value.shape[0])]
                if not isinstance(value, list) or len(value) != len(statement.names):
                    raise AttnError(f"expected a list of {len(statement.names)}", statement.line)
                for name, item in zip(statement.names, value):
                    scope.assign(name, item, statement.line)
            else:
                scope.assign(statement.names[0], value, statement.line)
        elif isinstance(statement, s.Require):
            if not scope.number(statement.condition, "what is required"):
                raise AttnError(statement.message, statement.line)
        elif isinstance(statement, s.Part):
            run_part(statement, scope)
        else:
            return [evaluate(value, scope) for value in statement.values]
    raise AttnError("a body ends with return")


def arguments(node, names, scope, required):
    """Positional and named arguments of a function by these names; trees."""
    out = dict(zip(names, node.positional))
    if len(node.positional) > len(names):
        raise AttnError(f"'{node.name}' of {len(node.positional)} arguments", node.line)
    out.update({name: value for name, value in node.named.items() if name in names})
    missing = [name for name in required if name not in out]
    if missing:
        raise AttnError(f"'{node.name}' lacks '{missing[0]}'", node.line)
    return out


def numbers(node, scope):
    value = scope.evaluate(node)
    value = value if isinstance(value, list) else [value]
    if not all(isinstance(each, int) for each in value):
        raise AttnError("expected whole numbers", node.line)
    return value


def call_einsum(node, scope):
    text = evaluate(node.positional[0], scope)
    if not isinstance(text, str):
        raise AttnError("an einsum begins with its text", node.line)
    operands = [evaluate(each, scope) for each in node.positional[1:]]
    condition = node.named.get("where")
    given = {name: scope.whole(value) for name, value in node.named.items() if name not in ("where", "sum")}
    out = einsum((text, operands, given, condition, node.line), scope)
    before, _, after = text.partition("->")
    if len(operands) == 1 and condition is None and set(re.findall(r"\w+", before)) <= set(re.findall(r"\w+", after)):
        moved(out, operands[0])
    for name in names_of_axes(node.named["sum"]) if "sum" in node.named else ():
        if name not in text.split("->")[0] or name in text.split("->")[1].split():
            raise AttnError(f"'{name}' is not summed over", node.line)
    return out


def names_of_axes(node):
    items = node.items if isinstance(node, s.Items) else [node]
    return [each.name for each in items if isinstance(each, s.Name)]


def along_axes(node, scope, names=("x", "axis")):
    """The tensor of sum(x, d), sum(x, (i, d)), sum(x, -1), and the dimensions meant: those of an axis that is a part of one are taken
    apart first. Also how to put dimensions together again where nothing of them went."""
    given = arguments(node, list(names), scope, ["x"])
    tensor = as_tensor(evaluate(given["x"], scope), node.name, node.line).present(f"'{node.name}'")
    what = given.get("axis", node.named.get("axis", node.named.get("dim")))
    if what is None or len(node.positional) + len(node.named) > 2:
        raise AttnError(f"'{node.name}' lacks an axis", node.line)
    whole, parts = set(), {}
    for each in what.items if isinstance(what, s.Items) else [what]:
        if isinstance(each, s.Name) and each.name in tensor.axes():
            if isinstance(scope.value_of(each.name), (int, float)):
                raise AttnError(f"'{each.name}' is an axis and a value", node.line)
            at, inner, size = tensor.axes()[each.name]
            factors = next(f for f in tensor.names[at] if any(name == each.name for name, _ in f))
            if (each.name, size) in parts.get(at, (None, []))[1] or parts.get(at, (factors,))[0] != factors or at in whole:
                raise AttnError(f"'{each.name}' is named already", node.line)
            parts.setdefault(at, (factors, []))[1].append((each.name, size))
            continue
        if isinstance(each, s.Name) and scope.value_of(each.name) is None:
            raise AttnError(f"the tensor has no axis '{each.name}'", node.line)
        at = scope.whole(each, "a dimension")
        if not -len(tensor.shape) <= at < len(tensor.shape) or at % len(tensor.shape) in whole | set(parts):
            raise AttnError(f"there is no other dimension {at}", node.line)
        whole.add(at % len(tensor.shape))
    shape, names, chosen = [], [], []
    for at, size in enumerate(tensor.shape):
        for factor in parts[at][0] if at in parts else [(None, size)]:
            if at in whole or (at in parts and factor in parts[at][1]):
                chosen.append(len(shape))
            shape.append(factor[1])
            names.append((at, [(factor,)] if at in parts else tensor.names[at]))
    data = tensor.data if tensor.hidden is None else np.where(tensor.hidden, 0, tensor.data)
    return tensor, data.reshape(shape), chosen, names


def reduced(function):
    def call(node, scope):
        _, data, chosen, names = along_axes(node, scope)
        with np.errstate(all="ignore"):
            out = function(data, tuple(chosen))
        kept = [name for k, name in enumerate(names) if k not in chosen]
        # What is left of one dimension is one dimension.
        dimensions = sorted({at for at, _ in kept})
        shape, labels = [], []
        for at in dimensions:
            sizes = [size for size, (of, _) in zip(out.shape, kept) if of == at]
            own = [label for of, label in kept if of == at]
            shape.append(int(np.prod(sizes)))
            labels.append(own[0] if len(own) == 1 else [tuple(factor for label in own for factor in label[0])])
        return Tensor(out.reshape(shape), labels)
    return call


def call_cumsum(node, scope):
    tensor, data, chosen, _ = along_axes(node, scope)
    if len(chosen) != 1:
        raise AttnError("'cumsum' runs along one axis", node.line)
    with np.errstate(all="ignore"):
        out = np.cumsum(data, chosen[0]).reshape(tensor.shape)
    hidden = tensor.hidden
    if hidden is not None:
        hidden = np.logical_and.accumulate(np.broadcast_to(hidden, tensor.shape).reshape(data.shape), chosen[0]).reshape(tensor.shape)
    return Tensor(np.where(False if hidden is None else hidden, 0, out), tensor.names, None, hidden)


def over_keys(function):
    def call(node, scope):
        given = arguments(node, ["x", "where"], scope, ["x"])
        x = as_tensor(evaluate(given["x"], scope), node.name, node.line)
        return function(x, condition_on(x, given["where"], scope) if "where" in given else None)
    return call


def call_tabulate(node, scope):
    sizes = {name: scope.whole(value) for name, value in node.named.items()}
    if len(node.positional) != 1 or not sizes:
        raise AttnError("tabulate(function, axis = size, …)", node.line)
    inner = scope.without_positions(sizes)
    value = inner.position(node.positional[0])
    # In this order, and over axes that it does not depend on, too.
    for name in sizes:
        value = Operation("+", [value, Operation("*", [Constant(0), inner.axis(name)])])
    tensor = materialised(value, sizes)
    with np.errstate(over="ignore"):
        return tensor.like(tensor.data.astype(np.float32).astype(np.float64))


def call_pad(node, scope):
    tensor = as_tensor(evaluate(node.positional[0], scope), "pad", node.line)
    value = scope.number(node.named["value"]) if "value" in node.named else 0
    if "low" in node.named or "high" in node.named:
        low = numbers(node.named["low"], scope) if "low" in node.named else []
        high = numbers(node.named["high"], scope) if "high" in node.named else []
    else:
        pairs = [numbers(each, scope) for each in node.positional[1:]]
        if any(len(pair) != 2 for pair in pairs):
            raise AttnError("pad: pairs of numbers", node.line)
        low, high = [pair[0] for pair in pairs], [pair[1] for pair in pairs]
    return pad(tensor, low, high, value)


def call_reshape(node, scope):
    tensor = as_tensor(evaluate(node.positional[0], scope), "reshape", node.line)
    if len(node.positional) == 2:
        return moved(reshape(tensor, numbers(node.positional[1], scope)), tensor)
    return moved(reshape(tensor, [scope.whole(size) for size in node.positional[1:]]), tensor)


def call_rearrange(node, scope):
    tensor = as_tensor(evaluate(node.positional[0], scope), node.name, node.line)
    text = evaluate(node.positional[1], scope)
    return moved(rearrange(tensor, text, {name: scope.whole(value) for name, value in node.named.items()}, scope, node.line), tensor)


def call_concat(node, scope):
    tensors = [as_tensor(evaluate(each, scope), "concat", node.line) for each in node.positional]
    if "dim" not in node.named:
        raise AttnError("concat lacks 'dim'", node.line)
    return concat(tensors, scope.whole(node.named["dim"]), node.line)


def call_gather(node, scope):
    tensor = as_tensor(evaluate(node.positional[0], scope), "gather", node.line)
    sizes = {name: scope.whole(value) for name, value in node.named.items() if name != "dim"}
    field = scope.without_positions(sizes).position(node.positional[1])
    return gather(tensor, field, sizes, scope.whole(node.named["dim"]), node.line)


def call_len(node, scope):
    if len(node.positional) != 1 or not isinstance(node.positional[0], s.Name):
        raise AttnError("len of an axis", node.line)
    return scope.length(node.positional[0].name, node.line)


def call_select(node, scope):
    if len(node.positional) != 3:
        raise AttnError("select(condition, a, b)", node.line)
    a, b = (evaluate(each, scope) for each in node.positional[1:])
    return choice(node.positional[0], a, b, scope, node.line)


def call_skew(node, scope):
    return skew(as_tensor(evaluate(node.positional[0], scope), "skew", node.line))


CALLS = {"einsum": call_einsum, "softmax": over_keys(softmax), "logsumexp": over_keys(logsumexp),
         "tabulate": call_tabulate, "pad": call_pad, "reshape": call_reshape, "rearrange": call_rearrange,
         "broadcast": call_rearrange, "concat": call_concat, "gather": call_gather, "len": call_len,
         "select": call_select, "skew": call_skew, "sum": reduced(np.sum), "mean": reduced(np.mean), "cumsum": call_cumsum}
EXTREMA = {"max": reduced(lambda x, axes: np.max(x, axes, initial=-np.inf)), "min": reduced(lambda x, axes: np.min(x, axes, initial=np.inf))}
