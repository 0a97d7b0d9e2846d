"""Contracts at module borders: shapes, sizes and settings.

Every tensor in this package is batch-first, and every axis has one letter::

    B batch    T target/query position    S source/key position    V vocabulary
    E input or embedding width    D hidden or model width    L layers
    H heads    K head width, D / H    O answers to choose from
    M models trained side by side
"""

from collections.abc import Collection

import torch
from torch import Tensor

WHOLE = (torch.int64, torch.int32, torch.int16, torch.int8, torch.uint8)


def check_shape(name: str, x: Tensor, spec: str, **sizes: int) -> None:
    """Raise ``ValueError`` unless ``x`` fits ``spec``, such as ``"B T D"``.

    Axes given in ``sizes`` must match exactly. The others may be any size, but an axis
    named twice must be of one size: ``"T T"`` is a square.
    """
    axes = spec.split()
    if unknown := set(sizes) - set(axes):
        raise ValueError(f"no axis {', '.join(sorted(unknown))} in the spec {spec!r}")
    wrong = []
    expected = dict(sizes)
    for axis, n in zip(axes, x.shape, strict=False):
        if expected.setdefault(axis, n) != n:
            wrong.append(f"{axis} should be {expected[axis]}, got {n}")
    if x.ndim != len(axes):
        wrong = [f"expected {len(axes)} axes, got {x.ndim}"]
    if wrong:
        raise ValueError(
            f"{name} must be ({', '.join(axes)}): {'; '.join(wrong)}; "
            f"its shape is {tuple(x.shape)}"
        )


def check_dtype(name: str, x: Tensor, weight: Tensor) -> None:
    """Raise ``ValueError`` unless ``x`` can be multiplied by ``weight``."""
    kind = x.device.type
    cast = torch.amp.is_autocast_available(kind) and torch.is_autocast_enabled(kind)
    if x.dtype != weight.dtype and not cast:
        raise ValueError(
            f"{name} is {x.dtype} and the weights are {weight.dtype}: "
            f"convert one of them, as in {name}.to({weight.dtype})"
        )


def check_lengths(lengths: Tensor, n_rows: int, n_steps: int) -> None:
    """Raise ``ValueError`` unless ``lengths`` holds one length in 1..T per row."""
    if not isinstance(lengths, Tensor):
        raise ValueError(f"lengths must be a tensor, got a {type(lengths).__name__}")
    if lengths.dtype not in WHOLE:
        raise ValueError(f"lengths must be whole numbers, got dtype {lengths.dtype}")
    check_shape("lengths", lengths, "B", B=n_rows)
    if torch.compiler.is_compiling() or lengths.is_meta:
        return  # a look at the numbers would break the graph, or there are none
    if bool((lengths < 1).any()) or bool((lengths > n_steps).any()):
        raise ValueError(
            f"lengths must lie between 1 and T={n_steps}, got {lengths.tolist()}"
        )


def at_least(least: int, **sizes: int) -> None:
    """Refuse a size below ``least``, by its name: ``at_least(1, n_rows=n_rows)``."""
    for name, size in sizes.items():
        if size < least:
            raise ValueError(f"{name}={size} must be at least {least}")


def check_choice(name: str, value: str, choices: Collection[str]) -> None:
    """Refuse a setting that is none of the words it may be."""
    if value not in choices:
        raise ValueError(f"{name}={value!r} must be one of {', '.join(choices)}")


def check_rates(**rates: float) -> None:
    """Refuse a share to drop that leaves nothing, or is no share, by its name."""
    for name, rate in rates.items():
        if not 0 <= rate < 1:
            raise ValueError(f"{name}={rate} must be at least 0 and below 1")
