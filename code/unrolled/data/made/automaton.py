r"""A language whose next-token probabilities are known exactly, after any prefix.

A probabilistic deterministic automaton: in state s it writes token w with probability
``emit[s, w]`` and goes to state ``move[s, w]``. The state follows from what was
written, so :math:`p(w_{t+1} \mid w_{1:t})` can be looked up, also after a prefix that
the automaton would hardly ever write itself: all that is needed is that no token is
impossible. Axes: B rows, T tokens, V vocabulary, D states: how many there are.
"""

from dataclasses import dataclass

import torch
from torch import Tensor

from unrolled.shapes import at_least, check_rates, check_shape


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class Automaton:
    """What is written in each state, and where it leads; it begins in state 0.

    Attributes:
        tokens: the tokens by name.
        emit: the probability of each token in each state, (D, V), none of them zero.
        move: the state after each token in each state, (D, V).
    """

    tokens: tuple[str, ...]
    emit: Tensor
    move: Tensor

    def __post_init__(self) -> None:
        check_shape("emit", self.emit, "D V", V=len(self.tokens))
        check_shape("move", self.move, "D V", D=len(self.emit), V=len(self.tokens))
        total = self.emit.sum(dim=1)
        if self.emit.min() <= 0 or (total - 1).abs().max() > 1e-6:
            raise ValueError(
                "emit must be positive and sum to one in every state; it has "
                f"{self.emit.min():.2g} and sums of {total.min():.4g} to "
                f"{total.max():.4g}"
            )

    def states(self, ids: Tensor) -> Tensor:
        """Return the state before each token of ``ids`` (B, T) and after the last."""
        check_shape("ids", ids, "B T")
        states = [torch.zeros(len(ids), dtype=torch.long)]
        for token in ids.T:
            states.append(self.move[states[-1], token])
        return torch.stack(states, dim=1)  # (B, T + 1)

    def next_token(self, ids: Tensor) -> Tensor:
        """Return the probabilities (B, T + 1, V) of every token after each prefix.

        The first are those of the first token, after nothing.
        """
        return self.emit[self.states(ids)]

    def write(self, n_rows: int, n_steps: int, *, generator: torch.Generator) -> Tensor:
        """Write ``n_rows`` rows of ``n_steps`` tokens, (B, T)."""
        at_least(1, n_rows=n_rows, n_steps=n_steps)
        state, ids = torch.zeros(n_rows, dtype=torch.long), []
        for _ in range(n_steps):
            drawn = torch.multinomial(self.emit[state], 1, generator=generator)[:, 0]
            ids.append(drawn)
            state = self.move[state, drawn]
        return torch.stack(ids, dim=1)


def counting(
    n_letters: int = 8, n_keys: int = 3, *, p_key: float = 0.05, p_slip: float = 0.04
) -> Automaton:
    """Return the language of counting on by a key.

    Lower-case letters follow one another in a ring, 1 further under key A, 2 under B,
    and so on; a capital changes the key and leaves the place in the ring as it is. With
    ``p_slip`` another letter comes, any of them alike, and counting goes on from there.
    The row begins under key A, at the last letter of the ring.
    """
    at_least(1, n_keys=n_keys)
    at_least(n_keys + 1, n_letters=n_letters)
    check_rates(p_key=p_key, p_slip=p_slip)
    letters = [chr(ord("a") + i) for i in range(n_letters)]
    keys = [chr(ord("A") + i) for i in range(n_keys)]
    emit = torch.full((n_keys, n_letters, n_letters + n_keys), 0.0)
    move = torch.zeros(n_keys, n_letters, n_letters + n_keys, dtype=torch.long)
    for key in range(n_keys):
        for last in range(n_letters):
            emit[key, last, :n_letters] = p_slip / (n_letters - 1)
            emit[key, last, (last + key + 1) % n_letters] = 1 - p_key - p_slip
            emit[key, last, n_letters:] = p_key / n_keys
            move[key, last, :n_letters] = key * n_letters + torch.arange(n_letters)
            move[key, last, n_letters:] = torch.arange(n_keys) * n_letters + last
    # State 0 is the first one: key A, and the last letter of the ring.
    order = torch.arange(n_keys * n_letters)
    order[:n_letters] = order[:n_letters].roll(1)
    place = torch.empty_like(order)
    place[order] = torch.arange(len(order))
    return Automaton(
        tokens=(*letters, *keys),
        emit=emit.flatten(0, 1)[order],
        move=place[move.flatten(0, 1)[order]],
    )
