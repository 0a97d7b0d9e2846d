"""A model that writes from a table, so that what it must write can be counted out."""

import math
from dataclasses import dataclass
from itertools import product

import torch
from torch import Tensor, nn


@dataclass(frozen=True)
class Previous:
    """The token before the last one."""

    ids: Tensor

    def rows(self, index: Tensor) -> "Previous":
        return Previous(self.ids[index])


class TableWriter(nn.Module):
    """The next token depends on the two before it: logits (V, V, V).

    Its dropout would be seen if it were left on, and so would gradients.
    """

    def __init__(self, n_tokens: int, *, scale: float = 1.0, dtype=torch.float64):
        super().__init__()
        table = scale * torch.randn(n_tokens, n_tokens, n_tokens, dtype=dtype)
        self.table = nn.Parameter(table)
        self.drop = nn.Dropout(0.5)
        self.n_steps = 0

    def forward(self, ids: Tensor) -> Tensor:
        before = torch.cat([ids[:, :1], ids[:, :-1]], dim=1)
        return self.drop(self.table[before, ids])

    def start(self, prompts: Tensor, lengths: Tensor | None = None):
        last = prompts.shape[1] - 1 if lengths is None else lengths - 1
        rows = torch.arange(len(prompts))
        before = prompts[rows, last - 1]
        return self.step(prompts[rows, last], Previous(before))

    def step(self, ids: Tensor, state: Previous):
        self.n_steps += 1
        assert torch.is_inference_mode_enabled()
        return self.drop(self.table[state.ids, ids]), Previous(ids)


def log_probabilities(model: TableWriter) -> Tensor:
    """Return the log-probabilities (V, V, V); where all logits are -inf, so are they.

    Nothing can follow there: a text that gets there unended has no end.
    """
    logits = model.table.detach().double()
    dead = (logits == -math.inf).all(dim=-1, keepdim=True)
    return torch.where(dead, -math.inf, logits.log_softmax(dim=-1))


def every_text(model: TableWriter, prompt: list[int], n_tokens: int, stop: int | None):
    """Return the log-probability of every text there is after a prompt, by its ids.

    A text ends with its only ``stop``, or has ``n_tokens`` tokens and none.
    """
    log_p = log_probabilities(model).tolist()  # numbers are looked up sooner there
    found = {}
    for n in range(1, n_tokens + 1):
        for text in product(range(len(log_p)), repeat=n):
            if stop in text[:-1] or (n < n_tokens and text[-1] != stop):
                continue
            read = [*prompt, *text]
            triples = zip(read[-n - 2 :], read[-n - 1 :], read[-n:], strict=False)
            found[text] = sum(log_p[a][b][c] for a, b, c in triples)
    return found
