"""Exposure bias where it can be computed: right prefixes, own prefixes, and remedies.

A small Elman network learns the counting language from rows of 40 tokens, by teacher
forcing or by scheduled sampling. Then its error at every step is measured twice over
rows of 120 tokens: after prefixes that the language wrote, and after its own.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import torch
import torch.nn.functional as F

from unrolled.data.made.automaton import Automaton, counting
from unrolled.evaluation.exposure import begun, own_rows, scheduled_rows, step_errors
from unrolled.models.rnn_lm import RNNLM, RNNLMConfig
from unrolled.runtime import generator, seed_all

LANGUAGE = counting()
D, ROWS, STEPS, LONG = 32, 32, 40, 120
UPDATES = (100, 200, 400, 800, 1600)
RATE = 3e-3
TESTED = 1000
ALL_OWN = 1.0
UNITS: list[dict[str, Any]] = [
    {"p_own": p_own, "seed": seed}
    for seed in range(3)
    for p_own in (0.0, 0.25, 0.5, ALL_OWN)
]


def train(p_own: float, seed: int) -> Iterator[tuple[int, RNNLM]]:
    """Train one network; yield it after each number of updates of ``UPDATES``."""
    seed_all(seed)
    draws, v = generator(seed), len(LANGUAGE.tokens)
    model = RNNLM(RNNLMConfig(n_tokens=v + 1, d_model=D, cell="rnn"))
    optimizer = torch.optim.AdamW(model.parameters(), lr=RATE, weight_decay=0)
    for update in range(1, UPDATES[-1] + 1):
        ids = LANGUAGE.write(ROWS, STEPS, generator=draws)
        before = ids[:, :-1]
        if p_own:
            before = scheduled_rows(model, LANGUAGE, before, p_own, generator=draws)
        logits = model(begun(LANGUAGE, before))
        loss = F.cross_entropy(logits.flatten(0, 1), ids.flatten())
        optimizer.zero_grad()
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        if update in UPDATES:
            yield update, model


def errors(model: RNNLM, language: Automaton = LANGUAGE) -> dict[str, list[float]]:
    """Return the mean error at each of ``LONG`` steps, after right and own prefixes."""
    right = language.write(TESTED, LONG, generator=generator(10_000))
    own = own_rows(model, language, TESTED, LONG, generator=generator(10_001))
    rows = {"right": right, "own": own}
    return {
        name: [round(e, 5) for e in step_errors(model, language, ids).mean(0).tolist()]
        for name, ids in rows.items()
    }


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
    """Train one network; measure it on its way, and against the marginal at its end."""
    life = []
    for update, model in train(unit["p_own"], unit["seed"]):
        life.append({"update": update, **errors(model)})
    return {"life": life, "from the marginal": marginal_gap(model)}


def at_end(units: list[dict[str, Any]], p_own: float, prefixes: str) -> list[float]:
    """Return each seed's mean error over all steps at the end of training."""
    chosen = (unit for unit in units if unit["p_own"] == p_own)
    curves = (unit["life"][-1][prefixes] for unit in chosen)
    return [sum(curve) / len(curve) for curve in curves]


def summarise(units: list[dict[str, Any]]) -> dict[str, Any]:
    """Return the mean errors at the end, over steps and seeds."""
    return {
        f"{prefixes} prefixes, {p_own:g} own": sum(found) / len(found)
        for p_own in sorted({unit["p_own"] for unit in units})
        for prefixes in ("right", "own")
        for found in [at_end(units, p_own, prefixes)]
    }
