#!/usr/bin/env python3
"""Tests the site of the guides: it builds without a warning, its navigation has every guide, and it refuses a wrong link.

usage: site_test.py FOLDER
"""
import html
import importlib.util
import os
import re
import subprocess
import sys
import unittest

ROOT = os.path.abspath(os.path.join(os.path.dirname(__file__), "..", "..", ".."))
FOLDER = sys.argv[1]
BUILD = os.path.join(ROOT, "tools", "site", "build.py")
spec = importlib.util.spec_from_file_location("site_build", BUILD)
site = importlib.util.module_from_spec(spec)
spec.loader.exec_module(site)


def read(*path):
    with open(os.path.join(*path), encoding="utf-8") as stream:
        return stream.read()


class SiteTest(unittest.TestCase):
    def test_pages(self):
        front = read(FOLDER, "site", "index.html")
        self.assertIn("Your first layer", front)
        recipes = [name for name in os.listdir(os.path.join(ROOT, "docs", "cookbook")) if name.endswith(".md")]
        self.assertGreaterEqual(len(recipes), 17)
        for name in recipes + ["tour.md", "questions.md", "speed.md", "comparison.md", "glossary.md"]:
            path = ("docs/cookbook/" if name in recipes else "docs/") + ("index" if name == "README.md" else name[:-3]) + ".html"
            self.assertTrue(os.path.exists(os.path.join(FOLDER, "site", path)), path)
            self.assertIn(f'href="{path}"', front, "in the navigation")
        self.assertTrue(os.path.exists(os.path.join(FOLDER, "site", "search", "search_index.json")))
        page = read(FOLDER, "site", "docs", "cookbook", "llama.html")
        self.assertIn("kernel llama(", re.sub(r"<[^>]+>", "", page))
        self.assertIn('href="../../skewer.css"', page)
        self.assertTrue(os.path.exists(os.path.join(FOLDER, "site", "skewer.css")))

    def test_attn_is_highlighted(self):
        """Words, built-in functions and index expressions have classes of Pygments, and each class has a colour."""
        page, style = read(FOLDER, "site", "docs", "tour.html"), read(FOLDER, "site", "skewer.css")
        for kind, text in (("kd", "kernel"), ("nf", "layer"), ("nb", "softmax"), ("si", "(j - i + N - 1)"), ("k", "where"), ("kt", "f32")):
            self.assertIn(f'<span class="{kind}">{text}</span>', page)
            self.assertIn(f".highlight .{kind}", style)
        self.assertNotIn('class="err"', page)

    def test_nothing_of_markdown_is_left(self):
        """No line of a page's text begins like an item or a row, which MkDocs misses without an empty line before it."""
        for folder, _, files in os.walk(os.path.join(FOLDER, "site")):
            for name in files:
                if name.endswith(".html"):
                    prose = re.sub(r"<pre>.*?</pre>|<code>.*?</code>", "", read(folder, name), flags=re.DOTALL)
                    left = re.search(r"^\s*(?:[-*|] .*|\|.*)", html.unescape(re.sub(r"<[^>]+>", "", prose)), re.MULTILINE)
                    self.assertIsNone(left, f"{folder}/{name}: {left and left.group()}")

    def test_links_of_the_site_lead_somewhere(self):
        for folder, _, files in os.walk(os.path.join(FOLDER, "site")):
            for name in files:
                if not name.endswith(".html") or name == "404.html":
                    continue
                for link in re.findall(r'href="([^"#?:]+)["#?]', read(folder, name)):
                    self.assertTrue(os.path.exists(os.path.normpath(os.path.join(folder, link))), f"{folder}/{name}: {link}")

    def test_links_out_of_the_pages_become_text(self):
        known = {"docs/a.md", "docs/b.md", "examples/README.md"}
        staged = lambda text: site.staged("docs/a.md", text, known)
        self.assertEqual(staged("[b](b.md#part) [x](../examples/)"), "[b](b.md#part) [x](../examples/README.md)")
        self.assertEqual(staged("[the source](../tools/x.cpp)"), "the source (`tools/x.cpp`)")
        self.assertEqual(staged("[`tools/x.cpp`](../tools/x.cpp) [web](https://a.b/c)"), "`tools/x.cpp` [web](https://a.b/c)")
        code = "```\n[no](link.cpp)\n```\n    [no](link.cpp)\n`[no](link.cpp)`"
        self.assertEqual(staged(code), code)

    def test_code_in_a_paragraph_stays_on_one_line(self):
        staged = lambda text: site.staged("docs/a.md", text, {"docs/a.md"})
        self.assertEqual(staged("run `skewer\n  run` and `b`,\n`c d`\n"), "run `skewer run` and `b`,\n`c d`\n")
        block = "`a`\n```\n`b\nc`\n```\n"
        self.assertEqual(staged(block), block)
        self.assertNotRegex(read(FOLDER, "site", "dialect", "LANGUAGE.html"), r"<code>skewer\s*\n")

    def test_items_and_rows_stay_apart(self):
        """The text between two pieces of code in two items, rows or paragraphs is not joined, on any page."""
        lists = "- `a` is one\n- `b`\n  goes `on\n  here`\n1. `c`\n\n`d`\n\n`e`\n"
        self.assertEqual(site.on_one_line(lists), lists.replace("`on\n  here`", "`on here`"))
        rows = "| a | b |\n|---|---|\n| `c` | d |\n| `e` | f |\n"
        self.assertEqual(site.on_one_line(rows), rows)
        begins = re.compile(r"^(?:\s*(?:[-*+]|\d+\.) |\||#)", re.MULTILINE)
        for page in site.pages():
            count = len(begins.findall(read(ROOT, page)))
            self.assertEqual(len(begins.findall(read(FOLDER, "pages", page))), count, page)
        rows = read(ROOT, "docs", "glossary.md").split("## Classes of terms")[1].split("## ")[0].count("\n| ") - 1
        shown = read(FOLDER, "site", "docs", "glossary.html").split('id="classes-of-terms"')[1].split("<h2")[0]
        self.assertEqual(shown.count("<tr>"), rows + 1)

    def test_a_wrong_link_is_an_error(self):
        own = os.path.join(FOLDER, "wrong")
        mkdocs = os.path.join(FOLDER, "environment", "bin", "mkdocs")
        site.stage(own) if not os.path.isdir(own) else None
        with open(os.path.join(own, "pages", "docs", "tour.md"), "a", encoding="utf-8") as stream:
            stream.write("\n[nowhere](nowhere.md)\n")
        done = subprocess.run([mkdocs, "build", "--strict", "--config-file", os.path.join(own, "mkdocs.yml")],
                              capture_output=True, text=True, check=False)
        self.assertNotEqual(done.returncode, 0)
        self.assertIn("nowhere.md", done.stdout + done.stderr)


class PythonReferenceTest(unittest.TestCase):
    def test_it_is_what_docstrings_say(self):
        script = os.path.join(ROOT, "tools", "site", "python_reference.py")
        done = subprocess.run([sys.executable, script, "--check"], capture_output=True, text=True, check=False)
        self.assertEqual((done.returncode, done.stderr), (0, ""))

    def test_it_has_every_public_name(self):
        page = read(FOLDER, "site", "docs", "reference", "python.html")
        for module in ("__init__", "torch", "jax", "ring", "jax_ring"):
            names = re.search(r"__all__ = \[(.*?)\]", read(ROOT, "tools", "python", "skewer", module + ".py"), re.DOTALL).group(1)
            full = "skewer" if module == "__init__" else "skewer." + module
            for name in re.findall(r'"(\w+)"', names):
                self.assertIn(f"<code>{full}.{name}</code>", page)
        self.assertIn("raises ArgumentError if an array does not fit", page.replace("Raises", "raises"))


if __name__ == "__main__":
    done = subprocess.run([sys.executable, BUILD, FOLDER], check=False)
    if done.returncode:
        sys.exit(done.returncode)
    unittest.main(argv=sys.argv[:1])
