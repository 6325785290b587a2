"""Tensors with names of axes, and how they are brought to one shape (LANGUAGE.md, Arithmetic).

Each dimension has the names that the einsums which made it gave it: a list of factorisations, (("i", 12),) or
(("iy", 3), ("ix", 4)); a sum has those of all its parts. `absent` says which elements `where` took away; `minus`, which are -inf by their position, a mask too; `hidden`, which
elements are not there: masked keys of a softmax, what a condition took away, `x if P else 0`. They are 0, and products with them 0, whatever else stands there.
"""
import numpy as np

from .errors import AttnError
from .positions import Evaluation, Field, axes_of, either, reads_tensors


class Tensor:
    def __init__(self, data, names=None, absent=None, hidden=None, minus=None):
        self.data = np.asarray(data, np.float64)
        self.names = [[] for _ in self.data.shape] if names is None else names
        self.absent, self.hidden, self.minus = absent, hidden, minus
        self.truth = False  # of 1 and 0 that say where values compare as asked
        assert len(self.names) == self.data.ndim

    @property
    def shape(self):
        return self.data.shape

    def like(self, data):
        return Tensor(data, [list(each) for each in self.names], self.absent, self.hidden, self.minus)

    def axes(self):
        """Axis to (dimension, what follows inside the dimension, size); a name of a whole dimension comes first."""
        found = {}
        for whole in (True, False):
            for at, factorisations in enumerate(self.names):
                for factors in factorisations:
                    inner = self.shape[at]
                    for name, size in factors:
                        inner //= size
                        if (len(factors) == 1) == whole:
                            found.setdefault(name, (at, inner, size))
        return found

    def coordinates(self, names):
        """For each of these axes its position at every element, as arrays that broadcast to the tensor's shape."""
        axes, out = self.axes(), {}
        for name in names:
            if name not in axes:
                raise AttnError(f"the tensor has no axis '{name}'")
            at, inner, size = axes[name]
            along = np.arange(self.shape[at]) // inner % size
            out[name] = along.reshape([-1 if k == at else 1 for k in range(self.data.ndim)])
        return out

    def present(self, what):
        if self.absent is not None:
            raise AttnError(f"{what} reads elements that `where` made absent")
        return self


def names_of_result(shape, tensors):
    """The names of all parts: those of a repeated dimension go, and no name stands for two dimensions."""
    out, used = [], {}
    for at, size in enumerate(shape):
        here = []
        for tensor in tensors:
            own = at - (len(shape) - tensor.data.ndim)
            if own < 0 or tensor.shape[own] != size:
                continue
            for factors in tensor.names[own]:
                if factors not in here and all(used.get(name, at) == at for name, _ in factors):
                    here.append(factors)
                    used.update({name: at for name, _ in factors})
        out.append(here)
    return out


def in_place(tensor, high, parts):
    """A dimension that holds the whole of a part, joined with one that holds the part: what the part sees of it."""
    for at, factorisations in enumerate(tensor.names):
        for factors in factorisations:
            part = parts.get(factors[0][0]) if len(factors) == 1 else None
            if part and part.length != part.whole == tensor.shape[at] and any(
                    ((factors[0][0], part.length),) in other for other in high.names):
                tensor = Tensor(np.take(tensor.data, np.arange(part.length) + part.origin, at),
                                [[((factors[0][0], part.length),)] if k == at else each
                                 for k, each in enumerate(tensor.names)])
    return tensor


def by_name(low, high, parts):
    """The tensor of lower rank with dimensions where the other has their names, or None."""
    low, places = in_place(low, high, parts), []
    for factorisations, size in zip(low.names, low.shape):
        at = next((k for k, other in enumerate(high.names)
                   if k not in places and any(f in other for f in factorisations) and high.shape[k] == size), None)
        if at is None:
            return None
        places.append(at)
    order = sorted(range(len(places)), key=lambda k: places[k])
    shape = [1] * high.data.ndim
    for k in range(len(places)):
        shape[places[k]] = low.shape[k]

    def move(array):
        return None if array is None else np.broadcast_to(array, low.shape).transpose(order).reshape(shape)

    names = [[] for _ in shape]
    for k, at in enumerate(places):
        names[at] = low.names[k]
    return Tensor(move(low.data), names, move(low.absent), minus=move(low.minus))


def aligned(tensors, parts):
    """Several tensors by rules 2 and 3."""
    most = max(tensors, key=lambda t: t.data.ndim)
    out = []
    for tensor in tensors:
        placed = by_name(tensor, most, parts) if 0 < tensor.data.ndim < most.data.ndim else None
        out.append(placed if placed is not None else tensor)
    return out


def place(field, tensor, in_f32=False):
    """A field over the dimensions of a tensor (rule 1); (values, where they do not exist)."""
    axes = axes_of(field)
    coordinates = tensor.coordinates(axes)
    for name, axis in axes.items():
        if axis.size is not None and coordinates[name].size not in (1, axis.size) and tensor.axes()[name][2] != axis.size:
            raise AttnError(f"the axis '{name}' is {axis.size} and {tensor.axes()[name][2]} long")
    return Evaluation(coordinates, in_f32)(field)


def grid_of(names_and_sizes):
    """Coordinates for a tensor with a dimension for each of these axes."""
    count = len(names_and_sizes)
    return {name: np.arange(size).reshape([-1 if k == at else 1 for k in range(count)])
            for at, (name, size) in enumerate(names_and_sizes)}


def poisoned(value, bad):
    """Real numbers, NaN where they do not exist."""
    value = np.asarray(value, np.float64)
    return value if bad is None else np.where(bad, np.nan, value)


def materialised(field, order=None, sizes=None):
    """A field as a tensor over its axes: in this order, or in their own. `sizes` come before the axes' own sizes."""
    axes = {name: (sizes or {}).get(name, axis.size) for name, axis in axes_of(field).items()}
    names = list(axes) if order is None else list(order)
    if set(names) != set(axes):
        raise AttnError(f"a function of positions over {', '.join(axes)} is read as {', '.join(names)}")
    shape = [(name, axes[name]) for name in names]
    if any(size is None for _, size in shape):
        raise AttnError("an axis without a size: " + ", ".join(n for n, s in shape if s is None))
    value = np.broadcast_to(poisoned(*Evaluation(grid_of(shape), False)(field)), [size for _, size in shape])
    return Tensor(value, [[((name, size),)] for name, size in shape], minus=minus_infinity(field, value))


def minus_infinity(field, value):
    """Where a function of positions is -inf: a mask, if it is added to scores."""
    found = np.isneginf(value)
    return found if np.any(found) and not reads_tensors(field) else None


def widened(field, tensors):
    """A field that names axes which no tensor has, all of whose axes it names, is a tensor over its axes."""
    axes, known = axes_of(field), {}
    for tensor in tensors:
        known.update({name: size for name, (_, _, size) in tensor.axes().items()})
    strange = [name for name in axes if name not in known]
    if not strange:
        return field
    if any(not any(((name, size),) in names for name in axes) for t in tensors for names, size in zip(t.names, t.shape)):
        raise AttnError(f"the axis '{strange[0]}' of one side is no axis of the other")
    return materialised(field, sizes={name: size for name, size in known.items() if name in axes and not axes[name].stretch})


def standing_for(tensor, fields):
    """Dimensions of size 1 in the end stand for the axes that a tensor lacks beside fields, where there are as many."""
    axes = {}
    for field in fields:
        axes.update(axes_of(field))
    lacks = [axis for name, axis in sorted(axes.items(), key=lambda item: item[1].rank) if name not in tensor.axes()]
    ones = 0
    while ones < len(tensor.shape) and tensor.shape[-1 - ones] == 1 and not tensor.names[-1 - ones]:
        ones += 1
    if not lacks or len(lacks) != ones or any(axis.size is None for axis in lacks):
        return tensor
    shape = list(tensor.shape[:-ones]) + [axis.size for axis in lacks]

    def grow(array):
        return None if array is None else np.broadcast_to(array, shape)

    return Tensor(grow(tensor.data), tensor.names[:-ones] + [[((axis.name, axis.size),)] for axis in lacks], grow(tensor.absent),
                  grow(tensor.hidden), grow(tensor.minus))


def absent_of(tensors, others, what):
    """What is absent in an operation's result: it may only be of one tensor, or the same of all."""
    absent = next((t.absent for t in tensors if t.absent is not None), None)
    if absent is not None and len(tensors) + len(others) > 1 and (others or any(
            t.absent is None or not np.array_equal(*np.broadcast_arrays(t.absent, absent)) for t in tensors)):
        raise AttnError(f"{what} of what `where` made absent with another tensor: write `where` around the whole, or "
                        "`… if P else 0` on the part")
    return absent


KEEPS_NOTHING = {"neg", "sqrt", "abs", "tanh", "sin", "erf", "floor", "ceil", "round"}  # of nothing they make nothing


def left_out(what, values, tensors, shape):
    """Which elements of a result are not there, since the key of a weight or a condition is not: products with what is not there,
    sums of nothing else."""
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


def combine(function, values, what="arithmetic", parts=None):
    """Element by element, of tensors, fields and numbers, at least one of them a tensor."""
    fields = [v for v in values if isinstance(v, Field)]
    values = [standing_for(v, fields) if isinstance(v, Tensor) else v for v in values]
    tensors = [v for v in values if isinstance(v, Tensor)]
    values = [widened(v, tensors) if isinstance(v, Field) else v for v in values]
    tensors = [v for v in values if isinstance(v, Tensor)]
    placed = iter(aligned(tensors, parts or {}))
    values = [next(placed) if isinstance(v, Tensor) else v for v in values]
    tensors = [v for v in values if isinstance(v, Tensor)]
    others = [v for v in values if isinstance(v, Field) and axes_of(v)]
    try:
        shape = np.broadcast_shapes(*[t.shape for t in tensors])
    except ValueError:
        raise AttnError(f"{what}: shapes do not agree: " + ", ".join(str(list(t.shape)) for t in tensors)) from None
    frame = Tensor(np.broadcast_to(0.0, shape), names_of_result(shape, tensors))
    absent = absent_of(tensors, others, what)
    arrays, minus = [], [t.minus for t in tensors if t.minus is not None]
    for value in values:
        if isinstance(value, Tensor):
            arrays.append(value.data)
        elif isinstance(value, Field):
            arrays.append(poisoned(*place(value, frame)))
            minus += [each for each in [minus_infinity(value, arrays[-1])] if each is not None]
        else:
            arrays.append(np.float64(value))
    with np.errstate(all="ignore"):
        out = np.broadcast_to(function(*arrays), shape)
    if what == "a choice" and any(isinstance(v, float) and v == -np.inf for v in values[1:]):
        minus.append(np.isneginf(out))
    keeps = what in ("+", "-", "*", "/", "a choice") and minus
    hidden = left_out(what, values, tensors, shape)
    if what == "exp" and minus:  # of what is hidden by -inf
        hidden = either(hidden, np.broadcast_to(minus[0], shape))
    if hidden is not None:
        out = np.where(hidden, 0, out)
    return Tensor(out, frame.names, absent, hidden,
                  np.isneginf(out) & np.logical_or.reduce(np.broadcast_arrays(*minus, np.broadcast_to(False, shape)))
                  if keeps else None)
