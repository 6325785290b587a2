"""Layers as operators of PyTorch: torch.library, torch.compile, torch.export, modules.

>>> from skewer import torch as skewer_torch
>>> op = skewer_torch.op("botnet.attn", H=16, W=16)
>>> out = op(q, k, v, rel_h, rel_w)
>>> module = skewer_torch.Module("conformer.attn")   # `const` operands are its parameters

Operators compute forward only: where a tensor requires a gradient, the backward pass is a GradientError. They read memory of the
processor, and of GPUs that the layer was compiled for (`target="host,sm_90a"`), on PyTorch's current stream.
"""

import copy
import copyreg
import gc
import hashlib
import os
import weakref
from typing import Any, Callable, Dict, List, Mapping, Optional, Sequence, Tuple, Union

import torch
from torch.autograd import forward_ad

from . import _core
from ._compile import compile as compile_layer, float_of, with_float
from ._errors import ArgumentError, CompileError, CopyWarning, GradientError, found_type, refuse_tangents, warn
from ._layer import Argument, Layer

__all__ = ["op", "Module", "lengths_of"]

_TYPES = {"f32": torch.float32, "f16": torch.float16, "bf16": torch.bfloat16, "i32": torch.int32, "i8": torch.int8}
_FLOATS = {torch.float32: "f32", torch.float16: "f16", torch.bfloat16: "bf16"}
_library = torch.library.Library("skewer", "FRAGMENT")
_known: Dict[str, Tuple[Callable[..., Any], "_Shelf"]] = {}
_asked: Dict[Any, Tuple[Layer, Optional[int]]] = {}  # operator -> what `op` was called with


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
        wanted = _TYPES[argument.type]
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
        if not tensors or any(type(tensor) not in (torch.nn.Parameter, torch.Tensor) or tensor.device.type != "cpu" or
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


# What a backward pass meets. An operator, because a program of torch.compile is traced with its backward pass, also where nobody
# will run that.
_library.define("no_gradient(Tensor gradient, SymInt[] shape, str kernel, str argument) -> Tensor")


def _no_gradient(gradient: torch.Tensor, shape: Sequence[int], kernel: str, argument: str) -> torch.Tensor:
    raise GradientError(kernel, argument, "a backward pass through the layer",
                        "detach() it or its result, model.requires_grad_(False), or torch.no_grad() around the call")


_library.impl("no_gradient", _no_gradient, "CompositeExplicitAutograd")
torch.library.register_fake("skewer::no_gradient", lambda gradient, shape, kernel, argument: gradient.new_empty(shape), lib=_library)


# Below functorch's transforms, each of which calls the operator at its own level.
_Function = getattr(torch.autograd.function, "_SingleLevelFunction", torch.autograd.Function)


class _NoBackward(_Function):  # type: ignore[misc, valid-type]
    """A result without a backward pass, which says so when one comes."""

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
    """`call(*arrays)`, some of which require gradients: a backward pass through the result is a GradientError."""
    return _NoBackward.apply(call, kernel, names, *arrays)


def autocast(layer: Layer, arrays: Sequence[Any], device: str = "cpu") -> Optional[Tuple[Any, ...]]:
    """Under torch.autocast the arrays as the spec has their types; None where nothing is to be converted."""
    if not torch.is_autocast_enabled(device):
        return None
    cast = tuple(array.to(_TYPES[argument.type]) if isinstance(array, torch.Tensor) and argument.type in _FLOATS.values() and
                 array.dtype in _FLOATS else array for argument, array in zip(layer.arguments, arrays)) + \
        tuple(arrays[len(layer.arguments):])
    return None if all(map(lambda one, other: one is other, cast, arrays)) else cast


def _register(layer: Layer, name: str, shelf: _Shelf, threads: Optional[int]) -> Callable[..., Any]:
    """Defines the operator for the processor, for tracing, and for those who ask for gradients, autocast, vmap or GPUs."""
    _library.define(name + _schema(layer), tags=(torch.Tag.needs_contiguous_strides, torch.Tag.pt2_compliant_tag))
    operator = getattr(torch.ops.skewer, name).default
    # Without a tensor among the operands nothing says that it is about the processor.
    _library.impl(name, _implementation(layer, shelf, threads), "CPU" if layer.arguments else "CompositeExplicitAutograd")

    def fake(*arguments: Any) -> Any:
        tensors = arguments[:len(layer.arguments)]
        new = tensors[0].new_empty if tensors else torch.empty
        results = [new(shape, dtype=_TYPES[result.type]) for shape, result in zip(_shapes(layer, tensors), layer.results)]
        return results[0] if len(results) == 1 else tuple(results)

    torch.library.register_fake(f"skewer::{name}", fake, lib=_library)
    if not layer.arguments:
        return operator

    _library.impl(name, _implementation_on_gpu(layer), "CUDA")

    def check(*arguments: Any) -> Any:
        if forward_ad._current_level >= 0:
            refuse_tangents(layer.name, layer._names, arguments)
        if torch.is_grad_enabled():
            for tensor in arguments[:len(layer.arguments)]:
                if tensor.requires_grad:
                    return without_backward(operator, layer.name, layer._names, arguments)
        with torch._C._AutoDispatchBelowAutograd():
            return operator(*arguments)

    _library.impl(name, check, "Autograd")
    for device, key in (("cpu", torch._C.DispatchKey.AutocastCPU), ("cuda", torch._C.DispatchKey.AutocastCUDA)):
        _library.impl(name, _under_autocast(layer, operator, device, key), key.name)
    torch.library.register_vmap(f"skewer::{name}", _batching(layer, operator), lib=_library)
    return operator


def _under_autocast(layer: Layer, operator: Callable[..., Any], device: str, key: Any) -> Callable[..., Any]:
    def run(*arguments: Any) -> Any:
        cast = autocast(layer, arguments, device)
        with torch._C._ExcludeDispatchKeyGuard(torch._C.DispatchKeySet(key)):
            return operator(*(arguments if cast is None else cast))

    return run


def _batching(layer: Layer, operator: Callable[..., Any]) -> Callable[..., Any]:
    """The rule of torch.vmap: mapped operands whose first axis is the spec's first run-time size make that larger; any others
    are computed one by one."""
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
        _asked[_known[name][0]] = layer, threads
    return _known[name][0]


def _reduced(operator: Any) -> Any:
    """Of PyTorch's operators those of this package go to other processes: as the layer, which need not be compiled again."""
    return (_operator_of, _asked[operator]) if operator in _asked else object.__reduce_ex__(operator, 2)


def _operator_of(layer: Layer, threads: Optional[int]) -> Callable[..., Any]:
    return op(layer, threads=threads)


copyreg.pickle(torch._ops.OpOverload, _reduced)


def lengths_of(mask: torch.Tensor) -> torch.Tensor:
    """The lengths of a batch's sequences, int32, from the mask that says so in models: true, or 0, where a key is seen. Its last
    axis are the keys, its first one the batch: [batch, keys], or [batch, 1, queries or 1, keys] as transformers makes it.

    Raises ArgumentError where it hides anything but the ends of sequences, or not the same from every query.
    """
    if mask.dim() == 2 and not mask.is_floating_point():
        seen = mask != 0  # a tokenizer's: 1 where there is a token
    else:
        seen = mask if mask.dtype == torch.bool else mask == 0
    rows = seen.reshape(seen.shape[0], -1, seen.shape[-1])
    lengths = rows[:, 0].sum(-1, dtype=torch.int32)
    if not (rows == (torch.arange(seen.shape[-1], device=mask.device) < lengths[:, None])[:, None]).all():
        raise ArgumentError("lengths_of", "mask", None, "one that hides the ends of sequences, from every query", "one that hides others")
    return lengths


class _Held:
    """What a module holds of its shelf: nothing in a copy of the module, or in one that was saved."""

    __slots__ = ("constants",)

    def __init__(self) -> None:
        self.constants: Optional[_Constants] = None

    def __deepcopy__(self, _: Any) -> "_Held":
        return _Held()

    def __reduce__(self) -> Tuple[Any, Tuple[()]]:
        return _Held, ()


def _owner_of(tensor: torch.Tensor) -> Optional[Tuple[torch.nn.Module, str]]:
    """The module that has registered a tensor, and the name that it has there. None where no module has."""
    for holder in gc.get_referrers(tensor):
        if type(holder) is not dict:
            continue
        name = next((name for name, value in holder.items() if value is tensor), None)
        for whole in gc.get_referrers(holder) if isinstance(name, str) else ():
            for module in [whole, *(gc.get_referrers(whole) if type(whole) is dict else ())]:
                if issubclass(type(module), torch.nn.Module) and not issubclass(type(module), Module):
                    if module.__dict__.get("_parameters") is holder or module.__dict__.get("_buffers") is holder:
                        return module, str(name)
    return None


class _Owners:
    """Which modules have the tensors that a Module was given, and under which names. A copy's, and those of what was read from a
    file, are looked for when they are first needed."""

    def __init__(self) -> None:
        self.known: Dict[str, Tuple[torch.nn.Module, str]] = {}
        self.sought: Dict[str, torch.Tensor] = {}
        # Of a copy: what was copied to what, which is complete when the copying has ended, and the owners before.
        self._copied: Tuple[Mapping[int, Any], Dict[str, Tuple[torch.nn.Module, str]]] = {}, {}

    def find(self) -> Dict[str, Tuple[torch.nn.Module, str]]:
        if self._copied[1]:
            (memo, before), self._copied = self._copied, ({}, {})
            for name, (module, attribute) in before.items():
                if id(module) in memo:
                    self.known[name] = memo[id(module)], attribute
                    del self.sought[name]
        while self.sought:
            name, tensor = self.sought.popitem()
            owner = _owner_of(tensor)
            if owner is not None:
                self.known[name] = owner
        return self.known

    def copied(self, tensors: Mapping[str, torch.Tensor], memo: Mapping[int, Any]) -> "_Owners":
        """Those of a copy that holds these tensors."""
        made = _Owners()
        made.sought = dict(tensors)
        made._copied = memo, dict(self.find())
        return made


class Module(torch.nn.Module):
    """The layer as a module: operands that the spec calls `const` are its parameters, the others its inputs, by name or in
    the spec's order.

    `values` gives the parameters' values by name; others are zeros, and require no gradient. A Parameter, or a buffer, of the
    model is registered itself, as PyTorch ties weights, and the layer reads what its owner has under that name: a Parameter that
    takes its place too (load_state_dict(assign=True), to_empty, an assignment, in the model or in a copy of it). A state dict
    of the model has it once, under the owner's name. Of any other tensor the memory is shared, where it is contiguous, else it is
    copied, which is a CopyWarning: give the Parameter, not a view of it.

    `.half()`, `.bfloat16()` and `.float()`, alone or of a model around it, have the layer compiled for that type, from the cache
    where it is there. What the parameters alone determine (packed weights and tables) is made once, and made anew when
    one of them was replaced, or written to in a way that PyTorch counts (`tensor._version`): not through `.data` or an
    array that shares its memory, after which `forget()` says that they have changed.
    """

    def __init__(self, spec: Union[str, "os.PathLike[str]", Layer], *, values: Optional[Mapping[str, Any]] = None,
                 threads: Optional[int] = None, **options: Any):
        super().__init__()
        layer = spec if isinstance(spec, Layer) else compile_layer(spec, **options)
        self._threads, self._asked = threads, layer  # .float() after .half() goes back to what was asked for
        self._constants = layer.constants
        self._owners = _Owners()
        self._take(layer)
        for name in values or {}:
            if name not in self._constants:
                raise ArgumentError(layer.name, name, None, "a name of a const operand: " + ", ".join(self._constants), name)
        for argument in layer.arguments:
            if argument.name in self._constants:
                if hasattr(self, argument.name):
                    raise ArgumentError(layer.name, argument.name, None, "a name of a const operand that torch.nn.Module "
                                        "has no attribute of", f"'{argument.name}'; call it otherwise in the spec")
                self._add(layer, argument, (values or {}).get(argument.name))
        self._keep([getattr(self, name) for name in self._constants])

    def _take(self, layer: Layer) -> None:
        """Has the layer, of which there may be one for each type of numbers, computed from now on."""
        self._layer = layer
        self._name = _name_of(layer)
        self._operator = op(layer, threads=self._threads)
        order = [argument.name for argument in layer.arguments]
        self._inputs = [name for name in order if name not in self._constants]
        self._places = [(self._inputs + self._constants).index(name) for name in order]  # of each operand in those
        self._held = _Held()

    def _add(self, layer: Layer, argument: Argument, value: Any) -> None:
        shape, wanted = argument.shape, _TYPES[argument.type]
        if value is None:
            if not all(isinstance(extent, int) for extent in shape):
                raise ArgumentError(layer.name, argument.name, None, "values={'" + argument.name + "': …} for a const operand whose "
                                    f"shape has a run-time length, [{', '.join(map(str, shape))}], or a length that is a param", "none")
            value = torch.zeros([int(extent) for extent in shape], dtype=wanted)
        elif not isinstance(value, torch.Tensor):
            value = torch.as_tensor(value)
        if value.dim() != len(shape) or value.dtype != wanted or \
                any(isinstance(extent, int) and extent != size for extent, size in zip(shape, value.shape)):
            raise ArgumentError(layer.name, argument.name, None, f"{wanted} of shape [{', '.join(map(str, shape))}]",
                                f"{value.dtype} of shape {list(value.shape)}")
        owner = _owner_of(value)
        if owner is not None:
            self._owners.known[argument.name] = owner
        if isinstance(value, torch.nn.Parameter):
            self.register_parameter(argument.name, value)
        elif owner is not None:
            self.register_buffer(argument.name, value, persistent=False)
        else:
            if not value.is_contiguous():
                warn(CopyWarning(f"kernel '{layer.name}': {argument.name} is copied, and does not follow what it was made of (its "
                                 f"shape {tuple(value.shape)} has strides {value.stride()}); give a contiguous tensor, or the Parameter "
                                 "itself, and transpose it in the spec"))
            setattr(self, argument.name, torch.nn.Parameter(value.detach().contiguous(), requires_grad=False))

    def _keep(self, tensors: Sequence[torch.Tensor]) -> None:
        """Has the operator find the parameters that there are now."""
        known = self._held.constants
        if known is not None and known.where == _where(tensors):
            for tensor in tensors:
                if type(tensor) not in (torch.nn.Parameter, torch.Tensor):
                    break
            else:
                return
        self._held.constants = _known[self._name][1].keep(tensors)

    def _constant(self, name: str) -> Tuple[torch.Tensor, bool]:
        """A const operand as it is now, and whether it is the same in the next call unless somebody replaces it."""
        owner = self._owners.find().get(name)
        if owner is not None:
            module, attribute = owner
            found = module._parameters.get(attribute)
            if found is None:
                found = module._buffers.get(attribute)
            if found is not None:
                return found, True
            found = getattr(module, attribute, None)
            if isinstance(found, torch.Tensor):  # computed there from now on: parametrize, prune
                return found, False
        for known in (self._parameters, self._buffers):
            if name in known:
                return known[name], True
        return getattr(self, name), False  # computed: torch.nn.utils.parametrize

    def _follow(self) -> None:
        """Registers what the owners have now."""
        for name in self._owners.find():
            known = self._parameters if name in self._parameters else self._buffers
            found, stays = self._constant(name)
            if name in known and stays:
                known[name] = found

    def _apply(self, fn: Callable[[torch.Tensor], torch.Tensor], recurse: bool = True) -> "Module":
        super()._apply(fn, recurse)
        current = float_of(self._layer)
        if current is not None:
            wanted = _FLOATS.get(fn(torch.zeros(1, dtype=_TYPES[current])).dtype)
            if wanted is not None and wanted != current:
                try:
                    self._take(self._asked if wanted == float_of(self._asked) else with_float(self._asked, wanted))
                except CompileError:
                    pass  # the layer has no meaning in that type, which its next call says of its operands
        return self

    def _save_to_state_dict(self, destination: Any, prefix: str, keep_vars: bool) -> None:
        self._follow()
        super()._save_to_state_dict(destination, prefix, keep_vars)
        for name in self._owners.find() if prefix else ():  # of a model: its owner saves it
            destination.pop(prefix + name, None)

    def _load_from_state_dict(self, state_dict: Any, prefix: str, local_metadata: Any, strict: bool, missing_keys: List[str],
                              unexpected_keys: List[str], error_msgs: List[str]) -> None:
        super()._load_from_state_dict(state_dict, prefix, local_metadata, strict, missing_keys, unexpected_keys, error_msgs)
        for name in self._owners.find() if prefix else ():
            if prefix + name in missing_keys:
                missing_keys.remove(prefix + name)
        self._follow()

    def __getstate__(self) -> Dict[str, Any]:
        """What torch.save of a whole module, or another process, gets: the compiled layer, and not this process's operator."""
        state = dict(self.__dict__)
        del state["_operator"]
        state["_owners"] = list(self._owners.find())
        return state

    def __setstate__(self, state: Dict[str, Any]) -> None:
        super().__setstate__(state)
        names, self._owners = self._owners, _Owners()
        self._owners.sought = {name: getattr(self, name) for name in names}
        self._operator = op(self._layer, threads=self._threads)
        self._keep([getattr(self, name) for name in self._constants])

    def __deepcopy__(self, memo: Dict[int, Any]) -> "Module":
        made = type(self).__new__(type(self))
        memo[id(self)] = made
        made.__setstate__(copy.deepcopy(self.__getstate__(), memo))
        made._owners = self._owners.copied({name: getattr(made, name) for name in self._owners.find()}, memo)
        return made

    def forget(self) -> None:
        """Has the next call make anew what follows from the parameters alone."""
        if self._held.constants is not None:
            self._held.constants.forget()

    def extra_repr(self) -> str:
        layer = self._layer
        return f"{layer.name}({', '.join(self._inputs)}" + (f"; {', '.join(self._constants)}" if self._constants else "") + \
            f"), {float_of(layer) or layer.results[0].type}" + (f", threads={self._threads}" if self._threads else "")

    def forward(self, *tensors: torch.Tensor, **named: torch.Tensor) -> Any:
        if named or len(tensors) != len(self._inputs):
            tensors = self._in_order(tensors, named)
        if not self._constants:
            return self._operator(*[tensors[place] for place in self._places])
        found = [self._constant(name) for name in self._constants]
        constants = [tensor for tensor, _ in found]
        # A trace would burn in where its parameters lie. The compiled program's calls find those of the last call that was
        # not traced, or of the constructor; of others they make everything in every call.
        if not torch.compiler.is_compiling() and all(stays for _, stays in found):
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
