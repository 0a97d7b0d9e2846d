"""Masking: the shares of the paper, specials untouched, the same draws every time."""

import pytest
import torch

from unrolled.data.masking import mask_tokens

V, MASK, SPECIALS = 50, 4, (0, 2, 3)


def draw(ids, real, *, seed=0, **named):
    return mask_tokens(
        ids,
        real,
        mask_id=MASK,
        n_tokens=V,
        special_ids=SPECIALS,
        generator=torch.Generator().manual_seed(seed),
        **named,
    )


@pytest.fixture(scope="module")
def texts():
    """Return many texts with specials and padding: ids, and which are real."""
    generator = torch.Generator().manual_seed(1)
    ids = torch.randint(V, (1000, 200), generator=generator)
    lengths = torch.randint(1, 201, (1000, 1), generator=generator)
    return ids, torch.arange(200) < lengths


def ordinary(ids):
    return ~torch.isin(ids, torch.tensor([*SPECIALS, MASK]))


def near(share, wanted, n):
    """Return whether a share of ``n`` is within five standard errors of the wanted."""
    return abs(float(share) - wanted) < 5 * (wanted * (1 - wanted) / n) ** 0.5


@pytest.mark.parametrize("p", [0.15, 0.4])
def test_the_shares_are_those_of_the_paper(texts, p):
    ids, real = texts
    shown, chosen = draw(ids, real, p=p)
    free = real & ordinary(ids)
    assert near(chosen[free].float().mean(), p, free.sum())
    n = int(chosen.sum())
    hidden = (shown == MASK)[chosen].float().mean()
    changed = ((shown != ids) & (shown != MASK))[chosen].float().mean()
    assert near(hidden, 0.8, n)
    assert near(changed, 0.1 * 45 / 46, n)  # one random token in 46 is the old one
    assert near((shown == ids)[chosen].float().mean(), 0.1 + 0.1 / 46, n)


def test_without_being_told_15_per_cent_are_chosen(texts):
    ids, real = texts
    assert torch.equal(draw(ids, real)[1], draw(ids, real, p=0.15)[1])


def test_what_is_not_chosen_stays_and_specials_and_padding_never_are(texts):
    ids, real = texts
    before = ids.clone()
    shown, chosen = draw(ids, real, p=1.0)
    assert torch.equal(chosen, real & ordinary(ids))
    assert torch.equal(shown[~chosen], ids[~chosen])
    assert torch.equal(ids, before)
    shown, chosen = draw(ids, real, p=0.0)
    assert not chosen.any()
    assert torch.equal(shown, ids)


def test_random_tokens_are_ordinary_and_each_as_likely(texts):
    ids, real = texts
    shown, chosen = draw(ids, real, p=1.0)
    wrong = shown[chosen & (shown != ids) & (shown != MASK)]
    assert ordinary(wrong).all()
    counts = torch.bincount(wrong, minlength=V)[ordinary(torch.arange(V))]
    n = len(wrong)
    chi_square = ((counts - n / 46) ** 2 / (n / 46)).sum()
    assert chi_square < 45 + 5 * (2 * 45) ** 0.5


def test_places_are_chosen_one_by_one(texts):
    """Whether a token is chosen says nothing of the next one."""
    ids, real = texts
    _, chosen = draw(ids, real, p=0.4)
    both = (real & ordinary(ids))[:, 1:] & (real & ordinary(ids))[:, :-1]
    pairs = (chosen[:, 1:] & chosen[:, :-1])[both].float().mean()
    assert near(pairs, 0.16, both.sum())


def test_a_generator_gives_the_same_masks_and_then_others(texts):
    ids, real = texts
    for a, b in zip(draw(ids, real), draw(ids, real), strict=True):
        assert torch.equal(a, b)
    assert not torch.equal(draw(ids, real, seed=1)[1], draw(ids, real)[1])
    state = torch.get_rng_state()
    generator = torch.Generator().manual_seed(0)
    named = {"mask_id": MASK, "n_tokens": V, "special_ids": (), "generator": generator}
    first, second = (mask_tokens(ids, real, **named)[1] for _ in range(2))
    assert not torch.equal(first, second)
    assert torch.equal(torch.get_rng_state(), state)


def test_ids_keep_their_type(texts):
    ids, real = texts
    shown, chosen = draw(ids[:2].int(), real[:2])
    assert shown.dtype == torch.int32
    assert chosen.dtype == torch.bool
    assert torch.equal(shown, draw(ids[:2], real[:2])[0].int())


def test_wrong_inputs_are_named():
    ids = torch.full((2, 3), 7)
    real = torch.ones(2, 3, dtype=torch.bool)
    given = {"mask_id": 1, "n_tokens": 9, "generator": torch.Generator()}
    with pytest.raises(ValueError, match=r"^ids must be \(B, T\): expected 2 axes"):
        mask_tokens(ids[0], real[0], special_ids=(), **given)
    with pytest.raises(
        ValueError, match=r"^mask is torch.int64 of shape \(2, 3\); it mu"
    ):
        mask_tokens(ids, ids, special_ids=(), **given)
    with pytest.raises(ValueError, match=r"one value for each step of ids: \(2, 3\)$"):
        mask_tokens(ids, real[:, :2], special_ids=(), **given)
    with pytest.raises(ValueError, match=r"^p=1.5 must lie between 0 and 1$"):
        mask_tokens(ids, real, special_ids=(), p=1.5, **given)
    with pytest.raises(ValueError, match=r"^special id 9 must lie between 0 and 8$"):
        mask_tokens(ids, real, special_ids=(0, 9), **given)
    with pytest.raises(ValueError, match=r"^special id -1 must lie between 0 and 8$"):
        mask_tokens(ids, real, special_ids=(-1,), **given)
    with pytest.raises(ValueError, match=r"^all of n_tokens=9 are special: some must"):
        mask_tokens(ids, real, special_ids=range(9), **given)
