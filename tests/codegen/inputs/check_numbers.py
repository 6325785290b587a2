"""check_numbers.py MANIFEST OUTPUT: checks that a kernel's functions return what the manifest's formulas say."""
import json
import sys

manifest = json.load(open(sys.argv[1], encoding="utf-8"))
info, lines = open(sys.argv[2], encoding="utf-8").read().split("-----\n")
said = json.loads(info)
for key in ("name", "abi_version", "args_bytes", "inputs", "outputs", "sizes", "phases", "workspace", "target", "spec_hash"):
    assert said[key] == manifest[key], key


def value(expression, sizes):
    product = 1
    for factor in expression["factors"]:
        product *= sizes[factor]
    return expression["fixed"] + expression["scaled"] * (product if expression["factors"] else 0)


workspace, checked = manifest["workspace"], 0
for line in lines.splitlines():
    batch, workers, size, *items = map(int, line.split())
    sizes = {"batch": batch}
    own = workers * workspace["bytes_per_worker"] + workspace.get("prepared_bytes", 0)
    assert size == value(workspace["shared_bytes"], sizes) + own, line
    assert items == [value(phase["items"], sizes) for phase in manifest["phases"]], line
    checked += 1
print("%d sizes agree" % checked)
