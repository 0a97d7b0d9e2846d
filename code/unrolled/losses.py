r"""What training makes small: logits and answers in, one number out.

Axes: B rows, T steps, V tokens to choose from. A mask is True where a step counts.
"""

import torch
import torch.nn.functional as F
from torch import Tensor

from unrolled.data.batch import Batch, PairBatch

UNCOUNTED = -100  # a target that F.cross_entropy leaves out


def cross_entropy(
    logits: Tensor,
    targets: Tensor,
    mask: Tensor | None = None,
    label_smoothing: float = 0.0,
) -> Tensor:
    r"""Return the mean of :math:`-\log p(y_t)` over the steps that count.

    With label smoothing :math:`\varepsilon` the answer is not one token alone: it keeps
    :math:`1 - \varepsilon` of the weight, and all V tokens share :math:`\varepsilon`.
    Where no step counts, the loss is 0: such a piece of a batch adds nothing.

    Args:
        logits: A score for every token, (B, T, V) or (B, V).
        targets: The right tokens, (B, T) or (B,). Hidden ones may be anything.
        mask: Which targets count, of their shape; without one, all do.
        label_smoothing: Which part of the weight all tokens share, from 0 to 1.
    """
    _check(logits, targets, mask, label_smoothing)
    if mask is None:
        return F.cross_entropy(
            logits.flatten(0, -2), targets.flatten(), label_smoothing=label_smoothing
        )
    total = F.cross_entropy(
        logits.flatten(0, -2),
        targets.masked_fill(~mask, UNCOUNTED).flatten(),
        ignore_index=UNCOUNTED,
        label_smoothing=label_smoothing,
        reduction="sum",
    )
    return total / mask.sum().clamp(min=1)


def n_counted(batch: Batch | PairBatch) -> int:
    """Return over how many targets the mean loss of ``batch`` is taken.

    The mask counts if there is one for every target. Else all targets do: a row's
    single answer is one, however many steps the row has.
    """
    if isinstance(batch, PairBatch):
        return int(batch.target_mask.sum())
    if batch.mask is not None and batch.y.shape[:2] == batch.mask.shape:
        return int(batch.mask.sum())
    return batch.y.numel()


def _check(
    logits: Tensor, targets: Tensor, mask: Tensor | None, label_smoothing: float
) -> None:
    if logits.ndim < 2 or logits.shape[:-1] != targets.shape:
        raise ValueError(
            f"targets must be {tuple(logits.shape[:-1])}, one for each row of logits "
            f"{tuple(logits.shape)}; their shape is {tuple(targets.shape)}"
        )
    if mask is not None and (mask.shape != targets.shape or mask.dtype != torch.bool):
        raise ValueError(
            f"mask is {mask.dtype} of shape {tuple(mask.shape)}; it must be boolean, "
            f"one value for each target: {tuple(targets.shape)}"
        )
    if not 0 <= label_smoothing <= 1:
        raise ValueError(f"{label_smoothing=} must lie between 0 and 1")
