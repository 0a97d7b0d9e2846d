r"""Whether attention links the words that belong together.

People mark two kinds of links between a sentence and its translation: *sure* ones, S,
and *possible* ones, P, which include the sure. Of the links A that a model finds (Och
and Ney 2003),

.. math::

    \text{precision} = \frac{|A \cap P|}{|A|}, \qquad
    \text{recall} = \frac{|A \cap S|}{|S|}, \qquad
    \operatorname{AER} = 1 - \frac{|A \cap S| + |A \cap P|}{|A| + |S|}.

A link is a pair (target place, source place), both from 0. Axes: B sentences, T target,
S source.
"""

from collections.abc import Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass

import torch
from torch import Tensor

from unrolled.shapes import check_shape

Links = AbstractSet[tuple[int, int]]


@dataclass(frozen=True, kw_only=True, slots=True)
class AlignmentScores:
    """Precision, recall and the alignment error rate; 0 is best for the last."""

    precision: float
    recall: float
    error_rate: float


def alignment_scores(
    found: Sequence[Links],
    sure: Sequence[Links],
    possible: Sequence[Links] | None = None,
) -> AlignmentScores:
    """Score the links found in each sentence, all sentences counted together.

    Without ``possible`` only the sure links are; sure ones are always possible too.
    Precision is ``nan`` if nothing was found, recall if nothing is sure.
    """
    possible = sure if possible is None else possible
    if not len(found) == len(sure) == len(possible):
        raise ValueError(
            f"found has {len(found)} sentences, sure {len(sure)} and possible "
            f"{len(possible)}: all must have as many"
        )
    n_found = sum(map(len, found))
    n_sure = sum(map(len, sure))
    if not n_found + n_sure:
        raise ValueError("neither found nor sure has a link: there is nothing to score")
    in_sure = sum(len(a & s) for a, s in zip(found, sure, strict=True))
    in_possible = sum(
        len(a & (s | p)) for a, s, p in zip(found, sure, possible, strict=True)
    )
    return AlignmentScores(
        precision=in_possible / n_found if n_found else float("nan"),
        recall=in_sure / n_sure if n_sure else float("nan"),
        error_rate=1 - (in_sure + in_possible) / (n_found + n_sure),
    )


def hard_links(
    weights: Tensor,
    *,
    source_mask: Tensor | None = None,
    target_mask: Tensor | None = None,
) -> list[set[tuple[int, int]]]:
    """Link each target to the source with the largest attention weight (B, T, S).

    ``source_mask`` (B, S) and ``target_mask`` (B, T) are True for real tokens; padding
    is neither linked nor linked to. The first of equal weights wins.
    """
    check_shape("weights", weights, "B T S")
    n_rows, n_targets, n_sources = weights.shape
    if source_mask is None:
        source_mask = weights.new_ones(n_rows, n_sources, dtype=torch.bool)
    if target_mask is None:
        target_mask = weights.new_ones(n_rows, n_targets, dtype=torch.bool)
    check_shape("source_mask", source_mask, "B S", B=n_rows, S=n_sources)
    check_shape("target_mask", target_mask, "B T", B=n_rows, T=n_targets)
    if not bool(source_mask.any(dim=1).all()):
        raise ValueError("source_mask has a row without a real token to link to")
    best = weights.masked_fill(~source_mask[:, None], -torch.inf).argmax(dim=-1)
    links: list[set[tuple[int, int]]] = [set() for _ in range(n_rows)]
    rows, targets = target_mask.nonzero(as_tuple=True)
    sources = best[rows, targets]
    for row, *link in torch.stack([rows, targets, sources], dim=1).tolist():
        links[row].add((link[0], link[1]))
    return links
