"""Which optimizer trains which weights: settings that build it for a model."""

from collections.abc import Iterator
from dataclasses import dataclass, field

import torch
from torch import nn
from torch.optim import Optimizer

from unrolled.runtime import fuses_optimizers
from unrolled.training import muon

OUT_FIRST = (nn.Linear, nn.RNNBase, nn.RNNCellBase, nn.MultiheadAttention)


@dataclass(frozen=True, kw_only=True, slots=True)
class AdamW:
    """AdamW, its weight decay on matrices only unless ``decay_vectors``.

    Gains and biases are vectors: they have no superfluous size that decay could take
    away. ``fused`` takes one kernel for the whole step where the device has it; it
    differs from the plain one in the last bit, and is three times as fast on a CPU.
    """

    betas: tuple[float, float] = (0.9, 0.999)
    eps: float = 1e-8
    decay_vectors: bool = False
    fused: bool = True

    def build(
        self, model: nn.Module, *, lr: float, weight_decay: float
    ) -> list[Optimizer]:
        """Return the optimizer of all trainable weights of ``model``."""
        return self.of(_trainable(model), lr=lr, weight_decay=weight_decay)

    def of(
        self, weights: list[nn.Parameter], *, lr: float, weight_decay: float
    ) -> list[Optimizer]:
        """Return the optimizer of ``weights``, or none if there are none."""
        if not weights:
            return []
        decayed = [w for w in weights if w.ndim > 1 or self.decay_vectors]
        spared = [w for w in weights if w.ndim <= 1 and not self.decay_vectors]
        groups = [(decayed, weight_decay), (spared, 0.0)]
        return [
            torch.optim.AdamW(
                [{"params": some, "weight_decay": by} for some, by in groups if some],
                lr=lr,
                betas=self.betas,
                eps=self.eps,
                fused=self.fused and fuses_optimizers(weights[0].device),
            )
        ]


@dataclass(frozen=True, kw_only=True, slots=True)
class MuonAdamW:
    """Muon for the hidden matrices; AdamW for embeddings, read-out and vectors.

    ``lr`` is Muon's; that of the training config is AdamW's. A schedule scales both.
    A matrix is left to AdamW if it belongs to an ``nn.Embedding``, or if a part of its
    name is one of ``by_adamw``.
    """

    lr: float = 0.02
    momentum: float = 0.95
    n_rounds: int = 3
    by_adamw: tuple[str, ...] = ("embed", "read", "out", "table")
    adamw: AdamW = field(default_factory=AdamW)

    def __post_init__(self) -> None:
        if self.lr <= 0:
            raise ValueError(f"lr={self.lr} must be positive")
        if not 0 <= self.momentum < 1:
            raise ValueError(f"momentum={self.momentum} must be at least 0 and below 1")
        if self.n_rounds < 1:
            raise ValueError(f"n_rounds={self.n_rounds} must be at least 1")

    def build(
        self, model: nn.Module, *, lr: float, weight_decay: float
    ) -> list[Optimizer]:
        """Return Muon and AdamW, each with its part of the weights of ``model``."""
        hidden = hidden_matrices(model, self.by_adamw)
        if not hidden:
            raise ValueError(
                "the model has no hidden matrix for Muon: train it by AdamW, or name "
                f"fewer parts in by_adamw={self.by_adamw}"
            )
        by_axis = [
            {"params": [w for w, axis in hidden.items() if axis == n], "out_axis": n}
            for n in (0, 1)
        ]
        matrices = muon.Muon(
            [group for group in by_axis if group["params"]],
            lr=self.lr,
            momentum=self.momentum,
            weight_decay=weight_decay,
            n_rounds=self.n_rounds,
        )
        rest = [w for w in _trainable(model) if w not in hidden]
        return [matrices, *self.adamw.of(rest, lr=lr, weight_decay=weight_decay)]


def hidden_matrices(
    model: nn.Module, by_adamw: tuple[str, ...]
) -> dict[nn.Parameter, int]:
    """Return the matrices between input and output, and which axis each writes to.

    PyTorch's own modules keep a matrix as (out, in); ours are (in, out).
    """
    found: dict[nn.Parameter, int] = {}
    others: set[nn.Parameter] = set()
    for owner, name, weight in _owned(model):
        spared = isinstance(owner, nn.Embedding) or set(name.split(".")) & {*by_adamw}
        if spared or weight.ndim != 2 or not weight.requires_grad:
            others.add(weight)
        else:
            found[weight] = 0 if isinstance(owner, OUT_FIRST) else 1
    return {w: axis for w, axis in found.items() if w not in others}  # tied: AdamW's


def set_rates(optimizers: list[Optimizer], factor: float) -> None:
    """Make every learning rate ``factor`` times the one it was built with."""
    for optimizer in optimizers:
        for group in optimizer.param_groups:
            group["lr"] = factor * group.setdefault("initial_lr", group["lr"])


def _trainable(model: nn.Module) -> list[nn.Parameter]:
    return [w for w in model.parameters() if w.requires_grad]


def _owned(model: nn.Module) -> Iterator[tuple[nn.Module, str, nn.Parameter]]:
    """Yield each weight under all its names, with the module that holds it."""
    for path, owner in model.named_modules():
        for name, weight in owner.named_parameters(recurse=False):
            yield owner, f"{path}.{name}", weight
