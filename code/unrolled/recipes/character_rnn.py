"""The character model that writes in the page: an Elman network on the Bible.

Three networks of one size, from three seeds, read the training books in pieces that
begin anywhere, each with a state of zero; three more read them from front to back, and
carry their state from piece to piece. The first of all is exported with its weights
rounded to half precision, so that it travels in 300 kB; how the rounded models score,
read and write is measured.
"""

import base64
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from torch import Tensor

from unrolled.data.batch import Batch
from unrolled.decoding.sampling import sampler
from unrolled.evaluation.language_model import score_text
from unrolled.losses import cross_entropy
from unrolled.models import checkpoints
from unrolled.models.rnn_lm import RNNLM, RNNLMConfig, RNNLMState
from unrolled.recipes._character_data import ROWS as ROWS
from unrolled.recipes._character_data import WIDTH as WIDTH
from unrolled.recipes._character_data import characters, held_out, pieces, strands
from unrolled.recipes._character_measures import (
    bits_by_place,
    people,
    rounds,
    samples,
    samples_after_lines,
    shares,
    written,
)
from unrolled.runtime import generator, seed_all
from unrolled.training.loop import TrainConfig, training_steps
from unrolled.training.optimizers import AdamW
from unrolled.training.schedules import WarmupCosine

NAME = "character-rnn"
VERSION = 2
D = 256
STEPS = 1500
TRAIN = TrainConfig(
    steps=STEPS,
    lr=2e-3,
    optimizer=AdamW(fused=False),
    schedule=WarmupCosine(warmup=100, steps=STEPS),
)
EVERY = 100
WEIGHTS = ("E", "W_x", "W_h", "b", "c")
UNITS: list[dict[str, Any]] = [
    {"carried": carried, "seed": seed} for carried in (False, True) for seed in range(3)
]


def loss_fn(model: RNNLM, batch: Batch) -> Tensor:
    """Return the mean surprise of the next character, in nats."""
    return cross_entropy(model(batch.x), batch.y)


def steps(seed: int, *, carried: bool = False) -> Iterator[tuple[int, Tensor, RNNLM]]:
    """Train one network; yield each update's number, its loss and the network.

    If its state is ``carried``, each piece begins with the state after the one before,
    through which no gradient goes back.
    """
    seed_all(seed)
    model = RNNLM(RNNLMConfig(n_tokens=len(characters()[0]), d_model=D, cell="rnn"))
    state: RNNLMState | None = None

    def in_order() -> Iterator[Batch]:
        nonlocal state
        for batch, first in strands(seed):
            state = None if first else state
            yield batch

    def carried_loss(model: RNNLM, batch: Batch) -> Tensor:
        nonlocal state
        logits, after = model.read(batch.x, state)
        state = after.detach()
        return cross_entropy(logits, batch.y)

    loss, batches = (carried_loss, in_order()) if carried else (loss_fn, pieces(seed))
    for update, found in training_steps(model, loss, batches, TRAIN):
        yield update, found, model


def bits_per_byte(model: RNNLM) -> float:
    """Return the bits a byte of the held-out text."""
    return score_text(
        model, characters()[0], held_out(), width=257, stride=128
    ).bits_per_byte


def run_unit(unit: dict[str, Any], folder: Path) -> dict[str, Any]:
    """Train one network; keep its losses, its bits, and how it reads and writes."""
    losses: list[float] = []
    life, model = [], None
    for update, loss, trained in steps(**unit):
        losses.append(loss.item())
        if update % EVERY == 0:
            recent = losses[-EVERY:]
            life.append({"update": update, "nats": sum(recent) / len(recent)})
        model = trained
    assert model is not None
    exact = bits_per_byte(model)
    model.half().float()
    if not unit["carried"]:
        path = folder / f"seed-{unit['seed']}.safetensors"
        checkpoints.save(path, model, characters()[0])
    return {
        "first": losses[:10],
        "life": life,
        "bits per byte": exact,
        "bits per byte, rounded": bits_per_byte(model),
        "by place": bits_by_place(model),
        "writing": {name: shares(texts) for name, texts in samples(model).items()},
        "writing after right text": shares(samples_after_lines(model)),
        "rounds": rounds(model),
    }


def replay_unit(unit: dict[str, Any], folder: Path) -> dict[str, Any]:
    """Train for two updates; see how the network reads and, a little, how it writes."""
    losses = []
    for _, loss, model in steps(**unit):  # noqa: B007, the last one is measured
        losses.append(loss.item())
    texts = written(model, sampler(generator=generator(0), k=5), ["\n"] * 2)
    return {"first": losses, "by place": bits_by_place(model), "writing": shares(texts)}


def summarise(units: list[dict[str, Any]]) -> dict[str, Any]:
    """Return how the seeds end."""
    ends = [unit["bits per byte"] for unit in units if not unit["carried"]]
    return {
        "characters": len(characters()[0]),
        "bits per byte, least": min(ends),
        "bits per byte, most": max(ends),
        "exported": units[0]["bits per byte, rounded"],
        "people": shares(people()),
    }


def weights(model: RNNLM) -> dict[str, Tensor]:
    """Return the weights by their names in the book's equations."""
    cell: Any = model.layers.cells[0]
    tensors = (model.embed.weight, cell.W_x, cell.W_h, cell.b, model.bias)
    return dict(zip(WEIGHTS, (tensor.detach() for tensor in tensors), strict=True))


def packed(tensor: Tensor) -> dict[str, Any]:
    """Return a tensor in half precision as text: its shape, and bytes in base 64."""
    half = tensor.half().numpy().astype("<f2")
    return {
        "shape": list(tensor.shape),
        "half": base64.b64encode(half.tobytes()).decode("ascii"),
    }


def script(name: str, model: dict[str, Any]) -> str:
    """Return a script that hands ``model`` to the labs."""
    return (
        "window.UnrolledLab = window.UnrolledLab || {};\n"
        "window.UnrolledLab.models = window.UnrolledLab.models || {};\n"
        f'window.UnrolledLab.models["{name}"] = {json.dumps(model)};\n'
    )


def export(folder: Path, target: Path) -> None:
    """Write the network of seed 0 as a checkpoint and as a script for the lab."""
    kept = checkpoints.load(folder / "seed-0.safetensors")
    model: Any = kept.model
    checkpoints.save(target / f"{NAME}.safetensors", model, kept.tokenizer)
    found = {name: packed(tensor) for name, tensor in weights(model).items()}
    alphabet = characters()[0].characters
    (target / f"{NAME}.js").write_text(
        script(NAME, {"characters": alphabet, "weights": found}),
        encoding="utf-8",
        newline="\n",
    )
