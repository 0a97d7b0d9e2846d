"""Shape contracts at module borders.

Every tensor in this package is batch-first, and every axis has one letter:

    B batch    T target/query position    S source/key position    V vocabulary
    E input or embedding width    D hidden or model width    L layers
    H heads    K head width, D / H
"""

from torch import Tensor


def check_shape(name: str, x: Tensor, spec: str, **sizes: int) -> None:
    """Raise ``ValueError`` unless ``x`` fits ``spec``, such as ``"B T D"``.

    Axes given in ``sizes`` must match exactly; the others may be any size.
    """
    axes = spec.split()
    wrong = [
        f"{axis} should be {sizes[axis]}, got {n}"
        for axis, n in zip(axes, x.shape, strict=False)
        if axis in sizes and sizes[axis] != n
    ]
    if x.ndim != len(axes):
        wrong = [f"expected {len(axes)} axes, got {x.ndim}"]
    if wrong:
        raise ValueError(
            f"{name} must be ({', '.join(axes)}): {'; '.join(wrong)}; "
            f"its shape is {tuple(x.shape)}"
        )


def check_lengths(lengths: Tensor, n_rows: int, n_steps: int) -> None:
    """Raise ``ValueError`` unless ``lengths`` holds one length in 1..T per row."""
    if lengths.is_floating_point() or lengths.is_complex():
        raise ValueError(f"lengths must be whole numbers, got dtype {lengths.dtype}")
    check_shape("lengths", lengths, "B", B=n_rows)
    if bool((lengths < 1).any()) or bool((lengths > n_steps).any()):
        raise ValueError(
            f"lengths must lie between 1 and T={n_steps}, got {lengths.tolist()}"
        )
