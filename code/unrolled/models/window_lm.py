r"""The neural window language model of Bengio, Ducharme, Vincent and Jauvin (2003).

The last n - 1 tokens are looked up in one table, their vectors are laid side by side,
and a hidden layer foretells the next token:

.. math::

    \mathbf{x} &= [\mathbf{E}_{w_{t-n+1}}; \dots; \mathbf{E}_{w_{t-1}}] \\
    \mathbf{o} &= \tanh(\mathbf{x} \mathbf{W}_x + \mathbf{b}) \, \mathbf{V} + \mathbf{c}

The paper also tries direct connections from :math:`\mathbf{x}` to the output; we leave
them out, as its authors do in some of their runs. A text begins with tokens that have
fewer than n - 1 before them. There the window is filled with a token of its own, number
V, which has a vector and is never foretold: so each token of a text gets a score, as
from an n-gram.

Axes: B windows, S = n - 1 tokens of context, V vocabulary, E embedding width, D hidden
width. A text is a vector of token ids (N,).
"""

from dataclasses import dataclass

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from unrolled.shapes import at_least, check_shape


@dataclass(frozen=True, kw_only=True, slots=True)
class WindowLMConfig:
    """The sizes of a :class:`WindowLM`; ``n_context`` is n - 1."""

    n_tokens: int
    n_context: int
    d_embed: int
    d_hidden: int

    def __post_init__(self) -> None:
        at_least(1, n_tokens=self.n_tokens, n_context=self.n_context)
        at_least(1, d_embed=self.d_embed, d_hidden=self.d_hidden)


class WindowLM(nn.Module):
    """A table of vectors, a hidden layer, and a score for every token."""

    def __init__(self, config: WindowLMConfig) -> None:
        super().__init__()
        self.config = config
        self.embed = nn.Embedding(config.n_tokens + 1, config.d_embed)
        self.hide = nn.Linear(config.n_context * config.d_embed, config.d_hidden)
        self.read = nn.Linear(config.d_hidden, config.n_tokens)

    def forward(self, windows: Tensor) -> Tensor:
        """Return logits (B, V) of the token after each window (B, S) of ids."""
        check_shape("windows", windows, "B S", S=self.config.n_context)
        x = self.embed(windows).flatten(start_dim=1)  # (B, S, E) -> (B, S * E)
        return self.read(torch.tanh(self.hide(x)))

    def windows(self, ids: Tensor) -> Tensor:
        """Return what stands before each token of a text: (N,) -> (N, S)."""
        check_shape("ids", ids, "N")
        if not len(ids):
            raise ValueError("ids is empty: a text needs at least one token")
        n_context = self.config.n_context
        padded = F.pad(ids[:-1], (n_context, 0), value=self.config.n_tokens)
        return padded.unfold(0, n_context, 1)


@torch.no_grad()
def log_probabilities(model: WindowLM, ids: Tensor, *, n_rows: int = 4096) -> Tensor:
    """Return the log-probability of each token of a text (N,), ``n_rows`` at a time."""
    at_least(1, n_rows=n_rows)
    training = model.training
    model.eval()
    parts = zip(model.windows(ids).split(n_rows), ids.split(n_rows), strict=True)
    scores = [-F.cross_entropy(model(x), y, reduction="none") for x, y in parts]
    model.train(training)
    return torch.cat(scores)
