"""Delayed recall: name the first symbol, after a wait in which nothing useful comes.

The first input is one of a few symbols. After it come ``lag`` distractors, drawn from
two symbols of their own. The right answer, asked for once, at the end, is the first
symbol. Axes: B rows, T = lag + 1 steps, E = symbols + 2, one-hot.
"""

import torch
import torch.nn.functional as F

from unrolled.data.batch import Batch
from unrolled.shapes import at_least

N_DISTRACTORS = 2


def recall(
    n_rows: int, lag: int, *, n_symbols: int = 8, generator: torch.Generator
) -> Batch:
    """Draw one-hot inputs ``x`` (B, lag + 1, n_symbols + 2) and answers ``y`` (B,)."""
    at_least(1, n_rows=n_rows)
    at_least(0, lag=lag)
    at_least(2, n_symbols=n_symbols)
    y = torch.randint(n_symbols, (n_rows,), generator=generator)
    noise = torch.randint(N_DISTRACTORS, (n_rows, lag), generator=generator)
    ids = torch.cat([y[:, None], n_symbols + noise], dim=1)  # (B, T)
    return Batch(x=F.one_hot(ids, n_symbols + N_DISTRACTORS).float(), y=y)
