"""Prints PyTorch's times on this GPU, as JSON.

  torch_peers.py '{"q": [batch, heads, N, dim], "k": …, "v": …, "type": "f16"}'
  torch_peers.py --forms FILE.json

The first form prints attention of these sizes by SDPA and by compiled FlexAttention with a table of distances, and the rate of a
large matrix product (cuBLAS). Apart from the table of numbers, none of them has the layer's positions: they do less work than the
layer.

The second form prints a line for the GPU's peaks (a matrix product, a copy) and then a line for each attention of the file, a
list of such objects with a "name", and with "causal" and "bias" (the shape of an array that is added to the scores) where they
have them. A line has the seconds of each of SDPA's kernels, or why it did not run.
"""
import contextlib
import fcntl
import json
import os
import statistics
import sys
import tempfile

import torch
from torch.nn.functional import scaled_dot_product_attention

ROUNDS = 7
TYPES = {"f16": torch.float16, "bf16": torch.bfloat16, "f32": torch.float32}


@contextlib.contextmanager
def turn():
    """Waits until no `skewer bench` works on the GPU, and keeps others waiting."""
    with open(os.path.join(tempfile.gettempdir(), "skewer-gpu.lock"), "a", encoding="utf-8") as stream:
        fcntl.lockf(stream, fcntl.LOCK_EX)
        yield


def seconds(call, share=0.02):
    """Returns the median time of a call by CUDA events, after a warm-up; each round has as many calls as take `share` seconds."""
    def once(count):
        begin, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
        begin.record()
        for _ in range(count):
            call()
        end.record()
        end.synchronize()
        return begin.elapsed_time(end) * 1e-3 / count

    once(3)
    count = max(3, min(10000, int(share / max(once(3), 1e-7))))
    once(count)
    return statistics.median(once(count) for _ in range(ROUNDS))


def first_line(error):
    return str(error).splitlines()[0] if str(error) else type(error).__name__


def product_rate(kind, size=8192):
    a, b = (torch.randn(size, size, device="cuda", dtype=kind) for _ in range(2))
    return 2 * size**3 / seconds(lambda: a @ b) * 1e-12


def flex(q, k, v):
    from torch.nn.attention.flex_attention import flex_attention

    table = torch.randn(q.shape[1], q.shape[2] + k.shape[2] - 1, device="cuda", dtype=torch.float32)
    last = q.shape[2] - 1
    compiled = torch.compile(flex_attention)
    return seconds(lambda: compiled(q, k, v, score_mod=lambda s, b, h, i, j: s + table[h, j - i + last]))


def beside(asked):
    """Returns what the first form prints."""
    kind = TYPES[asked["type"]]
    q, k, v = (torch.randn(asked[name], device="cuda", dtype=kind) for name in "qkv")
    found = {"torch": torch.__version__, "gpu": torch.cuda.get_device_name()}
    found["sdpa_seconds"] = seconds(lambda: scaled_dot_product_attention(q, k, v))
    try:
        found["flex_seconds"] = flex(q, k, v)
    except Exception as error:  # old versions do not have it, and compiling needs a C compiler
        found["flex_error"] = first_line(error)
    found["matmul_tflops"] = product_rate(kind)
    return found


def peaks():
    found = {"torch": torch.__version__, "gpu": torch.cuda.get_device_name(), "matmul_tflops": product_rate(torch.bfloat16)}
    source = torch.empty(1 << 32, device="cuda", dtype=torch.uint8)
    target = torch.empty_like(source)
    found["copy_tb_per_second"] = 2 * source.numel() / seconds(lambda: target.copy_(source)) * 1e-12
    return found


def kernels(asked):
    """Returns the seconds of each kernel of SDPA for an attention."""
    from torch.nn.attention import SDPBackend, sdpa_kernel

    kind = TYPES[asked["type"]]
    q, k, v = (torch.randn(asked[name], device="cuda", dtype=kind) for name in "qkv")
    bias = torch.randn(asked["bias"], device="cuda", dtype=kind) if asked.get("bias") else None
    found = {"name": asked["name"], "bias": bias is not None}
    names = {"efficient": SDPBackend.EFFICIENT_ATTENTION, "cudnn": SDPBackend.CUDNN_ATTENTION}
    if bias is None:
        names = {"flash": SDPBackend.FLASH_ATTENTION, "cudnn": SDPBackend.CUDNN_ATTENTION}
    options = {"is_causal": asked.get("causal", False)}
    if bias is not None:
        options["attn_mask"] = bias.expand(q.shape[0], q.shape[1], -1, -1)
    if q.shape[1] != k.shape[1]:
        options["enable_gqa"] = True
    for name, backend in names.items():
        try:
            with sdpa_kernel(backend):
                found[name] = seconds(lambda: scaled_dot_product_attention(q, k, v, **options))
        except Exception as error:  # a kernel that does not take these sizes
            found[name + "_error"] = first_line(error)
    return found


def main():
    if sys.argv[1] != "--forms":
        print(json.dumps(beside(json.loads(sys.argv[1]))))
        return
    with open(sys.argv[2], encoding="utf-8") as stream:
        forms = json.load(stream)
    torch.zeros(1, device="cuda")  # opens the GPU before the first turn
    for measure in [peaks] + [lambda form=form: kernels(form) for form in forms]:
        with turn():
            try:
                line = measure()
            except Exception as error:  # memory ends, or a fault of the GPU
                line = {"error": first_line(error)}
            torch.cuda.empty_cache()
        print(json.dumps(line), flush=True)


if __name__ == "__main__":
    main()
