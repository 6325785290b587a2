"""Changes of a text that keep its meaning. Each returns (its description, the printed text, -D of params), or nothing. With
`same`, the compiler must accept the changed text if and only if it accepts the text. A change of names may turn a text into an
error, but never into another value."""
from .tree import E, Id, Printer, replaced, walk

# Names of operands and axes in built-in schemes, names of functions, and common letters.
CLASHES = ["x", "n", "d", "b", "h", "i", "j", "k", "q", "s", "t", "p", "e", "z", "x0", "x1", "_0", "along", "len", "sum", "dim", "axis", "map", "position", "cap",
           "inf", "where", "mod", "None", "m", "y", "N", "M", "value", "self", "tmp", "size", "param", "f32", "einsum"]
VALUES = ("value", "param")


def takes_ij(text):
    """Returns whether a scheme takes the caller's axes i and j. They then keep their names, and no other axis gets these."""
    return text.ij or any(scheme.uses_ij for scheme in text.schemes)


def may_be_renamed(text):
    return [each for each in text.ids() if each.kind != "axis" or each.name not in ("i", "j") or not takes_ij(text)]


def may_be_called(each, name, text, names):
    """Returns whether a new name keeps the symbols of one kind apart."""
    kinds = VALUES if each.kind in VALUES else (each.kind,)
    if each.kind in ("formal", "own local"):
        kinds = ("formal", "own local")
    for other in text.ids():
        if other is not each and other.kind in kinds and other.scheme is each.scheme and names.get(other, other.name) == name:
            return False
    if name in ("i", "j") and takes_ij(text):
        return False
    if each.kind == "scheme" and name in CLASHES:
        return False                # a scheme of the file would replace a built-in one, which changes the meaning
    return name != "layer"


def renamed(text, dice):
    """Gives a few names, or all of a kind, fresh names."""
    ids, names = may_be_renamed(text), {}
    chosen = ids if dice.random() < 0.3 else [each for each in ids if dice.random() < 0.4]
    for number, each in enumerate(chosen):
        names[each] = dice.choice(("u", "Long_name", "w")) + f"{number}x"
    return "fresh names", Printer(names).text(text), {}, True


def clashing(text, dice):
    """Gives some names that something else has in the text, in built-in schemes, or in the language."""
    ids, names = may_be_renamed(text), {}
    for each in dice.sample(ids, min(len(ids), dice.randint(1, 4))):
        pool = [other.name for other in text.ids() if other.kind != each.kind or other.scheme is not each.scheme] + CLASHES
        for _ in range(5):
            name = dice.choice(pool)
            if may_be_called(each, name, text, names):
                names[each] = name
                break
    what = ", ".join(f"{each.kind} {each.name} -> {name}" for each, name in names.items())
    return f"clashing names: {what}", Printer(names).text(text), {}, False


def pick(text, dice, fits):
    """Picks a node that fits. Returns (node, its statement's number or None for the result)."""
    found = []
    for number, e in enumerate(text.expressions()):
        found += [(node, number) for node in walk(e) if fits(node)]
    return dice.choice(found) if found else None


def with_node(text, node, new):
    return text.mapped(lambda e: replaced(e, node, new))


def swapped(text, dice):
    """Swaps operands of + and *, and of max and min."""
    found = pick(text, dice, lambda e: e.op in ("+", "*", "max"))
    if not found:
        return None
    node, _ = found
    parts = list(node.parts)
    parts[1], parts[3] = parts[3], parts[1]
    return "operands swapped", Printer().text(with_node(text, node, node.with_parts(parts))), {}, True


def named(text, dice):
    """Gives an expression a name."""
    found = pick(text, dice, lambda e: e.op not in ("name", "size", "number"))
    if not found:
        return None
    node, number = found
    name = Id("value", "named_here")
    out = with_node(text, node, E("name", [name], node.dims))
    out.statements.insert(number, (name, node))
    return "an expression named", Printer().text(out), {}, True


def inlined(text, dice):
    """Replaces a name by its expression."""
    if not text.statements:
        return None
    at = dice.randrange(len(text.statements))
    name, value = text.statements[at]
    out = text.copy()
    del out.statements[at]

    def change(e):
        if e.op == "name" and e.parts == [name]:
            return E("inlined", ["(", value, ")"], value.dims)
        return e.with_parts([change(part) if isinstance(part, E) else part for part in e.parts])

    uses = [node for e in text.expressions() for node in walk(e) if any(part is name for part in node.parts)]
    if not uses or any(node.op != "name" for node in uses):
        return None                 # it is not read, or it is the base of a subscript
    return "a name inlined", Printer().text(out.mapped(change)), {}, True


def by_hand(text, dice):
    """Replaces a call by the scheme's body."""
    found = pick(text, dice, lambda e: e.op == "call")
    if not found:
        return None
    node, _ = found
    scheme, values = node.scheme, {}
    for (formal, axes), argument in zip(scheme.formals, node.arguments):
        values[formal] = argument
        if axes:
            values.update(zip(axes, argument.dims))
    for local, e in scheme.statements:
        values[local] = body(e, values)
    return "a scheme by hand", Printer().text(with_node(text, node, body(scheme.result, values))), {}, True


def body(e, values):
    """Returns a scheme's expression with its arguments, and with the caller's names of its axes."""
    if e.op == "name" and e.parts[0] in values:
        return E("argument", ["(", values[e.parts[0]], ")"])
    parts = []
    for part in e.parts:
        parts.append(body(part, values) if isinstance(part, E) else values.get(part, part) if not isinstance(part, str) else part)
    return e.with_parts(parts)


def turned_twice(text, dice):
    """Moves a tensor there and back by rearrange."""
    found = pick(text, dice, lambda e: e.dims is not None and len(e.dims) > 1)
    if not found:
        return None
    node, _ = found

    def letters(axes):
        return [part for axis in axes for part in (axis, " ")][:-1]
    other = dice.sample(node.dims, len(node.dims))
    there = E("move", ["rearrange(", node, ', "'] + letters(node.dims) + [" -> "] + letters(other) + ['")'], other)
    back = E("move", ["rearrange(", there, ', "'] + letters(other) + [" -> "] + letters(node.dims) + ['")'], node.dims)
    return "there and back", Printer().text(with_node(text, node, back)), {}, True


def defined(text, dice):
    """Gives params by -D; the text has other values."""
    chosen = [(each, value) for each, value in text.params if dice.random() < 0.7]
    values = {each: dice.choice((1, 2, 3, 7)) for each, _ in chosen}
    return "params by -D", Printer(values=values).text(text), {each.name: value for each, value in chosen}, True


def literal(text, dice):
    """Writes params out as numbers."""
    chosen = {each: value for each, value in text.params if dice.random() < 0.7}
    return "params written out", Printer(literals=chosen).text(text), {}, True


def reordered(text, dice):
    """Puts statements in another order that their names allow."""
    left, done, out = list(text.statements), set(), []
    given = {name for name, _ in left}
    while left:
        ready = [(name, e) for name, e in left if all(part in done or part not in given for node in walk(e) for part in node.parts if part is not name)]
        chosen = dice.choice(ready)
        out.append(chosen)
        left.remove(chosen)
        done.add(chosen[0])
    changed = text.copy()
    changed.statements = out
    return "statements in another order", Printer().text(changed), {}, True


def with_none(text, dice):
    """Writes the dimensions that one operand of a join by name lacks as None."""
    def fits(e):
        return e.op in ("+", "*") and e.dims is not None and all(isinstance(e.parts[k], E) and e.parts[k].dims for k in (1, 3)) and \
            len(e.parts[1].dims) != len(e.parts[3].dims)
    found = pick(text, dice, fits)
    if not found:
        return None
    node, _ = found
    parts = list(node.parts)
    small, large = sorted((1, 3), key=lambda k: len(parts[k].dims))
    if [axis for axis in parts[large].dims if axis in parts[small].dims] != parts[small].dims:
        return None
    marks = [":" if axis in parts[small].dims else "None" for axis in parts[large].dims]
    while marks and marks[0] == "None":
        marks.pop(0)
    parts[small] = E("move", [parts[small], "[" + ", ".join(marks) + "]"])
    return "dimensions written out", Printer().text(with_node(text, node, node.with_parts(parts))), {}, True


CHANGES = (renamed, clashing, clashing, clashing, swapped, named, inlined, by_hand, turned_twice, defined, literal, reordered, with_none)
