"""Made proteins: the sequences follow the model that is said to make them."""

import pytest
import torch
import torch.nn.functional as F
from hypothesis import given, settings
from hypothesis import strategies as st

from unrolled.data.made.proteins import (
    LEAST_APART,
    LETTERS,
    affinity,
    contact_pairs,
    family,
)
from unrolled.runtime import generator

A = len(LETTERS)


def mutual_information(sequences):
    """Return the mutual information (L, L), in nats, of every two columns."""
    n, length = sequences.shape
    onehot = F.one_hot(sequences, A).double().flatten(1)
    joint = (onehot.T @ onehot / n).unflatten(0, (length, A)).unflatten(2, (length, A))
    alone = joint.diagonal(dim1=0, dim2=2).diagonal(dim1=0, dim2=1)  # (L, A)
    apart = alone[:, :, None, None] * alone[None, None]
    ratio = torch.where(joint > 0, joint / apart, 1.0)
    return (joint * ratio.log()).sum(dim=(1, 3)).fill_diagonal_(0)


def corrected(scores):
    """Return the scores less the average product of their row and column means."""
    length = len(scores)
    rows = scores.sum(1) / (length - 1)
    mean = scores.sum() / (length * (length - 1))
    return scores - rows[:, None] * rows / mean


def precision(scores, drawn):
    """Return the share of true contacts among as many best-scored pairs."""
    length = len(scores)
    i, j = torch.triu_indices(length, length, LEAST_APART)
    best = scores[i, j].topk(len(drawn.pairs)).indices
    return drawn.contacts[i, j][best].double().mean().item()


@settings(max_examples=50)
@given(st.integers(12, 60), st.integers(1, 15), st.integers(0, 999))
def test_contacts_share_no_position_and_are_far_enough_apart(length, n, seed):
    n = min(n, length // 4)
    pairs = contact_pairs(length, n, generator=generator(seed))
    assert pairs.shape == (n, 2)
    assert len(set(pairs.flatten().tolist())) == 2 * n
    assert pairs.min() >= 0
    assert pairs.max() < length
    assert (pairs[:, 1] - pairs[:, 0] >= LEAST_APART).all()


def test_contacts_come_in_ladders():
    pairs = contact_pairs(60, 12, generator=generator(0)).tolist()
    rungs = [[i + 1, j - 1] in pairs for i, j in pairs]
    assert sum(rungs) >= 6


def test_the_map_is_the_list_of_pairs():
    drawn = family(4, 20, n_contacts=4, generator=generator(1))
    listed = {tuple(pair) for pair in drawn.pairs.tolist()}
    for i in range(20):
        for j in range(20):
            assert drawn.contacts[i, j] == ((i, j) in listed or (j, i) in listed)


def test_opposite_charges_attract_and_like_ones_repel():
    M = affinity()
    place = LETTERS.index
    assert torch.equal(M, M.T)
    assert M[place("K"), place("D")] > 0.5
    assert M[place("K"), place("R")] < -0.5
    assert M[place("D"), place("E")] < -0.5
    assert M[place("I"), place("V")] > 0.5
    assert M[place("I"), place("R")] < -0.5


@pytest.mark.parametrize("relatedness", [0.0, 0.3])
def test_letters_follow_the_exact_distributions(relatedness):
    n = 40_000
    drawn = family(n, 16, n_contacts=4, relatedness=relatedness, generator=generator(2))
    onehot = F.one_hot(drawn.sequences, A).float()
    assert (onehot.mean(0) - drawn.singles).abs().max() < 0.02
    for (i, j), joint in zip(drawn.pairs.tolist(), drawn.joints, strict=True):
        together = onehot[:, i].T @ onehot[:, j] / n
        assert (together - joint).abs().max() < 0.015
        assert (joint - drawn.singles[i][:, None] * drawn.singles[j]).abs().max() > 0.02
    torch.testing.assert_close(drawn.singles.sum(1), torch.ones(16))
    torch.testing.assert_close(drawn.joints.sum((1, 2)), torch.ones(4))


def test_joints_have_the_form_of_the_model():
    """The log odds of a square of letters are J times those of the affinity."""
    drawn = family(2, 16, n_contacts=3, coupling=1.5, generator=generator(3))

    def odds(x):
        return x - x[..., :1, :] - x[..., :, :1] + x[..., :1, :1]

    logs = odds(drawn.joints.double().log())
    expected = 1.5 * odds(affinity().double())
    torch.testing.assert_close(logs, expected.expand_as(logs), atol=1e-4, rtol=0)


def test_no_coupling_means_independent_positions():
    drawn = family(2, 16, n_contacts=4, coupling=0.0, generator=generator(4))
    i, j = drawn.pairs.T
    product = drawn.singles[i][:, :, None] * drawn.singles[j][:, None]
    torch.testing.assert_close(drawn.joints, product)


def shuffled(sequences, seed):
    """Return each column in an order of its own: same letters, no dependence."""
    orders = torch.rand(sequences.shape, generator=generator(seed)).argsort(0)
    return sequences.gather(0, orders)


def unlinked(drawn):
    return (~drawn.contacts).triu(1)


def test_positions_without_a_contact_are_independent():
    """Among nine shuffles of themselves their information takes any rank alike."""
    ranks = []
    for seed in range(200, 204):
        drawn = family(2000, 16, n_contacts=4, generator=generator(seed))
        others = unlinked(drawn)
        scores = mutual_information(drawn.sequences)[others]
        for k in range(9):
            chance = mutual_information(shuffled(drawn.sequences, k))[others]
            ranks.append((scores > chance).double())
    # 464 pairs: the mean of all comparisons has a standard error of about 0.014
    assert torch.cat(ranks).mean().item() == pytest.approx(0.5, abs=0.05)


def test_contacts_hold_the_information_that_the_model_gives_them():
    n = 20_000
    drawn = family(n, 16, n_contacts=4, generator=generator(5))
    scores = mutual_information(drawn.sequences)
    joints, i, j = drawn.joints.double(), *drawn.pairs.T
    apart = joints.sum(2, keepdim=True) * joints.sum(1, keepdim=True)
    exact = (joints * (joints / apart).log()).sum((1, 2))
    bias = (A - 1) ** 2 / (2 * n)  # at most: letters that hardly occur add nothing
    assert (scores[i, j] - exact - bias / 2).abs().max() < 0.03
    assert exact.min() > 0.1
    assert scores[i, j].min() > 3 * scores[unlinked(drawn)].max()


def test_conservation_makes_some_positions_vary_less():
    def entropies(conservation):
        drawn = family(
            2, 40, n_contacts=1, conservation=conservation, generator=generator(6)
        )
        return -(drawn.singles * drawn.singles.log()).sum(1)

    even, usual = entropies(0.0), entropies(1.0)
    assert (even > 2.9).sum() >= 38  # all but the two in contact: ln 20 = 3.0
    assert usual.max() - usual.min() > 1
    assert entropies(2.0).mean() < usual.mean() < even.mean()


@pytest.mark.parametrize("relatedness", [0.0, 0.5, 0.9])
def test_sisters_share_letters_as_the_tree_says(relatedness):
    drawn = family(
        4096, 40, n_contacts=1, relatedness=relatedness, generator=generator(7)
    )
    chance = drawn.singles.square().sum(1)
    alone = ~drawn.contacts.any(1)
    # Leaves k doublings below their common ancestor kept both copies of a column
    # with probability relatedness^2k.
    for k in (1, 2):
        far = drawn.sequences.roll(-(2 ** (k - 1)), 0)[:: 2**k]
        same = (drawn.sequences[:: 2**k] == far).double().mean(0)
        kept = relatedness ** (2 * k)
        expected = kept + (1 - kept) * chance
        assert (same - expected)[alone].mean().abs() < 0.01


@pytest.mark.parametrize("n_rows", [1, 2, 3, 5, 12, 64, 65])
def test_a_tree_may_have_any_number_of_leaves(n_rows):
    drawn = family(n_rows, 12, n_contacts=2, relatedness=0.5, generator=generator(8))
    assert drawn.sequences.shape == (n_rows, 12)
    assert drawn.sequences.min() >= 0
    assert drawn.sequences.max() < A


def test_relatives_make_columns_look_coupled_that_are_not():
    def excess(relatedness):
        drawn = family(
            1024, 24, n_contacts=4, relatedness=relatedness, generator=generator(11)
        )
        others = unlinked(drawn)
        chance = mutual_information(shuffled(drawn.sequences, 0))[others].mean()
        return (mutual_information(drawn.sequences)[others].mean() / chance).item()

    assert excess(0.0) == pytest.approx(1.0, abs=0.03)
    assert excess(0.9) > 1.3


def test_relatives_mislead_mutual_information_and_the_correction_helps():
    n, found = 12, torch.zeros(3)
    for seed in range(100, 100 + n):
        free, kin = (
            family(1024, 40, n_contacts=8, relatedness=r, generator=generator(seed))
            for r in (0.0, 0.95)
        )
        scores = mutual_information(kin.sequences)
        told = mutual_information(free.sequences)
        found += torch.tensor(
            [
                precision(told, free),
                precision(scores, kin),
                precision(corrected(scores), kin),
            ]
        )
    plain, related, mended = (found / n).tolist()
    assert plain > 0.9
    assert related < plain - 0.1
    assert mended > related + 0.1


def test_the_seed_decides():
    first, again = (family(8, 20, n_contacts=4, generator=generator(9)) for _ in "ab")
    assert torch.equal(first.sequences, again.sequences)
    assert torch.equal(first.contacts, again.contacts)
    other = family(8, 20, n_contacts=4, generator=generator(10))
    assert not torch.equal(first.contacts, other.contacts)


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"n_rows": 0}, "n_rows=0 must be at least 1"),
        ({"length": 11}, "length=11 must be at least 12"),
        ({"n_contacts": 0}, "n_contacts=0 must be at least 1"),
        ({"n_contacts": 6}, "n_contacts=6 must be at most 5, a quarter of length=20"),
        ({"relatedness": 1.0}, "relatedness=1.0 must be at least 0 and below 1"),
        ({"coupling": -1.0}, "coupling=-1.0 must be at least 0"),
        ({"conservation": -1.0}, "conservation=-1.0 must be at least 0"),
    ],
)
def test_settings_that_make_no_family_are_named(wrong, message):
    settings = {"n_rows": 2, "length": 20, "n_contacts": 2} | wrong
    with pytest.raises(ValueError, match=message):
        family(**settings, generator=generator(0))
