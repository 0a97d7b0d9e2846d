"""Batches move together, and complain of parts that do not fit."""

import pytest
import torch

from unrolled.data.batch import Batch, PairBatch
from unrolled.data.transfer import to_device
from unrolled.runtime import copies_aside

META = torch.device("meta")


def pair(**changes):
    """A sound pair batch of 2 rows, S = 3 and T = 4, with some parts replaced."""
    ones = {"source": torch.ones(2, 3), "target_in": torch.ones(2, 4)}
    masks = {
        "source_mask": torch.ones(2, 3, dtype=torch.bool),
        "target_mask": torch.ones(2, 4, dtype=torch.bool),
    }
    return PairBatch(**(ones | masks | {"target_out": torch.ones(2, 4)} | changes))


def test_a_batch_moves_together():
    moved = Batch(x=torch.zeros(2, 3), y=torch.ones(2)).to(META)
    assert moved.x.device.type == moved.y.device.type == "meta"
    assert moved.mask is None
    assert len(moved) == 2


def test_a_mask_and_the_five_parts_of_a_pair_move_too():
    mask = torch.ones(2, 3, dtype=torch.bool)
    assert Batch(x=torch.zeros(2, 3), y=torch.ones(2), mask=mask).to(META).mask.is_meta
    moved = pair().to(META)
    assert len(moved) == 2
    for name in ("source", "source_mask", "target_in", "target_out", "target_mask"):
        assert getattr(moved, name).is_meta


def test_a_batch_with_unequal_halves_is_refused():
    with pytest.raises(ValueError, match=r"x has 2 rows and y has 3: each input needs"):
        Batch(x=torch.zeros(2, 1), y=torch.zeros(3, 1))


@pytest.mark.parametrize(
    ("mask", "said"),
    [
        (torch.ones(2, 3), r"mask is torch.float32 of shape \(2, 3\); it must be bool"),
        (torch.ones(2, 4) > 0, r"of shape \(2, 4\).* each step of x: \(2, 3\)"),
    ],
)
def test_a_mask_that_does_not_fit_is_refused(mask, said):
    with pytest.raises(ValueError, match=said):
        Batch(x=torch.zeros(2, 3, 5), y=torch.zeros(2), mask=mask)


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"source": torch.ones(2, 9)}, r"source_mask .* each step of source: \(2, 9\)"),
        ({"target_in": torch.ones(2, 9)}, r"target_mask .* of target_in: \(2, 9\)"),
        ({"target_out": torch.ones(2, 9)}, r"target_mask .* of target_out: \(2, 9\)"),
        (
            {"source": torch.ones(1, 3), "source_mask": torch.ones(1, 3) > 0},
            "source has 1 rows and target_in has 2: each source needs its own target",
        ),
    ],
)
def test_a_pair_that_does_not_fit_is_refused(changes, said):
    with pytest.raises(ValueError, match=said):
        pair(**changes)


@pytest.mark.parametrize(("n_rows", "sizes"), [(2, [2, 2, 1]), (5, [5]), (9, [5])])
def test_a_batch_is_cut_into_smaller_ones(n_rows, sizes):
    x, mask = torch.arange(10).view(5, 2), torch.rand(5, 2) < 0.5
    parts = list(Batch(x=x, y=x[:, 0], mask=mask).split(n_rows))
    assert [len(part) for part in parts] == sizes
    assert torch.equal(torch.cat([part.x for part in parts]), x)
    assert torch.equal(torch.cat([part.y for part in parts]), x[:, 0])
    assert torch.equal(torch.cat([part.mask for part in parts]), mask)


def test_a_cut_into_nothing_is_refused():
    with pytest.raises(ValueError, match="n_rows=0 must be at least 1"):
        Batch(x=torch.zeros(2, 3), y=torch.zeros(2)).split(0)


def test_two_batches_can_be_told_apart_without_an_error():
    one, two = batches(2)
    assert one != two
    assert one == one
    assert len({one, two}) == 2


def batches(n):
    return [Batch(x=torch.full((2, 3), i), y=torch.full((2,), i)) for i in range(n)]


@pytest.mark.parametrize("n", [0, 1, 4])
def test_batches_reach_the_device_in_their_order(n):
    there = list(to_device(batches(n), torch.device("cpu")))
    assert [batch.y[0].item() for batch in there] == list(range(n))
    elsewhere = list(to_device(batches(n), META))
    assert len(elsewhere) == n
    assert all(batch.x.is_meta and batch.y.is_meta for batch in elsewhere)


def test_a_cpu_copies_nothing_aside():
    assert not copies_aside(torch.device("cpu"))


@pytest.mark.parametrize("n", [0, 1, 4])
def test_a_gpu_is_sent_the_next_batch_before_it_is_asked_for(monkeypatch, n):
    """There is no GPU here, so its border is faked: pinning, copying, the question."""
    sent, copied = [], []

    def pin(tensor):
        sent.append(int(tensor.flatten()[0]))
        return tensor

    def copy(tensor, device, *, non_blocking):
        copied.append((int(tensor.flatten()[0]), device, non_blocking))
        return tensor

    monkeypatch.setattr("unrolled.data.transfer.copies_aside", lambda device: True)
    monkeypatch.setattr(torch.Tensor, "pin_memory", pin)
    monkeypatch.setattr(torch.Tensor, "to", copy)
    seen = []
    for batch in to_device(batches(n), META):
        seen.append((batch.y[0].item(), len(sent)))
    assert seen == [(i, 2 * min(i + 2, n)) for i in range(n)]  # x and y of each
    assert sent == [i for i in range(n) for _ in "xy"]
    assert copied == [(i, META, True) for i in sent]


@pytest.mark.gpu
def test_a_gpu_gets_what_was_sent():
    there = list(to_device(batches(4), torch.device("cuda")))
    assert [batch.x[0, 0].item() for batch in there] == list(range(4))
    assert all(batch.x.is_cuda and batch.y.is_cuda for batch in there)
