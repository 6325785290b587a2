"""Attention over a sequence that several devices share (ring attention, arXiv:2310.01889), under JAX's shard_map.

>>> from skewer import jax_ring
>>> attend = jax_ring.Ring("ring.attn", 8192, ranks=4, axis_name="sequence")
>>> mesh, part = jax.sharding.Mesh(jax.devices()[:4], ("sequence",)), PartitionSpec(None, None, "sequence")
>>> whole = jax.jit(jax.shard_map(lambda q, k, v, table: attend(q=q, k=k, v=v, table=table)[0], mesh=mesh,
...                               in_specs=(part, part, part, PartitionSpec()), out_specs=part))
>>> out = attend.restore(whole(*map(attend.place, (q, k, v)), table))

docs/ring.md is the guide. For PyTorch there is skewer.ring.
"""

import os
from typing import Any, Dict, List, Mapping, Sequence, Tuple, Union

import jax
import jax.numpy as jnp
import numpy as np

from . import jax as skewer_jax
from ._errors import ArgumentError
from ._placement import Pair, Placement, check_names, compile_kernels

__all__ = ["Placement", "Ring"]


class Ring:
    """One layer whose sequence of `length` positions is shared by the `ranks` devices along the mesh's axis `axis_name`. Call it
    in shard_map.

    `spec`, `causal`, `step`, `join`, `lengths`, `queries`, `keys` and `results` are those of skewer.ring.Ring. `threads` is the
    number of threads of a call. Further keywords are those of skewer.compile. Keys travel by ppermute. No step waits for it
    before it computes, so that XLA may overlap both. The program computes where a part begins from the device's place along the
    axis. So all devices run one program, with `ranks` steps.
    """

    def __init__(self, spec: Union[str, "os.PathLike[str]"], length: int, *, ranks: int, axis_name: str, causal: bool = True,
                 step: str = "step", join: str = "join", lengths: Sequence[str] = ("N", "n", "m"),
                 queries: Mapping[str, int] = {"q": -2}, keys: Mapping[str, int] = {"k": -2, "v": -2},
                 results: Tuple[int, int] = (-2, -1), threads: int = 1, **options: Any):
        self.placement, self.axis_name, self.results, self.threads = Placement(length, ranks, causal), axis_name, \
            results, threads
        self.kernels = compile_kernels(spec, self.placement, (step, join), lengths, queries, keys, options)
        self._step = skewer_jax.op(self.kernels.step, threads=threads, origins=True)
        self._join = skewer_jax.op(self.kernels.join, threads=threads)

    def place(self, whole: Any, axis: int = -2) -> jax.Array:
        """Returns a whole sequence in the order in which devices hold it, for shard_map to cut into shares."""
        positions = [self.placement.positions(rank) for rank in range(self.placement.ranks)]
        return jnp.take(jnp.asarray(whole), np.concatenate(positions), axis)

    def restore(self, placed: Any, axis: int = -2) -> jax.Array:
        """Returns a sequence in its own order again: the inverse of `place`."""
        return jnp.take(jnp.asarray(placed), self.placement.order(), axis)

    def __call__(self, **operands: Any) -> Tuple[jax.Array, jax.Array]:
        """Returns this device's share of the result, and of its lse. Operands come by name: shares of queries and keys, the
        others whole. Raises ArgumentError, when it is traced, if an array or the mesh does not fit."""
        placement, kernels = self.placement, self.kernels
        check_names(kernels, operands, placement)
        ranks = jax.lax.axis_size(self.axis_name)
        if ranks != placement.ranks:
            raise ArgumentError(kernels.step.name, "ranks", None, f"{placement.ranks} devices along axis "
                                f"'{self.axis_name}'", str(ranks))
        rank = jax.lax.axis_index(self.axis_name)
        fixed = {name: jnp.asarray(operands[name]) for name in operands if name not in kernels.keys}
        now = {name: jnp.asarray(operands[name]) for name in kernels.keys}
        around = [(one, (one + 1) % ranks) for one in range(ranks)]
        parts: List[Any] = []
        for step in range(ranks):
            coming = {name: jax.lax.ppermute(array, self.axis_name, around) for name, array in now.items()} \
                if step + 1 < ranks else {}
            parts = self._compute(rank, step, {**fixed, **now}, parts)
            now = coming
        return tuple(parts)

    def _compute(self, rank: Any, step: int, given: Dict[str, Any], parts: List[Any]) -> List[Any]:
        """Returns the share's result and lse after a step. All ranks compute the same number of pairs at a step."""
        placement = self.placement
        pairs = np.array([placement.pairs(one, placement.source(one, step)) for one in range(placement.ranks)], np.int32)
        begun = 0  # pieces of the first step, which has no earlier results to join; they are the same on all ranks, in order
        pieces: List[Any] = []
        for number in range(pairs.shape[1]):
            pair = Pair(*jnp.asarray(pairs[:, number])[rank])
            made = self._step(*self._operands(pair, given), jnp.stack([pair.q0, pair.k0, jnp.zeros_like(pair.q0)]))
            if step:
                before = [self._piece(part, axis, pair.query) for part, axis in zip(parts, self.results)]
                parts = [self._put(part, one, axis, pair.query)
                         for part, one, axis in zip(parts, self._join(*before, *made), self.results)]
            elif pairs[0, number, 0] == begun:
                pieces.append(made)
                begun += 1
            else:
                pieces[-1] = self._join(*pieces[-1], *made)
        return parts if step else [jnp.concatenate([piece[n] for piece in pieces], axis)
                                   for n, axis in enumerate(self.results)]

    def _piece(self, array: Any, axis: int, number: Any) -> Any:
        size = self.placement.size
        return jax.lax.dynamic_slice_in_dim(array, number * size, size, axis % array.ndim)

    def _put(self, array: Any, piece: Any, axis: int, number: Any) -> Any:
        return jax.lax.dynamic_update_slice_in_dim(array, piece, number * self.placement.size, axis % array.ndim)

    def _operands(self, pair: Pair, given: Dict[str, Any]) -> List[Any]:
        """Returns the step's operands in the spec's order, with the shared ones cut to the pair's pieces."""
        ordered = []
        for argument in self.kernels.step.arguments:
            array = given[argument.name]
            for axes, piece in ((self.kernels.queries, pair.query), (self.kernels.keys, pair.key)):
                if argument.name in axes:
                    array = self._piece(array, axes[argument.name], piece)
            ordered.append(array)
        return ordered
