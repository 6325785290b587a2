"""The parts of a call from PyTorch around the kernel: types and shapes, threads, autocast, and refused gradients."""

import os
from typing import Any, Callable, List, Optional, Sequence, Tuple

import torch

from . import _core
from ._errors import ArgumentError, GradientError, found_type
from ._layer import Layer

TYPES = {"f32": torch.float32, "f16": torch.float16, "bf16": torch.bfloat16, "i32": torch.int32, "i8": torch.int8,
         "f8e4m3": torch.float8_e4m3fn}
FLOATS = {torch.float32: "f32", torch.float16: "f16", torch.bfloat16: "bf16"}
library = torch.library.Library("skewer", "FRAGMENT")


def shapes_of(layer: Layer, tensors: Tuple[torch.Tensor, ...]) -> List[List[Any]]:
    """Returns the results' shapes, in numbers or in the symbols of a trace. Checks what a trace knows of the operands."""
    sizes: List[Any] = [None] * len(layer.sizes)
    described = [layer._described(argument)[2] for argument in layer.arguments]
    for argument, extents, tensor in zip(layer.arguments, described, tensors):
        wanted = TYPES[argument.type]
        if tensor.dtype != wanted and not (argument.type in ("i32", "i8") and tensor.dtype == torch.bool) and \
                not (argument.type == "i32" and tensor.dtype == torch.int64):
            raise ArgumentError(layer.name, argument.name, None, f"elements of type {str(wanted)[6:]}",
                                found_type(str(tensor.dtype)[6:], str(wanted)[6:], True))
        if tensor.dim() != len(extents):
            raise ArgumentError(layer.name, argument.name, None, f"{len(extents)} dimensions", str(tensor.dim()))
        for extent, size in zip(extents, tensor.shape):
            if isinstance(extent, tuple) and isinstance(extent[0], int) and sizes[extent[0]] is None:
                sizes[extent[0]] = size

    def value(extent: Any) -> Any:
        if not isinstance(extent, tuple):
            return extent
        return sizes[extent[0]] if isinstance(extent[0], int) else extent[0](*sizes)

    for argument, extents, tensor in zip(layer.arguments, described, tensors):
        for axis, (extent, size) in enumerate(zip(extents, tensor.shape)):
            if isinstance(size, int) and isinstance(value(extent), int) and size != value(extent):
                raise ArgumentError(layer.name, argument.name, axis, str(value(extent)), str(size))
    return [[value(extent) for extent in layer._described(result)[2]] for result in layer.results]


def _find_openmp() -> None:
    """Makes kernels use PyTorch's own threads. A second team would share the processors with threads that wait awake. If
    PyTorch's OpenMP is not found, or PyTorch has other threads, kernels have threads of their own."""
    if "OpenMP" not in torch.__config__.parallel_info().partition("ATen parallel backend:")[2]:
        return
    try:
        with open("/proc/self/maps", encoding="utf-8", errors="replace") as maps:
            paths = {line.split(None, 5)[5].strip() for line in maps if line.count(" ") >= 5 and "/" in line}
    except OSError:
        return
    runtimes = [path for path in paths if os.path.basename(path).startswith(("libgomp", "libiomp5", "libomp"))]
    own = [path for path in runtimes if path.startswith(os.path.dirname(torch.__file__))]
    for path in own or (runtimes if len(runtimes) == 1 else []):
        if _core.use_openmp(path):
            return


_find_openmp()


# The operator that a backward pass calls. It is an operator because torch.compile traces a program together with its backward
# pass, even if that pass never runs.
library.define("no_gradient(Tensor gradient, SymInt[] shape, str kernel, str argument) -> Tensor")


def _no_gradient(gradient: torch.Tensor, shape: Sequence[int], kernel: str, argument: str) -> torch.Tensor:
    raise GradientError(kernel, argument, "a backward pass through the layer",
                        "detach() it or its result, model.requires_grad_(False), or torch.no_grad() around the call")


library.impl("no_gradient", _no_gradient, "CompositeExplicitAutograd")
torch.library.register_fake("skewer::no_gradient", lambda gradient, shape, kernel, argument: gradient.new_empty(shape), lib=library)


# Below functorch's transforms: each of them calls the operator at its own level.
_Function = getattr(torch.autograd.function, "_SingleLevelFunction", torch.autograd.Function)


class _NoBackward(_Function):  # type: ignore[misc, valid-type]
    """A result without a backward pass: a backward pass through it raises GradientError."""

    @staticmethod
    def forward(context: Any, call: Callable[..., Any], kernel: str, names: Sequence[str], *arrays: Any) -> Any:
        context.kernel, context.names = kernel, names
        context.given = [(array.shape, array.dtype) if isinstance(array, torch.Tensor) else None for array in arrays]
        with torch._C._AutoDispatchBelowAutograd():
            return call(*arrays)

    @staticmethod
    def backward(context: Any, *gradients: Any) -> Any:
        found: List[Any] = [None] * 3
        for needed, name, given in zip(context.needs_input_grad[3:], context.names, context.given):
            found.append(torch.ops.skewer.no_gradient(gradients[0], given[0], context.kernel, name).to(given[1]) if needed else None)
        return (*found, *[None] * (3 + len(context.given) - len(found)))


def without_backward(call: Callable[..., Any], kernel: str, names: Sequence[str], arrays: Sequence[Any]) -> Any:
    """Returns `call(*arrays)` for arrays that require gradients; a backward pass through the result is a GradientError."""
    if _Function is torch.autograd.Function:
        return _NoBackward.apply(call, kernel, names, *arrays)
    # Inside a transform, PyTorch allows functions of one level only if the caller says that the call is at its own level.
    functorch = torch._C._functorch
    before = functorch.get_single_level_autograd_function_allowed()
    functorch.set_single_level_autograd_function_allowed(True)
    try:
        return _NoBackward.apply(call, kernel, names, *arrays)
    finally:
        functorch.set_single_level_autograd_function_allowed(before)


def autocast(layer: Layer, arrays: Sequence[Any], device: str = "cpu") -> Optional[Tuple[Any, ...]]:
    """Returns the arrays in the spec's types under torch.autocast; None if nothing has to be converted."""
    if not torch.is_autocast_enabled(device):
        return None
    cast = tuple(array.to(TYPES[argument.type]) if isinstance(array, torch.Tensor) and argument.type in FLOATS.values() and
                 array.dtype in FLOATS else array for argument, array in zip(layer.arguments, arrays)) + \
        tuple(arrays[len(layer.arguments):])
    return None if all(map(lambda one, other: one is other, cast, arrays)) else cast
