"""sweep_report.py [VALUE=FILE]: reads `skewer bench --sweep --json` from standard input, and checks its form and how its numbers
hang together. FILE is a report of `skewer bench --json` at VALUE alone, with the same workspace."""
import json
import sys

report = json.load(sys.stdin)
assert set(report) == {"sweep", "kernels"}, report
for kernel in report["kernels"]:
    assert set(kernel) == {"name", "value", "threads", "peak_gflops", "median_seconds", "min_seconds", "gflops", "percent_of_peak", "products_over_fma",
                           "percent_of_roofline", "roofline_seconds", "unfused_median_seconds", "plain_median_seconds",
                           "read_median_seconds", "share_of_read", "predicted_seconds", "compile_seconds", "code", "workspace_bytes",
                           "max_error", "tolerance", "seeded"}, kernel
    assert 0 < kernel["min_seconds"] <= kernel["median_seconds"] and kernel["plain_median_seconds"] > 0
    assert kernel["max_error"] <= kernel["tolerance"]
    assert kernel["compile_seconds"] > 0.001, "a compilation takes longer than a millisecond"
    # The roofline is a bound of memory and of arithmetic: above each, and equal to one of them.
    assert kernel["roofline_seconds"] >= kernel["read_median_seconds"] > 0
    if kernel["roofline_seconds"] > kernel["read_median_seconds"]:
        arithmetic = kernel["roofline_seconds"] * kernel["peak_gflops"] * 1e9
        assert arithmetic <= kernel["gflops"] * kernel["median_seconds"] * 1e9 * (1 + 1e-9), kernel
    share = kernel["percent_of_roofline"]
    assert share is None or abs(share - 100 * kernel["roofline_seconds"] / kernel["median_seconds"]) < 1e-6
for argument in sys.argv[1:]:
    value, _, path = argument.partition("=")
    with open(path, encoding="utf-8") as stream:
        alone, = json.load(stream)["kernels"]
    assert [kernel["workspace_bytes"] for kernel in report["kernels"] if kernel["value"] == int(value)] == [alone["workspace_bytes"]]
print(report["sweep"] + ":", *(f"{kernel['value']} on {kernel['threads']} takes {kernel['workspace_bytes']}" for kernel in report["kernels"]))
