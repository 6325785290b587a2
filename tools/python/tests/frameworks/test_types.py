"""Checks the package's types with a user's type checker."""

import os
import subprocess
import sys
import tempfile
import unittest

PROGRAM = """import pathlib
import numpy as np
import skewer
from skewer import ring, torch as skewer_torch

layer = skewer.compile(pathlib.Path("layer.attn"), H=16, gamma=0.5, target="host", threads=2)
arrays = layer.example(batch=2)
out = layer(**arrays)
layer(arrays["q"], np.zeros(3, np.float32), out=out, threads=2, sizes={"batch": 2})
median: float = layer.bench(batch=8).median
text: str = layer.explain(json=True) + layer.plot(head=1) + layer.report("page.html")
try:
    prepared: skewer.Prepared = layer.prepare(table=arrays["table"])
except skewer.CompileError as error:
    line: int = error.diagnostics[0].line
except skewer.ArgumentError as wrong:
    name: str = wrong.argument
module = skewer_torch.Module(layer, values={"table": arrays["table"]})
attend = ring.Ring("ring.attn", 8192, timeout=3.0)
"""


class Types(unittest.TestCase):
    def check(self, text):
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "program.py")
            with open(path, "w", encoding="utf-8") as file:
                file.write(text)
            done = subprocess.run([sys.executable, "-m", "mypy", "--strict", "--cache-dir", folder, path], cwd=folder,
                                  capture_output=True, text=True, check=False)
        self.assertEqual(done.stderr, "")
        return done.stdout

    def test_a_program_has_no_errors(self):
        self.assertTrue(self.check(PROGRAM).startswith("Success"), self.check(PROGRAM))

    def test_mistakes_are_errors(self):
        said = self.check("import skewer\nlayer = skewer.compile(3)\nlayer.bench().medain\nskewer.compil\n")
        for line, text in ((2, "incompatible type"), (3, '"medain"'), (4, '"compil"')):
            self.assertRegex(said, rf"program\.py:{line}: error: .*{text}")


if __name__ == "__main__":
    unittest.main()
