"""Finds the sizes that the type of a result tells: those of the einsums that give its elements one by one (LANGUAGE.md, Axes)."""
from . import syntax as s
from .errors import AttnError
from .functions import ELEMENTWISE
from .text import parse_text


def made_of(node, body):
    """Yields the expressions whose elements become the elements of this one at the same places."""
    if isinstance(node, s.Name):
        return [each.value for each in body if isinstance(each, s.Assign) and each.names == [node.name] and not each.apart]
    if isinstance(node, s.Unary):
        return [node.value]
    if isinstance(node, s.Where):
        return [node.value]
    if isinstance(node, s.Binary):
        return [node.left, node.right]
    if isinstance(node, s.Conditional):
        return [node.then, node.otherwise]
    if isinstance(node, s.Call) and (node.name == "softmax" or node.name in ELEMENTWISE):
        return node.positional
    return []


def expect(node, body, shape, scope):
    if id(node) not in scope.expected:
        scope.expected[id(node)] = node, shape
        for each in made_of(node, body):
            expect(each, body, shape, scope)


def tell(body, scope):
    """Returns whether the results of a body tell a size that nothing else has told: of an axis, or of a scheme's result."""
    if scope.results is None:
        return False
    known = len(scope.expected)
    for statement in body:
        if isinstance(statement, s.Return) and len(statement.values) == len(scope.results):
            for value, shape in zip(statement.values, scope.results):
                expect(value, body, shape, scope)
    told = len(scope.expected) > known
    for node, shape in list(scope.expected.values()):
        if not (isinstance(node, s.Call) and node.name == "einsum" and node.positional and isinstance(node.positional[0], s.Text)):
            continue
        try:
            _, result = parse_text(node.positional[0].value, scope.is_position_value, node.line)
        except AttnError:
            continue
        for dimension, size in zip(result, shape) if len(result) == len(shape) else ():
            if len(dimension.axes) == 1 and dimension.axes[0] in scope.axes:
                known = scope.axes[dimension.axes[0]]
                if known.fixed is None and not known.symbol.stretch and not known.symbol.told and not known.symbol.read:
                    known.symbol.tell(size)
                    told = True
    return told
