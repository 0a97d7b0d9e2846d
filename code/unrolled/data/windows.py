"""Windows on a long text, for language models.

A window of w tokens holds w - 1 predictions: each of its tokens but the last is an
input, each but the first a target. A text is a vector of token ids. Every batch has
memory of its own: whoever masks an input changes neither a target nor the text. Axes:
B windows, T = width - 1 steps.
"""

from collections.abc import Iterator

import torch
from torch import Tensor

from unrolled.data.batch import Batch
from unrolled.shapes import at_least


def strided_windows(
    ids: Tensor, n_rows: int, *, width: int, stride: int
) -> Iterator[Batch]:
    """Yield every full window of ``width`` tokens, ``stride`` tokens apart.

    Of N tokens there are (N - width) // stride + 1, and they come ``n_rows`` at a
    time. Tokens after the last full window are left out; with a stride below
    width - 1, some targets come in several windows.
    """
    at_least(1, n_rows=n_rows)
    _check_width(width, stride)
    _check_text(ids, least=width)
    return map(_predictions, ids.unfold(0, width, stride).split(n_rows))


def scoring_windows(
    ids: Tensor, n_rows: int, *, width: int, stride: int
) -> Iterator[Batch]:
    """Yield windows that score each token of the text once, the first excepted.

    The mask is True where no earlier window has had the target. Whatever a window
    scores, it scores with at least width - 1 - stride earlier tokens in sight, but for
    the beginning of the text. The last window ends with the text.
    """
    at_least(1, n_rows=n_rows)
    _check_width(width, stride, most=width - 1)
    _check_text(ids, least=2)
    width = min(width, len(ids))
    starts = torch.arange(0, len(ids) - width + stride, stride)
    starts = starts.clamp(max=len(ids) - width)
    new = torch.cat([starts.new_ones(1), starts[:-1] + width])  # the first not yet had
    parts = zip(starts.split(n_rows), new.split(n_rows), strict=True)
    return (_scored(ids, start, first, width) for start, first in parts)


def sampled_windows(
    ids: Tensor, n_rows: int, *, width: int, generator: torch.Generator
) -> Batch:
    """Draw ``n_rows`` windows that begin anywhere in the text."""
    at_least(1, n_rows=n_rows)
    _check_width(width, 1)
    _check_text(ids, least=width)
    starts = torch.randint(len(ids) - width + 1, (n_rows,), generator=generator)
    return _predictions(ids.unfold(0, width, 1)[starts])


def carried_windows(ids: Tensor, n_rows: int, *, steps: int) -> Iterator[Batch]:
    """Read the text once as ``n_rows`` strands, ``steps`` tokens at a time.

    Row b of a batch goes on where row b of the batch before stopped, so that a state
    can be carried over: what truncated backpropagation through time needs. The last
    batch may be shorter. Fewer than ``n_rows`` targets at the end are left out.
    """
    at_least(1, n_rows=n_rows, steps=steps)
    _check_text(ids, least=n_rows + 1)
    length = (len(ids) - 1) // n_rows
    x = ids[: n_rows * length].view(n_rows, length)
    y = ids[1 : n_rows * length + 1].view(n_rows, length)
    parts = zip(x.split(steps, dim=1), y.split(steps, dim=1), strict=True)
    return (Batch(x=x_part.clone(), y=y_part.clone()) for x_part, y_part in parts)


def _predictions(windows: Tensor) -> Batch:
    """Return all tokens but the last as inputs, all but the first as targets."""
    return Batch(x=windows[:, :-1].clone(), y=windows[:, 1:].clone())


def _scored(ids: Tensor, starts: Tensor, new: Tensor, width: int) -> Batch:
    """Return the windows at ``starts``, each of which scores from ``new`` onwards."""
    places = starts[:, None] + torch.arange(width)  # (B, width)
    batch = _predictions(ids[places])
    return Batch(x=batch.x, y=batch.y, mask=places[:, 1:] >= new[:, None])


def _check_width(width: int, stride: int, *, most: int | None = None) -> None:
    if width < 2:
        raise ValueError(f"{width=} must be at least 2: an input and its target")
    if stride < 1 or (most is not None and stride > most):
        bound = "" if most is None else f" and at most width - 1 = {most}"
        raise ValueError(f"{stride=} must be at least 1{bound}")


def _check_text(ids: Tensor, *, least: int) -> None:
    if not isinstance(ids, Tensor):
        raise ValueError(f"ids is a {type(ids).__name__}; make it torch.tensor(ids)")
    if ids.ndim != 1 or len(ids) < least:
        raise ValueError(
            f"ids has shape {tuple(ids.shape)}; it must be one row of at least "
            f"{least} tokens"
        )
