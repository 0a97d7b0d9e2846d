r"""The recurrent language model: read a token, foretell the next, and remember.

.. math::

    \mathbf{x}_t &= \mathbf{E}_{w_t} \\
    \mathbf{h}_t &= \operatorname{layers}(\mathbf{x}_t, \mathbf{h}_{t-1}) \\
    \mathbf{o}_t &= \mathbf{h}_t \mathbf{E}^\top + \mathbf{c}

The table that gives a token its vector also scores it: the weights are tied (Press and
Wolf 2017; Inan, Khosravi and Socher 2017), which saves one of two tables, the most of
a model of many words, and asks that vectors and states be of one width. Dropout falls
on what goes up, never on what goes on in time (Zaremba, Sutskever and Vinyals 2014).

Axes: B batch, T time, V vocabulary, E embedding width, D hidden width, L layers.
"""

from dataclasses import dataclass
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from unrolled.layers.readers import CELLS
from unrolled.layers.stacks import Stack
from unrolled.layers.states import each, shown
from unrolled.shapes import at_least, check_choice, check_rates, check_shape


@dataclass(frozen=True, kw_only=True, slots=True)
class RNNLMConfig:
    """The sizes and the make of an :class:`RNNLM`.

    Attributes:
        d_model: the width of the states.
        cell: "rnn", "lstm" or "gru".
        tied: whether the embeddings are the read-out too.
        d_embed: the width of the embeddings; None is that of the states, and tied
            weights can have no other.
        p_drop: what is dropped in training of embeddings, of what a layer shows to the
            next, and of what is read out.
    """

    n_tokens: int
    d_model: int
    n_layers: int = 1
    cell: str = "lstm"
    tied: bool = True
    d_embed: int | None = None
    p_drop: float = 0.0

    def __post_init__(self) -> None:
        at_least(1, n_tokens=self.n_tokens, d_model=self.d_model)
        at_least(1, n_layers=self.n_layers)
        check_choice("cell", self.cell, CELLS)
        check_rates(p_drop=self.p_drop)
        if self.d_embed is None:
            return
        at_least(1, d_embed=self.d_embed)
        if self.tied and self.d_embed != self.d_model:
            raise ValueError(
                f"d_embed={self.d_embed} must be d_model={self.d_model} when the "
                "weights are tied: set tied=False for two widths"
            )


@dataclass(frozen=True, slots=True, eq=False)
class RNNLMState:
    """What an :class:`RNNLM` remembers: the states of its layers, of (L, B, D)."""

    layers: Any

    def rows(self, index: Tensor) -> "RNNLMState":
        """Return the state of the rows ``index`` (N,), which may repeat."""
        return RNNLMState(each(lambda h: h[:, index], self.layers))

    def detach(self) -> "RNNLMState":
        """Return the same state, through which no gradient goes back.

        Truncated backpropagation through time carries it from one piece of a long
        text to the next.
        """
        return RNNLMState(each(Tensor.detach, self.layers))


class RNNLM(nn.Module):
    r"""A table of vectors, recurrent layers, and a score for every token.

    The table starts uniform in :math:`\pm 1/\sqrt{E}`, as does a read-out of its own
    in :math:`\pm 1/\sqrt{D}`, and the bias at zero: then all tokens are about as likely
    before training.
    """

    def __init__(self, config: RNNLMConfig) -> None:
        super().__init__()
        self.config = config
        n_tokens, d_model = config.n_tokens, config.d_model
        d_embed = config.d_embed or d_model
        self.embed = nn.Embedding.from_pretrained(
            _table(n_tokens, d_embed), freeze=False
        )
        self.drop = nn.Dropout(config.p_drop)
        self.layers: Stack[Any] = Stack(
            CELLS[config.cell],
            d_embed,
            d_model,
            n_layers=config.n_layers,
            p_drop=config.p_drop,
        )
        self.W_out = None if config.tied else nn.Parameter(_table(n_tokens, d_model))
        self.bias = nn.Parameter(torch.zeros(n_tokens))

    def forward(
        self,
        ids: Tensor,
        state: RNNLMState | None = None,
        *,
        lengths: Tensor | None = None,
    ) -> Tensor:
        """Return logits (B, T, V) of what comes after each token of ``ids`` (B, T).

        Rows of different ``lengths`` (B,) are padded on the right, with any token.
        """
        return self.logits(self._read(ids, state, lengths)[0])

    def read(
        self, ids: Tensor, state: RNNLMState | None = None
    ) -> tuple[Tensor, RNNLMState]:
        """Return logits (B, T, V), and the state from which to read on."""
        h, state = self._read(ids, state, None)
        return self.logits(h), state

    def start(
        self, prompts: Tensor, lengths: Tensor | None = None
    ) -> tuple[Tensor, RNNLMState]:
        """Read prompts (B, T): return logits (B, V) of what comes next, and a state.

        Prompts of different ``lengths`` (B,) are padded on the right, with any token.
        """
        state = self._read(prompts, None, lengths)[1]
        return self.logits(shown(state.layers)[-1]), state  # padding left it as it was

    def step(self, ids: Tensor, state: RNNLMState) -> tuple[Tensor, RNNLMState]:
        """Read one more token of each row, (B,): return logits (B, V) and a state."""
        check_shape("ids", ids, "B", B=shown(state.layers).shape[1])
        h, state = self._read(ids[:, None], state, None)
        return self.logits(h[:, 0]), state

    def logits(self, h: Tensor) -> Tensor:
        """Return the scores (..., V) of all tokens for states of the top layer."""
        table = self.embed.weight if self.W_out is None else self.W_out
        return F.linear(self.drop(h), table, self.bias)

    def _read(
        self, ids: Tensor, state: RNNLMState | None, lengths: Tensor | None
    ) -> tuple[Tensor, RNNLMState]:
        """Return what the top layer shows, (B, T, D), and the state after it."""
        check_shape("ids", ids, "B T")
        before = None if state is None else state.layers
        h, after = self.layers(self.drop(self.embed(ids)), before, lengths=lengths)
        return h, RNNLMState(after)


def _table(n_tokens: int, width: int) -> Tensor:
    """Return a vector for each token, (V, ``width``), as they are before training."""
    return torch.empty(n_tokens, width).uniform_(-(width**-0.5), width**-0.5)
