"""Layers as operators of PyTorch: torch.library, torch.compile, torch.export, modules.

>>> from skewer import torch as skewer_torch
>>> op = skewer_torch.op("botnet.attn", H=16, W=16)
>>> out = op(q, k, v, rel_h, rel_w)
>>> module = skewer_torch.Module("conformer.attn")   # `const` operands are its parameters

Operators compute forward only: a tensor that requires a gradient is a GradientError. They read memory of the processor, and of GPUs
that the layer was compiled for (`target="host,sm_90a"`), on PyTorch's current stream.
"""

import hashlib
import os
import weakref
from typing import Any, Callable, Dict, List, Mapping, Optional, Sequence, Tuple, Union

import torch
from torch.autograd import forward_ad

from . import _core
from ._compile import compile as compile_layer
from ._errors import ArgumentError, GradientError, refuse_tangents
from ._layer import Argument, Layer

__all__ = ["op", "Module"]

_TYPES = {"f32": torch.float32, "f16": torch.float16, "bf16": torch.bfloat16, "i32": torch.int32, "i8": torch.int8}
_library = torch.library.Library("skewer", "FRAGMENT")
_known: Dict[str, Tuple[Callable[..., Any], "_Shelf"]] = {}


def _name_of(layer: Layer) -> str:
    """The operator's name: the kernel's, and a hash over the layer, so that the same spec has the same name in every
    process (what torch.export has written finds it) and another one has another."""
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


def _shapes(layer: Layer, tensors: Tuple[torch.Tensor, ...]) -> List[List[Any]]:
    """The results' shapes, in numbers or in the symbols of a trace. Checks what a trace can know of the operands."""
    sizes: List[Any] = [None] * len(layer.sizes)
    described = [layer._described(argument)[2] for argument in layer.arguments]
    for argument, extents, tensor in zip(layer.arguments, described, tensors):
        if tensor.dtype != _TYPES[argument.type]:
            raise ArgumentError(layer.name, argument.name, None, f"elements of type {_TYPES[argument.type]}",
                                str(tensor.dtype))
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
    """Has kernels use the threads that PyTorch computes with: a team of their own beside it would have to share processors
    with threads that wait awake. Where none is found, or PyTorch has other threads, kernels have their own."""
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


def _where(tensors: Sequence[torch.Tensor]) -> Tuple[int, ...]:
    return tuple([tensor.data_ptr() for tensor in tensors])


class _Constants:
    """Parameters of modules that are a layer's `const` operands, and what the kernel makes of them alone."""

    def __init__(self, layer: Layer, tensors: Sequence[torch.Tensor]):
        # Held, so that no other tensor can come to lie where these are found.
        self._layer, self._held = layer, [tensor.detach() for tensor in tensors]
        self.where = _where(tensors)
        self.forget()

    def prepared_for(self, tensors: Sequence[torch.Tensor]) -> Optional[_core.Prepared]:
        """Made anew where a tensor was written to since; None where nothing follows from these operands alone."""
        versions = tuple([tensor._version for tensor in tensors])
        known, made = self._made
        if known != versions:
            by_name = dict(zip(self._layer.constants, tensors))
            made = self._layer._kernel.prepare(tuple(by_name.get(one.name) for one in self._layer.arguments), 1)
            made = made if made.bytes else None
            self._made = versions, made  # together: other threads may be calling
        return made

    def forget(self) -> None:
        self._made: Tuple[Tuple[int, ...], Optional[_core.Prepared]] = (), None


class _Shelf:
    """The constants of a layer's modules, found by where they lie: an operator is handed all operands at every call, also
    in a compiled program, and knows by it which of them were prepared."""

    def __init__(self, layer: Layer):
        self._layer = layer
        self._places = [n for n, one in enumerate(layer.manifest["inputs"]) if one.get("const")]
        self._found: Dict[Tuple[int, ...], "weakref.ref[_Constants]"] = {}

    def keep(self, tensors: Sequence[torch.Tensor]) -> Optional[_Constants]:
        """To be held by whoever owns the tensors; None where their changes could not be seen or they are not there yet."""
        if not tensors or any(type(tensor) is not torch.nn.Parameter or tensor.device.type != "cpu" or
                              tensor.is_inference() or not tensor.is_contiguous() for tensor in tensors):
            return None
        where = _where(tensors)
        found = self._at(where)
        if found is None:
            found = _Constants(self._layer, tensors)
            known = self._found

            def forget(reference: "weakref.ref[_Constants]") -> None:
                if known.get(where) is reference:  # and not one that took its place
                    del known[where]

            known[where] = weakref.ref(found, forget)
        return found

    def _at(self, where: Tuple[int, ...]) -> Optional[_Constants]:
        reference = self._found.get(where)
        return reference() if reference is not None else None

    def prepared_for(self, operands: Sequence[torch.Tensor]) -> Optional[_core.Prepared]:
        if not self._found:
            return None
        tensors = [operands[n] for n in self._places]
        found = self._at(_where(tensors))
        if found is None:
            return None
        for tensor in tensors:
            if not tensor.is_contiguous():  # a transposed view that begins there
                return None
        return found.prepared_for(tensors)


def _implementation(layer: Layer, shelf: _Shelf, threads: Optional[int]) -> Callable[..., Any]:
    kernel, count = layer._kernel, len(layer.arguments)
    types = [_TYPES[result.type] for result in layer.results]
    empty = torch.empty

    def allocate(number: int, shape: Tuple[int, ...]) -> torch.Tensor:
        return empty(shape, dtype=types[number])

    def run_part(*arguments: Any) -> Any:
        operands = arguments[:count]
        return kernel.call(operands, None, threads or torch.get_num_threads(), allocate, None,
                           prepared=shelf.prepared_for(operands), of_framework=not threads, is_resolved=True,
                           **dict(zip(layer.origins, arguments[count:])))

    # Arguments in order: by name each costs a call of this length a part of a microsecond.
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


def _register(layer: Layer, name: str, shelf: _Shelf, threads: Optional[int]) -> Callable[..., Any]:
    """Defines the operator for the processor, for tracing, and for those who ask for gradients or GPUs."""
    _library.define(name + _schema(layer), tags=(torch.Tag.needs_contiguous_strides, torch.Tag.pt2_compliant_tag))
    operator = getattr(torch.ops.skewer, name).default
    _library.impl(name, _implementation(layer, shelf, threads), "CPU")

    def fake(*arguments: Any) -> Any:
        tensors = arguments[:len(layer.arguments)]
        results = [tensors[0].new_empty(shape, dtype=_TYPES[result.type])
                   for shape, result in zip(_shapes(layer, tensors), layer.results)]
        return results[0] if len(results) == 1 else tuple(results)

    torch.library.register_fake(f"skewer::{name}", fake, lib=_library)

    _library.impl(name, _implementation_on_gpu(layer), "CUDA")

    def check(*arguments: Any) -> Any:
        if torch.is_grad_enabled():
            for argument, tensor in zip(layer.arguments, arguments):
                if tensor.requires_grad:
                    raise GradientError(layer.name, argument.name)
        if forward_ad._current_level >= 0:
            refuse_tangents(layer.name, layer._names, arguments)
        with torch._C._AutoDispatchBelowAutograd():
            return operator(*arguments)

    _library.impl(name, check, "Autograd")
    return operator


def op(spec: Union[str, "os.PathLike[str]", Layer], *, threads: Optional[int] = None, **options: Any) -> Callable[..., Any]:
    """The layer as an operator, torch.ops.skewer.NAME_HASH: a function of tensors in the spec's order, then of the origins
    of a part.

    `spec` and `options` are those of skewer.compile, or a layer. `threads`: PyTorch's own (torch.get_num_threads()) unless
    given: then so many of Skewer's. Asking for the same layer again gives the same operator; one that is known keeps its `threads`.
    """
    layer = spec if isinstance(spec, Layer) else compile_layer(spec, **options)
    name = _name_of(layer)
    if name not in _known:
        shelf = _Shelf(layer)
        _known[name] = _register(layer, name, shelf, threads), shelf
    return _known[name][0]


class _Held:
    """What a module holds of its shelf: nothing in a copy of the module, or in one that was saved."""

    __slots__ = ("constants",)

    def __init__(self) -> None:
        self.constants: Optional[_Constants] = None

    def __deepcopy__(self, _: Any) -> "_Held":
        return _Held()

    def __reduce__(self) -> Tuple[Any, Tuple[()]]:
        return _Held, ()


class Module(torch.nn.Module):
    """The layer as a module: operands that the spec calls `const` are its parameters, the others its inputs, by name or in
    the spec's order.

    `values` gives the parameters' values by name, whose memory they share where it is contiguous; others are zeros.
    Parameters require no gradient. What they alone determine (packed weights and tables) is made once, and made anew when
    one of them was replaced, or written to in a way that PyTorch counts (`tensor._version`): not through `.data` or an
    array that shares its memory, after which `forget()` says that they have changed.
    """

    def __init__(self, spec: Union[str, "os.PathLike[str]", Layer], *, values: Optional[Mapping[str, Any]] = None,
                 threads: Optional[int] = None, **options: Any):
        super().__init__()
        layer = spec if isinstance(spec, Layer) else compile_layer(spec, **options)
        self._layer, self._threads = layer, threads
        self._name = _name_of(layer)
        self._operator = op(layer, threads=threads)
        order = [argument.name for argument in layer.arguments]
        self._constants = constants = layer.constants
        self._inputs = [name for name in order if name not in constants]
        self._held = _Held()
        self._places = [(self._inputs + constants).index(name) for name in order]  # of each operand in those
        for argument in layer.arguments:
            if argument.name in constants:
                if hasattr(self, argument.name):
                    raise ArgumentError(layer.name, argument.name, None, "a name of a const operand that torch.nn.Module "
                                        "has no attribute of", f"'{argument.name}'; call it otherwise in the spec")
                setattr(self, argument.name, self._parameter(layer, argument, (values or {}).get(argument.name)))
        for name in values or {}:
            if name not in constants:
                raise ArgumentError(layer.name, name, None, "a name of a const operand: " + ", ".join(constants), name)
        self._keep([getattr(self, name) for name in constants])

    def _keep(self, tensors: Sequence[torch.Tensor]) -> None:
        """Has the operator find the parameters that there are now."""
        known = self._held.constants
        if known is not None and known.where == _where(tensors):
            for tensor in tensors:
                if type(tensor) is not torch.nn.Parameter:
                    break
            else:
                return
        self._held.constants = _known[self._name][1].keep(tensors)

    def __getstate__(self) -> Dict[str, Any]:
        """What torch.save of a whole module, or another process, gets: the compiled layer, and not this process's operator."""
        state = dict(self.__dict__)
        del state["_operator"]
        return state

    def __setstate__(self, state: Dict[str, Any]) -> None:
        super().__setstate__(state)
        self._operator = op(self._layer, threads=self._threads)
        self._keep([getattr(self, name) for name in self._constants])

    def forget(self) -> None:
        """Has the next call make anew what follows from the parameters alone."""
        if self._held.constants is not None:
            self._held.constants.forget()

    @staticmethod
    def _parameter(layer: Layer, argument: Argument, value: Any) -> torch.nn.Parameter:
        if not all(isinstance(extent, int) for extent in argument.shape):
            raise ArgumentError(layer.name, argument.name, None, "a const operand with sizes known when compiling",
                                str(list(argument.shape)))
        shape = list(argument.shape)
        if value is None:
            value = torch.zeros(shape, dtype=_TYPES[argument.type])
        elif list(value.shape) != shape or value.dtype != _TYPES[argument.type]:
            raise ArgumentError(layer.name, argument.name, None, f"{_TYPES[argument.type]} of shape {shape}",
                                f"{value.dtype} of shape {list(value.shape)}")
        return torch.nn.Parameter(value.detach().contiguous(), requires_grad=False)

    def forward(self, *tensors: torch.Tensor, **named: torch.Tensor) -> Any:
        if named or len(tensors) != len(self._inputs):
            tensors = self._in_order(tensors, named)
        if not self._constants:
            return self._operator(*[tensors[place] for place in self._places])
        parameters = self._parameters  # but for those that are computed: torch.nn.utils.parametrize
        constants = [parameters[name] if name in parameters else getattr(self, name) for name in self._constants]
        # A trace would burn in where its parameters lie. The compiled program's calls find those of the last call that was
        # not traced, or of the constructor; of others they make everything in every call.
        if not torch.compiler.is_compiling():
            self._keep(constants)
        given = (*tensors, *constants)
        return self._operator(*[given[place] for place in self._places])

    def _in_order(self, tensors: Tuple[torch.Tensor, ...], named: Dict[str, torch.Tensor]) -> Tuple[torch.Tensor, ...]:
        given = dict(zip(self._inputs, tensors))
        if len(tensors) > len(self._inputs) or given.keys() & named.keys() or \
                set(given) | set(named) != set(self._inputs):
            raise TypeError(f"expected the inputs {', '.join(self._inputs)}, found {len(tensors)} in order and "
                            f"{', '.join(named) or 'none'} by name")
        given.update(named)
        return tuple(given[name] for name in self._inputs)
