"""same_prediction.py EXPLAIN.json BENCH.json: checks that both have a predicted time for each kernel, and the same one."""
import json
import sys

explained, measured = (json.load(open(path, encoding="utf-8"))["kernels"] for path in sys.argv[1:])
for one, other in zip(explained, measured, strict=True):
    seconds = one["predicted_seconds"]
    assert seconds > 0 and abs(other["predicted_seconds"] / seconds - 1) < 1e-9, (seconds, other)
