"""Evaluates calls of schemes, which see nothing of their callers (LANGUAGE.md, Schemes), and bodies."""
import re

from . import syntax as s
from .axes import Known, Symbol, is_total
from .errors import AttnError, UnknownSize
from .joining import called, unique
from .moves import sliced
from .positions import Field, Stretch, axes_of
from .results import tell
from .scope import TEXTS, IndexOperand, Scope
from .tensors import Tensor, materialised
from .text import walk

DEPTH = 100


def call_scheme(scheme, node, scope, program):
    if program.depth > DEPTH:
        raise AttnError("schemes call each other without end", node.line)
    call = Call(scheme, node, scope, program)
    if id(node) in scope.expected:
        call.inner.results = [scope.expected[id(node)][1]]
    program.depth += 1
    try:
        value, = run_body(scheme.body, call.inner)
    finally:
        program.depth -= 1
    return call.out(value)


class Call:
    """One call: the scope of the body, and the caller's axes for those of the body."""

    def __init__(self, scheme, node, caller, program):
        self.scheme, self.node, self.caller, self.program = scheme, node, caller, program
        self.inner = Scope(program)
        self.names_outside = {}              # symbol of a parameter's axis: the caller's names of that dimension
        self.made = set()                    # new axes
        given, axes = self.arguments()
        values = {}
        for name, formal in self.formals.items():
            if name in given:
                values[name] = caller.whole_value(given[name]) if formal.dimensions is not None else caller.evaluate(given[name])
        self.bind_axes(values, axes)
        for name, formal in self.formals.items():
            if name not in values:
                if formal.default is None:
                    raise AttnError(f"'{scheme.name}' lacks its operand '{name}'", node.line)
                values[name] = self.inner.evaluate(formal.default)
            self.bind_value(name, formal, values[name])
        self.inner.open_body(scheme.body)
        self.made |= self.inner.symbols

    def arguments(self):
        self.formals = {formal.name: formal for formal in self.scheme.formals}
        if len(self.node.positional) > len(self.formals):
            raise AttnError(f"'{self.scheme.name}' takes {len(self.formals)} arguments", self.node.line)
        given, axes = dict(zip(self.formals, self.node.positional)), {}
        for name, value in self.node.named.items():
            if name in self.formals:
                if name in given:
                    raise AttnError(f"'{name}' is given twice", self.node.line)
                given[name] = value
            elif name in ("i", "j"):
                axes[name] = value
            else:
                raise AttnError(f"'{self.scheme.name}' has no operand '{name}'", self.node.line)
        return given, axes

    def bind_value(self, name, formal, value):
        if formal.parts is not None:
            items = taken_apart(value, self.node.line)
            if not isinstance(items, list) or len(items) != len(formal.parts):
                raise AttnError(f"'{name}' is a list of {len(formal.parts)}", self.node.line)
            self.inner.values.update(zip(formal.parts, items))
        self.inner.values[name] = value

    # Axes.
    def said(self, name, value):
        """Handles an axis of the call: i = N is a new axis of that size; i = n is the caller's axis n."""
        if isinstance(value, s.Name) and value.name in self.caller.axes:
            if isinstance(self.caller.value_of(value.name) if self.caller.has_value(value.name) else None, (int, float)):
                self.caller.contested(value.name, self.node.line)
            known = self.caller.axes[value.name]
            return Known(known.symbol, known.fixed)
        known = Known(Symbol(name), self.caller.whole(value))
        self.made.add(known.symbol)
        return known

    def callers(self, name):
        return self.caller.axes.get(name)

    def bind_axes(self, values, said):
        axes = {name: self.said(name, value) for name, value in said.items()}
        tensors = {}
        for name, formal in self.formals.items():
            if formal.dimensions is not None:
                tensors[name] = self.with_dimensions(formal, values)
        found = {}                            # name of an axis: [(size, the caller's names of the dimension)]
        for name, value in tensors.items():
            shape = value.data.shape if isinstance(value, Tensor) else value.array.shape
            names = value.names if isinstance(value, Tensor) else [[] for _ in shape]
            for axis, size, own in zip(self.formals[name].dimensions, shape, names):
                found.setdefault(axis, []).append((size, own))
        for axis, dimensions in found.items():
            sizes = {size for size, _ in dimensions}
            if len(sizes) > 1:
                raise AttnError(f"'{axis}' is {' and '.join(map(str, sorted(sizes)))} long", self.node.line)
            if axis in axes and axes[axis].fixed is not None and axes[axis].fixed not in sizes:
                raise AttnError(f"'{axis}' is {axes[axis].fixed} and {sizes.pop()} long", self.node.line)
            axes[axis] = self.axis_of(axis, dimensions, axes)
        for name in ("i", "j"):
            if name not in axes and name not in self.formals:
                axes[name] = self.implicit(name, axes)
        self.inner.axes = axes
        for name, value in tensors.items():
            values[name] = self.renamed(value, self.formals[name], axes)

    def implicit(self, name, axes):
        known = self.callers(name)
        if known is not None and not any(known.symbol is other.symbol for other in axes.values()):
            return Known(known.symbol, known.fixed)
        fresh = Known(Symbol(name), known.size() if known is not None else None)
        self.made.add(fresh.symbol)
        return fresh

    def axis_of(self, axis, dimensions, axes):
        """Returns the axis that a parameter names: the caller's, if the dimension is one, or a new one."""
        size = dimensions[0][0]
        taken = {id(known.symbol) for name, known in axes.items() if name != axis}
        own = next((names for _, names in dimensions if any(len(f) == 1 for f in names)), None) or next(
            (names for _, names in dimensions if names), [])
        single = next((f[0][0] for f in own if len(f) == 1), None)
        if axis in axes:                      # the call gives it
            return Known(axes[axis].symbol, size)
        if single is not None and id(single) not in taken:
            return Known(single, size if not single.stretch or size != single.stretch.length else None)
        if not own and axis in ("i", "j") and self.callers(axis) is not None and id(self.callers(axis).symbol) not in taken:
            known = self.callers(axis)
            if known.symbol.stretch and size in (known.symbol.stretch.length, known.symbol.stretch.whole):
                return Known(known.symbol)
            sizes = {known.fixed} if known.fixed is not None else known.symbol.told
            if size in sizes:
                return Known(known.symbol, size)
            if not sizes:                     # the dimension tells it
                known.symbol.tell(size)
                return Known(known.symbol, size)
            raise AttnError(f"'{axis}' is {known.size()} long in the caller and {size} here: write {axis} = …", self.node.line)
        symbol = Symbol(axis)
        self.names_outside[symbol] = own
        return Known(symbol, size)

    def with_dimensions(self, formal, values):
        value = values.get(formal.name)
        if isinstance(value, Field):
            value = materialised(value)
        if not isinstance(value, (Tensor, IndexOperand)):
            raise AttnError(f"'{formal.name}' is a tensor", self.node.line)
        if isinstance(value, Tensor):
            value.ordered(f"the argument '{formal.name}'")
        rank = value.data.ndim if isinstance(value, Tensor) else value.array.ndim
        if rank != len(formal.dimensions):
            raise AttnError(f"'{formal.name}' has {len(formal.dimensions)} dimensions, found {rank}", self.node.line)
        return value

    @staticmethod
    def renamed(value, formal, axes):
        if isinstance(value, IndexOperand):
            return IndexOperand(formal.name, value.array, value.ends)
        out = value.like(value.data)
        out.before, out.truth = None, value.truth
        for at, axis in enumerate(formal.dimensions):
            symbol = axes[axis].symbol
            if not any(called(factors) == (symbol,) for factors in value.names[at]):
                out.names[at] = [((symbol, value.shape[at]),)]
        out.names = unique(out.names) if len(set(formal.dimensions)) < len(formal.dimensions) else out.names
        return out

    # Results.
    def out(self, value):
        result, line = self.scheme.result, self.node.line
        if isinstance(value, Field):
            if result is None and not any(symbol in self.made or symbol in self.names_outside for symbol in axes_of(value)):
                return value
            value = materialised(value)
        if not isinstance(value, Tensor):
            return value
        if result is not None:
            value = self.in_signature(value, result, line)
        out = value.like(value.data)
        out.names = unique([self.outside(own, result[at] if result else None, size)
                            for at, (own, size) in enumerate(zip(value.names, value.shape))])
        out.truth, out.soft = value.truth, False
        if value.before is not None and is_total(list(range(len(out.names))), value.before):
            out.before = None
        if out.before is not None and not all(out.names):
            raise AttnError(f"the result of '{self.scheme.name}' stands in no order: say it, scheme {self.scheme.name}(…) -> […]", line)
        return out

    def outside(self, own, name, size):
        """Returns the caller's names of a dimension; `name` is its name in the signature."""
        if name is not None and name in self.inner.axes:
            own = [((self.inner.axes[name].symbol, size),)]
        elif name is not None:
            own = [((Symbol(name), size),)]
        out = []
        for factors in own:
            flat = []
            for symbol, length in factors:
                if symbol in self.names_outside:
                    theirs = self.names_outside[symbol]
                    flat += theirs[0] if theirs else [None]
                    out += theirs[1:] if len(factors) == 1 else []
                elif symbol in self.made or name is not None and name not in self.inner.axes:
                    flat.append(self.named_by_signature(name, length))
                else:
                    flat.append((symbol, length))
            if None not in flat:
                out.append(tuple(flat))
        return out

    def named_by_signature(self, name, size):
        if name is None or name not in self.caller.axes:
            return None
        symbol = self.caller.axes[name].symbol
        symbol.tell(size)
        return symbol, size

    def in_signature(self, value, result, line):
        if len(result) != len(value.shape):
            raise AttnError(f"the result of '{self.scheme.name}' has {len(value.shape)} dimensions, its signature {len(result)}", line)
        wanted = [self.inner.axes[name].symbol if name in self.inner.axes else None for name in result]
        own = [next((f[0][0] for f in names if len(f) == 1), None) for names in value.names]
        if value.before is not None:
            if None in wanted or sorted(map(id, wanted)) != sorted(map(id, own)):
                raise AttnError(f"the result of '{self.scheme.name}' is {value.spoken()}, its signature says otherwise", line)
            value = value.moved([own.index(symbol) for symbol in wanted])
            value.before = None
        else:
            for at, (symbol, mine) in enumerate(zip(wanted, own)):
                if symbol is not None and mine is not None and symbol is not mine:
                    raise AttnError(f"the result of '{self.scheme.name}' is {value.spoken()}, its signature says '{result[at]}'", line)
        return value


def taken_apart(value, line):
    """Returns the elements of a list, or of a tensor or index operand along its first dimension."""
    if isinstance(value, Field):
        value = materialised(value)
    if isinstance(value, Tensor) and len(value.shape) > 1:
        return [sliced(value, [at], line) for at in range(value.shape[0])]
    if isinstance(value, IndexOperand) and value.array.ndim > 1:
        return [IndexOperand(value.name, each, value.ends) for each in value.array]
    return value


def give(statement, value, scope):
    if not statement.apart:
        scope.assign(statement.names[0], value, statement.line)
        return
    value = taken_apart(value, statement.line)
    if not isinstance(value, list) or len(value) != len(statement.names):
        raise AttnError(f"expected a list of {len(statement.names)}", statement.line)
    for name, item in zip(statement.names, value):
        scope.assign(name, item, statement.line)


def run_body(body, scope):
    """Evaluates a body. A statement waits until its sizes are known, so that a later statement may tell them."""
    check_body(body)
    run_parts(body, scope)
    left, result = body, None
    while left:
        waiting, reason, waits = [], None, set()
        for statement in left:
            try:
                if not waits & names_read(statement):
                    result = run(statement, scope)
                    continue
            except UnknownSize as error:
                learn(statement, scope)
                if error.symbol.told:
                    result = run(statement, scope)
                    continue
                reason = reason or error
            except AttnError as error:
                raise error if error.line is not None else AttnError(error.message, statement.line) from error
            waiting.append(statement)
            waits.update(statement.names if isinstance(statement, s.Assign) else ())
        if len(waiting) == len(left) and not learn_all(left, scope) and not tell(body, scope):
            raise reason
        left = waiting
    for symbol in scope.symbols:
        symbol.check()
    return result


def learn_all(statements, scope):
    """Returns whether the texts of these statements, which wait for each other, tell a new size."""
    def known():
        return sum(len(axis.symbol.told) for axis in scope.axes.values())

    before = known()
    for statement in statements:
        learn(statement, scope)
    return known() > before


def learn(statement, scope):
    """Learns the sizes that all texts of a statement tell."""
    for node in walk(statement):
        if isinstance(node, s.Call) and node.name in TEXTS:
            try:
                scope.evaluate(node)
            except AttnError:
                pass


def names_read(statement):
    out = {node.name for node in walk(statement) if isinstance(node, s.Name)}
    for node in walk(statement):
        if isinstance(node, s.Text):
            out.update(re.findall(r"[A-Za-z_]\w*", node.value))
    return out


def check_body(body):
    seen = set()
    for at, statement in enumerate(body):
        if isinstance(statement, s.Return) != (at == len(body) - 1):
            raise AttnError("a body ends with return", statement.line)
        for name in statement.names if isinstance(statement, s.Assign) else ():
            if name in seen:
                raise AttnError(f"'{name}' has a value already", statement.line)
            seen.add(name)
    if not body:
        raise AttnError("a body ends with return")


def run_parts(body, scope):
    for statement in body:
        if isinstance(statement, s.Part):
            symbol, whole = scope.axes[statement.axis].symbol, scope.whole(statement.whole)
            length = scope.whole(statement.length) if statement.length is not None else length_of_part(statement, body, scope)
            origin = scope.program.origins.get(statement.origin, 0)
            if not 0 <= origin <= whole - length:
                raise AttnError(f"part: {length} from {origin} are not inside {whole}", statement.line)
            symbol.stretch = Stretch(length, whole, origin)


def length_of_part(part, body, scope):
    """Returns the length of a part, which an einsum of the body tells when the body is tried without the part."""
    other = Scope(scope.program, scope.values, {name: known for name, known in scope.axes.items() if known.symbol not in scope.symbols})
    other.open_body(body)
    for statement in body:
        try:
            run(statement, other)
        except AttnError:
            pass
        if other.axes[part.axis].symbol.told:
            return min(other.axes[part.axis].symbol.told)
    raise AttnError(f"part: nothing tells the length of '{part.axis}'", part.line)


def run(statement, scope):
    if isinstance(statement, s.Assign):
        give(statement, scope.whole_value(statement.value), scope)
    elif isinstance(statement, s.Require):
        if not scope.number(statement.condition, "what is required"):
            raise AttnError(statement.message, statement.line)
    elif isinstance(statement, s.Return):
        return [scope.whole_value(value) for value in statement.values]
    return None
