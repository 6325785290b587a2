"""Brings tensors, functions of positions and numbers to one shape for arithmetic (LANGUAGE.md, Joining)."""
import numpy as np

from .axes import closure, contradictions, is_total, laid_out, refined, united
from .errors import AttnError
from .positions import Field, axes_of, either, order_of, reads_tensors
from .tensors import Tensor, materialised, minus_infinity, place, poisoned


class Frame:
    """The dimensions of a result: their names, sizes and order, and the place of each operand's dimensions."""

    def __init__(self, names, shape, before, soft, places):
        self.names, self.shape, self.before, self.soft, self.places = names, shape, before, soft, places


def symbols_of(names):
    return {symbol for factors in names for symbol, _ in factors}


def called(factors):
    return tuple(symbol for symbol, _ in factors)


def same(one, other):
    """Returns whether two dimensions have a name in common."""
    return bool(set(map(called, one)) & set(map(called, other)))


def cut_to_part(tensor, other):
    """Cuts a dimension that holds the whole to the part, if it is joined with a dimension that holds the part."""
    for at, names in enumerate(tensor.names):
        for factors in names:
            part = factors[0][0].stretch if len(factors) == 1 else None
            if part and part.length != part.whole == tensor.shape[at] and any(
                    called(factors) in map(called, each) and size == part.length for each, size in zip(other.names, other.shape)):
                def take(array, at=at, part=part, tensor=tensor):
                    return None if array is None else np.take(np.broadcast_to(array, tensor.shape), np.arange(part.length) + part.origin, at)
                cut = Tensor(take(tensor.data), [[((factors[0][0], part.length),)] if k == at else each for k, each in enumerate(tensor.names)],
                             take(tensor.absent), take(tensor.hidden), take(tensor.minus))
                cut.before, cut.soft = tensor.before, tensor.soft
                return cut_to_part(cut, other)
    return tensor


def cut_to_fields(tensor, fields):
    """Does the same for a join with functions of the part's positions."""
    for field in fields:
        for symbol, axis in axes_of(field).items():
            if axis.stretch:
                one = Tensor(np.zeros(axis.stretch.length), [[((symbol, axis.stretch.length),)]])
                tensor = cut_to_part(tensor, one)
    return tensor


def may_be_one(a, b):
    """Returns whether two products may name one dimension: both give a position the same place along their common axes."""
    def strides(factors):
        out, stride = {}, 1
        for symbol, size in reversed(factors):
            out[symbol] = (size, stride)
            stride *= size
        return out

    for x in a:
        for y in b:
            one, other = strides(x), strides(y)
            if len(x) == 1 or len(y) == 1 or any(one[symbol] != other[symbol] for symbol in one.keys() & other.keys()):
                return False
    return True


def are_products(a, b):
    """Returns whether one dimension is another name of the other, as a product of a single axis is."""
    return any((len(x) == 1) != (len(y) == 1) for x in a for y in b)


def by_other_names(a, b):
    """Returns whether the dimensions differ in products only, as `b h (iy ix) (jy jx)` and `b h i j`."""
    if a.before is not None or b.before is not None or len(a.shape) != len(b.shape) or a.shape != b.shape:
        return False
    pairs = list(zip(a.names, b.names))
    if all(same(x, y) for x, y in pairs):
        return False
    strange = [(x, y) for x, y in pairs if not same(x, y)]
    if any(set(called(one)) <= set(called(two)) or set(called(two)) <= set(called(one))
           for x, y in strange for one in x for two in y):
        return False  # they have the same axes, in another order or with others between them
    return all(are_products(x, y) or may_be_one(x, y) for x, y in strange) and not any(
        same(x, other) for x, _ in strange for other in b.names) and not any(same(y, other) for _, y in strange for other in a.names)


def ordered_like(tensor, other):
    """Returns a tensor with an open order in the order that another tensor has for its axes."""
    if tensor.before is None:
        return tensor
    at = {called(factors): k for k, names in enumerate(tensor.names) for factors in names}
    theirs = {called(factors): k for k, names in enumerate(other.names) for factors in names}
    pairs = {(theirs[x], theirs[y]) for x in theirs for y in theirs if x in at and y in at} & closure(other.pairs())
    whose = {k: at[name] for name, k in theirs.items() if name in at}
    before = refined(tensor.before, {(whose[x], whose[y]) for x, y in pairs})
    order = laid_out(list(range(len(tensor.shape))), before)
    if order != list(range(len(order))):
        tensor = tensor.moved(order)
        before = {(order.index(x), order.index(y)) for x, y in before}
    out = tensor.like(tensor.data)
    out.before, out.truth = before, tensor.truth
    return zeros_order(out)


def join_by_place(a, b, meet=None):
    """Joins two tensors by place. `meet` says whether two dimensions of different names may be one."""
    meet = meet or are_products
    a, b = ordered_like(a, b).ordered("a join by place"), ordered_like(b, a).ordered("a join by place")
    rank = max(len(a.shape), len(b.shape))
    names, shape = [], []
    for at in range(rank):
        here = [(t.names[at - rank + len(t.shape)], t.shape[at - rank + len(t.shape)]) for t in (a, b) if at - rank + len(t.shape) >= 0]
        sizes = {size for _, size in here} - {1}
        if len(sizes) > 1:
            raise AttnError(f"shapes do not agree: {list(a.shape)} and {list(b.shape)}")
        size = sizes.pop() if sizes else 1
        known = [own for own, length in here if length == size and own]
        if len(known) == 2 and not same(*known) and not meet(*known):
            raise AttnError(f"'{called(known[0][0])}' meets '{called(known[1][0])}' by place")
        both = list(known[0]) if known else []
        for factors in known[1] if len(known) == 2 else []:
            if called(factors) not in map(called, both):
                both.append(factors)
        names.append(both)
        shape.append(size)
    for name in symbols_of([factors for own in names for factors in own]):
        if sum(name in symbols_of(own) for own in names) > 1:
            raise AttnError(f"'{name}' would be two dimensions of the result: {a.spoken()} and {b.spoken()}")
    return Frame(names, shape, None, False,
                 [[at + rank - len(t.shape) for at in range(len(t.shape))] for t in (a, b)])


def unique(names):
    """Removes a name that two dimensions would have from both."""
    out = []
    for at, own in enumerate(names):
        others = set().union(*(symbols_of(each) for k, each in enumerate(names) if k != at)) if len(names) > 1 else set()
        out.append([factors for factors in own if not set(called(factors)) & others])
    return out


def union_order(a, b, places):
    """Returns the order of dimensions in a join by name."""
    def moved(tensor, where):
        return closure({(where[x], where[y]) for x, y in tensor.pairs()})

    one, other = moved(a, places[0]), moved(b, places[1])
    all_of_a, all_of_b = set(places[1]) <= set(places[0]), set(places[0]) <= set(places[1])
    if a.soft and b.soft:
        return united(one, other)
    if a.soft or b.soft:
        return refined(*((other, one) if a.soft else (one, other)))
    if all_of_a and not all_of_b:
        return refined(one, other)
    if all_of_b and not all_of_a:
        return refined(other, one)
    if contradictions(one | other):
        raise AttnError(f"the operands have their axes in two orders: {a.spoken()} and {b.spoken()}")
    return one | other


def join_by_name(a, b):
    names, shape = [list(each) for each in a.names], list(a.shape)
    places = [list(range(len(a.shape))), []]
    for own, size in zip(b.names, b.shape):
        at = next((k for k, other in enumerate(a.names) if same(own, other)), None)
        if at is None:
            names.append(list(own))
            shape.append(size)
            at = len(names) - 1
        elif shape[at] != size:
            raise AttnError(f"'{' '.join(map(str, called(own[0])))}' is {shape[at]} long and {size} long")
        else:
            names[at] += [factors for factors in own if called(factors) not in map(called, names[at])]
        if at in places[1]:
            raise AttnError(f"'{b.spoken()}' has two dimensions for one of '{a.spoken()}'")
        places[1].append(at)
    for at, own in enumerate(names):
        for k, other in enumerate(names):
            if k != at and symbols_of(own) & symbols_of(other):
                name = (symbols_of(own) & symbols_of(other)).pop()
                raise AttnError(f"'{name}' is a dimension of one and part of a dimension of the other: {a.spoken()} and {b.spoken()}")
    before = union_order(a, b, places)
    return in_order(Frame(names, shape, before, a.soft and b.soft, places))


def in_order(frame):
    """Returns the frame with its dimensions laid out in their order."""
    order = laid_out(list(range(len(frame.names))), frame.before)
    at = {k: n for n, k in enumerate(order)}
    before = {(at[a], at[b]) for a, b in frame.before}
    return Frame([frame.names[k] for k in order], [frame.shape[k] for k in order], before, frame.soft,
                 [[at[k] for k in own] for own in frame.places])


def join(a, b):
    a, b = cut_to_part(a, b), cut_to_part(b, a)
    if not a.is_named() or not b.is_named():
        frame = join_by_place(a, b)
    elif by_other_names(a, b):
        frame = join_by_place(a, b, lambda x, y: are_products(x, y) or may_be_one(x, y))
    else:
        frame = join_by_name(a, b)
    return frame, spread(a, frame, frame.places[0]), spread(b, frame, frame.places[1])


def spread(tensor, frame, places):
    """Returns the tensor with a dimension for each of the frame's, of size 1 if it has none."""
    order = sorted(range(len(places)), key=lambda k: places[k])
    shape = [1] * len(frame.shape)
    for k, at in enumerate(places):
        shape[at] = tensor.shape[k]

    def move(array):
        return None if array is None else np.broadcast_to(array, tensor.shape).transpose(order).reshape(shape)

    return Tensor(move(tensor.data), [[] for _ in shape], move(tensor.absent), move(tensor.hidden), move(tensor.minus))


def zeros(frame):
    out = Tensor(np.broadcast_to(0.0, frame.shape), [list(each) for each in frame.names])
    total = {(a, b) for b in range(len(frame.shape)) for a in range(b)}
    out.before = None if frame.before is None or total <= closure(frame.before) else frame.before
    out.soft = frame.soft
    return out


def joined(tensors):
    """Returns a tensor of zeros with the dimensions of all tensors, and each tensor over these dimensions."""
    frame, out = tensors[0], [tensors[0]]
    if len(tensors) == 1:
        frame = zeros(Frame(frame.names, frame.shape, frame.before, frame.soft, None))
        return frame, out
    for tensor in tensors[1:]:
        result, _, new = join(frame, tensor)
        out = [spread_again(each, frame, tensor, result) for each in out] + [new]
        frame = zeros(result)
    return frame, out


def spread_again(value, frame, tensor, result):
    """Returns a value over a frame's dimensions as one over the dimensions of a join with that frame."""
    stand = cut_to_part(frame, tensor)
    if stand is not frame:  # a cut of the frame cuts its operands too
        value = Tensor(np.broadcast_to(value.data, frame.shape), frame.names, value.absent, value.hidden, value.minus)
        value = cut_to_part(value, tensor)
    places = result.places[0]
    order = sorted(range(len(places)), key=lambda k: places[k])

    def move(array):
        if array is None:
            return None
        array = np.asarray(array)
        array = array.reshape((1,) * (len(places) - array.ndim) + array.shape).transpose(order)
        shape = [1] * len(result.shape)
        for size, k in zip(array.shape, order):
            shape[places[k]] = size
        return array.reshape(shape)

    return Tensor(move(value.data), [[] for _ in result.shape], move(value.absent), move(value.hidden), move(value.minus))


def standing_for(tensor, fields):
    """Returns the tensor whose last dimensions of size 1 stand for the axes of the fields that it lacks, if the numbers agree."""
    axes, pairs = {}, set()
    for field in fields:
        axes.update(axes_of(field))
        pairs = united(pairs, order_of(field))
    own = tensor.axes()
    lacks = laid_out([symbol for symbol in axes if symbol not in own], {(a, b) for a, b in pairs if a not in own and b not in own})
    ones = 0
    while ones < len(tensor.shape) and tensor.shape[-1 - ones] == 1 and not tensor.names[-1 - ones]:
        ones += 1
    if not lacks or len(lacks) != ones or not all(tensor.names[:len(tensor.shape) - ones]):
        return tensor
    if not is_total(lacks, {(a, b) for a, b in pairs if a in lacks and b in lacks}):
        raise AttnError(f"nothing says which dimension of size 1 is which of '{' '.join(map(str, lacks))}': read the tensor at its axes")
    sizes = [axes[symbol].size() for symbol in lacks]
    shape = list(tensor.shape[:-ones]) + sizes

    def grow(array):
        return None if array is None else np.broadcast_to(array, shape)

    out = Tensor(grow(tensor.data), tensor.names[:-ones] + [[((symbol, size),)] for symbol, size in zip(lacks, sizes)], grow(tensor.absent),
                 grow(tensor.hidden), grow(tensor.minus))
    first = len(shape) - ones
    out.before = {(a, b) for b in range(len(shape)) for a in range(min(b, first))}
    out.before |= {(first + lacks.index(a), first + lacks.index(b)) for a, b in pairs if a in lacks and b in lacks}
    return zeros_order(out)


def zeros_order(tensor):
    total = {(a, b) for b in range(len(tensor.shape)) for a in range(b)}
    if tensor.before is not None and total <= closure(tensor.before):
        tensor.before = None
    return tensor


def with_axes_of(frame, fields):
    """Returns tensors of zeros over the axes of fields that the tensors lack, for a join."""
    own, out = frame.axes(), []
    for field in fields:
        axes, pairs = axes_of(field), order_of(field)
        if all(symbol in own for symbol in axes) and (frame.before is None or not pairs):
            continue
        whole = {names[0][0] for each in frame.names for names in each if len(names) == 1}
        if not frame.is_named():
            lacks = next(iter(symbol for symbol in axes if symbol not in own), None)
            raise AttnError(f"axis '{lacks}' is no axis of the tensor, which has dimensions without a name: {frame.spoken()}")
        # An axis inside a product of the tensors is read there, and is no dimension of its own.
        kept = [symbol for symbol in laid_out(list(axes), pairs) if symbol not in own or symbol in whole]
        sizes = [own[symbol][2] if symbol in own else axes[symbol].size() for symbol in kept]
        lack = Tensor(np.broadcast_to(0.0, sizes), [[((symbol, size),)] for symbol, size in zip(kept, sizes)])
        lack.before, lack.soft = {(kept.index(a), kept.index(b)) for a, b in pairs if a in kept and b in kept}, True
        out.append(lack)
    return out


def absent_of(tensors, others, what):
    """Returns the absent elements of an operation's result. They may come from one tensor, or be the same in all."""
    absent = next((t.absent for t in tensors if t.absent is not None), None)
    if absent is not None and len(tensors) + len(others) > 1 and (others or any(
            t.absent is None or not np.array_equal(*np.broadcast_arrays(t.absent, absent)) for t in tensors)):
        raise AttnError(f"{what} of what `where` made absent with another tensor: write `where` around the whole, or "
                        "`… if P else 0` on the part")
    return absent


KEEPS_NOTHING = {"neg", "sqrt", "abs", "tanh", "sin", "erf", "floor", "ceil", "round"}  # a missing element stays missing


def left_out(what, values, tensors, shape):
    """Returns the missing elements of a result, after the key of a weight or a condition removed them: products with a missing
    element, and sums of missing elements only."""
    hidden = [None if t.hidden is None else np.broadcast_to(t.hidden, shape) for t in tensors]
    if what == "*":
        return either(*hidden)
    if what == "/":
        return hidden[0] if isinstance(values[0], Tensor) else None
    if what in KEEPS_NOTHING:
        return hidden[0]
    if what in ("+", "-") and len(tensors) == len(values) and all(each is not None for each in hidden):
        return np.logical_and.reduce(hidden)
    return None


def combine(function, values, what="arithmetic"):
    """Applies a function element by element to tensors, fields and numbers, of which at least one is a tensor."""
    fields = [v for v in values if isinstance(v, Field)]
    values = [standing_for(cut_to_fields(v, fields), fields) if isinstance(v, Tensor) else v for v in values]
    tensors = [v for v in values if isinstance(v, Tensor)]
    frame, spread_out = joined(tensors)
    lacking = with_axes_of(frame, fields)
    if lacking:
        frame, spread_out = joined(tensors + lacking)
        if not all(symbol in frame.axes() for field in fields for symbol in axes_of(field)):
            raise AttnError("a function of positions and a tensor have no axes in common")
        spread_out = spread_out[:len(tensors)]
    placed = iter(spread_out)
    values = [next(placed) if isinstance(v, Tensor) else v for v in values]
    tensors = [v for v in values if isinstance(v, Tensor)]
    others = [v for v in values if isinstance(v, Field) and axes_of(v)]
    shape = frame.shape
    absent = absent_of(tensors, others, what)
    arrays, minus = [], [t.minus for t in tensors if t.minus is not None]
    for value in values:
        if isinstance(value, Tensor):
            arrays.append(value.data)
        elif isinstance(value, Field):
            arrays.append(poisoned(*place(value, frame)))
            if (what == "+" or what == "-" and value is values[0]) and not reads_tensors(value) and np.any(np.isposinf(arrays[-1])):
                raise AttnError("adding inf at some positions leaves inf, of which no softmax is a number")
            minus += [each for each in [minus_infinity(value, arrays[-1])] if each is not None]
        else:
            arrays.append(np.float64(value))
    with np.errstate(all="ignore"):
        out = np.broadcast_to(function(*arrays), shape)
    if what in ("a choice", "a choice by values") and any(isinstance(v, float) and v == -np.inf for v in values[1:]):
        minus.append(np.isneginf(out))
    keeps = what in ("+", "-", "*", "/", "a choice", "a choice by values") and minus
    hidden = left_out(what, values, tensors, shape)
    if what == "exp" and minus:  # -inf hides these elements
        hidden = either(hidden, np.broadcast_to(minus[0], shape))
    if hidden is not None:
        out = np.where(hidden, 0, out)
    result = frame.like(out)
    result.absent = None if absent is None else np.broadcast_to(absent, shape)
    result.hidden = hidden
    result.minus = np.isneginf(out) & np.logical_or.reduce(np.broadcast_arrays(*minus, np.broadcast_to(False, shape))) if keeps else None
    return result
