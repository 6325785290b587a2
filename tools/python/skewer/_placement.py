"""Which process holds which part of a shared sequence, and which parts it computes at each step of the ring."""

from typing import Any, Dict, List, Mapping, NamedTuple, Sequence, Tuple

import numpy as np

from ._compile import compile as compile_layer
from ._errors import ArgumentError
from ._layer import Layer


class Pair(NamedTuple):
    """One call of the step kernel: the rank's piece of queries, the source's piece of keys, and where both begin in the whole
    sequence."""

    query: int
    key: int
    q0: int
    k0: int


class Placement:
    """A sequence of `length` positions on `ranks` processes.

    Without `causal`, rank r has the r-th of `ranks` equal pieces. With `causal`, the sequence is cut into twice as many pieces,
    and rank r has an early one and a late one, r and 2*ranks - 1 - r (zig-zag). A pair of pieces whose keys come after its
    queries is not computed. Every rank computes the same number of the other pairs at each step.
    """

    def __init__(self, length: int, ranks: int, causal: bool):
        count = 2 * ranks if causal else ranks
        if ranks < 1 or length < count or length % count:
            raise ArgumentError("ring", "length", None, f"a multiple of {count}, the pieces of {ranks} ranks",
                                str(length))
        self.length, self.ranks, self.causal, self.size = length, ranks, causal, length // count

    @property
    def share(self) -> int:
        """The number of positions that a rank holds."""
        return self.length // self.ranks

    def pieces(self, rank: int) -> Tuple[int, ...]:
        """Returns the numbers of the pieces that a rank holds, in the order in which it holds them."""
        return (rank, 2 * self.ranks - 1 - rank) if self.causal else (rank,)

    def positions(self, rank: int) -> np.ndarray:
        """Returns the positions in the whole sequence that a rank holds, in its order."""
        return np.concatenate([np.arange(piece * self.size, (piece + 1) * self.size) for piece in self.pieces(rank)])

    def order(self) -> np.ndarray:
        """Returns the place of each position of the sequence in the row of all ranks' shares."""
        return np.argsort(np.concatenate([self.positions(rank) for rank in range(self.ranks)]))

    def pairs(self, rank: int, source: int) -> List[Pair]:
        """Returns the pairs that a rank computes with the keys of another rank, in order."""
        return [Pair(i, j, query * self.size, key * self.size) for i, query in enumerate(self.pieces(rank))
                for j, key in enumerate(self.pieces(source)) if not self.causal or key <= query]

    def source(self, rank: int, step: int) -> int:
        """Returns the rank whose keys a rank has at a step: first its own, then those of the ranks before it."""
        return (rank - step) % self.ranks


class Kernels(NamedTuple):
    """The two kernels of a ring, and the sources of their operands."""

    step: Layer
    join: Layer
    queries: Dict[str, int]  # operand -> its axis of positions
    keys: Dict[str, int]
    rest: List[str]


def compile_kernels(spec: Any, placement: Placement, names: Tuple[str, str], lengths: Sequence[str],
                    queries: Mapping[str, int], keys: Mapping[str, int], options: Dict[str, Any]) -> Kernels:
    """Compiles step and join for pieces of the placement's size, and checks that a ring can call them."""
    whole, of_queries, of_keys = lengths
    parameters = {**(options.pop("parameters", None) or {}), whole: placement.length, of_queries: placement.size,
                  of_keys: placement.size}
    step, join = (compile_layer(spec, kernel=name, parameters=parameters, **options) for name in names)
    found = [argument.name for argument in step.arguments]
    for name in (*queries, *keys):
        if name not in found:
            raise ArgumentError(step.name, name, None, "an operand of the step kernel", ", ".join(found))
    if not {"q0", "k0"} <= set(step.origins):
        raise ArgumentError(step.name, "origins", None, f"parts of queries and keys, as 'part i = {of_queries} of "
                            f"{whole} from q0' says them", ", ".join(step.origins) or "none")
    pair = [(result.type, result.shape) for result in step.results]
    joined = [[(one.type, one.shape) for one in ends] for ends in (join.arguments, join.results)]
    if len(pair) != 2 or joined != [2 * pair, pair]:
        raise ArgumentError(join.name, "operands", None, "two pairs of what the step returns, a result and its lse, and "
                            f"one pair as result: {step!r}", repr(join))
    rest = [name for name in found if name not in queries and name not in keys]
    return Kernels(step, join, dict(queries), dict(keys), rest)


def check_names(kernels: Kernels, operands: Mapping[str, Any], placement: Placement) -> None:
    """Checks that each operand comes once, and that the shared ones have the length of a share."""
    wanted = [argument.name for argument in kernels.step.arguments]
    if set(wanted) != set(operands):
        raise ArgumentError(kernels.step.name, "operands", None, ", ".join(wanted), ", ".join(operands) or "none")
    for name, axis in {**kernels.queries, **kernels.keys}.items():
        shape = operands[name].shape
        if not -len(shape) <= axis < len(shape) or shape[axis] != placement.share:
            raise ArgumentError(kernels.step.name, name, axis, f"{placement.share} positions, the share of one of "
                                f"{placement.ranks} ranks", f"shape {tuple(shape)}")


def cut(axis: int, dimensions: int, size: int, piece: int) -> Tuple[slice, ...]:
    """Returns the index of a piece of a share."""
    index = [slice(None)] * dimensions
    index[axis] = slice(piece * size, (piece + 1) * size)
    return tuple(index)
