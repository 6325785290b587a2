"""What the scripts share: the same model before and after, compared and timed."""

import argparse
import contextlib
import functools
import os
import statistics
import time

import attention_alone
import torch

import skewer
from skewer import torch as skewer_torch

EXAMPLES = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..")
TOLERANCE = 1e-4


def arguments(description, has_masks=False):
    parser = argparse.ArgumentParser(description=description)
    if has_masks:
        parser.add_argument("--padded", action="store_true", help="a batch of two sequences, the second one shorter")
    parser.add_argument("--small", action="store_true", help="small sizes, for tests")
    parser.add_argument("--threads", type=int, nargs="+", default=[1, 2])
    parser.add_argument("--runs", type=int, default=5, help="of the whole model; 0: its attention alone is timed")
    parser.add_argument("--seconds", type=float, default=1.0, help="for each way to compute the attention alone; 0: the whole model is timed")
    parser.add_argument("--only", default="", help="of the attentions that are timed alone: those with this in their name")
    parser.add_argument("--no-compile", action="store_true", help="leave out torch.compile of the model's own attention")
    return parser.parse_args()


@torch.no_grad()
def randomise(model, share=1.0):
    """Weights at which attention matters: those that models are made with give scores so near 0 that every key has the
    same weight, or an output that is nothing. `share` of the size that keeps numbers as large as they are."""
    for parameter in model.parameters():
        if parameter.dim() > 1:
            parameter.normal_(std=share * parameter[0].numel() ** -0.5)


@functools.lru_cache(None)
def compiled(spec, **parameters):
    return skewer.compile(spec if "\n" in spec else os.path.join(EXAMPLES, spec), **parameters)


class Layer:
    """Skewer's layer in a model: it counts its calls, and can be asked to forget what it knows of positions."""

    calls = 0
    without_positions = False

    def __init__(self, spec, constants=None, **parameters):
        """`spec`: a file of the examples, or a text. `constants`: the model's own parameters for the spec's `const`
        operands, of which what follows is made once. Without them a call has all operands."""
        layer = compiled(spec, **parameters)
        self.layer = skewer_torch.Module(layer, values=constants) if constants else skewer_torch.op(layer)
        self.blind = skewer_torch.Module(layer) if constants else None  # parameters without values are zeros

    def __call__(self, *operands, positions=()):
        """`positions`: operands that say where things are, and are no constants."""
        Layer.calls += 1
        layer = self.layer
        if Layer.without_positions:
            layer = self.blind or layer
            positions = [torch.zeros_like(one) if one.is_floating_point() else one for one in positions]
        return layer(*operands, *positions)


def layer_of(module, spec, constants=None, **parameters):
    """The module's layer of these parameters, made when it is first asked for: a length that is met, say."""
    known = module.__dict__.setdefault("skewer_layers", {})
    key = spec, *parameters.items()
    if key not in known:
        known[key] = Layer(spec, constants, **parameters)
    return known[key]


def padded(tensor, wanted):
    """The model's inputs: one sequence, or, if `wanted`, a batch of it and of the same cut short, and which of their
    elements there are."""
    if not wanted:
        return (tensor,)
    there = torch.ones(2, tensor.shape[1], dtype=torch.long)
    there[1, 2 * tensor.shape[1] // 3:] = 0
    return torch.cat([tensor, tensor]), there


def lengths_of(mask):
    """The lengths of a batch's sequences, as operands: none without a mask. `mask`: [batch, 1, queries, keys], true or 0
    where a key is seen. An error where it hides anything but ends."""
    if mask is None:
        return ()
    seen = mask if mask.dtype == torch.bool else mask == 0
    keys = seen[:, 0, 0]
    lengths = keys.sum(-1, dtype=torch.int32)
    if not (seen == (torch.arange(keys.shape[-1]) < lengths[:, None])[:, None, None]).all():
        raise ValueError("expected a mask that hides the ends of sequences from every query, found one that hides others")
    return (lengths,)


def swapping(kind, forward):
    """A function that gives every module of a kind in a model this forward(module, ...), and returns how many there are."""
    def swap(model):
        attentions = [module for module in model.modules() if isinstance(module, kind)]
        for module in attentions:
            module.forward = functools.partial(forward, module)
        return len(attentions)

    return swap


class Attention:
    """An attention of a model that is also timed alone: `find` gives its module, `projections` and `output` are the names of
    its linear layers before and behind it, `ways` the model's own ways to compute it, by name: functions that change a
    copy of the module."""

    def __init__(self, label, find, projections, output=None, ways=None):
        self.label, self.find, self.projections, self.output = label, find, projections, output
        self.ways = ways or {"eager": lambda module: None}

    def record(self, model):
        return attention_alone.Recorded(self.find(model), self.projections, self.output)

    def own_ways(self, record):
        return {name: record.core(change) for name, change in self.ways.items()}


def implementation(name):
    """A way of those that transformers has for models that ask it for one."""
    def change(module):
        module.config._attn_implementation = name

    return change


WAYS = {"eager": implementation("eager"), "SDPA": implementation("sdpa")}


def seconds_of(model, inputs, runs, threads):
    torch.set_num_threads(threads)
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


@torch.no_grad()
def compare(name, model, swap, inputs, options, alone=()):
    """Runs `model`, lets `swap` put the layers in, runs it again. An error where the outputs differ by more than 1e-4 of
    the largest value. `alone`: Attention of the model that is also timed by itself."""
    alone = [one for one in alone if options.seconds and options.only in one.label]
    records = [one.record(model) for one in alone]
    with contextlib.ExitStack() as recording:
        for record in records:
            recording.enter_context(record)
        before = model(*inputs)[0].clone()
    if not before.abs().max() > 1e-3:
        raise SystemExit(f"{name}: the model's output is nothing that could differ")
    own = [one.own_ways(record) for one, record in zip(alone, records)]
    times = {threads: seconds_of(model, inputs, options.runs, threads) for threads in options.threads if options.runs}
    difference = check_layers(name, model, inputs, swap(model), before)
    for threads, seconds in times.items():
        after = seconds_of(model, inputs, options.runs, threads)
        print(f"  the whole model, {threads} thread{'s' * (threads > 1)}: {seconds * 1e3:.1f} ms before, {after * 1e3:.1f} ms after, "
              f"{seconds / after:.2f} times as fast")
    if not difference <= TOLERANCE:
        raise SystemExit(f"{name}: the outputs differ by {difference:.1e}, expected at most {TOLERANCE:.0e}")
    for one, record, ways in zip(alone, records, own):
        attention_alone.compare(one.label, ways, record.core(), options)
