"""What the data cards say of real weather, pictures, pens, vectors and weights."""

from collections import Counter
from collections.abc import Sequence
from importlib.metadata import version
from importlib.resources import files
from typing import Any

import numpy as np
from numpy.typing import NDArray

from unrolled.data.corpora.digits import N_LEVELS, Digits, digits
from unrolled.data.corpora.glove import WordVectors, glove
from unrolled.data.corpora.minilm import minilm
from unrolled.data.corpora.smollm2 import smollm2
from unrolled.data.corpora.strokes import fonts, strokes, write
from unrolled.data.corpora.weather import KINDS, LAST_RAIN, weather
from unrolled.data.tokens.wordpiece import WordPiece
from unrolled.recipes._card_forms import (
    card,
    drawing,
    each_part,
    everything,
    image,
    share,
    text,
)
from unrolled.runtime import generator

CAPITAL = 42.0  # pixels, in the drawing of a written word


def _joined(parts: Sequence[Digits], name: str) -> NDArray[Any]:
    return np.concatenate([getattr(part, name) for part in parts])


def measure_digits() -> dict[str, Any]:
    """Count images; how often the nearest image tells the digit, by whose hand."""
    split = digits()
    every = (split.train, split.validation, split.test)
    images, labels, forms = (_joined(every, n) for n in ("images", "labels", "forms"))
    rows = np.rint(images.reshape(len(images), -1) * N_LEVELS)  # whole: exact sums
    squares = (rows**2).sum(axis=1)
    gaps = squares[:, None] + squares - 2 * rows @ rows.T
    np.fill_diagonal(gaps, np.inf)
    anywhere = labels[gaps.argmin(axis=1)] == labels
    gaps[forms[:, None] == forms] = np.inf
    elsewhere = labels[gaps.argmin(axis=1)] == labels
    words = f"The digit {labels[0]}, {' by '.join(map(str, images.shape[1:]))} pixels."
    file = files("sklearn.datasets.data") / "digits.csv.gz"
    return card(
        image(1 - split.train.images[0][..., None], alt=words),
        {"images": each_part(len, split)},
        forms=len(np.unique(forms)),
        neighbour=share(anywhere.tolist()),
        other_form=share(elsewhere.tolist()),
        sklearn=version("scikit-learn"),
        kilobytes=round(len(file.read_bytes()) / 1e3),
    )


def measure_strokes() -> dict[str, Any]:
    """Count hands and glyphs; the example is a word, drawn by a shaky pen."""
    word, hand = "Unrolled", strokes().train[0]
    written = write(word, hand, generator=generator(0))
    x, y = written.offsets[:, :2].cumsum(axis=0).T * CAPITAL
    lifted = np.flatnonzero(written.offsets[:, 2])
    points = list(zip(x - x.min() + 4, y.max() - y + 4, strict=True))
    starts = [0, *(lifted[:-1] + 1)]
    paths = [points[a : b + 1] for a, b in zip(starts, lifted, strict=True)]
    words = f"The word “{word}” in the hand “{hand.name}”, {len(points)} points."
    example = drawing(paths, size=(np.ptp(x) + 8, np.ptp(y) + 8), alt=words)
    counts = {
        "hands": each_part(len, strokes()),
        "characters": each_part(lambda p: sum(len(f.glyphs) for f in p), strokes()),
    }
    n_hands = sum(counts["hands"].values())
    return card(example, counts, fonts=len(fonts()), hands=n_hands)


def rank(vectors: WordVectors, minus: str, plus: str, of: str, answer: str) -> int:
    """Return the place of ``answer`` among the words nearest to plus - minus + of."""
    unit = vectors.unit()
    a, b, c = (unit[vectors.row(word)] for word in (minus, plus, of))
    near = unit @ (b - a + c)
    near[[vectors.row(word) for word in (minus, plus, of)]] = -np.inf
    return 1 + int((near > near[vectors.row(answer)]).sum())


def cosine(vectors: WordVectors, one: str, other: str) -> float:
    """Return the cosine of two words' vectors, to two places."""
    a, b = vectors[one].astype(float), vectors[other].astype(float)
    return round(float(a @ b / np.linalg.norm(a) / np.linalg.norm(b)), 2)


def measure_glove() -> dict[str, Any]:
    """Count words and numbers; two analogies, and a prejudice, measured."""
    table = glove()
    first = ", ".join(f"{number:.2f}" for number in table["river"][:5])
    return card(
        text(f"river  {first}, ..."),
        {"words": {"all": len(table)}, "numbers a word": {"all": len(table["river"])}},
        queen=rank(table, "man", "woman", "king", "queen"),
        aunt=rank(table, "man", "woman", "uncle", "aunt"),
        nurse_she=cosine(table, "nurse", "she"),
        nurse_he=cosine(table, "nurse", "he"),
        engineer_she=cosine(table, "engineer", "she"),
        engineer_he=cosine(table, "engineer", "he"),
    )


def measure_minilm() -> dict[str, Any]:
    """Count weights and word pieces; the example is a sentence cut into them."""
    model = minilm()
    sentence = "The turtle unrolled the tapestry."
    pieces = WordPiece(tokens=model.tokens).split(sentence)
    return card(
        text(sentence, " ".join(pieces)),
        {
            "weights": {"all": model.n_parameters},
            "word pieces": {"all": len(model.tokens)},
        },
        layers=model.config.n_layers,
        width=model.config.d_model,
        longest=model.config.longest,
    )


def measure_smollm2() -> dict[str, Any]:
    """Count weights and tokens; the example is the first block's weights."""
    model = smollm2()
    block = [name for name in model.names if name.startswith("blk.0.")]
    shapes = (" x ".join(map(str, reversed(model.stored[n].shape))) for n in block)
    lines = (f"{name:26}{shape}" for name, shape in zip(block, shapes, strict=True))
    bits = {
        kind: int(model.stored[name].n_bytes) * 8 / int(model.stored[name].n_elements)
        for kind, name in (("matrix", "blk.0.ffn_up.weight"), ("table", model.names[0]))
    }
    return card(
        text(*lines),
        {
            "weights": {"all": model.n_parameters},
            "tokens": {"all": len(model.tokenizer.tokens)},
        },
        layers=model.config.n_layers,
        width=model.config.d_model,
        positions=model.config.n_positions,
        bits=bits["matrix"],
        table_bits=bits["table"],
    )


def measure_weather() -> dict[str, Any]:
    """Count days, and those of each kind; the example is the first of them."""
    days = everything(weather())
    tally = Counter(day.weather for day in days)
    first = days[0]
    wet = [day.weather for day in days if day.wet]
    example = text(
        f"{first.date}  {first.weather}",
        f"rain {first.precipitation} mm, wind {first.wind} m/s",
        f"{first.temp_min} to {first.temp_max} degrees Celsius",
    )
    counts = {"days": each_part(len, weather())}
    dry_words = share(word in ("fog", "sun") for word in wet)
    kinds = {kind: tally[kind] for kind in KINDS}
    last_rain = f"{LAST_RAIN.day} {LAST_RAIN:%B %Y}"
    return card(
        example, counts, wet=len(wet), dry_words=dry_words, last_rain=last_rain, **kinds
    )
