"""Makes random kernels: products, joins, conditions, reads at positions, sums, moves, schemes of the file and built-in ones."""
import random

from .tree import E, Id, Scheme, Text

LETTERS = "ijhdnk"


class Generator:
    def __init__(self, seed):
        self.dice, self.text, self.made = random.Random(seed), Text(), 0
        self.axes, self.size, self.pool, self.unnamed = [], {}, [], []
        self.known = set()                   # axes that a text names

    def one(self, items):
        return self.dice.choice(list(items))

    def chance(self, percent):
        return self.dice.random() * 100 < percent

    def fresh(self, kind, stem):
        self.made += 1
        out = Id(kind, f"{stem}{self.made}")
        return out

    # Declarations.
    def random_text(self):
        square, least = self.dice.randint(1, 4), 1 if self.chance(30) else 2
        for letter in self.dice.sample(LETTERS, self.dice.randint(2, 4)):
            axis, size = Id("axis", letter), Id("param", "N" + letter)
            self.axes.append(axis)
            value = square if self.chance(60) else self.dice.randint(least, 5)
            self.size[axis], self.value = size, value
            self.text.params.append((size, value))
        self.window, self.rate, self.step = (Id("param", name) for name in ("W", "rate", "P"))
        self.text.params += [(self.window, self.one((0, 1, 2))), (self.rate, self.one((0, 1, 0.5))), (self.step, self.one((1, 2, 3)))]
        for _ in range(self.dice.randint(0, 2)):
            self.scheme()
        for _ in range(self.dice.randint(1, 3)):
            self.named_operand(self.some_axes())
        for _ in range(self.dice.randint(1, 4)):
            self.statement(self.tensor(2))
        self.text.result = self.tensor(2)
        self.text.shape = [E("size", [self.size[axis]]) for axis in self.text.result.dims]
        return self.text

    def some_axes(self, most=3):
        return self.dice.sample(self.axes, min(len(self.axes), self.dice.randint(1, most)))

    def operand(self, axes):
        known = [each for each in self.unnamed if each[1] == axes]
        if known and self.chance(50):
            return self.one(known)[0]
        name = Id("value", self.one("qvxytuw") + str(len(self.text.operands)))
        self.text.operands.append((name, [E("size", [self.size[axis]]) for axis in axes]))
        self.unnamed.append((name, axes))
        return name

    def statement(self, e):
        name = self.fresh("value", self.one("abcs"))
        self.text.statements.append((name, e))
        if e.dims is not None:
            self.pool.append((name, e.dims))
        return name

    def named_operand(self, axes):
        name = self.operand(axes)
        return self.statement(self.einsum([(axes, E("name", [name]))], self.dice.sample(axes, len(axes))))

    def name_all(self, axes):
        """Names all axes in a text, because a read alone does not make a name an axis."""
        if not set(axes) <= self.known:
            self.named_operand(list(axes))

    # Texts of einsums.
    def einsum(self, operands, result, more=()):
        def letters(axes):
            return [part for axis in axes for part in (axis, " ")][:-1]
        parts = ['einsum("']
        for number, (axes, _) in enumerate(operands):
            self.known.update(axes)
            parts += ([", "] if number else []) + letters(axes)
        parts += [" -> "] + letters(result) + ['"']
        for _, e in operands:
            parts += [", ", e]
        out = E("einsum", parts + list(more) + [")"], list(result))
        return out

    # Tensors.
    def leaf(self):
        if not self.pool or self.chance(15):
            self.named_operand(self.some_axes())
        name, dims = self.one(self.pool)
        return E("name", [name], list(dims))

    def tensor(self, depth):
        if depth == 0:
            return self.leaf()
        makers = (self.joined, self.joined, self.of_positions, self.of_positions, self.chosen, self.function, self.softmax, self.along, self.product,
                  self.read, self.call, self.call, self.turned, self.repeated, self.beside_none, self.outer, self.gathered)
        for _ in range(20):
            out = self.one(makers)(depth - 1)
            if out is not None:
                return out
        return self.leaf()

    def binary(self, op, a, b, dims):
        return E(op, ["(", a, f" {op} ", b, ")"], dims)

    def part_of(self, dims, depth):
        """Returns a tensor over some of these axes, in this order."""
        for _ in range(6):
            e = self.tensor(depth) if self.chance(40) else self.leaf()
            if set(e.dims) <= set(dims) and [axis for axis in dims if axis in e.dims] == e.dims:
                return e
        axes = [axis for axis in dims if self.chance(60)] or list(dims[:1])
        return self.einsum([(axes, E("name", [self.operand(axes)]))], axes)

    def joined(self, depth):
        a = self.tensor(depth)
        b = self.part_of(a.dims, depth)
        op = self.one("++*-")
        if self.chance(15):
            return E("max", [self.one(("max(", "min(")), a, ", ", b, ")"], a.dims)
        return self.binary(op, *self.dice.sample([a, b], 2) if op != "-" else (a, b), a.dims)

    def outer(self, depth):
        """Returns the sum of a tensor and a join of two tensors that have one of its axes each."""
        a = self.tensor(depth)
        if len(a.dims) < 2:
            return None
        b, c = ([axis] for axis in self.dice.sample(a.dims, 2))
        both = self.binary(self.one("+*"), *(self.einsum([(axes, E("name", [self.operand(axes)]))], axes) for axes in (b, c)), None)
        return self.binary("+", *self.dice.sample([a, both], 2), a.dims)

    def position(self, axes):
        """Returns a function of positions of these axes."""
        a, b = self.one(axes), self.one(axes)
        forms = [[a], ["(", a, " - ", b, ")"], ["abs(", a, " - ", b, ")"], ["(", self.rate, " * ", a, ")"], ["(", a, " // 2)"], ["(", a, " % ", self.step, ")"],
                 ["exp(-", a, " / 3)"], ["(0.1 * ", a, ")"], ["min(", a, ", ", self.window, ")"], ["position(", a, ")"], ["(", a, " * ", b, ")"],
                 ["clamp(", a, " - ", b, ", -", self.window, ", ", self.window, ")"]]
        parts = self.one(forms)
        return E("position", parts, None, [part for part in parts if isinstance(part, Id) and part.kind == "axis"])

    def condition(self, axes, depth=1):
        if depth and self.chance(25):
            a, b = self.condition(axes, 0), self.condition(axes, 0)
            return E("condition", ["(", a, self.one((" and ", " or ")), b, ")"], None, a.axes | b.axes)
        a, b = self.one(axes), self.one(axes)
        forms = [[a, " <= ", b], [a, " < ", self.window], ["abs(", a, " - ", b, ") <= ", self.window], [a, " % 2 == 0"], ["not ", a, " == ", b],
                 [a, " // 2 != ", b, " // 2"], [a, " > 0"], ["position(", a, ") < 2"]]
        parts = self.one(forms)
        return E("condition", ["("] + parts + [")"], None, [part for part in parts if isinstance(part, Id) and part.kind == "axis"])

    def of_positions(self, depth):
        a = self.tensor(depth)
        form = self.dice.randint(0, 5)
        if form == 0:
            return self.binary("*", *self.dice.sample([a, self.condition(a.dims)], 2), a.dims)
        if form == 1:
            return E("choice", ["(", a, " if ", self.condition(a.dims), " else ", self.one(("0", "1", "0.5")), ")"], a.dims)
        if form == 2:
            return E("choice", ["select(", self.condition(a.dims), ", ", self.one(("0", "2")), ", ", a, ")"], a.dims)
        if form == 3:
            return self.binary("-", a, self.position(a.dims), a.dims)
        return self.binary(self.one("+*"), *self.dice.sample([a, self.position(a.dims)], 2), a.dims)

    def chosen(self, depth):
        a = self.tensor(depth)
        b = self.part_of(a.dims, depth)
        if self.chance(50):
            return E("choice", ["(", a, " if ", a, " > ", self.one(("0", "0.3")), " else ", b, ")"], a.dims)
        return E("choice", ["(", a, " if ", self.condition(a.dims), " else ", b, ")"], a.dims)

    def function(self, depth):
        a = self.tensor(depth)
        return E("function", self.one([["tanh(", a, ")"], ["(-", a, ")"], ["(", a, " * 0.5)"], ["abs(", a, ")"], ["sigmoid(", a, ")"], ["(", a, " + 1)"]]), a.dims)

    def softmax(self, depth):
        a = self.tensor(depth)
        if self.chance(30):
            return E("softmax", ["softmax(", a, ")"], a.dims)
        if self.chance(20):
            return E("softmax", ["softmax(", self.binary("+", a, E("choice", ["(0 if ", self.condition(a.dims), " else -inf)"]), a.dims), ")"], a.dims)
        if self.chance(30):
            return E("softmax", ["softmax(", a, ", axis = ", self.one(a.dims), ")"], a.dims)
        return E("softmax", ["softmax(", a, " where ", self.condition(a.dims), ")"], a.dims)

    def along(self, depth):
        a = self.tensor(depth)
        axis = self.one(a.dims)
        if self.chance(20):
            return E("along", ["cumsum(", a, ", ", axis, ")"], a.dims)
        if len(a.dims) < 2:
            return None
        rest = [each for each in a.dims if each is not axis]
        return E("along", self.one([["sum(", a, ", ", axis, ")"], ["mean(", a, ", ", axis, ")"], ["max(", a, ", axis = ", axis, ")"]]), rest)

    def product(self, depth):
        a, b = self.tensor(depth), self.leaf()
        every = list(dict.fromkeys(a.dims + b.dims))
        result = [axis for axis in every if self.chance(65)] or every[:1]
        more = [", where = ", self.condition(every)] if self.chance(25) else []
        return self.einsum([(a.dims, a), (b.dims, b)], self.dice.sample(result, len(result)), more) if len(every) < 5 else None

    def read(self, depth):
        axes = self.some_axes(2)
        self.name_all(axes)
        name = self.operand(axes)
        if self.chance(60):
            return E("read", [name, "["] + [part for axis in axes for part in (axis, ", ")][:-1] + ["]"], list(axes))
        if self.chance(50):
            group = self.one(axes)
            index = [part for axis in axes for part in ([axis, " // 2"] if axis is group else [axis]) + [", "]][:-1]
            return E("read", [name, "["] + index + ["]"], list(axes))
        a, b = self.one(self.axes), self.one(self.axes)
        if a is b:
            return None
        table = Id("value", f"t{len(self.text.operands)}")
        self.text.operands.append((table, [E("size", [self.size[a], " + ", self.size[b], " - 1"])]))
        base = self.part_or_all([a, b], depth)
        return self.binary("+", base, E("read", [table, "[", a, " - ", b, " + ", self.size[b], " - 1]"], None, [a, b]), base.dims)

    def part_or_all(self, axes, depth):
        for _ in range(4):
            e = self.tensor(depth)
            if set(axes) <= set(e.dims):
                return e
        return self.einsum([(axes, E("name", [self.operand(axes)]))], axes)

    def turned(self, depth):
        a = self.tensor(depth)
        result = self.dice.sample(a.dims, len(a.dims))

        def letters(axes):
            return [part for axis in axes for part in (axis, " ")][:-1]
        if self.chance(50):
            return E("move", ['rearrange(', a, ', "'] + letters(a.dims) + [" -> "] + letters(result) + ['")'], result)
        return self.einsum([(a.dims, a)], result)

    def repeated(self, depth):
        """Returns a sum over an axis that is repeated, or over copies."""
        a = self.tensor(depth)
        new = [axis for axis in self.axes if axis not in a.dims]
        if new and self.chance(60):
            axis = self.one(new)
            letters = [part for each in a.dims for part in (each, " ")]
            wide = E("move", ["broadcast(", a, ', "'] + letters[:-1] + [" -> "] + letters + [axis, '", ', axis, " = ", self.size[axis], ")"], a.dims + [axis])
            return wide if self.chance(50) else E("along", ["sum(", wide, ", ", axis, ")"], a.dims)
        axis = self.one(a.dims)
        return E("along", ["sum(concat(", a, "[..., None], ", a, f"[..., None], dim = {len(a.dims)}), -1)"], a.dims) if axis else None

    def beside_none(self, depth):
        a = self.tensor(depth)
        at = self.dice.randrange(len(a.dims))
        b = [a.dims[at]]
        one = self.einsum([(b, E("name", [self.operand(b)]))], b)
        places = [":"] + ["None"] * (len(a.dims) - 1 - at)
        return self.binary(self.one("+*"), a, E("move", [one, "[" + ", ".join(places) + "]"], None), a.dims)

    def gathered(self, depth):
        """Returns an operand that is read in groups of two, as heads that share keys read them."""
        axis, other = self.one(self.axes), self.one(self.axes)
        if axis is other:
            return None
        groups = Id("value", f"g{len(self.text.operands)}")
        self.text.operands.append((groups, [E("size", ["(", self.size[axis], " + 1) // 2"]), E("size", [self.size[other]])]))
        result = self.one(([other], [axis, other], [other, axis]))
        parts = ['einsum("(', axis, " // 2) ", other, " -> "] + [part for each in result for part in (each, " ")][:-1] + \
            ['", ', groups, ", ", axis, " = ", self.size[axis], ")"]
        return E("einsum", parts, result)

    # Schemes.
    def scheme(self):
        number = len(self.text.schemes)
        form = self.dice.randint(0, 9)
        name, x, y = Id("scheme", f"f{number}"), Id("formal", self.one("xz" if 3 <= form <= 7 else "xzdn")), Id("formal", self.one("ymeb"))
        a, b = Id("own axis", self.one("nrd")), Id("own axis", self.one("cbe"))
        for each in (x, y, a, b):
            each.scheme = name
        m = Id("own local", "m")
        m.scheme = name
        ex, ey = E("name", [x]), E("name", [y])
        two = [(x, [a, b])]
        if form == 0:
            made = Scheme(name, [(x, None)], [], E("s", ["(", ex, " if ", ex, " > 0.2 else 0)"]))
        elif form == 1:
            made = Scheme(name, [(x, None), (y, None)], [], E("s", ["(", ex, " if ", ex, " > ", ey, " else 0)"]))
        elif form == 2:
            made = Scheme(name, [(x, None)], [(m, E("s", ["(", ex, " * 2)"]))], E("s", ["(", E("name", [m]), " if ", E("name", [m]), " > 0.5 else -1)"]))
        elif form == 3:
            made = Scheme(name, two, [], E("s", ["(", ex, " * (", b, " < 2))"]), [a, b])
        elif form == 4:
            made = Scheme(name, two, [], E("s", ["(", ex, " + ", a, " - 2 * ", b, ")"]), [a, b])
        elif form == 5:
            made = Scheme(name, two, [], E("s", ["softmax(", ex, " where ", b, " <= ", a, ")"]), [a, b])
        elif form == 6:
            made = Scheme(name, two, [], E("s", ["(", ex, " / (1 + sum(abs(", ex, "), ", b, "))[:, None])"]), [a, b])
        elif form == 7:
            made = Scheme(name, [(x, [a])], [], E("s", ["(", ex, " * exp(-", a, " / 3))"]), [a])
        elif form == 8 or not all(any(axis.name == name_of for axis in self.axes) for name_of in "ij"):
            made = Scheme(name, [(x, None), (y, None)], [], E("s", ["(", ex, " * ", ey, " + tanh(", ex, "))"]))
        else:
            made = Scheme(name, [(x, None)], [], E("s", ["(", ex, " * (j <= i) - 0.1 * abs(i - j))"]), [], uses_ij=True)
        made.form = form
        self.text.schemes.append(made)

    def call(self, depth):
        a = self.tensor(depth)
        fitting = [each for each in self.text.schemes if not each.uses_ij or {"i", "j"} <= {axis.name for axis in a.dims}]
        fitting = [each for each in fitting if each.form not in (3, 4, 5, 6, 7) or len(a.dims) == len(each.formals[0][1])]
        if not fitting or self.chance(35):
            if self.chance(20) and {"i", "j", "h"} <= {axis.name for axis in a.dims}:
                slope = [axis for axis in self.axes if axis.name == "h"]
                self.text.ij = True
                return self.binary("+", a, E("line", ["alibi(", self.operand(slope), "[", slope[0], "])"], None, slope), a.dims)
            return E("function", self.one([["elu(", a, ")"], ["sign(", a, ")"], ["silu(", a, ")"], ["softcap(", a, ", 2)"], ["softplus(", a, ")"], ["gelu(", a, ")"]]), a.dims)
        scheme = self.one(fitting)
        arguments = [a]
        if len(scheme.formals) == 2:
            arguments.append(E("number", [self.one(("1", "0.3"))]) if self.chance(50) else self.part_of(a.dims, depth))
        parts = [scheme.name, "("]
        for number, each in enumerate(arguments):
            parts += ([", "] if number else []) + [each]
        out = E("call", parts + [")"], a.dims)
        out.scheme, out.arguments = scheme, arguments
        return out
