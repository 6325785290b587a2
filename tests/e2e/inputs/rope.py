"""rope.py FOLDER: compares the RoPE cases under FOLDER, with computed tables, fused and not, with `output_exact`."""
import os
import subprocess
import sys
import tempfile

CASES = {
    "rope-llama-n60": ("rope_half(%s)", 1, 4, 2, 60, 32, " where j <= i"),
    "rope-roformer-n50": ("rope(%s)", 2, 2, 2, 50, 24, ""),
    "rope2d-eva-5x7": ("rope2d(%s, map = (5, 7), prefix = 1)", 1, 3, 3, 36, 32, ""),
    "rope2d-eva-half-6x4": ("rope2d_half(%s, map = (6, 4))", 2, 2, 2, 24, 24, ""),
}
SPEC = """
kernel turned(q : f32[{batch}, {heads}, {tokens}, {dim}], k, v : f32[{batch}, {groups}, {tokens}, {dim}])
    -> f32[{batch}, {heads}, {tokens}, {dim}] {{
  queries = rearrange({query}, "b (g m) i d -> b g m i d", g = {groups})
  content = einsum("b g m i d, b g j d -> b g m i j", queries, {key}) * {dim}^-0.5
  result  = einsum("b g m i j, b g j d -> b g m i d", softmax(content{mask}), v)
  return rearrange(result, "b g m i d -> b (g m) i d")
}}
"""
for name, (scheme, batch, heads, groups, tokens, dim, mask) in CASES.items():
    folder = os.path.join(sys.argv[1], name)
    with tempfile.TemporaryDirectory() as scratch:
        spec = os.path.join(scratch, "turned.attn")
        with open(spec, "w") as f:
            f.write(SPEC.format(batch=batch, heads=heads, groups=groups, tokens=tokens, dim=dim, mask=mask,
                                query=scheme % "q", key=scheme % "k"))
        for option in ([], ["--unfused"]):
            subprocess.run(["skewer", "run", spec, "--expect", os.path.join(folder, "output_exact.npy"), *option]
                           + ["--input=%s=%s" % (o, os.path.join(folder, o + ".npy")) for o in "qkv"], check=True)
