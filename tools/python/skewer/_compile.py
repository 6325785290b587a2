"""Makes layers from a spec, or from compiled objects."""

import json
import os
import re
from pathlib import Path
from typing import Any, Dict, List, Mapping, NamedTuple, Optional, Tuple, Union

from . import _cache, _core
from ._errors import ArgumentError, CompileError, CompileWarning, Diagnostic, LoadError, warn
from ._layer import Layer, Source, Text

ABI_VERSION = 1  # the version of docs/abi.md
_DIAGNOSTICS = "diagnostics"  # the file of an entry that has the compiler's warnings
_FLOATS = {"f32": "f32", "f16": "f16", "bf16": "bf16", "float32": "f32", "float16": "f16", "bfloat16": "bf16"}
_FLOAT_OF_TENSORS = re.compile(r"\b(f32|f16|bf16)(?=\s*\[)")
# The names on the command line of the things that are keywords here.
_OPTIONS = ((r"skewer run … --size (\w+)=(\S+)", "by the shapes of the arrays"), (r"^-D (\w+)", r"parameter \1"),
            (r"-D cannot give", "a parameter cannot give"), (r"^--target\b", "target"), (r"^--size (\w+)", r"size \1"),
            (r"'skewer schemes' lists them", "skewer.schemes() lists them"))


def ask(what: str, source: Source, target: str = "host", kernel: str = "", sizes: Mapping[str, int] = {},
        emit: str = "", head: int = 0) -> Tuple[str, Dict[str, bytes], List[Diagnostic], str]:
    """Asks the compiler one question. Returns its text, its files, its warnings, and the warnings as the command line shows
    them. Raises CompileError."""
    numbers = [f"{name}={value}" for name, value in sizes.items()]
    if not hasattr(head, "__index__") or head < 0:
        raise ArgumentError(kernel, "head", None, "a whole number from 0 on", repr(head))
    # Bytes that are no text came from a file (_source_of). The compiler gets them as they are in the file.
    try:
        spec = source.text.encode("utf-8", "surrogateescape")
    except UnicodeEncodeError:  # half of a surrogate pair, which no file can hold
        spec = source.text.encode("utf-8", "surrogatepass")
    status, messages, diagnostics, text, files = _core.ask(what, source.name, spec, source.parameters, target, kernel,
                                                           numbers, emit, head)
    return text, files, _answered(status, messages, diagnostics, kernel), messages


def _answered(status: int, messages: str, diagnostics: List[Any], kernel: str) -> List[Diagnostic]:
    """Returns the diagnostics of an answer in the words of this package; raises the exception of a failed one."""
    found = []
    for one in map(Diagnostic._make, diagnostics):
        text = one.text
        for option, keyword in _OPTIONS:
            text = re.sub(option, keyword, text)
        messages = messages.replace(one.text, text)
        found.append(one._replace(text=text))
    if not status:
        return found
    head = re.search(r"--head (-?\d+): expected (.*)$", found[0].text) if found else None
    if head:
        raise ArgumentError(kernel, "head", None, head[2], head[1])
    raise CompileError(messages, found)


def compile(spec: Union[str, "os.PathLike[str]"], *, target: str = "host", kernel: Optional[str] = None, threads: int = 1,
            dtype: Any = None, cache: bool = True, parameters: Optional[Mapping[str, Union[int, float]]] = None,
            **more: Union[int, float]) -> Layer:
    """Compiles a layer.

    `spec` is the path of an .attn file, the text itself (anything with several lines or a brace), or a folder with the
    objects that `skewer compile` wrote. `target` is as in `skewer compile --target`. `kernel` chooses one of several kernels
    in a spec. `threads` is the number of threads of a call that does not give one. `dtype` ("bf16", torch.bfloat16,
    numpy.float16) replaces the type of real numbers that the spec names first, for every tensor of that type. Further
    keywords are the spec's parameters; `parameters` takes those whose names are taken here. With `cache`, kernels are kept
    on disk (docs/python.md).

    Raises CompileError with diagnostics, and LoadError for a folder without usable objects. A warning of the compiler is a
    CompileWarning.
    """
    if not isinstance(threads, int) or not 1 <= threads <= 1024:
        raise ArgumentError("compile", "threads", None, "1 to 1024", repr(threads))
    if isinstance(spec, bytes) or not isinstance(spec, (str, os.PathLike)):
        raise ArgumentError("compile", "spec", None, "the path of an .attn file, or its text as str", f"an object of type "
                            f"{type(spec).__name__}" + ("; text.decode() makes it one" if isinstance(spec, bytes) else ""))
    if isinstance(spec, (str, os.PathLike)) and not _is_text(spec) and os.path.isdir(spec):
        if parameters or more or dtype is not None:
            raise LoadError(f"'{os.fspath(spec)}' is a folder of compiled objects: they take no parameters, and no dtype")
        return load(spec, kernel=kernel, threads=threads)
    source = _source_of(spec, {**(parameters or {}), **more})
    if dtype is not None:
        source = source._replace(text=_with_floats(source.text, dtype))
    return compile_source(source, target, kernel, threads, cache)


def compile_source(source: Source, target: str, kernel: Optional[str], threads: int, cache: bool = True) -> Layer:
    """Returns the layer of a spec, compiled now or taken from the cache."""
    cache = cache and not _cache.is_off()
    key = _cache.key_of(source.name, source.text, source.parameters, target)
    files = _cache.find(key) if cache else None
    if files is None:
        _, files, found, messages = ask("compile", source, target)
        files[_DIAGNOSTICS] = json.dumps([messages, found]).encode()
        if cache:
            _cache.keep(key, files)
    layer = _layer_from(files, kernel, source.name, threads)
    messages, found = json.loads(files[_DIAGNOSTICS])
    layer.diagnostics = [Diagnostic(*one) for one in found]
    layer._source, layer._target = source, target
    if any(one.severity == "warning" for one in layer.diagnostics):
        warn(CompileWarning(messages, layer.diagnostics))
    return layer


def _with_floats(text: str, dtype: Any) -> str:
    """Returns the text with `dtype` in place of the type of real numbers that its first kernel names first, for all tensors."""
    name = getattr(dtype, "__name__", None) or str(dtype).rpartition(".")[2]
    if name not in _FLOATS:
        raise ArgumentError("compile", "dtype", None, "f32, f16 or bf16, or what NumPy and PyTorch call them", repr(dtype))
    first = _FLOAT_OF_TENSORS.search(text, max(text.find("kernel"), 0))
    return text if first is None else re.sub(rf"\b{first[1]}(?=\s*\[)", _FLOATS[name], text)


def float_of(layer: Layer) -> Optional[str]:
    """Returns the type of real numbers that `dtype` would replace, such as "f32"; None if there is none, or no text."""
    source = layer._source
    first = _FLOAT_OF_TENSORS.search(source.text, max(source.text.find("kernel"), 0)) if source else None
    return first[1] if first else None


def with_float(layer: Layer, dtype: Any) -> Layer:
    """Returns the layer compiled for another type of real numbers. `float_of` must not be None for it."""
    source = layer._spec()
    return compile_source(source._replace(text=_with_floats(source.text, dtype)), layer._target, layer.name, layer.threads)


class Scheme(NamedTuple):
    """A built-in scheme: its name, its signature, and a line about its purpose."""

    name: str
    signature: str
    about: str


class Schemes(List[Scheme]):
    """The built-in schemes. It prints as a list of signatures, each with a line about it."""

    def __repr__(self) -> str:
        return "\n".join(f"{one.signature}\n    {one.about}" for one in self)


def schemes(name: Optional[str] = None) -> Union[Schemes, Text]:
    """Returns a `Scheme(name, signature, about)` for each built-in scheme that a spec may call; for a `name`, its source text."""
    status, messages, diagnostics, text, _ = _core.schemes(name or "", name is None)
    _answered(status, messages, diagnostics, "")
    if name is not None:
        return Text(text)
    return Schemes(Scheme(one["name"], one["signature"], one["about"]) for one in json.loads(text))


def refuse_amx(refused: bool = True) -> None:
    """Makes layers that are compiled or loaded from now on leave AMX alone: they ask the system for nothing, and run their code
    without its tiles. A program with small alternate signal stacks needs that."""
    _core.refuse_amx(refused)


def load(folder: Union[str, "os.PathLike[str]"], *, kernel: Optional[str] = None, threads: int = 1) -> Layer:
    """Returns a layer from the files that `skewer compile` wrote into a folder: NAME.json with NAME.so, or with NAME.o and,
    for several processors, NAME.PROCESSOR.o."""
    path = Path(folder)
    try:
        names = sorted(entry.name for entry in path.iterdir())
    except OSError as error:
        raise LoadError(f"'{path}' cannot be read: {error.strerror}") from error
    manifests = [name for name in names if name.endswith(".json")]
    wanted = [name for name in manifests if kernel is None or name == kernel + ".json"]
    stems = tuple(name[:-len("json")] for name in wanted)
    files = {name: (path / name).read_bytes() for name in names if name in wanted or name.endswith(".o") and
             name.startswith(stems)}
    return _layer_from(files, kernel, str(path), threads, folder=path)


def _is_text(spec: Union[str, "os.PathLike[str]"]) -> bool:
    return isinstance(spec, str) and ("\n" in spec or "{" in spec)


def _source_of(spec: Union[str, "os.PathLike[str]"], parameters: Mapping[str, Union[int, float]]) -> Source:
    texts = sorted(f"{name}={value}" for name, value in parameters.items())
    if _is_text(spec):
        return Source("layer.attn", str(spec), texts)
    path = os.fspath(spec)
    if not path:
        raise CompileError("error: expected the path of a spec, or its text, found an empty string",
                           [Diagnostic("", 0, 0, "error", "expected the path of a spec, or its text, found an empty string", "")])
    try:
        # The compiler refuses bytes that are no text, and names the byte and its place.
        text = Path(path).read_bytes().decode("utf-8", "surrogateescape")
    except OSError as error:
        what = f"{path}: error: cannot read the spec: {error.strerror}"
        raise CompileError(what, [Diagnostic(path, 0, 0, "error", f"cannot read the spec: {error.strerror}", "")]) \
            from error
    return Source(path, text, texts)


def _layer_from(files: Dict[str, bytes], kernel: Optional[str], where: str, threads: int,
                folder: Optional[Path] = None) -> Layer:
    names = [name[:-len(".json")] for name in files if name.endswith(".json")]
    if kernel is not None and kernel not in names or not names:
        raise LoadError(f"{where}: there is no kernel{'' if kernel is None else f' {kernel!r}'}"
                        f"{'; there are ' + ', '.join(names) if names else ''}")
    if kernel is None and len(names) > 1:
        raise LoadError(f"{where}: there are several kernels; choose one with kernel=: {', '.join(names)}")
    name = kernel or names[0]
    manifest = _manifest(files[name + ".json"], where, name)
    # Absolute, because dlopen searches other folders for a name without a slash.
    shared = os.path.abspath(folder / (name + ".so")) if folder and (folder / (name + ".so")).exists() else ""
    objects = [] if shared else [data for file, data in files.items()
                                 if re.fullmatch(re.escape(name) + r"(\.[^/]+)?\.o", file)]
    if not shared and not objects:
        raise LoadError(f"{where}: kernel '{name}' has a manifest and no object")
    return Layer(name, manifest, objects, shared, threads)


def _manifest(data: bytes, where: str, name: str) -> Dict[str, Any]:
    try:
        manifest = json.loads(data)
        version = manifest["abi_version"]
    except (ValueError, KeyError, TypeError) as error:
        raise LoadError(f"{where}: {name}.json is no manifest of Skewer's: {error}") from error
    if version != ABI_VERSION:
        raise LoadError(f"{where}: kernel '{name}' was compiled for version {version} of the C contract, and this "
                        f"package calls version {ABI_VERSION}; compile it again")
    return manifest
