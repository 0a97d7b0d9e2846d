r"""A causal decoder: what GPT and Llama do with their parts, whatever these are.

.. math::

    \mathbf{X} &\leftarrow \mathbf{E}_{w} \; (+ \, \mathbf{P}) \\
    \mathbf{X} &\leftarrow \operatorname{block}_l(\mathbf{X}), \qquad l = 1, \dots, L \\
    \mathbf{O} &= \operatorname{norm}(\mathbf{X}) \, \mathbf{E}^\top

Axes: B batch, T position, V vocabulary, D model width, L layers.
"""

from collections.abc import Iterable

import torch.nn.functional as F
from torch import Tensor, nn

from unrolled.layers.attention import Rotate
from unrolled.layers.blocks import PreNormBlock
from unrolled.layers.caches import (
    DecoderState,
    first_positions,
    read_prompts,
    real_prompts,
)
from unrolled.layers.positions import LearnedPositions, RotaryPositions
from unrolled.layers.rereading import TextState, known, untouched

State = DecoderState | TextState


class Decoder(nn.Module):
    """Embeddings, causal pre-norm blocks, a norm, and a score for every token.

    ``read`` is the read-out; None is the embeddings, used a second time. It writes with
    a cache if all its parts are those of the book, untouched, and else reads anew.
    """

    def __init__(
        self,
        embed: nn.Embedding,
        positions: LearnedPositions | RotaryPositions,
        blocks: Iterable[PreNormBlock],
        norm: nn.Module,
        read: nn.Linear | None,
        *,
        p_drop: float = 0.0,
    ) -> None:
        super().__init__()
        self.embed, self.positions, self.norm, self.read = embed, positions, norm, read
        self.blocks = nn.ModuleList(blocks)
        self.drop = nn.Dropout(p_drop)
        self.n_positions = positions.n_positions

    def forward(self, ids: Tensor) -> Tensor:
        """Return logits (B, T, V) of what comes after each token of ``ids`` (B, T)."""
        x, rotate = self._embed(ids, first_positions(ids, self.n_positions))
        for block in self.blocks:
            x = block(x, causal=True, rotate=rotate)
        return self.logits(x)

    def start(
        self, prompts: Tensor, lengths: Tensor | None = None
    ) -> tuple[Tensor, State]:
        """Read prompts (B, T), padded on the right; return logits (B, V) and state."""
        prompts, real = real_prompts(prompts, lengths)
        positions = first_positions(prompts, self.n_positions, "prompts")
        if not self._known():
            text = TextState(prompts, None if real is None else real.sum(dim=1))
            return text.logits(self), text
        x, state = read_prompts(self.blocks, *self._embed(prompts, positions), real)
        return self.logits(x)[:, 0], state

    def step(self, ids: Tensor, state: State) -> tuple[Tensor, State]:
        """Read one more token of each row, (B,): return logits (B, V) and a state."""
        if isinstance(state, TextState):
            text = state.append(ids)
            return text.logits(self), text
        place = state.place(ids, self.n_positions)
        x, rotate = self.embed(ids), None  # (B, D)
        if isinstance(self.positions, RotaryPositions):
            rotate = self.positions.at(place)
        else:
            x = x + self.positions.at(place)
        x, state = state.read(self.drop(x) if self.training else x, rotate)
        return self.logits(x), state

    def logits(self, h: Tensor) -> Tensor:
        """Return the scores (..., V) of all tokens for what blocks made, (..., D)."""
        table = self.embed if self.read is None else self.read
        return F.linear(self.norm(h), table.weight)

    def _known(self) -> bool:
        """Say whether :meth:`step` may stand for :meth:`forward`: all is as it was."""
        methods = ("forward", "logits", "_embed")
        ours = all(getattr(type(self), m) is getattr(Decoder, m) for m in methods)
        return ours and untouched(self) and all(map(known, self.children()))

    def _embed(self, ids: Tensor, positions: Tensor) -> tuple[Tensor, Rotate | None]:
        """Return embeddings (B, T, D), and how queries and keys are to be turned."""
        x = self.embed(ids)
        if isinstance(self.positions, RotaryPositions):
            return self.drop(x), self.positions(positions)
        return self.drop(x + self.positions(positions)), None
