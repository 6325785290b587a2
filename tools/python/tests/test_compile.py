"""Tests of compiling texts, files and folders, and of layers that go to other processes and threads."""

import copy
import json
import os
import pickle
import subprocess
import sys
import typing
import unittest
from pathlib import Path

import common
import numpy as np

import skewer

SKEWER = os.environ.get("SKEWER", "skewer")


class Compile(common.FolderTest):
    def test_files_and_parameters(self):
        spec = self.folder / "tiny.attn"
        spec.write_text(common.TINY)
        for path in (spec, str(spec)):
            self.assertEqual(skewer.compile(path, d=8).arguments[0].shape, ("batch", 8, 8))
        self.assertEqual(skewer.compile(spec, parameters={"N": 3}).arguments[0].shape, ("batch", 3, 4))
        self.assertIn("q: f32[batch, 8, 4]", repr(skewer.compile(spec)))

    def test_diagnostics(self):
        with self.assertRaises(skewer.CompileError) as wrong:
            skewer.compile("kernel f(q : f32[4]) -> f32[4] {\n  return q + missing\n}\n")
        first = wrong.exception.diagnostics[0]
        self.assertEqual((first.line, first.column, first.severity), (2, 14, "error"))
        self.assertIn("missing", first.text)
        for call in (lambda: skewer.compile(str(self.folder / "none.attn")), lambda: skewer.compile(""),
                     lambda: skewer.compile(common.TINY, M=3), lambda: skewer.compile(common.TINY, target="z80"),
                     lambda: skewer.compile(common.TINY, N=-1), lambda: skewer.compile("{\0}")):
            with self.assertRaises(skewer.CompileError) as wrong:
                call()
            self.assertTrue(wrong.exception.diagnostics)

    def test_several_kernels(self):
        text = common.TINY + "kernel other(x : f32[4]) -> f32[4] { return x + x }\n"
        np.testing.assert_array_equal(skewer.compile(text, kernel="other")(np.ones(4, np.float32)), [2] * 4)
        with self.assertRaisesRegex(skewer.LoadError, "several kernels"):
            skewer.compile(text)
        with self.assertRaisesRegex(skewer.LoadError, "there is no kernel 'third'; there are"):
            skewer.compile(text, kernel="third")

    def test_folders_of_objects(self):
        spec = self.folder / "tiny.attn"
        spec.write_text(common.TINY)
        for name, options in (("one", []), ("several", ["--target=x86-64-v2,x86-64-v3"]),
                              ("shared", ["--target=x86-64-v2,x86-64-v3", "--emit=shared"]),
                              ("gpu", ["--target=x86-64-v2,sm_80", "--ptx-only"])):
            subprocess.run([SKEWER, "compile", spec, "-o", self.folder / name, *options], check=True)
            common.expect_right(skewer.compile(self.folder / name))
        with common.working_in(self.folder / "shared"):  # so that the name has no folder
            common.expect_right(skewer.load("."))
        layer = skewer.load(self.folder / "one", kernel="tiny")
        with self.assertRaisesRegex(skewer.SkewerError, "its text is not known"):
            layer.explain()
        with self.assertRaises(skewer.LoadError):
            skewer.compile(self.folder / "one", N=3)
        with self.assertRaises(skewer.LoadError):
            skewer.load(self.folder / "nowhere")
        manifest = self.folder / "one" / "tiny.json"
        old = json.loads(manifest.read_text())
        manifest.write_text(json.dumps({**old, "abi_version": 0}))
        with self.assertRaisesRegex(skewer.LoadError, "version 0 of the C contract"):
            skewer.load(self.folder / "one")
        manifest.write_text("{")
        with self.assertRaisesRegex(skewer.LoadError, "no manifest"):
            skewer.load(self.folder / "one")
        manifest.write_text(json.dumps(old))
        with open(self.folder / "one" / "tiny.o", "r+b") as file:
            file.truncate(1000)
        with self.assertRaisesRegex(skewer.LoadError, "cannot be loaded"):
            skewer.load(self.folder / "one")

    def test_the_code_that_runs(self):
        text = "kernel layer(x : f32[4]) -> f32[4] { return x * 2 }"
        self.assertEqual(skewer.compile(text).code, "host")
        several = skewer.compile(text, target="x86-64-v2,emeraldrapids")
        self.assertIn(several.code, ("x86-64-v2/sse", "emeraldrapids/avx512"))
        np.testing.assert_array_equal(several(np.ones(4, np.float32)), np.full(4, 2, np.float32))

    def test_amx_is_refused(self):
        flags = Path("/proc/cpuinfo").read_text().split()
        text = """kernel layer(q, k, v : bf16[128, 64]) -> bf16[128, 64] {
  return einsum("i j, j d -> i d", softmax(einsum("i d, j d -> i j", q, k)), v)
}"""
        ones = np.full((128, 64), 0x3F80, np.uint16)
        skewer.refuse_amx()
        try:
            layer = skewer.compile(text, target="x86-64-v2,emeraldrapids")
            self.assertEqual(layer.code, "emeraldrapids/avx512" if "avx512_fp16" in flags else "x86-64-v2/sse")
            np.testing.assert_array_equal(layer(ones, ones, ones), ones)
        finally:
            skewer.refuse_amx(False)

    def test_the_manifest_names_const_operands(self):
        text = common.TINY.replace("v :", "const v :").replace("q, k, const v : f32[batch, N, d]",
                                                               "q, k : f32[batch, N, d], const v : f32[batch, N, d]")
        def constants(spec):
            return [one["name"] for one in skewer.compile(spec).manifest["inputs"] if one.get("const")]

        self.assertEqual(constants(text), ["v"])
        self.assertEqual(constants(common.TINY), [])

    def test_other_types_from_the_same_text(self):
        x = common.operands(dtype=np.float16)
        for dtype in ("f16", "float16", np.float16, np.dtype("float16")):
            layer = skewer.compile(common.TINY, dtype=dtype)
            self.assertEqual({one.type for one in layer.arguments + layer.results}, {"f16"})
            np.testing.assert_array_equal(layer(**x), skewer.compile(common.TINY.replace("f32", "f16"))(**x))
        self.assertEqual(skewer.compile(common.HALVES, dtype="f32").arguments[0].type, "f32")
        with self.assertRaisesRegex(skewer.ArgumentError, "dtype: expected f32, f16 or bf16"):
            skewer.compile(common.TINY, dtype="f64")

    def test_bytes_that_are_no_text(self):
        spec = self.folder / "bytes.attn"
        spec.write_bytes(b"kernel f(x : f32[4]) -> f32[4] { return x }\nparam \xff = 3\n")
        for given in (spec, spec.read_bytes().decode("utf-8", "surrogateescape"),
                      "kernel f(x : f32[4]) -> \ud800 { return x }\n"):
            with self.assertRaises(skewer.CompileError) as wrong:
                skewer.compile(given)
            self.assertTrue(wrong.exception.diagnostics[0].line)

    def test_from_process_to_process(self):
        layer = skewer.compile(common.TINY, threads=2)
        again = pickle.loads(pickle.dumps(layer))
        x = common.operands()
        np.testing.assert_array_equal(again(**x), layer(**x))
        self.assertEqual((again.threads, again.explain(), repr(again)), (2, layer.explain(), repr(layer)))
        self.assertIs(copy.deepcopy([layer])[0], layer)
        with self.assertRaises(skewer.ArgumentError) as wrong:
            layer(**{**x, "q": x["q"][:, :7]})
        error = pickle.loads(pickle.dumps(wrong.exception))
        self.assertEqual((str(error), error.dimension, error.found), (str(wrong.exception), 1, "7"))
        with self.assertRaises(skewer.CompileError) as wrong:
            skewer.compile("kernel")
        error = pickle.loads(pickle.dumps(wrong.exception))
        self.assertEqual((str(error), error.diagnostics), (str(wrong.exception), wrong.exception.diagnostics))

    def test_real_parameters(self):
        text = "param gamma = 0.5\nkernel f(x : f32[4]) -> f32[4] { return x*gamma }"
        for gamma in (0.25, np.float32(0.25)):
            np.testing.assert_array_equal(skewer.compile(text, gamma=gamma)(np.ones(4, np.float32)), [0.25] * 4)
        self.assertIn("float", str(typing.get_type_hints(skewer.compile)["more"]))

    def test_two_threads_compile(self):
        code = ("import common, skewer, threading\n"
                "texts = [common.TINY.replace('N = 8', f'N = {n}') for n in (5, 6, 7, 8)]\n"
                "shapes = {}\n"
                "def work(t): shapes[t] = skewer.compile(t, cache=False).arguments[0].shape[1]\n"
                "threads = [threading.Thread(target=work, args=(t,)) for t in texts]\n"
                "[t.start() for t in threads]; [t.join() for t in threads]\n"
                "assert sorted(shapes.values()) == [5, 6, 7, 8], shapes\n")
        subprocess.run([sys.executable, "-c", code], cwd=os.path.dirname(os.path.abspath(__file__)), check=True)


if __name__ == "__main__":
    unittest.main()
