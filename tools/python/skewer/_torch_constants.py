"""The data that follows from modules' parameters alone, and how an operator finds it."""

import weakref
from typing import Dict, Optional, Sequence, Tuple

import torch

from . import _core
from ._layer import Layer


def where_of(tensors: Sequence[torch.Tensor]) -> Tuple[int, ...]:
    return tuple([tensor.data_ptr() for tensor in tensors])


class Constants:
    """Parameters of modules that are a layer's `const` operands, and the data that the kernel prepares from them."""

    def __init__(self, layer: Layer, tensors: Sequence[torch.Tensor]):
        # Keeps the tensors alive, so that no other tensor can get their addresses.
        self._layer, self._held = layer, [tensor.detach() for tensor in tensors]
        self.where = where_of(tensors)
        self.forget()

    def prepared_for(self, tensors: Sequence[torch.Tensor]) -> Optional[_core.Prepared]:
        """Returns the prepared data, made anew if a tensor changed since; None if nothing follows from these operands alone."""
        versions = tuple([tensor._version for tensor in tensors])
        known, made = self._made
        if known != versions:
            by_name = dict(zip(self._layer.constants, tensors))
            made = self._layer._kernel.prepare(tuple(by_name.get(one.name) for one in self._layer.arguments), 1)
            made = made if made.bytes else None
            self._made = versions, made  # in one assignment, because other threads may be calling
        return made

    def forget(self) -> None:
        self._made: Tuple[Tuple[int, ...], Optional[_core.Prepared]] = (), None


class Shelf:
    """The constants of a layer's modules, by their addresses. An operator gets all operands at every call, in a compiled program
    too, and finds by the addresses whether they were prepared."""

    def __init__(self, layer: Layer):
        self._layer = layer
        self._places = [n for n, one in enumerate(layer.manifest["inputs"]) if one.get("const")]
        self._found: Dict[Tuple[int, ...], "weakref.ref[Constants]"] = {}

    def keep(self, tensors: Sequence[torch.Tensor]) -> Optional[Constants]:
        """Returns constants for the tensors' owner to hold; None if changes could not be seen, or there is no data yet."""
        if not tensors or any(type(tensor) not in (torch.nn.Parameter, torch.Tensor) or tensor.device.type != "cpu" or
                              tensor.is_inference() or not tensor.is_contiguous() for tensor in tensors):
            return None
        where = where_of(tensors)
        found = self._at(where)
        if found is None:
            found = Constants(self._layer, tensors)
            known = self._found

            def forget(reference: "weakref.ref[Constants]") -> None:
                if known.get(where) is reference:  # not a later one at the same address
                    del known[where]

            known[where] = weakref.ref(found, forget)
        return found

    def _at(self, where: Tuple[int, ...]) -> Optional[Constants]:
        reference = self._found.get(where)
        return reference() if reference is not None else None

    def prepared_for(self, operands: Sequence[torch.Tensor]) -> Optional[_core.Prepared]:
        if not self._found:
            return None
        tensors = [operands[n] for n in self._places]
        found = self._at(where_of(tensors))
        if found is None:
            return None
        for tensor in tensors:
            if not tensor.is_contiguous():  # a transposed view that begins there
                return None
        return found.prepared_for(tensors)
