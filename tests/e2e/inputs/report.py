"""report.py: reads `skewer bench --json` from standard input and checks its form and its numbers."""
import json
import sys

report = json.load(sys.stdin)
assert set(report) == {"peak_gflops", "kernels"}, report
assert report["peak_gflops"] > 0.5
for kernel in report["kernels"]:
    assert set(kernel) == {"name", "median_seconds", "min_seconds", "gflops", "percent_of_peak", "products_over_fma",
                           "unfused_median_seconds", "plain_median_seconds", "read_median_seconds", "share_of_read", "roofline_seconds", "predicted_seconds", "compile_seconds", "code", "workspace_bytes", "max_error",
                           "tolerance", "seeded"}, kernel
    assert 0 < kernel["min_seconds"] <= kernel["median_seconds"]
    assert kernel["max_error"] <= kernel["tolerance"] / 2 <= 2e-6
    assert kernel["seeded"] == ["q", "k", "v", "table"]
    assert kernel["workspace_bytes"] >= 0
    # 8 heads, 64 × 64 scores: 2·64 for the content, the offsets and the values each.
    flops = 6 * 8 * 64 * 64 * 64
    assert abs(kernel["gflops"] * kernel["median_seconds"] * 1e9 / flops - 1) < 1e-9, kernel
    assert kernel["predicted_seconds"] > flops / 5e12, kernel  # above every core's peak
    assert (kernel["share_of_read"] is None) == (kernel["roofline_seconds"] is None) == ("read" not in sys.argv[1:])
    assert kernel["compile_seconds"] > 0.001
    for other in ("unfused", "plain", "read"):
        assert (kernel[f"{other}_median_seconds"] is None) == (other not in sys.argv[1:]), kernel
print("kernels:", *[kernel["name"] for kernel in report["kernels"]])
