"""A compiled layer, called with arrays."""

import difflib
import html
import io
import json
import os
import re
import sys
import time
from typing import Any, Callable, Dict, List, Mapping, NamedTuple, Optional, Sequence, Tuple, Union

import numpy as np

from . import _core
from ._check import Check, Compared
from ._errors import ArgumentError, CompileError, Diagnostic, GradientError, SkewerError, refuse_tangents
from ._picture import Page, Plot, Text

# NumPy has no bfloat16 and no float8_e4m3fn, so that its arrays hold the bits.
_NUMPY_TYPES = {"f32": np.float32, "f16": np.float16, "bf16": np.uint16, "i32": np.int32, "i8": np.int8, "f8e4m3": np.uint8}
_FRAMEWORK_TYPES = {"f32": "float32", "f16": "float16", "bf16": "bfloat16", "i32": "int32", "i8": "int8", "f8e4m3": "float8_e4m3fn"}


class Source(NamedTuple):
    """A spec's text, the name that messages give it, and its parameters as NAME=VALUE."""

    name: str
    text: str
    parameters: List[str]


class Argument(NamedTuple):
    """An operand or a result. `shape` has numbers, names of run-time sizes, and expressions of them as text. `range` has the
    smallest and the largest element of an index operand, in the same form; None if the spec declares no range."""

    name: str
    type: str
    shape: Tuple[Union[int, str], ...]
    range: Optional[Tuple[Union[int, str], Union[int, str]]] = None


class Bench(NamedTuple):
    """The times of a call in seconds, and its useful FLOPs if they are known. It prints as a table."""

    median: float
    fastest: float
    calls: int
    flops: Optional[float]
    name: str = "layer"
    threads: int = 1

    @property
    def gflops(self) -> Optional[float]:
        """The useful FLOPs per second, in units of 10^9, by the median."""
        return None if self.flops is None else self.flops / self.median / 1e9

    def __repr__(self) -> str:
        def row(what: str, seconds: float) -> str:
            rate = "" if self.flops is None else f"{self.flops / seconds / 1e9:12.1f} GF/s"
            unit, factor = ("s", 1) if seconds >= 1 else ("ms", 1e3) if seconds >= 1e-3 else ("µs", 1e6)
            return f"  {what:8}{seconds * factor:10.3f} {unit:2}{rate}".rstrip()

        head = f"{self.name}: {self.calls} call{'s' if self.calls > 1 else ''}, " \
            f"{self.threads} thread{'s' if self.threads > 1 else ''}"
        return "\n".join([head, row("median", self.median), row("fastest", self.fastest)])

    def __str__(self) -> str:
        return repr(self)


# Keywords of a call that are not operands.
_OF_THE_CALL = ("out", "threads", "sizes", "q0", "k0", "head0")


def _arguments(entries: Sequence[Mapping[str, Any]]) -> List[Argument]:
    return [Argument(entry["name"], entry["type"], tuple(entry["shape"]),
                     tuple(entry.get("range_ends", entry["range"])) if "range" in entry else None) for entry in entries]


def _numbers(generator: np.random.Generator, shape: Sequence[int], argument: Argument, entry: Mapping[str, Any],
             indices: Tuple[int, int]) -> np.ndarray:
    """Returns random values as the spec declares them for an operand: in a range, or with a mean and a deviation. An index
    operand has values in `indices`; whole numbers of 8 bits stand for scaled real numbers."""
    if argument.type in ("i32", "i8"):
        low, high = (-127, 127) if argument.type == "i8" else indices
        return generator.integers(low, high, shape, endpoint=True)
    if "between" in entry:
        return generator.uniform(*entry["between"], shape).astype(np.float32)
    numbers = generator.standard_normal(shape, np.float32)
    return numbers * np.float32(entry.get("deviation", 1)) + np.float32(entry.get("mean", 0))


def _e4m3_bits(numbers: np.ndarray) -> np.ndarray:
    """Returns the bits of the nearest numbers of float8_e4m3fn, the even one of two equally near; larger ones become 448."""
    sizes = np.minimum(np.abs(numbers.astype(np.float64)), 448)
    exponents = np.maximum(np.where(sizes > 0, np.frexp(sizes)[1] - 1, -6), -6)  # below 2^-6 all steps are as large
    bits = (exponents + 6) * 8 + np.rint(np.ldexp(sizes, 3 - exponents))
    return np.where(np.isnan(numbers), 0x7F, bits).astype(np.uint8) | (np.signbit(numbers).astype(np.uint8) << 7)


def _not_finite(array: np.ndarray) -> int:
    """Returns how many elements of a result are NaN or infinite; uint16 holds the bits of bf16."""
    is_finite = array & 0x7F80 != 0x7F80 if array.dtype == np.uint16 else np.isfinite(array)
    return int(array.size - np.count_nonzero(is_finite))


class Layer:
    """A kernel in this process. Call it with arrays. Several threads may call it at once: each call has a workspace of its own.

    `name`, `arguments`, `results` and `sizes` describe it; `manifest` is the compiler's own description. `threads` is the
    number of threads of a call that does not give one. `diagnostics` has the compiler's warnings, from the cache too.
    """

    def __init__(self, name: str, manifest: Dict[str, Any], objects: List[bytes], shared_object: str, threads: int):
        self.name, self.manifest, self.threads = name, manifest, threads
        self.arguments = _arguments(manifest["inputs"])
        self.results = _arguments(manifest["outputs"])
        self.sizes: Dict[str, Optional[int]] = {size["name"]: size.get("bound") for size in manifest["sizes"]}
        self.origins = [origin["field"] for origin in manifest.get("origins", [])]
        self.diagnostics: List[Diagnostic] = []
        self._source: Optional[Source] = None
        self._target = manifest.get("target", {}).get("name", "host")
        self._objects, self._shared_object = objects, shared_object
        self._names = [argument.name for argument in self.arguments]
        self._kernel = _core.Kernel(name, objects, shared_object, [self._described(a) for a in self.arguments],
                                    [self._described(a) for a in self.results],
                                    [(size, bound or 0) for size, bound in self.sizes.items()])

    def _extent(self, extent: Union[int, str]) -> Any:
        """Returns a number, (place, name) of a run-time size, or (function, text, places) of an expression of sizes."""
        names = list(self.sizes)
        if isinstance(extent, int):
            return extent
        if extent in names:
            return names.index(extent), extent
        # An expression of lengths, as the compiler wrote it. The name of a length may be `lambda`.
        text = extent.replace(" floordiv ", " // ").replace(" mod ", " % ")
        used = sorted({names.index(word) for word in re.findall(r"[^\W\d]\w*", text)})
        text = re.sub(r"[^\W\d]\w*", lambda word: f"_{names.index(word.group())}", text)
        parameters = ", ".join(f"_{number}" for number in range(len(names)))
        return eval(f"lambda {parameters}: {text}", {"__builtins__": {}}), extent, used

    def _described(self, argument: Argument) -> Tuple[str, str, List[Any], Optional[Tuple[Any, ...]]]:
        return argument.name, argument.type, [self._extent(extent) for extent in argument.shape], \
            argument.range and tuple(self._extent(end) for end in argument.range)

    def __call__(self, /, *arrays: Any, out: Any = None, threads: Optional[int] = None,
                 sizes: Optional[Mapping[str, int]] = None, q0: int = 0, k0: int = 0, head0: int = 0,
                 _prepared: Optional["_core.Prepared"] = None, **named: Any) -> Any:
        """Computes the layer.

        Operands come in the spec's order or by name. The result is an array of the first operand's library. With `out` (a tuple
        of arrays if there are several results) the result is written there, and `out` is returned. `sizes` gives run-time sizes
        that follow from no array's shape. `q0`, `k0` and `head0` say where a part of a larger layer begins. If the layer was
        compiled for a GPU, it takes PyTorch's tensors in that GPU's memory, and the call is queued on PyTorch's stream. Under
        torch.autocast, tensors are converted to the spec's types. An i32 operand may be given as int64 or bool, an i8 operand as
        bool, an f8e4m3 operand as its bits in uint8. If a size of 0 leaves no element to compute, such as an empty batch, the
        result is empty.

        Raises ArgumentError if an array does not fit, and KernelError if the kernel refuses the call. If a tensor requires a
        gradient, the backward pass raises GradientError; with `out` the call does.
        """
        if named or len(arrays) != len(self._names):
            arrays = self._in_order(arrays, named)
        if sizes:
            self._known(sizes)
        if q0 or k0 or head0:
            for name, value in zip(("q0", "k0", "head0"), (q0, k0, head0)):
                if not hasattr(value, "__index__") or not -1 << 63 <= value < 1 << 63:
                    raise ArgumentError(self.name, name, None, "a whole number", repr(value))
                if value and name not in self.origins:
                    raise ArgumentError(self.name, name, None, "0, as the layer is no part: its spec has no 'part … from "
                                        f"{name}'", repr(value))
        if "torch" in sys.modules:
            return self._call_beside_torch(arrays, out, threads, sizes, q0, k0, head0, _prepared)
        return self._call(arrays, out, threads, sizes, q0, k0, head0, _prepared)

    def _call_beside_torch(self, arrays: Tuple[Any, ...], out: Any, *rest: Any) -> Any:
        """Calls the layer if an array may be a tensor: also handles PyTorch's autocast, tangents and gradients."""
        compiler = getattr(sys.modules["torch"], "compiler", None)
        if compiler is not None and compiler.is_compiling():
            raise SkewerError(f"kernel '{self.name}': a Layer cannot be traced; in programs of torch.compile and torch.export it is "
                              "skewer.torch.op(layer), or skewer.torch.Module(layer)")
        refuse_tangents(self.name, self._names, arrays)
        try:
            return self._call(arrays, out, *rest)
        except GradientError:
            if out is not None:
                raise
            from ._torch_calls import autocast, without_backward
            return without_backward(lambda *given: self._call(given, None, *rest), self.name, self._names,
                                    autocast(self, arrays) or arrays)
        except ArgumentError:
            from ._torch_calls import autocast
            cast = autocast(self, arrays) if out is None else None
            if cast is None:
                raise
            return self._call_beside_torch(cast, None, *rest)

    def _call(self, arrays: Tuple[Any, ...], out: Any, threads: Optional[int], sizes: Optional[Mapping[str, int]], q0: int,
              k0: int, head0: int, _prepared: Optional["_core.Prepared"]) -> Any:
        outputs = None if out is None else tuple(out) if isinstance(out, (tuple, list)) else (out,)
        if self._kernel.is_for_gpu and arrays and getattr(arrays[0], "is_cuda", False):
            result = self._call_on_gpu(arrays, outputs, sizes, q0, k0, head0)
            return result if out is None else out
        if outputs is not None:
            self._kernel.call(arrays, outputs, self.threads if threads is None else threads, None, sizes, q0, k0, head0,
                              _prepared)
            return out
        first = arrays[0] if arrays else None
        if type(first) is np.ndarray or not hasattr(first, "__dlpack__"):
            return self._kernel.call(arrays, None, self.threads if threads is None else threads, self._new_numpy, sizes,
                                     q0, k0, head0, _prepared)
        allocate, finish = self._library_of(first)
        result = self._kernel.call(arrays, None, self.threads if threads is None else threads, allocate, sizes, q0, k0,
                                   head0, _prepared)
        return tuple(map(finish, result)) if isinstance(result, tuple) else finish(result)

    def _call_on_gpu(self, arrays: Sequence[Any], outputs: Optional[Tuple[Any, ...]], sizes: Optional[Mapping[str, int]],
                     q0: int, k0: int, head0: int) -> Any:
        from ._gpu import call
        return call(self._kernel, self.name, [argument[:2] for argument in self.arguments], [result.type for result in self.results],
                    arrays, outputs, sizes, q0, k0, head0)

    @property
    def code(self) -> str:
        """The code that calls run: its target and instructions, such as `emeraldrapids/amx`, of a kernel with several codes;
        otherwise the name of its target."""
        return self._kernel.code or self._target

    @property
    def constants(self) -> List[str]:
        """The operands that the spec calls `const`: they are the same at every call."""
        return [entry["name"] for entry in self.manifest["inputs"] if entry.get("const")]

    def prepare(self, /, *, threads: Optional[int] = None, sizes: Optional[Mapping[str, int]] = None,
                **constants: Any) -> "Prepared":
        """Returns the layer with its `const` operands. It makes everything that they alone determine now (packed weights and
        tables), and its calls take the other operands. For an operand whose shape has a run-time length, nothing can be made
        before the call; give such lengths in `sizes` to check the shapes now."""
        if sizes:
            self._known(sizes)
        return Prepared(self, constants, self.threads if threads is None else threads, sizes)

    def reference(self, /, *arrays: Any, sizes: Optional[Mapping[str, int]] = None, q0: int = 0, k0: int = 0, head0: int = 0,
                  **named: Any) -> Any:
        """Returns the results in float64, computed from the layer's definition, as NumPy's arrays. `skewer run` compares with
        the same reference. The operands are those of a call. It computes each element by itself, which suits small layers.

        Raises ArgumentError if an array does not fit, and SkewerError for a layer whose text is not known.
        """
        arrays = self._in_order(arrays, named)
        _, files = self._judge(arrays, sizes, (q0, k0, head0), None, 0)
        results = tuple(np.load(io.BytesIO(data)) for data in files.values())
        return results[0] if len(results) == 1 else results

    def check(self, /, *arrays: Any, rows: int = 0, seed: int = 1, threads: Optional[int] = None,
              sizes: Optional[Mapping[str, int]] = None, q0: int = 0, k0: int = 0, head0: int = 0, **named: Any) -> Check:
        """Computes the layer and compares it with the float64 reference, as `skewer run` does. The result is true if the error is
        within the tolerance that follows from the layer's own roundings. Without operands it takes those of
        `example(seed, **sizes)`. `rows` is the number of rows to compare; 0 means as many as take about a second.

        >>> assert layer.check(q=q, k=k, v=v, table=table)
        """
        if not arrays and not named:
            arrays = tuple(self.example(seed=seed, **(sizes or {})).values())
        arrays = self._in_order(arrays, named)
        given = [self._numpy_of(argument, array) for argument, array in zip(self.arguments, arrays)]
        made = self._call(tuple(given), None, threads, sizes, q0, k0, head0, None)
        text, _ = self._judge(given, sizes, (q0, k0, head0), list(made) if isinstance(made, tuple) else [made], rows)
        results = made if isinstance(made, tuple) else (made,)
        return Check(self.name, tuple(Compared(**{field: one[field] for field in Compared._fields if field in one},
                                               not_finite=_not_finite(result)) for one, result in zip(json.loads(text), results)))

    def _judge(self, arrays: Sequence[Any], sizes: Optional[Mapping[str, int]], origins: Tuple[int, int, int],
               results: Optional[List[np.ndarray]], rows: int) -> Tuple[str, Dict[str, bytes]]:
        from ._compile import _answered
        source = self._spec()
        if sizes:
            self._known(sizes)
        operands = [self._numpy_of(argument, array) for argument, array in zip(self.arguments, arrays)]
        status, messages, diagnostics, text, files = _core.judge(
            source.name, source.text.encode("utf-8", "surrogateescape"), source.parameters, self.name,
            [f"{name}={value}" for name, value in (sizes or {}).items()], operands, list(origins), results, rows)
        try:
            _answered(status, messages, diagnostics, self.name)
        except CompileError as error:
            wrong = re.search(r"'(\w+)': expected (.*), found (.*)$", error.diagnostics[0].text)
            if wrong is None:
                raise
            raise ArgumentError(self.name, wrong[1], None, wrong[2], wrong[3]) from None
        return text, files

    def _numpy_of(self, argument: Argument, array: Any) -> np.ndarray:
        """Returns an operand as a row-major NumPy array of the spec's type; for bf16 and f8e4m3, the bits."""
        if hasattr(array, "detach"):
            array = array.detach().cpu().contiguous()
            torch, kind = sys.modules["torch"], str(array.dtype)
            array = (array.view(torch.int16) if "bfloat16" in kind else array.view(torch.uint8) if "e4m3fn" in kind and
                     "uz" not in kind else array).numpy()
            if argument.type == "bf16" and array.dtype == np.int16:
                array = array.view(np.uint16)
        array = np.asarray(array, order="C")
        if array.dtype.name in ("bfloat16", "float8_e4m3fn"):
            array = array.view(np.uint16 if array.dtype.name == "bfloat16" else np.uint8)
        wanted = np.dtype(_NUMPY_TYPES[argument.type])
        if array.dtype.name in ("int64", "bool") and argument.type in ("i32", "i8"):
            array = array.astype(wanted)
        if array.dtype != wanted:
            raise ArgumentError(self.name, argument.name, None, f"elements of type {wanted}", str(array.dtype))
        return array

    def _in_order(self, arrays: Tuple[Any, ...], named: Dict[str, Any]) -> Tuple[Any, ...]:
        if len(arrays) > len(self._names):
            raise ArgumentError(self.name, "arrays", None, f"at most {len(self._names)}", str(len(arrays)))
        for name in named:
            if name not in self._names:
                near = difflib.get_close_matches(name, self._names, 1)
                hint = f" (a run-time size is given by sizes={{'{name}': …}})" if name in self.sizes else \
                    f" (did you mean '{near[0]}'?)" if near else ""
                raise ArgumentError(self.name, name, None, "one array for each operand", f"no operand of this name{hint}; the "
                                    "operands are " + (", ".join(self._names) or "none"))
        ordered = list(arrays)
        for name in self._names[len(arrays):]:
            if name not in named:
                why = f"none; `{name}` is a keyword of the call, so this operand is given in the spec's order" \
                    if name in _OF_THE_CALL else "none; the operands are " + ", ".join(self._names)
                raise ArgumentError(self.name, name, None, "an array", why)
            ordered.append(named.pop(name))
        for name in named:
            raise ArgumentError(self.name, name, None, "one array for each operand", "it is given twice")
        return tuple(ordered)

    def _leading(self) -> Tuple[List[bool], bool]:
        """Returns which operands have the first run-time size as their first axis and nowhere else, and whether all results
        have. Along that axis a layer repeats the same computation."""
        names = list(self.sizes)

        def leads(argument: Argument) -> bool:
            return bool(names and argument.shape and argument.shape[0] == names[0] and
                        all(names[0] not in str(extent) for extent in argument.shape[1:]))

        bounded = bool(names) and self.sizes[names[0]] is not None
        return [leads(argument) and not bounded for argument in self.arguments], \
            all(leads(result) and not bounded for result in self.results)

    def _known(self, sizes: Mapping[str, int]) -> None:
        """Raises an error for run-time sizes that the layer does not have."""
        for name, value in sizes.items():
            if name not in self.sizes:
                raise ArgumentError(self.name, "sizes", name, "a run-time size: " + (", ".join(self.sizes) or
                                                                                    "there is none"), f"'{name}'")
            if not hasattr(value, "__index__") or not 0 < value < 1 << 63:
                raise ArgumentError(self.name, "sizes", name, "a whole number from 1 on", repr(value))

    def _new_numpy(self, number: int, shape: Tuple[int, ...]) -> np.ndarray:
        return np.empty(shape, _NUMPY_TYPES[self.results[number].type])

    def _library_of(self, array: Any) -> Tuple[Callable[[int, Tuple[int, ...]], Any], Callable[[Any], Any]]:
        """Returns a function that makes a result of the array's library, and one that finishes it after the call."""
        library = type(array).__module__.partition(".")[0]
        torch = sys.modules.get("torch")
        if torch is not None and isinstance(array, torch.Tensor):  # a subclass of the user's too
            return (lambda number, shape: torch.empty(  # the default device may differ
                shape, dtype=getattr(torch, _FRAMEWORK_TYPES[self.results[number].type]), device="cpu")), lambda result: result
        if library in ("jax", "jaxlib"):
            import jax.numpy

            # JAX's arrays cannot be written to. A new one takes over NumPy's memory.
            def finish(result: Any) -> Any:
                if result.dtype == np.uint16:
                    result = result.view(jax.numpy.bfloat16)
                return jax.numpy.asarray(result)

            return self._new_numpy, finish
        return self._new_numpy, lambda result: result

    def explain(self, /, json: bool = False, **sizes: int) -> Text:
        """Returns what `skewer explain` prints about the layer, or its JSON. Keywords are run-time sizes."""
        from ._compile import ask
        return Text(ask("explain-json" if json else "explain", self._spec(), self._target.partition(",")[0], self.name,
                        sizes)[0])

    def plot(self, /, head: int = 0, **sizes: int) -> Plot:
        """Returns the picture of `skewer plot`: the rows that positions read, the scores of one head, and tables. It is SVG text,
        which notebooks show. Keywords are run-time sizes."""
        from ._compile import ask
        return Plot(ask("plot", self._spec(), "host", self.name, sizes, head=head)[0])

    def report(self, path: Union[str, "os.PathLike[str]", None] = None, /, head: int = 0, **sizes: int) -> Page:
        """Returns the page of `skewer report`: the text, terms, skew diagrams to point at, masks, scores, roofline and schedule.
        It is HTML text, which notebooks show. With a `path` it is written there too. Keywords are run-time sizes."""
        from ._compile import ask
        page = Page(ask("report", self._spec(), self._target.partition(",")[0], self.name, sizes, head=head)[0])
        if path is not None:
            with open(path, "w", encoding="utf-8") as file:
                file.write(page)
        return page

    def _spec(self) -> Source:
        if self._source is None:
            raise SkewerError(f"kernel '{self.name}' was loaded from compiled objects, and its text is not known; "
                              "compile it from the spec")
        return self._source

    def example(self, /, seed: int = 1, **sizes: int) -> Dict[str, Any]:
        """Returns NumPy's arrays for all operands by name: normal numbers, numbers as the spec declares them by `~ 1 + 0.1` or
        `~ 0.5..2`, or indices within their ranges. A size that is not given is 1, or its bound."""
        self._known(sizes)
        generator = np.random.default_rng(seed)
        known = [sizes.get(name, bound or 1) for name, bound in self.sizes.items()]

        def value(extent: Any) -> int:
            return extent if isinstance(extent, int) else known[extent[0]] if isinstance(extent[0], int) else extent[0](*known)

        # For indices without a range, as in the driver: the layer's number of queries.
        largest = max([1] + [extent for extent in self.results[0].shape[:-1] if isinstance(extent, int)])
        arrays = {}
        for argument, entry in zip(self.arguments, self.manifest["inputs"]):
            _, _, extents, ends = self._described(argument)
            low, high = (value(end) for end in ends or (0, largest))
            if low > high:
                raise ArgumentError(self.name, argument.name, None, "sizes that leave indices in {}..{}".format(*argument.range or ()),
                                    f"{low}..{high}")
            numbers = _numbers(generator, [value(extent) for extent in extents], argument, entry, (low, high))
            if argument.type == "bf16":
                numbers = numbers.view(np.uint32) >> 16
            if argument.type == "f8e4m3":
                numbers = _e4m3_bits(numbers)
            arrays[argument.name] = numbers.astype(_NUMPY_TYPES[argument.type])
        return arrays

    def bench(self, /, seconds: float = 1.0, threads: Optional[int] = None, **sizes: int) -> Bench:
        """Times calls on seeded operands for about `seconds`. Keywords are run-time sizes."""
        threads = self.threads if threads is None else threads
        arrays = tuple(self.example(**sizes).values())
        result = self(*arrays, threads=threads)
        out = result if isinstance(result, tuple) else (result,)
        times: List[float] = []
        end = time.perf_counter() + seconds
        while not times or time.perf_counter() < end:
            start = time.perf_counter()
            self(*arrays, out=out, threads=threads)
            times.append(time.perf_counter() - start)
        return Bench(float(np.median(times)), min(times), len(times), self._flops(sizes), self.name, threads)

    def _flops(self, sizes: Mapping[str, int]) -> Optional[float]:
        """Returns the useful FLOPs of a call; None if they depend on sizes and the spec is not known."""
        if not self.sizes:
            return self.manifest.get("details", {}).get("useful_flops")
        if self._source is None:
            return None
        known = json.loads(self.explain(json=True, **sizes))["kernels"][0]
        # For a layer with lengths, all other figures of the explanation are those of their bounds.
        return known.get("compiled_for_lengths", known)["useful_flops"]

    def __reduce__(self) -> Tuple[Any, ...]:
        # Pickles the compiled objects, so that another process need not compile.
        return _unpickled, (self.name, self.manifest, self._objects, self._shared_object, self.threads, self._source,
                            self._target, self.diagnostics)

    def __copy__(self) -> "Layer":
        return self  # calls cannot see a state of the kernel

    def __deepcopy__(self, _: Any) -> "Layer":
        return self

    def __repr__(self) -> str:
        def text(argument: Argument) -> str:
            return f"{argument.name}: {argument.type}[{', '.join(map(str, argument.shape))}]"

        return f"<skewer layer {self.name}({', '.join(map(text, self.arguments))}) -> " \
               f"{', '.join(map(text, self.results))}>"

    def _repr_html_(self) -> str:
        return f"<code>{html.escape(repr(self))}</code>"


def _unpickled(name: str, manifest: Dict[str, Any], objects: List[bytes], shared_object: str, threads: int,
               source: Optional[Source], target: str, diagnostics: List[Diagnostic]) -> Layer:
    layer = Layer(name, manifest, objects, shared_object, threads)
    layer._source, layer._target, layer.diagnostics = source, target, diagnostics
    return layer


class Prepared:
    """A layer and its `const` operands. Call it with the others, in the spec's order or by name. Its results have the same
    bits as the layer's. It keeps the arrays and reads them; if one of them changes, prepare the layer again.

    `bytes` is the size of the prepared data; 0 if nothing follows from `const` operands alone.
    """

    def __init__(self, layer: Layer, constants: Mapping[str, Any], threads: int, sizes: Optional[Mapping[str, int]] = None):
        expected = layer.constants
        for name in [*constants, *expected]:
            if name not in constants or name not in expected:
                raise ArgumentError(layer.name, name, None, "the const operands: " + (", ".join(expected) or "none"),
                                    "none" if name in expected else "an operand that is not const"
                                    if name in layer._names else "no operand of this name")
        self.layer = layer
        self._threads, self._sizes = threads, dict(sizes or {})
        self._constants = dict(constants)
        self._names = [name for name in layer._names if name not in constants]
        self._made = None
        self._check_lengths()
        if expected:
            self._made = layer._kernel.prepare(tuple(constants.get(name) for name in layer._names), threads, sizes)

    def _check_lengths(self) -> None:
        """Raises an error for a constant whose shape fits no run-time length; the length itself is known at the call."""
        bounds = list(self.layer.sizes.items())
        for argument in self.layer.arguments:
            shape = getattr(self._constants.get(argument.name), "shape", ())
            for axis, (extent, found) in enumerate(zip(self.layer._described(argument)[2], shape)):
                if not isinstance(extent, tuple) or isinstance(extent[0], int) or len(extent[2]) != 1:
                    continue
                function, text, (place,) = extent
                name, bound = bounds[place]
                if bound is not None and name not in self._sizes and \
                        all(function(*[length] * len(bounds)) != found for length in range(1, bound + 1)):
                    raise ArgumentError(self.layer.name, argument.name, axis, f"{text} for a '{name}' from 1 to {bound}", str(found))

    @property
    def bytes(self) -> int:
        """The size of the prepared data."""
        return self._made.bytes if self._made else 0

    def __reduce__(self) -> Tuple[Any, ...]:
        # Another process, or a copy, prepares the layer again from its arrays.
        return Prepared, (self.layer, self._constants, self._threads, self._sizes)

    def __repr__(self) -> str:
        return f"<skewer layer {self.layer.name}({', '.join(self._names)}), prepared with {', '.join(self._constants) or 'nothing'}: " \
            f"{self.bytes} bytes>"

    def __call__(self, /, *arrays: Any, **named: Any) -> Any:
        """Computes the layer without its const operands. `out`, `threads`, `sizes`, `q0`, `k0` and `head0` are the layer's."""
        if len(arrays) > len(self._names):
            raise ArgumentError(self.layer.name, "arrays", None, f"at most {len(self._names)}", str(len(arrays)))
        for name in named:
            if name in self._constants or name in self._names[:len(arrays)]:
                raise ArgumentError(self.layer.name, name, None, "one array for each operand", "it is given twice")
        return self.layer(**dict(zip(self._names, arrays)), **self._constants, **named, _prepared=self._made)
