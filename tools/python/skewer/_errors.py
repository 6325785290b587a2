"""The exceptions and warnings of the package. Each has fields with what is known about the mistake."""

import sys
import warnings
from typing import Any, List, NamedTuple, Optional, Sequence, Tuple, Type, Union


class Diagnostic(NamedTuple):
    """One message of the compiler. `severity` is "error", "warning", "remark", or "note"; a note belongs to the message before
    it. `line` and `column` (in bytes) count from 1; 0 means unknown. `source` is the line of the spec. The message is about
    `length` characters from the column on."""

    file: str
    line: int
    column: int
    severity: str
    text: str
    source: str
    length: int = 0


class SkewerError(Exception):
    """The base class of everything that this package raises. It can be pickled, with its fields."""

    def __reduce__(self) -> Tuple[Any, ...]:
        # Exception's own __reduce__ would call the class with the text alone.
        return _restored, (type(self), self.args), self.__dict__


def _restored(kind: Type[BaseException], arguments: Tuple[Any, ...]) -> BaseException:
    return kind.__new__(kind, *arguments)


class CompileError(SkewerError):
    """The spec, or a request about it, is wrong. `diagnostics` says where; the text is the compiler's own."""

    def __init__(self, messages: str, diagnostics: List[Diagnostic]):
        super().__init__(messages.rstrip())
        self.diagnostics = diagnostics


class LoadError(SkewerError):
    """Compiled objects cannot be used: they are missing, cut short, or of another version of the contract."""


class ArgumentError(SkewerError, ValueError):
    """An array that the kernel cannot take.

    `argument` is its name. `dimension` is the number of the axis or the name of the run-time size; None if the error is about
    the whole array. `expected` and `found` are texts.
    """

    def __init__(self, kernel: str, argument: str, dimension: Optional[Union[int, str]], expected: str, found: str):
        where = "" if dimension is None else f", dimension {dimension}"
        super().__init__(f"kernel '{kernel}': {argument}{where}: expected {expected}, found {found}")
        self.kernel, self.argument, self.dimension = kernel, argument, dimension
        self.expected, self.found = expected, found


class GradientError(ArgumentError):
    """A gradient or a tangent was asked for, but kernels compute forward only. If a tensor of PyTorch requires a gradient, the
    backward pass raises it, not the call."""

    def __init__(self, kernel: str, argument: str, found: str = "requires_grad=True",
                 way: str = "torch.no_grad(), or tensor.detach()"):
        super().__init__(kernel, argument, None, f"a tensor without a gradient (kernels compute forward only: {way})", found)


class KernelError(SkewerError):
    """The kernel returned an error; `status` is its number in docs/abi.md.

    If an index is out of its range, `argument` is the operand's name, and `expected` and `found` are texts; otherwise they are
    None.
    """

    def __init__(self, kernel: str, status: int, text: str, argument: Optional[str] = None,
                 expected: Optional[str] = None, found: Optional[str] = None):
        super().__init__(f"kernel '{kernel}': {text}")
        self.kernel, self.status = kernel, status
        self.argument, self.expected, self.found = argument, expected, found


class CopyWarning(UserWarning):
    """An array is copied at each call, because kernels read row-major memory without gaps. It comes once for each argument."""


class CacheWarning(UserWarning):
    """The folder of compiled kernels cannot be used, so that they are kept in memory. It comes once."""


class CompileWarning(UserWarning):
    """The compiler accepts the spec, but something in it is probably a mistake. The text is the compiler's own, with the line
    and a caret; `diagnostics` says where. It comes with every `compile` of the spec, from the cache too."""

    def __init__(self, messages: str, diagnostics: List[Diagnostic]):
        super().__init__(messages.rstrip())
        self.diagnostics = diagnostics

    def __reduce__(self) -> Tuple[Any, ...]:
        return type(self), (str(self), self.diagnostics)


_STATUSES = {
    4: "a run-time size is out of its range, or the sizes together are too large",
    5: "an origin (q0, k0 or head0) is out of its range",
    6: "a tensor's memory is missing",
    15: "a result shares memory with an input, or with another result",
    18: "the threads did not do what they were asked to",
    19: "this processor lacks instructions that the kernel was compiled for; compile it with target='host'",
}


def kernel_error(kernel: str, status: int, argument: Optional[str] = None, expected: Optional[str] = None,
                 found: Optional[str] = None) -> SkewerError:
    """Returns the exception for a status of docs/abi.md. `argument` is the operand with a bad index; without one, `found` says
    more about the error."""
    if argument is not None:
        return KernelError(kernel, status, f"{argument}: expected {expected}, found {found}", argument, expected, found)
    text = _STATUSES.get(status, f"status {status} (docs/abi.md)")
    return KernelError(kernel, status, text if found is None else f"{text}: {found}")


def found_type(found: str, expected: str, is_of_framework: bool) -> str:
    """Returns what messages say about elements of the wrong type, with the usual remedy if there is one."""
    floats = ("float32", "float16", "bfloat16")
    if is_of_framework and found in floats and expected in floats:
        return f"{found} (convert it, or compile the layer for it: dtype='{found}')"
    if found == "float64" and expected in floats:
        return f"float64 (array.astype('{expected}'), tensor.to(torch.{expected}))"
    return found


def wants_gradient(array: Any) -> bool:
    """Returns whether the array requires a gradient, which no kernel computes."""
    torch = sys.modules.get("torch")
    return bool(array.requires_grad) and (torch is None or torch.is_grad_enabled())


def refuse_tangents(kernel: str, names: Sequence[str], arrays: Sequence[Any]) -> None:
    """Raises GradientError for a tensor with a tangent (forward derivatives, torch.func.jvp). A result without a tangent would
    mean that it does not depend on the tensor."""
    torch = sys.modules.get("torch")
    forward = getattr(getattr(torch, "autograd", None), "forward_ad", None)
    if forward is None or getattr(forward, "_current_level", -1) < 0:
        return
    for name, array in zip(names, arrays):
        if isinstance(array, torch.Tensor) and forward.unpack_dual(array).tangent is not None:
            raise GradientError(kernel, name, "a tensor with a tangent")


def named(array: Any) -> str:
    """Returns what messages call an object that is no array in the processor's memory."""
    text = f"an object of type {type(array).__name__}"
    if "Tracer" in type(array).__name__ and type(array).__module__.partition(".")[0] in ("jax", "jaxlib"):
        return text + " (in jax.jit, jax.vmap and their like a layer is skewer.jax.op)"
    device, layout = getattr(array, "device", None), str(getattr(array, "layout", "torch.strided"))
    if device is not None and str(device) not in ("cpu", ""):
        text += f" on device '{device}'"
    return text + ("" if layout == "torch.strided" or not layout.startswith("torch.") else f" of layout {layout}")


def note_copy(kernel: str, argument: str, shape: Tuple[int, ...], strides: Tuple[int, ...], is_result: bool) -> None:
    """Warns that an argument is not laid out as the kernel reads it, at the line that called this package."""
    packed, elements = [], 1
    for extent in reversed(shape):
        packed.insert(0, elements)
        elements *= extent
    if any(extent > 1 and found != expected for extent, found, expected in zip(shape, strides, packed)):
        why = f"shape {shape} has strides {strides} in elements, expected {tuple(packed)}: row-major without gaps"
    else:
        why = "its memory begins at no multiple of its elements' size"
    if is_result:
        text = f"{argument} cannot be written where it lies ({why}); each call computes the result elsewhere and copies it. " \
            "Give an array of numpy.empty or torch.empty"
    else:
        text = f"{argument} cannot be read where it lies ({why}); each call copies it. " \
            "Copy it once (numpy.ascontiguousarray, tensor.contiguous())"
    warn(CopyWarning(f"kernel '{kernel}': {text}, or say in the spec how memory lies (docs/python.md, Operands)"))


def warn(warning: Warning) -> None:
    """Warns at the line that called this package."""
    level, frame = 2, sys._getframe(1)
    while frame.f_back and frame.f_globals.get("__name__", "").partition(".")[0] in ("skewer", "torch"):
        level, frame = level + 1, frame.f_back
    warnings.warn(warning, stacklevel=level)
