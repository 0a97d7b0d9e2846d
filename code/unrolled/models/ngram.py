r"""Counting what follows what: n-gram language models.

The order n is the longest run of tokens that is counted: the last n - 1 tokens, the
context u, foretell the next one, w (:eq:`lm-ngram`). All models here are of one form,

.. math:: p(w \mid u) = s(uw) + r(u) \, q(w),

a share :math:`s` for what was seen after :math:`u`, and a rest :math:`r` that is given
out by a simpler distribution :math:`q`, also to what was never seen:

- **add-k**: :math:`s = c(uw) / (c(u) + kV)`, :math:`r = kV / (c(u) + kV)`, and
  :math:`q` is uniform, :math:`1/V`. So :math:`p` is that of :eq:`lm-add-k`.
- **Kneser-Ney**, :eq:`lm-kneser-ney` (interpolated, one discount :math:`d` an order):
  :math:`s = \max(c(uw) - d, 0) / c(u)`, :math:`r = d \, |\{w : c(uw) > 0\}| / c(u)`,
  and :math:`q` is the same model of the context less its first token; below the
  shortest it is uniform. At all orders but the highest, :math:`c(uw)` counts not how
  often :math:`uw` comes but how many *different* tokens come before it, and
  :math:`d = n_1 / (n_1 + 2 n_2)`, of how many counts are 1 and 2 (0.75 if either is 0).

Here :math:`c(u)` is the sum of :math:`c(uw)` over all w. Where it is zero, the share is
zero and the rest one. The first tokens of a text have a shorter context, and the model
of that length. Axes: V vocabulary; a text is a vector of token ids (N,).

A run of k tokens is stored as its *code*: V times the place of its first k - 1 tokens
among all such runs, plus its last token. Codes stay small at any order.
"""

from dataclasses import dataclass
from typing import NamedTuple

import torch
from torch import Tensor

from unrolled.shapes import WHOLE, at_least, check_shape

USUAL_DISCOUNT = 0.75


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class Table:
    """All runs of one length: their codes, their shares, and the contexts' rests."""

    codes: Tensor
    share: Tensor
    rest: Tensor

    def find(self, contexts: Tensor, tokens: Tensor, n_tokens: int) -> Tensor:
        """Return the places of contexts with a token after each; -1 if unseen."""
        codes = contexts * n_tokens + tokens  # below 0 if the context is unseen itself
        places = torch.searchsorted(self.codes, codes).clamp(max=len(self.codes) - 1)
        return torch.where(self.codes[places] == codes, places, -1)


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class NGram:
    """An n-gram model: a table for each length of run, the shortest first.

    ``interpolated`` says who gives out the rest: a model of less context, or chance.
    """

    n_tokens: int
    tables: tuple[Table, ...]
    interpolated: bool

    @property
    def order(self) -> int:
        """Return the length of the longest run."""
        return len(self.tables)

    def probabilities(self, ids: Tensor) -> Tensor:
        """Return the probability of each token (N,) of a text, in double precision."""
        _check_ids("ids", ids, self.n_tokens)
        p = torch.full((len(ids),), 1 / self.n_tokens, dtype=torch.float64)
        contexts = torch.zeros(len(ids) + 1, dtype=torch.int64)
        for k, table in enumerate(self.tables[: len(ids)]):  # contexts of k tokens
            runs = table.find(contexts[:-1], ids[k:], self.n_tokens)
            p[k:] = self._mix(table, contexts[:-1], runs, p[k:])
            contexts = runs
        return p

    def log_probabilities(self, ids: Tensor) -> Tensor:
        """Return their logarithms (N,): minus infinity where nothing is left."""
        return self.probabilities(ids).log()

    def next_token(self, context: Tensor) -> Tensor:
        """Return the distribution (V,) of the token after a context (T,), T >= 0."""
        _check_ids("context", context, self.n_tokens)
        p = torch.full((self.n_tokens,), 1 / self.n_tokens, dtype=torch.float64)
        for k, table in enumerate(self.tables[: len(context) + 1]):
            place = torch.zeros(1, dtype=torch.int64)
            for j, token in enumerate(context[len(context) - k :]):
                place = self.tables[j].find(place, token, self.n_tokens)
            runs = table.find(place, torch.arange(self.n_tokens), self.n_tokens)
            p = self._mix(table, place, runs, p)
        return p

    def sample(
        self, n: int, *, generator: torch.Generator, prompt: Tensor | None = None
    ) -> Tensor:
        """Draw ``n`` tokens (n,) to follow the prompt, each given those before it."""
        at_least(1, n=n)
        start = torch.zeros(0, dtype=torch.int64) if prompt is None else prompt
        _check_ids("prompt", start, self.n_tokens)
        ids = torch.cat([start.long(), torch.zeros(n, dtype=torch.int64)])
        for t in range(len(start), len(ids)):
            p = self.next_token(ids[max(0, t - self.order + 1) : t])
            ids[t] = torch.multinomial(p, 1, generator=generator)[0]
        return ids[len(start) :]

    def _mix(self, table: Table, contexts: Tensor, runs: Tensor, q: Tensor) -> Tensor:
        """Return share + rest * q; what is unseen has no share and all the rest."""
        q = q if self.interpolated else torch.full_like(q, 1 / self.n_tokens)
        share = table.share[runs.clamp(min=0)].masked_fill(runs < 0, 0.0)
        rest = table.rest[contexts.clamp(min=0)].masked_fill(contexts < 0, 1.0)
        return share + rest * q


def add_k(ids: Tensor, *, order: int, n_tokens: int, k: float = 1.0) -> NGram:
    """Count a text (N,) and add ``k`` to every count; 1 is Laplace's rule.

    With ``k=0`` the model gives what was seen its frequency and all else nothing; after
    a context that was never seen, all tokens are alike.
    """
    if not 0 <= k < float("inf"):
        raise ValueError(f"{k=} must be a number that is not negative")
    tables = []
    for runs in _count(ids, order, n_tokens):
        total = runs.by_context(runs.counts)
        share = runs.counts / (total + k * n_tokens)[runs.contexts]
        rest = torch.where(total > 0, k * n_tokens / (total + k * n_tokens), 1.0)
        tables.append(Table(codes=runs.codes, share=share, rest=rest))
    return NGram(n_tokens=n_tokens, tables=tuple(tables), interpolated=False)


def kneser_ney(ids: Tensor, *, order: int, n_tokens: int) -> NGram:
    """Count a text (N,) and smooth it by interpolated Kneser-Ney."""
    counted = _count(ids, order, n_tokens)
    tables = []
    for runs, longer in zip(counted, [*counted[1:], None], strict=True):
        c = runs.counts
        if longer:  # one longer run for each token that comes before this one
            c = torch.bincount(longer.suffixes, minlength=len(c)).double()
        d = discount(c)
        total, kinds = runs.by_context(c), runs.by_context((c > 0).double())
        share = (c - d).clamp(min=0) / total.clamp(min=1)[runs.contexts]
        rest = torch.where(total > 0, d * kinds / total, 1.0)
        tables.append(Table(codes=runs.codes, share=share, rest=rest))
    return NGram(n_tokens=n_tokens, tables=tuple(tables), interpolated=True)


def discount(counts: Tensor) -> float:
    """Return n_1 / (n_1 + 2 n_2), or the usual 0.75 where one of them is zero."""
    once, twice = int((counts == 1).sum()), int((counts == 2).sum())
    return once / (once + 2 * twice) if once and twice else USUAL_DISCOUNT


class _Runs(NamedTuple):
    """All runs of one length in a text: codes, counts, and places of what is shorter.

    A run without its last token is its context, and without its first its suffix.
    """

    codes: Tensor
    counts: Tensor
    contexts: Tensor
    suffixes: Tensor
    n_contexts: int

    def by_context(self, values: Tensor) -> Tensor:
        """Return the sum of the runs' values over each context."""
        return torch.bincount(self.contexts, values, minlength=self.n_contexts)


def _count(ids: Tensor, order: int, n_tokens: int) -> list[_Runs]:
    """Return the runs of each length from 1 to ``order``."""
    at_least(1, order=order, n_tokens=n_tokens)
    _check_ids("ids", ids, n_tokens)
    if len(ids) < order:
        raise ValueError(f"ids has {len(ids)} tokens; {order=} needs as many")
    found = []
    places, n_contexts = torch.zeros(len(ids) + 1, dtype=torch.int64), 1
    for k in range(order):
        text = places[:-1] * n_tokens + ids[k:]  # the code of each run in the text
        codes, runs, counts = text.unique(return_inverse=True, return_counts=True)
        where = torch.empty_like(codes)
        where[runs] = torch.arange(len(runs))  # one of the places where the run stands
        suffixes, counts = places[1:][where], counts.double()
        found.append(_Runs(codes, counts, codes // n_tokens, suffixes, n_contexts))
        places, n_contexts = runs, len(codes)
    return found


def _check_ids(name: str, ids: Tensor, n_tokens: int) -> None:
    check_shape(name, ids, "N")
    if ids.dtype not in WHOLE:
        raise ValueError(f"{name} must be whole numbers, got dtype {ids.dtype}")
    low, high = map(int, ids.aminmax()) if len(ids) else (0, 0)
    if low < 0 or high >= n_tokens:
        raise ValueError(f"{name} has {low} to {high}; ids go from 0 to {n_tokens - 1}")
