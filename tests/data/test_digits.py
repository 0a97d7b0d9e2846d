"""Digits: the file's images, split by the form they were written on."""

from itertools import combinations

import numpy as np
import pytest
from sklearn.datasets import load_digits

from unrolled.data.corpora import digits as module
from unrolled.data.corpora.digits import FORM_STARTS, digits

PARTS = ("train", "validation", "test")


def joined(name):
    """Return an array of all parts in the order of the file, form by form."""
    parts = [getattr(digits(), part) for part in PARTS]
    forms = np.concatenate([part.forms for part in parts])
    values = np.concatenate([getattr(part, name) for part in parts])
    return values[np.argsort(forms, kind="stable")]


def edits(one, other):
    """Return how many digits to add, drop or change to make ``other`` of ``one``."""
    row = list(range(len(other) + 1))
    for i, a in enumerate(one, 1):
        above, row = row, [i]
        for j, b in enumerate(other, 1):
            row.append(min(above[j] + 1, row[-1] + 1, above[j - 1] + (a != b)))
    return row[-1]


def test_images_and_labels_are_the_files_in_sixteenths():
    raw = load_digits()
    assert joined("images").shape == (1797, 8, 8)
    assert joined("images").dtype == np.float32
    np.testing.assert_array_equal(joined("images") * 16, raw.images)
    np.testing.assert_array_equal(joined("labels"), raw.target)
    assert (joined("images").min(), joined("images").max()) == (0, 1)


def test_every_part_has_whole_forms_and_every_digit_alike():
    forms = [set(getattr(digits(), part).forms.tolist()) for part in PARTS]
    assert forms == [set(range(14)) - {0, 1, 8, 13}, {0, 1}, {8, 13}]
    assert [len(getattr(digits(), part)) for part in PARTS] == [1283, 256, 258]
    for part in PARTS:
        assert (np.diff(getattr(digits(), part).forms) >= 0).all()
        counts = np.bincount(getattr(digits(), part).labels, minlength=10)
        assert counts.min() >= 0.8 * counts.max() > 0


def test_forms_repeat_one_sequence_and_start_where_they_are_said_to():
    labels = "".join(map(str, joined("labels")))
    ends = [*FORM_STARTS[1:], len(labels)]
    model = labels[:130]
    assert model.startswith("0123456789" * 3)
    costs = [edits(labels[a:b], model) for a, b in zip(FORM_STARTS, ends, strict=True)]
    assert costs.count(0) >= 8
    assert max(costs) <= 8  # of 130 digits; two strangers' orders differ by 80
    for place in range(1, len(FORM_STARTS)):
        start, middle, end = FORM_STARTS[place - 1], FORM_STARTS[place], ends[place]
        for moved in (middle - 1, middle + 1):
            around = edits(labels[start:moved], model) + edits(labels[moved:end], model)
            assert around > costs[place - 1] + costs[place]


def test_a_neighbour_of_ones_own_form_flatters():
    x = joined("images").reshape(1797, 64).astype(float)
    squares = (x**2).sum(1)
    far = squares[:, None] + squares - 2 * x @ x.T
    np.fill_diagonal(far, np.inf)
    labels, forms = joined("labels"), joined("forms")
    anywhere = (labels[far.argmin(1)] == labels).mean()
    far[forms[:, None] == forms] = np.inf
    elsewhere = (labels[far.argmin(1)] == labels).mean()
    assert anywhere == pytest.approx(0.988, abs=0.001)
    assert elsewhere == pytest.approx(0.964, abs=0.001)


def test_nobody_can_change_what_all_share():
    with pytest.raises(ValueError, match="read-only"):
        digits().train.images[0, 0, 0] = 1
    with pytest.raises(ValueError, match="read-only"):
        digits().test.labels[0] = 1


def likeliest_pairs(n):
    """Return the first n pairs of forms by each of the docstring's three measures."""
    images, labels, forms = map(joined, ("images", "labels", "forms"))
    x = images.reshape(1797, 64).astype(float)
    means = np.stack(
        [
            [x[(forms == f) & (labels == d)].mean(0) for d in range(10)]
            for f in range(14)
        ]
    )
    pairs = list(combinations(range(14), 2))
    near = {
        (a, b): -np.linalg.norm(means[a] - means[b], axis=1).mean() for a, b in pairs
    }

    far = (x**2).sum(1)[:, None] + (x**2).sum(1) - 2 * x @ x.T
    far[forms[:, None] == forms] = np.inf
    neighbours = forms[far.argmin(1)]
    share = np.array(
        [[(neighbours[forms == a] == b).mean() for b in range(14)] for a in range(14)]
    )
    mutual = {(a, b): share[a, b] + share[b, a] for a, b in pairs}

    style = (means - means.mean(0)).reshape(14, -1)
    style /= np.linalg.norm(style, axis=1, keepdims=True)
    alike = {(a, b): style[a] @ style[b] for a, b in pairs}
    return [
        sorted(pairs, key=measure.get, reverse=True)[:n]
        for measure in (near, mutual, alike)
    ]


def test_forms_that_may_be_of_one_hand_are_in_one_part_and_only_so():
    first = likeliest_pairs(5)
    assert [ranking[0] for ranking in first] == [(9, 10), (7, 11), (3, 11)]
    likely = set().union(*first)
    held_out = [set(forms) for n in (2, 3) for forms in combinations(range(14), n)]
    whole = [
        forms
        for forms in held_out  # no likely pair has one form here, the other elsewhere
        if all(len(forms & {a, b}) != 1 for a, b in likely)
    ]
    divisions = [(a, b) for a, b in combinations(whole, 2) if not a & b]
    assert divisions == [({0, 1}, {8, 13})]
    assert (module.VALIDATION, module.TEST) == ((0, 1), (8, 13))


@pytest.mark.parametrize(("name", "value"), [("N_IMAGES", 5), ("N_LEVELS", 15)])
def test_another_set_is_refused(monkeypatch, name, value):
    monkeypatch.setattr(module, name, value)
    with pytest.raises(ValueError, match=r"\(1797, 8, 8\) up to 16: they must be"):
        digits.__wrapped__()
