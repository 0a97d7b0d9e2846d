"""Characters trained on: the NumPy RNN against a plain loop and against torch."""

import numpy as np
import torch
from torch import nn

from bench.measure import Case, Step
from unrolled.models.numpy_rnn import NumpyRNN

T, V, D = 25, 64, 100  # steps, characters and units
LR = 0.1

Arrays = dict[str, np.ndarray]


def plain_loop(p: Arrays, ids: np.ndarray, targets: np.ndarray) -> tuple[float, Arrays]:
    """Return loss and gradients of one sequence, a character and a column at a time.

    The reference a min-char-rnn is: weights ``p`` multiply columns from the left, so
    they are the transposes of ours; nothing is gathered into larger products. For such
    small ones ``np.dot`` is twice as fast as ``@``, and the reference is to be good.
    """
    x, h, probs, loss = {}, {-1: np.zeros_like(p["b"])}, {}, 0.0
    for t, (i, y) in enumerate(zip(ids, targets, strict=True)):
        x[t] = np.zeros((p["W_x"].shape[1], 1), p["W_x"].dtype)
        x[t][i] = 1
        h[t] = np.tanh(np.dot(p["W_x"], x[t]) + np.dot(p["W_h"], h[t - 1]) + p["b"])
        scores = np.exp(np.dot(p["V"], h[t]) + p["c"])
        probs[t] = scores / scores.sum()
        loss -= np.log(probs[t][y, 0]) / len(ids)

    d = {name: np.zeros_like(value) for name, value in p.items()}
    from_later = np.zeros_like(p["b"])
    for t in reversed(range(len(ids))):
        d_o = probs[t] / len(ids)
        d_o[targets[t]] -= 1 / len(ids)
        d_a = (np.dot(p["V"].T, d_o) + from_later) * (1 - h[t] ** 2)
        d["V"] += np.dot(d_o, h[t].T)
        d["c"] += d_o
        d["W_x"] += np.dot(d_a, x[t].T)
        d["W_h"] += np.dot(d_a, h[t - 1].T)
        d["b"] += d_a
        from_later = np.dot(p["W_h"].T, d_a)
    return loss, d


def train_plain(ids: np.ndarray, targets: np.ndarray, dtype: type = np.float64) -> Step:
    """Return a step of SGD by the plain loop on one sequence, ids and targets (T,)."""
    weights = NumpyRNN(V, D, V, rng=np.random.default_rng(0), dtype=dtype).parameters()
    p = {name: np.atleast_2d(value).T.copy() for name, value in weights.items()}

    def run() -> None:
        _, gradients = plain_loop(p, ids, targets)
        for name, value in p.items():
            value -= LR * gradients[name]

    return run


def train_numpy(ids: np.ndarray, targets: np.ndarray) -> Step:
    """Return a step of SGD by the package's NumPy RNN."""
    net = NumpyRNN(V, D, V, rng=np.random.default_rng(0), dtype=np.float32)
    return lambda: net.step(net.backward(ids, targets)[1], LR)


def train_torch(ids: np.ndarray, targets: np.ndarray, batch_first: bool = True) -> Step:
    """Return a step of SGD by torch.nn.RNN, its one-hot rows made beforehand."""
    rnn, read = nn.RNN(V, D, batch_first=batch_first), nn.Linear(D, V)
    sgd = torch.optim.SGD([*rnn.parameters(), *read.parameters()], lr=LR)
    x, y = nn.functional.one_hot(torch.from_numpy(ids), V).float(), targets
    if not batch_first:
        x, y = x.transpose(0, 1).contiguous(), y.T.copy()
    y = torch.from_numpy(y).flatten()

    def run() -> None:
        sgd.zero_grad()
        nn.functional.cross_entropy(read(rnn(x)[0]).flatten(0, 1), y).backward()
        sgd.step()

    return run


def character_cases() -> list[Case]:
    """Compare characters per second: ours takes B rows a step, the plain loop one."""
    found = []
    for B in (16, 24, 32, 64):
        ids, targets = np.random.default_rng(0).integers(0, V, (2, B, T))
        what, ours = f"NumPy RNN, batch {B}, a character", train_numpy(ids, targets)
        found += [
            Case(
                what=what,
                against=f"a plain loop, {dtype.__name__}",
                ours=ours,
                theirs=train_plain(ids[0], targets[0], dtype),
                work=B,
            )
            for dtype in (np.float64, np.float32)
        ]
        found += [
            Case(
                what=what,
                against=f"torch.nn.RNN, {order} first",
                ours=ours,
                theirs=train_torch(ids, targets, batch_first=order == "batch"),
            )
            for order in ("batch", "time")
        ]
    return found
