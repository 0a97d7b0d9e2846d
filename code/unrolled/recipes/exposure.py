"""Exposure bias where it can be computed: right prefixes, own prefixes, and remedies.

A small Elman network learns the counting language from rows of 40 tokens, by teacher
forcing or by scheduled sampling. Then its error at every step is measured twice over
rows of 120 tokens: after prefixes that the language wrote, and after its own. So is
where the error arises: where the last two letters show another key than holds, and
elsewhere. By teacher forcing, and by a share of own inputs that rises, networks are
also trained four times as long, from the same seeds.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor

from unrolled.data.made.automaton import counting
from unrolled.evaluation.exposure import (
    begun,
    misled,
    own_rows,
    scheduled_rows,
    shows_a_key,
    step_errors,
)
from unrolled.models.rnn_lm import RNNLM, RNNLMConfig
from unrolled.runtime import generator, seed_all
from unrolled.training.budget import enough

LANGUAGE = counting()
D, ROWS, STEPS, LONG = 32, 32, 40, 120
UPDATES = (100, 200, 400, 800, 1600, 3200, 6400)  # when a network may be measured
BUDGET, LONGER = 1600, 6400  # for how many updates it is trained
RATE = 3e-3
VERSION = 2
TESTED = 1000
# The mean share of own inputs, and whether it rises from none to twice that.
SHARES = ((0.0, False), (0.25, True), (0.5, False), (1.0, False))
UNITS: list[dict[str, Any]] = [
    {"p_own": p_own, "rises": rises, "seed": seed, "updates": updates}
    for updates, shares in ((BUDGET, SHARES), (LONGER, SHARES[:2]))
    for seed in range(3)
    for p_own, rises in shares
]


def train(
    p_own: float, seed: int, *, rises: bool = False, updates: int = BUDGET
) -> Iterator[tuple[int, RNNLM]]:
    """Train one network; yield it at each of ``UPDATES``, up to ``updates`` of them.

    Of its inputs ``p_own`` are its own, all the time or, if that ``rises``, on average:
    none of them at first, twice as many at the end.
    """
    seed_all(seed)
    draws, v = generator(seed), len(LANGUAGE.tokens)
    model = RNNLM(RNNLMConfig(n_tokens=v + 1, d_model=D, cell="rnn"))
    optimizer = torch.optim.AdamW(model.parameters(), lr=RATE, weight_decay=0)
    for update in range(1, updates + 1):
        ids = LANGUAGE.write(ROWS, STEPS, generator=draws)
        before = ids[:, :-1]
        if p_own:
            share = 2 * p_own * update / updates if rises else p_own
            before = scheduled_rows(model, LANGUAGE, before, share, generator=draws)
        logits = model(begun(LANGUAGE, before))
        loss = F.cross_entropy(logits.flatten(0, 1), ids.flatten())
        optimizer.zero_grad()
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        if update in UPDATES or enough(update):
            yield update, model
        if enough(update):
            return


def prefixes(model: RNNLM) -> dict[str, Tensor]:
    """Return rows of ``LONG`` tokens: right ones, and those of the model itself."""
    return {
        "right": LANGUAGE.write(TESTED, LONG, generator=generator(10_000)),
        "own": own_rows(model, LANGUAGE, TESTED, LONG, generator=generator(10_001)),
    }


def errors(model: RNNLM) -> dict[str, list[float]]:
    """Return the mean error at each of ``LONG`` steps, after right and own prefixes."""
    return {
        name: [round(e, 5) for e in step_errors(model, LANGUAGE, ids).mean(0).tolist()]
        for name, ids in prefixes(model).items()
    }


@torch.no_grad()
def causes(model: RNNLM) -> dict[str, dict[str, float]]:
    """Return where the error arises, after right and own prefixes.

    ``misled`` is the share of steps at which the last two letters show another key than
    holds, and ``followed`` that of them at which the model's likeliest token is the one
    that they show. Of them some show another key's step, a share of ``another key``,
    and the others one of no key at all; ``followed`` is given for each of the two.
    """
    found = {}
    for name, ids in prefixes(model).items():
        (wrong, shown), each = misled(LANGUAGE, ids), step_errors(model, LANGUAGE, ids)
        key = shows_a_key(LANGUAGE, ids)
        said = model(begun(LANGUAGE, ids[:, :-1])).argmax(dim=-1)
        found[name] = {
            "misled": _share(wrong),
            "error there": each[wrong].mean().item(),
            "error elsewhere": each[~wrong].mean().item(),
            "followed": _share((said == shown)[wrong]),
            "another key": _share(key[wrong]),
            "followed, another key": _share((said == shown)[wrong & key]),
            "followed, no key": _share((said == shown)[wrong & ~key]),
        }
    return found


def _share(where: Tensor) -> float:
    return where.float().mean().item()


def marginal_gap(model: RNNLM) -> float:
    """Return the mean divergence of what the model says from the tokens' shares.

    The shares are by position, whatever was written before: what a model says that has
    learned to trust no prefix.
    """
    v = len(LANGUAGE.tokens)
    rows = LANGUAGE.write(20_000, STEPS, generator=generator(10_002))
    shares = F.one_hot(rows, v).double().mean(dim=0).clamp(min=1e-9)  # (T, V)
    with torch.no_grad():
        logits = model(begun(LANGUAGE, rows[:TESTED, :-1]))
    log_q = logits.double().log_softmax(dim=-1)[..., :v]
    return (shares * (shares.log() - log_q)).sum(dim=-1).mean().item()


def run_unit(unit: dict[str, Any], folder: Path) -> dict[str, Any]:
    """Train one network; measure its errors at its end, by teacher forcing on its way.

    At its end they are measured by where they arise, and against the marginal, too.
    """
    life = []
    for update, model in train(**unit):
        if unit["p_own"] == 0 or update == unit["updates"]:
            life.append({"update": update, **errors(model)})
    return {
        "life": life,
        "causes": causes(model),
        "from the marginal": marginal_gap(model),
    }


def at_end(units: list[dict[str, Any]], p_own: float, prefixes: str) -> list[float]:
    """Return each seed's mean error over all steps at the end of training."""
    chosen = (unit for unit in units if unit["p_own"] == p_own)
    curves = (unit["life"][-1][prefixes] for unit in chosen)
    return [sum(curve) / len(curve) for curve in curves]


def summarise(units: list[dict[str, Any]]) -> dict[str, Any]:
    """Return the mean errors at the end, over steps and seeds."""
    return {
        f"{prefixes} prefixes, {p_own:g} own, {updates} updates": sum(found)
        / len(found)
        for p_own, updates in sorted({(u["p_own"], u["updates"]) for u in units})
        for prefixes in ("right", "own")
        for found in [
            at_end([u for u in units if u["updates"] == updates], p_own, prefixes)
        ]
    }
