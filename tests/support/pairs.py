"""What is true of every model that reads a source and writes a target."""

from collections.abc import Callable

import torch
import torch.nn.functional as F
from torch import Tensor, nn

Agree = Callable[..., None]
Given = tuple[Tensor, Tensor, Tensor | None]  # source, target_in and source_mask

WRONG = [  # what is asked of a model with a source (3, 5), a target (3, 4) and a mask
    (lambda m, s, t, _: m(s[0], t), r"^source must be \(B, S\): expected 2 axes"),
    (lambda m, s, t, _: m(s, t[:2]), r"^target_in must be \(B, T\): B should be 3"),
    (
        lambda m, s, t, _: m.alignment(s, t[:2]),
        r"^target_in must be \(B, T\): B should be 3",
    ),
    (lambda m, s, t, _: m(s, t[:, :0]), "^target_in is empty: each row needs one"),
    (lambda m, s, t, _: m(s[:, :0], t), "^source is empty: each row needs one"),
    (
        lambda m, s, t, mask: m(s, t, mask[:, 1:]),
        r"^source_mask must be \(B, T\): T should be 5, got 4",
    ),
    (
        lambda m, s, t, mask: m(s, t, mask.long()),
        "^source_mask is torch.int64; it must be boolean",
    ),
    (
        lambda m, s, t, mask: m(s, t, mask & False),
        r"^source_mask is False throughout in rows \[0, 1, 2\]",
    ),
    (
        lambda m, s, t, _: m.start(s, None, t[:, :1]),
        r"^first must be \(B\): expected 1 axes, got 2",
    ),
    (
        lambda m, s, t, _: m.start(s, None, t[:2, 0]),
        r"^first must be \(B\): B should be 3, got 2",
    ),
    (
        lambda m, s, t, _: m.step(t[:2, 0], m.start(s, None, t[:, 0])[1]),
        r"^ids must be \(B\): B should be 3, got 2",
    ),
]


def later_tokens_change_no_earlier_answer(
    model: nn.Module, source: Tensor, target_in: Tensor
) -> None:
    changed = target_in.clone()
    changed[:, 2:] = (changed[:, 2:] + 1) % model.config.n_target
    before, after = model(source, target_in), model(source, changed)
    assert torch.equal(before[:, :2], after[:, :2])
    assert (before[:, 2:] != after[:, 2:]).any(dim=-1).all()


def padding_changes_nothing(
    agree: Agree,
    model: nn.Module,
    table: nn.Embedding,
    sentences: tuple[Tensor, Tensor],
    mask: Tensor,
) -> None:
    """Hold each padded row to itself alone; then the embedding of padding is nan."""
    source, target_in = sentences
    source, pad = source.clamp(min=1), 0
    wanted = [
        model(source[row : row + 1, real], target_in[row : row + 1])
        for row, real in enumerate(mask)
    ]
    with torch.no_grad():
        table.weight[pad] = torch.nan
    source[~mask] = pad
    found = model(source, target_in, mask)
    agree(found, torch.cat(wanted), model=True)
    wider = F.pad(source, (0, 3), value=pad), target_in, F.pad(mask, (0, 3))
    agree(model(*wider), found, model=True)
    found.square().sum().backward()
    for name, parameter in model.named_parameters():
        if parameter.grad is not None:
            assert parameter.grad.isfinite().all(), name


def steps_are_the_whole(agree: Agree, model: nn.Module, given: Given) -> None:
    """Write a token at a time, and hold each answer to that of all at once."""
    source, target_in, mask = given
    logits, state = model.start(source, mask, target_in[:, 0])
    steps = [logits]
    for ids in target_in[:, 1:].unbind(dim=1):
        logits, state = model.step(ids, state)
        steps.append(logits)
    agree(torch.stack(steps, dim=1), model(*given), model=True)


def rows_go_on_alone(agree: Agree, model: nn.Module, given: Given) -> None:
    """Pick rows of a state, one of them twice, and write on; the old state is kept."""
    (source, target_in, mask), index = given, torch.tensor([2, 0, 0, 1])
    _, state = model.start(source, mask, target_in[:, 0])
    _, on = model.step(target_in[index, 1], state.rows(index))
    ours, _ = model.step(target_in[index, 2], on)
    seen = None if mask is None else mask[index]
    wanted = model(source[index], target_in[index, :3], seen)
    agree(ours, wanted[:, 2], model=True)
    again, _ = model.step(target_in[:, 1], state)
    agree(again, model(*given)[:, 1], model=True)


def runs_on_meta(model: nn.Module, given: tuple[Tensor, Tensor, Tensor]) -> None:
    model.to("meta")
    source, target_in, mask = (x.to("meta") for x in given)
    n_rows, n_target = len(source), model.config.n_target
    assert model(source, target_in, mask).shape == (*target_in.shape, n_target)
    _, state = model.start(source, mask, target_in[:, 0])
    logits, _ = model.step(target_in[:, 1], state.rows(torch.zeros(n_rows).long()))
    assert logits.is_meta
    assert logits.shape == (n_rows, n_target)


def share_written_backwards(model: nn.Module, *, n_steps: int, lr: float) -> float:
    """Train ``model`` to turn 4 of 5 words round, and return how often it can.

    Its vocabularies are of 6 tokens, the last of which begins a target.
    """
    n_places, n_words, first = 4, 5, 5
    adam = torch.optim.Adam(model.parameters(), lr=lr)
    for _ in range(n_steps):
        source = torch.randint(0, n_words, (64, n_places))
        wanted = source.flip(1)
        target_in = torch.cat([torch.full((64, 1), first), wanted[:, :-1]], dim=1)
        logits = model(source, target_in)
        loss = F.cross_entropy(logits.flatten(0, 1), wanted.flatten())
        adam.zero_grad()
        loss.backward()
        adam.step()
    source = torch.randint(0, n_words, (50, n_places))
    logits, state = model.start(source, None, torch.full((50,), first))
    written = [logits.argmax(dim=-1)]
    for _ in range(n_places - 1):
        logits, state = model.step(written[-1], state)
        written.append(logits.argmax(dim=-1))
    right = torch.stack(written, dim=1) == source.flip(1)
    return right.all(dim=1).float().mean().item()
