r"""Encoder and decoder: one recurrent network reads a sentence, another writes one.

.. math:: p(w_{1:T} \mid s_{1:S}) = \prod_{t=1}^{T} p(w_t \mid w_{<t}, s_{1:S}),
    \qquad \mathbf{o}_t = \mathbf{h}^{\mathrm{d}}_t \mathbf{V} + \mathbf{c}

A language model under a condition: the source. How the decoder is told of it is
``context``; see ``unrolled.models.seq2seq_decoders``. While training the decoder reads
the right tokens, one step late (teacher forcing).

Axes: B batch, T target position, S source position, V target vocabulary, E embedding
width, D hidden width, L layers.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

from torch import Tensor, nn

from unrolled.layers.alignment import AdditiveAttention, BilinearAttention, DotAttention
from unrolled.layers.readers import CELLS
from unrolled.layers.stacks import Stack
from unrolled.layers.states import each, shown
from unrolled.models.pairs import check_tokens
from unrolled.models.seq2seq_decoders import (
    Alignment,
    AskAfter,
    AskBefore,
    Everywhere,
    Once,
    Source,
    Written,
)
from unrolled.models.seq2seq_encoder import Encoder
from unrolled.shapes import at_least, check_choice, check_rates, check_shape

SCORES: dict[str, Callable[[int], Alignment]] = {
    "additive": lambda D: AdditiveAttention(D, D, D),
    "dot": lambda D: DotAttention(),
    "bilinear": lambda D: BilinearAttention(D, D),
}
ASKING = {"before": AskBefore, "after": AskAfter}


@dataclass(frozen=True, kw_only=True, slots=True)
class Seq2SeqConfig:
    """The sizes and the make of a :class:`Seq2Seq`.

    Args:
        n_source: the size of the source's vocabulary.
        n_target: the size of the target's vocabulary.
        d_embed: the width of the embeddings of both.
        d_hidden: the width of the states of both.
        n_layers: the layers of both.
        cell: "rnn", "lstm" or "gru".
        bidirectional: read the source from both ends, with half of the width for each
            direction: side by side they are as wide as the decoder's states.
        p_drop: the share of embeddings, and of what is read out, to drop in training.
        context: "once" is the first state alone, "everywhere" is beside each token
            too, "attention" is what the decoder asks for.
        score: how attention scores: "additive", "dot" or "bilinear".
        asks: the state "before" a step asks (Bahdanau), or that "after" it (Luong).
    """

    n_source: int
    n_target: int
    d_embed: int
    d_hidden: int
    n_layers: int = 1
    cell: str = "gru"
    bidirectional: bool = False
    p_drop: float = 0.0
    context: str = "attention"
    score: str = "additive"
    asks: str = "before"

    def __post_init__(self) -> None:
        at_least(1, n_source=self.n_source, n_target=self.n_target)
        at_least(1, d_embed=self.d_embed, d_hidden=self.d_hidden)
        at_least(1, n_layers=self.n_layers)
        if self.bidirectional and self.d_hidden % 2:
            raise ValueError(
                f"d_hidden={self.d_hidden} must be even: each direction has half of it"
            )
        check_rates(p_drop=self.p_drop)
        check_choice("cell", self.cell, CELLS)
        check_choice("context", self.context, ("once", "everywhere", "attention"))
        check_choice("score", self.score, SCORES)
        check_choice("asks", self.asks, ASKING)


@dataclass(frozen=True, slots=True, eq=False)
class Seq2SeqState:
    """Where a :class:`Seq2Seq` is in its writing: (L, B, D), and what of."""

    state: Any
    source: Source

    def rows(self, index: Tensor) -> "Seq2SeqState":
        """Return the state of the rows ``index``, as a beam needs; rows may repeat."""
        picked = each(lambda h: h[:, index], self.state)
        return Seq2SeqState(picked, self.source.rows(index))


class Seq2Seq(nn.Module):
    """Two tables, two recurrent networks, and a read-out.

    The decoder starts from the encoder's last states. Padding of the source is on the
    right, and ``source_mask`` (B, S), True where a token is real, keeps it from
    changing anything.
    """

    def __init__(self, config: Seq2SeqConfig) -> None:
        super().__init__()
        self.config = config
        self.embed_source = nn.Embedding(config.n_source, config.d_embed)
        self.embed_target = nn.Embedding(config.n_target, config.d_embed)
        self.drop = nn.Dropout(config.p_drop)
        self.encoder = Encoder(
            config.cell,
            config.d_embed,
            config.d_hidden,
            n_layers=config.n_layers,
            bidirectional=config.bidirectional,
        )
        self.decoder = _decoder(config)
        self.read = nn.Linear(config.d_hidden, config.n_target)

    def forward(
        self, source: Tensor, target_in: Tensor, source_mask: Tensor | None = None
    ) -> Tensor:
        """Return logits (B, T, V) of the token after each of ``target_in`` (B, T)."""
        written = self._write(target_in, self.encode(source, source_mask))
        return self.read(self.drop(written.shown))

    def alignment(
        self, source: Tensor, target_in: Tensor, source_mask: Tensor | None = None
    ) -> Tensor:
        """Return where the decoder looks before it writes each token, (B, T, S)."""
        written = self._write(target_in, self.encode(source, source_mask))
        if written.weights is None:
            raise ValueError(
                f"context={self.config.context!r} asks nothing: there is no alignment"
            )
        return written.weights

    def encode(self, source: Tensor, source_mask: Tensor | None = None) -> Seq2SeqState:
        """Read ``source`` (B, S) and return the state before the first token."""
        check_tokens("source", source, "B S")
        x = self.drop(self.embed_source(source))  # (B, S, E)
        memory, state = self.encoder(x, source_mask)  # (B, S, D), (L, B, D)
        keys = self.decoder.project(memory)
        context = shown(state)[-1]  # (B, D)
        return Seq2SeqState(state, Source(context, memory, keys, source_mask))

    def start(
        self, source: Tensor, source_mask: Tensor | None, first: Tensor
    ) -> tuple[Tensor, Seq2SeqState]:
        """Read the source and the token ``first`` (B,): logits (B, V) and a state."""
        check_shape("first", first, "B", B=len(source))
        return self.step(first, self.encode(source, source_mask))

    def step(self, ids: Tensor, state: Seq2SeqState) -> tuple[Tensor, Seq2SeqState]:
        """Read a token more, ``ids`` (B,): logits (B, V) of the next, and a state."""
        check_shape("ids", ids, "B", B=len(state.source.context))
        written = self._write(ids[:, None], state)
        logits = self.read(self.drop(written.shown[:, 0]))
        return logits, Seq2SeqState(written.state, state.source)

    def _write(self, target_in: Tensor, state: Seq2SeqState) -> Written:
        check_tokens("target_in", target_in, "B T", B=len(state.source.context))
        x = self.drop(self.embed_target(target_in))  # (B, T, E)
        return self.decoder(x, state.state, state.source)


def _decoder(config: Seq2SeqConfig) -> Once:
    """Put together the decoder that ``config`` names."""
    E, D = config.d_embed, config.d_hidden
    make = partial(Stack, CELLS[config.cell], n_layers=config.n_layers)
    if config.context == "once":
        return Once(make(E, D))
    if config.context == "everywhere":
        return Everywhere(make(E + D, D))
    return ASKING[config.asks](make(E, D), SCORES[config.score](D))
