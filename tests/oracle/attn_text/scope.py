"""What a name stands for: values, params, run-time sizes, axes and their parts."""
from .errors import AttnError
from .positions import Axis, Constant, Field, Stretch
from .tensors import Tensor, materialised


class IndexOperand:
    """An operand of i32: read at positions, and no tensor."""
    what = "an index operand"

    def __init__(self, name, array):
        self.name, self.array = name, array


class Scope:
    """A kernel's, or that of one call of a scheme."""

    def __init__(self, program, values=None, axes=None, parts=None):
        self.program = program
        self.values = dict(values or {})
        self.axes = dict(axes or {})            # name to size, as an operand or an einsum has named it
        self.parts = dict(parts or {})          # name to Stretch

    # Names.
    def value_of(self, name):
        if name in self.values:
            return self.values[name]
        return self.program.constants.get(name)

    def is_value(self, name):
        return self.value_of(name) is not None or name == "inf"

    def is_position_value(self, name):
        """What may stand in an index expression: a number, a function of positions, a list."""
        return isinstance(self.value_of(name), (int, float, Field, list))

    def known_axes(self):
        return {name: self.parts[name].length if name in self.parts else size for name, size in self.axes.items()}

    def know_axes(self, sizes):
        for name, size in sizes.items():
            self.axes.setdefault(name, size)

    def axis(self, name):
        part = self.parts.get(name)
        known = self.known_axes()
        return Axis(name, part.length if part else known.get(name), part, list(known).index(name) if name in known else 0)

    def look_up(self, name, line):
        value = self.value_of(name)
        if value is not None:
            return value
        if name in self.known_axes():
            return self.axis(name)
        if name == "inf":
            return float("inf")
        raise AttnError(f"unknown name '{name}'", line)

    def length(self, name, line):
        if name in self.parts:
            return self.parts[name].whole
        if name in self.known_axes():
            return self.known_axes()[name]
        value = self.value_of(name)
        if isinstance(value, list):
            return len(value)
        raise AttnError(f"len: there is no axis '{name}'", line)

    def assign(self, name, value, line):
        if name in self.values:
            raise AttnError(f"'{name}' has a value already", line)
        self.values[name] = value

    def evaluate(self, node):
        from .evaluator import evaluate  # pylint: disable=import-outside-toplevel,cyclic-import
        return evaluate(node, self)

    def position(self, node):
        """As a function of positions."""
        value = self.evaluate(node)
        if isinstance(value, (int, float)):
            return Constant(value)
        if not isinstance(value, Field):
            raise AttnError("expected a function of positions", node.line)
        return value

    def number(self, node, what="a number"):
        value = self.evaluate(node)
        if not isinstance(value, (int, float)):
            raise AttnError(f"{what} is known from params alone", node.line)
        return value

    def whole(self, node, what="a size"):
        value = self.number(node, what)
        if not isinstance(value, int):
            raise AttnError(f"{what} is a whole number, found {value}", node.line)
        return value

    # Scopes inside: the axes of an einsum's text, of the tensor before `where`, of tabulate.
    def inside_einsum(self, sizes):
        return AxesFirst(self, sizes)

    def inside_condition(self, tensor):
        return AxesFirst(self, {name: size for name, (_, _, size) in tensor.axes().items()})

    def without_positions(self, sizes):
        return AxesFirst(self, sizes, only=True)


class AxesFirst(Scope):
    """Some names are axes before anything else is looked for; a value of that name would be ambiguous."""

    def __init__(self, outer, sizes, only=False):
        super().__init__(outer.program, outer.values, outer.axes, outer.parts)
        self.outer, self.here, self.only = outer, sizes, only

    def look_up(self, name, line):
        if name in self.here:
            if not self.only and self.is_position_value(name):
                raise AttnError(f"'{name}' is an axis and a value", line)
            return self.axis(name)
        if self.only and self.value_of(name) is None and name != "inf":
            raise AttnError(f"'{name}' has no position here", line)
        return super().look_up(name, line)

    def axis(self, name):
        if self.only and name in self.here:
            return Axis(name, self.here[name])
        part = self.parts.get(name)
        if part and name in self.here and self.here[name] != part.length:
            part = None
        return Axis(name, self.here.get(name, super().axis(name).size), part)

    def known_axes(self):
        return {**super().known_axes(), **self.here}

    def know_axes(self, sizes):
        self.outer.know_axes(sizes)
        super().know_axes(sizes)


def run_part(statement, scope):
    length = scope.whole(statement.length) if statement.length is not None else scope.known_axes().get(statement.axis)
    if length is None:
        raise AttnError(f"part: the length of '{statement.axis}' is not known", statement.line)
    whole = scope.whole(statement.whole)
    origin = scope.program.origins.get(statement.origin, 0)
    if not 0 <= origin <= whole - length:
        raise AttnError(f"part: {length} from {origin} are not inside {whole}", statement.line)
    scope.parts[statement.axis] = Stretch(length, whole, origin)
    scope.axes.setdefault(statement.axis, length)


def bind_formals(scheme, call, caller, program):
    """The scope of one call: arguments by position or by name, names for their dimensions."""
    formals = {formal.name: formal for formal in scheme.formals}
    given = dict(zip(formals, call.positional))
    if len(call.positional) > len(formals):
        raise AttnError(f"'{scheme.name}' takes {len(formals)} arguments", call.line)
    sizes = {}
    for name, node in call.named.items():
        if name in formals:
            if name in given:
                raise AttnError(f"'{name}' is given twice", call.line)
            given[name] = node
        elif name in ("i", "j"):
            sizes[name] = caller.whole(node)
        else:
            raise AttnError(f"'{scheme.name}' has no operand '{name}'", call.line)
    inner = Scope(program)
    for name, formal in formals.items():
        if name in given:
            value = caller.evaluate(given[name])
        elif formal.default is not None:
            value = inner.evaluate(formal.default)
        else:
            raise AttnError(f"'{scheme.name}' lacks its operand '{name}'", call.line)
        if formal.dimensions is not None:
            value = with_names(value, formal, caller, inner, call.line)
        if formal.parts is not None:
            if not isinstance(value, list) or len(value) != len(formal.parts):
                raise AttnError(f"'{name}' is a list of {len(formal.parts)}", call.line)
            for part, item in zip(formal.parts, value):
                inner.values[part] = item
        inner.values[name] = value
    for name in ("i", "j"):
        if name in sizes:
            if inner.axes.setdefault(name, sizes[name]) != sizes[name]:
                raise AttnError(f"'{name}' is {inner.axes[name]} and {sizes[name]} long", call.line)
        elif name in caller.parts:
            inner.parts[name] = caller.parts[name]
            inner.axes.setdefault(name, caller.parts[name].length)
        elif name not in inner.axes and name in caller.known_axes():
            inner.axes[name] = caller.known_axes()[name]
    if "j" not in inner.known_axes() and "i" in inner.known_axes():
        inner.axes["j"] = inner.known_axes()["i"]
    return inner


def with_names(value, formal, caller, inner, line):
    """An argument whose dimensions have names: q : [b, h, i, d]."""
    if isinstance(value, Field):
        value = materialised(value)
    if not isinstance(value, (Tensor, IndexOperand)):
        raise AttnError(f"'{formal.name}' is a tensor", line)
    shape = value.data.shape if isinstance(value, Tensor) else value.array.shape
    if len(shape) != len(formal.dimensions):
        raise AttnError(f"'{formal.name}' has {len(formal.dimensions)} dimensions, found {len(shape)}", line)
    for at, (name, size) in enumerate(zip(formal.dimensions, shape)):
        # The parts that a scheme sees: those of the axes that the caller knows the dimension by, or that it names itself.
        called = [f[0][0] for f in value.names[at] if len(f) == 1] if isinstance(value, Tensor) else []
        part = next((caller.parts[each] for each in called + [name] if each in caller.parts), None)
        if part and size in (part.length, part.whole):
            inner.parts[name] = part
            inner.axes.setdefault(name, part.length)
        elif inner.axes.setdefault(name, size) != size:
            raise AttnError(f"'{name}' is {inner.axes[name]} and {size} long", line)
    if isinstance(value, IndexOperand):
        return IndexOperand(formal.name, value.array)
    names = [[((name, size),)] for name, size in zip(formal.dimensions, shape)]
    return Tensor(value.data, names, value.absent)
