"""Attention over a sequence that several processes share (ring attention, arXiv:2310.01889), on torch.distributed.

>>> from skewer import ring
>>> attend = ring.Ring("ring.attn", 8192)                  # in every process of the group
>>> out, lse = attend(q=attend.share(q), k=attend.share(k), v=attend.share(v), table=table)
>>> whole = attend.gather(out)

docs/ring.md is the guide. For JAX there is skewer.jax_ring.
"""

import datetime
import hashlib
import os
from typing import Any, Callable, Dict, List, Mapping, Optional, Sequence, Tuple, Union

import torch
import torch.distributed as dist

from ._errors import ArgumentError, SkewerError
from ._placement import Kernels, Pair, Placement, check_names, compile_kernels, cut

__all__ = ["Placement", "Ring", "RingError"]

_ALIGNMENT = 64  # bytes, for kernels that read vectors
_MOST = 1024  # bytes of a rank's message to the others


class RingError(SkewerError):
    """Another process of the ring died, hung or failed, so that its message did not come in time.

    `rank` is this process. `step` is the number of the exchange; 0 is the agreement before the first one of a call. `sender`
    and `receiver` are the neighbours of this process.
    """

    def __init__(self, rank: int, ranks: int, step: int, text: str):
        self.rank, self.step = rank, step
        self.sender, self.receiver = (rank - 1) % ranks, (rank + 1) % ranks
        super().__init__(f"rank {rank} of {ranks}, exchange {step} of {ranks - 1}: keys from rank {self.sender}, or to "
                         f"rank {self.receiver}, did not arrive: {text}")


class _Parcel:
    """The keys and values of one rank, in one piece of memory that travels as a whole."""

    def __init__(self, kernels: Kernels, operands: Mapping[str, torch.Tensor], placement: Placement, pieces: int):
        self.views: List[Dict[str, torch.Tensor]] = []
        places, end = [], 0
        for _ in range(pieces):
            for name, axis in kernels.keys.items():
                shape = list(operands[name].shape)
                shape[axis] = placement.size
                size = operands[name].element_size() * torch.Size(shape).numel()
                places.append((name, shape, end, size))
                end += -(-size // _ALIGNMENT) * _ALIGNMENT
        # It is filled with zeros, because the gaps between pieces travel too.
        memory = torch.zeros(end + _ALIGNMENT, dtype=torch.uint8, device=next(iter(operands.values())).device)
        start = -memory.data_ptr() % _ALIGNMENT
        self.bytes = memory[start:start + end]
        for number, (name, shape, place, size) in enumerate(places):
            if number % len(kernels.keys) == 0:
                self.views.append({})
            self.views[-1][name] = self.bytes[place:place + size].view(operands[name].dtype).view(shape)

    def fill(self, kernels: Kernels, operands: Mapping[str, torch.Tensor], placement: Placement) -> None:
        for piece, views in enumerate(self.views):
            for name, axis in kernels.keys.items():
                views[name].copy_(operands[name][cut(axis, operands[name].dim(), placement.size, piece)])


class Ring:
    """One layer whose sequence of `length` positions is shared by the processes of a group. Every process makes a Ring, and calls
    it as often as the others do.

    `spec` has two kernels, as examples/ring/ring.attn. `step` computes some queries over some keys, and returns a result and
    its lse. `join` puts two such pairs together. `lengths` names the spec's parameters for the length of the whole sequence, of
    a piece's queries and of a piece's keys. `queries` and `keys` are the shared operands, with their axes of positions; the keys
    travel. Every process has all other operands whole, such as tables. `results` has the axes of positions of the result and of
    the lse. With `causal`, the pieces lie in zig-zag, and pieces in the future are left out; the spec must mask them itself.

    Without `group` it is the default group (without torch.distributed, a ring of one). `timeout`, in seconds, bounds every wait
    for a neighbour; its default is the group's own. The default of `threads` is torch.get_num_threads(). `parameters` and
    further keywords are those of skewer.compile.

    A ring computes forward only, on processors, or on GPUs that the spec is compiled for (`target="host,sm_90a"`). It communicates
    by the group's backend for such memory: gloo, or NCCL, with which it has not run yet.
    """

    def __init__(self, spec: Union[str, "os.PathLike[str]"], length: int, *, group: Any = None, causal: bool = True,
                 step: str = "step", join: str = "join", lengths: Sequence[str] = ("N", "n", "m"),
                 queries: Mapping[str, int] = {"q": -2}, keys: Mapping[str, int] = {"k": -2, "v": -2},
                 results: Tuple[int, int] = (-2, -1), timeout: Optional[float] = None, threads: Optional[int] = None,
                 **options: Any):
        here = dist.is_available() and dist.is_initialized()
        self.group = group
        self.rank, self.ranks = (dist.get_rank(group), dist.get_world_size(group)) if here else (0, 1)
        if self.rank < 0:
            raise ArgumentError("ring", "group", None, "a group that this process belongs to", "another one")
        if timeout is not None and timeout <= 0:
            raise ArgumentError("ring", "timeout", None, "seconds above 0", str(timeout))
        self.placement = Placement(length, self.ranks, causal)
        self.kernels = compile_kernels(spec, self.placement, (step, join), lengths, queries, keys, options)
        self.results, self.threads = results, threads
        self.timeout = None if timeout is None else datetime.timedelta(seconds=timeout)

    def share(self, whole: torch.Tensor, axis: int = -2) -> torch.Tensor:
        """Returns this rank's share of a whole sequence."""
        return whole.index_select(axis, torch.from_numpy(self.placement.positions(self.rank)).to(whole.device))

    def gather(self, share: torch.Tensor, axis: int = -2) -> torch.Tensor:
        """Returns the whole sequence in every process, from the shares of all ranks."""
        if self.ranks == 1:
            return share
        shares = [torch.empty_like(share, memory_format=torch.contiguous_format) for _ in range(self.ranks)]
        work = dist.all_gather(shares, share.contiguous(), group=self.group, async_op=True)
        self._wait([work], 0)
        return torch.cat(shares, axis).index_select(axis, torch.from_numpy(self.placement.order()).to(share.device))

    def __call__(self, **operands: torch.Tensor) -> Tuple[torch.Tensor, torch.Tensor]:
        """Returns this rank's share of the result, and of its lse. Operands come by name: shares of queries and keys, the others
        whole.

        Raises RingError if another process does not send or receive in time. Raises ArgumentError, in every process, if a tensor
        does not fit or differs on another rank. Errors of kernels pass through. If only some processes got an error, the group
        cannot be used afterwards. A backward pass through the results is a GradientError.
        """
        if torch.is_grad_enabled() and any(tensor.requires_grad for tensor in operands.values()):
            from ._torch_calls import without_backward
            names = list(operands)
            return without_backward(lambda *tensors: self._compute_all(dict(zip(names, tensors))), self.kernels.step.name, names,
                                    list(operands.values()))
        with torch.no_grad():
            return self._compute_all(operands)

    def _check(self, operands: Mapping[str, torch.Tensor]) -> None:
        kernels = self.kernels
        check_names(kernels, operands, self.placement)
        device = next(iter(operands.values())).device
        known = ["cpu"] * kernels.step._kernel.is_for_processor + ["cuda"] * kernels.step._kernel.is_for_gpu
        for name, tensor in operands.items():
            if tensor.device != device or device.type not in known:
                raise ArgumentError(kernels.step.name, name, None,
                                    f"memory of one device that the layer was compiled for ({', '.join(known)})",
                                    str(tensor.device))

    def _compute_all(self, operands: Mapping[str, torch.Tensor]) -> Any:
        kernels, placement = self.kernels, self.placement
        self._agree(operands)
        count = len(placement.pieces(self.rank))
        now, coming = (_Parcel(kernels, operands, placement, count) for _ in range(2))
        now.fill(kernels, operands, placement)
        queries = [{name: operands[name][cut(axis, operands[name].dim(), placement.size, piece)].contiguous()
                    for name, axis in kernels.queries.items()} for piece in range(count)]
        rest = {name: operands[name].contiguous() for name in kernels.rest}
        parts: List[Any] = [None] * count
        for step in range(self.ranks):
            works = self._exchange(now, coming, step + 1) if step + 1 < self.ranks else []
            for pair in placement.pairs(self.rank, placement.source(self.rank, step)):
                self._compute(pair, queries[pair.query], now.views[pair.key], rest, parts)
            self._wait(works, step + 1)
            now, coming = coming, now
        return tuple(torch.cat([part[n] for part in parts], axis) for n, axis in enumerate(self.results))

    def _compute(self, pair: Pair, queries: Dict[str, torch.Tensor], keys: Dict[str, torch.Tensor],
                 rest: Dict[str, torch.Tensor], parts: List[Any]) -> None:
        threads = self.threads or torch.get_num_threads()
        made = self.kernels.step(**queries, **keys, **rest, q0=pair.q0, k0=pair.k0, threads=threads)
        before = parts[pair.query]
        parts[pair.query] = made if before is None else self.kernels.join(*before, *made, threads=threads)

    def _exchange(self, now: _Parcel, coming: _Parcel, step: int) -> List[Any]:
        """Begins to send the keys of this step, and to receive those of the next."""
        after, before = ((self.rank + way) % self.ranks for way in (1, -1))
        if self.group is not None:
            after, before = (dist.get_global_rank(self.group, rank) for rank in (after, before))
        return self._guarded(step, lambda: dist.batch_isend_irecv(
            [dist.P2POp(dist.isend, now.bytes, after, self.group),
             dist.P2POp(dist.irecv, coming.bytes, before, self.group)]))

    def _wait(self, works: List[Any], step: int) -> None:
        for work in works:
            self._guarded(step, work.wait if self.timeout is None else lambda: work.wait(self.timeout))

    def _guarded(self, step: int, action: Callable[[], Any]) -> Any:
        """Runs the action, and turns the RuntimeError by which torch.distributed reports every failure into a RingError."""
        try:
            return action()
        except RuntimeError as error:
            raise RingError(self.rank, self.ranks, step, str(error).splitlines()[0]) from error

    def _agree(self, operands: Mapping[str, torch.Tensor]) -> None:
        """Checks that all ranks were given the same shapes and types. Messages have no shape, so that keys of another shape would
        be read as something else. Every call begins with a number for the operands of each rank; if these numbers differ, all
        ranks exchange their descriptions, and raise."""
        wrong = None
        try:
            self._check(operands)
        except ArgumentError as error:
            wrong = error
        if self.ranks == 1:
            if wrong is not None:
                raise wrong
            return
        mine = tuple((name, str(operands[name].dtype), tuple(operands[name].shape)) for name in sorted(operands))
        text = (str(wrong) if wrong is not None else repr((mine, self.placement.length, self.placement.causal))).encode()[:_MOST]
        device = self._device(operands)
        number = int.from_bytes(hashlib.sha256(text).digest()[:7], "little")
        ends = torch.tensor([number, -number], dtype=torch.int64, device=device)
        self._wait(self._guarded(0, lambda: [dist.all_reduce(ends, dist.ReduceOp.MAX, group=self.group, async_op=True)]), 0)
        if wrong is None and ends.tolist() == [number, -number]:
            return
        sent = torch.frombuffer(bytearray(text.ljust(_MOST, b"\0")), dtype=torch.uint8).to(device)
        taken = [torch.empty_like(sent) for _ in range(self.ranks)]
        self._wait(self._guarded(0, lambda: [dist.all_gather(taken, sent, group=self.group, async_op=True)]), 0)
        if wrong is not None:
            raise wrong
        for rank, other in enumerate(taken):
            if not torch.equal(other, sent):
                raise ArgumentError(self.kernels.step.name, "operands", None, f"on all ranks the same: {text.decode(errors='replace')}",
                                    f"on rank {rank} {bytes(other.tolist()).rstrip(bytes(1)).decode(errors='replace')}")

    def _device(self, operands: Mapping[str, torch.Tensor]) -> torch.device:
        """Returns the device of the numbers that the group sends: the operands' device, if the layer was compiled for it."""
        for tensor in operands.values():
            if tensor.device.type == "cpu" or self.kernels.step._kernel.is_for_gpu:
                return tensor.device
        return torch.device("cpu")
