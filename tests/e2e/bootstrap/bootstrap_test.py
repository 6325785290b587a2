#!/usr/bin/env python3
"""Tests tools/bootstrap and .ci/run from outside: usage, unknown commands, missing packages, repeated set-up."""
import os
import shutil
import stat
import subprocess
import sys
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
        for command in ("setup", "build", "test", "demo", "gpu-test", "frameworks-test", "install", "wheel"):
            self.assertRegex(done.stdout, rf"(?m)^  {command}\s")

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
        """Runs `setup` with a dpkg-query on PATH that knows `present`, and without apt-get. Returns the result."""
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


class BuildTest(unittest.TestCase):
    """Tests what is configured and built. All packages are there; cmake, ninja, ctest and python3 only print their arguments."""

    def commands(self, command, *arguments, cache="", status=0, installed="installed", configured=True, **scripts_of):
        with tempfile.TemporaryDirectory() as root:
            tools, log = os.path.join(root, "bin"), os.path.join(root, "log")
            for folder in ("bin", "tools", "build/release"):
                os.makedirs(os.path.join(root, folder))
            shutil.copy(BootstrapTest.script, os.path.join(root, "tools"))
            with open(os.path.join(root, "build/release/CMakeCache.txt"), "w", encoding="utf-8") as stream:
                stream.write(cache)
            if configured:
                open(os.path.join(root, "build/release/build.ninja"), "w", encoding="utf-8").close()
            for tool in ("dirname", "head", "mkdir", "tee", "awk", "grep", "cat"):
                os.symlink(shutil.which(tool), os.path.join(tools, tool))
            scripts = {"dpkg-query": f"printf '{installed}'", "nproc": "echo 2", "python3": f'echo "python3 $2" >> {log}'}
            for tool in ("cmake", "ninja", "ctest", "ptxas", "cuobjdump", "nvdisasm"):
                scripts[tool] = f'echo "{tool} $*" >> {log}' + f"\n{scripts_of.get(tool, 'true')}"
            for tool, script in scripts.items():
                with open(os.path.join(tools, tool), "w", encoding="utf-8") as stream:
                    stream.write(f"#!{BASH}\n{script}\n")
                os.chmod(os.path.join(tools, tool), 0o755)
            done = call(os.path.join(root, "tools", "bootstrap"), command,
                        *[argument.format(root=root) for argument in arguments], env={"PATH": tools})
            self.messages = done.stdout + done.stderr
            self.assertEqual(done.returncode, status, done.stderr)
            if not os.path.exists(log):
                return []
            with open(log, encoding="utf-8") as stream:
                return stream.read().replace(root, "").splitlines()

    def test_nothing_is_built_without_its_packages(self):
        for command in ("build", "test", "sanitized", "demo"):
            self.assertEqual(self.commands(command, status=1, installed=""), [], command)
        self.assertEqual(self.commands("install", "--prefix={root}/to", status=1, installed=""), [])

    def test_an_installation_is_built_whole_and_installed(self):
        for arguments in ("--prefix={root}/to/here",), ("--prefix", "{root}/to/here"):
            configure, build, install = self.commands("install", *arguments)
            self.assertEqual(configure, "cmake --preset release -DSKEWER_BUILD_TESTS=OFF -DSKEWER_UNITY=ON")
            self.assertRegex(build, r"^ninja -C /build/release -j [12] skewer-installation$")
            self.assertEqual(install, "cmake --install /build/release --component skewer --prefix /to/here")

    def test_an_installation_that_cannot_be_is_refused_before_anything_is_built(self):
        self.assertEqual(self.commands("install", "--prefix", status=2), [])
        self.assertIn("--prefix: a folder is missing", self.messages)
        self.assertEqual(self.commands("install", "/usr", status=2), [])
        self.assertIn("unknown argument '/usr'", self.messages)
        self.assertEqual(self.commands("install", "--prefix={root}/tools/bootstrap/here", status=1), [])
        self.assertIn("/tools/bootstrap' is no folder that can be written to", self.messages)

    def test_the_demo_builds_the_compiler_alone(self):
        configure, build, table = self.commands("demo")
        self.assertEqual(configure, "cmake --preset release -DSKEWER_BUILD_TESTS=OFF -DSKEWER_UNITY=ON")
        self.assertRegex(build, r"^ninja -C /build/release -j [12] skewer$")
        self.assertTrue(table.startswith("python3"))

    def test_a_configuration_that_failed_is_begun_anew(self):
        configure = self.commands("demo", configured=False)[0]
        self.assertEqual(configure, "cmake --fresh --preset release -DSKEWER_BUILD_TESTS=OFF -DSKEWER_UNITY=ON")

    def test_the_demo_leaves_the_tests_of_a_build_alone(self):
        self.assertIn("-DSKEWER_BUILD_TESTS=ON", self.commands("demo", cache="SKEWER_BUILD_TESTS:BOOL=ON\n")[0])

    def test_the_tests_are_built_and_run(self):
        commands = self.commands("test", cache="SKEWER_BUILD_TESTS:BOOL=OFF\n")
        self.assertEqual(commands[0], "cmake --preset release -DSKEWER_BUILD_TESTS=ON -DSKEWER_UNITY=ON")
        self.assertRegex(commands[1], r"^ninja -C /build/release -j [12]$")
        self.assertRegex(commands[2], r"^ctest --preset release")
        self.assertEqual(commands[3], "cmake --preset sanitized")
        self.assertRegex(commands[4], r"^ninja -C /build/sanitized -j [12] SubscriptTests LanguageTests$")
        self.assertRegex(commands[5], r"^ctest --preset sanitized -C sample .*-R \^unit")

    def test_the_python_package_is_tested_or_it_is_said_that_it_is_not(self):
        self.assertEqual(self.commands("test")[6:], ["python3 venv"])

    def test_sanitized_builds_and_runs_a_sample(self):
        commands = self.commands("sanitized")
        self.assertEqual(commands[0], "cmake --preset sanitized")
        self.assertRegex(commands[1], r"^ninja -C /build/sanitized -j [12] SubscriptTests .*skewer-opt periodic$")
        self.assertRegex(commands[2], r"^ctest --preset sanitized -C sample .*-R .*lit")

    def test_a_test_that_fails_is_the_status(self):
        for command, presets in ("test", ("release", "sanitized")), ("sanitized", ("sanitized",)):
            for preset in presets:
                commands = self.commands(command, ctest=f'[ "$2" != {preset} ]', status=1)
                self.assertEqual(sum(line.startswith("ctest") for line in commands), len(presets))

    def test_a_sample_that_does_not_build_is_the_status(self):
        for command in ("test", "sanitized"):
            commands = self.commands(command, ninja='[ "$2" = "${2%sanitized}" ]', status=1)
            self.assertTrue([line for line in commands if not line.startswith("python3")][-1].startswith("ninja"))


class GpuTest(unittest.TestCase):
    matrix = os.path.join(ROOT, "tests", "gpu", "matrix.py")

    def test_without_a_driver_nothing_passes(self):
        """If the first libcuda.so.1 on the path is no library, the exit code is 3, with a message, and nothing is built."""
        with tempfile.TemporaryDirectory() as folder:
            with open(os.path.join(folder, "libcuda.so.1"), "w", encoding="utf-8") as stream:
                stream.write("none\n")
            done = call(os.path.join(ROOT, "tools", "bootstrap"), "gpu-test", env={**os.environ, "LD_LIBRARY_PATH": folder})
        self.assertEqual(done.returncode, 3)
        self.assertIn("nothing was tested, there is no GPU: NVIDIA's driver cannot be loaded", done.stderr)
        self.assertEqual(done.stdout, "")

    def run_matrix(self, script, *arguments, tools=""):
        """Runs the matrix with shell scripts in place of the driver and of compute-sanitizer."""
        with tempfile.TemporaryDirectory() as folder:
            for name, text in (("driver", script), ("compute-sanitizer", tools)):
                if text:
                    path = os.path.join(folder, name)
                    with open(path, "w", encoding="utf-8") as stream:
                        stream.write(f"#!{BASH}\n{text}\n")
                    os.chmod(path, 0o755)
            return subprocess.run([sys.executable, self.matrix, "--skewer", os.path.join(folder, "driver"), *arguments],
                                  capture_output=True, text=True, check=False, env={"PATH": folder})

    def test_no_gpu_ends_the_matrix(self):
        done = self.run_matrix("echo 'skewer: error: there is no GPU to run on: none' >&2; exit 3", "--quick")
        self.assertEqual(done.returncode, 3)
        self.assertIn("gpu-test: not run: skewer: error: there is no GPU to run on", done.stderr)
        self.assertNotIn("right", done.stdout)

    def test_every_layer_is_run_and_a_wrong_one_is_reported(self):
        script = 'case $2 in *segments*) echo "the error is above the tolerance"; exit 1 ;; esac'
        done = self.run_matrix(script, "--quick")
        self.assertEqual(done.returncode, 1)
        self.assertIn("WRONG  segments 2x3x7x11x32 f16: exit code 1\n  the error is above the tolerance", done.stdout)
        self.assertRegex(done.stdout, r"gpu-test: 20 right, 1 wrong")

    @unittest.skipIf(os.path.exists("/usr/local/cuda/bin/compute-sanitizer"), "there is a compute-sanitizer")
    def test_a_missing_sanitizer_is_said(self):
        done = self.run_matrix("exit 0", "--quick")
        self.assertEqual(done.returncode, 0)
        self.assertIn("compute-sanitizer was not found", done.stdout)

    def test_a_sample_runs_under_every_checker(self):
        tools = '[ "$2" = racecheck ] && [[ "$*" == *lengths* ]] && { echo "a hazard"; exit 9; }; exit 0'
        done = self.run_matrix("exit 0", "--quick", "--layers", "content", "lengths", tools=tools)
        self.assertEqual(done.returncode, 1)
        self.assertIn("ok     content under memcheck", done.stdout)
        self.assertIn("ok     lengths under synccheck", done.stdout)
        self.assertIn("WRONG  lengths under racecheck: exit code 9\n  a hazard", done.stdout)
        self.assertIn("9 right, 1 wrong", done.stdout)


class GpuBenchTest(unittest.TestCase):
    """Tests tests/bench/gpu.py with drivers, and a Python with torch, that report known numbers."""

    def measure(self, driver, torch=""):
        with tempfile.TemporaryDirectory() as folder:
            for name, text in (("driver", driver), ("torch", torch)):
                with open(os.path.join(folder, name), "w", encoding="utf-8") as stream:
                    stream.write(f"#!{BASH}\n{text}\n")
                os.chmod(os.path.join(folder, name), 0o755)
            environment = {"PATH": folder, "SKEWER_TORCH_PYTHON": os.path.join(folder, "torch") if torch else ""}
            script = os.path.join(ROOT, "tests", "bench", "gpu.py")
            return subprocess.run([sys.executable, script, "layer.attn", "--skewer", os.path.join(folder, "driver"), "--size",
                                   "batch=4"], capture_output=True, text=True, check=False, env=environment)

    report = ('{"gpu": "Some GPU", "kernels": [{"name": "layer", "median_seconds": 0.00125, "tflops": 80.5, "max_error": 2.5e-4,'
              ' "is_right": true, "sm_clock_mhz": [1980, 1755]}]}')
    manifest = ('{"inputs": [{"name": "q", "type": "f16", "shape": ["batch", 8, 64, 32]}, {"name": "k", "type": "f16", "shape": '
                '["batch", 8, 96, 32]}, {"name": "v", "type": "f16", "shape": ["batch", 8, 96, 32]}]}')

    def test_a_layer_stands_beside_torch(self):
        driver = f"if [ $1 = bench ]; then echo '{self.report}'; else echo '{self.manifest}' > \"${{@: -1}}/layer.json\"; fi"
        torch = ("[ \"$1\" = -c ] && exit 0\n[[ $2 == *'\"q\": [4, 8, 64, 32], \"k\": [4, 8, 96, 32]'*f16* ]] || exit 1\n"
                 "echo '{\"torch\": \"2.9\", \"sdpa_seconds\": 0.001, \"flex_error\": \"no compiler\", \"matmul_tflops\": 700}'")
        done = self.measure(driver, torch)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertRegex(done.stdout, r"layer +1\.2500 ms +80\.50 TFLOP/s  error 0\.00025  Some GPU at 1980 and 1755 MHz")
        self.assertIn("torch 2.9, without positions: SDPA 1.0000 ms, FlexAttention with a table of distances no compiler; "
                      "matrix product 700 TFLOP/s", done.stdout)

    def test_without_torch_or_gpu_it_says_so(self):
        done = self.measure(f"echo '{self.report}'")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("no Python with torch and CUDA was found", done.stdout)
        self.assertEqual(self.measure("echo 'no GPU' >&2; exit 3").returncode, 3)
        self.assertEqual(self.measure(f"echo '{self.report}'; exit 1").returncode, 1)


class TableTest(unittest.TestCase):
    def test_table_prints_what_bench_reports(self):
        """The table shows the known numbers of a driver; if the driver fails, the status is 1."""
        with tempfile.TemporaryDirectory() as folder:
            driver = os.path.join(folder, "driver")
            report = ('{"kernels": [{"name": "layer", "max_error": 2.5e-7, "median_seconds": 0.00125, "gflops": 80.0, '
                      '"percent_of_peak": 65.7, "predicted_seconds": 0.001, "workspace_bytes": 2048}]}')
            with open(driver, "w", encoding="utf-8") as stream:
                stream.write(f"#!{BASH}\n[ \"$1\" = bench ] && echo '{report}'\n")
            os.chmod(driver, 0o755)
            spec = os.path.join(folder, "layer.attn")
            done = call(os.path.join(ROOT, "tests/bench/run"), spec, env={**os.environ, "SKEWER": driver})
            self.assertEqual(done.returncode, 0, done.stderr)
            self.assertRegex(done.stdout, r"layer +2\.5e-07 +1\.250 +80\.0 +66 % +1\.25 +- +2\.0 KB +-")
            with open(driver, "w", encoding="utf-8") as stream:
                stream.write(f"#!{BASH}\necho '{report}'\nexit 3\n")
            done = call(os.path.join(ROOT, "tests/bench/run"), spec, env={**os.environ, "SKEWER": driver})
            self.assertEqual(done.returncode, 1)
            self.assertIn("failed with status 3", done.stderr)
            self.assertRegex(done.stdout, "layer .* wrong")


if __name__ == "__main__":
    unittest.main()
