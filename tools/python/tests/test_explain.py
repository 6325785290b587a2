"""Tests of explanations, pictures, reports and times of a layer."""

import base64
import html
import json
import struct
import unittest
import xml.etree.ElementTree
import zlib
from pathlib import Path

import common

import skewer


class Explain(common.FolderTest):
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


if __name__ == "__main__":
    unittest.main()
