"""Moving elements (LANGUAGE.md): slices, pad, reshape, skew, rearrange, broadcast, concat, gather."""
import numpy as np

from .einsum import matched
from .errors import AttnError, outside
from .joining import are_products, same, unique
from .positions import Evaluation, axes_of, either, whole_of
from .tensors import Tensor, grid_of
from .text import Sizes, check_names, named_dimension, parse_text


def both(tensor, function, names):
    """Moves the values and the absent elements in the same way."""
    tensor.ordered("moving elements")
    absent = None if tensor.absent is None else function(np.broadcast_to(tensor.absent, tensor.shape), True)
    hidden, minus = (None if each is None else function(np.broadcast_to(each, tensor.shape), True)
                     for each in (tensor.hidden, tensor.minus))
    return Tensor(function(tensor.data, False), names, absent, hidden, minus)


def sliced(tensor, subscripts, line):
    """Slices a tensor. Subscripts are int, slice of ints or None, Ellipsis, None. An end outside is an error; negative ones count
    from the end."""
    count = sum(1 for each in subscripts if each is not None and each is not Ellipsis)
    if count > tensor.data.ndim:
        raise AttnError(f"{count} subscripts for {tensor.data.ndim} dimensions", line)
    full = []
    for each in subscripts:
        full += [slice(None)] * (tensor.data.ndim - count) if each is Ellipsis else [each]
    if Ellipsis not in subscripts:
        full += [slice(None)] * (tensor.data.ndim - count)
    at, names = 0, []
    for each in full:
        if each is None:
            names.append([])
            continue
        size = tensor.shape[at]
        if isinstance(each, slice):
            for end in (each.start, each.stop):
                if end is not None and not -size <= end <= size:
                    raise AttnError(f"the end {end} of a slice is outside a dimension of {size}", line)
            if each.step is not None and each.step < 1:
                raise AttnError(f"the step {each.step} of a slice", line)
            whole = range(size)[each] == range(size)
            if not len(range(size)[each]):
                raise AttnError("an empty slice", line)
            names.append(list(tensor.names[at]) if whole else [])
        elif not -size <= each < size:
            raise AttnError(f"the index {each} is outside a dimension of {size}", line)
        at += 1
    return both(tensor, lambda array, _: array[tuple(full)], names)


def pad(tensor, low, high, value):
    rank = tensor.data.ndim
    low, high = [0] * (rank - len(low)) + list(low), [0] * (rank - len(high)) + list(high)
    if len(low) > rank or len(high) > rank or min(low + high) < 0:
        raise AttnError("pad: more pairs than dimensions, or a negative number")
    names = [own if not (a or b) else [] for own, a, b in zip(tensor.names, low, high)]
    return both(tensor, lambda array, absent: np.pad(array, list(zip(low, high)),
                                                     constant_values=False if absent else value), names)


def reshape(tensor, shape):
    shape = list(shape)
    if shape.count(-1) > 1:
        raise AttnError("reshape: more than one -1")
    known = int(np.prod([size for size in shape if size != -1], dtype=np.int64))
    shape = [tensor.data.size // known if size == -1 else size for size in shape]
    if int(np.prod(shape, dtype=np.int64)) != tensor.data.size:
        raise AttnError(f"reshape: {list(tensor.shape)} does not make {shape}")
    names = [own if tensor.shape[:at + 1] == tuple(shape[:at + 1]) else []
             for at, own in enumerate(tensor.names[:len(shape)])]
    names += [[] for _ in shape[len(names):]]
    return both(tensor, lambda array, _: array.reshape(shape), names)


def skew(tensor):
    length, width = tensor.shape[-2:]
    if width != 2 * length - 1:
        raise AttnError("skew: expected dimensions l, 2*l - 1 in the end")
    i, j = np.arange(length)[:, None], np.arange(length)[None, :]
    return both(tensor, lambda array, _: array[..., i, j - i + length - 1], tensor.names[:-1] + [[]])


def rearrange(tensor, text, given, scope, line):
    """Evaluates rearrange and broadcast: an axis that only the result has is repeated."""
    operands, result = parse_text(text, lambda name: False, line)
    if len(operands) != 1 or len(operands[0]) != tensor.data.ndim:
        raise AttnError(f"the text '{text}' has other dimensions than the operand", line)
    tensor = matched(tensor, operands[0], scope, line)
    sizes = Sizes(line, [name for d in operands[0] + result for name in d.axes])
    for name, size in given.items():
        sizes.tell(name, size)
    products = []
    for dimension, size in zip(operands[0], tensor.shape):
        if dimension.expression is not None:
            raise AttnError("no index expressions here", line)
        if len(dimension.axes) == 1:
            sizes.tell(dimension.axes[0], size)
        elif dimension.axes:
            products.append((dimension.axes, size))
        elif size != 1:
            raise AttnError(f"the text says 1, the operand has {size}", line)
    sizes.products(products)
    source = [name for d in operands[0] for name in d.axes]
    target = [name for d in result for name in d.axes]
    for name in source + target:
        if name not in sizes.known:
            sizes.tell(name, scope.axes[name].size())
            sizes.products(products)
    check_names(operands[0] + result, sizes, scope, line)
    if len(set(source)) != len(source) or len(set(target)) != len(target):
        raise AttnError("an axis occurs twice", line)
    dropped = [name for name in source if name not in target]
    if any(sizes.known[name] != 1 for name in dropped):
        raise AttnError("an axis is dropped that is longer than 1", line)
    kept = [name for name in source if name in target]

    def move(array, _):
        array = array.reshape([sizes.known[name] for name in kept])
        array = array.transpose([kept.index(name) for name in target if name in kept])
        array = array.reshape([sizes.known[name] if name in kept else 1 for name in target])
        array = np.broadcast_to(array, [sizes.known[name] for name in target])
        return array.reshape([int(np.prod([sizes.known[name] for name in d.axes], dtype=np.int64)) for d in result])

    return both(tensor, move, [named_dimension(d, sizes, scope, line) for d in result])


def meeting(named, line):
    """Returns the names of the dimension at one place of several tensors."""
    out = []
    for names in named:
        if out and not same(out, names) and not are_products(out, names):
            raise AttnError(f"concat: {out[0]} meets {names[0]} by place", line)
        out += [factors for factors in names if factors not in out]
    return out


def concat(tensors, dim, line):
    rank = max(t.data.ndim for t in tensors)
    dim = dim + rank if dim < 0 else dim
    if not 0 <= dim < rank:
        raise AttnError(f"concat: there is no dimension {dim}", line)
    lifted = [both(t, lambda array, _, to=(1,) * (rank - t.data.ndim) + t.shape: array.reshape(to),
                   [[]] * (rank - t.data.ndim) + t.names) for t in tensors]
    shape = [max(t.shape[k] for t in lifted) for k in range(rank)]
    grow = (lambda t, array: np.broadcast_to(array, [t.shape[k] if k == dim else shape[k] for k in range(rank)]))
    joined = (lambda parts: None if all(part is None for part in parts) else np.concatenate(
        [grow(t, np.False_ if part is None else part) for t, part in zip(lifted, parts)], dim))
    try:
        data = joined([t.data for t in lifted])
    except ValueError:
        raise AttnError("concat: shapes do not agree", line) from None
    names = unique([[] if k == dim else meeting([t.names[k] for t in lifted if t.shape[k] == shape[k] and t.names[k]], line) for k in range(rank)])
    return Tensor(data, names, *(joined([getattr(t, each) for t in lifted]) for each in ("absent", "hidden", "minus")))


def gather(tensor, field, sizes, dim, line):
    """Returns the rows that a function of positions names, over the given axes, (symbol, size) in order."""
    tensor.present("a gather").ordered("a gather")
    dim = dim + tensor.data.ndim if dim < 0 else dim
    if not 0 <= dim < tensor.data.ndim:
        raise AttnError(f"gather: there is no dimension {dim}", line)
    at, bad = whole_of(*Evaluation(grid_of(sizes), True)(field), "a gather")
    at = np.broadcast_to(at, [size for _, size in sizes])
    strange = either((at < 0) | (at >= tensor.shape[dim]), bad)
    if np.any(strange):
        outside.append("the operand of a gather")
    data = np.take(tensor.data, np.clip(at, 0, tensor.shape[dim] - 1), axis=dim)
    where = strange.reshape((1,) * dim + strange.shape + (1,) * (tensor.data.ndim - dim - 1))
    names = tensor.names[:dim] + [[((symbol, size),)] for symbol, size in sizes] + tensor.names[dim + 1:]
    return Tensor(np.where(where, np.nan, data), unique(names))
