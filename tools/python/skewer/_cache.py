"""The cache of compiled kernels on disk: small files, which appear whole or not at all. The least recently used go first.

The name of an entry is a hash over everything that its bytes depend on: the spec's text, the parameters, the targets, the
processor if "host" is one of them, and the compiler's build. Any number of processes may use the folder at once, because a
file is written under a name of its own and then renamed. A damaged entry counts as missing. A file that a killed process
left unfinished is removed when it is an hour old; a younger one may belong to a process that is about to rename it.
"""

import hashlib
import io
import os
import re
import secrets
import threading
import time
import zipfile
from pathlib import Path
from typing import Dict, List, Optional, Sequence

from ._core import library_build
from ._errors import CacheWarning, warn

Files = Dict[str, bytes]

_SUFFIX = ".kernels"
_FORMAT = "2"  # the format of an entry: 2 added the compiler's warnings
_PART = ".part"  # the suffix of a file that is being written
_DEFAULT_BYTES = 256 << 20
_ABANDONED_SECONDS = 3600  # writing takes milliseconds; an hour covers disks that stall and clocks that differ
_memory: Dict[str, Files] = {}
_lock = threading.Lock()
_warned = False


def folder() -> Path:
    """Returns $SKEWER_CACHE, or skewer in the user's cache folder. Raises OSError if the user has no such folder."""
    chosen = os.environ.get("SKEWER_CACHE")
    if chosen:
        return Path(chosen)
    base = os.environ.get("XDG_CACHE_HOME")
    # The base directory specification says to ignore a relative path.
    if base and os.path.isabs(base):
        return Path(base) / "skewer"
    try:
        return Path.home() / ".cache" / "skewer"
    except RuntimeError as error:  # a container's user without a name and without $HOME
        raise OSError(f"{error}; set SKEWER_CACHE") from error


def is_off() -> bool:
    """Returns whether $SKEWER_CACHE turns the cache off."""
    return os.environ.get("SKEWER_CACHE") == os.devnull


def most_bytes() -> int:
    """Returns the limit $SKEWER_CACHE_BYTES (100000, 64K, 256M, 256MB, 1 GiB), or 256 MiB. Units are powers of 1024."""
    text = os.environ.get("SKEWER_CACHE_BYTES", "")
    found = re.fullmatch(r"\s*(\d+)\s*([KMGT]?)(i?B)?\s*", text, re.IGNORECASE)
    if found:
        return int(found[1]) << (10 * " KMGT".index(found[2].upper() or " "))
    if text.strip():
        _warn(f"SKEWER_CACHE_BYTES: expected a number of bytes such as 100000 or 256M, found {text!r}; the folder may hold 256 MiB")
    return _DEFAULT_BYTES


def _processor() -> str:
    """Returns a text that differs between processors: machines that share the folder have different targets "host"."""
    try:
        with open("/proc/cpuinfo", encoding="ascii", errors="replace") as file:
            wanted = ("model name", "cpu family", "model\t", "flags", "cache size")
            return "".join(line for line in file.read().split("\n\n")[0].splitlines(True) if line.startswith(wanted))
    except OSError:
        return ""


def _machines(target: str) -> List[str]:
    """Returns the texts of the machine files among the targets (docs/machines.md)."""
    texts = []
    for name in target.split(","):
        if name.endswith(".json"):
            try:
                texts.append(Path(name).read_bytes().decode("utf-8", "surrogateescape"))
            except OSError:
                pass  # the compiler reports it
    return texts


def key_of(name: str, text: str, parameters: Sequence[str], target: str) -> str:
    """Returns the name of an entry."""
    digest = hashlib.sha256()
    machines = _machines(target)
    # A machine file may describe this processor too.
    processor = _processor() if machines or "host" in target else ""
    for part in (_FORMAT, library_build(), name, text, *parameters, "", target, processor, *machines):
        try:
            encoded = part.encode("utf-8", "surrogateescape")
        except UnicodeEncodeError:
            encoded = part.encode("utf-8", "surrogatepass")
        digest.update(len(encoded).to_bytes(8, "little") + encoded)
    return digest.hexdigest()


def _warn(text: str) -> None:
    global _warned
    if not _warned:
        _warned = True
        warn(CacheWarning(text))


def _packed(files: Files) -> bytes:
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w", zipfile.ZIP_STORED) as archive:
        for name, data in files.items():
            archive.writestr(zipfile.ZipInfo(name), data)  # without the time, so that the same files give the same bytes
    data = stream.getvalue()
    return hashlib.sha256(data).digest() + data


def _unpacked(data: bytes) -> Optional[Files]:
    if hashlib.sha256(data[32:]).digest() != data[:32]:
        return None
    with zipfile.ZipFile(io.BytesIO(data[32:])) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


def find(key: str) -> Optional[Files]:
    """Returns the files of an entry; None if it is missing or damaged."""
    with _lock:
        if key in _memory:
            return _memory[key]
    path = None
    try:
        path = folder() / (key + _SUFFIX)
        files = _unpacked(path.read_bytes())
    except PermissionError as error:
        if path is not None and os.path.exists(path):
            _warn(f"a compiled kernel that is there cannot be read, and is compiled again: {error}")
        return None
    except OSError:
        return None  # missing, or removed while it was read; `keep` warns of a bad folder
    if files is not None:
        try:
            os.utime(path)  # marks it as used
        except OSError:
            pass  # the folder is another user's, or read-only: its entries are still valid
    return files


def keep(key: str, files: Files) -> None:
    """Adds an entry; keeps it in memory if the folder cannot be written."""
    temporary = None
    try:
        where = folder()
        where.mkdir(parents=True, exist_ok=True)
        data = _packed(files)
        name = where / (secrets.token_hex(8) + _PART)
        # The mode follows the umask, as for other files of this user.
        descriptor = os.open(name, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o666)
        temporary = name
        with os.fdopen(descriptor, "wb") as file:
            file.write(data)
        os.replace(temporary, where / (key + _SUFFIX))
        temporary = None
        _evict(where, key + _SUFFIX)
    except OSError as error:
        with _lock:
            _memory[key] = files
        _warn(f"compiled kernels are kept in memory only: {error}")
    finally:
        if temporary is not None:
            try:
                os.unlink(temporary)
            except OSError:
                pass


def _evict(where: Path, newest: str) -> None:
    """Removes abandoned parts, and then the least recently used entries until the rest is small enough. Keeps the newest."""
    entries = []
    abandoned = time.time() - _ABANDONED_SECONDS
    with os.scandir(where) as found:
        for entry in found:
            try:
                if entry.name.endswith(_SUFFIX):
                    status = entry.stat()
                    entries.append((status.st_mtime, status.st_size, entry.name))
                elif entry.name.endswith(_PART) and entry.stat().st_mtime < abandoned:
                    os.unlink(entry.path)
            except OSError:
                pass  # another process removed it first
    total, limit = sum(size for _, size, _ in entries), most_bytes()
    for _, size, name in sorted(entries):
        if total <= limit:
            break
        if name == newest:
            continue
        try:
            os.unlink(where / name)
            total -= size
        except OSError:
            pass
