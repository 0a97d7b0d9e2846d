"""What models that read one sentence and write another ask of both.

Axes: B batch, T target position, S source position.
"""

from torch import Tensor

from unrolled.shapes import check_shape


def check_tokens(name: str, ids: Tensor, spec: str, **sizes: int) -> None:
    """Refuse sentences whose shape is not ``spec``, or that have no tokens."""
    check_shape(name, ids, spec, **sizes)
    if ids.shape[1] == 0:
        raise ValueError(f"{name} is empty: each row needs one token at least")
