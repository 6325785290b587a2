"""A layer as an operator of PyTorch: its definitions in torch.library for processors, GPUs, traces, autocast, vmap, gradients."""

import copyreg
import hashlib
import os
from typing import Any, Callable, Dict, Optional, Tuple, Union

import torch
from torch.autograd import forward_ad

from ._compile import compile as compile_layer
from ._errors import ArgumentError, refuse_tangents
from ._layer import Layer
from ._torch_calls import TYPES, autocast, library, shapes_of, without_backward
from ._torch_constants import Shelf

operators: Dict[str, Tuple[Callable[..., Any], Shelf]] = {}  # by name, with the constants of their modules
_asked: Dict[Any, Tuple[Layer, Optional[int]]] = {}  # operator -> the arguments of `op`


def name_of(layer: Layer) -> str:
    """Returns the operator's name: the kernel's name and a hash over the layer. The same spec has the same name in every process,
    so that a program of torch.export finds it; another spec has another name."""
    source = layer._source
    what = repr((source.text, source.parameters) if source else sorted(layer.manifest.items(), key=str))
    if layer._target != "host":
        what += layer._target
    return f"{layer.name}_{hashlib.sha256(what.encode('utf-8', 'surrogateescape')).hexdigest()[:12]}"


def _schema(layer: Layer) -> str:
    operands = [f"Tensor {argument.name}" for argument in layer.arguments]
    operands += [f"int {origin}=0" for origin in layer.origins]
    results = ", ".join(["Tensor"] * len(layer.results))
    return f"({', '.join(operands)}) -> {results if len(layer.results) == 1 else f'({results})'}"


def _implementation(layer: Layer, shelf: Shelf, threads: Optional[int]) -> Callable[..., Any]:
    kernel, count = layer._kernel, len(layer.arguments)
    types = [TYPES[result.type] for result in layer.results]
    empty = torch.empty

    def allocate(number: int, shape: Tuple[int, ...]) -> torch.Tensor:
        return empty(shape, dtype=types[number])

    def run_part(*arguments: Any) -> Any:
        operands = arguments[:count]
        return kernel.call(operands, None, threads or torch.get_num_threads(), allocate, None,
                           prepared=shelf.prepared_for(operands), of_framework=not threads, is_resolved=True,
                           **dict(zip(layer.origins, arguments[count:])))

    # Arguments are in order, because a name costs a part of a microsecond in each call.
    def run(*tensors: torch.Tensor) -> Any:
        return kernel.call(tensors, None, threads or torch.get_num_threads(), allocate, None, 0, 0, 0,
                           shelf.prepared_for(tensors), not threads, True)  # PyTorch has resolved negations

    return run_part if layer.origins else run


def _implementation_on_gpu(layer: Layer) -> Callable[..., Any]:
    count = len(layer.arguments)

    def run(*arguments: Any) -> Any:
        origins = dict(zip(layer.origins, arguments[count:]))
        tensors = arguments[:count]
        if not layer._kernel.is_for_gpu:
            first = next(n for n, tensor in enumerate(tensors) if tensor.is_cuda)
            raise ArgumentError(layer.name, layer.arguments[first].name, None, "memory of the processor (a GPU's is read where the "
                                "layer was compiled for it: target='host,sm_90a')", f"memory of {tensors[first].device}")
        return layer._call_on_gpu(tensors, None, None, origins.get("q0", 0), origins.get("k0", 0), origins.get("head0", 0))

    return run


def _register(layer: Layer, name: str, shelf: Shelf, threads: Optional[int]) -> Callable[..., Any]:
    """Defines the operator for processors, GPUs, traces, gradients, autocast and vmap."""
    library.define(name + _schema(layer), tags=(torch.Tag.needs_contiguous_strides, torch.Tag.pt2_compliant_tag))
    operator = getattr(torch.ops.skewer, name).default
    # Without a tensor among the operands, PyTorch would not choose the processor.
    library.impl(name, _implementation(layer, shelf, threads), "CPU" if layer.arguments else "CompositeExplicitAutograd")

    def fake(*arguments: Any) -> Any:
        tensors = arguments[:len(layer.arguments)]
        new = tensors[0].new_empty if tensors else torch.empty
        results = [new(shape, dtype=TYPES[result.type]) for shape, result in zip(shapes_of(layer, tensors), layer.results)]
        return results[0] if len(results) == 1 else tuple(results)

    torch.library.register_fake(f"skewer::{name}", fake, lib=library)
    if not layer.arguments:
        return operator

    library.impl(name, _implementation_on_gpu(layer), "CUDA")

    def check(*arguments: Any) -> Any:
        if forward_ad._current_level >= 0:
            refuse_tangents(layer.name, layer._names, arguments)
        if torch.is_grad_enabled():
            for tensor in arguments[:len(layer.arguments)]:
                if tensor.requires_grad:
                    return without_backward(operator, layer.name, layer._names, arguments)
        with torch._C._AutoDispatchBelowAutograd():
            return operator(*arguments)

    library.impl(name, check, "Autograd")
    for device, key in (("cpu", torch._C.DispatchKey.AutocastCPU), ("cuda", torch._C.DispatchKey.AutocastCUDA)):
        library.impl(name, _under_autocast(layer, operator, device, key), key.name)
    torch.library.register_vmap(f"skewer::{name}", _batching(layer, operator), lib=library)
    return operator


def _under_autocast(layer: Layer, operator: Callable[..., Any], device: str, key: Any) -> Callable[..., Any]:
    def run(*arguments: Any) -> Any:
        cast = autocast(layer, arguments, device)
        with torch._C._ExcludeDispatchKeyGuard(torch._C.DispatchKeySet(key)):
            return operator(*(arguments if cast is None else cast))

    return run


def _batching(layer: Layer, operator: Callable[..., Any]) -> Callable[..., Any]:
    """Returns the rule of torch.vmap. Mapped operands whose first axis is the spec's first run-time size make that size larger;
    others are computed one by one."""
    operands_lead, results_lead = layer._leading()
    many = len(layer.results) > 1

    def rule(info: Any, places: Tuple[Optional[int], ...], *arguments: Any) -> Tuple[Any, Any]:
        count = len(layer.arguments)
        moved = [array if place is None else array.movedim(place, 0) for place, array in zip(places, arguments[:count])]
        mapped = [place is not None for place in places[:count]]
        if results_lead and all(leads or not is_mapped for leads, is_mapped in zip(operands_lead, mapped)):
            joined = [array if not leads else (array if is_mapped else array.expand(info.batch_size, *array.shape)).flatten(0, 1)
                      for array, leads, is_mapped in zip(moved, operands_lead, mapped)]
            made = operator(*joined, *arguments[count:])
            parts = [part.unflatten(0, (info.batch_size, -1)) for part in (made if many else (made,))]
        else:
            each = [operator(*(array[n] if is_mapped else array for array, is_mapped in zip(moved, mapped)), *arguments[count:])
                    for n in range(info.batch_size)]
            parts = list(map(torch.stack, zip(*each))) if many else [torch.stack(each)]
        return (tuple(parts), (0,) * len(parts)) if many else (parts[0], 0)

    return rule


def op(spec: Union[str, "os.PathLike[str]", Layer], *, threads: Optional[int] = None, **options: Any) -> Callable[..., Any]:
    """Returns the layer as an operator, torch.ops.skewer.NAME_HASH: a function of tensors in the spec's order, and then of the
    origins of a part.

    `spec` and `options` are those of skewer.compile; `spec` may also be a layer. Without `threads` it uses PyTorch's own threads
    (torch.get_num_threads()), with `threads` that many of Skewer's. The same layer again gives the same operator, which keeps
    its `threads`.
    """
    layer = spec if isinstance(spec, Layer) else compile_layer(spec, **options)
    name = name_of(layer)
    if name not in operators:
        shelf = Shelf(layer)
        operators[name] = _register(layer, name, shelf, threads), shelf
        _asked[operators[name][0]] = layer, threads
    return operators[name][0]


def _reduced(operator: Any) -> Any:
    """Pickles the operators of this package as their layers, so that another process need not compile them again."""
    return (_operator_of, _asked[operator]) if operator in _asked else object.__reduce_ex__(operator, 2)


def _operator_of(layer: Layer, threads: Optional[int]) -> Callable[..., Any]:
    return op(layer, threads=threads)


copyreg.pickle(torch._ops.OpOverload, _reduced)
