"""Questions whose answer stands in the text: where it begins and where it ends.

Axes: B batch, T position, D model width.
"""

import torch
from torch import Tensor, nn

from unrolled.data.batch import check_mask
from unrolled.models.bert import BERT
from unrolled.models.bert_heads import Given
from unrolled.models.encoders import start_small
from unrolled.shapes import at_least, check_shape


class SpanFinder(nn.Module):
    """Where does the answer begin, and where does it end? :func:`best_spans` decides.

    The question is the first text, the passage with the answer the second.
    """

    def __init__(self, bert: BERT) -> None:
        super().__init__()
        self.out = start_small(nn.Linear(bert.config.d_model, 2))
        self.bert = bert

    def forward(self, ids: Tensor, *given: Given, **named: Given) -> Tensor:
        """Return (B, T, 2): how well the answer begins at each token, and ends."""
        return self.read(self.bert(ids, *given, **named))

    def read(self, states: Tensor) -> Tensor:
        """Return scores (B, T, 2) for ``states`` (B, T, D)."""
        scores: Tensor = self.out(states)
        return scores


def best_spans(scores: Tensor, allowed: Tensor, *, longest: int) -> Tensor:
    r"""Return the first and last token (B, 2) of the best answer in each row.

    .. math:: \operatorname*{argmax}_{i \le j < i + \text{longest}} b_i + e_j

    Args:
        scores: b and e, the scores to begin and to end at each token (B, T, 2).
        allowed: where an answer may lie (B, T), somewhere in each row: the passage.
        longest: how many tokens an answer may have.
    """
    check_shape("scores", scores, "B T 2", **{"2": 2})
    check_mask("allowed", allowed, "scores", scores)
    at_least(1, longest=longest)
    if not allowed.any(dim=1).all():
        rows = (~allowed.any(dim=1)).nonzero().flatten().tolist()
        raise ValueError(f"allowed has no place for an answer in rows {rows}")
    hidden = scores.masked_fill(~allowed[..., None], -torch.inf)
    begin, end = hidden.unbind(dim=-1)
    both = begin[:, :, None] + end[:, None]  # (B, T, T)
    near = torch.ones_like(both, dtype=torch.bool).triu().tril(longest - 1)
    best = both.masked_fill(~near, -torch.inf).flatten(start_dim=1).argmax(dim=-1)
    n_steps = scores.shape[1]
    return torch.stack([best // n_steps, best % n_steps], dim=-1)
