"""The meanings of names: numbers, values and axes, and the places where each may stand (LANGUAGE.md, Names)."""
from . import syntax as s
from .axes import Known, Symbol
from .errors import AttnError
from .positions import Axis, Constant, Field
from .tensors import Tensor
from .text import bare_axes, walk


class IndexOperand:
    """An operand of i32, which is read at positions and is no tensor."""
    what = "an index operand"

    def __init__(self, name, array, ends=None):
        self.name, self.array, self.ends = name, array, ends  # `ends`: of its range


TEXTS = ("einsum", "rearrange", "broadcast")
NO_AXES = {"einsum": ("where", "sum"), "gather": ("dim",)}


def axes_named_by(body, is_number, signatures):
    """Returns the names of axes in a body, in the order of the text."""
    found = {}
    for statement in body:
        if isinstance(statement, s.Part):
            found[statement.axis] = None
        for node in walk(statement):
            if not isinstance(node, s.Call):
                continue
            if node.name in TEXTS:
                for each in node.positional:
                    if isinstance(each, s.Text):
                        found.update(dict.fromkeys(bare_axes(each.value, is_number, node.line)))
            if node.name in TEXTS + ("tabulate", "gather"):
                found.update((name, None) for name in node.named if name not in NO_AXES.get(node.name, ()))
            found.update(dict.fromkeys(signatures(node.name)))
    return list(found)


def assigned_in(body):
    return {name for statement in body if isinstance(statement, s.Assign) for name in statement.names}


class Scope:
    """The scope of a kernel, or of one call of a scheme. `axes` has a Known for each name."""

    def __init__(self, program, values=None, axes=None):
        self.program, self.values, self.axes = program, dict(values or {}), dict(axes or {})
        self.assigned = set()                # names to which some statement gives a value
        self.symbols = set()                 # axes that the body itself names
        self.results = None                  # the shapes of the body's results, if they are known
        self.expected = {}                   # by identity: an expression, and the shape that it must have

    def open_body(self, body):
        """Puts the axes and names of a body in scope in all of it."""
        self.assigned = assigned_in(body)

        def is_number(name):
            return self.has_number(name) or name in self.assigned or isinstance(self.values.get(name), (int, float, Field, list))

        for name in axes_named_by(body, is_number, self.program.axes_of_results):
            if name not in self.axes:
                self.axes[name] = Known(Symbol(name))
                self.symbols.add(self.axes[name].symbol)

    # Names.
    def has_number(self, name):
        return name in self.program.constants

    def has_value(self, name):
        return name in self.values or name in self.assigned or self.has_number(name)

    def value_of(self, name):
        if name in self.values:
            return self.values[name]
        return None if name in self.assigned else self.program.constants.get(name)

    def given(self, name, line):
        value = self.value_of(name)
        if value is None:
            raise AttnError(f"'{name}' has no value yet", line)
        return value

    def is_position_value(self, name):
        """Returns whether the name may stand in an index expression: as a number, a function of positions, or a list."""
        return isinstance(self.value_of(name), (int, float, Field, list))

    def axis(self, name):
        known = self.axes[name]
        return Axis(known.symbol, known.fixed)

    def contested(self, name, line):
        if name in self.axes and self.has_value(name):
            raise AttnError(f"'{name}' is an axis, and a value too: write position({name}) or {name}[...]", line)

    def look_up(self, name, line):
        """Returns the meaning of a name that stands alone."""
        if name == "inf":
            return float("inf")
        self.contested(name, line)
        if self.has_value(name):
            return self.given(name, line)
        if name in self.axes:
            return self.axis(name)
        raise AttnError(f"unknown name '{name}'", line)

    def position_along(self, name, line):
        if name not in self.axes:
            raise AttnError(f"position: there is no axis '{name}'", line)
        return self.axis(name)

    def length(self, name, line):
        value = self.value_of(name) if self.has_value(name) else None
        if isinstance(value, list):
            if name in self.axes:
                self.contested(name, line)
            return len(value)
        if name not in self.axes:
            raise AttnError(f"len: there is no axis '{name}'", line)
        known = self.axes[name]
        return known.symbol.stretch.whole if known.symbol.stretch else known.size()

    def symbol(self, name, line):
        if name not in self.axes:
            raise AttnError(f"there is no axis '{name}'", line)
        return self.axes[name].symbol

    def assign(self, name, value, line):
        if name in self.values:
            raise AttnError(f"'{name}' has a value already", line)
        self.values[name] = value

    # Expressions, by the kind of value that may stand there.
    def evaluate(self, node):
        from .evaluator import evaluate  # pylint: disable=import-outside-toplevel,cyclic-import
        return evaluate(node, self)

    def whole_value(self, node):
        """Evaluates a place where only a value can stand, so that a name means a value."""
        if isinstance(node, s.Name) and self.has_value(node.name):
            return self.given(node.name, node.line)
        return self.evaluate(node)

    def position(self, node):
        """Evaluates an expression as a function of positions."""
        value = self.evaluate(node)
        if isinstance(value, (int, float)):
            return Constant(value)
        if not isinstance(value, Field):
            raise AttnError("expected a function of positions", node.line)
        return value

    def number(self, node, what="a number"):
        """Evaluates a place where only a number can stand."""
        value = NumbersOnly(self).evaluate(node)
        if not isinstance(value, (int, float)):
            raise AttnError(f"{what} is known from params alone", node.line)
        return value

    def whole(self, node, what="a size"):
        value = self.number(node, what)
        if not isinstance(value, int):
            raise AttnError(f"{what} is a whole number, found {value}", node.line)
        return value


class Inner(Scope):
    """A scope inside another one, with axes of its own, or without axes."""

    def __init__(self, outer, axes=None):
        super().__init__(outer.program, outer.values, {**outer.axes, **(axes or {})})
        self.outer, self.assigned, self.expected = outer, outer.assigned, outer.expected


class NumbersOnly(Inner):
    """The scope of a size, in which axes have no position."""

    def contested(self, name, line):
        pass

    def look_up(self, name, line):
        if name in self.program.sizes:
            return self.program.sizes[name]
        if not self.has_value(name) and name in self.axes:
            raise AttnError(f"'{name}' is an axis, and no number", line)
        return super().look_up(name, line)


class TextAxes(Inner):
    """The scope of a text's index expressions, an einsum's condition or tabulate's function: it has the text's axes alone."""

    def __init__(self, outer, axes, line):
        super().__init__(outer, axes)
        self.here = set(axes)
        self.line = line

    def axis(self, name):
        if name not in self.here:
            raise AttnError(f"no axis '{name}' in this text", self.line)
        return super().axis(name)


class Positions(TextAxes):
    """The scope of tabulate and gather: positions along a whole axis. No tensor stands here, so that an axis may have its name."""

    def look_up(self, name, line):
        if name in self.here and not isinstance(self.value_of(name), (int, float, Field, list)):
            return self.axis(name)
        return super().look_up(name, line)

    def axis(self, name):
        known = super().axis(name)
        return Axis(known.symbol, known.fixed, absolute=True)


class OnTensor(Inner):
    """The scope of a condition after `where`: names are axes of the tensor."""

    def __init__(self, outer, tensor):
        super().__init__(outer)
        self.tensor = tensor

    def axis(self, name):
        own = self.tensor.axes()
        symbol = self.axes[name].symbol
        if symbol not in own:
            raise AttnError(f"no axis '{name}': the tensor's axes are {self.tensor.spoken()}")
        size = own[symbol][2]
        return Axis(symbol, size, absolute=bool(symbol.stretch) and size != symbol.stretch.length)

    def length(self, name, line):
        symbol = self.axes[name].symbol if name in self.axes else None
        own = self.tensor.axes()
        if symbol in own and not symbol.stretch:
            return own[symbol][2]
        return super().length(name, line)


def is_tensor(value):
    return isinstance(value, Tensor)
