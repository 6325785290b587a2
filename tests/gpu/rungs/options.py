"""Reads the command line of ladder.py."""
import argparse
import os
import shlex
import shutil

from rungs import checks, speeds

# By name, the most important ones first.
STEPS = {
    "card": checks.say_card,
    "smoke": checks.check_smoke,
    "replay": checks.replay_launches,
    "speed": speeds.time_layers,
    "repeats": speeds.repeat_layers,
    "copies": speeds.compare_copies,
    "matrix": checks.check_matrix,
    "random": checks.check_random,
    "conformance": checks.check_conformance,
    "layers": checks.check_layers,
    "narrow": checks.check_narrow,
    "sanitizer": checks.check_under_sanitizer,
}
PINNED = ["smoke", "repeats", "matrix", "random", "conformance", "narrow"]  # steps of `skewer run`


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


def parse(description):
    """Returns the options. A mistake ends the script."""
    cores = os.cpu_count() or 2
    parser = argparse.ArgumentParser(description=description, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--skewer", default="skewer", help="the driver")
    parser.add_argument("--target", default="gpu",
                        help="gpu, one of the GPUs' names, or host to try the steps that only check")
    parser.add_argument("--budget", type=float, default=540, metavar="SECONDS",
                        help="for all steps together (default %(default)s)")
    parser.add_argument("--steps", type=steps_of, default=",".join(STEPS), metavar="A,B:PART=VALUE",
                        help="in this order (default: all)")
    parser.add_argument("--jobs", type=int, default=cores,
                        help="runs at a time where results are checked (default: one a core)")
    parser.add_argument("--compiling", type=int, default=max(2, cores // 2),
                        help="layers that compile at a time for `speed`")
    parser.add_argument("--kill", type=float, default=30, metavar="SECONDS",
                        help="a run that takes longer is killed (default %(default)s)")
    parser.add_argument("--repeats", type=int, default=20,
                        help="calls of each kernel that is checked (default %(default)s)")
    parser.add_argument("--launches", metavar="FOLDER", help="launches that tests of the interpreter wrote (replay.py)")
    parser.add_argument("--random", metavar="FILE", help="random layers")
    parser.add_argument("--seeds", default="0:200",
                        help="of random layers, where there is no file (default %(default)s)")
    parser.add_argument("--variant", type=variant_of, action="append", metavar="NAME[@LAYER,…]=ARGUMENTS",
                        help="a column of `speed`: further arguments of bench; may be repeated (default: one without "
                        "any)")
    parser.add_argument("--before", metavar="FILE",
                        help="a ladder.json of another time, which becomes a column of `speed`")
    parser.add_argument("--layers", type=lambda text: text.split(","), default=["*"], metavar="A,B",
                        help="of `speed` and `repeats`; '*' stands for any text")
    parser.add_argument("--seconds", type=float, default=0.3, help="that bench times each layer (default %(default)s)")
    parser.add_argument("--speed-share", type=float, default=0.6,
                        help="of the time that is left when `speed` begins (default %(default)s)")
    parser.add_argument("--no-peers", action="store_true", help="without PyTorch")
    parser.add_argument("--failures", type=int, default=10,
                        help="that each step prints (default %(default)s); ladder.json has all")
    parser.add_argument("--out", default=os.environ.get("OUT"),
                        help="folder for ladder.json (default: the variable OUT)")
    options = parser.parse_args()
    options.variant = options.variant or [("now", ["*"], [])]
    if not shutil.which(options.skewer):
        parser.error(f"there is no program '{options.skewer}'")
    return options
