"""The model that plays Shannon's game in the page: a 5-gram of the Bible's letters.

It is small because the page carries the text, not the counts: every eighth paragraph of
the training books in Shannon's 27 letters. The page counts it as the package does.
"""

import gzip
import json
from functools import cache
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from unrolled.data.corpora.kjv import kjv_text
from unrolled.data.tokens.letters import LETTERS, to_letters
from unrolled.evaluation.guessing import entropy_bounds, ranks_of
from unrolled.evaluation.perplexity import bits_per_byte
from unrolled.models.ngram import NGram, kneser_ney

ORDER = 5
EVERY = 8
UNITS: list[dict[str, Any]] = [{"order": ORDER}]

#: Shannon's own example and how many guesses each letter took his reader (1951).
SHANNON = (
    "there is no reverse on a motorcycle a friend of mine found this out "
    "rather dramatically the other day "
)
GUESSES = tuple(
    int(rank)
    for rank in (
        "1 1 1 5 1 1 2 1 1 2 1 1 15 1 17 1 1 1 2 1 3 2 1 2 2 7 1 1 1 1 4 1 1 1 1 1 3 1 "
        "8 6 1 3 1 1 1 1 1 1 1 1 1 1 1 6 2 1 1 1 1 1 1 2 1 1 1 1 1 1 "
        "4 1 1 1 1 1 1 11 5 1 1 1 1 1 1 1 1 1 1 1 6 1 1 1 1 1 1 1 1 1 1 1 1 1"
    ).split()
)
# Held-out sentences of the Bible: Proverbs 15:1 and 16:18, Jonah 1:17, John 8:7.
HELD_OUT = {
    "Proverbs": "a soft answer turneth away wrath but grievous words stir up anger ",
    "Proverbs again": "pride goeth before destruction and an haughty spirit before a "
    "fall ",
    "Jonah": "now the lord had prepared a great fish to swallow up jonah ",
    "John": "he that is without sin among you let him first cast a stone at her ",
}


def game_text() -> str:
    """Return what the model is counted on, in 27 letters."""
    return to_letters("\n".join(kjv_text().train.split("\n")[::EVERY]))


def letter_ids(text: str) -> Tensor:
    """Return the letters as ids (N,): 0 is the space, 1 is "a"."""
    return torch.tensor(LETTERS.encode(text))


@cache
def game_model(order: int = ORDER) -> NGram:
    """Count the text and smooth it by Kneser-Ney."""
    return kneser_ney(letter_ids(game_text()), order=order, n_tokens=len(LETTERS))


def run_unit(unit: dict[str, Any], folder: Path) -> dict[str, Any]:
    """Save the text; score the model on all held-out books and on each sentence."""
    text = game_text()
    (folder / "text").write_text(text, encoding="ascii")
    model = game_model(unit["order"])

    def bits(letters: str) -> float:
        log_p = model.log_probabilities(letter_ids(letters))
        return bits_per_byte(log_p, n_bytes=len(letters))

    sentences = {"Shannon": SHANNON} | HELD_OUT
    return {
        "letters": len(text),
        "compressed": len(gzip.compress(text.encode(), mtime=0)),
        "held out": bits(to_letters(kjv_text().test)),
        "sentences": {name: bits(letters) for name, letters in sentences.items()},
    }


def summarise(units: list[dict[str, Any]]) -> dict[str, Any]:
    """Return the model's bits per letter, and bounds on those of Shannon's reader."""
    lower, upper = entropy_bounds(torch.tensor(GUESSES), len(LETTERS))
    guesses = ranks_of(game_model(), letter_ids(SHANNON))
    return {
        "held out": units[0]["held out"],
        "Shannon's sentence": units[0]["sentences"]["Shannon"],
        "reader, lower": lower,
        "reader, upper": upper,
        "model's first guess right": (guesses == 1).double().mean().item(),
    }


def export(folder: Path, target: Path) -> None:
    """Write the text and the sentences as a script for the lab."""
    sentences = [{"name": "Shannon, 1951", "text": SHANNON, "guesses": GUESSES}]
    sentences += [{"name": name, "text": text} for name, text in HELD_OUT.items()]
    model = {
        "order": ORDER,
        "letters": LETTERS.characters,
        "sentences": sentences,
        "text": (folder / "text").read_text(encoding="ascii"),
    }
    (target / "shannon-game.js").write_text(
        "window.UnrolledLab = window.UnrolledLab || {};\n"
        "window.UnrolledLab.models = window.UnrolledLab.models || {};\n"
        f'window.UnrolledLab.models["shannon-game"] = {json.dumps(model)};\n',
        encoding="utf-8",
        newline="\n",
    )
