"""A recurrent network in plain NumPy, its backward pass written out by hand.

Axes: B batch, T time, E input width, D hidden width, O output classes. The loop over
time stands only where a state needs its neighbour; all else is one matrix product.
"""

from typing import Any

import numpy as np
from numpy.typing import DTypeLike, NDArray

Array = NDArray[np.floating[Any]]
Targets = NDArray[np.integer[Any]]


class NumpyRNN:
    r"""A many-to-many Elman network, equations :eq:`rnn-cell` and :eq:`rnn-readout`.

    .. math::

        \mathbf{a}_t &= \mathbf{x}_t \mathbf{W}_x + \mathbf{h}_{t-1} \mathbf{W}_h
            + \mathbf{b} \\
        \mathbf{h}_t &= \tanh(\mathbf{a}_t) \\
        \mathbf{o}_t &= \mathbf{h}_t \mathbf{V} + \mathbf{c}

    All five parameters start uniform in :math:`\pm 1/\sqrt{D}`.
    """

    def __init__(
        self,
        d_in: int,
        d_hidden: int,
        d_out: int,
        *,
        rng: np.random.Generator,
        dtype: DTypeLike = np.float64,
    ) -> None:
        if min(d_in, d_hidden, d_out) < 1:
            raise ValueError(f"{d_in=}, {d_hidden=}, {d_out=} must all be at least 1")
        self.dtype = np.dtype(dtype)
        if not np.issubdtype(self.dtype, np.floating):
            raise ValueError(f"dtype={self.dtype} must be a float, such as float64")
        self.d_in, self.d_hidden, self.d_out = d_in, d_hidden, d_out
        bound = d_hidden**-0.5

        def uniform(*shape: int) -> Array:
            return rng.uniform(-bound, bound, shape).astype(self.dtype)

        self.W_x = uniform(d_in, d_hidden)
        self.W_h = uniform(d_hidden, d_hidden)
        self.b = uniform(d_hidden)
        self.V = uniform(d_hidden, d_out)
        self.c = uniform(d_out)

    def parameters(self) -> dict[str, Array]:
        """Return the parameters by name: the arrays themselves, not copies."""
        return {name: getattr(self, name) for name in ("W_x", "W_h", "b", "V", "c")}

    def forward(self, x: Array, h_0: Array | None = None) -> tuple[Array, Array]:
        """Return the logits (B, T, O) and the states (B, T, D), given ``x`` (B, T, E).

        ``h_0`` (B, D) is the state before the first step; without it, zeros.
        """
        x, h = self._inputs(x, h_0)
        projected = x @ self.W_x + self.b  # (B, T, D)
        states = np.empty_like(projected)
        for t in range(x.shape[1]):
            h = np.tanh(projected[:, t] + h @ self.W_h)
            states[:, t] = h
        return states @ self.V + self.c, states

    def loss(self, logits: Array, targets: Targets) -> float:
        r"""Return the mean :math:`-\log \operatorname{softmax}(\mathbf{o}_t)_{y_t}`."""
        targets = self._targets(logits, targets)
        right = np.take_along_axis(_log_softmax(logits), targets[..., None], axis=-1)
        return float(-right.mean())

    def backward(
        self, x: Array, targets: Targets, h_0: Array | None = None
    ) -> tuple[float, dict[str, Array]]:
        r"""Return the loss and its gradient with respect to each parameter, by name.

        Errors, :math:`\bar{\mathbf{z}} = \partial \text{loss} / \partial \mathbf{z}`,
        flow from the last step to the first. With :math:`\mathbf{p}_t` the softmax of
        :math:`\mathbf{o}_t` and :math:`\mathbf{y}_t` its target as a one-hot row,

        .. math::

            \bar{\mathbf{o}}_t &= (\mathbf{p}_t - \mathbf{y}_t) / BT \\
            \bar{\mathbf{h}}_t &= \bar{\mathbf{o}}_t \mathbf{V}^\top
                + \bar{\mathbf{a}}_{t+1} \mathbf{W}_h^\top \\
            \bar{\mathbf{a}}_t &= \bar{\mathbf{h}}_t \odot (1 - \mathbf{h}_t^2)

        A matrix gathers, over all rows and steps, what it multiplied times the error of
        what came out, such as :math:`\sum_t \mathbf{h}_{t-1}^\top \bar{\mathbf{a}}_t`.
        """
        x, h_0 = self._inputs(x, h_0)
        logits, h = self.forward(x, h_0)
        loss = self.loss(logits, targets)
        n_rows, n_steps, _ = x.shape
        p, y = np.exp(_log_softmax(logits)), np.eye(self.d_out, dtype=h.dtype)[targets]
        d_o = (p - y) / (n_rows * n_steps)  # (B, T, O)
        d_h = d_o @ self.V.T  # (B, T, D), the read-out's share
        d_a = np.empty_like(h)
        from_later = np.zeros_like(h_0)  # after the last step there is nothing
        for t in reversed(range(n_steps)):
            d_a[:, t] = (d_h[:, t] + from_later) * (1 - h[:, t] ** 2)
            from_later = d_a[:, t] @ self.W_h.T

        h_before = np.concatenate([h_0[:, None], h[:, :-1]], axis=1)  # (B, T, D)
        return loss, {
            "W_x": _over_steps(x, d_a),
            "W_h": _over_steps(h_before, d_a),
            "b": d_a.sum(axis=(0, 1)),
            "V": _over_steps(h, d_o),
            "c": d_o.sum(axis=(0, 1)),
        }

    def step(self, gradients: dict[str, Array], lr: float) -> None:
        """Walk downhill, in place: each parameter less ``lr`` times its gradient."""
        if not lr > 0:
            raise ValueError(f"{lr=} must be positive")
        given = {name: gradient.shape for name, gradient in gradients.items()}
        right = {name: value.shape for name, value in self.parameters().items()}
        if given != right:
            raise ValueError(f"gradients has the shapes {given}; they must be {right}")
        for name, value in self.parameters().items():
            value -= lr * gradients[name]

    def _inputs(self, x: Array, h_0: Array | None) -> tuple[Array, Array]:
        """Check ``x`` and ``h_0``, take both to our dtype, and put zeros for None."""
        x = np.asarray(x, self.dtype)
        _check("x", x, B=None, T=None, E=self.d_in)
        h_0 = np.zeros((len(x), self.d_hidden)) if h_0 is None else h_0
        h_0 = np.asarray(h_0, self.dtype)
        _check("h_0", h_0, B=len(x), D=self.d_hidden)
        return x, h_0

    def _targets(self, logits: Array, targets: Targets) -> Targets:
        """Check that ``targets`` names one class in 0..O-1 for every step."""
        _check("logits", logits, B=None, T=None, O=self.d_out)
        targets = np.asarray(targets)
        _check("targets", targets, B=len(logits), T=logits.shape[1])
        if not np.issubdtype(targets.dtype, np.integer):
            raise ValueError(f"targets must be integers, got dtype {targets.dtype}")
        low, high, top = targets.min(), targets.max(), self.d_out - 1
        if low < 0 or high > top:
            raise ValueError(f"targets must lie in 0..{top}, got {low}..{high}")
        return targets


def _log_softmax(o: Array) -> Array:
    """Return log softmax over the last axis, shifted so that nothing overflows."""
    o = o - o.max(axis=-1, keepdims=True)
    return o - np.log(np.exp(o).sum(axis=-1, keepdims=True))


def _over_steps(left: Array, right: Array) -> Array:
    """Sum left_t^T right_t over rows and steps: (B, T, M), (B, T, N) to (M, N)."""
    return np.tensordot(left, right, axes=((0, 1), (0, 1)))


def _check(name: str, array: NDArray[Any], **sizes: int | None) -> None:
    """Raise ``ValueError`` unless these are the axes; None is any size but zero."""
    wanted = [size or n for n, size in zip(array.shape, sizes.values(), strict=False)]
    if array.ndim != len(sizes) or list(array.shape) != wanted or array.size == 0:
        axes = (axis if n is None else f"{axis}={n}" for axis, n in sizes.items())
        shape = f"({', '.join(axes)}), none of them empty"
        raise ValueError(f"{name} must be {shape}; its shape is {array.shape}")
