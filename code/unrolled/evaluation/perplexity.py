r"""Perplexity: between how many equally likely tokens a model is torn.

It is the exponential of the mean negative log-probability, which is the geometric mean
of 1/p, which is two to the power of the mean bits, :eq:`lm-perplexity`:

.. math::

    \operatorname{PPL} = \exp\Bigl(-\frac{1}{T} \sum_t \log p_t\Bigr)
        = \Bigl(\prod_t \frac{1}{p_t}\Bigr)^{1/T}
        = 2^{-\frac{1}{T} \sum_t \log_2 p_t}

All functions take natural logarithms of probabilities, of any shape, and a boolean
``mask`` of that shape that is True where a token counts. They add in double precision,
so 100,000 tokens are no difficulty. One impossible token, a logarithm of minus
infinity, makes all infinite. Axes: B rows, T steps, V vocabulary.
"""

import math

import torch
from torch import Tensor

from unrolled.shapes import check_shape

ROUNDING = 1e-5  # how far above 0 a logarithm computed in float32 may come to lie


def perplexity(log_p: Tensor, *, mask: Tensor | None = None) -> float:
    """Return exp of the mean of -log p: V for a uniform model, 1 for a perfect one."""
    surprise = -_counted(log_p, mask).mean()
    return surprise.exp().item()  # infinite, not an error, where it is too large


def bits(log_p: Tensor, *, mask: Tensor | None = None) -> float:
    """Return the sum of -log2 p: what an ideal code would spend on the whole text."""
    return -_counted(log_p, mask).sum().item() / math.log(2)


def bits_per_token(log_p: Tensor, *, mask: Tensor | None = None) -> float:
    """Return the mean of -log2 p, whose power of two is the perplexity."""
    return -_counted(log_p, mask).mean().item() / math.log(2)


def bits_per_byte(log_p: Tensor, *, n_bytes: int, mask: Tensor | None = None) -> float:
    """Return all bits, over the bytes (UTF-8, as a rule) that they spell.

    This is :eq:`lm-bits-per-byte`.

    Perplexities of two tokenizers cannot be compared, for their tokens are of different
    lengths. This can.
    """
    if n_bytes < 1:
        raise ValueError(f"{n_bytes=} must be at least 1")
    return bits(log_p, mask=mask) / n_bytes


def token_log_probabilities(logits: Tensor, targets: Tensor) -> Tensor:
    """Return log p of each target (B, T), given logits (B, T, V) over all tokens."""
    check_shape("logits", logits, "B T V")
    check_shape("targets", targets, "B T", B=len(logits), T=logits.shape[1])
    every = logits.log_softmax(dim=-1)
    return every.gather(-1, targets[..., None])[..., 0]


def _counted(log_p: Tensor, mask: Tensor | None) -> Tensor:
    """Return the log-probabilities that count, in double precision."""
    if mask is not None:
        if mask.dtype != torch.bool or mask.shape != log_p.shape:
            raise ValueError(
                f"mask is {mask.dtype} of shape {tuple(mask.shape)}; it must be "
                f"boolean, of the shape of log_p: {tuple(log_p.shape)}"
            )
        log_p = log_p[mask]
    if not log_p.numel():
        raise ValueError("log_p has no token that counts: there is nothing to average")
    values = log_p.detach().double()
    if not (values <= ROUNDING).all():  # nan is not, either
        raise ValueError(
            f"log_p reaches {values.max().item()}; logarithms of probabilities "
            "are at most 0"
        )
    return values
