"""Calls with PyTorch's tensors in a GPU's memory. Kernels are queued on PyTorch's stream and use memory from PyTorch.

No GPU is needed to compile for one. This file has not run on a GPU yet (docs/gpu.md).
"""

from typing import Any, List, Mapping, Optional, Sequence, Tuple

import torch

from . import _core
from ._errors import note_copy

_TYPES = {"f32": torch.float32, "f16": torch.float16, "bf16": torch.bfloat16, "i32": torch.int32, "i8": torch.int8,
          "f8e4m3": torch.float8_e4m3fn}
_noted = set()  # arguments whose copies were warned of: (kernel, argument)


def _new(shape: Sequence[int], dtype: torch.dtype, device: Any) -> Any:
    return torch.empty(shape, dtype=dtype, device=device)


def _stream(device: Any) -> int:
    return int(torch.cuda.current_stream(device).cuda_stream)


def indices(array: Any, wanted: str) -> Any:
    """Converts an index operand given as int64 or bool to the spec's type; returns any other operand as it is."""
    if wanted == "i32" and array.dtype == torch.int64:
        return array.clamp(-1 << 31, (1 << 31) - 1).to(torch.int32)  # other numbers are outside of every range
    return array.to(_TYPES[wanted]) if wanted in ("i32", "i8") and array.dtype == torch.bool else array


def _readable(kernel: str, name: str, wanted: str, array: Any) -> Any:
    """Returns the tensor in the layout that kernels read; otherwise copies it, and warns once."""
    if not isinstance(array, torch.Tensor) or not array.is_cuda:
        return array  # the check of all operands refuses it
    array = indices(array.resolve_neg(), wanted)
    if array.is_contiguous():
        return array
    if (kernel, name) not in _noted:
        _noted.add((kernel, name))
        note_copy(kernel, name, tuple(array.shape), array.stride(), False)
    return array.contiguous()


def call(kernel: _core.Kernel, name: str, operands: Sequence[Tuple[str, str]], results: Sequence[str], arrays: Sequence[Any],
         outputs: Optional[Tuple[Any, ...]], sizes: Optional[Mapping[str, int]], q0: int, k0: int, head0: int) -> Any:
    """Queues the kernel on the current stream of the first operand's GPU. Results are new tensors there, or `outputs`.
    `operands` has names and types, `results` types."""
    device = arrays[0].device
    held: List[Any] = []  # only later work of the same stream can reuse memory that is freed

    def workspace(count: int) -> int:
        held.append(_new((count,), torch.uint8, device))
        return int(held[-1].data_ptr())

    given = tuple(_readable(name, one, wanted, array) for (one, wanted), array in zip(operands, arrays))
    with torch.cuda.device(device):
        return kernel.call_on_gpu(given, outputs, lambda number, shape: _new(shape, _TYPES[results[number]], device), sizes,
                                  q0, k0, head0, _stream(device), workspace)
