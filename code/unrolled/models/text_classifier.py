"""One answer for a whole text: read it, pool the states, choose.

Axes: B batch, T time, V vocabulary, E embedding width, D width of a state (twice the
hidden width in both directions), O classes.
"""

from dataclasses import dataclass

from torch import Tensor, nn

from unrolled.layers.pooling import (
    AttentionPool,
    Pool,
    end_states,
    last_state,
    max_state,
    mean_state,
)
from unrolled.layers.readers import CELLS, WordReader
from unrolled.shapes import at_least, check_choice, check_rates

POOLINGS = ("last", "mean", "max", "attention")


@dataclass(frozen=True, kw_only=True, slots=True)
class TextClassifierConfig:
    """The sizes of a :class:`TextClassifier`, its cell, and how it pools.

    ``cell`` is "rnn", "lstm" or "gru"; ``pooling`` is "last", "mean", "max" or
    "attention". In both directions, "last" is where each of them ends.
    """

    n_tokens: int
    d_embed: int
    d_hidden: int
    n_classes: int
    cell: str = "lstm"
    pooling: str = "mean"
    bidirectional: bool = False
    n_layers: int = 1
    p_drop: float = 0.0

    def __post_init__(self) -> None:
        at_least(1, n_tokens=self.n_tokens, d_embed=self.d_embed)
        at_least(1, d_hidden=self.d_hidden, n_layers=self.n_layers)
        at_least(2, n_classes=self.n_classes)
        check_choice("cell", self.cell, CELLS)
        check_choice("pooling", self.pooling, POOLINGS)
        check_rates(p_drop=self.p_drop)


class TextClassifier(nn.Module):
    """Recurrent layers over words, one vector for all their states, and a score each.

    ``p_drop`` drops numbers of the words' vectors and of the one that is scored.
    """

    def __init__(self, config: TextClassifierConfig) -> None:
        super().__init__()
        self.config = config
        self.reader = WordReader(
            config.n_tokens,
            config.d_embed,
            config.d_hidden,
            cell=config.cell,
            n_layers=config.n_layers,
            bidirectional=config.bidirectional,
            p_drop=config.p_drop,
        )
        self.pool = _pool(config, self.reader.d_out)
        self.drop = nn.Dropout(config.p_drop)
        self.read = nn.Linear(self.reader.d_out, config.n_classes)

    def forward(self, ids: Tensor, mask: Tensor | None = None) -> Tensor:
        """Return logits (B, O) for ids (B, T), real where ``mask`` (B, T) is True."""
        states = self.reader(ids, mask)  # (B, T, D)
        return self.read(self.drop(self.pool(states, mask)))


def _pool(config: TextClassifierConfig, d_model: int) -> Pool:
    if config.pooling == "attention":
        return AttentionPool(d_model)
    last = end_states if config.bidirectional else last_state
    return {"last": last, "mean": mean_state, "max": max_state}[config.pooling]
