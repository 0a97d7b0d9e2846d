"""Recurrent layers against torch's, and a language model against how not to write one.

Torch's LSTM is a layer of oneDNN, written in C++ with its own way back; its GRU is a
loop in C++. Ours are loops in Python. The smaller a step, the more of the time goes to
starting operations, of which a loop in Python has the dearest.
"""

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from bench.measure import Case, Step
from unrolled.layers.stacks import GRU, LSTM, RNN
from unrolled.models.rnn_lm import RNNLM, RNNLMConfig

D = 256  # the width of inputs and states
V = 5_000
TEXTS = (20, 35)  # rows and steps of a batch of words


class UnfusedLSTM(nn.Module):
    """A word-level LSTM as its equations stand: a product for each gate and each step.

    Words are one-hot rows (B, T, V), and each gate has matrices of its own. All else is
    as in ours: the scores of all steps come from one product.
    """

    def __init__(self, n_tokens: int, d_hidden: int) -> None:
        super().__init__()
        self.n_tokens, self.d_hidden = n_tokens, d_hidden
        self.of_input = nn.ModuleList(nn.Linear(n_tokens, d_hidden) for _ in range(4))
        self.of_state = nn.ModuleList(
            nn.Linear(d_hidden, d_hidden, bias=False) for _ in range(4)
        )
        self.read = nn.Linear(d_hidden, n_tokens)

    def forward(self, ids: Tensor) -> Tensor:
        """Return logits (B, T, V) of what comes after each token of ``ids`` (B, T)."""
        x = F.one_hot(ids, self.n_tokens).float()
        h = c = x.new_zeros(len(x), self.d_hidden)
        states = []
        for t in range(x.shape[1]):
            pairs = zip(self.of_input, self.of_state, strict=True)
            i, f, g, o = (W(x[:, t]) + U(h) for W, U in pairs)
            c = f.sigmoid() * c + i.sigmoid() * g.tanh()
            h = o.sigmoid() * c.tanh()
            states.append(h)
        return self.read(torch.stack(states, dim=1))


def both_ways(model: nn.Module, x: Tensor) -> Step:
    """Return a forward and a backward pass of a layer on ``x`` (B, T, E)."""

    def run() -> None:
        model.zero_grad()
        model(x)[0].square().sum().backward()

    return run


def training_step(model: nn.Module, ids: Tensor) -> Step:
    """Return a step of SGD on ``ids`` (B, T + 1): foretell each from those before."""
    sgd = torch.optim.SGD(model.parameters(), lr=0.1)

    def run() -> None:
        sgd.zero_grad()
        logits = model(ids[:, :-1])
        F.cross_entropy(logits.flatten(0, 1), ids[:, 1:].flatten()).backward()
        sgd.step()

    return run


def layer_cases() -> list[Case]:
    """Compare layers, forward and backward."""
    kinds = {"RNN": (RNN, nn.RNN), "LSTM": (LSTM, nn.LSTM), "GRU": (GRU, nn.GRU)}
    found = []
    for kind, (ours, theirs) in kinds.items():
        for B, T in ((32, 32), (32, 64), (32, 128), (1, 64)):
            x = torch.randn(B, T, D)
            found.append(
                Case(
                    what=f"{kind} of {D} units, batch {B}, {T} steps, there and back",
                    against=f"torch.nn.{kind}",
                    ours=both_ways(ours(D, D), x),
                    theirs=both_ways(theirs(D, D, batch_first=True), x),
                    reach=1.05 if kind == "LSTM" and B > 1 else None,
                )
            )
    return found


def word_cases() -> list[Case]:
    """Compare a training step on words."""
    n_rows, n_steps = TEXTS
    ids = torch.randint(V, (n_rows, n_steps + 1))
    return [
        Case(
            what=f"LSTM of {D} units, {V:,} words, "
            f"{'tied' if tied else 'untied'}, a training step",
            against="one-hot inputs and unfused gates",
            ours=training_step(
                RNNLM(RNNLMConfig(n_tokens=V, d_model=D, tied=tied)), ids
            ),
            theirs=training_step(UnfusedLSTM(V, D), ids),
            reach=0.24,
        )
        for tied in (True, False)
    ]


def recurrent_cases() -> list[Case]:
    """Return all cases of this file."""
    return layer_cases() + word_cases()
