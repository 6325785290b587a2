#!/usr/bin/env python3
"""Tests tests/gpu/ladder.py with drivers that report known numbers, fail, or hang."""
import ast
import json
import os
import shutil
import struct
import subprocess
import sys
import tempfile
import unittest

ROOT = os.path.abspath(os.path.join(os.path.dirname(__file__), "..", "..", ".."))
LADDER = os.path.join(ROOT, "tests", "gpu", "ladder.py")
sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(ROOT, "tests", "gpu"))
import speed  # noqa: E402

REPORT = ('{"kernels": [{"name": "x", "median_seconds": 0.0005, "min_seconds": 0.0004, "tflops": 123.0, "sm_clock_mhz": [1980, 1755], '
          '"max_error": 0.002, "is_right": true}]}')
# Takes its turn on the GPU as `skewer bench` does, and keeps it for so many seconds.
TURN = """import fcntl, os, sys, time
with open(os.path.join(os.environ["TMPDIR"], "skewer-gpu.lock"), "a") as stream:
    fcntl.lockf(stream, fcntl.LOCK_EX)
    time.sleep(float(sys.argv[1]))
"""


def script(folder, name, text):
    path = os.path.join(folder, name)
    with open(path, "w", encoding="utf-8") as stream:
        stream.write(f"#!{shutil.which('bash')}\n{text}\n")
    os.chmod(path, 0o755)
    return path


class LadderTest(unittest.TestCase):
    def climb(self, driver, *arguments, torch="exit 1"):
        """Runs the ladder with a shell script in place of the compiler; returns what it printed and its JSON."""
        with tempfile.TemporaryDirectory() as folder:
            with open(os.path.join(folder, "turn.py"), "w", encoding="utf-8") as stream:
                stream.write(TURN)
            skewer = script(folder, "skewer", f"turn() {{ '{sys.executable}' '{folder}/turn.py' $1; }}\n{driver}")
            environment = {**os.environ, "SKEWER_TORCH_PYTHON": script(folder, "torch", torch)}
            done = subprocess.run([sys.executable, LADDER, "--skewer", skewer, "--jobs", "4", "--compiling", "4", "--out", folder, *arguments],
                                  capture_output=True, text=True, check=False, env=environment, timeout=120)
            path = os.path.join(folder, "ladder.json")
            found = {}
            if os.path.exists(path):
                with open(path, encoding="utf-8") as stream:
                    found = json.load(stream)
            return done, found

    def test_without_a_gpu_it_ends_with_3(self):
        done, _ = self.climb("echo 'skewer: error: there is no GPU to run on: none' >&2; exit 3", "--steps", "smoke,speed")
        self.assertEqual(done.returncode, 3)
        self.assertIn("ladder: not run: skewer: error: there is no GPU to run on", done.stderr)
        self.assertNotIn("speed", done.stdout)

    def test_a_wrong_layer_is_printed_and_the_others_go_on(self):
        driver = 'case $* in *--repeats=7*) ;; *) exit 5 ;; esac\ncase $2 in *segments*bf16*) echo "error: bad number"; exit 1 ;; esac'
        done, found = self.climb(driver, "--steps", "matrix", "--repeats", "7")
        self.assertEqual(done.returncode, 1, done.stderr)
        self.assertIn("WRONG  segments 2x3x7x11x32 bf16: exit code 1", done.stdout)
        self.assertIn("  error: bad number", done.stdout)
        step, = found["steps"]
        self.assertEqual((step["step"], step["wrong"], step["left_out"]), ("matrix", 6, 0))
        self.assertGreater(step["right"], 200)

    def test_a_run_that_hangs_is_killed_alone(self):
        done, found = self.climb('case $2 in *content-1x1x16x32x128-f32*) sleep 60 & wait ;; esac', "--steps", "smoke", "--kill", "1")
        self.assertEqual(done.returncode, 1)
        self.assertIn("WRONG  content 1x1x16x32x128 f32: exit code killed", done.stdout)
        self.assertEqual((found["steps"][0]["right"], found["steps"][0]["wrong"]), (17, 1))

    def test_one_that_keeps_the_gpu_is_killed_and_the_next_have_their_turns(self):
        driver = f"case $2 in *plain-64*) turn 60 ;; *) turn 0.1 ;; esac\necho '{REPORT}'"
        done, found = self.climb(driver, "--steps", "speed", "--kill", "2", "--no-peers", "--layers", "plain-64,plain-128,causal-*")
        self.assertEqual(done.returncode, 1)
        self.assertIn("WRONG  plain-64 now: exit code killed", done.stdout)
        self.assertEqual({row["layer"]: row["ms"] for row in found["speed"]},
                         {"plain-64": None, "plain-128": 0.5, "causal-128": 0.5, "causal-64": 0.5})

    def test_what_does_not_fit_the_budget_is_left_out(self):
        done, found = self.climb("sleep 2", "--steps", "smoke,matrix,card", "--budget", "3")
        self.assertEqual(done.returncode, 0, done.stdout)
        smoke, = found["steps"]
        self.assertEqual(smoke["right"] + smoke["left_out"], 18)
        self.assertGreater(smoke["left_out"], 9)
        self.assertIn("== card: left out, the budget is spent", done.stdout)

    def test_variants_stand_beside_each_other_and_beside_torch(self):
        driver = f"case $* in *rows=32*) echo 'error: it does not fit' >&2; exit 1 ;; esac\necho '{REPORT}'"
        torch = """cat <<'END'
{"torch": "2.11", "gpu": "Some GPU", "matmul_tflops": 790.4, "copy_tb_per_second": 4.25}
{"name": "t5", "bias": false, "flash": 0.0002, "cudnn": 0.0001}
{"name": "t5", "bias": true, "efficient_error": "no", "cudnn": 0.000125}
END"""
        with tempfile.NamedTemporaryFile("w", suffix=".json") as before:
            json.dump({"speed": [{"layer": "t5", "variant": "a", "ms": 0.75, "nominal_tflops": 34.0, "right": True},
                                 {"layer": "t5", "variant": "b", "ms": 0.625, "nominal_tflops": 41.0, "right": True}]}, before)
            before.flush()
            done, found = self.climb(driver, "--steps", "speed", "--layers", "t5,vits", "--variant", "now=", "--before", before.name,
                                     "--variant", "small@t5=--schedule rows=32", torch=torch)
        self.assertEqual(done.returncode, 1, done.stderr)
        self.assertIn("Some GPU, torch 2.11: matrix product of 8192 cubed 790 TFLOP/s, copy 4.25 TB/s", done.stdout)
        self.assertRegex(done.stdout, r"(?m)^t5 +0\.6250 +41 +0\.5000 +52 +- +123 +1755 2\.0e-03 +0\.2000 +0\.1000 +0\.1250 +-$")
        self.assertRegex(done.stdout, r"(?m)^vits +- +0\.5000 +8 +- +123 +1755 2\.0e-03( +-){4}$")
        self.assertIn("WRONG  t5 small: exit code 1", done.stdout)
        self.assertEqual([(row["layer"], row["variant"]) for row in found["speed"] if row["ms"] is None], [("t5", "small")])

    def test_the_model_stands_beside_the_time(self):
        explained = ('{"kernels": [{"attentions": [{"schedule": "sm_90a: mma_sync, 64 queries a block"}], "gpu": {"devices": [{"name": '
                     '"H100 SXM", "predicted_seconds": 0.001}, {"name": "H200 SXM", "predicted_seconds": 0.0004}]}}]}')
        driver = f"case $1 in explain) [[ \"$*\" == *--target=sm_90a* ]] && echo '{explained}' ;; *) echo '{REPORT}' ;; esac"
        done, found = self.climb(driver, "--steps", "speed", "--layers", "vits", "--no-peers", "--target", "sm_90a")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("vits now: sm_90a: mma_sync, 64 queries a block\n", done.stdout)
        self.assertRegex(done.stdout, r"(?m)^vits +0\.5000 +8 +0\.50 +123")
        self.assertEqual(found["speed"][0]["model_device"], "H100 SXM")

    def test_random_layers_have_their_own_arguments(self):
        text = ("# seed 3\n# --origin k0=7\nkernel layer(x : f32[4]) -> f32[4] { return x }\n\n"
                "# seed 4\nkernel layer(x : f32[4]) -> f32[4] { return x }\n")
        with tempfile.NamedTemporaryFile("w", suffix=".txt") as layers:
            layers.write(text)
            layers.flush()
            driver = 'case "$2 $*" in *seed-3*"--origin k0=7"*) exit 0 ;; *seed-4*) case $* in *origin*) exit 1 ;; esac ;; *) exit 1 ;; esac'
            done, found = self.climb(driver, "--steps", "random", "--random", layers.name)
        self.assertEqual(done.returncode, 0, done.stdout)
        self.assertEqual(found["steps"][0]["right"], 2)

    def test_a_step_pins_parts_of_the_schedule(self):
        driver = """case "$*" in *--schedule=engine=wgmma,rows=64*) ;; *) exit 1 ;; esac
case $2 in *f32*) echo "layer.attn:5:10: error: engine 'wgmma' multiplies f16 and bf16, not f32" >&2; exit 1 ;; esac"""
        done, found = self.climb(driver, "--steps", "smoke:engine=wgmma+rows=64")
        self.assertEqual(done.returncode, 0, done.stdout)
        self.assertIn("== smoke:engine=wgmma+rows=64: 12 right, 0 wrong, 6 refused, 0 left out", done.stdout)
        self.assertEqual(found["steps"][0]["refused"], 6)
        done, _ = self.climb("echo \"error: engine 'wgmma'\" >&2; exit 1", "--steps", "smoke")
        self.assertIn("== smoke: 0 right, 18 wrong, 0 left out", done.stdout)

    def test_wrong_arguments_are_usage_errors(self):
        for arguments, message in ((["--steps", "smoke,jump"], "expected steps among card, smoke"), (["--variant", "small"], "expected NAME=ARGUMENTS"),
                                   (["--steps", "speed:rows=64"], "step 'speed' pins nothing")):
            done, _ = self.climb("exit 0", *arguments)
            self.assertEqual(done.returncode, 2)
            self.assertIn(message, done.stderr)


class SpeedTest(unittest.TestCase):
    def test_layers_of_one_size_have_one_kernel_without_positions(self):
        forms = speed.forms_of(["plain-64", "softcap", "rel1d-64", "product-4096"])
        self.assertEqual([(form["name"], form.get("bias")) for form in forms], [("plain-64", None), ("rel1d-64", [1, 64, 4096, 4096])])
        self.assertEqual(speed.same_form("sink"), "plain-64")
        self.assertEqual(speed.forms_of(["decode-8"])[0]["k"], [8, 8, 4096, 128])

    def test_numbers_are_written_as_numpy_does(self):
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "x.npy")
            speed.write_numbers(path, [4096, -1, 7])
            with open(path, "rb") as stream:
                data = stream.read()
        self.assertEqual(data[:10], b"\x93NUMPY\x01\x00\x76\x00")
        self.assertEqual(ast.literal_eval(data[10:128].decode()), {"descr": "<i4", "fortran_order": False, "shape": (3,)})
        self.assertEqual(struct.unpack("<3i", data[128:]), (4096, -1, 7))

    def test_every_layer_is_in_the_narrow_type(self):
        for name, layer in speed.LAYERS.items():
            if layer.spec:
                self.assertNotIn("f32[", speed.text_of(layer), name)
            self.assertIn("bf16[", speed.text_of(layer), name)


if __name__ == "__main__":
    unittest.main()
