"""Choose the window model's widths, rounds and learning rate on the validation books.

Each unit trains the model that sees two words with one setting, and scores it on the
validation books alone. :mod:`unrolled.recipes.window_words` uses the best for all of
its models, whatever they see, and reports them on the test books.
"""

from itertools import product
from pathlib import Path
from typing import Any

from unrolled.evaluation.perplexity import bits_per_token
from unrolled.models.window_lm import log_probabilities
from unrolled.recipes import window_words

N_CONTEXT, SEED = 2, 0
RATES, EPOCHS, WIDTHS = (1e-3, 3e-3, 1e-2), (2, 3, 4), ((24, 48), (48, 96), (96, 192))
TRIED = [
    *((WIDTHS[1], epochs, rate) for epochs, rate in product(EPOCHS, RATES)),
    *((width, EPOCHS[1], rate) for width in WIDTHS[::2] for rate in RATES),
]
UNITS: list[dict[str, Any]] = [
    {"d_embed": width[0], "d_hidden": width[1], "epochs": epochs, "rate": rate}
    for width, epochs, rate in TRIED
]


def run_unit(unit: dict[str, Any], folder: Path) -> dict[str, Any]:
    """Train with one setting; return the bits a word on the validation books."""
    model = window_words.train(N_CONTEXT, SEED, **unit)
    log_p = log_probabilities(model, window_words.texts()["validation"])
    return {"bits": bits_per_token(log_p)}


def summarise(units: list[dict[str, Any]]) -> dict[str, Any]:
    """Return the setting with the fewest bits, and these beside the other units'."""
    names = ("d_embed", "d_hidden", "epochs", "rate")
    best = min(units, key=lambda unit: unit["bits"])
    return {
        "chosen": {name: best[name] for name in names},
        "bits": sorted(unit["bits"] for unit in units),
    }
