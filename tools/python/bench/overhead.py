#!/usr/bin/env python3
"""Measures the extra cost of a call from Python, compared with the C entry with the same operands: medians in microseconds."""

import ctypes
import statistics
import sys
import time

import numpy as np

import skewer

LAYER = """param N = 8, d = 16
size batch
kernel small(q, k, v : f32[batch, N, d], table : f32[2*N - 1, d]) -> f32[batch, N, d] {
  s = einsum("b i d, b j d -> b i j", q, k) + einsum("b i d, (j - i + N - 1) d -> b i j", q, table)
  return einsum("b i j, b j d -> b i d", softmax(s), v)
}
"""


def median_of(call, rounds=200, calls=50):
    """Returns the seconds of a call: the median of the rounds' means."""
    times = []
    for _ in range(rounds):
        start = time.perf_counter()
        for _ in range(calls):
            call()
        times.append((time.perf_counter() - start) / calls)
    return statistics.median(times)


class Exec(ctypes.Structure):
    """The struct skewer_exec of docs/abi.md."""

    _fields_ = [("size", ctypes.c_uint32), ("version", ctypes.c_uint32), ("workspace", ctypes.c_void_p),
                ("workspace_bytes", ctypes.c_uint64), ("workers", ctypes.c_int32), ("reserved", ctypes.c_int32),
                ("context", ctypes.c_void_p), ("parallel_for", ctypes.c_void_p)]


def c_entry(layer, arrays, out):
    """Returns the C entry as a function, and a function that measures the cost of ctypes alone."""
    words = (ctypes.c_uint64 * (1 + len(arrays) + 1 + 1 + 3))()
    words[0] = ctypes.sizeof(words) | 1 << 32
    for number, array in enumerate((*arrays, out)):
        words[1 + number] = array.ctypes.data
    words[len(arrays) + 2] = arrays[0].shape[0]
    call = ctypes.CFUNCTYPE(ctypes.c_int32, ctypes.c_void_p, ctypes.c_void_p)(layer._kernel.entry_address)
    workspace_bytes = ctypes.CFUNCTYPE(ctypes.c_size_t, ctypes.c_void_p, ctypes.c_void_p)(
        layer._kernel.workspace_address)
    execution = Exec(48, 1, None, 0, 1, 0, None, None)
    execution.workspace_bytes = workspace_bytes(ctypes.addressof(words), ctypes.addressof(execution))
    memory = np.empty(execution.workspace_bytes + 64, np.uint8)
    execution.workspace = (memory.ctypes.data + 63) // 64 * 64
    addresses = ctypes.addressof(words), ctypes.addressof(execution)
    assert call(*addresses) == 0
    held = (words, execution, memory)
    return lambda: (call(*addresses), held), lambda: call(None, None)


def main():
    layer = skewer.compile(LAYER)
    arrays = tuple(layer.example(batch=2).values())
    out = layer(*arrays)
    whole, empty = c_entry(layer, arrays, out)
    entry = median_of(whole) - median_of(empty)
    names = [argument.name for argument in layer.arguments]
    rows = [("NumPy, out=", lambda: layer(*arrays, out=out)), ("NumPy", lambda: layer(*arrays)),
            ("NumPy, by name", lambda: layer(**dict(zip(names, arrays))))]
    if "torch" in sys.argv[1:]:
        import torch

        from skewer import torch as skewer_torch
        tensors = [torch.from_numpy(array) for array in arrays]
        rows.append(("PyTorch, layer(...)", lambda: layer(*tensors)))
        op = skewer_torch.op(layer, threads=1)
        rows.append(("PyTorch, skewer.torch.op", lambda: op(*tensors)))
        # The same text with an explicit parameter is another operator.
        torch.set_num_threads(2)
        on_two, own_two = skewer_torch.op(LAYER, N=8), skewer_torch.op(LAYER, N=8, d=16, threads=2)
        rows.append(("the same, 2 threads", lambda: on_two(*tensors)))
        rows.append(("the same, 2 of Skewer's", lambda: own_two(*tensors)))
        module = skewer_torch.Module(LAYER.replace("table :", "const table :"), values={"table": tensors[3]}, threads=1)
        rows.append(("PyTorch, Module", lambda: module(*tensors[:3])))
        with torch.no_grad():
            rows = [(name, median_of(call)) for name, call in rows]
    else:
        rows = [(name, median_of(call)) for name, call in rows]
    print(f"{'C entry':28}{entry * 1e6:8.2f} µs")
    for name, seconds in rows:
        print(f"{name:28}{seconds * 1e6:8.2f} µs, {(seconds - entry) * 1e6:6.2f} more")


if __name__ == "__main__":
    main()
