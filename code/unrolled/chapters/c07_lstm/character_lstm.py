"""Chapter 6's character model with another cell: an LSTM on the Bible.

Everything is as in :mod:`unrolled.recipes.character_rnn`, the books, the pieces that
begin anywhere, the updates and their schedule, but the cell and its learning rate. The
LSTM has about as many weights as the Elman network of chapter 6. The rate of either is
the one of :data:`RATES` that serves a seed of its own best on validation text of its
own; both are then trained from three other seeds, and compared piece by piece on other
text. The first LSTM is exported with its weights rounded to half precision. What its
units keep is compared with simple features of the text: units are chosen on one half of
the held-out text, and their correlations measured on the other.

Axes: B rows, T characters, D hidden width, K features.
"""

import json
import math
import statistics
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from unrolled.data.corpora.kjv import kjv_text
from unrolled.decoding.sampling import sampler
from unrolled.evaluation.language_model import score_text
from unrolled.models import checkpoints
from unrolled.models.rnn_lm import RNNLM, RNNLMConfig
from unrolled.recipes._character_data import SCORED, characters, held_out, pieces
from unrolled.recipes._character_measures import samples, shares, written
from unrolled.recipes.character_rnn import (
    EVERY,
    TRAIN,
    bits_per_byte,
    loss_fn,
    packed,
    script,
)
from unrolled.runtime import generator, seed_all
from unrolled.training.loop import training_steps

NAME = "character-lstm"
VERSION = 2
WEIGHTS = ("E", "W_x", "W_h", "b", "c")
WIDTHS = {"lstm": 132, "rnn": 256}  # of about as many weights
RATES = (2e-3, 5e-3, 1e-2, 2e-2, 4e-2, 8e-2)
CHOOSING, REPORTED = 3, (0, 1, 2)  # seeds
UNITS: list[dict[str, Any]] = [  # those that choose a rate, and those that then use it
    *({"cell": cell, "lr": lr, "seed": CHOOSING} for cell in WIDTHS for lr in RATES),
    *({"cell": cell, "seed": seed} for cell in WIDTHS for seed in REPORTED),
]
PIECE = 2000  # characters of the held-out text that are scored apart
#: What a clock has measured, which no two runs have alike.
TIMES = ("times as long",)
TIMED = 40  # updates of each network, by turns
LONG, BURN = 1500, 100  # characters read in a row, and of them not yet counted
BEST = 3  # units kept for each feature
VOWELS, STOPS, MARKS = frozenset("aeiouAEIOU"), frozenset(".?!"), frozenset(",;:.?!")


def n_parameters(cell: str, D: int) -> int:
    """Return the parameters of a character model of width ``D``, all counted."""
    config = RNNLMConfig(n_tokens=len(characters()[0]), d_model=D, cell=cell)
    with torch.device("meta"):
        model = RNNLM(config)
    return sum(p.numel() for p in model.parameters())


def width_with(n_weights: int) -> int:
    """Return the width at which an LSTM's parameters come closest to ``n_weights``."""
    return min(range(2, 512), key=lambda D: abs(n_parameters("lstm", D) - n_weights))


def build(cell: str, seed: int) -> RNNLM:
    """Return the network before training."""
    seed_all(seed)
    n_tokens = len(characters()[0])
    return RNNLM(RNNLMConfig(n_tokens=n_tokens, d_model=WIDTHS[cell], cell=cell))


def steps(cell: str, lr: float, seed: int) -> Iterator[tuple[int, Tensor, RNNLM]]:
    """Train one network; yield each update's number, its loss and the network."""
    model = build(cell, seed)
    config = replace(TRAIN, lr=lr)
    for update, loss in training_steps(model, loss_fn, pieces(seed), config):
        yield update, loss, model


def choosing_text() -> str:
    """Return validation text behind the held-out one, for the choice of a rate."""
    known = set(characters()[0].characters)
    text = kjv_text().validation[SCORED : 2 * SCORED]
    return "".join(c for c in text if c in known)


def bits_by_piece(model: RNNLM) -> list[float]:
    """Return the bits per byte of each piece of the held-out text."""
    text, tokenizer = held_out(), characters()[0]
    found = []
    for start in range(0, len(text) - PIECE + 1, PIECE):
        piece = text[start : start + PIECE]
        score = score_text(model, tokenizer, piece, width=257, stride=128)
        found.append(round(score.bits_per_byte, 5))
    return found


def chosen_rate(cell: str, folder: Path) -> float:
    """Return the rate that did best on the text for choosing, as ``folder`` tells."""
    scores = {lr: folder / f"{cell}-{lr}.json" for lr in RATES}
    if missing := [path.name for path in scores.values() if not path.is_file()]:
        raise FileNotFoundError(
            f"{folder} has no {', '.join(missing)}: run the units that choose first"
        )
    return min(RATES, key=lambda lr: json.loads(scores[lr].read_text()))


def run_unit(unit: dict[str, Any], folder: Path) -> dict[str, Any]:
    """Train one network; keep its losses and bits, what it writes and what it holds."""
    cell, seed = unit["cell"], unit["seed"]
    lr = unit["lr"] if "lr" in unit else chosen_rate(cell, folder)
    losses: list[float] = []
    life, model = [], None
    for update, loss, trained in steps(cell, lr, seed):
        losses.append(loss.item())
        if update % EVERY == 0:
            recent = losses[-EVERY:]
            life.append({"update": update, "nats": sum(recent) / len(recent)})
        model = trained
    assert model is not None
    found: dict[str, Any] = {"lr": lr, "first": losses[:10], "life": life}
    if seed == CHOOSING:
        text, tokenizer = choosing_text(), characters()[0]
        score = score_text(model, tokenizer, text, width=257, stride=128).bits_per_byte
        (folder / f"{cell}-{lr}.json").write_text(json.dumps(score))
        return found | {"bits per byte, choosing": score}
    found |= {
        "parameters": sum(p.numel() for p in model.parameters()),
        "bits per byte": bits_per_byte(model),
        "by piece": bits_by_piece(model),
        "writing": {name: shares(texts) for name, texts in samples(model).items()},
    }
    if cell == "lstm":
        model.half().float()
        path = folder / f"lstm-{seed}.safetensors"
        checkpoints.save(path, model, characters()[0])
        found |= {
            "bits per byte, rounded": bits_per_byte(model),
            "readable": readable_units(model),
            "readable, untrained": readable_units(build("lstm", seed)),
            "times as long": times(seed),
        }
    return found


def replay_unit(unit: dict[str, Any], folder: Path) -> dict[str, Any]:
    """Train for two updates; see how the network reads and, a little, how it writes."""
    losses = []
    rate = unit.get("lr", RATES[0])
    for _, loss, model in steps(unit["cell"], rate, unit["seed"]):  # noqa: B007
        losses.append(loss.item())
    texts = written(model, sampler(generator=generator(0), k=5), ["\n"] * 2)
    found: dict[str, Any] = {"first": losses, "writing": shares(texts)}
    if unit["cell"] == "lstm":
        text = held_out()[: 4 * LONG]
        found["readable"] = readable_units(model, text)["a space was read"]
    return found


def summarise(units: list[dict[str, Any]]) -> dict[str, Any]:
    """Return for each cell its rate and parameters, and how its seeds end."""
    cells: dict[str, Any] = {}
    for cell, D in WIDTHS.items():
        mine = [unit for unit in units if unit["cell"] == cell]
        by_rate = {
            unit["lr"]: unit["bits per byte, choosing"]
            for unit in mine
            if unit["seed"] == CHOOSING
        }
        reported = [unit for unit in mine if unit["seed"] != CHOOSING]
        ends = [unit["bits per byte"] for unit in reported]
        pieces_ = zip(*(unit["by piece"] for unit in reported), strict=True)
        cells[cell] = {
            "D": D,
            "parameters": n_parameters(cell, D),
            "rate": reported[0]["lr"],
            "choosing by rate": list(by_rate.values()),
            "bits per byte": ends,
            "mean": sum(ends) / len(ends),
            "by piece": [sum(piece) / len(piece) for piece in pieces_],
            "words": [unit["writing"]["temperature 1"]["words"] for unit in reported],
        }
    first = next(unit for unit in units if "readable" in unit)
    return {
        "characters": len(characters()[0]),
        "cells": cells,
        "times as long": statistics.median(
            unit["times as long"] for unit in units if "times as long" in unit
        ),
        "exported": first["bits per byte, rounded"],
        "readable": first["readable"],
    }


# ---- how long an update takes ----


def times(seed: int) -> float:
    """Return how many times as long as one of the Elman network an update takes.

    They take turns, so that whatever else the machine does slows both down.
    """
    runs = [steps(cell, RATES[0], seed) for cell in ("lstm", "rnn")]
    clocks: tuple[list[float], list[float]] = ([], [])
    for _ in range(TIMED):
        for run, clock in zip(runs, clocks, strict=True):
            start = time.perf_counter()
            next(run)
            clock.append(time.perf_counter() - start)
    return statistics.median(a / b for a, b in zip(*clocks, strict=True))


# ---- which units can be read ----


@torch.no_grad()
def gates(model: RNNLM, ids: Tensor) -> dict[str, Tensor]:
    """Return i, f, g, o, c and h, (B, T, D) each, while ``ids`` (B, T) are read."""
    cell: Any = model.layers.cells[0]
    projected = cell.project(model.embed(ids))  # (B, T, 4 D)
    state = cell.empty(projected)
    found: dict[str, list[Tensor]] = {name: [] for name in "ifgoch"}
    for p_t in projected.unbind(dim=1):
        i, f, g, o = (p_t + state.h @ cell.W_h).chunk(4, dim=-1)
        state = cell.step(p_t, state)
        now = (i.sigmoid(), f.sigmoid(), g.tanh(), o.sigmoid(), state.c, state.h)
        for name, value in zip(found, now, strict=True):
            found[name].append(value)
    return {name: torch.stack(values, dim=1) for name, values in found.items()}


def _since(text: str, starts: Callable[[str], bool]) -> list[int]:
    """Return for each character how many there are since the last that ``starts``."""
    found, count = [], 0
    for character in text:
        count = 0 if starts(character) else count + 1
        found.append(count)
    return found


def _inside(text: str) -> list[bool]:
    """Return for each character whether a square bracket is open after it."""
    found, open_now = [], False
    for character in text:
        open_now = character == "[" or (open_now and character != "]")
        found.append(open_now)
    return found


def features(text: str) -> dict[str, Tensor]:
    """Return what a simple rule says after each character of ``text``: (T,) each."""
    lines = _since(text, lambda c: c == "\n")
    sentences = _since(text, lambda c: c in STOPS)
    columns: dict[str, list[Any]] = {
        "a space was read": [c == " " for c in text],
        "a vowel was read": [c in VOWELS for c in text],
        "a capital was read": [c.isupper() for c in text],
        "a comma, stop or other mark was read": [c in MARKS for c in text],
        "letters since the last space": _since(text, str.isspace),
        "inside square brackets": _inside(text),
        "logarithm of the characters since the sentence began": [
            math.log1p(n) for n in sentences
        ],
        "logarithm of the characters since the line began": [
            math.log1p(n) for n in lines
        ],
    }
    return {
        name: torch.tensor(values, dtype=torch.float64)
        for name, values in columns.items()
    }


def correlations(units: Tensor, columns: Tensor) -> Tensor:
    """Return Pearson's correlation, (D, K), of ``units`` (N, D), ``columns`` (N, K)."""
    one, two = (x.double() - x.double().mean(dim=0) for x in (units, columns))
    length = one.norm(dim=0)[:, None] * two.norm(dim=0)
    return (one.T @ two) / length.clamp_min(1e-12)


def readable_units(
    model: RNNLM, text: str | None = None, *, quantities: str = "cf"
) -> dict[str, list[dict[str, Any]]]:
    """Return for each feature the units that follow it best, without looking at them.

    ``text``, the held-out one unless given, is cut into rows that are read from a
    state of zero. The units are chosen on the first half of the rows, by the size of
    the correlation with what they keep (c) or with their forget gate (f); ``measured``
    is that on the second half, which took no part in the choice.
    """
    text = held_out() if text is None else text
    n_rows = len(text) // LONG // 2 * 2
    text = text[: n_rows * LONG]
    ids = torch.tensor(characters()[0].encode(text)).view(n_rows, LONG)
    named = features(text)
    table = torch.stack(list(named.values()), dim=1).view(n_rows, LONG, len(named))
    read = gates(model, ids)
    halves = (slice(0, n_rows // 2), slice(n_rows // 2, n_rows))
    found = {  # quantity: (halves, D, K)
        q: torch.stack(
            [
                correlations(
                    read[q][half, BURN:].flatten(0, 1), table[half, BURN:].flatten(0, 1)
                )
                for half in halves
            ]
        )
        for q in quantities
    }
    chosen: dict[str, list[dict[str, Any]]] = {}
    for k, name in enumerate(named):
        all_units: list[dict[str, Any]] = [
            {
                "quantity": q,
                "unit": unit,
                "chosen": round(r[0, unit, k].item(), 4),
                "measured": round(r[1, unit, k].item(), 4),
            }
            for q, r in found.items()
            for unit in range(r.shape[1])
        ]
        all_units.sort(key=lambda one: -abs(one["chosen"]))
        chosen[name] = all_units[:BEST]
    return chosen


# ---- what the lab is given ----


def weights(model: RNNLM) -> dict[str, Tensor]:
    """Return the weights by their names in the book's equations."""
    cell: Any = model.layers.cells[0]
    tensors = (model.embed.weight, cell.W_x, cell.W_h, cell.b, model.bias)
    return dict(zip(WEIGHTS, (tensor.detach() for tensor in tensors), strict=True))


def examples() -> list[dict[str, str]]:
    """Return pieces of the held-out books for the lab, of whole words."""
    text = held_out()
    found = []
    for name, begin in EXAMPLES.items():
        at = text.index(begin)
        piece = text[at : at + 300]
        found.append({"name": name, "text": piece[: piece.rindex(" ")]})
    return found


#: Where the lab's examples begin, by their names there.
EXAMPLES = {
    "The feast of Ahasuerus": "Now it came to pass in the days of Ahasuerus",
    "The tribute": "And the king Ahasuerus laid a tribute",
    "Haman and Mordecai": "After these things did king Ahasuerus promote Haman",
    "The man from Uz": "There was a man in the land of Uz",
}


def export(folder: Path, target: Path) -> None:
    """Write the first network as a checkpoint and as a script for the lab."""
    kept = checkpoints.load(folder / f"lstm-{REPORTED[0]}.safetensors")
    model: Any = kept.model
    checkpoints.save(target / f"{NAME}.safetensors", model, kept.tokenizer)
    found = {
        "characters": characters()[0].characters,
        "weights": {name: packed(tensor) for name, tensor in weights(model).items()},
        "examples": examples(),
        "units": readable_units(model),
    }
    (target / f"{NAME}.js").write_text(
        script(NAME, found), encoding="utf-8", newline="\n"
    )
