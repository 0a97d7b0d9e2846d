"""The numbers and examples of the book's data cards, counted in the data themselves.

One unit a card. The words of the cards are in ``book/data.yml``; what they say of a
set's faults is measured here, so that a sentence cannot outlive the data it is about.
"""

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

from unrolled.recipes import _card_corpora as texts
from unrolled.recipes import _card_made as made
from unrolled.recipes import _card_numbers as numbers
from unrolled.recipes import _card_sentences as sentences

MEASURES: dict[str, Callable[[], dict[str, Any]]] = {
    "kjv": texts.measure_kjv,
    "shakespeare": texts.measure_shakespeare,
    "tunes": texts.measure_tunes,
    **{kind: partial(texts.measure_opinions, kind) for kind in texts.CHOSEN},
    "tags": texts.measure_tags,
    "interface": texts.measure_interface,
    "weather": numbers.measure_weather,
    "digits": numbers.measure_digits,
    "strokes": numbers.measure_strokes,
    "glove": numbers.measure_glove,
    "minilm": numbers.measure_minilm,
    "smollm2": numbers.measure_smollm2,
    "ball": made.measure_ball,
    "flip_flop": made.measure_flip_flop,
    "recall": made.measure_recall,
    "symbols": made.measure_symbols,
    "automaton": made.measure_automaton,
    "agreement": sentences.measure_agreement,
    "kinship": sentences.measure_kinship,
    "numbers": sentences.measure_numbers,
    "dates": sentences.measure_dates,
    "gender": sentences.measure_gender,
    "scenes": made.measure_scenes,
    "passages": sentences.measure_passages,
    "entailment": sentences.measure_entailment,
    "preferences": sentences.measure_preferences,
    "tones": made.measure_tones,
    "proteins": made.measure_proteins,
}
UNITS: list[dict[str, Any]] = [{"card": name} for name in MEASURES]
# Those that take seconds are measured by their own tests (tests/data).
SLOW = ("tunes", "interface", "films", "digits", "smollm2", "glove", "minilm")
REPLAYED = [unit for unit in UNITS if unit["card"] not in SLOW]


def run_unit(unit: dict[str, Any], folder: Path) -> dict[str, Any]:
    """Measure one set: counts by part, facts for its words, and an example."""
    return MEASURES[unit["card"]]()


def summarise(units: list[dict[str, Any]]) -> dict[str, Any]:
    """Say how many sets there are, and how many have the three parts."""
    split = ("train", "validation", "test")
    return {
        "cards": len(units),
        "with three parts": sum(
            any(tuple(count) == split for count in unit["counts"].values())
            for unit in units
        ),
    }
