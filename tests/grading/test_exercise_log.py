"""The log that exercise 5 asks about is of a real run: run it again and compare."""

import math
import re
from pathlib import Path

import pytest
import torch
import torch.nn.functional as F
from torch import nn

from unrolled.data.made.draws import stream
from unrolled.data.made.recall import recall
from unrolled.evaluation.gradients import jacobian_norms
from unrolled.layers.initialise import (
    largest_singular_value,
    orthogonal_,
    spectral_radius,
)
from unrolled.layers.recurrent import RNNCell
from unrolled.layers.unroll import unroll
from unrolled.runtime import generator, seed_all

SOURCE = Path(__file__).parents[2] / "exercises/05-backpropagation-through-time.md"


def printed() -> list[list[float]]:
    """Return update, loss, layer and five measures for each row of the table."""
    rows, head = [], ["", ""]
    for line in SOURCE.read_text(encoding="utf-8").splitlines():
        cells = [cell.strip() for cell in line.strip("|").split("|")]
        if re.match(r"\| *\d* \| *[\d.]* \| [123] \|", line):
            head = cells[:2] if cells[0] else head
            rows.append([float(cell) for cell in head + cells[2:]])
    return rows


def logged() -> list[list[float]]:
    """Train with two slips in the optimiser's settings, and log as the table does."""
    seed_all(0)
    cells = [RNNCell(10 if layer == 0 else 32, 32) for layer in range(3)]
    for cell in cells:
        orthogonal_(cell.W_h)
    read = nn.Linear(32, 8)
    hasty, shrinking = cells[1].b, cells[2].W_h
    slips = {id(hasty), id(shrinking)}
    weights = [p for part in (*cells, read) for p in part.parameters()]
    groups = [
        {"params": [p for p in weights if id(p) not in slips]},
        {"params": [hasty], "lr": 2.0},
        {"params": [shrinking], "weight_decay": 10.0},
    ]
    optimizer, rows = torch.optim.AdamW(groups, lr=1e-3), []
    for update, batch in enumerate(stream(recall, 32, 20, generator=generator(0))):
        read_by = [batch.x]  # the input of each layer, and at last the top's states
        for cell in cells:
            read_by.append(unroll(cell, read_by[-1])[0])
        loss = F.cross_entropy(read(read_by[-1][:, -1]), batch.y)
        optimizer.zero_grad()
        loss.backward()
        for layer, cell in enumerate(cells if update in (0, 20, 50) else []):
            with torch.no_grad():
                reach = jacobian_norms(cell, read_by[layer].detach())[:, 20].median()
                slope = (1 - read_by[layer + 1] ** 2).mean()
            rows.append(
                [
                    *(update, loss.item(), layer + 1, cell.W_h.grad.norm().item()),
                    *(reach.item(), slope.item()),
                    *(largest_singular_value(cell.W_h), spectral_radius(cell.W_h)),
                ]
            )
        if update == 50:
            return rows
        optimizer.step()
    raise AssertionError("the stream of batches has ended")


def test_log_in_the_exercise_is_that_of_a_run():
    rows, again = printed(), logged()
    assert len(rows) == len(again) == 9
    for said, found in zip(rows, again, strict=True):
        update, loss, layer, gradient, reach, *plain = said
        assert [update, layer] == [found[0], found[2]]
        assert found[1] == pytest.approx(loss, abs=0.02)
        assert found[5:] == pytest.approx(plain, abs=0.03)
        # what has nearly vanished may differ between machines by more than a digit
        assert abs(math.log10(found[3] / gradient)) < 0.5
        if reach:
            assert abs(math.log10(found[4] / reach)) < 0.5
        else:
            assert found[4] < 1e-30
