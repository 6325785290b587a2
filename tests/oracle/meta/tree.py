"""Texts as trees, in which every name is a symbol. The printer chooses the written names."""


class Id:
    """A symbol of one kind: axis, value (operand, local), param, scheme; or a parameter, local or axis of a scheme."""

    def __init__(self, kind, name, scheme=None):
        self.kind, self.name, self.scheme = kind, name, scheme


class E:
    """An expression whose parts are strings, symbols and expressions. `dims` has the axes of a tensor in order, else None."""

    def __init__(self, op, parts, dims=None, axes=()):
        self.op, self.parts, self.dims = op, list(parts), dims
        self.axes = frozenset(axes)          # those of a function of positions, or of a condition

    def children(self):
        return [part for part in self.parts if isinstance(part, E)]

    def with_parts(self, parts):
        """Returns the expression with other parts."""
        out = E(self.op, parts, self.dims, self.axes)
        for name in ("scheme", "arguments"):
            if hasattr(self, name):
                setattr(out, name, getattr(self, name))
        return out


class Scheme:
    def __init__(self, name, formals, statements, result, axes=(), uses_ij=False):
        self.name, self.formals, self.statements, self.result = name, formals, statements, result
        self.axes, self.uses_ij = list(axes), uses_ij     # formals: (Id, axes or None)


class Text:
    """A text: params are (Id, value), operands (Id, [size expression]), statements (Id, E), and the result is an E."""

    def __init__(self):
        self.params, self.operands, self.schemes, self.statements, self.result = [], [], [], [], None
        self.ij = False                      # whether a built-in scheme takes the axes i and j
        self.shape = []

    def copy(self):
        out = Text()
        out.params, out.operands, out.schemes = list(self.params), list(self.operands), list(self.schemes)
        out.statements, out.result, out.shape, out.ij = list(self.statements), self.result, self.shape, self.ij
        return out

    def ids(self):
        found = {}
        for each, _ in self.params:
            found[each] = None
        for each, _ in self.operands + self.statements:
            found[each] = None
        for scheme in self.schemes:
            found[scheme.name] = None
            found.update(dict.fromkeys([f for f, _ in scheme.formals] + scheme.axes + [name for name, _ in scheme.statements]))
        for e in self.expressions():
            for part in walk(e):
                found.update((each, None) for each in part.parts if isinstance(each, Id))
        return list(found)

    def expressions(self):
        return [e for _, e in self.statements] + [self.result]

    def mapped(self, change):
        """Returns the text with each expression of the kernel changed."""
        out = self.copy()
        out.statements = [(name, change(e)) for name, e in self.statements]
        out.result = change(self.result)
        return out


def walk(e):
    yield e
    for child in e.children():
        yield from walk(child)


def replaced(e, old, new):
    """Returns the expression with one node replaced."""
    if e is old:
        return new
    if not any(old is each for each in walk(e)):
        return e
    return e.with_parts([replaced(part, old, new) if isinstance(part, E) else part for part in e.parts])


class Printer:
    """Prints texts. `names` has each Id's name, `literals` the params written as numbers, `values` other defaults of params."""

    def __init__(self, names=None, literals=None, values=None):
        self.names, self.literals, self.values = names or {}, literals or {}, values or {}

    def name(self, each):
        return str(self.literals[each]) if each in self.literals else self.names.get(each, each.name)

    def e(self, part):
        if isinstance(part, str):
            return part
        if isinstance(part, Id):
            return self.name(part)
        return "".join(self.e(each) for each in part.parts)

    def scheme(self, scheme):
        def formal(each):
            name, axes = each
            return self.name(name) + (f" : [{', '.join(map(self.name, axes))}]" if axes else "")
        head = f"scheme {self.name(scheme.name)}({', '.join(map(formal, scheme.formals))})"
        if not scheme.statements:
            return f"{head} = {self.e(scheme.result)}"
        lines = [f"  {self.name(name)} = {self.e(e)}" for name, e in scheme.statements]
        return "\n".join([head + " {"] + lines + [f"  return {self.e(scheme.result)}", "}"])

    def text(self, text):
        out = []
        shown = [(each, value) for each, value in text.params if each not in self.literals]
        if shown:
            out.append("param " + ", ".join(f"{self.name(each)} = {self.values.get(each, value)}" for each, value in shown))
        out += [self.scheme(scheme) for scheme in text.schemes]
        operands = ", ".join(f"{self.name(each)} : f32[{', '.join(self.e(size) for size in sizes)}]" for each, sizes in text.operands)
        out.append(f"kernel layer({operands}) -> f32[{', '.join(self.e(size) for size in text.shape)}] {{")
        out += [f"  {self.name(each)} = {self.e(e)}" for each, e in text.statements]
        return "\n".join(out + [f"  return {self.e(text.result)}", "}"]) + "\n"
