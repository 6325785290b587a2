"""Checks that the file of --probe is plausible: a processor of today may have each rate, measured or kept."""
import json
import re
import sys

PLAUSIBLE = {"fma_latency": (2, 16), "clock": (0.5, 8), "fma_rate": (0.5, 4), "load_rate": (0.5, 4), "own_add_rate": (0, 4),
             "l2_rate": (4, 256), "l3_rate": (1, 256), "gather_cost": (0.2, 20), "exposed_traffic": (0, 1), "memory_rate": (0.1, 500)}

with open(sys.argv[1], encoding="utf-8") as stream:
    machine = json.load(stream)
for field, (least, most) in PLAUSIBLE.items():
    value, source = machine[field]["value"], machine[field]["source"]
    assert re.search(r"(measured|kept) by --probe on \d{4}-\d\d-\d\d", source), (field, source)
    assert least <= value <= most, (field, value)
