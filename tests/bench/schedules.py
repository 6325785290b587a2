#!/usr/bin/env python3
"""Does the cost model choose well? Times schedules of the benchmark's layers, and compares the model's choice with the best of them.

    schedules.py measure --target zen4 -o choices.json                   # on that machine, while nothing else runs
    schedules.py check choices.json                                         # on any machine; exit status 1 if a choice is bad

A file of choices has, for each layer and type, the least milliseconds of each schedule that was tried: tiles, blocks and strategies.
`check` asks `skewer explain` what the model chooses for the file's target. The choice must be one of the schedules of the file, and
take at most 1.05 of the best time. If the model changes its mind, measure the new choice: `measure` keeps what a file has."""
import argparse
import datetime
import json
import os
import re
import subprocess
import sys
import tempfile

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
SPECS = os.path.join(ROOT, "tests", "bench", "specs")
LAYERS = ["plain-1k", "rel1d-1k", "music-2k", "botnet-14", "sam-global", "sam-window", "conformer", "t5", "w2vbert", "vits", "deberta",
          "swin-7", "softcap-1k", "sigmoid-1k", "relu2-1k"]
TYPES = ["f32", "bf16"]
MOST = 1.05  # of the best time
SCHEDULE = re.compile(r"tile (\d+)x(\d+), row block (\d+), keys (\d+) at a time")
TILES = [(6, 4), (4, 4), (4, 6), (8, 3), (8, 2), (12, 2), (5, 4), (7, 3)]
ROW_BLOCKS = [1, 4, 16]  # groups of rows
KEY_BLOCKS = [256, 1024]


def spec_of(layer, dtype, folder):
    """Writes the layer's text for the type and returns its path."""
    with open(os.path.join(SPECS, layer + ".attn"), encoding="utf-8") as stream:
        text = stream.read()
    path = os.path.join(folder, f"{layer}-{dtype}.attn")
    with open(path, "w", encoding="utf-8") as stream:
        stream.write(text.replace("f32[", dtype + "["))
    return path


def run(command):
    done = subprocess.run(command, capture_output=True, text=True)
    return json.loads(done.stdout) if done.returncode == 0 else None


def chosen(skewer, spec, target):
    """Returns what the model chooses for the attention of the spec."""
    report = run([skewer, "explain", "--json", f"--target={target}", spec])
    attention = report["kernels"][0]["attentions"][0]
    rows, vectors, row_block, key_block = map(int, SCHEDULE.search(attention["schedule"]).groups())
    terms = [term for term in attention["terms"] if term["side"] == "score"]
    return {"tile_rows": rows, "tile_vectors": vectors, "row_block": row_block, "key_block": key_block,
            "strategies": [term["strategy"] for term in terms]}, terms, attention


def candidates(choice, terms, attention, lanes=16):
    """Yields the model's choice, then others: other strategies, tiles and blocks."""
    yield choice
    for number, term in enumerate(terms):
        for other in term["also_fits"]:
            if other.get("time", 1) < 2.5:
                yield {"strategies": [other["strategy"] if n == number else t["strategy"] for n, t in enumerate(terms)]}
    if "strided_add" in choice["strategies"]:
        return  # made for one tile
    for rows, vectors in TILES:
        yield {**choice, "tile_rows": rows, "tile_vectors": vectors, "row_block": 0, "key_block": 0}
    rows, panel = choice["tile_rows"], choice["tile_vectors"] * lanes
    for groups in ROW_BLOCKS:
        for keys in KEY_BLOCKS:
            if rows * groups < attention["queries"] + rows:
                block = min(keys, attention["keys"] + panel - 1) // panel * panel
                yield {**choice, "row_block": rows * groups, "key_block": max(panel, block)}


def option_of(schedule):
    parts = [f"{name}={value}" for name, value in schedule.items() if name not in ("strategies", "ms") and value]
    parts += [f"strategy{n + 1}={name}" for n, name in enumerate(schedule["strategies"])]
    return "--schedule=" + ",".join(parts)


def time_of(skewer, spec, schedule, seconds):
    """Returns the least milliseconds and the whole schedule; None if the schedule is refused."""
    report = run([skewer, "bench", "--json", f"--seconds={seconds}", "--rows=8", option_of(schedule), spec])
    whole = run([skewer, "explain", "--json", option_of(schedule), spec])
    if not report or not whole:
        return None
    found = SCHEDULE.search(whole["kernels"][0]["attentions"][0]["schedule"])
    names = ("tile_rows", "tile_vectors", "row_block", "key_block")
    return {**dict(zip(names, map(int, found.groups()))), "strategies": schedule["strategies"],
            "ms": round(report["kernels"][0]["min_seconds"] * 1e3, 4)}


def same(a, b):
    return all(a[name] == b[name] for name in ("tile_rows", "tile_vectors", "row_block", "key_block", "strategies"))


def measure(options):
    record = {"target": options.target, "machine": options.machine, "layers": {}}
    if os.path.exists(options.output):
        with open(options.output, encoding="utf-8") as stream:
            record = json.load(stream)
    record["date"] = datetime.date.today().isoformat()
    with tempfile.TemporaryDirectory() as folder:
        for layer in options.layers or LAYERS:
            for dtype in TYPES:
                spec = spec_of(layer, dtype, folder)
                times = record["layers"].get(layer, {}).get(dtype, [])
                choice, terms, attention = chosen(options.skewer, spec, options.target)
                tried = list(candidates(choice, terms, attention))
                for schedule in tried + tried:  # the machine may be slow for a while
                    timed = time_of(options.skewer, spec, schedule, options.seconds)
                    known = timed and next((other for other in times if same(timed, other)), None)
                    if known:
                        known["ms"] = min(known["ms"], timed["ms"])
                    elif timed:
                        times.append(timed)
                record["layers"].setdefault(layer, {})[dtype] = times
                best = min(times, key=lambda timed: timed["ms"])
                own = next(timed for timed in times if same(timed, choice))
                print(f"{layer:12} {dtype:5} {len(times):3} schedules; the choice {own['ms']:9.3f} ms, "
                      f"{own['ms'] / best['ms']:.3f} of the best: {option_of(best)}", flush=True)
                write(record, options.output)
    return 0


def write(record, path):
    """Writes a line for each schedule, and replaces the file at once."""
    lines = ["{"] + [f' "{name}": {json.dumps(record[name])},' for name in ("target", "machine", "date")] + [' "layers": {']
    for n, (layer, types) in enumerate(record["layers"].items()):
        lines.append(f'  "{layer}": {{')
        for k, (dtype, times) in enumerate(types.items()):
            rows = ",\n".join("    " + json.dumps(timed) for timed in times)
            lines.append(f'   "{dtype}": [\n{rows}]' + ("," if k + 1 < len(types) else ""))
        lines.append("  }" + ("," if n + 1 < len(record["layers"]) else ""))
    with open(path + ".new", "w", encoding="utf-8") as stream:
        stream.write("\n".join(lines + [" }", "}"]) + "\n")
    os.replace(path + ".new", path)


def check(options):
    bad = 0
    with tempfile.TemporaryDirectory() as folder:
        for path in options.files:
            with open(path, encoding="utf-8") as stream:
                record = json.load(stream)
            worst = 0
            for layer, types in record["layers"].items():
                for dtype, times in types.items():
                    choice, _, _ = chosen(options.skewer, spec_of(layer, dtype, folder), record["target"])
                    own = next((timed for timed in times if same(timed, choice)), None)
                    best = min(timed["ms"] for timed in times)
                    if not own or own["ms"] > MOST * best:
                        bad += 1
                        why = f"takes {own['ms'] / best:.3f} of the best" if own else "is not measured"
                        print(f"{path}: {layer}, {dtype}: the choice {option_of(choice)} {why}", file=sys.stderr)
                    elif own:
                        worst = max(worst, own["ms"] / best)
            print(f"{path}: {len(record['layers'])} layers; of those that fit, the worst choice takes {worst:.3f} of the best time")
    return 1 if bad else 0


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--skewer", default=os.path.join(ROOT, "build", "release", "bin", "skewer"))
    commands = parser.add_subparsers(required=True)
    timing = commands.add_parser("measure", help="time schedules on this machine")
    timing.add_argument("--target", required=True, help="the machine file that describes this machine: zen4")
    timing.add_argument("--machine", default="one core", help="what the machine is, in words")
    timing.add_argument("--seconds", type=float, default=0.3, help="for each schedule (default 0.3)")
    timing.add_argument("--layers", nargs="*", help="names of tests/bench/specs (default: those of the table beside peers)")
    timing.add_argument("-o", "--output", required=True)
    timing.set_defaults(command=measure)
    judging = commands.add_parser("check", help="compare the model's choices with measured schedules")
    judging.add_argument("files", nargs="+")
    judging.set_defaults(command=check)
    options = parser.parse_args()
    return options.command(options)


if __name__ == "__main__":
    sys.exit(main())
