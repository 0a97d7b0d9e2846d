"""Sequence labelling: an answer at every step.

Axes: B batch, T time, E input width, D hidden width, O outputs per step, L layers.
"""

from dataclasses import dataclass

from torch import Tensor, nn

from unrolled.layers.stacks import RNN


@dataclass(frozen=True, kw_only=True, slots=True)
class TaggerConfig:
    """The widths of a :class:`Tagger`."""

    d_in: int
    d_hidden: int
    d_out: int
    n_layers: int = 1

    def __post_init__(self) -> None:
        for name in ("d_in", "d_hidden", "d_out", "n_layers"):
            if getattr(self, name) < 1:
                raise ValueError(f"{name}={getattr(self, name)} must be at least 1")


class Tagger(nn.Module):
    r"""Read a sequence and answer at every step, equation :eq:`rnn-readout`.

    The states come from a stack of Elman layers, equation :eq:`rnn-stack`.

    .. math:: \mathbf{o}_t = \mathbf{h}_t \mathbf{V} + \mathbf{c}
    """

    def __init__(self, config: TaggerConfig) -> None:
        super().__init__()
        self.config = config
        self.rnn = RNN(config.d_in, config.d_hidden, n_layers=config.n_layers)
        self.read = nn.Linear(config.d_hidden, config.d_out)

    def forward(self, x: Tensor, *, lengths: Tensor | None = None) -> Tensor:
        """Return the scores ``o`` (B, T, O) for ``x`` (B, T, E)."""
        states, _ = self.rnn(x, lengths=lengths)  # (B, T, D)
        return self.read(states)
