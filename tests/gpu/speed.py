"""The layers whose speed on a GPU is compared between changes, between choices of the compiler, and with PyTorch's kernels."""
import collections
import os
import struct

import matrix

ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..")
SPECS = os.path.join(ROOT, "tests", "bench", "specs")
GEMMA = os.path.join(ROOT, "tests", "e2e", "layers", "gemma2.attn")
SEQUENCE = "heads=64 N=4096"

# spec: a file, or a name in tests/bench/specs; all its f32 become bf16. params and sizes: -D and --size. shape: batch, heads,
# queries, keys and head dimension, for the nominal work of 4 * their product. groups: heads of keys, if there are fewer. lengths:
# the number of keys that every batch row sees, of an operand `lengths`. bias: the shape of what the positions add to the scores,
# for kernels that take it as an array. No shape: there is no such kernel, and the nominal work is the useful work.
Layer = collections.namedtuple("Layer", "spec params sizes shape causal bias groups lengths",
                               defaults=("", "", None, False, None, None, None))
# The most important ones come first: where time ends, the last ones are left out.
LAYERS = {
    "plain-64": Layer("plain-1k", SEQUENCE, "", (1, 64, 4096, 4096, 64)),
    "plain-128": Layer("plain-1k", SEQUENCE + " dim=128", "", (1, 64, 4096, 4096, 128)),
    "causal-128": Layer("causal-1k", SEQUENCE + " dim=128", "", (1, 64, 4096, 4096, 128), True),
    "sam-global": Layer("sam-global", "batch=8", "", (8, 12, 4096, 4096, 64), False, (8, 12, 4096, 4096)),
    "t5": Layer("t5", "batch=32", "", (32, 12, 512, 512, 64), False, (1, 12, 512, 512)),
    "rel1d-64": Layer("rel1d-1k", SEQUENCE, "", (1, 64, 4096, 4096, 64), False, (1, 64, 4096, 4096)),
    "music-2k": Layer("music-2k", "batch=8", "", (8, 8, 2048, 2048, 64), True, (8, 8, 2048, 2048)),
    "w2vbert": Layer("w2vbert", "batch=8", "", (8, 16, 1000, 1000, 64), False, (8, 16, 1000, 1000)),
    "deberta": Layer("deberta", "batch=16", "", (16, 12, 512, 512, 64), False, (16, 12, 512, 512)),
    "decode-8": Layer("decode-bf16", "", "batch=8", (8, 32, 1, 4096, 128), groups=8, lengths=4096),
    "causal-64": Layer("causal-1k", SEQUENCE, "", (1, 64, 4096, 4096, 64), True),
    "swin-7": Layer("swin-7", "", "", (4096, 4, 49, 49, 32), False, (4096, 4, 49, 49)),
    "sam-window": Layer("sam-window", "batch=200", "", (200, 12, 196, 196, 64), False, (200, 12, 196, 196)),
    "botnet-14x64": Layer("botnet-14x64", "", "", (64, 4, 196, 196, 128), False, (64, 4, 196, 196)),
    "vits": Layer("vits", "batch=32", "", (32, 2, 400, 400, 96)),
    "conformer": Layer("conformer", "batch=16", "", (16, 8, 512, 512, 64), False, (16, 8, 512, 512)),
    "softcap": Layer("softcap-1k", SEQUENCE, "", (1, 64, 4096, 4096, 64)),
    "sigmoid": Layer("sigmoid-1k", SEQUENCE, "", (1, 64, 4096, 4096, 64)),
    "relu2": Layer("relu2-1k", SEQUENCE, "", (1, 64, 4096, 4096, 64)),
    "sink": Layer("sink-1k", SEQUENCE, "", (1, 64, 4096, 4096, 64)),
    "gemma2": Layer(GEMMA, "N=4096 heads=16 groups=8 dim=128 W=1024", "batch=4"),
    "decode-1": Layer("decode-bf16", "", "batch=1", (1, 32, 1, 4096, 128), groups=8, lengths=4096),
    "decode-paged-8": Layer("decode-paged-bf16", "", "batch=8", (8, 32, 1, 4096, 128), groups=8, lengths=4096),
    "decode-e4m3-8": Layer("decode-e4m3", "", "batch=8", (8, 32, 1, 4096, 128), groups=8, lengths=4096),
    "plain-e4m3-128": Layer("plain-e4m3", SEQUENCE + " dim=128", "", (1, 64, 4096, 4096, 128)),
    "w2vbert-129": Layer("w2vbert", "batch=8 left=64 right=64", "", (8, 16, 1000, 1000, 64)),
    "w2vbert-257": Layer("w2vbert", "batch=8 left=128 right=128", "", (8, 16, 1000, 1000, 64)),
    "product-4096": Layer("", "N=4096 depth=4096 c=4096", "batch=2"),
}
TYPE = "bf16"


def text_of(layer):
    if not layer.spec:
        return matrix.DEEP.format(type=TYPE)
    path = layer.spec if os.path.isabs(layer.spec) else os.path.join(SPECS, layer.spec + ".attn")
    with open(path, encoding="utf-8") as stream:
        return stream.read().replace("f32[", TYPE + "[")


def write_numbers(path, values):
    """Writes whole numbers as a one-dimensional .npy file of int32."""
    header = f"{{'descr': '<i4', 'fortran_order': False, 'shape': ({len(values)},), }}"
    header += " " * (-(10 + len(header) + 1) % 64) + "\n"
    with open(path, "wb") as stream:
        stream.write(b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header.encode("latin1"))
        stream.write(struct.pack(f"<{len(values)}i", *values))


def run_command_of(options, folder, name, arguments):
    """Writes what `skewer run` reads for a layer, and returns the command."""
    return [options.skewer, "run", *arguments_of(options, folder, name), *judgement(options), *arguments]


def command_of(options, folder, name, arguments):
    """Writes what `skewer bench` reads for a layer, and returns the command."""
    return [options.skewer, "bench", *arguments_of(options, folder, name), *judgement(options), "--json",
            f"--seconds={options.seconds}", *arguments]


def explain_command_of(options, folder, name, arguments, target):
    """Writes what `skewer explain` reads for a layer, and returns the command: it says which schedule runs, and its model's time."""
    return [options.skewer, "explain", *arguments_of(options, folder, name), f"--target={target}", "--json", *arguments]


def judgement(options):
    return [f"--target={options.target}", "--rows=16", "--tolerance", matrix.TOLERANCES[TYPE]]


def arguments_of(options, folder, name):
    layer = LAYERS[name]
    path = os.path.join(folder, f"speed-{name}.attn")
    with open(path, "w", encoding="utf-8") as stream:
        stream.write(text_of(layer))
    command = [path]
    for option, values in (("-D", layer.params), ("--size", layer.sizes)):
        for value in values.split():
            command += [option, value]
    if layer.lengths:
        lengths = os.path.join(folder, f"speed-{name}.npy")
        write_numbers(lengths, [layer.lengths] * layer.shape[0])
        command += ["--input", f"lengths={lengths}"]
    return command


def nominal_flops(name):
    """Returns 4 * batch * heads * queries * keys * dim, or None if the layer has no such shape."""
    shape = LAYERS[name].shape
    if not shape:
        return None
    work = 4.0
    for extent in shape:
        work *= extent
    return work


def form_of(name):
    """Returns the sizes of a layer for torch_peers.py, or None if PyTorch has no kernel for it."""
    layer = LAYERS[name]
    if not layer.shape:
        return None
    batch, heads, queries, keys, dim = layer.shape
    groups = layer.groups or heads
    return {"q": [batch, heads, queries, dim], "k": [batch, groups, keys, dim], "v": [batch, groups, keys, dim], "type": TYPE,
            "causal": layer.causal}


def same_form(name):
    """Returns the first layer with the same sizes: attention without positions is the same for all of these."""
    return next(other for other in LAYERS if form_of(other) == form_of(name))


def forms_of(names):
    """Returns, for torch_peers.py, attention of the layers' sizes without positions, and with a bias that is given."""
    forms = []
    for name in names:
        form = form_of(name)
        if not form:
            continue
        if not any(other["name"] == same_form(name) and "bias" not in other for other in forms):
            forms.append({"name": same_form(name), **form})
        if LAYERS[name].bias:
            forms.append({"name": name, **form, "causal": False, "bias": list(LAYERS[name].bias)})
    return forms
