"""Evaluates expressions to values: numbers, lists, fields, tensors."""
import re

import numpy as np

from . import syntax as s
from .axes import Known, Symbol, closure
from .einsum import einsum
from .errors import AttnError, UnknownSize
from .functions import ONE, apply, decided, dropped, logsumexp, select, softmax
from .moves import concat, gather, pad, rearrange, reshape, skew, sliced
from .positions import Axis, Constant, Field, Operation, Read, as_field, reads_tensors
from .schemes import call_scheme
from .scope import IndexOperand, NumbersOnly, OnTensor, Positions
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
    return apply("neg" if node.op == "-" else node.op, [evaluate(node.value, scope)], node.line)


def of_binary(node, scope):
    if node.op == "^":
        exponent = evaluate(node.right, scope)
        below = isinstance(exponent, (int, float)) and exponent < 0
        return apply("^", [divisor(node.left, scope) if below else evaluate(node.left, scope), exponent], node.line)
    left = evaluate(node.left, scope)
    return apply(node.op, [left, divisor(node.right, scope) if node.op == "/" else evaluate(node.right, scope)], node.line)


def divisor(node, scope):
    """Evaluates a divisor. A position would be 0 at place 0, so that a name of an axis and of a number is the number here."""
    if isinstance(node, s.Name) and node.name in scope.axes and isinstance(scope.value_of(node.name), (int, float)):
        return scope.value_of(node.name)
    if isinstance(node, s.Binary) and node.op == "*":
        return apply("*", [divisor(node.left, scope), divisor(node.right, scope)], node.line)
    if isinstance(node, s.Binary) and node.op == "^":
        exponent = evaluate(node.right, scope)
        if isinstance(exponent, (int, float)):
            return apply("^", [divisor(node.left, scope), exponent], node.line)
    if isinstance(node, s.Call) and node.name in ("sqrt", "rsqrt") and len(node.positional) == 1 and scope.program.scheme(node.name)[0] is None:
        return apply(node.name, [divisor(node.positional[0], scope)], node.line)
    return evaluate(node, scope)


def condition_on(tensor, node, scope):
    """Returns where a condition holds at the elements of a tensor; names are its axes."""
    condition = OnTensor(scope, tensor).evaluate(node)
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
    out = value.like(value.data)
    out.absent, out.hidden = hidden, None  # elements of -inf stay as they are
    return out


def of_conditional(node, scope):
    return choice(node.condition, node.then, node.otherwise, scope, node.line)


def choice(condition, a, b, scope, line):
    condition = evaluate(condition, scope)
    if isinstance(condition, (int, float)):
        taken, other = (a, b) if condition else (b, a)
        value = evaluate(taken, scope)
        try:
            return decided(value, evaluate(other, scope))
        except UnknownSize:
            raise
        except AttnError:   # a branch that is not taken need not exist
            return value
    return select(condition, evaluate(a, scope), evaluate(b, scope), line)


def of_subscript(node, scope):
    base = scope.whole_value(node.base)
    if len(node.subscripts) == 1 and isinstance(node.subscripts[0], s.Dots):
        return base                                   # k[...] is the value, even if an axis has its name
    if any(isinstance(each, (s.Slice, s.Dots, s.New)) for each in node.subscripts):
        return moved(slice_of(as_tensor(base, "a slice", node.line), node, scope), base)
    subscripts = [evaluate(each, scope) for each in node.subscripts]
    subscripts = [materialised(each) if isinstance(each, Field) and reads_tensors(each) else each for each in subscripts]
    if isinstance(base, list):
        return element(base, subscripts, node.line)
    if isinstance(base, Field):
        base = materialised(base)
    if not isinstance(base, (Tensor, IndexOperand)):
        raise AttnError("subscripts are of tensors, index operands and lists", node.line)
    array = base.array if isinstance(base, IndexOperand) else base.present("a subscript").ordered("a subscript").data
    if isinstance(base, Tensor) and len(subscripts) < array.ndim and all(isinstance(each, int) for each in subscripts):
        return moved(slice_of(base, node, scope), base)
    if len(subscripts) != array.ndim:
        raise AttnError(f"{len(subscripts)} subscripts for {array.ndim} dimensions", node.line)
    for subscript, size in zip(subscripts, array.shape):
        if isinstance(subscript, Axis) and not subscript.stretch:
            if subscript.fixed is None:
                subscript.symbol.read.add(size)
                if not subscript.symbol.told:
                    continue
            elif subscript.fixed < size and not subscript.absolute:
                raise AttnError(f"'{subscript.symbol}' is {subscript.fixed} long, this dimension {size}: cut it", node.line)
    picked = [(at, each, Axis(Symbol("row"), array.shape[at])) for at, each in enumerate(subscripts) if isinstance(each, Tensor)]
    for at, each, rows in picked:
        if isinstance(base, IndexOperand) or not each.present("a subscript").is_named():
            raise AttnError("an index that is a tensor has names, and reads a tensor", node.line)
        subscripts[at] = rows
    value = moved(read(array, subscripts, getattr(base, "name", "a tensor"), node.line), base)
    for _, each, rows in picked:
        value = among_rows(value, each, rows, node.line)
    return value


def among_rows(value, index, rows, line):
    """Returns the row whose number the index is, and 0 if no row has that number."""
    every = select(apply("==", [index, rows], line), value, 0, line)
    at = next(k for k, names in enumerate(every.names) if any(symbol is rows.symbol for factors in names for symbol, _ in factors))
    return dropped(every, every.data.sum(at), at)


def moved(value, base):
    """Marks moved elements of a condition on values as a condition on values."""
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
            subscripts.append(Ellipsis if isinstance(each, s.Dots) else None if isinstance(each, s.New) else index(each, scope))
    return sliced(tensor, subscripts, node.line)


def index(node, scope):
    value = scope.evaluate(node)
    if not isinstance(value, int):
        raise AttnError("an index beside slices is a whole number", node.line)
    return value


def element(items, subscripts, line):
    """Evaluates map[0], or a read of a constant list at positions."""
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
        values = [(divisor if node.name == "rsqrt" else evaluate)(each, scope) for each in node.positional]
        if node.named:
            raise AttnError(f"'{node.name}' takes no names", node.line)
        if len(values) != (2 if node.name in ("min", "max") else 3 if node.name == "clamp" else 1):
            raise AttnError(f"'{node.name}' of {len(values)} arguments", node.line)
        return apply(node.name, values, node.line)
    raise AttnError(f"unknown function '{node.name}'", node.line)


def arguments(node, names, scope, required):
    """Returns the positional and named arguments of a function by these names, as trees."""
    out = dict(zip(names, node.positional))
    if len(node.positional) > len(names):
        raise AttnError(f"'{node.name}' of {len(node.positional)} arguments", node.line)
    out.update({name: value for name, value in node.named.items() if name in names})
    missing = [name for name in required if name not in out]
    if missing:
        raise AttnError(f"'{node.name}' lacks '{missing[0]}'", node.line)
    return out


def numbers(node, scope):
    items = node.items if isinstance(node, s.Items) else [node]
    out = []
    for each in items:
        value = NumbersOnly(scope).evaluate(each)
        out += value if isinstance(value, list) else [value]
    if not all(isinstance(each, int) for each in out):
        raise AttnError("expected whole numbers", node.line)
    return out


def call_einsum(node, scope):
    text = evaluate(node.positional[0], scope) if node.positional else None
    if not isinstance(text, str):
        raise AttnError("an einsum begins with its text", node.line)
    operands = [scope.whole_value(each) for each in node.positional[1:]]
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


def along_axes(node, scope, most=2):
    """Returns the tensor of sum(x, d), sum(x, (i, d)) or sum(x, -1), and its dimensions as [(dimension, factor or None)]."""
    given = arguments(node, ["x", "axis"], scope, ["x"])
    tensor = as_tensor(scope.whole_value(given["x"]), node.name, node.line)
    what = given.get("axis", node.named.get("axis", node.named.get("dim")))
    if len(node.positional) + len(node.named) > most:
        raise AttnError(f"'{node.name}' of more than an axis", node.line)
    chosen = []
    for each in [] if what is None else what.items if isinstance(what, s.Items) else [what]:
        if isinstance(each, s.Name) and each.name in scope.axes:
            if scope.has_number(each.name) or isinstance(scope.value_of(each.name) if scope.has_value(each.name) else None, (int, float)):
                scope.contested(each.name, node.line)
            symbol, own = scope.symbol(each.name, node.line), tensor.axes()
            if symbol not in own:
                raise AttnError(f"no axis '{each.name}': the tensor's axes are {tensor.spoken()}", node.line)
            at, _, size = own[symbol]
            factors = next(f for f in tensor.names[at] if any(other is symbol for other, _ in f))
            chosen.append((at, factors, (symbol, size)) if len(factors) > 1 else (at, None, None))
        else:
            at = scope.whole(each, "a dimension")
            if not -len(tensor.shape) <= at < len(tensor.shape):
                raise AttnError(f"there is no dimension {at}", node.line)
            chosen.append((stands(tensor, at % len(tensor.shape), node), None, None))
    for k, one in enumerate(chosen):
        for other in chosen[:k]:
            if one[0] == other[0] and (one[1] != other[1] or one[2] == other[2]):
                raise AttnError("an axis is named already", node.line)
    return tensor, chosen


def stands(tensor, at, node):
    """Returns a dimension by its place, if the call gives places."""
    pairs = closure(tensor.pairs())
    if not all((k, at) in pairs if k < at else (at, k) in pairs for k in range(len(tensor.shape)) if k != at):
        raise AttnError(f"'{node.name}': {tensor.spoken()} stand in no order here: name the axis", node.line)
    return at


def apart(tensor, data, chosen):
    """Returns (data with the named factors of products split, its chosen dimensions, [(dimension, label)])."""
    shape, labels, meant = [], [], []
    for at, size in enumerate(tensor.shape):
        here = [(factors, factor) for k, factors, factor in chosen if k == at]
        split = here[0][0] if here and here[0][0] else None
        for factor in split or [(None, size)]:
            if here and (split is None or any(factor == other for _, other in here)):
                meant.append(len(shape))
            shape.append(factor[1])
            labels.append((at, [(factor,)] if split else tensor.names[at]))
    return data.reshape(shape), meant, labels


def reduced(function):
    def call(node, scope):
        tensor, chosen = along_axes(node, scope)
        if not chosen:
            raise AttnError(f"'{node.name}' lacks an axis", node.line)
        tensor.present(f"'{node.name}'")
        data, meant, names = apart(tensor, tensor.data if tensor.hidden is None else np.where(tensor.hidden, 0, tensor.data), chosen)
        with np.errstate(all="ignore"):
            out = function(data, tuple(meant))
        kept = [name for k, name in enumerate(names) if k not in meant]
        # The rest of one dimension is one dimension.
        dimensions = sorted({at for at, _ in kept})
        shape, labels = [], []
        for at in dimensions:
            sizes = [size for size, (of, _) in zip(out.shape, kept) if of == at]
            own = [label for of, label in kept if of == at]
            shape.append(int(np.prod(sizes)))
            labels.append(own[0] if len(own) == 1 else [tuple(factor for label in own for factor in label[0])])
        result = Tensor(out.reshape(shape), labels)
        if tensor.before is not None:
            result.before = {(dimensions.index(a), dimensions.index(b)) for a, b in closure(tensor.before) if a in dimensions and b in dimensions}
        result.soft = tensor.soft
        return result
    return call


def call_cumsum(node, scope):
    tensor, chosen = along_axes(node, scope)
    if len(chosen) != 1:
        raise AttnError("'cumsum' runs along one axis", node.line)
    tensor.present("'cumsum'")
    data, meant, _ = apart(tensor, tensor.data if tensor.hidden is None else np.where(tensor.hidden, 0, tensor.data), chosen)
    with np.errstate(all="ignore"):
        out = np.cumsum(data, meant[0]).reshape(tensor.shape)
    hidden = tensor.hidden
    if hidden is not None:
        hidden = np.logical_and.accumulate(np.broadcast_to(hidden, tensor.shape).reshape(data.shape), meant[0]).reshape(tensor.shape)
    result = tensor.like(np.where(False if hidden is None else hidden, 0, out))
    result.hidden, result.minus = hidden, None
    return result


def over_keys(function):
    def call(node, scope):
        given = s.Call(node.line, node.name, node.positional[:1], {k: v for k, v in node.named.items() if k != "where"})
        x, chosen = along_axes(given, scope)
        if len(node.positional) > 2 or len(chosen) > 1 or (chosen and chosen[0][1]) or set(node.named) - {"where", "axis", "dim", "x"}:
            raise AttnError(f"'{node.name}' runs over one dimension", node.line)
        if not x.shape:
            raise AttnError(f"'{node.name}' of a tensor without dimensions", node.line)
        at = chosen[0][0] if chosen else stands(x, len(x.shape) - 1, node)
        condition = node.named.get("where", node.positional[1] if len(node.positional) > 1 else None)
        return function(x, condition_on(x, condition, scope) if condition is not None else None, at)
    return call


def call_tabulate(node, scope):
    sizes = {name: scope.whole(value) for name, value in node.named.items()}
    if len(node.positional) != 1 or not sizes:
        raise AttnError("tabulate(function, axis = size, …)", node.line)
    known = {name: Known(scope.symbol(name, node.line), size) for name, size in sizes.items()}
    for name, size in sizes.items():
        known[name].symbol.tell(size)
    value = Positions(scope, known, node.line).position(node.positional[0])
    if reads_tensors(value):
        raise AttnError("tabulate is of positions and numbers", node.line)
    tensor = materialised(value, [(known[name].symbol, size) for name, size in sizes.items()])
    with np.errstate(over="ignore"):
        return tensor.like(tensor.data.astype(np.float32).astype(np.float64))


def call_pad(node, scope):
    tensor = as_tensor(scope.whole_value(node.positional[0]), "pad", node.line)
    value = scope.number(node.named["value"]) if "value" in node.named else 0
    if "low" in node.named or "high" in node.named:
        if len(node.positional) > 1:
            raise AttnError("pad: pairs or lists, not both", node.line)
        low, high = (numbers(node.named[each], scope) if each in node.named else [] for each in ("low", "high"))
    else:
        pairs = [numbers(each, scope) for each in node.positional[1:]]
        if any(len(pair) != 2 for pair in pairs):
            raise AttnError("pad: pairs of numbers", node.line)
        low, high = [pair[0] for pair in pairs], [pair[1] for pair in pairs]
    return pad(tensor, low, high, value)


def call_reshape(node, scope):
    tensor = as_tensor(scope.whole_value(node.positional[0]), "reshape", node.line)
    if len(node.positional) == 2:
        return moved(reshape(tensor, numbers(node.positional[1], scope)), tensor)
    return moved(reshape(tensor, [scope.whole(size) for size in node.positional[1:]]), tensor)


def call_rearrange(node, scope):
    tensor = as_tensor(scope.whole_value(node.positional[0]), node.name, node.line)
    text = evaluate(node.positional[1], scope)
    return moved(rearrange(tensor, text, {name: scope.whole(value) for name, value in node.named.items()}, scope, node.line), tensor)


def call_concat(node, scope):
    tensors = [as_tensor(scope.whole_value(each), "concat", node.line).ordered("concat") for each in node.positional]
    if "dim" not in node.named:
        raise AttnError("concat lacks 'dim'", node.line)
    return concat(tensors, scope.whole(node.named["dim"]), node.line)


def call_gather(node, scope):
    tensor = as_tensor(scope.whole_value(node.positional[0]), "gather", node.line)
    sizes = {name: scope.whole(value) for name, value in node.named.items() if name != "dim"}
    known = {name: Known(scope.symbol(name, node.line), size) for name, size in sizes.items()}
    for name, size in sizes.items():
        known[name].symbol.tell(size)
    field = Positions(scope, known, node.line).position(node.positional[1])
    return gather(tensor, field, [(known[name].symbol, size) for name, size in sizes.items()], scope.whole(node.named["dim"]), node.line)


def call_len(node, scope):
    if len(node.positional) != 1 or not isinstance(node.positional[0], s.Name):
        raise AttnError("len of an axis", node.line)
    return scope.length(node.positional[0].name, node.line)


def call_position(node, scope):
    if len(node.positional) != 1 or not isinstance(node.positional[0], s.Name) or node.named:
        raise AttnError("position of an axis", node.line)
    return scope.position_along(node.positional[0].name, node.line)


def end_of_range(place):
    """Evaluates highest(ids) and lowest(ids). If lengths decide the range, it is the end at this call."""
    def call(node, scope):
        value = scope.whole_value(node.positional[0]) if len(node.positional) == 1 and not node.named else None
        if not isinstance(value, IndexOperand) or value.ends is None:
            raise AttnError(f"'{node.name}' is of an index operand that has a range", node.line)
        return int(value.ends[place])
    return call


def call_select(node, scope):
    if len(node.positional) != 3:
        raise AttnError("select(condition, a, b)", node.line)
    return choice(*node.positional, scope, node.line)


def call_skew(node, scope):
    return skew(as_tensor(scope.whole_value(node.positional[0]), "skew", node.line))


CALLS = {"einsum": call_einsum, "softmax": over_keys(softmax), "logsumexp": over_keys(logsumexp),
         "tabulate": call_tabulate, "pad": call_pad, "reshape": call_reshape, "rearrange": call_rearrange,
         "broadcast": call_rearrange, "concat": call_concat, "gather": call_gather, "len": call_len,
         "select": call_select, "highest": end_of_range(1), "lowest": end_of_range(0), "skew": call_skew, "position": call_position, "sum": reduced(np.sum), "mean": reduced(np.mean), "cumsum": call_cumsum}
EXTREMA = {"max": reduced(lambda x, axes: np.max(x, axes, initial=-np.inf)), "min": reduced(lambda x, axes: np.min(x, axes, initial=np.inf))}
