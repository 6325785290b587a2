"""Watches the turns that processes take on the GPU."""
import fcntl
import os
import struct
import tempfile
import threading
import time


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
