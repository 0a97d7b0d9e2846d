r"""Decoders that are told of their source once, at every step, or what they ask for.

Axes: B batch, T target position, S source position, E embedding width, D hidden width,
L layers. A decoder reads the tokens written so far, (B, T, E), after a state (L, B, D),
and shows (B, T, D) for the read-out. The first state is always the encoder's last one.
With T = 1 it takes a single step: training and writing are the same code. A decoder is
given its parts: a stack of recurrent layers, and an attention if it asks.
"""

from dataclasses import dataclass
from operator import itemgetter
from typing import Any, NamedTuple, cast

import torch
from torch import Tensor, nn

from unrolled.layers.alignment import AdditiveAttention, BilinearAttention, DotAttention
from unrolled.layers.cells import Cell
from unrolled.layers.stacks import Stack
from unrolled.layers.states import each, shown
from unrolled.layers.unroll import unroll

Alignment = AdditiveAttention | BilinearAttention | DotAttention


@dataclass(frozen=True, slots=True, eq=False)
class Source:
    """What a decoder may know of the source; it stays the same while it writes.

    ``context`` (B, D) is what the encoder's top layer shows at the end, ``memory``
    (B, S, D) at every position, ``keys`` what attention makes of the memory, once.
    """

    context: Tensor
    memory: Tensor
    keys: Tensor
    mask: Tensor | None

    def rows(self, index: Tensor) -> "Source":
        """Return the sources of the rows ``index``; rows may repeat."""
        mask = None if self.mask is None else self.mask[index]
        return Source(self.context[index], self.memory[index], self.keys[index], mask)


class Written(NamedTuple):
    """What is shown, (B, T, D), the last state, and where was looked, (B, T, S)."""

    shown: Tensor
    state: Any
    weights: Tensor | None = None


class Once(nn.Module):
    r"""The source is in the first state, and must be remembered from there.

    .. math:: \mathbf{h}^{\mathrm{d}}_t = f(\mathbf{x}_t,
        \mathbf{h}^{\mathrm{d}}_{t-1}), \qquad
        \mathbf{h}^{\mathrm{d}}_0 = \mathbf{h}^{\mathrm{e}}_S
    """

    def __init__(self, stack: Stack[Any]) -> None:
        super().__init__()
        self.stack = stack

    def project(self, memory: Tensor) -> Tensor:
        """Take ``memory`` (B, S, D) as it is for the keys: nobody asks."""
        return memory

    def forward(self, x: Tensor, state: Any, source: Source) -> Written:
        """Read ``x`` (B, T, E) after ``state``."""
        return Written(*self.stack(x, state))


class Everywhere(Once):
    r"""The source's last state is read beside every token: nothing need be kept.

    .. math:: \mathbf{h}^{\mathrm{d}}_t = f([\mathbf{x}_t; \mathbf{c}],
        \mathbf{h}^{\mathrm{d}}_{t-1}), \qquad
        \mathbf{c} = \mathbf{h}^{\mathrm{d}}_0 = \mathbf{h}^{\mathrm{e}}_S

    The stack reads E + D numbers a step.
    """

    def forward(self, x: Tensor, state: Any, source: Source) -> Written:
        """Read ``x`` (B, T, E) and the context after ``state``."""
        context = source.context[:, None].expand(-1, x.shape[1], -1)  # (B, T, D)
        return Written(*self.stack(torch.cat([x, context], dim=-1), state))


class AskBefore(Once):
    r"""The state before a step asks the source, as in Bahdanau, Cho and Bengio.

    .. math::

        \mathbf{c}_t &= \operatorname{look}(\mathbf{h}^{\mathrm{d}}_{t-1},
            \mathbf{h}^{\mathrm{e}}_{1:S}) \\
        \mathbf{h}^{\mathrm{d}}_t &= f([\mathbf{x}_t; \mathbf{c}_t],
            \mathbf{h}^{\mathrm{d}}_{t-1})

    The lowest layer asks and is answered; those above it read what it shows. The cell's
    weights for the context are apart, in ``W_c``: the product of the tokens needs no
    state and is one for all steps, and only that of the context waits for its step.
    """

    def __init__(self, stack: Stack[Any], attention: Alignment) -> None:
        super().__init__(stack)
        self.attention = attention
        bound, like = stack.d_hidden**-0.5, cast("Cell[Any]", stack.cells[0]).W_x
        W_c = torch.empty(stack.d_hidden, like.shape[1]).uniform_(-bound, bound)
        self.W_c = nn.Parameter(W_c)

    def project(self, memory: Tensor) -> Tensor:
        """Make the keys (B, S, D) of ``memory`` (B, S, D), once for all steps."""
        return self.attention.project(memory)

    def forward(self, x: Tensor, state: Any, source: Source) -> Written:
        """Read ``x`` (B, T, E) after ``state``; look at the source before each step."""
        lowest, *above = cast("list[Cell[Any]]", list(self.stack.cells))
        h, states, weights = each(itemgetter(0), state), [], []
        for projected in lowest.project(x).unbind(dim=1):
            query = shown(h)[:, None]  # (B, 1, D)
            c_t, alpha = self.attention(query, source.keys, source.memory, source.mask)
            h = lowest.step(torch.addmm(projected, c_t[:, 0], self.W_c), h)
            states.append(shown(h))
            weights.append(alpha)
        y, last = torch.stack(states, dim=1), [h]  # (B, T, D)
        for layer, cell in enumerate(above, start=1):
            y, h = unroll(cell, y, each(itemgetter(layer), state))
            last.append(h)
        return Written(
            y, each(lambda *h: torch.stack(h), *last), torch.cat(weights, dim=1)
        )


class AskAfter(Once):
    r"""The state after a step asks the source, as in Luong, Pham and Manning.

    .. math::

        \mathbf{h}^{\mathrm{d}}_t &= f(\mathbf{x}_t, \mathbf{h}^{\mathrm{d}}_{t-1}),
            \qquad \mathbf{c}_t = \operatorname{look}(\mathbf{h}^{\mathrm{d}}_t,
            \mathbf{h}^{\mathrm{e}}_{1:S}) \\
        \tilde{\mathbf{h}}_t &= \tanh([\mathbf{h}^{\mathrm{d}}_t; \mathbf{c}_t]
            \mathbf{W}_m + \mathbf{b}_m)

    The top layer asks. No state waits for a context, so the products of tokens, of
    queries and of the mixture are one each for all steps. (Luong's "input feeding",
    which gives :math:`\tilde{\mathbf{h}}_{t-1}` to the next step, would undo that.)
    """

    def __init__(self, stack: Stack[Any], attention: Alignment) -> None:
        super().__init__(stack)
        self.attention = attention
        self.mix = nn.Linear(2 * stack.d_hidden, stack.d_hidden)

    def project(self, memory: Tensor) -> Tensor:
        """Make the keys (B, S, D) of ``memory`` (B, S, D), once for all steps."""
        return self.attention.project(memory)

    def forward(self, x: Tensor, state: Any, source: Source) -> Written:
        """Read ``x`` (B, T, E) after ``state``, then look at the source from each."""
        h, state = self.stack(x, state)
        c, weights = self.attention(h, source.keys, source.memory, source.mask)
        mixed = torch.tanh(self.mix(torch.cat([h, c], dim=-1)))  # (B, T, D)
        return Written(mixed, state, weights)
