"""What the scripts share: the same model before and after, compared and timed."""

import argparse
import functools
import os
import statistics
import time

import torch

from skewer import torch as skewer_torch

EXAMPLES = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..")
TOLERANCE = 1e-4


def arguments(description):
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument("--small", action="store_true", help="small sizes, for tests")
    parser.add_argument("--threads", type=int, nargs="+", default=[1, 2])
    parser.add_argument("--runs", type=int, default=5)
    return parser.parse_args()


@torch.no_grad()
def randomise(model, share=1.0):
    """Weights at which attention matters: those that models are made with give scores so near 0 that every key has the
    same weight, or an output that is nothing. `share` of the size that keeps numbers as large as they are."""
    for parameter in model.parameters():
        if parameter.dim() > 1:
            parameter.normal_(std=share * parameter[0].numel() ** -0.5)


class Layer:
    """Skewer's layer in a model: it counts its calls, and can be asked to forget what it knows of positions."""

    calls = 0
    without_positions = False

    def __init__(self, spec, **parameters):
        """`spec`: a file of the examples, or a text."""
        self.operator = skewer_torch.op(spec if "\n" in spec else os.path.join(EXAMPLES, spec), **parameters)

    def __call__(self, query, key, value, *positions):
        Layer.calls += 1
        if Layer.without_positions:
            positions = [torch.zeros_like(one) for one in positions]
        return self.operator(query.contiguous(), key.contiguous(), value.contiguous(), *positions)


def swapping(kind, forward):
    """A function that gives every module of a kind in a model this forward(module, ...), and returns how many there are."""
    def swap(model):
        attentions = [module for module in model.modules() if isinstance(module, kind)]
        for module in attentions:
            module.forward = functools.partial(forward, module)
        return len(attentions)

    return swap


def seconds_of(model, inputs, runs):
    model(*inputs)
    times = []
    for _ in range(runs):
        start = time.perf_counter()
        model(*inputs)
        times.append(time.perf_counter() - start)
    return statistics.median(times)


def largest_difference(output, expected):
    return ((output - expected).abs().max() / expected.abs().max()).item()


def check_layers(name, model, inputs, layers, before):
    """The difference of the model's output. An error where layers were not called once each, or where the output is the
    same without positions: such a comparison would show nothing."""
    Layer.calls = 0
    difference = largest_difference(model(*inputs)[0], before)
    if not layers or Layer.calls != layers:
        raise SystemExit(f"{name}: {layers} layers were swapped, and {Layer.calls} called")
    Layer.without_positions = True
    without = largest_difference(model(*inputs)[0], before)
    Layer.without_positions = False
    print(f"{name}: {layers} layers swapped, largest difference {difference:.1e} of the largest value "
          f"({without:.1e} without positions)")
    if not without > 10 * TOLERANCE:
        raise SystemExit(f"{name}: without positions the output differs by {without:.1e}, expected more than "
                         f"{10 * TOLERANCE:.0e}")
    return difference


@torch.inference_mode()
def compare(name, model, swap, inputs, options):
    """Runs `model`, lets `swap` put the layers in, runs it again. An error where the outputs differ by more than 1e-4 of
    the largest value."""
    before = model(*inputs)[0].clone()
    if not before.abs().max() > 1e-3:
        raise SystemExit(f"{name}: the model's output is nothing that could differ")
    own = {}
    for threads in options.threads:
        torch.set_num_threads(threads)
        own[threads] = seconds_of(model, inputs, options.runs)
    difference = check_layers(name, model, inputs, swap(model), before)
    for threads in options.threads:
        torch.set_num_threads(threads)
        seconds = seconds_of(model, inputs, options.runs)
        print(f"  {threads} threads: {own[threads] * 1e3:.1f} ms before, {seconds * 1e3:.1f} ms after, "
              f"{own[threads] / seconds:.2f} times as fast")
    if not difference <= TOLERANCE:
        raise SystemExit(f"{name}: the outputs differ by {difference:.1e}, expected at most {TOLERANCE:.0e}")
