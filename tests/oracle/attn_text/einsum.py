"""einsum: brings every operand to its axes (it reads index expressions by brute force), then multiplies and sums."""
import numpy as np

from . import syntax as s
from .axes import Known, is_total
from .errors import AttnError, outside
from .positions import Evaluation, Field, axes_of, either, whole_of
from .scope import TextAxes
from .tensors import Tensor, grid_of, materialised
from .text import Sizes, check_names, named_dimension, names_in, parse_text, subscripts_in


def einsum(call, scope):
    """Evaluates an einsum. `call` is (text, operands, sizes, condition tree or None)."""
    text, operands, given, condition, line = call
    subscripts, result = parse_text(text, scope.is_position_value, line)
    if len(subscripts) != len(operands):
        raise AttnError(f"the text has {len(subscripts)} operands, the call {len(operands)}", line)
    everything = [d for dimensions in subscripts for d in dimensions] + result
    bare = {name for d in everything for name in d.axes}
    names = axes_of_text(everything, result, bare, given, scope, line)
    tell_by_tensors(subscripts, operands, given, scope, line)
    operands = [as_operand(operand, dimensions, scope, line) for operand, dimensions in zip(operands, subscripts)]
    sizes = sizes_of(names, subscripts, result, operands, given, scope, line)
    check_names(everything, sizes, scope, line)
    known = {name: Known(scope.symbol(name, line), sizes.known[name]) for name in names if not name.isdigit()}
    for name in given:
        known[name].symbol.tell(sizes.known[name])
    inner = TextAxes(scope, known, line)

    prepared = [operand_on_axes(operand, dimensions, inner, names, sizes, line)
                for operand, dimensions in zip(operands, subscripts)]
    guard = None
    if condition is not None:
        guard = guard_on_axes(inner.position(condition), inner, sizes, line)
    data = contract(prepared, guard, result, names, sizes)
    shape = [int(np.prod([sizes.known[name] for name in d.axes], dtype=np.int64)) for d in result]
    hidden = not_there(prepared, guard, [name for d in result for name in d.axes], names, sizes)
    return Tensor(data.reshape(shape), [named_dimension(d, sizes, scope, line) for d in result],
                  hidden=None if hidden is None else hidden.reshape(shape))


def tell_by_tensors(subscripts, operands, given, scope, line):
    """Tells the operands that are functions of positions the sizes that tensors and the call have."""
    if not any(isinstance(operand, Field) for operand in operands):
        return
    sizes = list(given.items())
    for operand, dimensions in zip(operands, subscripts):
        if isinstance(operand, Tensor) and len(operand.shape) == len(dimensions):
            sizes += [(d.axes[0], size) for d, size in zip(dimensions, operand.shape) if len(d.axes) == 1 and not d.axes[0].isdigit()]
    for name, size in sizes:
        scope.symbol(name, line).tell(size)


def axes_of_text(everything, result, bare, given, scope, line):
    """Returns the names of all axes: names that stand alone, and names in index expressions that have a size elsewhere."""
    names = {}
    for dimension in result + everything:
        names.update(dict.fromkeys(dimension.axes))
        for name, stands_bare in names_in(dimension.expression) if dimension.expression else []:
            if stands_bare:
                scope.contested(name, line)
            if name in bare or name in given:
                names[name] = None
            elif not scope.has_value(name) and name != "inf" and name not in scope.program.sizes:
                raise AttnError(f"no axis '{name}' in this text: give its size", line)
    for name in given:
        if name not in names:
            raise AttnError(f"the text has no axis '{name}'", line)
    return list(names)


def not_there(prepared, guard, out, names, sizes):
    """Returns the elements of the result that a condition removed, or that come from one product with a missing element."""
    lost = [(~guard[0], guard[1])] if guard and set(guard[1]) <= set(out) else []
    if set(names) <= set(out):
        lost += [(hidden, axes) for _, axes, _, hidden in prepared if hidden is not None]
    found = None
    for value, axes in lost:
        order = sorted(range(len(axes)), key=lambda k: out.index(axes[k]))
        shape = [sizes.known[name] if name in axes else 1 for name in out]
        found = either(found, np.broadcast_to(np.asarray(value).transpose(order).reshape(shape), [sizes.known[n] for n in out]))
    return found


def as_operand(operand, dimensions, scope, line):
    if isinstance(operand, Field):
        operand = materialised(operand)
    if not isinstance(operand, Tensor):
        raise AttnError("an operand of an einsum is a tensor", line)
    operand.present("an einsum")
    if len(dimensions) != operand.data.ndim:
        raise AttnError(f"the text has {len(dimensions)} dimensions for an operand of {operand.data.ndim}", line)
    return matched(operand, dimensions, scope, line)


def matched(operand, dimensions, scope, line):
    """Returns an operand without an order of dimensions in the order of a text that names exactly its axes."""
    if operand.before is None or is_total(list(range(operand.data.ndim)), operand.before):
        return operand
    wanted = [scope.symbol(d.axes[0], line) if len(d.axes) == 1 and not d.axes[0].isdigit() else None for d in dimensions]
    own = [names[0][0][0] if names and len(names[0]) == 1 else None for names in operand.names]
    if None in wanted or sorted(map(id, wanted)) != sorted(map(id, own)):
        operand.ordered("a text")
    out = operand.moved([own.index(symbol) for symbol in wanted])
    out.before = None
    return out


def sizes_of(names, subscripts, result, operands, given, scope, line):
    sizes, products = Sizes(line, names), []
    stretches = {name: scope.axes[name].symbol.stretch for name in names if name in scope.axes and scope.axes[name].symbol.stretch}
    for name, part in stretches.items():
        sizes.tell(name, part.length)
    for operand, dimensions in zip(operands, subscripts):
        for dimension, size in zip(dimensions, operand.shape):
            if len(dimension.axes) == 1:
                part = stretches.get(dimension.axes[0])
                if part is None or size != part.whole:
                    sizes.tell(dimension.axes[0], size)
            elif dimension.axes:
                products.append((dimension.axes, size))
            elif dimension.expression is None and size != 1:
                raise AttnError(f"the text says 1, the dimension has size {size}", line)
    for name, size in given.items():
        sizes.tell(name, size)
    sizes.products(products)
    for name, size in sizes_by_reads(subscripts, scope):
        if name in names and name not in sizes.known:
            sizes.tell(name, size)
    sizes.products(products)
    # The size of a name in other statements, or in the argument of a scheme's parameter.
    for name in names:
        if name not in sizes.known:
            sizes.tell(name, scope.axes[name].size())
            sizes.products(products)
    return sizes


def sizes_by_reads(subscripts, scope):
    """Tells the size of each axis that alone reads a dimension of an index operand, as in top[b, i, t]."""
    for dimensions in subscripts:
        for dimension in dimensions:
            for node in subscripts_in(dimension.expression) if dimension.expression else ():
                value = scope.value_of(node.base.name) if isinstance(node.base, s.Name) and scope.has_value(node.base.name) else None
                for subscript, size in zip(node.subscripts, getattr(getattr(value, "array", None), "shape", ())):
                    if isinstance(subscript, s.Name) and not scope.has_value(subscript.name):
                        yield subscript.name, size


def operand_on_axes(operand, dimensions, inner, names, sizes, line):
    """Returns (array, axes, where it does not exist, where it is hidden), with one dimension for each axis."""
    fields, local = [], {inner.symbol(name, line): name for name in names if not name.isdigit()}
    for dimension, size in zip(dimensions, operand.shape):
        if dimension.expression is not None:
            fields.append(inner.position(dimension.expression))
        else:
            only = dimension.axes[0] if len(dimension.axes) == 1 and not dimension.axes[0].isdigit() else None
            part = inner.symbol(only, line).stretch if only else None
            fields.append(inner.axis(only) if part and size == part.whole != part.length else None)
    if not any(field is not None for field in fields):
        axes = [name for d in dimensions for name in d.axes]
        shape = [sizes.known[name] for name in axes]
        return operand.data.reshape(shape), axes, None, None if operand.hidden is None else operand.hidden.reshape(shape)
    axes = list(dict.fromkeys(name for d, f in zip(dimensions, fields)
                              for name in (in_text(axes_of(f), local, line) if f is not None else d.axes)))
    grid = grid_of([(name, sizes.known[name]) for name in axes])
    coordinates = {symbol: grid[name] for symbol, name in local.items() if name in grid}
    index, bad = [], None
    for dimension, field, size in zip(dimensions, fields, operand.shape):
        if field is None:
            at = 0
            for name in dimension.axes:
                at = at * sizes.known[name] + grid[name]
        else:
            at, strange = whole_of(*Evaluation(coordinates, True)(field), "an operand")
            strange = either(strange, (at < 0) | (at >= size))
            at = np.clip(at, 0, size - 1)
            if np.any(strange):
                outside.append("an operand of an einsum")
                bad = either(bad, strange)
        index.append(np.asarray(at))
    shape = [sizes.known[name] for name in axes]
    index = tuple(np.broadcast_to(at, shape) for at in index)
    return operand.data[index], axes, None if bad is None else np.broadcast_to(bad, shape), \
        None if operand.hidden is None else operand.hidden[index]


def in_text(symbols, local, line):
    """Returns a text's names for the axes of a function of positions."""
    for symbol in symbols:
        if symbol not in local:
            raise AttnError(f"no axis '{symbol}' in this text: give its size", line)
    return [local[symbol] for symbol in symbols]


def guard_on_axes(field, inner, sizes, line):
    symbols = axes_of(field)
    local = {inner.symbol(name, line): name for name in inner.here}
    axes = in_text(symbols, local, line)
    grid = grid_of([(symbol, sizes.known[local[symbol]]) for symbol in symbols])
    value, bad = Evaluation(grid, True)(field)
    if bad is not None:
        raise AttnError("the condition of an einsum reads outside", line)
    return np.broadcast_to(np.asarray(value) != 0, [sizes.known[name] for name in axes]), axes


def contract(prepared, guard, result, everything, sizes):
    """Multiplies and sums. `prepared` has (array, axes, where it does not exist, where it is hidden) for each operand; `guard` is
    (where the condition holds, axes) or None. `everything` has all axes of the text; an axis that no operand has is still summed
    over, or repeated along."""
    letters = {name: at for at, name in enumerate(sizes.known)}
    out = [name for d in result for name in d.axes]

    def product(terms):
        covered = {name for _, axes in terms for name in axes}
        ones = [(np.ones(sizes.known[name]), [name]) for name in dict.fromkeys(out + everything) if name not in covered]
        arguments = []
        for array, axes in terms + ones:
            arguments += [np.asarray(array, np.float64), [letters[name] for name in axes]]
        with np.errstate(all="ignore"):
            return np.einsum(*arguments, [letters[name] for name in out],
                             optimize="greedy" if len(arguments) > 6 else len(arguments) > 3)

    def spread(array, axes, union):
        order = sorted(range(len(axes)), key=lambda k: union.index(axes[k]))
        array = np.asarray(array).transpose(order).reshape([sizes.known[n] if n in axes else 1 for n in union])
        return np.broadcast_to(array, [sizes.known[n] for n in union])

    shown = [(~hidden, axes) for _, axes, _, hidden in prepared if hidden is not None]
    plain = all(bad is None and np.all(np.isfinite(data)) for data, _, bad, _ in prepared)
    guards = ([guard] if guard else []) + ([] if plain else shown)
    if not guards:
        return product([(data if bad is None else np.where(bad, np.nan, data), axes) for data, axes, bad, _ in prepared])
    # If a condition does not hold, or the key of a weight is missing, nothing is read: elements that are not finite, or do not
    # exist, do not count.
    names = list(dict.fromkeys(name for _, axes in guards for name in axes))
    holds = np.logical_and.reduce([spread(value, axes, names) for value, axes in guards])
    terms = []
    for data, axes, bad, _ in prepared:
        data = data if bad is None else np.where(bad, 0, data)
        if not np.all(np.isfinite(data)):
            union = list(dict.fromkeys(axes + names))
            data, axes = np.where(spread(holds, names, union), spread(data, axes, union), 0), union
        terms.append((data, axes))
    value = product(terms + [(holds, names)])
    for data, axes, bad, _ in prepared:
        if bad is not None:
            value = np.where(product([(bad, axes), (holds, names)]) > 0, np.nan, value)
    return value
