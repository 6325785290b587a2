"""gpu_budget.py SPECS FIGURES [--update]: checks that the registers, the shared memory and the instructions of GPU kernels are
within 5 % of FIGURES, for layers of SPECS in f16 (and some in f32). FIGURES has the accepted numbers of several versions of
ptxas; with another version nothing is compared. --update writes the numbers of the present version anew."""
import json
import pathlib
import re
import subprocess
import sys
import tempfile

specs, figures = pathlib.Path(sys.argv[1]), pathlib.Path(sys.argv[2])
update = "--update" in sys.argv[3:]
TOLERANCE = 0.05
TARGETS = ["sm_80", "sm_90a"]
# By name: a layer, options, and the type of its tensors if it is not f16.
LAYERS = {
    "plain, 64 wide": ("plain-1k", []),
    "plain, 64 wide, f32": ("plain-1k", [], "f32"),
    "relative, f32": ("rel1d-1k", [], "f32"),
    "plain, 128 wide": ("plain-1k", ["-D", "dim=128"]),
    "relative": ("rel1d-1k", []),
    "relative, causal": ("music-2k", []),
    "map of 64 x 64": ("sam-global", []),
    "map of 14 x 14": ("botnet-14", []),
    "biased queries": ("conformer", []),
    "buckets": ("t5", []),
    "both sides": ("deberta", []),
    "windows of 7 x 7": ("swin-7", []),
    "slopes": (None, []),
}
SLOPES = """param heads = 8, N = 1024, dim = 64
kernel slopes(q, k, v : f32[heads, N, dim], slope : f32[heads]) -> f32[heads, N, dim] {
  content = einsum("h i d, h j d -> h i j", q, k) * dim^-0.5
  return einsum("h i j, h j d -> h i d", softmax(content + alibi(slope) where j <= i), v)
}
"""


def explain(folder, target, spec, options, kind="f16"):
    text = (specs / (spec + ".attn")).read_text() if spec else SLOPES
    path = pathlib.Path(folder) / "layer.attn"
    path.write_text(re.sub(r"\bf32\[", kind + "[", text))
    command = ["skewer", "explain", str(path), "--target=" + target, "--json", *options]
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode:
        sys.exit("%s\n%s" % (" ".join(command), done.stderr))
    (kernel,) = json.loads(done.stdout)["kernels"]
    if kernel["gpu"]["missing"]:
        print("skipped: " + "; ".join(kernel["gpu"]["missing"]))
        sys.exit(0)
    # The attention decides the costs of a program; its other kernels are short.
    (attention,) = [one for one in kernel["gpu"]["kernels"] if one["model"]]
    found = {"registers": attention["registers"], "shared_bytes": attention["shared_bytes"]}
    for kind, count in (attention["instructions_per_score"] or {}).items():
        found[kind] = round(count, 4)
    return kernel["gpu"]["ptxas"], attention["occupancy"]["blocks"], kernel["attentions"][0]["schedule"], found


accepted = json.loads(figures.read_text()) if figures.exists() else {}
measured, wrong, version = {}, [], ""
with tempfile.TemporaryDirectory() as folder:
    for name, layer in LAYERS.items():
        for target in TARGETS:
            version, blocks, schedule, found = explain(folder, target, *layer)
            if not update and version not in accepted:
                print("skipped: ptxas is %s, the figures are of %s" % (version, ", ".join(accepted)))
                sys.exit(0)
            key = "%s, %s" % (name, target)
            measured[key] = {"schedule": schedule, "blocks": blocks, **found}
            known = accepted.get(version, {}).get(key)
            print("%-26s %3d registers, %6d B shared, %d blocks, %.2f instructions a score" % (
                key, found["registers"], found["shared_bytes"], blocks, sum(v for k, v in found.items() if k not in ("registers", "shared_bytes"))))
            if known is None:
                wrong.append("%s has no accepted figures" % key)
                continue
            figures_of_both = set(found) | set(known) - {"schedule", "blocks"}
            for what in sorted(figures_of_both):
                if what not in found or what not in known:
                    wrong.append("%s: %s is %s, accepted %s" % (key, what, found.get(what), known.get(what)))
                    continue
                value = found[what]
                # One instruction more in a step with 16 scores a thread is accepted.
                if abs(value - known[what]) > max(TOLERANCE * known[what], 1 / 16):
                    wrong.append("%s: %s is %g, accepted %g" % (key, what, value, known[what]))
if update:
    figures.write_text(json.dumps({**accepted, version: measured}, indent=1) + "\n")
elif wrong:
    sys.exit("\n".join(wrong) + "\nif this is meant: %s --update" % " ".join(sys.argv[:3]))
