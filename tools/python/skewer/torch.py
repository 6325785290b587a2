"""Layers as operators of PyTorch: torch.library, torch.compile, torch.export, modules.

>>> from skewer import torch as skewer_torch
>>> op = skewer_torch.op("botnet.attn", H=16, W=16)
>>> out = op(q, k, v, rel_h, rel_w)
>>> module = skewer_torch.Module("conformer.attn")   # `const` operands are its parameters

Operators compute forward only: if a tensor requires a gradient, the backward pass is a GradientError. They read the processor's
memory, and the memory of GPUs that the layer was compiled for (`target="host,sm_90a"`), on PyTorch's current stream.
"""

import torch

from ._errors import ArgumentError
from ._torch_module import Module
from ._torch_op import op

__all__ = ["op", "Module", "lengths_of"]


def lengths_of(mask: torch.Tensor) -> torch.Tensor:
    """Returns the lengths of a batch's sequences, int32, from a model's mask, which is true, or 0, where a key is seen. Its last
    axis is the keys, its first one the batch: [batch, keys], or [batch, 1, queries or 1, keys] as transformers makes it.

    Raises ArgumentError if the mask hides anything but the ends of sequences, or differs between queries.
    """
    if mask.dim() == 2 and not mask.is_floating_point():
        seen = mask != 0  # a tokenizer's mask is 1 where there is a token
    else:
        seen = mask if mask.dtype == torch.bool else mask == 0
    rows = seen.reshape(seen.shape[0], -1, seen.shape[-1])
    lengths = rows[:, 0].sum(-1, dtype=torch.int32)
    if not (rows == (torch.arange(seen.shape[-1], device=mask.device) < lengths[:, None])[:, None]).all():
        raise ArgumentError("lengths_of", "mask", None, "one that hides the ends of sequences, from every query", "one that hides others")
    return lengths
