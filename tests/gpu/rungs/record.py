"""Runs the jobs of a step within the budget, and records what they found."""
import json
import os
import re
import shutil
import sys
import time

from rungs.processes import Processes, run_all


class Ladder:
    """One run of the script: its options, its folder for files, its processes, and what it found."""

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
        self.found["steps"].append({"step": step, "right": right, "wrong": len(failures), "refused": refused,
                                    "left_out": left_out, "seconds": seconds,
                                    "failures": [outcome._asdict() for outcome in failures]})
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
            elif self.pins and re.search("error: (engine '|copies are ')", outcome.said):
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

    def beside_skewer(self, name):
        path = os.path.join(os.path.dirname(shutil.which(self.options.skewer) or self.options.skewer), name)
        return path if os.path.exists(path) else None

    def explain_target(self):
        """Returns the name of the target that `gpu` stands for, or an empty text for none that is known here."""
        if self.options.target != "gpu":
            return "" if self.options.target == "host" else self.options.target
        capability = re.search(r", (\d+)\.(\d+)$", self.found.get("gpu", ""))
        if not capability:
            return ""
        number = "".join(capability.groups())
        return f"sm_{number}" + ("a" if number == "90" else "")
