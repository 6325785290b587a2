"""The attention of a model alone: a module of it with what goes into its projections taken out, beside Skewer's."""

import copy
import statistics
import time

import torch

TOLERANCE = 1e-4


def rows_of(x):
    return x.numel() // x.shape[-1]


class Given(torch.nn.Module):
    """In place of a projection: what it gave when the model was run, by the number of rows that went in."""

    def add(self, x, output):
        name = f"of_{rows_of(x)}_rows"
        known = getattr(self, name, None)
        if known is not None and not torch.equal(known.flatten(), output.flatten()):
            raise ValueError(f"a projection is asked twice for {rows_of(x)} rows, and they are not the same: take another "
                             "number of tokens")
        self.register_buffer(name, output, persistent=False)

    def forward(self, x):
        output = getattr(self, f"of_{rows_of(x)}_rows")
        return output if output.dim() == x.dim() else output.view(*x.shape[:-1], -1)


class Recorded:
    """One call of an attention module, while the model runs: its arguments, and what its projections gave."""

    def __init__(self, module, projections, output):
        self.module, self.names, self.output = module, projections, output
        self.arguments, self.given = None, {name: Given() for name in projections}

    def __enter__(self):
        self.hooks = [self.module.register_forward_pre_hook(self.before, with_kwargs=True)]
        for name, given in self.given.items():
            self.hooks.append(getattr(self.module, name).register_forward_hook(
                lambda module, inputs, output, given=given: given.add(inputs[0], output.clone())))
        return self

    def before(self, module, positional, named):
        self.arguments = copy.deepcopy((positional, named))

    def __exit__(self, *_):
        for hook in self.hooks:
            hook.remove()

    def core(self, change=None):
        """The module as it is now, its own code or Skewer's, as a function of nothing: projections give what was recorded,
        the last one gives what it gets."""
        module = copy.deepcopy(self.module)
        if change:
            change(module)
        for name, given in self.given.items():
            setattr(module, name, given)
        if self.output:
            setattr(module, self.output, torch.nn.Identity())
        positional, named = self.arguments
        return lambda: result_of(module(*positional, **named))


def result_of(output):
    return output[0] if isinstance(output, tuple) else output


def seconds_of(call, seconds=1.0, least=3):
    """The median of calls for about so many seconds, behind one that is not counted."""
    call()
    times, end = [], time.perf_counter() + seconds
    while len(times) < least or time.perf_counter() < end:
        start = time.perf_counter()
        call()
        times.append(time.perf_counter() - start)
    return statistics.median(times)


def compiled(core):
    """torch.compile of it; None, and a line that says why, where that does not work here (it needs a C++ compiler)."""
    torch._dynamo.reset()  # a program is made for a number of threads
    call = torch.compile(core)
    try:
        call()
        return call
    except Exception as error:  # of whatever kind: the model's code, the tracer, the C++ compiler
        print(f"    torch.compile does not work here: {str(error).strip().splitlines()[0][:100]}")
        return None


def own_routes(cores, with_compile):
    """The model's ways by name, those of `cores` as they are and compiled."""
    routes = dict(cores)
    if with_compile:
        for name, core in cores.items():
            call = compiled(core)
            if call is not None:
                routes[f"{name}, compiled"] = call
    return routes


def compare(label, own, skewers, options):
    """Times the model's own ways to compute an attention, by name, and Skewer's. An error where results differ."""
    expected = next(iter(own.values()))()
    difference = ((skewers() - expected).abs().max() / expected.abs().max()).item()
    if not difference <= TOLERANCE:
        raise SystemExit(f"{label}: the attention alone differs by {difference:.1e}, expected at most {TOLERANCE:.0e}")
    print(f"  {label}, without projections:")
    for threads in options.threads:
        torch.set_num_threads(threads)
        times = {name: seconds_of(call, options.seconds)
                 for name, call in own_routes(own, not options.no_compile).items()}
        seconds, best = seconds_of(skewers, options.seconds), min(times, key=times.get)
        print(f"    {threads} thread{'s' * (threads > 1)}: " + ", ".join(f"{name} {one * 1e3:.2f} ms" for name, one in times.items()) +
              f"; Skewer {seconds * 1e3:.2f} ms: {times[best] / seconds:.2f} times as fast as {best}")
