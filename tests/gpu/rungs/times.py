"""Reads the times that the driver reports, and prints them as a table."""
import json
import re

import speed


def row_of(name, variant, outcome):
    """Returns what one run of `skewer bench --json` says of its kernel."""
    row = {"layer": name, "variant": variant, "code": outcome.code, "wall_seconds": outcome.seconds, "ms": None,
           "right": False, "said": outcome.said.strip()[-600:]}
    try:
        kernel = json.loads(re.sub(r"\binf\b", "Infinity", re.sub(r"\bnan\b", "NaN", outcome.out)))["kernels"][0]
    except (ValueError, KeyError, IndexError):
        return row
    seconds = kernel["median_seconds"]
    row.update(ms=seconds * 1e3, least_ms=kernel["min_seconds"] * 1e3, useful_tflops=kernel["tflops"],
               clocks=kernel["sm_clock_mhz"], error=kernel["max_error"], right=kernel["is_right"] and outcome.code == 0)
    work = speed.nominal_flops(name)
    row["nominal_tflops"] = work / seconds * 1e-12 if work and seconds else kernel["tflops"]
    return row


def prediction_of(outcome, gpu):
    """Returns the schedule of a kernel and the milliseconds that the model says of this GPU, as `skewer explain --json`
    has them."""
    try:
        kernel = json.loads(outcome.out)["kernels"][0]
        devices = kernel["gpu"]["devices"]
        own = next((device for device in devices if device["name"].split()[0] in gpu), devices[0])
        schedule = "; ".join(attention["schedule"] for attention in kernel["attentions"] if attention.get("schedule"))
        return {"model_ms": own["predicted_seconds"] * 1e3, "model_device": own["name"], "schedule": schedule}
    except (ValueError, KeyError, IndexError, TypeError):
        return {}


def table(names, variants, rows, peers):
    """Yields the lines of the table: for each variant the milliseconds and the nominal TFLOP/s, then PyTorch's
    milliseconds."""
    peaks = next((line for line in peers if "matmul_tflops" in line), None)
    if peaks:
        yield (f"{peaks['gpu']}, torch {peaks['torch']}: matrix product of 8192 cubed {peaks['matmul_tflops']:.0f} "
               f"TFLOP/s, copy {peaks.get('copy_tb_per_second', 0):.2f} TB/s")
    found = {(row["layer"], row["variant"]): row for row in rows}
    heads = "".join(f"{variant:>{23 if number else 14}}" for number, variant in enumerate(variants))
    yield (f"{'ms, nominal TFLOP/s, ÷ model':<{20 + 23 - 14}}" + heads +
           "  useful   MHz   error    flash   cudnn | cudnn, efficient with the bias given")
    for name in names:
        own = [found.get((name, variant)) for variant in variants]
        if not any(own):
            continue
        line = f"{name:<20}"
        for row in own:
            if row and row["ms"] is not None:
                model = f"{row['ms'] / row['model_ms']:>6.2f}" if row.get("model_ms") else f"{'':>6}"
                line += f"{row['ms']:>11.4f}{row['nominal_tflops']:>5.0f}{model}{' ' if row['right'] else '!'}"
            else:
                line += f"{'-':>23}"
        timed = [row for row in own if row and row["ms"] is not None and row["variant"] != "before"]
        best = min(timed, key=lambda row: row["ms"], default=None)
        if best:
            line += f"{best['useful_tflops']:>8.0f}{min(best['clocks']):>6.0f} {best['error']:>7.1e}"
        else:
            line += " " * 22
        yield line + columns_of(name, peers)


def columns_of(name, peers):
    text = ""
    for has_bias, kernels in ((False, ("flash", "cudnn")), (True, ("cudnn", "efficient"))):
        of = name if has_bias else speed.same_form(name)
        line = next((line for line in peers if line.get("name") == of and line.get("bias") == has_bias), {})
        for kernel in kernels:
            text += f"{line[kernel] * 1e3:>9.4f}" if kernel in line else f"{'-':>9}"
    return text
