"""Losses: torch's numbers, and not one of what the mask hides."""

import math

import pytest
import torch
import torch.nn.functional as F
from hypothesis import given, settings
from hypothesis import strategies as st

from unrolled.data.batch import Batch, PairBatch
from unrolled.losses import cross_entropy, n_counted

SIZES = st.integers(1, 5)


def drawn(*shape, V, dtype=torch.float32, seed=0):
    rng = torch.Generator().manual_seed(seed)
    logits = torch.randn(*shape, V, generator=rng, dtype=dtype, requires_grad=True)
    targets = torch.randint(V, shape, generator=rng)
    mask = torch.rand(shape, generator=rng) < 0.6
    mask.view(-1)[0] = True
    return logits, targets, mask


@given(
    B=SIZES,
    T=SIZES,
    V=SIZES,
    smoothing=st.sampled_from([0.0, 0.1, 1.0]),
    dtype=st.sampled_from([torch.float32, torch.float64]),
    masked=st.booleans(),
)
@settings(max_examples=40)
def test_cross_entropy_is_torchs(agree, B, T, V, smoothing, dtype, masked):
    logits, targets, mask = drawn(B, T, V=V, dtype=dtype, seed=B + T)
    if not masked:
        mask = torch.ones(B, T, dtype=torch.bool)
    ours = cross_entropy(logits, targets, mask if masked else None, smoothing)
    theirs = F.cross_entropy(logits[mask], targets[mask], label_smoothing=smoothing)
    agree(ours, theirs)
    slopes = [torch.autograd.grad(loss, logits)[0] for loss in (ours, theirs)]
    agree(*slopes, gradient=True)


def test_it_is_the_mean_surprise():
    p = torch.tensor([[[0.5, 0.25, 0.25], [0.1, 0.1, 0.8]]])
    loss = cross_entropy(p.log(), torch.tensor([[0, 2]]))
    assert loss.item() == pytest.approx(-(math.log(0.5) + math.log(0.8)) / 2)


def test_smoothing_shares_its_part_among_all_tokens(agree):
    logits, targets, mask = drawn(2, 3, V=4, dtype=torch.float64)
    answer = 0.8 * F.one_hot(targets, 4).double() + 0.2 / 4
    literal = -(answer * logits.log_softmax(-1)).sum(-1)[mask].mean()
    agree(cross_entropy(logits, targets, mask, label_smoothing=0.2), literal)


def test_rows_with_one_answer_each_are_as_good(agree):
    logits, targets, _ = drawn(5, V=3)
    agree(cross_entropy(logits, targets), F.cross_entropy(logits, targets))


@pytest.mark.parametrize("smoothing", [0.0, 0.3])
def test_what_the_mask_hides_changes_nothing_and_learns_nothing(smoothing):
    logits, targets, mask = drawn(3, 4, V=5)
    loss = cross_entropy(logits, targets, mask, smoothing)
    (slope,) = torch.autograd.grad(loss, logits)
    assert slope[mask].any(-1).all()
    assert not slope[~mask].any()
    other = torch.where(mask[..., None], logits, 1e4)
    junk = targets.masked_fill(~mask, -7)
    assert torch.equal(cross_entropy(other, junk, mask, smoothing), loss)


def test_where_nothing_counts_nothing_is_lost():
    logits, targets, mask = drawn(2, 3, V=4)
    loss = cross_entropy(logits, targets, torch.zeros_like(mask))
    loss.backward()
    assert loss == 0
    assert not logits.grad.any()


def test_it_compiles_whole_and_needs_no_numbers():
    logits, targets, mask = drawn(2, 3, V=4)
    compiled = torch.compile(cross_entropy, fullgraph=True, backend="eager")
    expected = cross_entropy(logits, targets, mask, 0.1)
    assert torch.equal(compiled(logits, targets, mask, 0.1), expected)
    held = [x.detach().to("meta") for x in (logits, targets, mask)]
    assert cross_entropy(*held).shape == ()


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (
            {"targets": torch.zeros(3, 2, dtype=torch.long)},
            r"^targets must be \(2, 3\), one for each row of logits \(2, 3, 4\); their "
            r"shape is \(3, 2\)$",
        ),
        (
            {"mask": torch.ones(2, dtype=torch.bool)},
            r"^mask is torch.bool of shape \(2,\); it must be boolean, one value for "
            r"each target: \(2, 3\)$",
        ),
        ({"mask": torch.ones(2, 3)}, r"^mask is torch.float32 of shape \(2, 3\); it"),
        ({"label_smoothing": 1.5}, "^label_smoothing=1.5 must lie between 0 and 1$"),
        ({"label_smoothing": -0.1}, "^label_smoothing=-0.1 must lie between 0 and 1$"),
    ],
)
def test_what_does_not_fit_is_named(change, message):
    logits, targets, mask = drawn(2, 3, V=4)
    with pytest.raises(ValueError, match=message):
        cross_entropy(**({"logits": logits, "targets": targets, "mask": mask} | change))


def test_what_a_loss_is_a_mean_of_is_counted():
    x, steps = torch.zeros(2, 3), torch.zeros(2, 3, dtype=torch.long)
    mask = torch.tensor([[True, True, False], [True, False, False]])
    assert n_counted(Batch(x=x, y=steps)) == 6
    assert n_counted(Batch(x=x, y=steps, mask=mask)) == 3
    assert n_counted(Batch(x=x, y=torch.zeros(2), mask=mask)) == 2  # a row, an answer
    whole = torch.ones(2, 4, dtype=torch.bool)
    pair = PairBatch(
        source=torch.zeros(2, 4),
        source_mask=whole,
        target_in=steps,
        target_out=steps,
        target_mask=mask,
    )
    assert n_counted(pair) == 3
