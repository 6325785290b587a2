"""Tests of the cache of compiled layers: what it finds again, and its limits."""

import json
import os
import pickle
import subprocess
import unittest
import warnings

import common
import numpy as np

import skewer
from skewer import _cache

SKEWER = os.environ.get("SKEWER", "skewer")


class Cache(common.CacheTest):
    def test_found_again(self):
        x = common.operands()
        first = skewer.compile(common.TINY)(**x)
        np.testing.assert_array_equal(skewer.compile(common.TINY)(**x), first)
        self.assertEqual((self.asked, len(self.entries())), (1, 1))
        skewer.compile(common.TINY, N=9)
        skewer.compile(common.TINY, target="x86-64-v2")
        skewer.compile(common.TINY + "\n")
        self.assertEqual((self.asked, len(self.entries())), (4, 4))
        skewer.compile(common.TINY, cache=False)
        self.assertEqual((self.asked, len(self.entries())), (5, 4))

    def test_damaged_entries_are_compiled_again(self):
        skewer.compile(common.TINY)
        whole = self.entries()[0].read_bytes()
        for damaged in (b"", b"nothing", whole[:-1], whole[:100] + bytes([whole[100] ^ 1]) + whole[101:]):
            self.entries()[0].write_bytes(damaged)
            self.asked = 0
            skewer.compile(common.TINY)
            self.assertEqual(self.asked, 1)
            self.assertEqual(self.entries()[0].read_bytes()[:32], whole[:32])

    def test_warnings_are_kept_with_the_layer(self):
        text = common.TINY.replace('"b i d, b j d -> b i j"', '"b i d, b j e -> b i j"')
        for asked in (1, 1):  # the second time from the cache
            with self.assertWarns(skewer.CompileWarning) as said:
                layer = skewer.compile(text)
            self.assertEqual((self.asked, said.filename), (asked, __file__))
            self.assertRegex(str(said.warning), r"(?s)^layer.attn:4:.*warning: axis 'd' is in one operand only.*\n +\^")
            self.assertEqual([one.severity for one in layer.diagnostics], ["warning", "note"] * 2)
            self.assertEqual(said.warning.diagnostics, layer.diagnostics)
        again = pickle.loads(pickle.dumps(said.warning))
        self.assertEqual((str(again), again.diagnostics), (str(said.warning), said.warning.diagnostics))
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            skewer.compile(common.TINY)
            with self.assertRaises(skewer.CompileWarning):
                skewer.compile(text)

    def test_switched_off(self):
        os.environ["SKEWER_CACHE"] = os.devnull
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            skewer.compile(common.TINY)
            skewer.compile(common.TINY)
        self.assertEqual((self.asked, _cache._memory), (2, {}))

    def test_limits_in_words(self):
        for text, count in (("1000", 1000), ("64K", 64 << 10), ("256MB", 256 << 20), (" 1 GiB ", 1 << 30), ("0", 0)):
            os.environ["SKEWER_CACHE_BYTES"] = text
            self.assertEqual(_cache.most_bytes(), count)
        os.environ["SKEWER_CACHE_BYTES"] = "much"
        with self.assertWarnsRegex(skewer.CacheWarning, "expected a number of bytes such as 100000 or 256M, found 'much'"):
            self.assertEqual(_cache.most_bytes(), 256 << 20)

    def test_machine_files_count_by_what_they_say(self):
        machine = self.folder / "my.json"
        said = json.loads(subprocess.run([SKEWER, "target", "zen4"], check=True, capture_output=True, text=True).stdout)
        machine.write_text(json.dumps(said))
        skewer.compile(common.TINY, target=str(machine))
        skewer.compile(common.TINY, target=str(machine))
        self.assertEqual(self.asked, 1)
        machine.write_text(json.dumps(said, indent=1))
        skewer.compile(common.TINY, target=str(machine))
        self.assertEqual(self.asked, 2)

    def test_bounded(self):
        skewer.compile(common.TINY)
        size = self.entries()[0].stat().st_size
        os.environ["SKEWER_CACHE_BYTES"] = str(int(2.5 * size))
        first = self.entries()[0]
        os.utime(first, (1, 1))
        skewer.compile(common.TINY, N=9)
        skewer.compile(common.TINY, N=10)
        self.assertEqual(len(self.entries()), 2)
        self.assertNotIn(first, self.entries())


if __name__ == "__main__":
    unittest.main()
