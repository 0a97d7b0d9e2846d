"""Padding and buckets, against torch's own and against plain loops."""

from itertools import chain

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch.nn.utils.rnn import pad_sequence

from unrolled.data.padding import buckets, pad, pad_labelled, pad_pairs, pad_tagged
from unrolled.runtime import generator

rows = st.lists(st.lists(st.integers(0, 99), max_size=7), min_size=1, max_size=6)


@given(rows, st.integers(-1, 3))
def test_padding_is_torchs_and_the_mask_gives_the_rows_back(rows, pad_id):
    ids, mask = pad(rows, pad_id=pad_id)
    tensors = [torch.tensor(row, dtype=torch.long) for row in rows]
    theirs = pad_sequence(tensors, batch_first=True, padding_value=pad_id)
    assert ids.dtype == torch.long
    assert torch.equal(ids, theirs)
    assert [row[on].tolist() for row, on in zip(ids, mask, strict=True)] == rows
    assert (mask.long().diff(dim=1) <= 0).all()  # real steps first


@pytest.mark.parametrize("p", [0, 3, -7])
def test_labels_and_tags_stay_with_their_rows(p):
    """The padding's id may be a token's as well: the mask alone tells them apart."""
    rows = [[1, p, 3], [4]]
    labelled = pad_labelled(rows, torch.tensor([0.5, -1.0]), pad_id=p)
    assert labelled.x.tolist() == [[1, p, 3], [4, p, p]]
    assert labelled.y.tolist() == [0.5, -1.0]
    assert labelled.mask.tolist() == [[True] * 3, [True, False, False]]
    tagged = pad_tagged(rows, [[7, p, 9], [5]], pad_id=p)
    assert tagged.x.tolist() == labelled.x.tolist()
    assert tagged.y.tolist() == [[7, p, 9], [5, p, p]]
    assert torch.equal(tagged.mask, labelled.mask)


@given(rows, st.randoms(), st.integers(-1, 3))
def test_the_writer_sees_each_target_one_step_late(targets, random, pad_id):
    sources = [random.choices(range(9), k=random.randint(0, 5)) for _ in targets]
    batch = pad_pairs(sources, targets, begin_id=100, end_id=101, pad_id=pad_id)
    for i, (source, target) in enumerate(zip(sources, targets, strict=True)):
        assert batch.source[i, batch.source_mask[i]].tolist() == source
        on = batch.target_mask[i]
        assert batch.target_in[i, on].tolist() == [100, *target]
        assert batch.target_out[i, on].tolist() == [*target, 101]
        for filled in (
            batch.source[i, ~batch.source_mask[i]],
            batch.target_in[i, ~on],
            batch.target_out[i, ~on],
        ):
            assert filled.eq(pad_id).all()


@given(
    st.lists(st.integers(0, 30), max_size=80),
    st.integers(1, 9),
    st.integers(1, 4),
    st.integers(0, 99),
)
def test_buckets_hold_every_row_once(lengths, n_rows, pool, seed):
    found = list(buckets(lengths, n_rows, generator=generator(seed), pool=pool))
    assert sorted(chain.from_iterable(found)) == list(range(len(lengths)))
    sizes = sorted(len(bucket) for bucket in found)
    assert sizes[1:] == [n_rows] * (len(found) - 1)


def test_buckets_pad_little_and_differ_from_time_to_time():
    lengths = torch.randint(1, 60, (1000,), generator=generator(0)).tolist()

    def padding(batches):
        return sum(len(b) * max(lengths[i] for i in b) for b in batches) - sum(lengths)

    g = generator(1)
    one, two = (list(buckets(lengths, 20, generator=g)) for _ in range(2))
    plain = [list(range(i, i + 20)) for i in range(0, 1000, 20)]
    assert padding(one) < padding(plain) / 10
    assert one != two
    longest = [max(lengths[i] for i in bucket) for bucket in one]
    assert longest != sorted(longest)  # the batches do not come by length
    company = [{frozenset(bucket) for bucket in batches} for batches in (one, two)]
    assert len(company[0] & company[1]) < len(one) / 2  # rows change their company
    again = generator(1)
    assert [list(buckets(lengths, 20, generator=again)) for _ in range(2)] == [one, two]


@pytest.mark.parametrize(
    ("call", "said"),
    [
        (lambda: pad([]), "rows is empty: there is nothing to pad"),
        (
            lambda: pad_labelled([[1, 2]], [0.5]),
            r"labels is a list; make it torch.tensor\(labels\)",
        ),
        (
            lambda: pad_tagged([[1, 2]], [[1]]),
            "row 0 has 2 steps and 1 tags: each step needs its own tag",
        ),
        (
            lambda: pad_tagged([[1, 2]], []),
            "there are 1 rows and 0 rows of tags: each row needs its own",
        ),
        (
            lambda: pad_pairs([[1]], [], begin_id=1, end_id=2),
            "there are 1 sources and 0 targets: each source needs its own target",
        ),
        (
            lambda: buckets([1], 0, generator=generator(0)),
            "n_rows=0 must be at least 1",
        ),
        (
            lambda: buckets([1], 1, generator=generator(0), pool=0),
            "pool=0 must be at least 1",
        ),
    ],
)
def test_what_cannot_be_padded_is_named(call, said):
    with pytest.raises(ValueError, match=said):
        call()
