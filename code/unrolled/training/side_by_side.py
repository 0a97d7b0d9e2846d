"""Many small networks trained side by side, each on examples of its own.

To compare two ways of training, each is done for several seeds. One small network
keeps no processor busy; M of one shape, their weights stacked along a first axis, do.
None of them feels the others: their losses are added, and the gradient of a sum is a
gradient for each. Adam and decay act on every weight alone, so that each network ends
where it would have ended if it had been trained by itself. (Dropout draws other zeros
for it than it would have drawn alone.)

Axes: B examples in a batch, E inputs. And two that only this module has: M networks,
and N examples of each.
"""

from collections.abc import Iterator, Sequence
from typing import Any

import torch
from torch import Tensor, nn
from torch.func import functional_call, stack_module_state, vmap
from torch.nn import functional as F

from unrolled.runtime import fuses_optimizers, generator, progress
from unrolled.shapes import at_least, check_shape

State = tuple[dict[str, Any], dict[str, Any]]


def steps_side_by_side(
    nets: Sequence[nn.Module],
    x: Tensor,
    y: Tensor,
    *,
    seeds: Sequence[int],
    steps: int,
    lr: float,
    n_batch: int = 32,
    weight_decay: float = 0.0,
) -> Iterator[int]:
    """Train ``nets`` by AdamW on ``x`` (M, N, E) with labels ``y`` (M, N).

    Each draws its batches from its own one of ``seeds``, with replacement. Yields the
    number of each step, from 1; by then all ``nets`` hold their new weights. Matrices
    decay, vectors do not.
    """
    n_nets = len(nets)
    check_shape("x", x, "M N E", M=n_nets)
    check_shape("y", y, "M N", M=n_nets, N=x.shape[1])
    at_least(1, steps=steps, n_batch=n_batch)
    if len(seeds) != n_nets:
        raise ValueError(f"{len(seeds)} seeds for {n_nets} nets: one for each")
    stacked, buffers = stack_module_state(list(nets))
    _share(nets, stacked)
    groups: list[dict[str, Any]] = [
        {"params": [w for w in stacked.values() if w.ndim > 2]},
        {"params": [w for w in stacked.values() if w.ndim <= 2], "weight_decay": 0.0},
    ]  # one axis more than in a network by itself
    optimizer = torch.optim.AdamW(
        groups, lr=lr, weight_decay=weight_decay, fused=fuses_optimizers(x.device)
    )
    streams = [generator(seed) for seed in seeds]
    rows = torch.arange(n_nets)[:, None]
    for step in progress(range(1, steps + 1)):
        draws = [torch.randint(x.shape[1], (n_batch,), generator=g) for g in streams]
        chosen = torch.stack(draws)  # (M, B)
        optimizer.zero_grad()
        scores = _forward(nets[0], (stacked, buffers), x[rows, chosen])
        right = y[rows, chosen]
        loss = F.cross_entropy(scores.flatten(0, 1), right.flatten(), reduction="sum")
        (loss / n_batch).backward()
        optimizer.step()
        yield step


@torch.no_grad()
def scores_side_by_side(nets: Sequence[nn.Module], x: Tensor) -> Tensor:
    """Return what each network says of all ``x`` (N, E), in evaluation mode: (M, N, O).

    ``x`` may also be (M, N, E), with inputs of its own for each network.
    """
    modes = [net.training for net in nets]
    for net in nets:
        net.eval()
    shared = x if x.ndim == 3 else x.expand(len(nets), *x.shape)
    scores = _forward(nets[0], stack_module_state(list(nets)), shared)
    for net, mode in zip(nets, modes, strict=True):
        net.train(mode)
    return scores


def errors_side_by_side(nets: Sequence[nn.Module], x: Tensor, y: Tensor) -> Tensor:
    """Return the share of ``x`` that each network labels wrong: (M,)."""
    wrong = scores_side_by_side(nets, x).argmax(dim=-1) != y  # (M, N)
    return wrong.double().mean(dim=1)


def _share(nets: Sequence[nn.Module], stacked: dict[str, Any]) -> None:
    """Let each network's weights be its slice of the stacked ones."""
    for name, weights in stacked.items():
        for m, net in enumerate(nets):
            net.get_parameter(name).data = weights.data[m]


def _forward(net: nn.Module, state: State, x: Tensor) -> Tensor:
    """Return the scores (M, N, O) of all networks, each for its own row of ``x``."""

    def one(weights: dict[str, Any], buffers: dict[str, Any], own: Tensor) -> Tensor:
        scores: Tensor = functional_call(net, (weights, buffers), (own,))
        return scores

    return vmap(one, randomness="different")(*state, x)
