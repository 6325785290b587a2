#!/usr/bin/env python3
"""Makes a wheel, after auditwheel's repair, run on an older glibc than the one of the machine that built it.

usage: manylinux.py WHEEL FOLDER [--glibc 2.28] [--libstdcxx 3.4.24]

A library asks for each function by a version: the one of the glibc that it was linked with. Most functions with a new version
existed before, under an old version (2.34 moved the functions of threads and dlopen into libc, 2.29 made exp and log faster).
The script removes the version of these, so that the loader takes whichever the machine has. The few functions that are really
new come from old_glibc.c, which travels with the wheel. Any other function is an error that names it.
"""
import argparse
import base64
import glob
import hashlib
import os
import re
import shutil
import struct
import subprocess
import sys
import tempfile
import zipfile

HERE = os.path.dirname(os.path.abspath(__file__))
SHIM = "libskewer-old-glibc.so"
# These are parts of libc since 2.34; before, they were libraries of their own.
BEFORE_2_34 = ("libpthread.so.0", "libdl.so.2", "librt.so.1")
DT_STRTAB, DT_SYMTAB, DT_VERSYM, DT_VERNEED, DT_VERNEEDNUM = 5, 6, 0x6FFFFFF0, 0x6FFFFFFE, 0x6FFFFFFF


def numbers(version):
    return tuple(int(part) for part in version.split("."))


def elf_hash(name):
    value = 0
    for byte in name.encode():
        value = (value << 4) + byte
        high = value & 0xF0000000
        value = (value ^ (high >> 24)) & ~high & 0xFFFFFFFF
    return value


class Elf:
    """A 64-bit little-endian object, with the versions that it needs of other libraries."""

    def __init__(self, path):
        self.path = path
        with open(path, "rb") as file:
            self.data = bytearray(file.read())
        start, size, count = struct.unpack_from("<Q", self.data, 32)[0], *struct.unpack_from("<HH", self.data, 54)
        self.segments = [struct.unpack_from("<IIQQQQQQ", self.data, start + n * size) for n in range(count)]
        self.tags = {}
        for kind, _, offset, _, _, length, _, _ in self.segments:
            if kind == 2:
                for at in range(offset, offset + length, 16):
                    tag, value = struct.unpack_from("<QQ", self.data, at)
                    self.tags.setdefault(tag, value)

    def offset(self, address):
        for kind, _, offset, virtual, _, length, _, _ in self.segments:
            if kind == 1 and virtual <= address < virtual + length:
                return address - virtual + offset
        raise ValueError(f"{self.path}: no memory at {address:#x}")

    def text(self, offset):
        begin = self.offset(self.tags[DT_STRTAB]) + offset
        return self.data[begin:self.data.index(0, begin)].decode()

    def versions(self):
        """Yields (library, version, its number among the symbols, place of the entry)."""
        if DT_VERNEED not in self.tags:
            return
        at = self.offset(self.tags[DT_VERNEED])
        for _ in range(self.tags[DT_VERNEEDNUM]):
            _, count, library, first, following = struct.unpack_from("<HHIII", self.data, at)
            entry = at + first
            for _ in range(count):
                _, _, number, name, step = struct.unpack_from("<IHHII", self.data, entry)
                yield self.text(library), self.text(name), number & 0x7FFF, entry
                entry += step
            at += following

    def symbols(self):
        """Yields (name, number of its version, place of that number)."""
        names, versions = self.offset(self.tags[DT_SYMTAB]), self.offset(self.tags[DT_VERSYM])
        for n in range(self.symbol_count()):
            name = struct.unpack_from("<I", self.data, names + 24 * n)[0]
            yield self.text(name), struct.unpack_from("<H", self.data, versions + 2 * n)[0] & 0x7FFF, versions + 2 * n

    def symbol_count(self):
        section, size, count = struct.unpack_from("<Q", self.data, 40)[0], *struct.unpack_from("<HH", self.data, 58)
        for n in range(count):
            _, kind, _, _, _, length, _, _, _, entry = struct.unpack_from("<IIQQQQIIQQ", self.data, section + n * size)
            if kind == 11:  # SHT_DYNSYM
                return length // entry
        raise ValueError(f"{self.path}: no table of dynamic symbols")

    def save(self):
        with open(self.path, "wb") as file:
            file.write(self.data)


def known_versions(library):
    """Returns the versions of each function of a library of this machine."""
    path = subprocess.run(["cc", f"-print-file-name={library}"], check=True, capture_output=True, text=True).stdout.strip()
    found = {}
    text = subprocess.run(["objdump", "-T", path], check=True, capture_output=True, text=True).stdout
    for match in re.finditer(r"\s\(?(GLIBC|GLIBCXX|CXXABI|GCC)_([\d.]+)\)?\s+(\S+)$", text, re.MULTILINE):
        found.setdefault(match[3], []).append((match[1], numbers(match[2])))
    return found


class Aging:
    """Removes the new versions from objects."""

    def __init__(self, limits):
        self.limits = limits
        self.known = {}
        self.missing = []  # functions that no older system has
        self.shim = set()
        for name in subprocess.run(["nm", "-D", "--defined-only", shim_of(tempfile.mkdtemp())], check=True, capture_output=True,
                                   text=True).stdout.split("\n"):
            if name:
                self.shim.add(name.split()[-1].partition("@")[0])

    def is_new(self, version):
        family, _, number = version.partition("_")
        return family in self.limits and re.fullmatch(r"[\d.]+", number) and numbers(number) > self.limits[family]

    def age(self, path):
        """Rewrites an object. Returns the libraries that it needs now in addition to those before."""
        elf = Elf(path)
        entries = list(elf.versions())
        new = {number: (library, version) for library, version, number, _ in entries if self.is_new(version)}
        if not new:
            return set()
        wanted = set()
        for name, number, place in list(elf.symbols()):
            if number not in new:
                continue
            library, version = new[number]
            if name in self.shim:
                wanted.add(SHIM)
            else:
                known = self.known.setdefault(library, known_versions(library))
                family = version.partition("_")[0]
                if not any(kind == family and value <= self.limits[family] for kind, value in known.get(name, [])):
                    self.missing.append(f"{os.path.basename(path)} needs {name} of {version} ({library})")
                if numbers(version.partition("_")[2]) >= (2, 34) and family == "GLIBC":
                    wanted.update(BEFORE_2_34)
            struct.pack_into("<H", elf.data, place, 1)  # no version
        for library in {library for library, _ in new.values()}:
            # The loader checks unused entries too: each becomes a copy of an entry that is needed anyway.
            old = [(version, place) for other, version, _, place in entries if other == library and not self.is_new(version)]
            if not old:
                sys.exit(f"{os.path.basename(path)} asks {library} for new versions alone")
            name = struct.unpack_from("<I", elf.data, old[0][1] + 8)[0]
            for other, version, _, place in entries:
                if other == library and self.is_new(version):
                    struct.pack_into("<I", elf.data, place, elf_hash(old[0][0]))
                    struct.pack_into("<I", elf.data, place + 8, name)
        elf.save()
        return wanted


def shim_of(folder):
    path = os.path.join(folder, SHIM)
    subprocess.run(["cc", "-shared", "-fPIC", "-O2", "-fno-builtin", f"-Wl,-soname,{SHIM}",
                    "-Wl,--default-symver", "-o", path, os.path.join(HERE, "old_glibc.c"), "-lstdc++"],
                   check=True)
    return path


def is_elf(path):
    with open(path, "rb") as file:
        return file.read(5) == b"\x7fELF\x02"


def repack(folder, wheel, tag):
    """Packs the folder as a wheel of that platform, with the record of its files."""
    info, = glob.glob(os.path.join(folder, "*.dist-info"))
    path = os.path.join(info, "WHEEL")
    with open(path, encoding="utf-8") as file:
        text = file.read()
    with open(path, "w", encoding="utf-8") as file:
        file.write(re.sub(r"(?m)^(Tag: [^-\s]+-[^-\s]+)-\S+$", rf"\1-{tag}", text))
    record = os.path.join(os.path.relpath(info, folder), "RECORD")
    names = sorted(os.path.relpath(os.path.join(root, name), folder) for root, _, files in os.walk(folder) for name in files)
    with zipfile.ZipFile(wheel, "w", zipfile.ZIP_DEFLATED) as archive:
        lines = []
        for name in [name for name in names if name != record]:
            with open(os.path.join(folder, name), "rb") as file:
                data = file.read()
            digest = base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode()
            lines.append(f"{name},sha256={digest},{len(data)}\n")
            archive.write(os.path.join(folder, name), name)
        archive.writestr(record, "".join(lines) + f"{record},,\n")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("wheel")
    parser.add_argument("folder")
    parser.add_argument("--glibc", default="2.28")
    parser.add_argument("--libstdcxx", default="3.4.24")
    options = parser.parse_args()
    aging = Aging({"GLIBC": numbers(options.glibc), "GLIBCXX": numbers(options.libstdcxx), "CXXABI": (1, 3, 11), "GCC": (7, 0, 0)})
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run(["unzip", "-q", options.wheel, "-d", folder], check=True)
        libraries = os.path.join(folder, "skewer.libs")
        uses = 0
        for root, _, files in os.walk(folder):
            for path in [os.path.join(root, name) for name in files]:
                if os.path.islink(path) or not is_elf(path):
                    continue
                for library in sorted(aging.age(path), reverse=True):
                    uses += library == SHIM
                    subprocess.run(["patchelf", "--add-needed", library, path], check=True)
        if aging.missing:
            sys.exit("\n".join([*aging.missing, "Older systems lack these: add them to old_glibc.c, or build without what needs them."]))
        if uses:
            shutil.copy(shim_of(tempfile.mkdtemp()), os.path.join(libraries, SHIM))
        tag = f"manylinux_{options.glibc.replace('.', '_')}_x86_64"
        name = re.sub(r"-[^-]+\.whl$", f"-{tag}.whl", os.path.basename(options.wheel))
        os.makedirs(options.folder, exist_ok=True)
        repack(folder, os.path.join(options.folder, name), tag)
        print(os.path.join(options.folder, name))


if __name__ == "__main__":
    main()
