"""Masked language modelling: hide some tokens of a text, to be guessed from the rest.

Axes: B rows, T position, V vocabulary. Nothing is learnt here: only what is shown.
"""

from collections.abc import Iterable

import torch
from torch import Tensor

from unrolled.data.batch import check_mask
from unrolled.shapes import check_shape

P_HIDDEN, P_WRONG = 0.8, 0.1  # of the chosen; the other tenth stays as it is


def mask_tokens(
    ids: Tensor,
    mask: Tensor,
    *,
    mask_id: int,
    n_tokens: int,
    special_ids: Iterable[int],
    generator: torch.Generator,
    p: float = 0.15,
) -> tuple[Tensor, Tensor]:
    """Return what the model is shown (B, T), and which tokens it must guess (B, T).

    Each real token is chosen with probability ``p``, and no special one ever. Of the
    chosen, 80 % become ``mask_id``, 10 % a random token and 10 % stay: no mask is met
    when the model is used, so it must not rely on one. What to guess is ``ids``.

    BERT's own code draws random tokens from all of the vocabulary, special ones too,
    and chooses a fixed number of places in each text; here the tokens are ordinary
    ones, and each place is chosen by itself.

    Args:
        ids: the tokens (B, T).
        mask: which of them are real, (B, T).
        mask_id: the id of ``[MASK]``, which counts as special too.
        n_tokens: V, the number of ids to draw from.
        special_ids: those of ``[CLS]``, ``[SEP]``, ``[PAD]`` and their like.
        generator: where the draws come from; the same one gives the same masks.
        p: the share of tokens to choose.
    """
    check_shape("ids", ids, "B T")
    check_mask("mask", mask, "ids", ids)
    if not 0 <= p <= 1:
        raise ValueError(f"{p=} must lie between 0 and 1")
    special = _special({*special_ids, mask_id}, n_tokens).to(ids.device)
    ordinary = (~special).nonzero().squeeze(1)  # (V − specials,)
    own = generator.device  # so that the draws do not depend on where the ids are
    choice, fate = torch.rand(2, *ids.shape, generator=generator, device=own)
    places = torch.randint(len(ordinary), ids.shape, generator=generator, device=own)
    chosen = (choice.to(ids.device) < p) & mask & ~special[ids]
    fate, wrong = fate.to(ids.device), ordinary[places.to(ids.device)]
    shown = torch.where(fate < P_HIDDEN + P_WRONG, wrong.to(ids.dtype), ids)
    shown = torch.where(fate < P_HIDDEN, mask_id, shown)
    return torch.where(chosen, shown, ids), chosen


def _special(ids: set[int], n_tokens: int) -> Tensor:
    """Return which of all tokens are special, (V,); some must be left."""
    for i in sorted(ids):
        if not 0 <= i < n_tokens:
            raise ValueError(f"special id {i} must lie between 0 and {n_tokens - 1}")
    if len(ids) == n_tokens:
        raise ValueError(f"all of {n_tokens=} are special: some must be ordinary")
    special = torch.zeros(n_tokens, dtype=torch.bool)
    special[sorted(ids)] = True
    return special
