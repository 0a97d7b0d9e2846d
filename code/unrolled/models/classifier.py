"""One answer for a whole sequence, read from the last state.

Axes: B batch, T time, E input width, D hidden width, O classes.
"""

from torch import Tensor, nn

from unrolled.layers.recurrent import RNNCell
from unrolled.layers.unroll import unroll


class Classifier(nn.Module):
    """A cell run to the end, and a linear layer on its last state."""

    def __init__(self, cell: RNNCell, n_classes: int) -> None:
        super().__init__()
        if n_classes < 2:
            raise ValueError(f"{n_classes=} must be at least 2")
        self.cell = cell
        self.read = nn.Linear(cell.d_hidden, n_classes)

    def forward(self, x: Tensor, lengths: Tensor | None = None) -> Tensor:
        """Return logits (B, O) for ``x`` (B, T, E), of ``lengths`` (B,) if given."""
        _, last = unroll(self.cell, x, lengths=lengths)
        logits: Tensor = self.read(last)
        return logits
