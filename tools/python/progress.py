"""Runs a build and shows its progress. pip hides the output of a build, so that the line goes to the terminal, if there is one.

usage: progress.py COMMAND ARGUMENT ...
"""

import os
import re
import subprocess
import sys
import time

FEW = 20  # fewer steps are done before anybody asks


def open_terminal():
    """Returns the terminal of the process if standard output is not one; None if there is no terminal."""
    if sys.stdout.isatty():
        return None
    try:
        return open("/dev/tty", "w", encoding="utf-8")
    except OSError:
        return None


class Progress:
    """Prints the number of finished steps on the terminal, at most once a second."""

    def __init__(self, terminal):
        self.terminal, self.start, self.said, self.has_said = terminal, time.monotonic(), 0.0, False

    def step(self, done, total):
        now = time.monotonic()
        if self.terminal is None or total <= FEW or now - self.said < 1:
            return
        if not self.has_said:
            print(f"\nskewer: building the compiler in build/release, once, {total} steps: about 13 minutes on two cores "
                  "(pip install -v shows each)", file=self.terminal)
        self.said, self.has_said = now, True
        left = (now - self.start) / max(done, 1) * (total - done)
        about = f", about {max(1, round(left / 60))} min left" if now - self.start > 20 else ""
        print(f"\r\033[Kskewer: {done} of {total}{about}", end="", file=self.terminal, flush=True)

    def end(self):
        if self.has_said:
            print("\r\033[K", end="", file=self.terminal, flush=True)


def main(command):
    progress = Progress(open_terminal())
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, errors="replace",
                          env={**os.environ, "NINJA_STATUS": "[%f/%t] "}) as build:
        for line in build.stdout:
            sys.stdout.write(line)
            sys.stdout.flush()
            found = re.match(r"\[(\d+)/(\d+)\] ", line)
            if found:
                progress.step(int(found[1]), int(found[2]))
    progress.end()
    return build.returncode


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
