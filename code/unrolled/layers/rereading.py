"""Reading anew: how a decoder writes whose parts are not all known here.

Axes: B batch, T position, V vocabulary. A cache spares a decoder what it has computed
before; :mod:`unrolled.layers.caches` knows how, and what, of the book's own classes
only, whose equations it writes out a second time. A subclass may compute anything, and
so may a module with a hook, or with a method put in the place of its own. So the class
of every part is asked for exactly. With any other a decoder keeps the tokens it has
read and no cache, and reads all of them again with each new one, by ``forward``: the
same answers, for T times the work. What is replaced on a class, or hooked to all
modules at once, is not noticed; and an activation must look at each number by itself.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from unrolled.layers.attention import MultiHeadAttention
from unrolled.layers.blocks import PostNormBlock, PreNormBlock
from unrolled.layers.feed_forward import FeedForward, SwiGLU
from unrolled.layers.heads import GroupedQueryAttention, NormedAttention
from unrolled.layers.norms import LayerNorm, RMSNorm, UnitRMSNorm
from unrolled.layers.positions import LearnedPositions, RotaryPositions
from unrolled.shapes import check_shape

KNOWN: frozenset[type[nn.Module]] = frozenset(
    [
        *(PreNormBlock, PostNormBlock),
        *(MultiHeadAttention, GroupedQueryAttention, NormedAttention),
        *(FeedForward, SwiGLU),
        *(LayerNorm, RMSNorm, UnitRMSNorm),
        *(LearnedPositions, RotaryPositions),
        *(nn.Linear, nn.Embedding, nn.Dropout, nn.ModuleList),
    ]
)


def known(module: nn.Module) -> bool:
    """Say whether a module and all its parts are exactly those that a cache knows."""
    return all(type(part) in KNOWN and untouched(part) for part in module.modules())


def untouched(module: nn.Module) -> bool:
    """Say whether a module does what its class says: no hooks, no method replaced."""
    hooked = (
        module._forward_pre_hooks
        or module._forward_hooks
        or module._backward_pre_hooks
        or module._backward_hooks
    )
    kind: Any = type(module)  # mypy doubts that classes can be hashed
    return not hooked and _methods(kind).isdisjoint(vars(module))


@cache
def _methods(kind: type[nn.Module]) -> frozenset[str]:
    """Return the names of what a class can be called for."""
    return frozenset(name for name in dir(kind) if callable(getattr(kind, name)))


@dataclass(frozen=True, slots=True, eq=False)
class TextState:
    """The tokens read so far, (B, T); of a row the first of ``lengths`` (B,), or all.

    Rows of different lengths are read one by one: no part meets any padding.
    """

    ids: Tensor
    lengths: Tensor | None = None

    def rows(self, index: Tensor) -> "TextState":
        """Return the state of the rows ``index`` (N,), which may repeat."""
        lengths = None if self.lengths is None else self.lengths[index]
        return TextState(self.ids[index], lengths)

    def append(self, ids: Tensor) -> "TextState":
        """Return a state with one more token of each row, (B,)."""
        check_shape("ids", ids, "B", B=len(self.ids))
        if self.lengths is None:
            return TextState(torch.cat([self.ids, ids[:, None]], dim=1))
        longer = F.pad(self.ids, (0, 1))
        longer = longer.scatter(1, self.lengths[:, None], ids[:, None])
        return TextState(longer, self.lengths + 1)

    def logits(self, forward: Callable[[Tensor], Tensor]) -> Tensor:
        """Return what ``forward``, (B, T) to (B, T, V), says after the last: (B, V)."""
        if self.lengths is None:
            return forward(self.ids)[:, -1]
        rows = zip(self.ids, self.lengths.tolist(), strict=True)
        return torch.stack([forward(row[None, :n])[0, -1] for row, n in rows])
