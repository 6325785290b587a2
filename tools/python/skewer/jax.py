"""Layers in JAX. They are foreign functions of XLA on the processor, under jit, vmap and shard_map.

>>> from skewer import jax as skewer_jax
>>> attend = skewer_jax.op("botnet.attn", H=16, W=16)
>>> out = jax.jit(attend)(q, k, v, rel_h, rel_w)
"""

import functools
import hashlib
import os
from typing import Any, Callable, Dict, List, Sequence, Tuple, Union

import jax
import jax.numpy as jnp
import numpy as np

from . import _core
from ._compile import compile as compile_layer
from ._errors import ArgumentError, GradientError, LoadError, found_type
from ._layer import Layer

__all__ = ["op"]

_TARGET = "skewer_call"
_TYPES = {"f32": jnp.float32, "f16": jnp.float16, "bf16": jnp.bfloat16, "i32": jnp.int32, "i8": jnp.int8,
          "f8e4m3": jnp.float8_e4m3fn}
_known: Dict[int, Layer] = {}  # never removed, because compiled programs call them


def _key_of(layer: Layer) -> int:
    """Returns 63 bits that identify the layer in every process, so that a program that JAX keeps on disk finds it."""
    source = layer._source
    what = repr((layer.name, source.text, source.parameters, layer._target) if source else
                (layer.name, sorted(layer.manifest.items(), key=str)))
    return int.from_bytes(hashlib.sha256(what.encode("utf-8", "surrogateescape")).digest()[:8], "little") >> 1


@functools.lru_cache(None)
def _register_handler() -> None:
    jax.ffi.register_ffi_target(_TARGET, _core.xla_handler(), platform="cpu")


def _sizes_of(layer: Layer, arrays: Sequence[Any]) -> List[int]:
    """Returns the run-time sizes that follow from the shapes; checks types and shapes."""
    sizes: List[Any] = [None] * len(layer.sizes)
    described = [layer._described(argument)[2] for argument in layer.arguments]
    for argument, extents, array in zip(layer.arguments, described, arrays):
        if array.dtype != _TYPES[argument.type]:
            wanted = str(np.dtype(_TYPES[argument.type]))
            raise ArgumentError(layer.name, argument.name, None, f"elements of type {wanted}",
                                found_type(str(array.dtype), wanted, True))
        if array.ndim != len(extents):
            raise ArgumentError(layer.name, argument.name, None, f"{len(extents)} dimensions", str(array.ndim))
        for extent, size in zip(extents, array.shape):
            if isinstance(extent, tuple) and isinstance(extent[0], int) and sizes[extent[0]] is None:
                sizes[extent[0]] = size
    for (name, bound), value in zip(layer.sizes.items(), sizes):
        if value is None or value < (0 if _is_empty(layer, sizes) else 1) or (bound and value > bound):
            raise ArgumentError(layer.name, "sizes", name, f"1 to {bound}" if bound else "at least 1", str(value))
    for argument, extents, array in zip(layer.arguments, described, arrays):
        for axis, (extent, size) in enumerate(zip(extents, array.shape)):
            if size != _value(extent, sizes):
                raise ArgumentError(layer.name, argument.name, axis, str(_value(extent, sizes)), str(size))
    return sizes


def _is_empty(layer: Layer, sizes: Sequence[Any]) -> bool:
    """Returns whether all sizes are known and leave no element to compute."""
    if None in sizes:
        return False
    shapes = [[_value(extent, sizes) for extent in layer._described(result)[2]] for result in layer.results]
    return all(0 in shape and min(shape) >= 0 for shape in shapes)


def _index(array: Any, wanted: str) -> Any:
    """Converts an index operand given as int64 or bool to the spec's type; returns any other operand as it is."""
    if wanted == "i32" and array.dtype == jnp.int64:
        return jnp.clip(array, -1 << 31, (1 << 31) - 1).astype(jnp.int32)  # other numbers are outside of every range
    return array.astype(_TYPES[wanted]) if wanted in ("i32", "i8") and array.dtype == jnp.bool_ else array


def _value(extent: Any, sizes: Sequence[int]) -> int:
    if not isinstance(extent, tuple):
        return int(extent)
    return int(sizes[extent[0]] if isinstance(extent[0], int) else extent[0](*sizes))


def op(spec: Union[str, "os.PathLike[str]", Layer], *, threads: int = 1, q0: int = 0, k0: int = 0, head0: int = 0,
       origins: bool = False, **options: Any) -> Callable[..., Any]:
    """Returns the layer as a function of JAX arrays, in the spec's order or by name.

    `spec` and `options` are those of skewer.compile; `spec` may also be a layer. `q0`, `k0` and `head0` say where a part
    begins. With `origins`, a last operand says it: an i32[3] of q0, k0 and head0, which the program may compute. vmap of
    operands whose first axis is the batch makes the batch larger; any other vmap goes one by one. The function computes
    forward only, on the processor. A derivative, in reverse or forward, is a GradientError when the program is traced.
    """
    layer = spec if isinstance(spec, Layer) else compile_layer(spec, **options)
    if not 1 <= threads <= 1024:
        raise ArgumentError(layer.name, "threads", None, "1 to 1024", str(threads))
    if not layer._kernel.is_for_processor:
        raise LoadError(f"kernel '{layer.name}' was compiled for GPUs alone; under JAX layers compute on processors")
    key = _key_of(layer)
    _register_handler()
    if key not in _known:
        _known[key] = layer
        _core.register_for_xla(key, layer._kernel)
    results = [layer._described(result)[2] for result in layer.results]

    def call(*arrays: Any) -> Any:
        arrays = tuple(map(jnp.asarray, arrays))
        arrays = tuple(_index(array, argument.type) for array, argument in zip(arrays, layer.arguments)) + arrays[len(layer.arguments):]
        where = arrays[-1] if origins and arrays else None
        if where is not None and (where.dtype != jnp.int32 or where.shape != (3,)):
            raise ArgumentError(layer.name, "origins", None, "int32 of shape (3,): q0, k0, head0",
                                f"{where.dtype} of shape {where.shape}")
        sizes = _sizes_of(layer, arrays[:-1] if origins else arrays)
        shapes = [jax.ShapeDtypeStruct(tuple(_value(extent, sizes) for extent in extents), _TYPES[result.type],
                                       **_varying(arrays)) for extents, result in zip(results, layer.results)]
        if _is_empty(layer, sizes):
            made = [jnp.zeros(shape.shape, shape.dtype) for shape in shapes]
            return made[0] if len(made) == 1 else tuple(made)
        numbers = np.array([key, threads, q0, k0, head0, *sizes], np.int64)
        made = jax.ffi.ffi_call(_TARGET, shapes, vmap_method="sequential")(*arrays, call=numbers)
        return made[0] if len(made) == 1 else tuple(made)

    batched = jax.custom_batching.custom_vmap(call)
    operands_lead, results_lead = layer._leading()
    operands_lead += [False] * origins

    @batched.def_vmap
    def rule(count: int, in_batched: Sequence[bool], *arrays: Any) -> Any:
        many = len(layer.results) > 1
        out_batched = tuple([True] * len(layer.results)) if many else True
        if not results_lead or any(is_batched and not leads for is_batched, leads in zip(in_batched, operands_lead)):
            def one(moving: Any) -> Any:
                moving = iter(moving)
                return batched(*(next(moving) if is_batched else array
                                 for is_batched, array in zip(in_batched, arrays)))

            return jax.lax.map(one, [array for is_batched, array in zip(in_batched, arrays) if is_batched]), out_batched

        def joined(array: Any, is_batched: bool, leads: bool) -> Any:
            if not leads:
                return array
            if not is_batched:
                array = jnp.broadcast_to(array, (count, *array.shape))
            return array.reshape(-1, *array.shape[2:])

        made = batched(*map(joined, arrays, in_batched, operands_lead))
        parts = [part.reshape(count, -1, *part.shape[1:]) for part in (made if many else (made,))]
        return (tuple(parts) if many else parts[0]), out_batched

    return _named(layer, _without_derivative(layer, batched), origins)


def _without_derivative(layer: Layer, function: Callable[..., Any]) -> Callable[..., Any]:
    """Returns the function with a GradientError for derivatives: XLA's own message names neither the layer nor the operand."""
    guarded = jax.custom_jvp(function)

    def refuse(arrays: Sequence[Any], tangents: Sequence[Any]) -> Any:
        zero = jax.custom_derivatives.SymbolicZero
        names = [argument.name for argument in layer.arguments] + ["origins"]
        for name, tangent in zip(names, tangents):
            if type(tangent) is not zero:
                raise GradientError(layer.name, name, "an array that is differentiated", "jax.lax.stop_gradient(array)")
        return function(*arrays), None

    guarded.defjvp(refuse, symbolic_zeros=True)
    return guarded


def _named(layer: Layer, function: Callable[..., Any], origins: bool) -> Callable[..., Any]:
    """Returns the function, which then takes operands by name too."""
    order = [argument.name for argument in layer.arguments] + ["origins"] * origins

    @functools.wraps(function)
    def attend(*arrays: Any, **named: Any) -> Any:
        if named or len(arrays) != len(order):
            if len(arrays) > len(order):
                raise ArgumentError(layer.name, "arrays", None, f"at most {len(order)}", str(len(arrays)))
            for name in named:
                if name not in order[len(arrays):]:
                    raise ArgumentError(layer.name, name, None, "one array for each operand", "it is given twice"
                                        if name in order else "no operand of this name; the operands are " + ", ".join(order))
            missing = [name for name in order[len(arrays):] if name not in named]
            if missing:
                raise ArgumentError(layer.name, missing[0], None, "an array", "none; the operands are " + ", ".join(order))
            arrays = (*arrays, *(named[name] for name in order[len(arrays):]))
        for argument, array in zip(layer.arguments, arrays):
            # JAX would convert it to f32 without a warning.
            if isinstance(array, np.ndarray) and array.dtype != _TYPES[argument.type] and \
                    not (argument.type in ("i32", "i8") and array.dtype.name in ("int64", "bool")):
                wanted = str(np.dtype(_TYPES[argument.type]))
                raise ArgumentError(layer.name, argument.name, None, f"elements of type {wanted}",
                                    found_type(str(array.dtype), wanted, False))
        return function(*arrays)

    attend.__name__ = attend.__qualname__ = layer.name
    attend.__doc__ = f"{layer!r}\n\nOperands are arrays of JAX's, in this order or by name. It computes forward only, on processors."
    return attend


def _varying(arrays: Sequence[Any]) -> Dict[str, Any]:
    """Returns the axes of the mesh along which the results differ in shard_map: those of the operands."""
    axes = frozenset().union(*(getattr(jax.typeof(array), "vma", frozenset()) for array in arrays))
    return {"vma": axes} if axes else {}
