"""check_explain_gpu.py PAGE.json: checks that the numbers of `skewer explain --target=sm_90a --json` fit together."""
import json
import sys

(kernel,) = json.load(open(sys.argv[1]))["kernels"]
gpu = kernel["gpu"]
(one,) = gpu["kernels"]
assert kernel["target"] == "sm_90a"
assert kernel["attentions"][0]["schedule"] == \
    "sm_90a: mma_sync, 64 queries a block, 32 keys a step, 3 stages, queries in shared memory"
assert [term["strategy"] for term in kernel["attentions"][0]["terms"]] == ["matmul", "band"]
tiles = kernel["attentions"][0]["tiles"]
assert (tiles["queries"], tiles["keys"]) == (64, 32)
assert tiles["dead"] + tiles["edge"] + tiles["full"] == 64 * 128
assert one["name"] == "layer" and one["title"] == "attention" and one["threads"] == 128
# Shared memory has three copies of keys, values and windows of the table, and one of queries, at 144 bytes a row.
assert one["shared_bytes"] == 144 * (3 * (32 + 32 + 96) + 64), one["shared_bytes"]
occupancy = one["occupancy"]
assert occupancy["warps"] == 4 * occupancy["blocks"]
assert occupancy["blocks"] * (one["shared_bytes"] + 1024) <= 228 * 1024
assert occupancy["limit"] in ("registers", "shared memory")
# The mask leaves a block, on average, half of the 128 steps and half of a step of its own.
assert 64 < one["model"]["steps"] < 66, one["model"]
# Pipes overlap only in part. The page compares tiles with more queries a warp.
pipes = one["model"]["pipe_cycles"]
assert len(pipes) == 7 and all(cycles > 0 for cycles in pipes.values()), pipes
assert max(pipes.values()) < one["model"]["step_cycles"]
assert [other["warp_rows"] for other in one["model"]["by_warp_rows"]] == [16, 32], one["model"]
assert {device["name"] for device in gpu["devices"]} == {"H100 SXM", "H200 SXM"}
for device in gpu["devices"]:
    assert device["predicted_seconds"] >= max(device["compute_seconds"], device["memory_seconds"]) > 0
    assert 0 < device["predicted_share_of_peak"] < 1
counts = one["instructions_per_score"]
if counts:
    # In a step of 32 keys, a warp of 16 rows multiplies 32 columns of content, 32 + 16 of the band, and the values, by
    # products of 16 x 8 x 16.
    products = (32 // 8 + (32 + 16) // 8) * 64 // 16 + 32 // 16 * 64 // 8
    assert counts["mma"] == products / 16, counts
    # On the shortest way no maximum has grown, so that nothing is rescaled.
    assert counts["exp2"] == 1, counts
    assert counts["shuffle"] == 1, counts  # of the skew; the lanes of a row agree on a maximum when it has grown
    assert all(count > 0 for count in counts.values()), counts
    assert 0.8 < one["model"]["instructions_per_score"] / sum(counts.values()) < 1.25, (one["model"], counts)
else:
    assert gpu["missing"], gpu
