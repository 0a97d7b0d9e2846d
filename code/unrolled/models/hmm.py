r"""A hidden Markov model: states that nobody sees, and the tokens they emit.

.. math::

    p(x_{1:T}, z_{1:T}) = \pi(z_1) \, b(x_1 \mid z_1)
        \prod_{t=2}^{T} a(z_t \mid z_{t-1}) \, b(x_t \mid z_t)

This is one path of :eq:`lm-hmm`. Everything is computed with logarithms. With
``lengths`` (B,), steps beyond a row's length change nothing. Axes: B rows, T steps, V
vocabulary, D hidden states: how many there are, not how wide one is.
"""

from dataclasses import dataclass

import torch
from torch import Tensor, nn

from unrolled.shapes import at_least, check_lengths, check_shape


@dataclass(frozen=True, kw_only=True, slots=True)
class HMMConfig:
    """How many hidden states and how many tokens an :class:`HMM` has."""

    n_states: int
    n_tokens: int

    def __post_init__(self) -> None:
        at_least(1, n_states=self.n_states, n_tokens=self.n_tokens)


class HMM(nn.Module):
    r"""The three distributions, each as logits: start, move and emit.

    :math:`\pi` is the softmax of ``start`` (D,), and :math:`a(\cdot \mid z)` and
    :math:`b(\cdot \mid z)` of row z of ``move`` (D, D) and ``emit`` (D, V).
    """

    def __init__(self, config: HMMConfig) -> None:
        super().__init__()
        self.config = config
        self.start = nn.Parameter(torch.randn(config.n_states))
        self.move = nn.Parameter(torch.randn(config.n_states, config.n_states))
        self.emit = nn.Parameter(torch.randn(config.n_states, config.n_tokens))

    def forward(self, ids: Tensor) -> Tensor:
        r"""Return :math:`\log p(x_{t+1} \mid x_{1:t})` (B, T, V) for ids (B, T).

        They are normalised logits: the probabilities sum to one.
        """
        _, log_a, log_b = self.log_probabilities()
        states, _ = self.filter(ids)
        coming = torch.logsumexp(states[..., None] + log_a, dim=-2)  # (B, T, D)
        return torch.logsumexp(coming[..., None] + log_b, dim=-2)  # (B, T, V)

    def log_probabilities(self) -> tuple[Tensor, Tensor, Tensor]:
        """Return the logarithms of the three distributions: (D,), (D, D), (D, V)."""
        start, move, emit = self.start, self.move, self.emit
        return start.log_softmax(-1), move.log_softmax(-1), emit.log_softmax(-1)

    def filter(self, ids: Tensor, lengths: Tensor | None = None) -> tuple[Tensor, ...]:
        r"""Return what each step tells of its state (B, T, D) and its token (B, T).

        They are :math:`\log p(z_t | x_{1:t})` and :math:`\log p(x_t | x_{1:t-1})`: the
        forward messages :math:`\alpha_t(z) = p(x_{1:t}, z_t = z)`, made to sum to one
        at every step so that they stay exact, and what they summed to before.

        .. math:: \alpha_t(z) = b(x_t \mid z) \sum_{y} \alpha_{t-1}(y) \, a(z \mid y)
        """
        real = _check(ids, lengths)
        log_pi, log_a, log_b = self.log_probabilities()
        emitted = log_b.T[ids]  # (B, T, D)
        state, log_p = _normalise(log_pi + emitted[:, 0])
        states, log_ps = [state], [log_p]
        for t in range(1, ids.shape[1]):
            came = torch.logsumexp(state[..., None] + log_a, dim=-2)
            new, log_p = _normalise(came + emitted[:, t])
            state = torch.where(real[:, t, None], new, state)
            states.append(state)
            log_ps.append(log_p.masked_fill(~real[:, t], 0.0))
        return torch.stack(states, dim=1), torch.stack(log_ps, dim=1)

    def log_likelihood(self, ids: Tensor, lengths: Tensor | None = None) -> Tensor:
        r"""Return :math:`\log p(x_{1:T})` of each row (B,): :eq:`lm-forward`."""
        return self.filter(ids, lengths)[1].sum(dim=1)

    @torch.no_grad()
    def viterbi(
        self, ids: Tensor, lengths: Tensor | None = None
    ) -> tuple[Tensor, Tensor]:
        """Return the most probable states (B, T) and their log-probability (B,).

        Beyond a row's length the states are -1.
        """
        real = _check(ids, lengths)
        log_pi, log_a, log_b = self.log_probabilities()
        emitted = log_b.T[ids]
        best, came_from = log_pi + emitted[:, 0], []
        stay = torch.arange(len(log_pi), device=ids.device).expand_as(best)
        for t in range(1, ids.shape[1]):
            top, before = (best[..., None] + log_a).max(dim=-2)
            best = torch.where(real[:, t, None], top + emitted[:, t], best)
            came_from.append(torch.where(real[:, t, None], before, stay))
        log_p, state = best.max(dim=-1)
        states = [state]
        for before in reversed(came_from):
            state = before.gather(1, state[:, None])[:, 0]
            states.append(state)
        return torch.stack(states[::-1], dim=1).masked_fill(~real, -1), log_p

    @torch.no_grad()
    def expected_counts(
        self, ids: Tensor, lengths: Tensor | None = None
    ) -> tuple[Tensor, Tensor, Tensor]:
        """Return how often the model thinks it started, moved and emitted so.

        The sums (D,), (D, D), (D, V) over all rows come from the forward and backward
        messages; a row that the model holds impossible gives ``nan``.
        """
        real = _check(ids, lengths)
        _, log_a, log_b = self.log_probabilities()
        emitted, (states, log_p) = log_b.T[ids], self.filter(ids, lengths)
        beta, moves = torch.zeros_like(states[:, 0]), torch.zeros_like(log_a)
        posteriors = [states[:, -1].exp()]  # p(z_t | x), (B, D) a step
        for t in range(ids.shape[1] - 1, 0, -1):
            now = real[:, t, None]
            onward = log_a + (emitted[:, t] + beta - log_p[:, t, None])[:, None]
            joint = (states[:, t - 1, :, None] + onward).exp()  # (B, D, D)
            moves += (joint * now[..., None]).sum(dim=0)
            beta = torch.where(now, torch.logsumexp(onward, dim=-1), beta)
            posteriors.append((states[:, t - 1] + beta).exp())
        states = torch.stack(posteriors[::-1], dim=1)  # (B, T, D)
        emits = torch.zeros_like(log_b.T).index_add(0, ids[real], states[real]).T
        return states[:, 0].sum(dim=0), moves, emits

    @torch.no_grad()
    def sample(
        self, n_rows: int, n_steps: int, *, generator: torch.Generator
    ) -> tuple[Tensor, Tensor]:
        """Draw tokens (B, T) and the states behind them (B, T)."""
        at_least(1, n_rows=n_rows, n_steps=n_steps)
        pi, a, b = (log_p.exp() for log_p in self.log_probabilities())
        states = [torch.multinomial(pi, n_rows, True, generator=generator)]
        for _ in range(n_steps - 1):
            moved = torch.multinomial(a[states[-1]], 1, generator=generator)
            states.append(moved[:, 0])
        hidden = torch.stack(states, dim=1)
        tokens = torch.multinomial(b[hidden.flatten()], 1, generator=generator)
        return tokens.view(n_rows, n_steps), hidden


@torch.no_grad()
def baum_welch(
    model: HMM,
    ids: Tensor,
    lengths: Tensor | None = None,
    *,
    n_steps: int,
    extra: float = 0.0,
) -> Tensor:
    """Train by expectation-maximisation; return the log-likelihoods (n_steps + 1,).

    Each step counts what the model expects and makes the shares its probabilities.
    The likelihood of the text never falls; the first value is that before training.
    ``extra`` is added to all counts: a little of it keeps every token possible, and
    then the likelihood may fall. A state that is never visited keeps its row.
    """
    at_least(1, n_steps=n_steps)
    if extra < 0:
        raise ValueError(f"{extra=} must not be negative")
    reached = [model.log_likelihood(ids, lengths).sum()]
    for _ in range(n_steps):
        counts = model.expected_counts(ids, lengths)
        for weight, count in zip(model.parameters(), counts, strict=True):
            total = count.sum(dim=-1, keepdim=True)
            weight.copy_(torch.where(total > 0, (count + extra).log(), weight))
        reached.append(model.log_likelihood(ids, lengths).sum())
    return torch.stack(reached)


def _normalise(log_p: Tensor) -> tuple[Tensor, Tensor]:
    """Return logarithms (B, D) that sum to one, and what they summed to (B,)."""
    total = torch.logsumexp(log_p, dim=-1)
    finite = total.clamp(min=torch.finfo(total.dtype).min)  # if all are impossible
    return log_p - finite[:, None], total


def _check(ids: Tensor, lengths: Tensor | None) -> Tensor:
    """Return which steps are real, (B, T), of a batch that has some."""
    check_shape("ids", ids, "B T")
    n_rows, n_steps = ids.shape
    if n_steps == 0:
        raise ValueError(f"ids has no time steps: its shape is {tuple(ids.shape)}")
    steps = torch.arange(n_steps, device=ids.device).expand(n_rows, -1)
    if lengths is None:
        return steps < n_steps
    check_lengths(lengths, n_rows, n_steps)
    return steps < lengths.to(ids.device)[:, None]
