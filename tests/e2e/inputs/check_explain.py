"""Checks the numbers of `skewer explain --json` for a causal layer of 64 tokens, 8 heads, 64 dimensions."""
import json
import sys

TOKENS, HEADS, DIM = 64, 8, 64


def main():
    kernel = json.load(sys.stdin)["kernels"][0]
    layer = kernel["attentions"][0]
    tiles = layer["tiles"]
    dead = edge = full = 0
    for row in range(0, TOKENS, tiles["queries"]):
        for column in range(0, TOKENS, tiles["keys"]):
            last_row, last_column = min(row + tiles["queries"], TOKENS) - 1, min(column + tiles["keys"], TOKENS) - 1
            if column > last_row:
                dead += 1
            elif last_column <= row:
                full += 1
            else:
                edge += 1
    assert (tiles["dead"], tiles["edge"], tiles["full"]) == (dead, edge, full), tiles
    assert tiles["not_computed"] == dead

    composed = layer["terms"][1]["composed"]
    assert [c["operation"] for c in composed] == ["einsum", "pad", "reshape", "slice"], composed
    assert composed[1]["shape"] == [-1, HEADS, TOKENS, TOKENS + 1] and composed[1]["line"] == 10
    assert composed[1]["bytes"] == 4 * HEADS * TOKENS * (TOKENS + 1)

    # q, k, v, the result and the table.
    assert kernel["bytes_moved"] == 4 * (4 * HEADS * TOKENS * DIM + TOKENS * DIM)
    useful = 3 * 2 * HEADS * DIM * TOKENS * TOKENS / 2
    assert kernel["useful_flops"] == useful and kernel["done_flops"] > useful
    roofline = kernel["roofline"]
    assert abs(roofline["compute_seconds"] - useful / roofline["peak_gflops"] * 1e-9) < 1e-12
    assert roofline["seconds"] == max(roofline["compute_seconds"], roofline["memory_seconds"])
    assert roofline["bound"] == ("memory" if roofline["memory_seconds"] > roofline["compute_seconds"] else "compute")
    assert kernel["predicted_seconds"] > roofline["compute_seconds"]
    share = useful / kernel["predicted_seconds"] / roofline["peak_gflops"] * 1e-9
    assert abs(kernel["predicted_share_of_peak"] - share) < 1e-9
    assert kernel["workspace_bytes"] == sum(kernel["workspace"].values())
    assert layer["rows_never_read"] == []


if __name__ == "__main__":
    main()
