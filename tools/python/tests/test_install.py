"""Tests of `pip install .`: its output, and the files that a failed one leaves behind."""

import os
import pty
import re
import shutil
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]
PROGRESS = ROOT / "tools" / "python" / "progress.py"
# Prints like ninja: 200 steps, one every 20 ms or so.
BUILD = "import time\nfor step in range(1, 201):\n    print(f'[{step}/200] Building', flush=True)\n    time.sleep(0.02)\n"


def on_a_terminal(command):
    """Runs a command without standard streams of a terminal. Returns its output on its terminal, and its exit status."""
    child, terminal = pty.fork()
    if not child:
        os.dup2(1, 9)  # keeps the terminal open: it hangs up if no process has it open
        quiet = os.open(os.devnull, os.O_RDWR)
        for stream in (0, 1, 2):
            os.dup2(quiet, stream)
        os.execv(command[0], command)
    text = b""
    while True:
        try:
            part = os.read(terminal, 4096)
        except OSError:  # the other end is closed
            break
        if not part:
            break
        text += part
    os.close(terminal)
    return text.decode(), os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


class Progress(unittest.TestCase):
    def test_a_terminal_hears_of_it(self):
        text, status = on_a_terminal([sys.executable, str(PROGRESS), sys.executable, "-c", BUILD])
        self.assertEqual(status, 0)
        self.assertIn("building the compiler in build/release, once, 200 steps: about 13 minutes", text)
        self.assertRegex(text, r"skewer: \d+ of 200")
        self.assertTrue(text.endswith("\r\033[K"), text)
        text, status = on_a_terminal([sys.executable, str(PROGRESS), sys.executable, "-c", BUILD.replace("201", "6").replace("/200", "/5")])
        self.assertEqual((text, status), ("", 0))  # nothing that anybody would wait for

    def test_the_build_is_passed_on(self):
        for status in (0, 3):
            done = subprocess.run([sys.executable, PROGRESS, sys.executable, "-c", f"print('[1/30] one')\nprint('two')\nexit({status})"],
                                  stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False, start_new_session=True)
            self.assertEqual((done.returncode, done.stdout, done.stderr), (status, "[1/30] one\ntwo\n", ""))


@unittest.skipUnless(shutil.which("cmake"), "no cmake")
class Failed(unittest.TestCase):
    def configure(self, path):
        """Configures the package in a bare clone, with the programs of one folder only."""
        return subprocess.run([shutil.which("cmake"), "-S", self.clone / "tools" / "python", "-B", self.clone / "build" / "python", "-G", "Ninja",
                               f"-DCMAKE_MAKE_PROGRAM={shutil.which('ninja')}", "-DCMAKE_FIND_USE_CMAKE_SYSTEM_PATH=OFF"],
                              env={**os.environ, "PATH": str(path), "CXX": ""}, capture_output=True, text=True, check=False)

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.clone = Path(folder.name) / "clone"
        (self.clone / "tools").mkdir(parents=True)
        shutil.copytree(ROOT / "tools" / "python", self.clone / "tools" / "python", ignore=shutil.ignore_patterns("__pycache__"))

    def test_says_what_to_install(self):
        empty = self.clone.parent / "empty"
        empty.mkdir()
        done = self.configure(empty)
        self.assertNotEqual(done.returncode, 0)
        said = re.sub(r"\s+", " ", done.stderr)
        self.assertRegex(said, r"cannot be built here: clang-22, .*not found\. On Debian 12 run this first, in the clone: tools/bootstrap setup")
        self.assertFalse((self.clone / "build" / "release").exists())

    def test_a_configure_that_fails_leaves_nothing(self):
        # All programs are there, but the compiler's own CMakeLists.txt is wrong.
        (self.clone / "CMakePresets.json").write_text('{"version": 6, "configurePresets": [{"name": "release", "generator": "Ninja", '
                                                      '"binaryDir": "${sourceDir}/build/release"}]}')
        (self.clone / "CMakeLists.txt").write_text('cmake_minimum_required(VERSION 3.25)\nproject(X NONE)\nmessage(FATAL_ERROR "no MLIR")\n')
        done = self.configure(os.environ["PATH"])
        self.assertNotEqual(done.returncode, 0)
        if "Nothing was left behind" not in re.sub(r"\s+", " ", done.stderr):
            self.skipTest("nothing here builds the compiler: " + done.stderr[-300:])
        self.assertIn("no MLIR", done.stderr)
        self.assertFalse((self.clone / "build" / "release").exists())


if __name__ == "__main__":
    unittest.main()
