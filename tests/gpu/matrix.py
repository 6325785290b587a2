#!/usr/bin/env python3
"""Runs layers of every class, in several shapes and types, on this machine's GPU and compares them with the reference.

The last layers have long sums of f32: 4096 keys, and a matrix product 4096 deep. Tensor cores cut sums off where f32 rounds, so
that these layers show effects of the hardware that an interpreter may not have. An error within 1e-5 of the largest value
(TOLERANCES) is right; 2.5e-6 is expected. One chain of products over the whole sum would be off by 4e-5 and 7e-5.

If compute-sanitizer is found, a sample runs under it too (memcheck, racecheck, synccheck). Exit codes: 0 if all are right, 1 if
one is wrong, 3 if there is no GPU. `tools/bootstrap gpu-test` calls it.
"""
import argparse
import collections
import os
import shutil
import subprocess
import sys
import tempfile

CONTENT = 'einsum("b h i d, b h j d -> b h i j", q, {key})'

# By name: further arguments, the terms added to the content, the text after the scale, a mask, and the type in which keys and
# values are stored, if it is not that of the queries, with what makes numbers of them.
Layer = collections.namedtuple("Layer", "arguments term after mask stored key value", defaults=("", "", "", "", "", "k", "v"))
LAYERS = {
    "content": Layer(),
    "causal": Layer(mask="j <= i"),
    "window": Layer(mask="abs(j - i) <= 9"),
    "lengths": Layer(", seen : i32[batch] in 1..N", mask="j < seen[b]"),
    "offset-query-side": Layer(", table : {type}[2*N - 1, dim]", " + rel1d(q, table)"),
    "offset-clamped": Layer(", table : {type}[heads, 17, dim]",
                            ' + einsum("b h i d, h (clamp(j - i, -8, 8) + 8) d -> b h i j", q, table, j = N)'),
    "offset-causal": Layer(", table : {type}[2*N - 1, dim]", " + rel1d(q, table)", "", "j <= i"),
    "offset-key-side": Layer(", table : {type}[2*N - 1, dim]",
                             ' + einsum("b h j d, (i - j + N - 1) d -> b h i j", k, table, i = N)'),
    "offset-scalar": Layer(", bias : f32[heads, 2*N - 1]", "",
                           ' + einsum("h (j - i + N - 1) -> h i j", bias, i = N, j = N)'),
    "line": Layer(", slope : f32[heads]", "", " + alibi(slope)"),
    "map-axes": Layer(", rows : {type}[2*H - 1, dim], columns : {type}[2*W - 1, dim]",
                      " + rel2d(q, rows, columns, map = (H, W))"),
    "key-only": Layer(", e : {type}[N, dim]", ' + einsum("b h i d, j d -> b h i j", q, e)'),
    "segments": Layer(", e : {type}[heads, 2, dim], seg : i32[batch, N] in 0..3",
                      ' + einsum("b h i d, h (seg[b, i] != seg[b, j]) d -> b h i j", q, e, j = N)'),
    "bits": Layer(", words : i32[batch, N] in -2147483648..2147483647, e : {type}[heads, 16, dim]",
                  ' + einsum("b h i d, h (words[b, j] >> 4*(i % 8) & 15) d -> b h i j", q, e, j = N)', "",
                  "words[b, j] >> i % 32 & 1 == 0 or j == i"),
    "e4m3": Layer(", ks, vs : f32[batch, heads, N] ~ 0.5", mask="j <= i", stored="f8e4m3", key="k * ks[..., None]",
                  value="v * vs[..., None]"),
    "i8": Layer(", ks, vs : f32[heads] ~ 0.01", stored="i8", key="k * ks[:, None, None]", value="v * vs[:, None, None]"),
    "anything-else": Layer(", near : {type}[100, dim]",
                           ' + einsum("b h i d, ((3*i + 5*j) % 100) d -> b h i j", q, near, j = N)'),
}
# Batch, heads, map (queries and keys are its product), head dimension.
SHAPES = [(1, 1, 4, 4, 16), (2, 3, 7, 11, 32), (1, 2, 5, 13, 64), (1, 2, 8, 16, 80), (2, 2, 15, 20, 64), (1, 1, 16, 32, 128)]
TYPES = ["f16", "bf16", "f32"]
SAMPLE = (2, 3, 7, 11, 32)
TOLERANCES = {"f32": "1e-5", "f16": "2e-3", "bf16": "1.5e-2"}  # shares of the largest value, for `skewer run` on a GPU
LONG = (1, 1, 64, 64, 64)
LONG_LAYERS = ["content", "causal", "offset-query-side"]
DEEP = """param N = 96, depth = 4096, c = 160
size batch
kernel layer(x : {type}[batch, N, depth], const w : {type}[c, depth] ~ depth^-0.5, const bias : f32[c]) -> {type}[batch, N, c] {{
  return einsum("b n d, c d -> b n c", x, w) + bias
}}
"""
CHECKERS = ["memcheck", "racecheck", "synccheck"]


def text_of(layer, shape, kind):
    batch, heads, height, width, dim = shape
    mask = " where " + layer.mask if layer.mask else ""
    operands = f"q : {kind}[batch, heads, N, dim], k, v : {layer.stored}" if layer.stored else f"q, k, v : {kind}"
    return (f"param H = {height}, W = {width}, N = H*W, heads = {heads}, dim = {dim}\nsize batch\n"
            f"kernel layer({operands}[batch, heads, N, dim]{layer.arguments.format(type=kind)})"
            f" -> {kind}[batch, heads, N, dim] {{\n  content = {CONTENT.format(key=layer.key)}\n"
            f"  weights = softmax((content{layer.term}) * dim^-0.5{layer.after}{mask})\n"
            f'  return einsum("b h i j, b h j d -> b h i d", weights, {layer.value})\n}}\n')


def command_for(options, folder, title, text, batch, kind):
    path = os.path.join(folder, title.replace(" ", "-") + ".attn")
    with open(path, "w", encoding="utf-8") as stream:
        stream.write(text)
    command = [options.skewer, "run", path, f"--target={options.target}", "--size", f"batch={batch}"]
    return command if options.target == "host" else command + ["--tolerance", TOLERANCES[kind]]


def command_of(options, folder, name, shape, kind):
    title = f"{name}-{'x'.join(map(str, shape))}-{kind}"
    return command_for(options, folder, title, text_of(LAYERS[name], shape, kind), shape[0], kind)


def whole_matrix(options, folder, layers, shapes, types):
    """Yields the title and the command of each layer."""
    for name in layers:
        for shape in shapes:
            for kind in types:
                yield f"{name} {'x'.join(map(str, shape))} {kind}", command_of(options, folder, name, shape, kind)


def long_sums(options, folder, layers, types):
    for name in [name for name in LONG_LAYERS if name in layers]:
        yield f"{name}, 4096 keys, f32", command_of(options, folder, name, LONG, "f32")
    for kind in types:
        title = f"matrix product, 4096 deep, {kind}"
        yield title, command_for(options, folder, title, DEEP.format(type=kind), 2, kind)


def find_sanitizer():
    return shutil.which("compute-sanitizer") or shutil.which("/usr/local/cuda/bin/compute-sanitizer")


def sample_under_checkers(options, folder, layers, sanitizer):
    for checker in CHECKERS:
        for name in layers:
            command = command_of(options, folder, name, SAMPLE, "f16")
            yield f"{name} under {checker}", [sanitizer, "--tool", checker, "--error-exitcode", "9", *command]


def run(command):
    try:
        done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=300, check=False)
    except subprocess.TimeoutExpired:
        return 124, "took more than five minutes"
    return done.returncode, (done.stdout + done.stderr).strip()


class Report:
    def __init__(self):
        self.right = self.wrong = 0

    def add(self, title, code, output):
        """Adds a result. Exits if there is no GPU: a matrix without a run has not passed."""
        if code == 3:
            print(f"gpu-test: not run: {output}", file=sys.stderr)
            sys.exit(3)
        if code == 0:
            self.right += 1
            print(f"ok     {title}", flush=True)
        else:
            self.wrong += 1
            print(f"WRONG  {title}: exit code {code}\n  " + output[-1500:].replace("\n", "\n  "), flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--skewer", default="skewer", help="the driver")
    parser.add_argument("--target", default="gpu", help="gpu, one of the GPUs' names, or host to try the layers themselves, under their own tolerances")
    parser.add_argument("--layers", nargs="*", default=list(LAYERS), choices=list(LAYERS), metavar="NAME", help="only these")
    parser.add_argument("--quick", action="store_true", help="one shape and one type of each layer")
    options = parser.parse_args()
    report = Report()
    with tempfile.TemporaryDirectory() as folder:
        shapes, types = ([SAMPLE], TYPES[:1]) if options.quick else (SHAPES, TYPES)
        for title, command in whole_matrix(options, folder, options.layers, shapes, types):
            report.add(title, *run(command))
        for title, command in long_sums(options, folder, options.layers, ["f32"] if options.quick else TYPES):
            report.add(title, *run(command))
        sanitizer = find_sanitizer() if options.target != "host" else None
        if options.target != "host" and not sanitizer:
            print("gpu-test: compute-sanitizer was not found (it comes with a CUDA toolkit): nothing ran under it")
        for title, command in sample_under_checkers(options, folder, options.layers, sanitizer) if sanitizer else []:
            report.add(title, *run(command))
    print(f"gpu-test: {report.right} right, {report.wrong} wrong")
    sys.exit(1 if report.wrong or not report.right else 0)


if __name__ == "__main__":
    main()
