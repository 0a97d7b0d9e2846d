"""Writing token by token: choose, read what was chosen, choose again.

A model that writes has ``start(...)``, which reads what is given (a prompt, or a source
and a first token), and ``step``, which reads one token more. Both return the logits of
the next token and a state. A state knows what has been read and is never changed:
keys and values, the ``h`` of an RNN, and nothing here looks into it. Writing never
trains: it runs without gradients and without dropout, and leaves the model in the mode
it was in. Axes: B rows, T tokens written, V vocabulary.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Protocol

import torch
from torch import Tensor, nn

from unrolled.decoding.sampling import Chooser, greedy
from unrolled.shapes import at_least


class State(Protocol):
    """What has been read so far."""

    def rows(self, index: Tensor, /) -> Any:
        """Return the state of the rows ``index`` (N,); rows may repeat."""


class Writer(Protocol):
    """A model that writes; see this module's first lines."""

    def start(self, *args: Any, **kwargs: Any) -> tuple[Tensor, State]:
        """Read what is given; return logits (B, V) and a :class:`State`."""

    def step(self, ids: Tensor, state: Any, /) -> tuple[Tensor, State]:
        """Read a token ``ids`` (B,) more; return logits (B, V) and a new state."""

    def eval(self) -> Any:
        """Leave out what belongs to training, as ``nn.Module`` does."""

    def modules(self) -> Iterator[nn.Module]:
        """Yield the model and its parts, as ``nn.Module`` does."""


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class Written:
    """Tokens ``ids`` (B, T), of which the first ``lengths`` (B,) of each row count.

    A row ends with its stop token, which counts; more of the same fill it up.
    """

    ids: Tensor
    lengths: Tensor

    @property
    def mask(self) -> Tensor:
        """Return which tokens count, (B, T)."""
        places = torch.arange(self.ids.shape[1], device=self.ids.device)
        return places < self.lengths[:, None]

    def lists(self) -> list[list[int]]:
        """Return the tokens that count, row by row, as a tokenizer decodes them."""
        rows = zip(self.ids.tolist(), self.lengths.tolist(), strict=True)
        return [row[:length] for row, length in rows]


@contextmanager
def evaluating(model: Writer | nn.Module) -> Iterator[None]:
    """Put a model in evaluation mode for a while, and then each part as it was."""
    before = [(module, module.training) for module in model.modules()]
    model.eval()
    try:
        yield
    finally:
        for module, training in before:
            module.training = training


def stream(
    model: Writer,
    *start: Tensor | None,
    n_tokens: int,
    choose: Chooser = greedy,
    stop: int | None = None,
) -> Iterator[Tensor]:
    """Yield the tokens (B,) as they are written, ``n_tokens`` at most.

    A row that has written ``stop`` goes on writing it; once all have, that is the end.
    Until then the model is in evaluation mode, between two tokens too.

    Args:
        model: a model that writes.
        start: what ``model.start`` takes: for a language model, prompts (B, S) and
            their lengths (B,), if those differ.
        n_tokens: how many tokens to write.
        choose: takes logits (B, V) to ids (B,); see ``unrolled.decoding.sampling``.
        stop: the token that ends a row; None never ends one.
    """
    at_least(1, n_tokens=n_tokens)
    return _stream(model, start, n_tokens, choose, stop)


def generate(
    model: Writer,
    *start: Tensor | None,
    n_tokens: int,
    choose: Chooser = greedy,
    stop: int | None = None,
) -> Written:
    """Return what :func:`stream` yields, side by side, and how much of it counts."""
    steps = stream(model, *start, n_tokens=n_tokens, choose=choose, stop=stop)
    ids = torch.stack(list(steps), dim=1)  # (B, T)
    return Written(ids=ids, lengths=until(ids, stop))


def stream_on(
    model: Writer,
    prompts: Tensor,
    *,
    room: int,
    n_tokens: int,
    choose: Chooser = greedy,
    stop: int | None = None,
) -> Iterator[Tensor]:
    """Stream from a model that can read ``room`` tokens at most, for as long as asked.

    Whenever there is no room left, it reads the later half anew and goes on from there;
    what came before is forgotten. So it may write more than it can remember.
    """
    at_least(1, room=room, n_tokens=n_tokens)
    return _sections(model, prompts, room, n_tokens, choose, stop)


def _sections(
    model: Writer,
    read: Tensor,
    room: int,
    n_tokens: int,
    choose: Chooser,
    stop: int | None,
) -> Iterator[Tensor]:
    stopped = torch.zeros(len(read), dtype=torch.bool, device=read.device)
    while n_tokens:
        if read.shape[1] > room:
            read = read[:, -max(1, room // 2) :]
        n = min(n_tokens, 1 + room - read.shape[1])  # the last one need not be read
        new = []
        for ids in stream(model, read, n_tokens=n, choose=choose, stop=stop):
            if stop is not None:
                ids = torch.where(stopped, stop, ids)
                stopped = stopped | (ids == stop)
            new.append(ids)
            yield ids
            if stop is not None and bool(stopped.all()):
                return
        read = torch.cat([read, torch.stack(new, dim=1)], dim=1)
        n_tokens -= n


def until(ids: Tensor, stop: int | None) -> Tensor:
    """Return how many tokens of each row of (..., T) count: up to the first stop."""
    before = (ids != stop).cumprod(dim=-1) if stop is not None else torch.ones_like(ids)
    return (before.sum(dim=-1) + 1).clamp(max=ids.shape[-1])


@torch.inference_mode()  # as a decorator: off again while the caller has its turn
def _stream(
    model: Writer,
    start: tuple[Tensor | None, ...],
    n_tokens: int,
    choose: Chooser,
    stop: int | None,
) -> Iterator[Tensor]:
    with evaluating(model):
        logits, state = model.start(*start)
        stopped = logits.new_zeros(len(logits), dtype=torch.bool)
        for left in reversed(range(n_tokens)):
            ids = choose(logits)
            if stop is not None:
                ids = torch.where(stopped, stop, ids)
                stopped = stopped | (ids == stop)
            yield ids
            if not left or (stop is not None and bool(stopped.all())):
                return  # nobody asks for what comes after the last token
            logits, state = model.step(ids, state)
