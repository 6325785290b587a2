"""The steps of the layers of speed.py: their times, beside PyTorch's, and the same layers again and again."""
import fnmatch
import json
import os
import shutil
import sys
import threading
import time

import speed
from rungs import ROOT
from rungs.processes import run_all
from rungs.times import prediction_of, row_of, table
from rungs.turns import TurnWatch

PEERS = os.path.join(ROOT, "tests", "bench", "torch_peers.py")


# The two ways to copy regular rows of keys and values, and the layers that have no such rows.
COPIES = [("threads", ["*"], ["--schedule", "copies=cp_async"]), ("tma", ["*"], ["--schedule", "copies=tma"]),
          # FlashAttention-3's tile of heads of 128 (hopper/tile_size.h), for which three copies are too large.
          ("tma-176", ["plain-128", "causal-128"],
           ["--schedule", "copies=tma,engine=wgmma_ahead,rows=128,keys=176,stages=2"])]
NOT_REGULAR = ["decode-paged-*", "*-e4m3-*", "product-*"]


def names_of(options):
    return [name for name in speed.LAYERS if any(fnmatch.fnmatch(name, pattern) for pattern in options.layers)]


def variants_of(options, names):
    """Yields the layer, the name and the arguments of each column of each row."""
    for name in names:
        for variant, patterns, arguments in options.variant:
            if any(fnmatch.fnmatch(name, pattern) for pattern in patterns):
                yield name, variant, arguments


def compare_copies(ladder):
    """Runs layers with both ways to copy, again and again, and then times both side by side."""
    options = ladder.options
    if ladder.explain_target() != "sm_90a":
        print("== copies: not run: the GPU is not known to be of compute capability 9.0", flush=True)
        return
    before = options.variant, options.no_peers, options.layers
    options.variant, options.no_peers = COPIES, True
    options.layers = [name for name in names_of(options) if not any(fnmatch.fnmatch(name, no) for no in NOT_REGULAR)]
    try:
        repeat_layers(ladder, "copies")
        time_layers(ladder, "copies")
    finally:
        options.variant, options.no_peers, options.layers = before


def repeat_layers(ladder, step="repeats"):
    jobs = [(f"{name} {variant}", speed.run_command_of(ladder.options, ladder.folder, name, arguments))
            for name, variant, arguments in variants_of(ladder.options, names_of(ladder.options))]
    ladder.check(step, ladder.repeated(jobs), 0.5, 4 * ladder.options.kill)


def time_layers(ladder, step="speed"):
    options, names, jobs, begin, failures = ladder.options, names_of(ladder.options), {}, time.monotonic(), []
    for name, variant, arguments in variants_of(options, names):
        jobs[f"{name} {variant}"] = (name, variant, speed.command_of(options, ladder.folder, name, arguments))
    deadline = begin + max(0.0, ladder.seconds_left()) * options.speed_share
    explained, target = {}, ladder.explain_target()
    explanations = [(f"{name} {variant}", speed.explain_command_of(options, ladder.folder, name, arguments, target))
                    for name, variant, arguments in variants_of(options, names)]
    peers = start_peers(ladder, names, deadline)

    def done(outcome):
        name, variant, command = jobs[outcome.title]
        row = {**row_of(name, variant, outcome), **explained.get(outcome.title, {})}
        row["command"] = " ".join(command)
        ladder.found["speed"].append(row)
        if row.get("ms") is None or not row["right"]:
            failures.append(outcome)

    def keep(outcome):
        explained[outcome.title] = prediction_of(outcome, ladder.found.get("gpu", ""))

    with TurnWatch(ladder.processes, min(options.kill, 20)):
        run_all(ladder.processes, explanations if target else [], options.jobs, options.kill, deadline, keep)
        left_out = run_all(ladder.processes, [(title, command) for title, (_, _, command) in jobs.items()],
                           options.compiling, 4 * options.kill, deadline, done)
        if peers:
            peers.join()
    for title, said in explained.items():
        if said.get("schedule"):
            print(f"{title}: {said['schedule']}")
    rows = rows_before(options, names) + ladder.found["speed"]
    variants = (["before"] if options.before else []) + [variant for variant, _, _ in options.variant]
    for line in table(names, variants, rows, ladder.found["peers"]):
        print(line, flush=True)
    for outcome in failures[:options.failures]:
        ladder.report(outcome)
    ladder.finish(step, begin, len(jobs) - left_out - len(failures), failures, left_out)


def rows_before(options, names):
    """Returns the fastest row of each layer in the ladder.json of --before."""
    if not options.before:
        return []
    with open(options.before, encoding="utf-8") as stream:
        rows = [row for row in json.load(stream)["speed"] if row["layer"] in names and row.get("ms") is not None]
    fastest = {row["layer"]: {**row, "variant": "before"} for row in sorted(rows, key=lambda row: -row["ms"])}
    return list(fastest.values())


def start_peers(ladder, names, deadline):
    """Starts PyTorch in a thread, beside the layers, with which it takes turns."""
    python = os.environ.get("SKEWER_TORCH_PYTHON") or shutil.which("python3") or sys.executable
    if ladder.options.no_peers or ladder.options.target == "host":
        return None
    path = os.path.join(ladder.folder, "forms.json")
    with open(path, "w", encoding="utf-8") as stream:
        json.dump(speed.forms_of(names), stream)

    def work():
        limit = max(1.0, deadline - time.monotonic())
        outcome = ladder.processes.call("torch", [python, PEERS, "--forms", path], limit)
        for line in outcome.out.splitlines():
            if line.startswith("{"):
                ladder.found["peers"].append(json.loads(line))
        if outcome.code != 0:
            ladder.found["torch"] = outcome.said[-2000:]
            print(f"torch: exit code {outcome.code}: " + (outcome.said.strip().splitlines() or [""])[-1], flush=True)

    thread = threading.Thread(target=work)
    thread.start()
    return thread
