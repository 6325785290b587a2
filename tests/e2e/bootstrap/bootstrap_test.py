#!/usr/bin/env python3
"""tools/bootstrap and .ci/run behave on the outside: usage, unknown commands, missing packages, repeated set-up."""
import os
import shutil
import stat
import subprocess
import tempfile
import unittest

ROOT = os.path.abspath(os.path.join(os.path.dirname(__file__), "..", "..", ".."))
BASH = shutil.which("bash")


def call(*arguments, **options):
    return subprocess.run([BASH, *arguments], stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False, **options)


class BootstrapTest(unittest.TestCase):
    script = os.path.join(ROOT, "tools", "bootstrap")

    def test_help_names_every_command(self):
        done = call(self.script, "--help")
        self.assertEqual(done.returncode, 0)
        for command in ("setup", "build", "test", "demo"):
            self.assertRegex(done.stdout, rf"(?m)^  {command} ")

    def test_unknown_command_is_an_error_with_usage(self):
        done = call(self.script, "tset")
        self.assertEqual(done.returncode, 2)
        self.assertIn("unknown command 'tset'", done.stderr)
        self.assertIn("usage:", done.stderr)

    def test_scripts_are_executable_and_parse(self):
        for path in ("tools/bootstrap", ".ci/run", "tests/bench/run"):
            full = os.path.join(ROOT, path)
            self.assertTrue(os.stat(full).st_mode & stat.S_IXUSR, f"{path} is not executable")
            self.assertEqual(call("-n", full).returncode, 0, path)

    def without_apt(self, present):
        """The result of `setup` where the search path holds a dpkg-query that knows `present`, and no apt-get."""
        with tempfile.TemporaryDirectory() as folder:
            for tool in ("dirname", "head", "id", "env"):
                os.symlink(shutil.which(tool), os.path.join(folder, tool))
            query = os.path.join(folder, "dpkg-query")
            with open(query, "w", encoding="utf-8") as stream:
                accepted = "|".join(present) or "-"
                stream.write(f'#!{BASH}\nfor last; do :; done\ncase $last in {accepted}) printf installed ;; *) exit 1 ;; esac\n')
            os.chmod(query, 0o755)
            return call(self.script, "setup", env={"PATH": folder})

    def test_missing_packages_are_named_where_they_cannot_be_installed(self):
        done = self.without_apt(["cmake", "git"])
        self.assertEqual(done.returncode, 1)
        self.assertIn("not Debian 12", done.stderr)
        named = done.stderr.split(":")[-1].split()
        self.assertIn("clang-22", named)
        self.assertIn("libmlir-22-dev", named)
        self.assertNotIn("cmake", named)

    def test_setup_with_everything_there_needs_no_apt(self):
        done = self.without_apt(["*"])
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("packages are installed", done.stdout)


class TableTest(unittest.TestCase):
    def test_table_prints_what_bench_reports(self):
        """A driver that reports known numbers: the table shows them; one that fails: status 1."""
        with tempfile.TemporaryDirectory() as folder:
            driver = os.path.join(folder, "driver")
            report = ('{"kernels": [{"name": "layer", "max_error": 2.5e-7, "median_seconds": 0.00125, "gflops": 80.0, '
                      '"percent_of_peak": 65.7, "workspace_bytes": 2048}]}')
            with open(driver, "w", encoding="utf-8") as stream:
                stream.write(f"#!{BASH}\n[ \"$1\" = bench ] && echo '{report}'\n")
            os.chmod(driver, 0o755)
            spec = os.path.join(folder, "layer.attn")
            done = call(os.path.join(ROOT, "tests/bench/run"), spec, env={**os.environ, "SKEWER": driver})
            self.assertEqual(done.returncode, 0, done.stderr)
            self.assertRegex(done.stdout, r"layer +2\.5e-07 +1\.250 +80\.0 +66 % +- +2\.0 KB +-")
            with open(driver, "w", encoding="utf-8") as stream:
                stream.write(f"#!{BASH}\necho '{report}'\nexit 3\n")
            done = call(os.path.join(ROOT, "tests/bench/run"), spec, env={**os.environ, "SKEWER": driver})
            self.assertEqual(done.returncode, 1)
            self.assertIn("failed with status 3", done.stderr)
            self.assertRegex(done.stdout, "layer .* wrong")


if __name__ == "__main__":
    unittest.main()
