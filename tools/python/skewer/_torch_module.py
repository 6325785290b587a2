"""A layer as a module of PyTorch. Its parameters are the model's own."""

import copy
import gc
import os
from typing import Any, Callable, Dict, List, Mapping, Optional, Sequence, Tuple, Union

import torch

from ._compile import compile as compile_layer, float_of, with_float
from ._errors import ArgumentError, CompileError, CopyWarning, warn
from ._layer import Argument, Layer
from ._torch_calls import FLOATS, TYPES
from ._torch_constants import Constants, where_of
from ._torch_op import name_of, op, operators


class _Held:
    """The constants that a module holds. A copy of the module, or a saved one, holds none."""

    __slots__ = ("constants",)

    def __init__(self) -> None:
        self.constants: Optional[Constants] = None

    def __deepcopy__(self, _: Any) -> "_Held":
        return _Held()

    def __reduce__(self) -> Tuple[Any, Tuple[()]]:
        return _Held, ()


def _owner_of(tensor: torch.Tensor) -> Optional[Tuple[torch.nn.Module, str]]:
    """Returns the module that has registered a tensor, and the tensor's name there; None if no module has."""
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
    """The modules that own the tensors given to a Module, and the names there. For a copy, or a module read from a file, they
    are searched for at first use."""

    def __init__(self) -> None:
        self.known: Dict[str, Tuple[torch.nn.Module, str]] = {}
        self.sought: Dict[str, torch.Tensor] = {}
        # For a copy: the map from originals to copies, which is complete when the copying has ended, and the owners before.
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
        """Returns the owners for a copy that holds these tensors."""
        made = _Owners()
        made.sought = dict(tensors)
        made._copied = memo, dict(self.find())
        return made


class Module(torch.nn.Module):
    """The layer as a module. Its parameters are the operands that the spec calls `const`; its inputs are the others, by name or
    in the spec's order.

    `values` gives the parameters' values by name. A parameter without a value is zero and requires no gradient. A Parameter or
    a buffer of the model is registered itself, as PyTorch ties weights: the layer reads what its owner has under that name.
    That holds for a Parameter that replaces it too (load_state_dict(assign=True), to_empty, an assignment, in the model or in a
    copy of it). A state dict of the model has it once, under the owner's name. Any other tensor shares its memory with the
    module if it is contiguous. If not, it is copied, with a CopyWarning: give the Parameter, not a view of it.

    `.half()`, `.bfloat16()` and `.float()`, of the module or of a model around it, compile the layer for that type, or take it
    from the cache. Everything that the parameters alone determine (packed weights and tables) is made once. It is made anew
    after a parameter was replaced, or written to in a way that PyTorch counts (`tensor._version`). PyTorch does not count
    writes through `.data` or through an array that shares the memory: call `forget()` after them.
    """

    __module__ = "skewer.torch"  # the name in saved modules

    def __init__(self, spec: Union[str, "os.PathLike[str]", Layer], *, values: Optional[Mapping[str, Any]] = None,
                 threads: Optional[int] = None, **options: Any):
        super().__init__()
        layer = spec if isinstance(spec, Layer) else compile_layer(spec, **options)
        self._threads, self._asked = threads, layer  # .float() after .half() goes back to the layer that was asked for
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
        """Makes the module compute this layer from now on; there may be one layer for each type of numbers."""
        self._layer = layer
        self._name = name_of(layer)
        self._operator = op(layer, threads=self._threads)
        order = [argument.name for argument in layer.arguments]
        self._inputs = [name for name in order if name not in self._constants]
        self._places = [(self._inputs + self._constants).index(name) for name in order]  # of each operand in those
        self._held = _Held()

    def _add(self, layer: Layer, argument: Argument, value: Any) -> None:
        shape, wanted = argument.shape, TYPES[argument.type]
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
        """Lets the operator find the present parameters."""
        known = self._held.constants
        if known is not None and known.where == where_of(tensors):
            for tensor in tensors:
                if type(tensor) not in (torch.nn.Parameter, torch.Tensor):
                    break
            else:
                return
        self._held.constants = operators[self._name][1].keep(tensors)

    def _constant(self, name: str) -> Tuple[torch.Tensor, bool]:
        """Returns a const operand as it is now, and whether the next call has the same one unless somebody replaces it."""
        owner = self._owners.find().get(name)
        if owner is not None:
            module, attribute = owner
            found = module._parameters.get(attribute)
            if found is None:
                found = module._buffers.get(attribute)
            if found is not None:
                return found, True
            found = getattr(module, attribute, None)
            if isinstance(found, torch.Tensor):  # the owner computes it from now on: parametrize, prune
                return found, False
        for known in (self._parameters, self._buffers):
            if name in known:
                return known[name], True
        return getattr(self, name), False  # computed: torch.nn.utils.parametrize

    def _follow(self) -> None:
        """Registers the tensors that the owners have now."""
        for name in self._owners.find():
            known = self._parameters if name in self._parameters else self._buffers
            found, stays = self._constant(name)
            if name in known and stays:
                known[name] = found

    def _apply(self, fn: Callable[[torch.Tensor], torch.Tensor], recurse: bool = True) -> "Module":
        super()._apply(fn, recurse)
        current = float_of(self._layer)
        if current is not None:
            wanted = FLOATS.get(fn(torch.zeros(1, dtype=TYPES[current])).dtype)
            if wanted is not None and wanted != current:
                try:
                    self._take(self._asked if wanted == float_of(self._asked) else with_float(self._asked, wanted))
                except CompileError:
                    pass  # the layer has no meaning in that type; its next call says so
        return self

    def _save_to_state_dict(self, destination: Any, prefix: str, keep_vars: bool) -> None:
        self._follow()
        super()._save_to_state_dict(destination, prefix, keep_vars)
        for name in self._owners.find() if prefix else ():  # in a model the owner saves it
            destination.pop(prefix + name, None)

    def _load_from_state_dict(self, state_dict: Any, prefix: str, local_metadata: Any, strict: bool, missing_keys: List[str],
                              unexpected_keys: List[str], error_msgs: List[str]) -> None:
        super()._load_from_state_dict(state_dict, prefix, local_metadata, strict, missing_keys, unexpected_keys, error_msgs)
        for name in self._owners.find() if prefix else ():
            if prefix + name in missing_keys:
                missing_keys.remove(prefix + name)
        self._follow()

    def __getstate__(self) -> Dict[str, Any]:
        """Returns the state for torch.save or another process: the compiled layer, without this process's operator."""
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
        """Makes the next call prepare everything that follows from the parameters alone again."""
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
        # A trace would fix the addresses of the parameters. The calls of a compiled program find the parameters of the last call
        # that was not traced, or of the constructor; for other parameters they make everything in every call.
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
