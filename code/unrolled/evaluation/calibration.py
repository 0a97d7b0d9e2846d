r"""Whether a model knows how often it is right.

Of all answers given with a confidence of 0.8, eight in ten should be right. Answers are
put into bins by confidence, of equal width, each with its upper end and without its
lower (the first with both). Then

.. math:: \operatorname{ECE} = \sum_b \frac{n_b}{N} \, |\text{accuracy}_b
        - \text{confidence}_b|

and the Brier score, which rewards being both calibrated and decided, is

.. math:: \frac{1}{N} \sum_{i=1}^{N} \sum_{o} (p_{io} - [y_i = o])^2,

from 0 to 2 as Brier (1950) has it. Axes: B answers, O answers to choose from.
"""

from dataclasses import dataclass

import torch
import torch.nn.functional as F
from torch import Tensor

from unrolled.shapes import at_least, check_shape


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class Reliability:
    """The bins: their edges (bins + 1,), and of each, (bins,), what fell into it.

    ``confidence`` and ``accuracy`` are means over the ``count`` answers of a bin, and
    ``nan`` where there is none.
    """

    edges: Tensor
    count: Tensor
    confidence: Tensor
    accuracy: Tensor


def confident_answers(p: Tensor, y: Tensor) -> tuple[Tensor, Tensor]:
    """Return the confidence of the best answer (B,), and whether it is right (B,).

    ``p`` (B, O) are probabilities, ``y`` (B,) the right answers.
    """
    _check_probabilities(p)
    check_shape("y", y, "B", B=len(p))
    confidence, answer = p.max(dim=1)
    return confidence, answer == y


def reliability(confidence: Tensor, right: Tensor, *, n_bins: int = 10) -> Reliability:
    """Put answers into bins by confidence (B,) and count how many are right (B,)."""
    at_least(1, n_bins=n_bins)
    check_shape("confidence", confidence, "B")
    check_shape("right", right, "B", B=len(confidence))
    if not len(confidence) or not bool(((confidence >= 0) & (confidence <= 1)).all()):
        raise ValueError("confidence must hold numbers from 0 to 1, and at least one")
    sure = confidence.detach().double()
    edges = torch.linspace(0, 1, n_bins + 1, dtype=torch.float64, device=sure.device)
    place = torch.bucketize(sure, edges[1:-1])
    count = torch.bincount(place, minlength=n_bins)
    return Reliability(
        edges=edges,
        count=count,
        confidence=torch.bincount(place, sure, minlength=n_bins) / count,
        accuracy=torch.bincount(place, right.double(), minlength=n_bins) / count,
    )


def expected_calibration_error(bins: Reliability) -> float:
    """Return the gap between confidence and accuracy, averaged over all answers."""
    gaps = (bins.accuracy - bins.confidence).abs()
    return ((gaps * bins.count).nansum() / bins.count.sum()).item()


def brier_score(p: Tensor, y: Tensor) -> float:
    """Return the mean squared distance of ``p`` (B, O) from the truth ``y`` (B,)."""
    _check_probabilities(p)
    check_shape("y", y, "B", B=len(p))
    truth = F.one_hot(y, p.shape[1]).double()
    return (p.detach().double() - truth).square().sum(dim=1).mean().item()


def _check_probabilities(p: Tensor) -> None:
    check_shape("p", p, "B O")
    total = p.detach().double().sum(dim=1)
    if not len(p) or not bool(((p >= 0).all(dim=1) & ((total - 1).abs() < 1e-4)).all()):
        raise ValueError(
            "p must hold probabilities: rows that sum to one, nothing negative, "
            "and at least one row"
        )
