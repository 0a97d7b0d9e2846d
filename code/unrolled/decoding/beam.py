r"""Beam search: several texts are written at once, and the best of them are kept.

The score of a text of n tokens is its log-probability over a length penalty (Wu and
others 2016), without which short texts would win, as each token lowers the sum:

.. math::

    s(y) = \frac{\log p(y)}{\ell(n)}, \qquad
    \ell(n) = \Bigl(\frac{5 + n}{6}\Bigr)^{\alpha}

In each step all tokens are tried after each of the O texts in the beam. The O likeliest
texts that have not ended stay. Those that have ended, if among the O likeliest of all,
go to a second list with their scores, where the O best stay. A row is done when no text
in the beam can still get into its list, whatever it goes on with. A beam as wide as
there are texts finds the best of all. A beam of one without a penalty is greedy.

A model may forbid tokens by logits of minus infinity. Where it forbids all, nothing can
follow: a text that gets there before its end is impossible and leaves the beam, which
may so run empty; those that have ended stay, and a row can be left with no text at all.

Axes: B rows, O texts in the beam, T tokens written, V vocabulary.
"""

import math
from dataclasses import dataclass

import torch
from torch import Tensor

from unrolled.decoding.loop import Writer, evaluating, until
from unrolled.shapes import at_least

NEVER = -1  # no token


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class Beams:
    """The best texts of each row, best first.

    ``ids`` (B, O, T) are their tokens, of which the first ``lengths`` (B, O) count, the
    stop token included. ``scores`` (B, O) are those of the search. If there are fewer
    than O texts in all, the rest have no tokens and a score of minus infinity.
    """

    ids: Tensor
    lengths: Tensor
    scores: Tensor

    def lists(self) -> list[list[list[int]]]:
        """Return the tokens that count, for each row its texts, best first."""
        return [
            [one[:n] for one, n in zip(ids, lengths, strict=True)]
            for ids, lengths in zip(
                self.ids.tolist(), self.lengths.tolist(), strict=True
            )
        ]


@dataclass(frozen=True, slots=True)
class _Texts:
    """Some texts of each row, best first: ``scores`` (B, O) and ``ids`` (B, O, T)."""

    scores: Tensor
    ids: Tensor

    def best(self, n: int) -> tuple["_Texts", Tensor]:
        """Return the ``n`` texts of the highest scores, and where they stood (B, n)."""
        scores, places = self.scores.topk(n, dim=1)
        return _Texts(scores, _pick(self.ids, places)), places

    def beside(self, others: "_Texts") -> "_Texts":
        """Return these texts and others of the same rows."""
        scores = torch.cat([self.scores, others.scores], dim=1)
        return _Texts(scores, torch.cat([self.ids, others.ids], dim=1))

    def only(self, these: Tensor) -> "_Texts":
        """Return the texts, with a score of minus infinity where not ``these``."""
        return _Texts(self.scores.masked_fill(~these, -math.inf), self.ids)

    def over(self, penalty: float) -> "_Texts":
        """Return the texts with their scores divided."""
        return _Texts(self.scores / penalty, self.ids)


def penalty(n: int, length_penalty: float) -> float:
    """Return what the log-probability of a text of ``n`` tokens is divided by."""
    return ((5 + n) / 6) ** length_penalty


def beam_search(
    model: Writer,
    *start: Tensor | None,
    n_beams: int,
    n_tokens: int,
    stop: int | None = None,
    length_penalty: float = 0.0,
) -> Beams:
    r"""Return the best texts that a beam of ``n_beams`` finds.

    A text ends with ``stop``, or after ``n_tokens`` tokens.

    Args:
        model: a model that writes.
        start: what ``model.start`` takes: prompts (B, S), for a language model.
        n_beams: O, how many texts are kept.
        n_tokens: how many tokens a text may have.
        stop: the token that ends a text; None never ends one.
        length_penalty: :math:`\alpha`; 0 compares log-probabilities as they are, and
            more favours longer texts.
    """
    at_least(1, n_beams=n_beams, n_tokens=n_tokens)
    if not math.isfinite(length_penalty):
        raise ValueError(f"{length_penalty=} must be finite")
    end = NEVER if stop is None else stop
    with torch.inference_mode(), evaluating(model):
        found = _search(model, start, n_beams, n_tokens, end, length_penalty)
    ids, scores = found.ids.clone(), found.scores.clone()  # ordinary tensors again
    lengths = until(ids, stop).masked_fill(scores == -math.inf, 0)
    return Beams(ids=ids, lengths=lengths, scores=scores)


def _search(
    model: Writer,
    start: tuple[Tensor | None, ...],
    n_beams: int,
    n_tokens: int,
    stop: int,
    alpha: float,
) -> _Texts:
    """Return the O best texts of each row, with their scores."""
    logits, state = model.start(*start)  # (B, V)
    rows = torch.arange(len(logits), device=logits.device)
    copies = rows.repeat_interleave(n_beams)  # (B * O,)
    logits, state = logits[copies], state.rows(copies)
    beam, ended = _begin(logits, len(rows), n_beams)
    for n in range(1, n_tokens + 1):
        tried, parents = _extend(beam, logits)
        ends = tried.ids[..., -1] == stop
        likeliest = torch.arange(ends.shape[1], device=ends.device) < n_beams
        new = tried.only(ends & likeliest).over(penalty(n, alpha))
        ended, _ = _longer(ended, stop).beside(new).best(n_beams)
        beam, places = tried.only(~ends).best(n_beams)
        if n == n_tokens:
            break
        hope = beam.scores[:, 0] / _largest(n + 1, n_tokens, alpha)
        if bool((ended.scores[:, -1] >= hope).all()):
            return ended
        index = (rows[:, None] * n_beams + parents.gather(1, places)).flatten()
        logits, state = model.step(beam.ids[..., -1].flatten(), state.rows(index))
    return ended.beside(beam.over(penalty(n_tokens, alpha))).best(n_beams)[0]


def _extend(beam: _Texts, logits: Tensor) -> tuple[_Texts, Tensor]:
    """Return the 2 O likeliest texts that are a token longer, and their parents.

    Each text ends in one way only, so at least O of them go on, or all that can. After
    a row of minus infinities, or after no text, any token is impossible, never ``nan``.
    """
    n_rows, n_beams = beam.scores.shape
    n_kinds = logits.shape[-1]
    log_p = logits.log_softmax(dim=-1, dtype=beam.scores.dtype)
    log_p = log_p.view(n_rows, n_beams, n_kinds)
    dead = (logits == -math.inf).all(dim=-1).view(n_rows, n_beams)
    none = beam.scores == -math.inf
    log_p = log_p.masked_fill((dead | none)[..., None], -math.inf)
    every = (beam.scores[..., None] + log_p).flatten(start_dim=1)  # (B, O * V)
    scores, places = every.topk(min(2, n_kinds) * n_beams, dim=1)
    parents, tokens = places // n_kinds, places % n_kinds
    ids = torch.cat([_pick(beam.ids, parents), tokens[..., None]], dim=-1)
    return _Texts(scores, ids), parents


def _begin(logits: Tensor, n_rows: int, n_beams: int) -> tuple[_Texts, _Texts]:
    """Return a beam of the empty text, and no text that has ended.

    The beam begins with O copies of one text, of which only the first counts.
    """
    dtype = torch.promote_types(logits.dtype, torch.float32)  # sums need the digits
    none = logits.new_full((n_rows, n_beams), -math.inf, dtype=dtype)
    ids = torch.empty(n_rows, n_beams, 0, dtype=torch.long, device=logits.device)
    return _Texts(none.index_fill(1, ids.new_zeros(1), 0.0), ids), _Texts(none, ids)


def _longer(ended: _Texts, stop: int) -> _Texts:
    """Return texts that have ended, filled up with one more stop."""
    fill = ended.ids.new_full((*ended.scores.shape, 1), max(stop, 0))
    return _Texts(ended.scores, torch.cat([ended.ids, fill], dim=-1))


def _pick(ids: Tensor, places: Tensor) -> Tensor:
    """Return the texts of (B, O, T) at ``places`` (B, n) of their row: (B, n, T)."""
    return ids.gather(1, places[..., None].expand(-1, -1, ids.shape[-1]))


def _largest(first: int, last: int, alpha: float) -> float:
    """Return the penalty that is kindest to a text of ``first`` to ``last`` tokens."""
    return max(penalty(first, alpha), penalty(last, alpha))
