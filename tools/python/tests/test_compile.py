"""Tests of compiling texts, files and folders; of the cache, explanations and pictures."""

import base64
import copy
import html
import json
import os
import pickle
import stat
import struct
import subprocess
import sys
import tempfile
import typing
import unittest
import warnings
import xml.etree.ElementTree
import zlib
from pathlib import Path

import common
import numpy as np

import skewer
from skewer import _cache

SKEWER = os.environ.get("SKEWER", "skewer")


class Compile(unittest.TestCase):
    def setUp(self):
        self.folder = Path(self.enterContext(tempfile.TemporaryDirectory())) if hasattr(self, "enterContext") else \
            Path(tempfile.mkdtemp())

    def expect_right(self, layer):
        x = common.operands()
        np.testing.assert_allclose(layer(**x), common.tiny(**x), atol=1e-6)

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
            self.expect_right(skewer.compile(self.folder / name))
        before = os.getcwd()
        os.chdir(self.folder / "shared")  # so that the name has no folder
        try:
            self.expect_right(skewer.load("."))
        finally:
            os.chdir(before)
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

    def test_explain_plot_bench(self):
        layer = skewer.compile(common.TINY)
        self.assertIn("content", layer.explain())
        self.assertIn("kernels", json.loads(layer.explain(json=True, batch=3)))
        self.assertTrue(layer.plot()._repr_svg_().startswith("<svg"))
        self.assertEqual(repr(layer.explain()), str(layer.explain()))
        result = layer.bench(seconds=0.01, batch=2)
        self.assertTrue(0 < result.fastest <= result.median and result.calls >= 1)

    def test_plots_and_reports_of_a_head(self):
        layer = skewer.compile(Path(__file__).parents[3] / "examples" / "music" / "music_transformer.attn", N=16, heads=2)
        self.assertIn("h = 1", layer.plot(head=1))
        with self.assertRaisesRegex(skewer.ArgumentError, "head: expected 0 to 1, an index of the axis 'h', found 2"):
            layer.plot(head=2)
        page = layer.report(self.folder / "page.html", head=1)
        self.assertEqual((self.folder / "page.html").read_text(encoding="utf-8"), page)
        self.assertIn("h = 1", page)
        self.assertTrue(page.startswith("<!DOCTYPE html>"))
        shown = page._repr_html_()
        self.assertTrue(shown.startswith("<iframe srcdoc="))
        self.assertEqual(html.unescape(shown.split('srcdoc="')[1].split('" width=')[0]), page)

    def test_what_notebooks_get(self):
        """A notebook gets the same picture in less than 300 KB; as drawn, 64 x 64 cells in six panels take 2.2 MB."""
        for layer in (skewer.compile(common.example("botnet", "botnet.attn"), H=8, W=8),
                      skewer.compile(common.example("music", "music_transformer.attn"), N=50),
                      skewer.compile(common.example("music", "music_transformer.attn"), N=12)):
            picture = layer.plot()
            self.assertLess(len(repr(picture)), 200)
            self.assertFalse(hasattr(picture, "_repr_html_"))
            small = picture._repr_svg_()
            self.assertLess(len(small), 300_000)
            tree = xml.etree.ElementTree.fromstring(small)
            name = "{http://www.w3.org/2000/svg}"
            panels = picture.count('<g id="')
            self.assertEqual(sum(1 for group in tree.iter(name + "g") if "id" in group.attrib), panels)
            # Each panel's cells are one picture of pixels, or paths; numbers in cells and on axes are as they were.
            self.assertFalse(any("data-i" in rectangle.attrib for rectangle in tree.iter(name + "rect")))
            whole = xml.etree.ElementTree.fromstring(picture.encode())
            self.assertEqual(sorted(text.text or "" for text in tree.iter(name + "text")),
                             sorted(text.text or "" for text in whole.iter(name + "text")))
            self.expect_the_same_shades(whole, tree, name)

    def expect_the_same_shades(self, whole, small, name):
        """Checks that the pixels have the shades of their cells."""
        pictures = 0
        for before, after in zip(whole.findall(name + "g"), small.findall(name + "g")):
            image = after.find(name + "image")
            if image is None:
                continue
            pictures += 1
            cells = [cell for cell in before.findall(name + "rect") if "data-i" in cell.attrib]
            data = base64.b64decode(image.attrib["href"].partition(",")[2])
            width, height = struct.unpack(">II", data[16:24])
            self.assertEqual(width * height, len(cells))
            rows = zlib.decompress(data[data.index(b"IDAT") + 4:-16])
            for number, cell in enumerate(cells):
                row, column = divmod(number, width)
                self.assertEqual(rows[row * (width + 1) + 1 + column], int(cell.attrib["fill"][1:3], 16))
        self.assertGreater(pictures, 0)

    def test_flops_are_those_of_the_lengths(self):
        layer = skewer.compile(common.LENGTHS.replace("size N", "size batch, N").replace(": f32[N, 4]", ": f32[batch, N, 4]").replace(
            "-> f32[N, 4]", "-> f32[batch, N, 4]").replace('"i d', '"b i d').replace('j d -> i j"', 'b j d -> b i j"', 1).replace(
            '(j - i + N - 1) d -> i j"', '(j - i + N - 1) d -> b i j"').replace('"i j, j d -> i d"', '"b i j, b j d -> b i d"'))

        def flops(**sizes):
            return layer.bench(seconds=0.001, **sizes).flops

        self.assertEqual(flops(N=16, batch=1), 3 * 2 * 16 * 16 * 4)
        self.assertEqual(flops(N=32, batch=3), 3 * 3 * 2 * 32 * 32 * 4)
        self.assertEqual(flops(), flops(N=64, batch=1))

    def test_checked(self):
        layer, x = skewer.compile(common.TINY), common.operands()
        np.testing.assert_allclose(layer.reference(**x), common.tiny(**x), atol=1e-12)
        self.assertEqual(layer.reference(**x).dtype, np.float64)
        checked = layer.check(**x)
        self.assertTrue(checked and checked.passed)
        self.assertRegex(repr(checked), r"^tiny: passed\n  out: 16 of 16 rows compared with the float64 reference, largest error")
        self.assertTrue(layer.check(sizes={"batch": 3}, rows=4))
        self.assertLess(0, checked.results[0].error)
        self.assertEqual(checked.results[0].not_finite, 0)
        for text in (common.TINY, common.HALVES, common.BFLOATS):
            of_type = skewer.compile(text)
            given = of_type.example(batch=2)
            given["v"].view(f"u{given['v'].itemsize}")[1, 2, 3] = {4: 0x7F800001, 2: 0x7FFF}[given["v"].itemsize]  # NaN
            checked = of_type.check(**given)
            self.assertTrue(checked)
            self.assertEqual(checked.results[0].not_finite, 8)  # every query of this row of the batch, this one number
            self.assertRegex(repr(checked), "\n    8 elements of the result are NaN or infinite, as the text and these operands have it$")
        # A kernel that computes something else does not pass.
        wrong = skewer.compile(common.TINY.replace("d^-0.5", "d^-0.25"))
        layer._kernel, kept = wrong._kernel, layer._kernel
        checked = layer.check(**x)
        layer._kernel = kept
        self.assertFalse(checked)
        self.assertRegex(repr(checked), r"(?s)^tiny: failed.*worst at \[\d, \d, \d\]: got ")
        with self.assertRaises(skewer.ArgumentError) as wrong:
            layer.reference(x["q"], x["k"][:, :7], x["v"])
        self.assertEqual((wrong.exception.argument, wrong.exception.found), ("k", "[2, 7, 4]"))
        with self.assertRaises(skewer.ArgumentError):
            layer.reference(x["q"].astype(np.float64), x["k"], x["v"])

    def test_checked_with_lengths_halves_origins_and_two_results(self):
        self.assertTrue(skewer.compile(common.LENGTHS).check(sizes={"N": 7}))
        for text in (common.HALVES, common.BFLOATS):
            self.assertTrue(skewer.compile(text).check())
        step = skewer.compile(common.example("ring", "ring.attn"), kernel="step", m=48)
        checked = step.check(k0=48)
        self.assertEqual([one.result for one in checked.results], ["out", "lse"])
        self.assertTrue(checked)
        x = step.example()
        early, late = step.reference(**x)[0], step.reference(**x, k0=48)[0]
        self.assertGreater(abs(early - late).max(), 1e-3)
        np.testing.assert_allclose(step(**x, k0=48)[0], late, atol=1e-5)

    def test_other_types_from_the_same_text(self):
        x = common.operands(dtype=np.float16)
        for dtype in ("f16", "float16", np.float16, np.dtype("float16")):
            layer = skewer.compile(common.TINY, dtype=dtype)
            self.assertEqual({one.type for one in layer.arguments + layer.results}, {"f16"})
            np.testing.assert_array_equal(layer(**x), skewer.compile(common.TINY.replace("f32", "f16"))(**x))
        self.assertEqual(skewer.compile(common.HALVES, dtype="f32").arguments[0].type, "f32")
        with self.assertRaisesRegex(skewer.ArgumentError, "dtype: expected f32, f16 or bf16"):
            skewer.compile(common.TINY, dtype="f64")

    def test_schemes(self):
        known = skewer.schemes()
        self.assertIn("rel1d", [one.name for one in known])
        one = next(one for one in known if one.name == "rel1d")
        self.assertTrue(one.signature.startswith("rel1d(") and one.about, one)
        self.assertIn(one.signature, repr(known))
        self.assertIn("scheme rel1d(", skewer.schemes("rel1d"))
        with self.assertRaisesRegex(skewer.CompileError, r"no built-in scheme 'rel1'.*skewer.schemes\(\) lists them"):
            skewer.schemes("rel1")

    def test_the_command_that_the_package_brings(self):
        for command in ([sys.executable, "-m", "skewer"], [os.path.join(os.path.dirname(sys.executable), "skewer")]):
            done = subprocess.run([*command, "--version"], check=True, capture_output=True, text=True)
            self.assertIn(skewer.__version__, done.stdout)
            done = subprocess.run([*command, "run", str(self.folder / "none.attn")], capture_output=True, text=True, check=False)
            self.assertEqual(done.returncode, 1)

    def test_words_of_this_package(self):
        """The compiler's messages name keywords, not options of the command line."""
        for call, text in ((lambda: skewer.compile(common.TINY, N="abc"), "parameter N: expected a number"),
                           (lambda: skewer.compile(common.TINY, target="z80"), "error: target: unknown processor"),
                           (lambda: skewer.compile(common.TINY, batch=3), "a parameter cannot give it.*by the shapes of the arrays")):
            with self.assertRaisesRegex(skewer.CompileError, "(?s)" + text) as wrong:
                call()
            self.assertNotRegex(str(wrong.exception), "-D |--")
        for spec, found in ((common.TINY.encode(), "bytes; text.decode"), (3, "int")):
            with self.assertRaisesRegex(skewer.ArgumentError, "spec: expected the path.*found an object of type " + found):
                skewer.compile(spec)
        with self.assertRaisesRegex(skewer.CompileError, "found an empty string"):
            skewer.compile("")
        for threads in ("4", 0, 1025):
            with self.assertRaisesRegex(skewer.ArgumentError, "threads: expected 1 to 1024"):
                skewer.compile(common.TINY, threads=threads)

    def test_modules_of_frameworks_are_found_by_name(self):
        with self.assertRaisesRegex(AttributeError, "module 'skewer' has no attribute 'tourch'"):
            skewer.tourch

    def test_names_that_python_has_other_plans_for(self):
        length = skewer.compile("""size lambda <= 64
kernel f(q, k, v : f32[lambda, 4], table : f32[2*lambda - 1]) -> f32[lambda, 4] {
  s = einsum("i d, j d -> i j", q, k) + table[j - i + lambda - 1]
  return einsum("i j, j d -> i d", softmax(s), v)
}
""")
        self.assertEqual(length(**length.example(**{"lambda": 5})).shape, (5, 4))
        own = skewer.compile("kernel f(self : f32[4], threads : f32[4]) -> f32[4] { return self*threads }")
        x = own.example()
        np.testing.assert_array_equal(own(*x.values()), x["self"] * x["threads"])
        with self.assertRaisesRegex(skewer.ArgumentError, "`threads` is a keyword of the call"):
            own(**{**x, "threads": 1})
        np.testing.assert_array_equal(own(x["self"], x["threads"], threads=2), x["self"] * x["threads"])

    def test_sizes_that_there_are_not(self):
        layer = skewer.compile(common.TINY)
        for call in (lambda: layer.example(bach=2), lambda: layer(**common.operands(), sizes={"bach": 2})):
            with self.assertRaises(skewer.ArgumentError) as wrong:
                call()
            self.assertEqual((wrong.exception.argument, wrong.exception.expected, wrong.exception.found),
                             ("sizes", "a run-time size: batch", "'bach'"))
        for bad in (2.5, 0, -1, 1 << 70, "2"):
            for call in (lambda: layer(**common.operands(), sizes={"batch": bad}), lambda: layer.bench(batch=bad)):
                with self.assertRaisesRegex(skewer.ArgumentError, "sizes, dimension batch: expected a whole number from 1 on, found "):
                    call()
        for bad in ("1", 1 << 70):
            with self.assertRaisesRegex(skewer.ArgumentError, "q0: expected a whole number, found "):
                layer(**common.operands(), q0=bad)
        for bad in ("1", -1):
            with self.assertRaisesRegex(skewer.ArgumentError, "head: expected a whole number from 0 on, found "):
                layer.plot(head=bad)

    def test_bytes_that_are_no_text(self):
        spec = self.folder / "bytes.attn"
        spec.write_bytes(b"kernel f(x : f32[4]) -> f32[4] { return x }\nparam \xff = 3\n")
        for given in (spec, spec.read_bytes().decode("utf-8", "surrogateescape"), "kernel f(x : f32[4]) -> \ud800 { return x }\n"):
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


class Documents(unittest.TestCase):
    def test_the_example_of_the_readme(self):
        root = Path(__file__).parents[3]
        text = (root / "README.md").read_text(encoding="utf-8")
        example = text.split("```python\n")[1].split("```")[0]
        self.assertEqual(len(example.splitlines()), 5)
        done = subprocess.run([sys.executable, "-c", example], cwd=root, check=True, capture_output=True, text=True)
        self.assertTrue(done.stdout.startswith("(2, 4, 256, 128)\nbotnet: "), done.stdout)


    def test_the_guide(self):
        """The blocks of docs/python.md for NumPy run, one after another, next to the examples' files."""
        shown = [block for block in common.python_of("docs/python.md") if "torch" not in block and "jax" not in block]
        self.assertEqual(len(shown), 2)
        known = skewer.compile(common.example("botnet", "botnet.attn"), H=16, W=16).example(batch=2)
        self.run_beside("botnet", shown[0], known)
        self.assertEqual(known["out"].shape, (2, 4, 256, 128))
        known.update(skewer.compile(common.example("conformer", "conformer.attn")).example(batch=1))
        self.run_beside("conformer", shown[1], known)
        np.testing.assert_array_equal(known["out"], known["layer"](*(known[name] for name in known["layer"]._names)))

    def run_beside(self, example, text, known):
        before = os.getcwd()
        os.chdir(common.example(example))
        try:
            exec(text, known)
        finally:
            os.chdir(before)


class Cache(unittest.TestCase):
    def setUp(self):
        self.folder = Path(tempfile.mkdtemp())
        self.before = dict(os.environ)
        os.environ["SKEWER_CACHE"] = str(self.folder)
        _cache._memory.clear()
        _cache._warned = False
        self.asked = 0
        original = skewer._compile.ask

        def count(*arguments, **named):
            self.asked += 1
            return original(*arguments, **named)

        skewer._compile.ask = count
        self.addCleanup(setattr, skewer._compile, "ask", original)

    def tearDown(self):
        os.environ.clear()
        os.environ.update(self.before)

    def entries(self):
        return sorted(self.folder.glob("*.kernels"))

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
