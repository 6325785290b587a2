"""From a spec, or from compiled objects, to layers."""

import json
import os
import re
from pathlib import Path
from typing import Any, Dict, List, Mapping, Optional, Tuple, Union

from . import _cache, _core
from ._errors import ArgumentError, CompileError, Diagnostic, LoadError
from ._layer import Layer, Source

ABI_VERSION = 1  # of docs/abi.md


def ask(what: str, source: Source, target: str = "host", kernel: str = "", sizes: Mapping[str, int] = {},
        emit: str = "", head: int = 0) -> Tuple[str, Dict[str, bytes], List[Diagnostic]]:
    """One question to the compiler: its text, files and warnings. Raises CompileError."""
    numbers = [f"{name}={value}" for name, value in sizes.items()]
    if not hasattr(head, "__index__") or head < 0:
        raise ArgumentError(kernel, "head", None, "a whole number from 0 on", repr(head))
    # Bytes that are no text came from a file (_source_of), and go to the compiler as they were there.
    try:
        spec = source.text.encode("utf-8", "surrogateescape")
    except UnicodeEncodeError:  # halves of a pair, which no file holds
        spec = source.text.encode("utf-8", "surrogatepass")
    status, messages, diagnostics, text, files = _core.ask(what, source.name, spec, source.parameters, target, kernel,
                                                           numbers, emit, head)
    found = [Diagnostic(*diagnostic) for diagnostic in diagnostics]
    if status:
        raise CompileError(messages, found)
    return text, files, found


def compile(spec: Union[str, "os.PathLike[str]"], *, target: str = "host", kernel: Optional[str] = None, threads: int = 1,
            cache: bool = True, parameters: Optional[Mapping[str, Union[int, float]]] = None,
            **more: Union[int, float]) -> Layer:
    """Compiles a layer.

    `spec` is the path of an .attn file, the text itself (whatever has more than one line or a brace), or a folder with the
    objects that `skewer compile` wrote. `target` is as in `skewer compile --target`; `kernel` chooses among several in one
    spec; `threads` is what calls use unless they say otherwise. Further keywords, or `parameters` where a name is taken,
    are the spec's parameters. With `cache`, kernels are kept on disk (docs/python.md).

    Raises CompileError with diagnostics, LoadError for a folder without usable objects.
    """
    if isinstance(spec, (str, os.PathLike)) and not _is_text(spec) and os.path.isdir(spec):
        if parameters or more:
            raise LoadError(f"'{os.fspath(spec)}' is a folder of compiled objects: they take no parameters")
        return load(spec, kernel=kernel, threads=threads)
    source = _source_of(spec, {**(parameters or {}), **more})
    key = _cache.key_of(source.name, source.text, source.parameters, target)
    files = _cache.find(key) if cache else None
    diagnostics: List[Diagnostic] = []
    if files is None:
        _, files, diagnostics = ask("compile", source, target)
        if cache:
            _cache.keep(key, files)
    layer = _layer_from(files, kernel, source.name, threads)
    layer._source, layer._target, layer.diagnostics = source, target, diagnostics
    return layer


def load(folder: Union[str, "os.PathLike[str]"], *, kernel: Optional[str] = None, threads: int = 1) -> Layer:
    """A layer from what `skewer compile` wrote into a folder: NAME.json with NAME.so, or with NAME.o and, of several
    processors, NAME.PROCESSOR.o."""
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
    try:
        # What is no text the compiler refuses, with the byte and its place.
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
    # Absolute: dlopen looks for a name without a slash elsewhere.
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
