"""Skewer: attention layers with positions, compiled to kernels.

>>> import skewer
>>> layer = skewer.compile("botnet.attn", H=16, W=16)
>>> out = layer(q=q, k=k, v=v, rel_h=rel_h, rel_w=rel_w)

`layer` takes arrays of NumPy, PyTorch, JAX and whatever else speaks the buffer protocol or DLPack. docs/python.md is the guide.
"""

from ._compile import compile, load
from ._core import library_build, library_version
from ._errors import (ArgumentError, CacheWarning, CompileError, CopyWarning, Diagnostic, GradientError, KernelError,
                      LoadError, SkewerError)
from ._layer import Argument, Bench, Layer, Page, Plot, Prepared

__version__ = library_version()
__all__ = [
    "compile", "load", "Layer", "Prepared", "Argument", "Bench", "Plot", "Page", "Diagnostic", "SkewerError", "CompileError",
    "ArgumentError", "GradientError", "KernelError", "LoadError", "CopyWarning", "CacheWarning", "library_version",
    "library_build",
]
