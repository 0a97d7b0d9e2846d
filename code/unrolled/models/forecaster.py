r"""What comes next in a sequence of numbers, and after that, and after that.

Axes: B batch, T time, E numbers a step, D hidden width, O numbers to foretell, L
layers. The first O of a step's E numbers are those that are foretold. The others, if
any, are known beforehand, such as the season of the year.
"""

from dataclasses import dataclass

import torch
from torch import Tensor, nn

from unrolled.layers.readers import CELLS
from unrolled.layers.stacks import Stack
from unrolled.layers.states import shown
from unrolled.shapes import at_least, check_choice, check_shape


@dataclass(frozen=True, kw_only=True, slots=True)
class ForecasterConfig:
    """The widths of a :class:`Forecaster`; ``cell`` is "rnn", "lstm" or "gru"."""

    d_in: int
    d_hidden: int
    d_out: int
    n_layers: int = 1
    cell: str = "lstm"

    def __post_init__(self) -> None:
        at_least(1, d_hidden=self.d_hidden, n_layers=self.n_layers)
        at_least(1, d_in=self.d_in, d_out=self.d_out)
        if self.d_out > self.d_in:
            raise ValueError(
                f"d_out={self.d_out} must be at most d_in={self.d_in}: "
                "what is foretold is read at the next step"
            )
        check_choice("cell", self.cell, CELLS)


class Forecaster(nn.Module):
    r"""Read a sequence and foretell the next step of it at every step.

    .. math:: \hat{\mathbf{x}}_{t+1} = \mathbf{h}_t \mathbf{V} + \mathbf{c}
    """

    def __init__(self, config: ForecasterConfig) -> None:
        super().__init__()
        self.config = config
        make_cell, n_layers = CELLS[config.cell], config.n_layers
        self.rnn = Stack(make_cell, config.d_in, config.d_hidden, n_layers=n_layers)
        self.read = nn.Linear(config.d_hidden, config.d_out)

    def forward(self, x: Tensor, *, lengths: Tensor | None = None) -> Tensor:
        r"""Return :math:`\hat{\mathbf{x}}_{2:T+1}` (B, T, O) for ``x`` (B, T, E).

        Each is foretold from the true steps before it: ``forward(x)[:, :-1]`` answers
        to ``x[:, 1:]``. ``lengths`` (B,) says how much of each row is real.
        """
        states, _ = self.rnn(x, lengths=lengths)  # (B, T, D)
        return self.read(states)

    def forecast(
        self,
        x: Tensor,
        n_steps: int,
        *,
        known: Tensor | None = None,
        lengths: Tensor | None = None,
    ) -> Tensor:
        """Return the ``n_steps`` steps after ``x`` (B, T, E): (B, ``n_steps``, O).

        Only the first comes from true steps alone; then the model reads its own
        forecasts. ``known`` (B, ``n_steps`` - 1, E - O) is what is known of all but
        the last of the steps to come, and may be left out if nothing is (E = O).
        """
        at_least(1, n_steps=n_steps)
        beside = self._known(x, n_steps, known)
        _, state = self.rnn(x, lengths=lengths)
        values = [self.read(shown(state)[-1])]  # of the top layer: (B, D) to (B, O)
        for known_t in beside.unbind(dim=1):
            x_t = torch.cat([values[-1], known_t], dim=-1)  # (B, E)
            _, state = self.rnn(x_t[:, None], state)
            values.append(self.read(shown(state)[-1]))
        return torch.stack(values, dim=1)

    def _known(self, x: Tensor, n_steps: int, known: Tensor | None) -> Tensor:
        d_known, n_read = self.config.d_in - self.config.d_out, n_steps - 1
        if known is None and d_known and n_read:
            raise ValueError(
                f"known=None must be ({len(x)}, {n_read}, {d_known}): the model reads "
                f"{self.config.d_in} numbers a step and foretells {self.config.d_out}"
            )
        if known is None:
            return x.new_empty(len(x), n_read, d_known)
        check_shape("known", known, "B T E", B=len(x), T=n_read, E=d_known)
        return known
