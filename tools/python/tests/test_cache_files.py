"""Tests of the files of the cache: permissions, folders that cannot be used, and other processes."""

import os
import stat
import subprocess
import sys
import unittest
import warnings
from pathlib import Path

import common
import numpy as np

import skewer


class CacheFiles(common.CacheTest):
    def test_a_folder_of_somebody_else(self):
        """A folder that can only be read is used."""
        skewer.compile(common.TINY)
        self.asked, original = 0, os.utime

        def refuse(*_):
            raise PermissionError(1, "Operation not permitted")

        os.utime = refuse
        self.addCleanup(setattr, os, "utime", original)
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            skewer.compile(common.TINY)
        self.assertEqual(self.asked, 0)

    def test_a_user_without_a_folder(self):
        for name in ("SKEWER_CACHE", "XDG_CACHE_HOME"):
            os.environ.pop(name, None)
        original = Path.home
        Path.home = classmethod(lambda cls: (_ for _ in ()).throw(RuntimeError("Could not determine home directory.")))
        self.addCleanup(setattr, Path, "home", original)
        with self.assertWarnsRegex(skewer.CacheWarning, "home directory.*SKEWER_CACHE"):
            layer = skewer.compile(common.TINY, N=11)
        self.assertEqual(layer.arguments[0].shape, ("batch", 11, 4))

    def test_others_may_read_entries(self):
        before = os.umask(0o022)
        self.addCleanup(os.umask, before)
        skewer.compile(common.TINY)
        self.assertEqual(stat.S_IMODE(self.entries()[0].stat().st_mode), 0o644)
        os.umask(0o077)
        skewer.compile(common.TINY, N=9)
        self.assertEqual(sorted(stat.S_IMODE(one.stat().st_mode) for one in self.entries()), [0o600, 0o644])

    def test_an_entry_that_may_not_be_read(self):
        skewer.compile(common.TINY)
        original = Path.read_bytes

        def refuse(path):
            if path.suffix == ".kernels":
                raise PermissionError(13, "Permission denied", str(path))
            return original(path)

        Path.read_bytes = refuse
        self.addCleanup(setattr, Path, "read_bytes", original)
        with self.assertWarnsRegex(skewer.CacheWarning, "that is there cannot be read.*Permission denied.*kernels"):
            skewer.compile(common.TINY)
        self.assertEqual(self.asked, 2)

    def test_a_folder_that_cannot_be_written(self):
        blocked = self.folder / "file"
        blocked.write_text("")
        os.environ["SKEWER_CACHE"] = str(blocked / "cache")
        with self.assertWarnsRegex(skewer.CacheWarning, "kept in memory only"):
            skewer.compile(common.TINY)
        with warnings.catch_warnings():
            warnings.simplefilter("error")  # warned once
            skewer.compile(common.TINY)
            skewer.compile(common.TINY, N=9)
        self.assertEqual(self.asked, 2)

    @unittest.skipUnless(os.path.exists("/dev/full"), "no /dev/full")
    def test_a_full_disk(self):
        original = os.fdopen

        def full(descriptor, *arguments):
            os.close(descriptor)
            return open("/dev/full", "wb", buffering=0)

        os.fdopen = full
        try:
            with self.assertWarnsRegex(skewer.CacheWarning, "No space left"):
                layer = skewer.compile(common.TINY)
        finally:
            os.fdopen = original
        x = common.operands()
        np.testing.assert_allclose(layer(**x), common.tiny(**x), atol=1e-6)
        self.assertEqual(list(self.folder.iterdir()), [])

    def test_what_others_are_writing_stays(self):
        """A file that another process is about to rename stays; an abandoned one is removed."""
        os.environ["SKEWER_CACHE_BYTES"] = "1"
        young, old = self.folder / "young.part", self.folder / "old.part"
        for file in (young, old):
            file.write_text("half")
        os.utime(old, (0, 0))
        skewer.compile(common.TINY)
        self.assertTrue(young.exists())
        self.assertFalse(old.exists())

    def test_many_processes(self):
        code = ("import os, sys; folder = os.environ['SKEWER_CACHE']\n"
                "import common; os.environ['SKEWER_CACHE'] = folder\n"
                "import skewer, numpy as np\n"
                "for n in (4, 5, 6): \n"
                "  x = common.operands(n=n)\n"
                "  assert np.allclose(skewer.compile(common.TINY, N=n)(**x), common.tiny(**x), atol=1e-6)\n")
        size = {"SKEWER_CACHE_BYTES": "20000"}  # less than the entries have: each process evicts entries that others read
        processes = [subprocess.Popen([sys.executable, "-W", "error", "-c", code], env={**os.environ, **size},
                                      cwd=os.path.dirname(os.path.abspath(__file__))) for _ in range(4)]
        self.assertEqual([process.wait() for process in processes], [0] * 4)
        self.assertEqual(list(self.folder.glob("*.part")), [])


if __name__ == "__main__":
    unittest.main()
