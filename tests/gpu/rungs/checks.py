"""The steps that compare layers with references."""
import glob
import os
import re
import shlex
import shutil
import sys
import time

import conformance
import matrix
import sizes
from rungs import ROOT
from rungs.processes import Done

CHECK = os.path.join(ROOT, "tests", "e2e", "layers", "check.py")
REPLAY = os.path.join(ROOT, "tests", "gpu", "replay.py")
LAYERS = os.path.join(ROOT, "tests", "e2e", "layers")
NO_GPU = 3  # an exit code


def find_tool(name):
    return shutil.which(name) or os.path.join("/usr/local/cuda/bin", name)


def say_card(ladder):
    fields = ("name,driver_version,clocks.sm,clocks.mem,clocks.max.sm,power.draw,power.limit,temperature.gpu,"
              "memory.used,compute_cap")
    begin, failures, right = time.monotonic(), [], 0
    for name, command in (("gpu", ["nvidia-smi", f"--query-gpu={fields}", "--format=csv,noheader"]),
                          ("skewer", [ladder.options.skewer, "--version"]),
                          ("ptxas", [find_tool("ptxas"), "--version"])):
        try:
            outcome = ladder.processes.call(name, command, 30)
        except OSError as error:
            outcome = Done(name, 127, 0.0, "", str(error))
        ladder.found[name] = (outcome.out + outcome.said).strip()
        print(f"{name}: {ladder.found[name].splitlines()[-1] if ladder.found[name] else outcome.code}", flush=True)
        right += 1
    ladder.finish("card", begin, right, failures, 0)


def check_smoke(ladder):
    jobs = [job for shape in ((1, 1, 4, 4, 16), (2, 2, 15, 20, 64), (1, 1, 16, 32, 128)) for job in
            matrix.whole_matrix(ladder.options, ladder.folder, ["content", "causal"], [shape], matrix.TYPES)]
    _, failures = ladder.check("smoke", ladder.repeated(jobs))
    if any(outcome.code == NO_GPU for outcome in failures):
        print(f"ladder: not run: {failures[0].said.strip()}", file=sys.stderr)
        sys.exit(NO_GPU)


def replay_launches(ladder):
    folder = ladder.options.launches
    program = ladder.beside_skewer("GpuOrderTests")
    if not folder and program:
        folder = os.path.join(ladder.folder, "launches")
        os.makedirs(folder)
        ladder.processes.call("GpuOrderTests", ["env", f"SKEWER_LAUNCHES={folder}", program], 120)
    paths = sorted(glob.glob(os.path.join(folder, "*.json"))) if folder else []
    if not paths or ladder.explain_target() != "sm_90a":
        print("== replay: not run: " + ("the GPU is not known to be of compute capability 9.0" if paths else
                                        "neither --launches FOLDER nor GpuOrderTests beside skewer"), flush=True)
        return
    jobs = [(os.path.basename(path)[:-5], [sys.executable, REPLAY, path]) for path in paths]
    ladder.check("replay", ladder.repeated(jobs), 0.3)


def check_matrix(ladder):
    shapes = [matrix.SAMPLE] + [shape for shape in reversed(matrix.SHAPES) if shape != matrix.SAMPLE]
    jobs = [job for shape in shapes for job in
            matrix.whole_matrix(ladder.options, ladder.folder, list(matrix.LAYERS), [shape], ["bf16", "f16"])]
    jobs += list(matrix.whole_matrix(ladder.options, ladder.folder, list(matrix.LAYERS), shapes, ["f32"]))
    jobs[40:40] = list(matrix.long_sums(ladder.options, ladder.folder, matrix.LONG_LAYERS, matrix.TYPES))
    ladder.check("matrix", ladder.repeated(jobs), 0.6)


def check_random(ladder):
    text = random_texts(ladder)
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
        path = os.path.join(ladder.folder, title.replace(" ", "-") + ".attn")
        with open(path, "w", encoding="utf-8") as stream:
            stream.write(spec)
        command = [ladder.options.skewer, "run", path, f"--target={ladder.options.target}", *arguments]
        jobs.append((f"random layer, {title}", command))
    ladder.check("random", ladder.repeated(jobs), 0.5)


def random_texts(ladder):
    if ladder.options.random:
        with open(ladder.options.random, encoding="utf-8") as stream:
            return stream.read()
    fuzz = ladder.beside_skewer("skewer-fuzz")
    if not fuzz:
        return None
    return ladder.processes.call("skewer-fuzz", [fuzz, "--gpu", "--print", "--seeds", ladder.options.seeds], 60).out


def check_conformance(ladder):
    root = os.path.join(ROOT, "tests", "e2e", "conformance")
    arguments = [] if ladder.options.target == "host" else [f"--target={ladder.options.target}"]
    jobs = [(os.path.basename(case), conformance.command_of(case, arguments, ladder.options.skewer))
            for case in conformance.cases(root)]
    ladder.check("conformance", ladder.repeated(jobs), 0.6)


def check_layers(ladder):
    names = sorted(os.path.basename(path)[:-5] for path in glob.glob(os.path.join(LAYERS, "*.attn")))
    command = [sys.executable, CHECK, "--skewer", ladder.options.skewer, "--target", ladder.options.target]
    jobs = [(f"layer {name}, {which}", [*command, "--sizes", which, name])
            for which in ("whole", "default") for name in names]
    ladder.check("layers", jobs, 0.6)


def check_narrow(ladder):
    jobs = []
    for path in sorted(glob.glob(os.path.join(LAYERS, "*.attn"))):
        name = os.path.basename(path)[:-5]
        with open(path, encoding="utf-8") as stream:
            text = stream.read()
        for kind in ("bf16", "f16"):
            own = os.path.join(ladder.folder, f"narrow-{name}-{kind}.attn")
            with open(own, "w", encoding="utf-8") as stream:
                stream.write(text.replace("f32[", kind + "["))
            params = [word for item in sizes.parse(name)[0].items() for word in ("-D", "=".join(item))]
            command = [ladder.options.skewer, "run", own, f"--target={ladder.options.target}", *params]
            jobs.append((f"layer {name}, {kind}", command))
    ladder.check("narrow", ladder.repeated(jobs), 0.8)


def check_under_sanitizer(ladder):
    tool = matrix.find_sanitizer() if ladder.options.target != "host" else None
    if not tool:
        print("== sanitizer: not run: compute-sanitizer was not found, or the target is no GPU", flush=True)
        return
    jobs = list(matrix.sample_under_checkers(ladder.options, ladder.folder, list(matrix.LAYERS), tool))
    ladder.check("sanitizer", jobs, limit=max(120, ladder.options.kill))
