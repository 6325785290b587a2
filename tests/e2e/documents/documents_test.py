#!/usr/bin/env python3
"""Tests the examples of the documents: their specs compile, and their C compiles with the generated headers.

usage: documents_test.py SKEWER C_COMPILER
"""
import os
import re
import subprocess
import sys
import tempfile
import unittest

ROOT = os.path.abspath(os.path.join(os.path.dirname(__file__), "..", "..", ".."))
SKEWER, COMPILER = sys.argv[1:3]

MAIN = """
int main(void) {
  enum { BATCH = 2, HEADS = 4, TOKENS = 196, DIM = 128, ROWS = 27 };
  size_t tokens = (size_t)BATCH * HEADS * TOKENS * DIM;
  float *q = calloc(tokens, sizeof(float)), *k = calloc(tokens, sizeof(float)), *v = calloc(tokens, sizeof(float));
  float *table = calloc(ROWS * DIM, sizeof(float)), *out = calloc(tokens, sizeof(float));
  for (size_t n = 0; n < tokens; ++n)
    v[n] = 3;
  int status = (int)attend(q, k, v, table, table, out, BATCH);
  /* Equal weights: every output is the mean of the values. */
  for (size_t n = 0; n < tokens; ++n)
    if (!(out[n] > 2.9999f && out[n] < 3.0001f))
      return 100;
  return status;
}
"""


def blocks(path, language):
    """Returns the fenced blocks of a page that name this language ("": none)."""
    found, current = [], None
    with open(os.path.join(ROOT, path), encoding="utf-8") as stream:
        for line in stream:
            if not line.startswith("```"):
                if current:
                    current[1].append(line)
            elif current:
                found.append(current)
                current = None
            else:
                current = (line[3:].strip(), [])
    return ["".join(lines) for name, lines in found if name == language]


class DocumentsTest(unittest.TestCase):
    def run_command(self, *command):
        done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False)
        self.assertEqual(done.returncode, 0, f"{' '.join(command)}\n{done.stdout}{done.stderr}")
        return done.stdout

    def layer(self, folder):
        """Compiles the README's layer into the folder."""
        spec, = [text for text in blocks("README.md", "attn") if "kernel botnet" in text]
        path = os.path.join(folder, "botnet.attn")
        with open(path, "w", encoding="utf-8") as stream:
            stream.write(spec)
        self.run_command(SKEWER, "compile", path, "-o", folder)
        for extension in ("o", "h", "json"):
            self.assertTrue(os.path.exists(os.path.join(folder, f"botnet.{extension}")), extension)

    def check_program(self, page):
        with tempfile.TemporaryDirectory() as folder:
            self.layer(folder)
            code, = [text for text in blocks(page, "c") if "botnet_args_init" in text]
            source, program = os.path.join(folder, "main.c"), os.path.join(folder, "main")
            with open(source, "w", encoding="utf-8") as stream:
                stream.write(code + MAIN)
            self.run_command(COMPILER, "-std=c11", "-Wall", "-Werror", f"-I{folder}", source,
                             os.path.join(folder, "botnet.o"), "-lm", "-o", program)
            self.run_command(program)

    def test_the_readme_program_runs(self):
        self.check_program("README.md")

    def test_the_integration_program_runs(self):
        self.check_program("docs/integration.md")

    def test_the_program_with_the_library_runs(self):
        """docs/library.md: the program compiles the README's layer in memory, and prints the error of another text."""
        library = os.path.join(os.path.dirname(os.path.dirname(SKEWER)), "lib")
        if not os.path.exists(os.path.join(library, "libskewer.so")):
            self.skipTest("libskewer was not built")
        spec, = [text for text in blocks("README.md", "attn") if "kernel botnet" in text]
        main = """
#include <stdlib.h>
int main(int count, char **words) { return count == 2 ? compile_layer(words[1]) : 100; }
"""
        code, = blocks("docs/library.md", "c")
        with tempfile.TemporaryDirectory() as folder:
            source, program = os.path.join(folder, "main.c"), os.path.join(folder, "main")
            with open(source, "w", encoding="utf-8") as stream:
                stream.write(code + main)
            self.run_command(COMPILER, "-std=c11", "-Wall", "-Werror", "-I" + os.path.join(ROOT, "tools", "libskewer"), source, "-L" + library,
                             "-lskewer", "-Wl,-rpath," + library, "-o", program)
            self.run_command(program, spec)
            done = subprocess.run([program, spec.replace("weights, v", "weight, v")], capture_output=True, text=True, check=False)
            self.assertEqual(done.returncode, 1)
            self.assertRegex(done.stderr, r"^botnet\.attn, line 11, column \d+: .*'weight'")

    def test_the_specs_of_the_guides_run(self):
        """Every kernel of every text agrees with the float64 reference, at the guide's sizes."""
        guides = sorted(os.path.relpath(os.path.join(folder, name), ROOT) for folder, _, names in os.walk(os.path.join(ROOT, "docs"))
                        for name in names if name.endswith(".md"))
        specs = [(name, text) for name in guides for text in blocks(name, "attn")]
        self.assertGreaterEqual(len(specs), 25)
        for name, text in specs:
            with self.subTest(page=name), tempfile.TemporaryDirectory() as folder:
                path = os.path.join(folder, "spec.attn")
                with open(path, "w", encoding="utf-8") as stream:
                    stream.write(text)
                if "kernel" not in text:
                    continue
                sizes = ["--size", "batch=2"] if "size batch" in text else []
                said = self.run_command(SKEWER, "run", path, *sizes, "--rows", "64")
                compared = re.findall(r"^(\w+)(?:\.\w+)?: \d+ of \d+ rows compared with the float64 reference", said, re.MULTILINE)
                self.assertEqual(set(compared), set(re.findall(r"^kernel (\w+)", text, re.MULTILINE)), said)
                self.assertEqual(len(compared), said.count("compared with the float64 reference"), said)

    def test_the_cookbook_is_laid_out(self):
        for page in sorted(os.listdir(os.path.join(ROOT, "docs", "cookbook"))):
            for text in blocks(os.path.join("docs", "cookbook", page), "attn"):
                with self.subTest(page=page), tempfile.TemporaryDirectory() as folder:
                    path = os.path.join(folder, "spec.attn")
                    with open(path, "w", encoding="utf-8") as stream:
                        stream.write(text)
                    self.run_command(SKEWER, "format", "--check", path)

    def test_the_readme_schemes_compile(self):
        schemes, = [text for text in blocks("README.md", "attn") if "scheme rel1d" in text]
        kernel = """
kernel layer(q, k, v : f32[1, 2, 8, 16], table : f32[15, 16], slope : f32[2]) -> f32[1, 2, 8, 16] {
  content = einsum("b h i d, b h j d -> b h i j", q, k)
  weights = softmax(content + my_rel1d(q, table) + my_alibi(slope))
  return einsum("b h i j, b h j d -> b h i d", weights, v)
}
"""
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "layer.attn")
            with open(path, "w", encoding="utf-8") as stream:
                stream.write(schemes.replace("rel1d", "my_rel1d").replace("alibi", "my_alibi") + kernel)
            self.run_command(SKEWER, "compile", path, "-o", folder)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
