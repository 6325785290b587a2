#!/usr/bin/env python3
"""Runs steps on this machine's GPU within a budget of seconds, the most important ones first:

  card         the card, its driver and its clocks
  smoke        one layer in a few shapes: if there is no GPU, everything ends here with exit code 3
  replay       kernels that the interpreter ran: of --launches FOLDER, or of GpuOrderTests beside skewer (replay.py)
  speed        times of the layers of speed.py by `skewer bench`, beside what the model says of them, PyTorch's kernels, and the
               peaks in the same run
  repeats      the same layers at the same sizes, compared with the reference and with themselves
  matrix       the layers of matrix.py in six shapes and three types, and its long sums
  random       random layers: those of --random FILE (what `skewer-fuzz --gpu --print` prints), or of skewer-fuzz beside skewer
  conformance  layers of published models against their own outputs
  layers       layers of deployed models against NumPy's oracles
  narrow       the same in f16 and bf16, against the float64 reference
  sanitizer    a sample of the matrix under compute-sanitizer, where there is one

A step may pin parts of the schedule, as in matrix:engine=wgmma or random:rows=64+keys=64; a layer that an engine refuses by name is
then counted by itself.

Every run is a process of its own that is killed after --kill seconds: a kernel that hangs stops no other. What is checked is run
--repeats times, and every run must return the same bytes. Runs that are checked share the GPU, --jobs at a time; runs that are
timed compile side by side and take turns on the GPU.

What does not fit the budget is left out and counted. The script prints a line for each failure and each step. It writes
ladder.json into --out, or into the folder that the variable OUT names, after each step. Exit codes: 0 if what ran is right, 1 if
something is wrong, 3 if there is no GPU.

  ladder.py --skewer build/release/bin/skewer --budget 300
  ladder.py --steps speed --layers 'plain*' --variant now= --variant 'small=--schedule rows=64,keys=64'
  ladder.py --steps speed --variant now= --variant 'two@plain-128,causal-*=--schedule stages=2'
"""
import argparse
import collections
import concurrent.futures
import contextlib
import fcntl
import fnmatch
import glob
import json
import os
import re
import shlex
import shutil
import signal
import struct
import subprocess
import sys
import tempfile
import threading
import time

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.normpath(os.path.join(HERE, "..", ".."))
sys.dont_write_bytecode = True
for part in ("gpu", os.path.join("e2e", "inputs"), os.path.join("e2e", "layers")):
    sys.path.insert(0, os.path.join(ROOT, "tests", part))
import conformance  # noqa: E402
import matrix  # noqa: E402
import sizes  # noqa: E402
import speed  # noqa: E402

STEPS = ["card", "smoke", "replay", "speed", "repeats", "matrix", "random", "conformance", "layers", "narrow", "sanitizer"]
PINNED = ["smoke", "repeats", "matrix", "random", "conformance", "narrow"]  # steps of `skewer run`
CHECK = os.path.join(ROOT, "tests", "e2e", "layers", "check.py")
REPLAY = os.path.join(ROOT, "tests", "gpu", "replay.py")
PEERS = os.path.join(ROOT, "tests", "bench", "torch_peers.py")
LAYERS = os.path.join(ROOT, "tests", "e2e", "layers")
NO_GPU = 3
KILLED, STUCK = "killed", "stuck"  # in place of an exit code
# Keeps the driver loaded between the runs, so that each opens the GPU faster.
HOLD = """import ctypes, sys
driver, device, context = ctypes.CDLL("libcuda.so.1"), ctypes.c_int(), ctypes.c_void_p()
driver.cuInit(0) or driver.cuDeviceGet(ctypes.byref(device), 0) or driver.cuDevicePrimaryCtxRetain(ctypes.byref(context), device)
sys.stdin.read()
"""

Done = collections.namedtuple("Done", "title code seconds out said")


class Processes:
    """The processes that run now: each leads a group, so that it can be killed with what it started."""

    def __init__(self):
        self.lock = threading.Lock()
        self.running = {}

    def call(self, title, command, limit):
        begin = time.monotonic()
        process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                                   errors="replace", process_group=0)
        with self.lock:
            self.running[process.pid] = process
        try:
            out, said = process.communicate(timeout=limit)
            code = process.returncode
            if code == -signal.SIGKILL:
                code = KILLED
        except subprocess.TimeoutExpired:
            out, said, code = self.kill(process)
        with self.lock:
            del self.running[process.pid]
        return Done(title, code, time.monotonic() - begin, out, said)

    @staticmethod
    def kill(process):
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        try:
            out, said = process.communicate(timeout=10)
            return out, said, KILLED
        except subprocess.TimeoutExpired:  # it waits for the driver; nothing here can end it
            return "", "", STUCK

    def kill_group_of(self, pid):
        """Kills the run that this process belongs to; does nothing if it is none of ours."""
        with contextlib.suppress(ProcessLookupError):
            group = os.getpgid(pid)
            with self.lock:
                if group in self.running:
                    os.killpg(group, signal.SIGKILL)

    def kill_all(self):
        with self.lock:
            for group in self.running:
                with contextlib.suppress(ProcessLookupError):
                    os.killpg(group, signal.SIGKILL)


def run_all(processes, jobs, workers, limit, deadline, done):
    """Runs jobs of (title, command), the first ones first, and gives each outcome to `done`. Returns how many were left out
    because the deadline passed."""
    left_out = [0]
    lock = threading.Lock()

    def work(job):
        seconds = deadline - time.monotonic()
        if seconds <= 0:
            with lock:
                left_out[0] += 1
            return
        outcome = processes.call(*job, min(limit, seconds))
        with lock:
            if outcome.code in (KILLED, STUCK) and time.monotonic() >= deadline:
                left_out[0] += 1  # the budget ended, which says nothing about it
            else:
                done(outcome)

    with concurrent.futures.ThreadPoolExecutor(workers) as pool:
        list(pool.map(work, jobs))
    return left_out[0]


class TurnWatch:
    """Kills a process that keeps the GPU for too long in its turn: those that wait for theirs would wait for ever."""

    def __init__(self, processes, limit):
        self.processes, self.limit = processes, limit
        self.path = os.path.join(tempfile.gettempdir(), "skewer-gpu.lock")
        self.stop = threading.Event()
        self.thread = threading.Thread(target=self.watch, daemon=True)

    def holder(self):
        try:
            with open(self.path, "a", encoding="utf-8") as stream:
                asked = struct.pack("hhlli", fcntl.F_WRLCK, os.SEEK_SET, 0, 0, 0)
                kind, _, _, _, pid = struct.unpack("hhlli", fcntl.fcntl(stream, fcntl.F_GETLK, asked))
        except OSError:
            return None
        return None if kind == fcntl.F_UNLCK else pid

    def watch(self):
        last, since = None, 0.0
        while not self.stop.wait(0.5):
            pid = self.holder()
            if pid != last:
                last, since = pid, time.monotonic()
            elif pid and time.monotonic() - since > self.limit:
                self.processes.kill_group_of(pid)

    def __enter__(self):
        self.thread.start()

    def __exit__(self, *_):
        self.stop.set()
        self.thread.join()


class Ladder:
    def __init__(self, options, folder):
        self.options, self.folder = options, folder
        self.begin = time.monotonic()
        self.end = self.begin + options.budget
        self.processes = Processes()
        self.found = {"arguments": sys.argv[1:], "steps": [], "speed": [], "peers": []}
        self.pins = ""  # of the step that runs

    def seconds_left(self):
        return self.end - time.monotonic()

    def save(self):
        if self.options.out:
            os.makedirs(self.options.out, exist_ok=True)
            path = os.path.join(self.options.out, "ladder.json")
            with open(path + ".new", "w", encoding="utf-8") as stream:
                json.dump(self.found, stream, indent=1)
            os.replace(path + ".new", path)

    def finish(self, step, begin, right, failures, left_out, refused=0):
        seconds, step = time.monotonic() - begin, step + (f":{self.pins}" if self.pins else "")
        self.found["steps"].append({"step": step, "right": right, "wrong": len(failures), "refused": refused, "left_out": left_out,
                                    "seconds": seconds, "failures": [outcome._asdict() for outcome in failures]})
        print(f"== {step}: {right} right, {len(failures)} wrong, " + (f"{refused} refused, " if refused else "") +
              f"{left_out} left out, {seconds:.0f} s", flush=True)
        self.save()

    def report(self, outcome):
        """Prints a failure in a few lines; ladder.json has the whole of it."""
        said = (outcome.out + outcome.said).strip()
        lines = [line for line in said.splitlines() if re.search("error:|Error|WRONG|=====", line)] or said.splitlines()
        print(f"WRONG  {outcome.title}: exit code {outcome.code}, {outcome.seconds:.1f} s" +
              "".join(f"\n  {line[:200]}" for line in lines[-3:]), flush=True)

    def check(self, step, jobs, share=1.0, limit=None):
        """Runs jobs that are right if they exit with 0."""
        begin, right, refused, failures = time.monotonic(), [0], [0], []

        def done(outcome):
            if outcome.code == 0:
                right[0] += 1
            elif self.pins and re.search("error: engine '", outcome.said):
                refused[0] += 1
            else:
                failures.append(outcome)
                if len(failures) <= self.options.failures:
                    self.report(outcome)

        deadline = begin + max(0.0, self.seconds_left()) * share
        left_out = run_all(self.processes, jobs, self.options.jobs, limit or self.options.kill, deadline, done)
        self.finish(step, begin, right[0], failures, left_out, refused[0])
        return right[0], failures

    def repeated(self, jobs):
        more = [] if self.options.repeats == 1 else [f"--repeats={self.options.repeats}"]
        if self.pins:
            more.append("--schedule=" + self.pins.replace("+", ","))
        return [(title, command + more) for title, command in jobs]

    # The steps.

    def card(self):
        fields = "name,driver_version,clocks.sm,clocks.mem,clocks.max.sm,power.draw,power.limit,temperature.gpu,memory.used,compute_cap"
        begin, failures, right = time.monotonic(), [], 0
        for name, command in (("gpu", ["nvidia-smi", f"--query-gpu={fields}", "--format=csv,noheader"]),
                              ("skewer", [self.options.skewer, "--version"]), ("ptxas", [find_tool("ptxas"), "--version"])):
            try:
                outcome = self.processes.call(name, command, 30)
            except OSError as error:
                outcome = Done(name, 127, 0.0, "", str(error))
            self.found[name] = (outcome.out + outcome.said).strip()
            print(f"{name}: {self.found[name].splitlines()[-1] if self.found[name] else outcome.code}", flush=True)
            right += 1
        self.finish("card", begin, right, failures, 0)

    def smoke(self):
        jobs = [(title, command) for shape in ((1, 1, 4, 4, 16), (2, 2, 15, 20, 64), (1, 1, 16, 32, 128))
                for title, command in matrix.whole_matrix(self.options, self.folder, ["content", "causal"], [shape], matrix.TYPES)]
        _, failures = self.check("smoke", self.repeated(jobs))
        if any(outcome.code == NO_GPU for outcome in failures):
            print(f"ladder: not run: {failures[0].said.strip()}", file=sys.stderr)
            sys.exit(NO_GPU)

    def replay(self):
        folder = self.options.launches
        program = self.beside_skewer("GpuOrderTests")
        if not folder and program:
            folder = os.path.join(self.folder, "launches")
            os.makedirs(folder)
            self.processes.call("GpuOrderTests", ["env", f"SKEWER_LAUNCHES={folder}", program], 120)
        paths = sorted(glob.glob(os.path.join(folder, "*.json"))) if folder else []
        if not paths or self.explain_target() != "sm_90a":
            print("== replay: not run: " + ("the GPU is not known to be of compute capability 9.0" if paths else
                                            "neither --launches FOLDER nor GpuOrderTests beside skewer"), flush=True)
            return
        self.check("replay", self.repeated((os.path.basename(path)[:-5], [sys.executable, REPLAY, path]) for path in paths), 0.3)

    def beside_skewer(self, name):
        path = os.path.join(os.path.dirname(shutil.which(self.options.skewer) or self.options.skewer), name)
        return path if os.path.exists(path) else None

    def matrix(self):
        shapes = [matrix.SAMPLE] + [shape for shape in reversed(matrix.SHAPES) if shape != matrix.SAMPLE]
        jobs = [job for shape in shapes for job in
                matrix.whole_matrix(self.options, self.folder, list(matrix.LAYERS), [shape], ["bf16", "f16"])]
        jobs += list(matrix.whole_matrix(self.options, self.folder, list(matrix.LAYERS), shapes, ["f32"]))
        jobs[40:40] = list(matrix.long_sums(self.options, self.folder, matrix.LONG_LAYERS, matrix.TYPES))
        self.check("matrix", self.repeated(jobs), 0.6)

    def random(self):
        text = self.random_texts()
        if text is None:
            print("== random: not run: neither --random FILE nor skewer-fuzz beside skewer", flush=True)
            return
        jobs = []
        for spec in re.split(r"(?m)^(?=# seed )", text):
            if not re.search(r"(?m)^kernel\b", spec):
                continue
            lines = spec.splitlines()
            arguments = shlex.split(lines[1][1:]) if lines[1].startswith("# --") else []
            title = lines[0][2:]
            path = os.path.join(self.folder, title.replace(" ", "-") + ".attn")
            with open(path, "w", encoding="utf-8") as stream:
                stream.write(spec)
            jobs.append((f"random layer, {title}", [self.options.skewer, "run", path, f"--target={self.options.target}", *arguments]))
        self.check("random", self.repeated(jobs), 0.5)

    def random_texts(self):
        if self.options.random:
            with open(self.options.random, encoding="utf-8") as stream:
                return stream.read()
        fuzz = self.beside_skewer("skewer-fuzz")
        if not fuzz:
            return None
        return self.processes.call("skewer-fuzz", [fuzz, "--gpu", "--print", "--seeds", self.options.seeds], 60).out

    def conformance(self):
        root = os.path.join(ROOT, "tests", "e2e", "conformance")
        arguments = [] if self.options.target == "host" else [f"--target={self.options.target}"]
        self.check("conformance", self.repeated((os.path.basename(case), conformance.command_of(case, arguments, self.options.skewer))
                                                for case in conformance.cases(root)), 0.6)

    def layers(self):
        names = sorted(os.path.basename(path)[:-5] for path in glob.glob(os.path.join(LAYERS, "*.attn")))
        command = [sys.executable, CHECK, "--skewer", self.options.skewer, "--target", self.options.target]
        self.check("layers", [(f"layer {name}, {which}", [*command, "--sizes", which, name])
                              for which in ("whole", "default") for name in names], 0.6)

    def narrow(self):
        jobs = []
        for path in sorted(glob.glob(os.path.join(LAYERS, "*.attn"))):
            name = os.path.basename(path)[:-5]
            with open(path, encoding="utf-8") as stream:
                text = stream.read()
            for kind in ("bf16", "f16"):
                own = os.path.join(self.folder, f"narrow-{name}-{kind}.attn")
                with open(own, "w", encoding="utf-8") as stream:
                    stream.write(text.replace("f32[", kind + "["))
                params = [word for item in sizes.parse(name)[0].items() for word in ("-D", "=".join(item))]
                jobs.append((f"layer {name}, {kind}", [self.options.skewer, "run", own, f"--target={self.options.target}", *params]))
        self.check("narrow", self.repeated(jobs), 0.8)

    def sanitizer(self):
        tool = matrix.find_sanitizer() if self.options.target != "host" else None
        if not tool:
            print("== sanitizer: not run: compute-sanitizer was not found, or the target is no GPU", flush=True)
            return
        jobs = list(matrix.sample_under_checkers(self.options, self.folder, list(matrix.LAYERS), tool))
        self.check("sanitizer", jobs, limit=max(120, self.options.kill))

    def names(self):
        return [name for name in speed.LAYERS if any(fnmatch.fnmatch(name, pattern) for pattern in self.options.layers)]

    def variants(self, names):
        """Yields the layer, the name and the arguments of each column of each row."""
        for name in names:
            for variant, patterns, arguments in self.options.variant:
                if any(fnmatch.fnmatch(name, pattern) for pattern in patterns):
                    yield name, variant, arguments

    def repeats(self):
        jobs = [(f"{name} {variant}", speed.run_command_of(self.options, self.folder, name, arguments))
                for name, variant, arguments in self.variants(self.names())]
        self.check("repeats", self.repeated(jobs), 0.5, 4 * self.options.kill)

    def speed(self):
        names, jobs, begin, failures = self.names(), {}, time.monotonic(), []
        for name, variant, arguments in self.variants(names):
            jobs[f"{name} {variant}"] = (name, variant, speed.command_of(self.options, self.folder, name, arguments))
        deadline = begin + max(0.0, self.seconds_left()) * self.options.speed_share
        explained, target = {}, self.explain_target()
        explanations = [(f"{name} {variant}", speed.explain_command_of(self.options, self.folder, name, arguments, target))
                        for name, variant, arguments in self.variants(names)]
        peers = self.start_peers(names, deadline)

        def done(outcome):
            name, variant, command = jobs[outcome.title]
            row = {**row_of(name, variant, outcome), **explained.get(outcome.title, {})}
            row["command"] = " ".join(command)
            self.found["speed"].append(row)
            if row.get("ms") is None or not row["right"]:
                failures.append(outcome)

        def keep(outcome):
            explained[outcome.title] = prediction_of(outcome, self.found.get("gpu", ""))

        with TurnWatch(self.processes, min(self.options.kill, 20)):
            run_all(self.processes, explanations if target else [], self.options.jobs, self.options.kill, deadline, keep)
            left_out = run_all(self.processes, [(title, command) for title, (_, _, command) in jobs.items()],
                               self.options.compiling, 4 * self.options.kill, deadline, done)
            if peers:
                peers.join()
        for title, said in explained.items():
            if said.get("schedule"):
                print(f"{title}: {said['schedule']}")
        rows = self.before(names) + self.found["speed"]
        variants = (["before"] if self.options.before else []) + [variant for variant, _, _ in self.options.variant]
        for line in table(names, variants, rows, self.found["peers"]):
            print(line, flush=True)
        for outcome in failures[:self.options.failures]:
            self.report(outcome)
        self.finish("speed", begin, len(jobs) - left_out - len(failures), failures, left_out)

    def explain_target(self):
        """Returns the name of the target that `gpu` stands for, or an empty text for none that is known here."""
        if self.options.target != "gpu":
            return "" if self.options.target == "host" else self.options.target
        capability = re.search(r", (\d+)\.(\d+)$", self.found.get("gpu", ""))
        if not capability:
            return ""
        number = "".join(capability.groups())
        return f"sm_{number}" + ("a" if number == "90" else "")

    def before(self, names):
        """Returns the fastest row of each layer in the ladder.json of --before."""
        if not self.options.before:
            return []
        with open(self.options.before, encoding="utf-8") as stream:
            rows = [row for row in json.load(stream)["speed"] if row["layer"] in names and row.get("ms") is not None]
        fastest = {row["layer"]: {**row, "variant": "before"} for row in sorted(rows, key=lambda row: -row["ms"])}
        return list(fastest.values())

    def start_peers(self, names, deadline):
        """Starts PyTorch in a thread, beside the layers, with which it takes turns."""
        python = os.environ.get("SKEWER_TORCH_PYTHON") or shutil.which("python3") or sys.executable
        if self.options.no_peers or self.options.target == "host":
            return None
        path = os.path.join(self.folder, "forms.json")
        with open(path, "w", encoding="utf-8") as stream:
            json.dump(speed.forms_of(names), stream)

        def work():
            outcome = self.processes.call("torch", [python, PEERS, "--forms", path], max(1.0, deadline - time.monotonic()))
            for line in outcome.out.splitlines():
                if line.startswith("{"):
                    self.found["peers"].append(json.loads(line))
            if outcome.code != 0:
                self.found["torch"] = outcome.said[-2000:]
                print(f"torch: exit code {outcome.code}: " + (outcome.said.strip().splitlines() or [""])[-1], flush=True)

        thread = threading.Thread(target=work)
        thread.start()
        return thread


def find_tool(name):
    return shutil.which(name) or os.path.join("/usr/local/cuda/bin", name)


def row_of(name, variant, outcome):
    """Returns what one run of `skewer bench --json` says of its kernel."""
    row = {"layer": name, "variant": variant, "code": outcome.code, "wall_seconds": outcome.seconds, "ms": None, "right": False,
           "said": outcome.said.strip()[-600:]}
    try:
        kernel = json.loads(re.sub(r"\binf\b", "Infinity", re.sub(r"\bnan\b", "NaN", outcome.out)))["kernels"][0]
    except (ValueError, KeyError, IndexError):
        return row
    seconds = kernel["median_seconds"]
    row.update(ms=seconds * 1e3, least_ms=kernel["min_seconds"] * 1e3, useful_tflops=kernel["tflops"], clocks=kernel["sm_clock_mhz"],
               error=kernel["max_error"], right=kernel["is_right"] and outcome.code == 0)
    work = speed.nominal_flops(name)
    row["nominal_tflops"] = work / seconds * 1e-12 if work and seconds else kernel["tflops"]
    return row


def prediction_of(outcome, gpu):
    """Returns the schedule of a kernel and the milliseconds that the model says of this GPU, from `skewer explain --json`."""
    try:
        kernel = json.loads(outcome.out)["kernels"][0]
        devices = kernel["gpu"]["devices"]
        own = next((device for device in devices if device["name"].split()[0] in gpu), devices[0])
        schedule = "; ".join(attention["schedule"] for attention in kernel["attentions"] if attention.get("schedule"))
        return {"model_ms": own["predicted_seconds"] * 1e3, "model_device": own["name"], "schedule": schedule}
    except (ValueError, KeyError, IndexError, TypeError):
        return {}


def table(names, variants, rows, peers):
    """Yields the lines of the table: for each variant the milliseconds and the nominal TFLOP/s, then PyTorch's milliseconds."""
    peaks = next((line for line in peers if "matmul_tflops" in line), None)
    if peaks:
        yield (f"{peaks['gpu']}, torch {peaks['torch']}: matrix product of 8192 cubed {peaks['matmul_tflops']:.0f} TFLOP/s, "
               f"copy {peaks.get('copy_tb_per_second', 0):.2f} TB/s")
    found = {(row["layer"], row["variant"]): row for row in rows}
    head = f"{'ms, nominal TFLOP/s, ÷ model':<{20 + 23 - 14}}" + "".join(f"{variant:>{23 if number else 14}}" for number, variant in enumerate(variants))
    yield (head +
           "  useful   MHz   error    flash   cudnn | cudnn, efficient with the bias given")
    for name in names:
        own = [found.get((name, variant)) for variant in variants]
        if not any(own):
            continue
        line = f"{name:<20}"
        for row in own:
            if row and row["ms"] is not None:
                model = f"{row['ms'] / row['model_ms']:>6.2f}" if row.get("model_ms") else f"{'':>6}"
                line += f"{row['ms']:>11.4f}{row['nominal_tflops']:>5.0f}{model}{' ' if row['right'] else '!'}"
            else:
                line += f"{'-':>23}"
        timed = [row for row in own if row and row["ms"] is not None and row["variant"] != "before"]
        best = min(timed, key=lambda row: row["ms"], default=None)
        if best:
            line += f"{best['useful_tflops']:>8.0f}{min(best['clocks']):>6.0f} {best['error']:>7.1e}"
        else:
            line += " " * 22
        yield line + columns_of(name, peers)


def columns_of(name, peers):
    text = ""
    for has_bias, kernels in ((False, ("flash", "cudnn")), (True, ("cudnn", "efficient"))):
        of = name if has_bias else speed.same_form(name)
        line = next((line for line in peers if line.get("name") == of and line.get("bias") == has_bias), {})
        for kernel in kernels:
            text += f"{line[kernel] * 1e3:>9.4f}" if kernel in line else f"{'-':>9}"
    return text


def variant_of(text):
    """Reads NAME=ARGUMENTS or NAME@LAYER,LAYER=ARGUMENTS; layers may have '*'."""
    name, equals, arguments = text.partition("=")
    if not equals:
        raise argparse.ArgumentTypeError(f"expected NAME=ARGUMENTS, such as 'small=--schedule rows=64', found '{text}'")
    name, _, layers = name.partition("@")
    return name, layers.split(",") if layers else ["*"], shlex.split(arguments)


def steps_of(text):
    """Reads STEP,STEP:PART=VALUE+PART=VALUE into pairs of a step and what it pins."""
    steps = []
    for step in text.split(","):
        name, _, pins = step.partition(":")
        if name not in STEPS:
            raise argparse.ArgumentTypeError(f"expected steps among {', '.join(STEPS)}, found '{name}'")
        if pins and name not in PINNED:
            raise argparse.ArgumentTypeError(f"step '{name}' pins nothing; {', '.join(PINNED)} do")
        steps.append((name, pins))
    return steps


def parse(arguments=None):
    cores = os.cpu_count() or 2
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--skewer", default="skewer", help="the driver")
    parser.add_argument("--target", default="gpu", help="gpu, one of the GPUs' names, or host to try the steps that only check")
    parser.add_argument("--budget", type=float, default=540, metavar="SECONDS", help="for all steps together (default %(default)s)")
    parser.add_argument("--steps", type=steps_of, default=",".join(STEPS), metavar="A,B:PART=VALUE",
                        help="in this order (default: all)")
    parser.add_argument("--jobs", type=int, default=cores, help="runs at a time where results are checked (default: one a core)")
    parser.add_argument("--compiling", type=int, default=max(2, cores // 2), help="layers that compile at a time for `speed`")
    parser.add_argument("--kill", type=float, default=30, metavar="SECONDS", help="a run that takes longer is killed (default %(default)s)")
    parser.add_argument("--repeats", type=int, default=20, help="calls of each kernel that is checked (default %(default)s)")
    parser.add_argument("--launches", metavar="FOLDER", help="launches that tests of the interpreter wrote (replay.py)")
    parser.add_argument("--random", metavar="FILE", help="random layers")
    parser.add_argument("--seeds", default="0:200", help="of random layers, where there is no file (default %(default)s)")
    parser.add_argument("--variant", type=variant_of, action="append", metavar="NAME[@LAYER,…]=ARGUMENTS",
                        help="a column of `speed`: further arguments of bench; may be repeated (default: one without any)")
    parser.add_argument("--before", metavar="FILE", help="a ladder.json of another time, which becomes a column of `speed`")
    parser.add_argument("--layers", type=lambda text: text.split(","), default=["*"], metavar="A,B",
                        help="of `speed` and `repeats`; '*' stands for any text")
    parser.add_argument("--seconds", type=float, default=0.3, help="that bench times each layer (default %(default)s)")
    parser.add_argument("--speed-share", type=float, default=0.6,
                        help="of the time that is left when `speed` begins (default %(default)s)")
    parser.add_argument("--no-peers", action="store_true", help="without PyTorch")
    parser.add_argument("--failures", type=int, default=10, help="that each step prints (default %(default)s); ladder.json has all")
    parser.add_argument("--out", default=os.environ.get("OUT"), help="folder for ladder.json (default: the variable OUT)")
    options = parser.parse_args(arguments)
    options.variant = options.variant or [("now", ["*"], [])]
    if not shutil.which(options.skewer):
        parser.error(f"there is no program '{options.skewer}'")
    return options


def main():
    options = parse()
    with tempfile.TemporaryDirectory() as folder:
        os.environ["TMPDIR"] = tempfile.tempdir = folder  # the lock of turns is this run's own
        ladder = Ladder(options, folder)
        holder = None
        if options.target != "host":
            holder = subprocess.Popen([sys.executable, "-c", HOLD], stdin=subprocess.PIPE, stdout=subprocess.DEVNULL,
                                      stderr=subprocess.DEVNULL)
        try:
            for step, ladder.pins in options.steps:
                if ladder.seconds_left() > 0:
                    getattr(ladder, step)()
                else:
                    print(f"== {step}: left out, the budget is spent", flush=True)
        finally:
            ladder.processes.kill_all()
            ladder.save()
            if holder:
                holder.kill()
    wrong = sum(step["wrong"] for step in ladder.found["steps"])
    said = [f"{step['step']} {step['right']}/{step['right'] + step['wrong']}" +
            (f" ({step['left_out']} left out)" if step["left_out"] else "") for step in ladder.found["steps"]]
    print("; ".join(said) + f"; {time.monotonic() - ladder.begin:.0f} s")
    sys.exit(1 if wrong else 0)


if __name__ == "__main__":
    main()
