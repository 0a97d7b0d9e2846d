r"""Which token to write: the likeliest, or one drawn at random, with care.

A *chooser* takes logits (B, V) to ids (B,). Between the two stand filters, logits to
logits, which change the odds or forbid unlikely tokens by a logit of minus infinity:

.. math::

    p_i \propto \exp(o_i / \tau), \qquad i \in \text{those that are kept}

A temperature :math:`\tau` below 1 makes likely tokens likelier still. *Top-k* keeps the
k likeliest; *top-p*, the nucleus, keeps the fewest that have a share of p together
(Holtzman and others 2020). Tokens of equal logits are kept or forbidden together, so
there may be a few more. Axes: B rows, V vocabulary.
"""

import math
from collections.abc import Callable

import torch
from torch import Tensor

from unrolled.shapes import at_least, check_shape

Chooser = Callable[[Tensor], Tensor]


def greedy(logits: Tensor) -> Tensor:
    """Return the likeliest token of each row (B,); of equals, the first."""
    return logits.argmax(dim=-1)


def warm(logits: Tensor, temperature: float) -> Tensor:
    """Return the logits (B, V) over the temperature: the higher, the more even."""
    _check_temperature(temperature)
    return logits / temperature


def top_k(logits: Tensor, k: int) -> Tensor:
    """Forbid all but the ``k`` likeliest tokens of each row; there may be fewer."""
    _check_k(k)
    k = min(k, logits.shape[-1])
    return _from(logits, logits.topk(k, dim=-1).values[:, -1:])


def top_p(logits: Tensor, p: float) -> Tensor:
    """Forbid the unlikeliest tokens of each row that have at most 1 - ``p`` together.

    The likeliest token always stays.
    """
    _check_p(p)
    rising = logits.sort(dim=-1).values  # small shares are added first: more exact
    out = rising.softmax(dim=-1).cumsum(dim=-1) <= 1 - p
    first = out.sum(dim=-1, keepdim=True).clamp(max=logits.shape[-1] - 1)  # (B, 1)
    return _from(logits, rising.gather(-1, first))


def draw(logits: Tensor, *, generator: torch.Generator) -> Tensor:
    r"""Draw a token of each row (B,) by its probability.

    Each token waits for a time that is exponential, with its probability as the rate,
    and the first to come is drawn: it is token i with probability :math:`p_i`. The
    noise is made where ``generator`` lives, so a seed means the same on any device.
    """
    check_shape("logits", logits, "B V")
    noise = torch.empty(logits.shape, device=generator.device)
    noise.exponential_(generator=generator)
    noise = noise.to(logits.device)
    return (logits.softmax(dim=-1, dtype=noise.dtype) / noise).argmax(dim=-1)


def sampler(
    *,
    generator: torch.Generator,
    temperature: float = 1.0,
    k: int | None = None,
    p: float | None = None,
) -> Chooser:
    """Return a chooser that warms, keeps the ``k`` likeliest, their top ``p``, draws.

    What is None is left out.
    """
    _check_temperature(temperature)
    _check_k(1 if k is None else k)
    _check_p(1.0 if p is None else p)

    def choose(logits: Tensor) -> Tensor:
        if temperature != 1:
            logits = warm(logits, temperature)
        if k is not None:
            logits = top_k(logits, k)
        if p is not None:
            logits = top_p(logits, p)
        return draw(logits, generator=generator)

    return choose


def _from(logits: Tensor, least: Tensor) -> Tensor:
    """Forbid what is below ``least`` (B, 1)."""
    return logits.masked_fill(logits < least, -math.inf)


def _check_temperature(temperature: float) -> None:
    if not 0 < temperature < math.inf:
        raise ValueError(
            f"{temperature=} must be positive and finite; for a temperature of zero "
            "choose by greedy"
        )


def _check_k(k: int) -> None:
    at_least(1, k=k)


def _check_p(p: float) -> None:
    if not 0 < p <= 1:
        raise ValueError(f"{p=} must be above 0 and at most 1")
