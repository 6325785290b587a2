#!/usr/bin/env python3
"""Checks what `skewer explain --json` says of decoding kernels: all are fused, keys are read in place, and the memory of a call
and of a worker holds no copy of the cache, nor of a block of it in f32.

    in_place.py EXPLAINED.json
"""
import json
import sys

MOST = 64 << 10  # bytes of a worker: scores and sums; a block of 256 keys in f32 would be more

with open(sys.argv[1], encoding="utf-8") as stream:
    kernels = json.load(stream)["kernels"]
wrong = [f"no kernels in {sys.argv[1]}"] if not kernels else []
for kernel in kernels:
    held = kernel["workspace"]
    strategies = {term["strategy"] for attention in kernel["attentions"] for term in attention["terms"]}
    if kernel["because"] or kernel["materialised"] or strategies != {"key_dots"} or held["worker_bytes"] > MOST:
        wrong.append(f"{kernel['name']}: {kernel['because']} {kernel['materialised']} {strategies} {held}")
sys.exit("\n".join(wrong) or 0)
