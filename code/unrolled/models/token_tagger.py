"""A tag for every word of a text, from one direction or from both.

Axes: B batch, T time, V vocabulary, E embedding width, D width of a state (twice the
hidden width in both directions), O tags.
"""

from dataclasses import dataclass

from torch import Tensor, nn

from unrolled.layers.readers import CELLS, WordReader
from unrolled.shapes import at_least, check_choice, check_rates


@dataclass(frozen=True, kw_only=True, slots=True)
class TokenTaggerConfig:
    """The sizes of a :class:`TokenTagger`; ``cell`` is "rnn", "lstm" or "gru"."""

    n_tokens: int
    d_embed: int
    d_hidden: int
    n_tags: int
    cell: str = "lstm"
    bidirectional: bool = False
    n_layers: int = 1
    p_drop: float = 0.0

    def __post_init__(self) -> None:
        sizes = ("n_tokens", "d_embed", "d_hidden", "n_tags", "n_layers")
        at_least(1, **{name: getattr(self, name) for name in sizes})
        check_choice("cell", self.cell, CELLS)
        check_rates(p_drop=self.p_drop)


class TokenTagger(nn.Module):
    r"""Recurrent layers over words, and scores for the tags of each.

    .. math:: \mathbf{o}_t = \mathbf{h}_t \mathbf{V} + \mathbf{c}

    In both directions :math:`\mathbf{h}_t` has seen the whole text, and else the words
    up to t. ``p_drop`` drops numbers of the words' vectors and of the states.
    """

    def __init__(self, config: TokenTaggerConfig) -> None:
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
        self.drop = nn.Dropout(config.p_drop)
        self.read = nn.Linear(self.reader.d_out, config.n_tags)

    def forward(self, ids: Tensor, mask: Tensor | None = None) -> Tensor:
        """Return scores (B, T, O) for ids (B, T), real where ``mask`` (B, T) is True.

        Where it is False, the scores mean nothing.
        """
        return self.read(self.drop(self.reader(ids, mask)))
