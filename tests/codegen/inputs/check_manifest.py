"""check_manifest.py MANIFEST HEADER OBJECT: checks that the header and the object have what the manifest promises."""
import json
import re
import sys

manifest_text = open(sys.argv[1], encoding="utf-8").read()
header = open(sys.argv[2], encoding="utf-8").read()
manifest = json.loads(manifest_text)
name = manifest["name"]

required = {"abi_version", "args_bytes", "compiler", "details", "inputs", "name", "outputs", "phases", "sizes",
            "spec_hash", "target", "workspace"}
assert required <= manifest.keys(), required - manifest.keys()
assert list(manifest) == sorted(manifest), "keys are in order, so that two manifests can be compared line by line"

# The struct has a first word, and then a field of 8 bytes for each input, output and size, in this order.
struct = re.search(r"typedef struct %s_args \{(.*?)\} %s_args;" % (name, name), header, re.S).group(1)
fields = [field for line in re.findall(r"^\s*(?:const )?\w+ [*]?([\w, ]+);", struct, re.M) for field in line.split(", ")]
listed = [entry["field"] for kind in ("inputs", "outputs", "sizes") for entry in manifest[kind]]
assert fields[:2] == ["size", "version"], fields
assert fields[2:2 + len(listed)] == listed, (fields, listed)
assert manifest["args_bytes"] == 8 * (len(fields) - 1), (manifest["args_bytes"], fields)

for entry in manifest["inputs"] + manifest["outputs"]:
    assert entry["type"] in ("f32", "f16", "bf16", "i32"), entry
    sizes = [size["name"] for size in manifest["sizes"]]
    assert all(isinstance(size, int) and size >= 1 or size in sizes for size in entry["shape"]), entry
    assert ("range" in entry) <= (entry["type"] == "i32"), entry

# The bytes of each phase and of the workspace are a number plus a multiple of run-time sizes; the header has the same formula.
for number, phase in enumerate(manifest["phases"]):
    items = phase["items"]
    assert items["fixed"] >= 0 and items["scaled"] >= 0 and bool(items["factors"]) == bool(items["scaled"]), phase
    assert "phase %d: %s, %s items" % (number, phase["title"], items["text"]) in header, phase
workspace = manifest["workspace"]
assert workspace["alignment"] == 64 and workspace["bytes_per_worker"] % 64 == 0, workspace
assert workspace["shared_bytes"]["fixed"] % 64 == 0 and workspace["shared_bytes"]["scaled"] % 64 == 0, workspace

# The object has the same text, without the parts that only `explain` needs.
data = open(sys.argv[3], "rb").read()
begin = data.index(b'{\n  "abi_version"')
carried = json.loads(data[begin:data.index(b"\0", begin)])
assert carried.pop("details") == {}, "NAME_info() is for programs"
assert carried == {key: value for key, value in manifest.items() if key != "details"}, "NAME_info() is another manifest"
print(name, "agrees")
