"""Runs processes side by side, and kills those that take too long."""
import collections
import concurrent.futures
import contextlib
import os
import signal
import subprocess
import threading
import time

KILLED, STUCK = "killed", "stuck"  # in place of an exit code

Done = collections.namedtuple("Done", "title code seconds out said")


class Processes:
    """The processes that run now: each leads a group, so that it can be killed with what it started."""

    def __init__(self):
        self.lock = threading.Lock()
        self.running = {}

    def call(self, title, command, limit):
        begin = time.monotonic()
        process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                   text=True, errors="replace", process_group=0)
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
    """Runs jobs of (title, command), the first ones first, and gives each outcome to `done`. Returns how many were left
    out because the deadline passed."""
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
