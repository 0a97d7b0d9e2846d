"""What the data cards say of made symbols, balls, scenes, sounds and proteins."""

from typing import Any

import torch

from unrolled.data.made.automaton import counting
from unrolled.data.made.ball import balls
from unrolled.data.made.flip_flop import flip_flop
from unrolled.data.made.proteins import LETTERS, family
from unrolled.data.made.recall import recall
from unrolled.data.made.scenes import HELD_OUT, SEEN, SIDE, scenes
from unrolled.data.made.symbols import (
    SymbolPair,
    copying,
    reversal,
    running_parity,
    varying_recall,
)
from unrolled.data.made.tones import N_UNITS, RATE, SYLLABLES, tones
from unrolled.recipes._card_forms import card, drawing, image, text
from unrolled.runtime import generator

SHEET = (320.0, 64.0)


def _numbers(values: torch.Tensor) -> str:
    return " ".join(f"{int(value):2d}" for value in values.tolist())


def measure_flip_flop() -> dict[str, Any]:
    """Draw twelve steps of one wire."""
    batch = flip_flop(1, 12, p_order=0.3, generator=generator(1))
    x, y = batch.x[0, :, 0], batch.y[0, :, 0]
    return card(text(f"orders   {_numbers(x)}", f"answers  {_numbers(y)}"))


def measure_recall() -> dict[str, Any]:
    """Draw one row with a lag of eight steps."""
    batch = recall(1, 8, generator=generator(0))
    inputs = _numbers(batch.x[0].argmax(dim=1))
    return card(text(f"inputs  {inputs}", f"answer  {_numbers(batch.y)}"))


def measure_automaton() -> dict[str, Any]:
    """Write two rows of the counting language."""
    language = counting()
    rows = language.write(2, 40, generator=generator(2)).tolist()
    return card(text(*("".join(language.tokens[i] for i in row) for row in rows)))


def _rule(name: str, pair: SymbolPair) -> tuple[str, str]:
    source, target = (" ".join(map(str, side)) for side in (pair.source, pair.target))
    return name, f"   {source}  ->  {target}"


def measure_symbols() -> dict[str, Any]:
    """Draw one row of each of the four tasks."""
    copied, turned = (
        draw(1, 5, 5, generator=generator(1))[0] for draw in (copying, reversal)
    )
    batch, lags = varying_recall(1, 2, 8, generator=generator(0))
    parity = running_parity(1, 9, generator=generator(0))
    inputs, lag = _numbers(batch.x[0].argmax(dim=1)), int(lags[0])
    example = text(
        *_rule("copying", copied),
        *_rule("reversal", turned),
        f"varying_recall, lag {lag}",
        f"  {inputs}  ->  {int(batch.y[0])}",
        "running_parity",
        f"  {_numbers(parity.x[0])}  ->",
        f"  {_numbers(parity.y[0])}",
    )
    return card(example)


def measure_ball() -> dict[str, Any]:
    """Throw one ball under gravity and draw its frames."""
    drawn = balls(1, 24, gravity=2.0, bounciness=0.8, generator=generator(4))
    side = 120.0
    dots = [(6 + side * x, 6 + side * (1 - y)) for x, y in drawn.positions[0].tolist()]
    n = int(drawn.bounces.sum())
    words = f"The path of a ball in a box: {len(dots)} frames with {n} bounces."
    return card(
        drawing([], size=(side + 12, side + 12), dots=dots, frame=True, alt=words)
    )


def measure_proteins() -> dict[str, Any]:
    """Draw a small family; the example marks its first contact below it."""
    made = family(4, 32, n_contacts=4, generator=generator(0))
    rows = ["".join(LETTERS[i] for i in row) for row in made.sequences.tolist()]
    touching = made.pairs.flatten().tolist()
    marks = [" "] * made.sequences.shape[1]
    for name, (i, j) in zip("abcd", made.pairs.tolist(), strict=True):
        marks[i] = marks[j] = name
    return card(text(*rows, "".join(marks).rstrip()), touching=len(touching))


def measure_scenes() -> dict[str, Any]:
    """Draw one picture with its caption."""
    kinds = {"seen": len(SEEN), "held out": len(HELD_OUT)}
    drawn = scenes(1, fewest=2, most=2, generator=generator(5))
    words = " ".join(drawn.captions[0].words)
    pixels = drawn.images[0].permute(1, 2, 0).numpy()
    return card(
        image(pixels, alt=f"{words[0].upper()}{words[1:]}."),
        {"colours with shapes": kinds},
        side=SIDE,
    )


def measure_tones() -> dict[str, Any]:
    """Draw the wave of one utterance, its loudest and lowest sample by column."""
    drawn = tones(1, 3, generator=generator(0))
    width, height = SHEET
    columns = drawn.waves[0].tensor_split(int(width))
    low = torch.stack([column.min() for column in columns]).tolist()
    high = torch.stack([column.max() for column in columns]).tolist()
    middle = height / 2
    outline = [
        (x, middle - 0.9 * middle * value)
        for x, pair in enumerate(zip(low, high, strict=True))
        for value in pair
    ]
    seconds = drawn.waves.shape[1] / RATE
    words = f"A wave of {seconds:.2f} seconds: syllables {drawn.syllables[0].tolist()}."
    return card(
        drawing([outline], size=SHEET, alt=words),
        {"units": {"all": N_UNITS}, "syllables": {"all": len(SYLLABLES)}},
        rate=RATE,
    )
