"""The forms that the measurements of a data card take: counts, pictures, shares."""

from collections.abc import Callable, Iterable, Sequence
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from unrolled.data.splits import PARTS, Splits

T = TypeVar("T")
Counts = dict[str, dict[str, int]]  # what is counted, then how many by part


def each_part(count: Callable[[T], int], parts: Splits[T]) -> dict[str, int]:
    """Return what ``count`` says of each of the three parts."""
    return {part: int(count(getattr(parts, part))) for part in PARTS}


def everything(parts: Splits[tuple[T, ...]]) -> tuple[T, ...]:
    """Return the records of all three parts."""
    return (*parts.train, *parts.validation, *parts.test)


def share(outcomes: Iterable[bool]) -> float:
    """Return how many of the outcomes are true, from 0 to 1."""
    found = list(outcomes)
    return round(sum(found) / len(found), 4)


def card(
    example: dict[str, Any], counts: Counts | None = None, **facts: float | str
) -> dict[str, Any]:
    """Return what a unit keeps of one set."""
    return {"counts": counts or {}, "facts": facts, "example": example}


def text(*lines: str) -> dict[str, Any]:
    """Return an example that is read."""
    return {"form": "text", "text": "\n".join(lines)}


def image(pixels: NDArray[np.floating[Any]], *, alt: str) -> dict[str, Any]:
    """Return a picture of ink or colour from 0 to 1: (rows, columns, channels)."""
    height, width, channels = pixels.shape
    levels = np.rint(pixels * 255).astype(np.uint8)
    return {
        "form": "image",
        "width": width,
        "height": height,
        "channels": channels,
        "pixels": levels.tobytes().hex(),
        "alt": alt,
    }


def drawing(
    paths: Sequence[Sequence[tuple[float, float]]],
    *,
    size: tuple[float, float],
    dots: Sequence[tuple[float, float]] = (),
    frame: bool = False,
    alt: str,
) -> dict[str, Any]:
    """Return lines and dots on a sheet of ``size``, y downwards, to a tenth."""
    return {
        "form": "drawing",
        "width": round(size[0]),
        "height": round(size[1]),
        "paths": [_tenths(path) for path in paths],
        "dots": _tenths(dots),
        "frame": frame,
        "alt": alt,
    }


def _tenths(points: Sequence[tuple[float, float]]) -> list[list[float]]:
    return [[round(float(x), 1), round(float(y), 1)] for x, y in points]
