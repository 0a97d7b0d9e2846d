"""Windows on a text, against plain loops and against the figure of deck 4."""

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from unrolled.data.batch import Batch
from unrolled.data.windows import (
    carried_windows,
    sampled_windows,
    scoring_windows,
    strided_windows,
)
from unrolled.runtime import generator

sizes = st.tuples(st.integers(2, 60), st.integers(2, 12), st.integers(1, 12))


def whole(batches):
    """All batches in one, and the number of rows of each."""
    found = list(batches)
    parts = {"x": [b.x for b in found], "y": [b.y for b in found]}
    if found[0].mask is not None:
        parts["mask"] = [b.mask for b in found]
    joined = {name: torch.cat(tensors) for name, tensors in parts.items()}
    return Batch(**joined), [len(batch) for batch in found]


def text(n):
    """A text whose tokens are their own places."""
    return torch.arange(n)


def test_the_striding_of_deck_4_put_right():
    """004:457-486: 50 tokens, windows of 5, stride 2, and 4 predictions in each.

    The slide's last two windows begin at t_44 and t_46. From t_1 in steps of two,
    they begin at t_43 and t_45, and t_50 is in none.
    """
    batch, sizes = whole(strided_windows(text(51)[1:], 10, width=5, stride=2))
    assert sizes == [10, 10, 3]
    starts = batch.x[:, 0].tolist()
    assert starts == list(range(1, 46, 2))
    assert starts[-2:] == [43, 45]
    assert batch.x.shape == batch.y.shape == (23, 4)
    assert batch.x[0].tolist() == [1, 2, 3, 4]
    assert batch.y[0].tolist() == [2, 3, 4, 5]
    assert 50 not in batch.y


@given(sizes)
def test_strided_windows_are_those_of_a_loop(size):
    n, width, stride = size
    n = max(n, width)
    tokens = list(range(n))
    found = [tokens[i : i + width] for i in range(0, n - width + 1, stride)]
    batch, sizes = whole(strided_windows(text(n), 4, width=width, stride=stride))
    assert all(size == 4 for size in sizes[:-1])
    assert batch.x.tolist() == [window[:-1] for window in found]
    assert batch.y.tolist() == [window[1:] for window in found]
    assert len(batch) == (n - width) // stride + 1


@given(sizes)
def test_scoring_windows_score_every_token_once_with_context(size):
    n, width, stride = size
    stride = min(stride, width - 1)
    batch, sizes = whole(scoring_windows(text(n), 4, width=width, stride=stride))
    assert all(size == 4 for size in sizes[:-1])
    assert len(batch) == 1 + -(-max(n - width, 0) // stride)  # no more than needed
    assert sorted(batch.y[batch.mask].tolist()) == list(range(1, n))
    assert torch.equal(batch.y, batch.x + 1)
    in_sight = batch.y - batch.x[:, :1]  # tokens of the window before the target
    wanted = torch.minimum(batch.y, torch.tensor(width - 1 - stride))
    assert (in_sight >= wanted)[batch.mask].all()
    assert batch.y[-1, -1] == n - 1


def test_a_stride_of_one_scores_with_the_fullest_context():
    (batch,) = scoring_windows(text(9), 9, width=4, stride=1)
    assert batch.mask.sum(dim=1).tolist() == [3, 1, 1, 1, 1, 1]
    assert batch.mask[1:, -1].all()


def test_sampled_windows_begin_everywhere_alike():
    batch = sampled_windows(text(12), 9000, width=5, generator=generator(0))
    assert torch.equal(batch.x, batch.x[:, :1] + torch.arange(4))
    assert torch.equal(batch.y, batch.x + 1)
    counts = batch.x[:, 0].bincount(minlength=8)
    assert counts.shape == (8,)
    chi_square = ((counts - 1125) ** 2 / 1125).sum()
    assert chi_square < 24.3  # 7 degrees of freedom, one draw in a thousand


def test_a_seed_fixes_the_sample():
    one, two = (
        sampled_windows(text(90), 9, width=5, generator=generator(3)) for _ in range(2)
    )
    assert torch.equal(one.x, two.x)


@given(st.integers(2, 80), st.integers(1, 7), st.integers(1, 9))
def test_carried_windows_go_on_where_they_stopped(n, n_rows, steps):
    n = max(n, n_rows + 1)
    batches = list(carried_windows(text(n), n_rows, steps=steps))
    x = torch.cat([batch.x for batch in batches], dim=1)
    y = torch.cat([batch.y for batch in batches], dim=1)
    length = (n - 1) // n_rows
    strands = torch.arange(n_rows)[:, None] * length + torch.arange(length)
    assert torch.equal(x, strands)
    assert torch.equal(y, strands + 1)
    assert all(batch.x.shape[1] == steps for batch in batches[:-1])
    assert n - 1 - y.numel() < n_rows  # what is left out


def test_an_rnn_with_a_carried_state_reads_what_it_reads_at_once():
    rnn = torch.nn.RNN(1, 3, batch_first=True)
    ids = torch.randint(9, (41,))
    batches = list(carried_windows(ids, 4, steps=3))
    state, pieces = None, []
    for batch in batches:
        states, state = rnn(batch.x[..., None].float(), state)
        pieces.append(states)
    whole, _ = rnn(ids[:40].view(4, 10, 1).float())
    torch.testing.assert_close(torch.cat(pieces, dim=1), whole)


@pytest.mark.parametrize(
    "cut",
    [
        lambda ids: strided_windows(ids, 3, width=4, stride=1),
        lambda ids: scoring_windows(ids, 3, width=4, stride=2),
        lambda ids: [sampled_windows(ids, 3, width=4, generator=generator(0))],
        lambda ids: carried_windows(ids, 3, steps=2),
    ],
)
def test_a_masked_input_changes_neither_targets_nor_text(cut):
    ids = text(12)
    for batch in cut(ids):
        before = batch.y.clone()
        batch.x.fill_(-1)
        assert torch.equal(batch.y, before)
        batch.y.fill_(-1)
    assert torch.equal(ids, text(12))


@pytest.mark.parametrize(
    ("call", "said"),
    [
        (
            lambda: strided_windows(text(4), 2, width=5, stride=1),
            r"ids has shape \(4,\); it must be one row of at least 5 tokens",
        ),
        (
            lambda: strided_windows(text(4)[None], 2, width=2, stride=1),
            r"ids has shape \(1, 4\)",
        ),
        (
            lambda: strided_windows(text(4), 2, width=1, stride=1),
            r"width=1 must be at least 2: an input and its target",
        ),
        (
            lambda: strided_windows(text(4), 2, width=2, stride=0),
            r"stride=0 must be at least 1$",
        ),
        (
            lambda: scoring_windows(text(9), 2, width=4, stride=4),
            r"stride=4 must be at least 1 and at most width - 1 = 3$",
        ),
        (
            lambda: scoring_windows(text(1), 2, width=4, stride=3),
            r"ids has shape \(1,\); it must be one row of at least 2 tokens",
        ),
        (
            lambda: sampled_windows(text(3), 2, width=4, generator=generator(0)),
            r"at least 4 tokens",
        ),
        (
            lambda: sampled_windows(text(3), 0, width=2, generator=generator(0)),
            r"n_rows=0 must be at least 1",
        ),
        (
            lambda: strided_windows([1, 2, 3], 2, width=2, stride=1),
            r"ids is a list; make it torch.tensor\(ids\)",
        ),
        (
            lambda: strided_windows(text(9), 0, width=2, stride=1),
            r"n_rows=0 must be at least 1",
        ),
        (
            lambda: scoring_windows(text(9), 0, width=2, stride=1),
            r"n_rows=0 must be at least 1",
        ),
        (
            lambda: carried_windows(text(3), 3, steps=2),
            r"at least 4 tokens",
        ),
        (
            lambda: carried_windows(text(9), 0, steps=2),
            r"n_rows=0 must be at least 1",
        ),
        (
            lambda: carried_windows(text(9), 2, steps=0),
            r"steps=0 must be at least 1",
        ),
    ],
)
def test_what_cannot_be_cut_is_named(call, said):
    with pytest.raises(ValueError, match=said):
        call()
