"""Windows on a long text, for language models.

A window of w tokens holds w - 1 predictions: each of its tokens but the last is an
input, each but the first a target. Axes: B windows, T = width - 1 steps. A text is a
vector of token ids (N,).
"""

from collections.abc import Iterator

import torch
from torch import Tensor

from unrolled.data.batch import Batch
from unrolled.shapes import at_least


def strided_windows(ids: Tensor, *, width: int, stride: int) -> Batch:
    """Return every full window of ``width`` tokens, ``stride`` tokens apart.

    There are (N - width) // stride + 1 of them. Tokens after the last full window are
    left out; with a stride below width - 1, some targets come in several windows.
    """
    _check_text(ids, at_least=width)
    _check_width(width, stride)
    return _predictions(ids.unfold(0, width, stride))


def scoring_windows(ids: Tensor, *, width: int, stride: int) -> Batch:
    """Return windows that score each token of the text once, the first excepted.

    The mask is True where no earlier window has had the target. Whatever a window
    scores, it scores with at least width - 1 - stride earlier tokens in sight, but for
    the beginning of the text. The last window ends with the text.
    """
    _check_width(width, stride, most=width - 1)
    _check_text(ids, at_least=2)
    width = min(width, len(ids))
    starts = torch.arange(0, len(ids) - width + stride, stride)
    starts = starts.clamp(max=len(ids) - width)
    ends = starts + width  # each window scores what lies beyond the end before it
    before = torch.cat([starts.new_ones(1), ends[:-1]])
    places = starts[:, None] + torch.arange(width)  # (B, width)
    batch = _predictions(ids[places])
    mask = places[:, 1:] >= before[:, None]
    return Batch(x=batch.x, y=batch.y, mask=mask)


def sampled_windows(
    ids: Tensor, n_rows: int, *, width: int, generator: torch.Generator
) -> Batch:
    """Draw ``n_rows`` windows that begin anywhere in the text."""
    _check_text(ids, at_least=width)
    _check_width(width, 1)
    at_least(1, n_rows=n_rows)
    starts = torch.randint(len(ids) - width + 1, (n_rows,), generator=generator)
    return _predictions(ids.unfold(0, width, 1)[starts])


def carried_windows(ids: Tensor, n_rows: int, *, steps: int) -> Iterator[Batch]:
    """Read the text once as ``n_rows`` strands, ``steps`` tokens at a time.

    Row b of a batch goes on where row b of the batch before stopped, so that a state
    can be carried over: what truncated backpropagation through time needs. The last
    batch may be shorter. Fewer than ``n_rows`` targets at the end are left out.
    """
    at_least(1, n_rows=n_rows, steps=steps)
    _check_text(ids, at_least=n_rows + 1)
    length = (len(ids) - 1) // n_rows
    x = ids[: n_rows * length].view(n_rows, length)
    y = ids[1 : n_rows * length + 1].view(n_rows, length)
    for x_part, y_part in zip(x.split(steps, 1), y.split(steps, 1), strict=True):
        yield Batch(x=x_part, y=y_part)


def _predictions(windows: Tensor) -> Batch:
    """Return all tokens but the last as inputs, all but the first as targets."""
    return Batch(x=windows[:, :-1], y=windows[:, 1:])


def _check_width(width: int, stride: int, *, most: int | None = None) -> None:
    if width < 2:
        raise ValueError(f"{width=} must be at least 2: an input and its target")
    if stride < 1 or (most is not None and stride > most):
        bound = "" if most is None else f" and at most width - 1 = {most}"
        raise ValueError(f"{stride=} must be at least 1{bound}")


def _check_text(ids: Tensor, *, at_least: int) -> None:
    if ids.ndim != 1 or len(ids) < at_least:
        raise ValueError(
            f"ids has shape {tuple(ids.shape)}; it must be one row of at least "
            f"{at_least} tokens"
        )
