"""torch_peers.py '{"q": [batch, heads, N, dim], "k": …, "v": …, "type": "f16"}': prints PyTorch's times on this GPU for attention
of these sizes, as JSON: SDPA, compiled FlexAttention with a table of distances, and the rate of a large matrix product
(cuBLAS). Apart from the table of numbers, none of them has the layer's positions: they do less work than the layer."""
import json
import statistics
import sys

import torch

ROUNDS = 7


def seconds(call):
    """Returns the median time of a call by CUDA events, after a warm-up; each round has as many calls as take about 20 ms."""
    def once(count):
        begin, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
        begin.record()
        for _ in range(count):
            call()
        end.record()
        end.synchronize()
        return begin.elapsed_time(end) * 1e-3 / count

    once(3)
    count = max(3, min(10000, int(0.02 / max(once(3), 1e-7))))
    once(count)
    return statistics.median(once(count) for _ in range(ROUNDS))


def flex(q, k, v):
    from torch.nn.attention.flex_attention import flex_attention

    table = torch.randn(q.shape[1], q.shape[2] + k.shape[2] - 1, device="cuda", dtype=torch.float32)
    last = q.shape[2] - 1
    compiled = torch.compile(flex_attention)
    return seconds(lambda: compiled(q, k, v, score_mod=lambda s, b, h, i, j: s + table[h, j - i + last]))


def main():
    asked = json.loads(sys.argv[1])
    kind = {"f16": torch.float16, "bf16": torch.bfloat16, "f32": torch.float32}[asked["type"]]
    q, k, v = (torch.randn(asked[name], device="cuda", dtype=kind) for name in "qkv")
    found = {"torch": torch.__version__, "gpu": torch.cuda.get_device_name()}
    found["sdpa_seconds"] = seconds(lambda: torch.nn.functional.scaled_dot_product_attention(q, k, v))
    try:
        found["flex_seconds"] = flex(q, k, v)
    except Exception as error:  # old versions do not have it, and compiling needs a C compiler
        found["flex_error"] = str(error).splitlines()[0] if str(error) else type(error).__name__
    size = 8192
    a, b = (torch.randn(size, size, device="cuda", dtype=kind) for _ in range(2))
    found["matmul_tflops"] = 2 * size**3 / seconds(lambda: a @ b) * 1e-12
    print(json.dumps(found))


main()
