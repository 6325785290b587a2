"""Skewer: attention layers with positions, compiled to kernels.

>>> import skewer
>>> layer = skewer.compile("botnet.attn", H=16, W=16)
>>> out = layer(q=q, k=k, v=v, rel_h=rel_h, rel_w=rel_w)

`layer` takes arrays of NumPy, PyTorch and JAX, and of every library with the buffer protocol or DLPack. docs/python.md is the
guide.
"""

import importlib
from typing import TYPE_CHECKING, Any

from ._compile import Scheme, compile, load, refuse_amx, schemes
from ._core import library_build, library_version
from ._errors import (ArgumentError, CacheWarning, CompileError, CompileWarning, CopyWarning, Diagnostic, GradientError,
                      KernelError, LoadError, SkewerError)
from ._layer import Argument, Bench, Check, Compared, Layer, Page, Plot, Prepared, Text

__version__ = library_version()
__all__ = [
    "compile", "load", "refuse_amx", "schemes", "Layer", "Prepared", "Argument", "Bench", "Check", "Compared", "Scheme", "Plot",
    "Page", "Text", "Diagnostic", "SkewerError", "CompileError", "ArgumentError", "GradientError", "KernelError", "LoadError",
    "CompileWarning", "CopyWarning", "CacheWarning", "library_version", "library_build",
]

if not TYPE_CHECKING:  # with it, a type checker would accept every name

    def __getattr__(name: str) -> Any:
        """Imports skewer.torch, skewer.jax, skewer.ring and skewer.jax_ring, and so their frameworks, at first use."""
        if name in ("torch", "jax", "ring", "jax_ring"):
            return importlib.import_module("." + name, __name__)
        raise AttributeError(f"module 'skewer' has no attribute '{name}'")
