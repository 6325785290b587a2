#!/usr/bin/env python3
"""Tests the page of `skewer report` in headless Chromium: its elements, an empty console, the text under the pointer, and a
screenshot whose cells have the colours of the data.

usage: report_test.py SKEWER    (exits with 3 if there is no Chromium)
"""
import html
import itertools
import json
import os
import re
import shutil
import struct
import subprocess
import sys
import tempfile
import unittest
import zlib

ROOT = os.path.abspath(os.path.join(os.path.dirname(__file__), "..", "..", ".."))
SKEWER = os.path.abspath(sys.argv[1]) if len(sys.argv) > 1 else "skewer"
CHROMIUM = next((path for path in map(shutil.which, ("chromium", "chromium-browser", "google-chrome")) if path), None)
SIZE = 1280, 4000

# Points at cells as a mouse does, and records the page's text and the places of its elements.
PROBE = """
<script>
(() => {
  const noted = {errors: window.noted, says: {}, places: {}, counts: {}};
  const say = (id, y, x) => {
    const canvas = document.getElementById(id), box = canvas.getBoundingClientRect(), [px, py] = canvas.middleOf(y, x);
    canvas.dispatchEvent(new MouseEvent("mousemove", {clientX: box.left + px, clientY: box.top + py, bubbles: true}));
    const said = document.getElementById(id + "-says").textContent;
    canvas.dispatchEvent(new MouseEvent("mouseleave"));
    return said;
  };
  for (const [id, y, x] of PROBES) noted.says[[id, y, x].join(" ")] = say(id, y, x);
  for (const canvas of document.querySelectorAll("canvas")) {
    const box = canvas.getBoundingClientRect();
    noted.places[canvas.id] = {left: box.left, top: box.top, first: canvas.middleOf(0, 0), next: canvas.middleOf(1, 1)};
  }
  for (const selector of ["canvas", "svg.roofline", ".card.spec", ".card.terms", ".card.schedule", ".verdict", "section.kernel", "details", ".card.tiles"])
    noted.counts[selector] = document.querySelectorAll(selector).length;
  const row = document.querySelector("tr[data-line]");
  row.dispatchEvent(new MouseEvent("mouseenter"));
  noted.lit = [...document.querySelectorAll("pre .lit")].map(line => line.dataset.number);
  noted.line = row.dataset.line;
  row.dispatchEvent(new MouseEvent("mouseleave"));
  noted.drawn = document.documentElement.dataset.drawn;
  noted.width = document.documentElement.scrollWidth;
  const out = document.createElement("pre");
  out.id = "noted", out.hidden = true, out.textContent = JSON.stringify(noted);
  document.body.append(out);
})();
</script>
"""
WATCH = """<script>
window.noted = [];
window.addEventListener("error", event => window.noted.push(event.message));
const before = console.error;
console.error = (...words) => { window.noted.push(words.join(" ")); before(...words); };
</script>
"""


def chromium(page, *options):
    with tempfile.TemporaryDirectory() as profile:
        done = subprocess.run([CHROMIUM, "--headless", "--no-sandbox", "--disable-gpu", "--hide-scrollbars", "--force-device-scale-factor=1",
                               "--force-color-profile=srgb", f"--window-size={SIZE[0]},{SIZE[1]}", f"--user-data-dir={profile}",
                               *options, "file://" + page], stdin=subprocess.DEVNULL, capture_output=True, timeout=120, check=True)
    return done.stdout.decode()


def added(a, b):
    """Returns the sums of the bytes of two lines, each modulo 256: all at once, as two long integers."""
    high = int.from_bytes(b"\x80" * len(a), "little")  # the bits that have no room for a carry
    x, y = int.from_bytes(a, "little"), int.from_bytes(b, "little")
    return ((x & ~high) + (y & ~high) ^ (x ^ y) & high).to_bytes(len(a), "little")


def pixels(path):
    """Returns the width and the rows of (r, g, b) of a PNG with 8 bits a channel, not interlaced (PNG, W3C 2003, 9.2)."""
    with open(path, "rb") as stream:
        data = stream.read()
    assert data[:8] == b"\x89PNG\r\n\x1a\n"
    at, packed, header = 8, b"", None
    while at < len(data):
        length, kind = struct.unpack(">I4s", data[at:at + 8])
        chunk = data[at + 8:at + 8 + length]
        header = struct.unpack(">IIBBBBB", chunk) if kind == b"IHDR" else header
        packed += chunk if kind == b"IDAT" else b""
        at += 12 + length
    width, height, depth, colour = header[:4]
    assert depth == 8 and colour in (2, 6) and header[6] == 0, header
    step = 3 if colour == 2 else 4
    raw, rows, last = zlib.decompress(packed), [], bytes(width * step)
    for y in range(height):
        kind, line = raw[y * (width * step + 1)], bytearray(raw[y * (width * step + 1) + 1:(y + 1) * (width * step + 1)])
        if kind == 1:
            for channel in range(step):
                line[channel::step] = bytes(value & 255 for value in itertools.accumulate(line[channel::step]))
        elif kind == 2:
            line = added(line, last)
        for k in range(width * step if kind > 2 else 0):
            left, up = line[k - step] if k >= step else 0, last[k]
            if kind == 3:
                near = (left + up) // 2
            else:
                corner = last[k - step] if k >= step else 0
                to_left, to_up, to_corner = abs(up - corner), abs(left - corner), abs(left + up - 2 * corner)
                near = left if to_left <= to_up and to_left <= to_corner else up if to_up <= to_corner else corner
            line[k] = (line[k] + near) & 255
        rows.append(line)
        last = line
    return lambda x, y: tuple(rows[y][x * step:x * step + 3])


def colour(share):
    """Returns the colour of a share by the page's own map (tools/skewer/Report/draw.js)."""
    stops = [(68, 1, 84), (59, 82, 139), (33, 145, 140), (94, 201, 98), (253, 231, 37)]
    at = min(max(share, 0), 1) * 4
    k = min(int(at), 3)
    return tuple(a + (b - a) * (at - k) for a, b in zip(stops[k], stops[k + 1]))


class ReportTest(unittest.TestCase):
    def report(self, folder, probes, *arguments):
        """Returns the page's records about itself, its data and its pixels."""
        page = os.path.join(folder, "page.html")
        subprocess.run([SKEWER, "report", *arguments, "-o", page], check=True, capture_output=True)
        with open(page, encoding="utf-8") as stream:
            text = stream.read()
        data = json.loads(re.search(r'id="data">(.*?)</script>', text, re.DOTALL).group(1))
        probed = os.path.join(folder, "probed.html")
        with open(probed, "w", encoding="utf-8") as stream:
            stream.write(text.replace("<header>", WATCH + "<header>").replace("</body>", PROBE.replace("PROBES", json.dumps(probes)) + "</body>"))
        dom = chromium(probed, "--dump-dom")
        noted = json.loads(html.unescape(re.search(r'<pre id="noted"[^>]*>(.*?)</pre>', dom, re.DOTALL).group(1)))
        picture = os.path.join(folder, "page.png")
        chromium(page, f"--screenshot={picture}")
        if os.environ.get("SKEWER_SCREENSHOTS"):
            shutil.copy(picture, os.path.join(os.environ["SKEWER_SCREENSHOTS"], self.id().rsplit(".", 1)[-1] + ".png"))
        self.assertEqual(noted["errors"], [])
        self.assertEqual(noted["drawn"], "true")
        self.assertLessEqual(noted["width"], SIZE[0], "nothing runs off the page")
        self.assertEqual(noted["lit"], [noted["line"]], "a term's line is lit while one points at the term")
        return noted, data, pixels(picture)

    def expect_colours(self, noted, pixel, name, shares):
        """Checks that the middle of each cell in the screenshot has the colour of its share; masked cells are light."""
        place = noted["places"][name]
        (x0, y0), (x1, y1) = place["first"], place["next"]
        for y, row in enumerate(shares):
            for x, share in enumerate(row):
                px, py = place["left"] + x0 + x * (x1 - x0), place["top"] + y0 + y * (y1 - y0)
                if py >= SIZE[1] - 2:
                    self.fail("the panel is below the screenshot")
                if share is None:
                    continue
                found = pixel(int(px) + 1, int(py))
                distance = max(abs(a - b) for a, b in zip(found, colour(share)))
                self.assertLessEqual(distance, 12, (name, y, x, found, colour(share)))

    def test_a_map(self):
        with tempfile.TemporaryDirectory() as folder:
            noted, data, pixel = self.report(folder, [("k0-skew0", 0, 11), ("k0-skew1", 5, 2), ("k0-map0", 3, 3)],
                                             os.path.join(ROOT, "examples", "botnet", "botnet.attn"), "-D", "H=3", "-D", "W=4", "-D", "dim=16")
            # Query 0 is at (0, 0), key 11 at (2, 3): row jy - iy + 2 = 4. Query 5 at (1, 1), key 2 at (0, 2): jx - ix + 3 = 4.
            self.assertTrue(noted["says"]["k0-skew0 0 11"].startswith("query 0, key 11 reads row 4 of rel_h"), noted["says"])
            self.assertTrue(noted["says"]["k0-skew1 5 2"].startswith("query 5, key 2 reads row 4 of rel_w"), noted["says"])
            score = data["kernels"][0]["plot"]["maps"][0]["values"][3][3]
            self.assertAlmostEqual(float(noted["says"]["k0-map0 3 3"].rsplit(": ", 1)[1]), score, delta=1e-4 * abs(score))
            self.assertEqual(noted["counts"]["section.kernel"], 1)
            for selector in ("svg.roofline", ".card.spec", ".card.terms", ".card.schedule", ".verdict", "details"):
                self.assertEqual(noted["counts"][selector], 1, selector)
            plot = data["kernels"][0]["plot"]
            self.assertEqual(noted["counts"]["canvas"], len(plot["skews"]) + len(plot["maps"]))
            for k, rows in enumerate((5, 7)):
                self.expect_colours(noted, pixel, f"k0-skew{k}", [[row / (rows - 1) for row in line] for line in plot["skews"][k]["rows"]])

    def test_a_mask(self):
        with tempfile.TemporaryDirectory() as folder:
            spec = os.path.join(ROOT, "examples", "music", "music_transformer.attn")
            noted, data, pixel = self.report(folder, [("k0-skew0", 2, 9), ("k0-skew0", 9, 2), ("k0-tiles0", 0, 0)],
                                             spec, "-D", "N=48", "-D", "heads=2", "-D", "dim=16", "--head", "1")
            self.assertEqual(noted["says"]["k0-skew0 2 9"], "query 2, key 9: masked, nothing is read")
            self.assertTrue(noted["says"]["k0-skew0 9 2"].startswith("query 9, key 2 reads row 40 of table"), noted["says"])
            self.assertIn("at an edge", noted["says"]["k0-tiles0 0 0"])
            self.assertEqual(noted["counts"][".card.tiles"], 1)
            skew = data["kernels"][0]["plot"]["skews"][0]["rows"]
            self.expect_colours(noted, pixel, "k0-skew0", [[None if row is None else row / 47 for row in line] for line in skew])
            states = data["kernels"][0]["tiles"][0]["states"]
            self.expect_colours(noted, pixel, "k0-tiles0", [[{".": None, "+": 0.45, "#": 0.8}[state] for state in line] for line in states])


    def test_several_kernels(self):
        """With several kernels the text is shown once; a run-time size has its name; a legend lists only what is there."""
        text = """param N = 12, heads = 2, dim = 8
size tokens
kernel first(q, k, v : f32[tokens, heads, N, dim], t : f32[2*N - 1]) -> f32[tokens, heads, N, dim] {
  s = einsum("b h i d, b h j d -> b h i j", q, k) + t[j - i + N - 1]
  return einsum("b h i j, b h j d -> b h i d", softmax(s), v)
}
kernel second(q, k, v : f32[tokens, heads, N, dim]) -> f32[tokens, heads, N, dim] {
  return einsum("b h i j, b h j d -> b h i d", softmax(einsum("b h i d, b h j d -> b h i j", q, k) where j <= i), v)
}
"""
        with tempfile.TemporaryDirectory() as folder:
            spec, page = os.path.join(folder, "two.attn"), os.path.join(folder, "page.html")
            with open(spec, "w", encoding="utf-8") as stream:
                stream.write(text)
            subprocess.run([SKEWER, "report", spec, "-o", page], check=True, capture_output=True)
            dom = html.unescape(chromium(page, "--dump-dom"))
        first, second = dom.split('<section id="kernel-second"')
        first = first.split('<section id="kernel-first"')[1]
        self.assertIn("<code>[tokens, 2, 12, 12]</code>", first)
        self.assertNotIn('<details class="text">', first)
        self.assertIn('<details class="text"><summary>the text</summary><div class="card spec">', second)
        legend = re.compile(r'<div class="legend">[^<]*<span class="bar".*?</div>')
        self.assertTrue(legend.findall(first) and all("masked" not in found for found in legend.findall(first)))
        self.assertTrue(any("masked" in found for found in legend.findall(second)))


if __name__ == "__main__":
    if not CHROMIUM:
        print("SKIPPED: no Chromium on this machine (Debian: apt-get install chromium); the page was not looked at", file=sys.stderr)
        sys.exit(3)
    unittest.main(argv=sys.argv[:1])
