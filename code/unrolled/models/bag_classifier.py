r"""One answer for a text from the mean of its words' vectors, in whatever order.

.. math:: \mathbf{o} = \frac{1}{T} \sum_{t=1}^{T} \mathbf{E}_{w_t} \mathbf{V}
    + \mathbf{c}

The baseline that a model which reads in order has to beat. Axes: B batch, T time, V
vocabulary, E embedding width, O classes.
"""

from dataclasses import dataclass

from torch import Tensor, nn

from unrolled.layers.pooling import check_mask, mean_state
from unrolled.shapes import at_least, check_rates, check_shape


@dataclass(frozen=True, kw_only=True, slots=True)
class BagClassifierConfig:
    """The sizes of a :class:`BagClassifier`."""

    n_tokens: int
    d_embed: int
    n_classes: int
    p_drop: float = 0.0

    def __post_init__(self) -> None:
        at_least(1, n_tokens=self.n_tokens, d_embed=self.d_embed)
        at_least(2, n_classes=self.n_classes)
        check_rates(p_drop=self.p_drop)


class BagClassifier(nn.Module):
    """A table of vectors, their mean, and a score for each class."""

    def __init__(self, config: BagClassifierConfig) -> None:
        super().__init__()
        self.config = config
        self.embed = nn.Embedding(config.n_tokens, config.d_embed)
        self.drop = nn.Dropout(config.p_drop)
        self.read = nn.Linear(config.d_embed, config.n_classes)

    def forward(self, ids: Tensor, mask: Tensor | None = None) -> Tensor:
        """Return logits (B, O) for ids (B, T), real where ``mask`` (B, T) is True."""
        check_shape("ids", ids, "B T")
        if mask is not None:
            check_mask("mask", mask, *ids.shape)
            ids = ids.masked_fill(~mask, 0)  # an id of no token may stand there
        return self.read(self.drop(mean_state(self.embed(ids), mask)))
