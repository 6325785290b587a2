"""PyTorch's tensors in a GPU's memory: kernels are queued on PyTorch's stream, with memory of PyTorch's.

No GPU is needed to compile for one. Nothing of this has run on a GPU yet (docs/gpu.md).
"""

from typing import Any, List, Mapping, Optional, Sequence, Tuple

import torch

from . import _core
from ._errors import note_copy

_TYPES = {"f32": torch.float32, "f16": torch.float16, "bf16": torch.bfloat16, "i32": torch.int32, "i8": torch.int8}
_noted = set()  # what has been said to be copied: (kernel, argument)


def _new(shape: Sequence[int], dtype: torch.dtype, device: Any) -> Any:
    return torch.empty(shape, dtype=dtype, device=device)


def _stream(device: Any) -> int:
    return int(torch.cuda.current_stream(device).cuda_stream)


def indices(array: Any, wanted: str) -> Any:
    """An operand of whole numbers that is given as int64 or bool, as the spec's type; any other as it is."""
    if wanted == "i32" and array.dtype == torch.int64:
        return array.clamp(-1 << 31, (1 << 31) - 1).to(torch.int32)  # what int32 cannot hold is outside of any range
    return array.to(_TYPES[wanted]) if wanted in ("i32", "i8") and array.dtype == torch.bool else array


def _readable(kernel: str, name: str, wanted: str, array: Any) -> Any:
    """The tensor as kernels read it: a copy, and a note once, where it lies otherwise."""
    if not isinstance(array, torch.Tensor) or not array.is_cuda:
        return array  # refused where all are looked at
    array = indices(array.resolve_neg(), wanted)
    if array.is_contiguous():
        return array
    if (kernel, name) not in _noted:
        _noted.add((kernel, name))
        note_copy(kernel, name, tuple(array.shape), array.stride(), False)
    return array.contiguous()


def call(kernel: _core.Kernel, name: str, operands: Sequence[Tuple[str, str]], results: Sequence[str], arrays: Sequence[Any],
         outputs: Optional[Tuple[Any, ...]], sizes: Optional[Mapping[str, int]], q0: int, k0: int, head0: int) -> Any:
    """Queues the kernel on the current stream of the first operand's GPU; results are new tensors there, or `outputs`.
    `operands` are names and types, `results` types."""
    device = arrays[0].device
    held: List[Any] = []  # memory that is given back is used again by later work of the same stream alone

    def workspace(count: int) -> int:
        held.append(_new((count,), torch.uint8, device))
        return int(held[-1].data_ptr())

    given = tuple(_readable(name, one, wanted, array) for (one, wanted), array in zip(operands, arrays))
    with torch.cuda.device(device):
        return kernel.call_on_gpu(given, outputs, lambda number, shape: _new(shape, _TYPES[results[number]], device), sizes,
                                  q0, k0, head0, _stream(device), workspace)
