"""What the character models read: the King James Bible, piece by piece."""

from collections.abc import Iterator
from functools import cache

import torch
from torch import Tensor

from unrolled.data.batch import Batch
from unrolled.data.corpora.kjv import kjv_text
from unrolled.data.tokens.characters import Characters
from unrolled.data.windows import carried_windows, sampled_windows
from unrolled.runtime import generator

ROWS, WIDTH = 32, 97
SCORED = 60_000  # characters of the validation books


@cache
def characters() -> tuple[Characters, Tensor]:
    """Return the tokenizer of the training books, and their ids."""
    text = kjv_text().train
    tokenizer = Characters.of(text)
    return tokenizer, torch.tensor(tokenizer.encode(text))


def held_out() -> str:
    """Return the beginning of the validation books, without unknown characters."""
    known = set(characters()[0].characters)
    return "".join(c for c in kjv_text().validation[:SCORED] if c in known)


def pieces(seed: int) -> Iterator[Batch]:
    """Yield pieces that begin anywhere in the training books."""
    draws = generator(seed)
    while True:
        yield sampled_windows(characters()[1], ROWS, width=WIDTH, generator=draws)


def strands(seed: int) -> Iterator[tuple[Batch, bool]]:
    """Yield pieces that follow one another row by row, and which of them are first.

    Each pass over the training books leaves out another beginning, so that no two cut
    them in the same places.
    """
    text, draws = characters()[1], generator(seed)
    while True:
        start = int(torch.randint(len(text) // ROWS, (), generator=draws))
        windows = carried_windows(text[start:], ROWS, steps=WIDTH - 1)
        for place, batch in enumerate(windows):
            yield batch, place == 0
