"""A recurrent network in plain NumPy, its backward pass written out by hand.

Axes: B batch, T time, E input width, D hidden width, O output classes. The loop over
time stands only where a state needs its neighbour; all else is one matrix product.
Inside, time comes first, so that a step is one block of memory; (TB, D) are its rows.
"""

from typing import Any

import numpy as np
from numpy.typing import DTypeLike, NDArray

Array = NDArray[np.floating[Any]]
Ids = NDArray[np.integer[Any]]
Inputs = NDArray[Any]  # floats (B, T, E), or ids (B, T)


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

    def forward(self, x: Inputs, h_0: Array | None = None) -> tuple[Array, Array]:
        """Return the logits (B, T, O) and the states (B, T, D), given ``x`` (B, T, E).

        One-hot rows may be given as their ids, integers (B, T): ``x @ W_x`` is then a
        look-up in ``W_x``. ``h_0`` (B, D) is the state before the first step, or zeros.
        """
        h = self._states(*self._inputs(x, h_0))[1:]
        logits = h @ self.V + self.c  # (T, B, O)
        return logits.swapaxes(0, 1), h.swapaxes(0, 1)

    def loss(self, logits: Array, targets: Ids) -> float:
        r"""Return the mean :math:`-\log \operatorname{softmax}(\mathbf{o}_t)_{y_t}`."""
        _check("logits", logits, B=None, T=None, O=self.d_out)
        y = _ids("targets", targets, self.d_out, B=len(logits), T=logits.shape[1])
        return _loss_and_softmax(_rows(np.array(logits, self.dtype)), y.ravel())[0]

    def backward(
        self, x: Inputs, targets: Ids, h_0: Array | None = None
    ) -> tuple[float, dict[str, Array]]:
        r"""Return the loss and its gradient with respect to each parameter, by name.

        Errors, :math:`\bar{\mathbf{z}} = \partial \text{loss} / \partial \mathbf{z}`,
        flow from the last step to the first. With :math:`\mathbf{p}_t` the softmax of
        :math:`\mathbf{o}_t` and :math:`\mathbf{y}_t` its target as a one-hot row,
        equations :eq:`bptt-scores`, :eq:`bptt-state` and :eq:`bptt-squash` are

        .. math::

            \bar{\mathbf{o}}_t &= (\mathbf{p}_t - \mathbf{y}_t) / BT \\
            \bar{\mathbf{h}}_t &= \bar{\mathbf{o}}_t \mathbf{V}^\top
                + \bar{\mathbf{a}}_{t+1} \mathbf{W}_h^\top \\
            \bar{\mathbf{a}}_t &= \bar{\mathbf{h}}_t \odot (1 - \mathbf{h}_t^2)

        A matrix gathers, over all rows and steps, what it multiplied times the error of
        what came out, equations :eq:`bptt-readout` and :eq:`bptt-weights`.
        """
        x, h_0 = self._inputs(x, h_0)  # (T, B, E), or ids (T, B)
        y = _ids("targets", targets, self.d_out, B=len(h_0), T=len(x)).T.ravel()
        states = self._states(x, h_0)
        h_before, h = _rows(states[:-1]), _rows(states[1:])  # (TB, D)
        o = h @ self.V  # (TB, O)
        o += self.c
        loss, d_o = _loss_and_softmax(o, y)  # d_o, so far p
        d_o[np.arange(len(y)), y] -= 1
        d_o /= len(y)

        slope = 1 - states[1:] ** 2
        d_a: Array = (d_o @ self.V.T).reshape(slope.shape)  # d_h: the read-out's share
        W_h_T = np.ascontiguousarray(self.W_h.T)  # twice as fast for small batches
        from_later = np.zeros_like(h_0)  # after the last step there is nothing
        for d_t, slope_t in zip(reversed(d_a), reversed(slope), strict=True):
            d_t += from_later  # now all of d_h
            d_t *= slope_t
            from_later = d_t.dot(W_h_T)

        d_a, ones = _rows(d_a), np.ones(len(y), self.dtype)  # what a bias multiplied
        x = x if x.ndim == 3 else np.eye(self.d_in, dtype=self.dtype)[x]
        return loss, {
            "W_x": _rows(x).T @ d_a,
            "W_h": h_before.T @ d_a,
            "b": ones @ d_a,
            "V": h.T @ d_o,
            "c": ones @ d_o,
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

    def _states(self, x: Inputs, h_0: Array) -> Array:
        """Return the states (T + 1, B, D) from ``h_0`` on; time comes first."""
        h = np.empty((len(x) + 1, *h_0.shape), self.dtype)
        h[0] = h_0
        if x.ndim == 3:
            h[1:] = x @ self.W_x + self.b
        else:
            # the ids are checked already: "clip" lets take write without a copy
            np.take(self.W_x + self.b, x, axis=0, out=h[1:], mode="clip")
        for t, h_t in enumerate(h[1:]):
            h_t += h[t].dot(self.W_h)  # "@" takes longer to start
            np.tanh(h_t, out=h_t)
        return h

    def _inputs(self, x: Inputs, h_0: Array | None) -> tuple[Inputs, Array]:
        """Check both, put time first in ``x`` and zeros for None."""
        if np.ndim(x) == 2 and np.issubdtype(np.asarray(x).dtype, np.integer):
            x = _ids("x", x, self.d_in, B=None, T=None)
        else:
            x = np.asarray(x, self.dtype)
            _check("x", x, B=None, T=None, E=self.d_in)
        h_0 = np.zeros((len(x), self.d_hidden)) if h_0 is None else h_0
        h_0 = np.asarray(h_0, self.dtype)
        _check("h_0", h_0, B=len(x), D=self.d_hidden)
        return np.ascontiguousarray(x.swapaxes(0, 1)), h_0


def _loss_and_softmax(o: Array, targets: Ids) -> tuple[float, Array]:
    """Return the mean loss and the softmax of the rows, which is written over ``o``."""
    row = np.arange(len(o))
    # Less the largest, exp cannot overflow; argmax is faster than max on short rows.
    o -= o[row, o.argmax(axis=1), None]
    right = o[row, targets]
    p = np.exp(o, out=o)
    total = p @ np.ones(p.shape[1], p.dtype)
    p /= total[:, None]
    return float((np.log(total) - right).mean()), p


def _rows(array: Array) -> Array:
    """Return (T, B, …) as the rows of one matrix, (TB, …)."""
    return array.reshape(-1, array.shape[-1])


def _ids(name: str, ids: Ids, n: int, **sizes: int | None) -> Ids:
    """Return ``ids`` as an array, checked to be integers in 0..n-1 of this shape."""
    ids = np.asarray(ids)
    _check(name, ids, **sizes)
    if not np.issubdtype(ids.dtype, np.integer):
        raise ValueError(f"{name} must be integers, got dtype {ids.dtype}")
    low, high = ids.min(), ids.max()
    if low < 0 or high >= n:
        raise ValueError(f"{name} must lie in 0..{n - 1}, got {low}..{high}")
    return ids


def _check(name: str, array: NDArray[Any], **sizes: int | None) -> None:
    """Raise ``ValueError`` unless these are the axes; None is any size but zero."""
    wanted = [size or n for n, size in zip(array.shape, sizes.values(), strict=False)]
    if array.ndim != len(sizes) or list(array.shape) != wanted or array.size == 0:
        axes = (axis if n is None else f"{axis}={n}" for axis, n in sizes.items())
        shape = f"({', '.join(axes)}), none of them empty"
        raise ValueError(f"{name} must be {shape}; its shape is {array.shape}")
