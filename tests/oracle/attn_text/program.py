"""A file of declarations, and the call of one of its kernels."""
import functools
import glob
import os

import numpy as np

from . import syntax as s
from .errors import AttnError, outside
from .parser import parse_expression, parse_file
from .positions import Field
from .schemes import run_body
from .scope import IndexOperand, Scope
from .tensors import Tensor, materialised

SCHEMES = os.path.join(os.path.dirname(os.path.abspath(__file__)), *[".."] * 3, "dialect", "Schemes")


@functools.lru_cache(maxsize=None)
def builtin_schemes(folder):
    """Returns the schemes of all files of a folder; they see each other and nothing else."""
    texts = []
    for name in sorted(glob.glob(os.path.join(folder, "*.attn"))):
        with open(name, encoding="utf-8") as stream:
            texts.append(stream.read())
    return Program("\n".join(texts), schemes=None)


class Program:
    """A parsed file. `defines` has params from the command line, `sizes` run-time sizes, `origins` the origins of parts."""

    def __init__(self, text, defines=None, schemes=SCHEMES):
        self.file = parse_file(text)
        self.constants, self.sizes, self.origins, self.depth = {}, {}, {}, 0
        self.builtin = None if schemes is None else builtin_schemes(schemes)
        scope = Scope(self)
        defines = dict(defines or {})
        for param in self.file.params:
            value = defines.pop(param.name, None)
            if isinstance(value, str):
                value = scope.number(parse_expression(value))
            elif value is None:
                if param.value is None:
                    raise AttnError(f"the param '{param.name}' has no value", param.line)
                value = scope.number(param.value)
            if param.name in self.constants or param.name in dict(self.file.sizes):
                raise AttnError(f"there is a '{param.name}' already", param.line)
            self.constants[param.name] = value
        if defines:
            raise AttnError(f"there is no param '{next(iter(defines))}'")

    def scheme(self, name):
        """Returns (scheme, the program that it sees) for a scheme of the file, or a built-in one."""
        if name in self.file.schemes:
            return self.file.schemes[name], self
        if self.builtin is not None and name in self.builtin.file.schemes:
            return self.builtin.file.schemes[name], self.builtin
        return None, None

    def axes_of_results(self, name):
        """Returns the names of axes that a scheme's result has."""
        scheme, _ = self.scheme(name)
        given = {axis for formal in scheme.formals for axis in formal.dimensions or ()} if scheme else ()
        return [axis for axis in (scheme.result or ()) if axis not in given] if scheme else []

    def kernel(self, name=None):
        if name is None and len(self.file.kernels) == 1:
            return next(iter(self.file.kernels.values()))
        if name not in self.file.kernels:
            raise AttnError(f"there is no kernel '{name}'" if name else "the file has several kernels: name one")
        return self.file.kernels[name]


def evaluate(program, inputs, kernel=None, sizes=None, origins=None):
    """Runs a kernel on arrays, in float64. Returns {result: array}. `sizes` gives sizes that no operand tells."""
    kernel = program.kernel(kernel)
    program.origins = dict(origins or {})
    known = dict(sizes or {})
    for name, kind in kernel.operands:
        if name not in inputs:
            raise AttnError(f"the operand '{name}' has no array")
        tell_sizes(program, name, kind, np.shape(inputs[name]), known)
    saved = dict(program.constants), dict(program.sizes)
    lengths = {name for name, is_length in program.file.sizes if is_length}
    program.constants.update({name: size for name, size in known.items() if name in lengths})
    program.sizes = {name: size for name, size in known.items() if name not in lengths}
    finite = not any(np.isnan(array).any() for array in inputs.values() if np.asarray(array).dtype.kind == "f")
    try:
        return attempt(program, kernel, inputs, finite)
    finally:
        program.constants, program.sizes = saved


def attempt(program, kernel, inputs, finite):
    outside.clear()
    scope = Scope(program)
    for name, kind in kernel.operands:
        if name in scope.values:
            raise AttnError(f"there is an operand '{name}' already", kernel.line)
        scope.values[name] = operand(name, kind, np.asarray(inputs[name]), scope)
    scope.open_body(kernel.body)
    scope.results = [shape_of(kind, scope) for _, kind in kernel.results]
    values = run_body(kernel.body, scope)
    if len(values) != len(kernel.results):
        raise AttnError(f"the kernel has {len(kernel.results)} results, returned are {len(values)}")
    out = {name: result(value, kind, scope) for (name, kind), value in zip(kernel.results, values)}
    if outside and finite and any(np.isnan(array).any() for array in out.values()):
        raise AttnError(f"'{outside[0]}' is read outside, and that is not masked away")
    return out


def tell_sizes(program, name, kind, shape, known):
    if len(kind.sizes) != len(shape):
        raise AttnError(f"'{name}' has {len(kind.sizes)} dimensions, its array {len(shape)}")
    for size, found in zip(kind.sizes, shape):
        if isinstance(size, s.Name) and size.name in dict(program.file.sizes):
            if known.setdefault(size.name, found) != found:
                raise AttnError(f"the size '{size.name}' is {known[size.name]} and {found}")


def shape_of(kind, scope):
    return tuple(scope.whole(size) for size in kind.sizes)


def operand(name, kind, array, scope):
    if array.shape != shape_of(kind, scope):
        raise AttnError(f"'{name}' is {shape_of(kind, scope)}, its array {array.shape}")
    if kind.element == "i32":
        if array.dtype.kind not in "iu":
            raise AttnError(f"'{name}' holds whole numbers")
        ends = None if kind.low is None else (scope.whole(kind.low), scope.whole(kind.high))
        if ends and array.size and (array.min() < ends[0] or array.max() > ends[1]):
            raise AttnError(f"'{name}' leaves its range {ends[0]}..{ends[1]}")
        return IndexOperand(name, array.astype(np.int64), ends)
    return Tensor(array)


def result(value, kind, scope):
    shape = shape_of(kind, scope)
    if isinstance(value, (int, float)):
        value = Tensor(np.broadcast_to(float(value), shape))
    if isinstance(value, Field):
        value = materialised(value)
    if not isinstance(value, Tensor):
        raise AttnError("a result is a tensor")
    value.present("a result").ordered("a result")
    if value.shape != shape:
        raise AttnError(f"a result is {list(value.shape)}, its type {list(shape)}")
    return np.array(value.data)
