"""The character model that writes in the page: an Elman network on the Bible.

Three networks of one size, from three seeds, read the training books. That of seed 0 is
exported with its weights rounded to half precision, so that it travels in 300 kB; the
rounded model is scored again.
"""

import base64
import json
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from unrolled.data.batch import Batch
from unrolled.data.corpora.kjv import kjv_text
from unrolled.data.tokens.characters import Characters
from unrolled.data.windows import sampled_windows
from unrolled.evaluation.language_model import score_text
from unrolled.losses import cross_entropy
from unrolled.models import checkpoints
from unrolled.models.rnn_lm import RNNLM, RNNLMConfig
from unrolled.runtime import generator, seed_all
from unrolled.training.loop import TrainConfig, training_steps
from unrolled.training.optimizers import AdamW
from unrolled.training.schedules import WarmupCosine

NAME = "character-rnn"
D, ROWS, WIDTH = 256, 32, 97
STEPS = 1500
TRAIN = TrainConfig(
    steps=STEPS,
    lr=2e-3,
    optimizer=AdamW(fused=False),
    schedule=WarmupCosine(warmup=100, steps=STEPS),
)
EVERY = 100
SCORED = 60_000  # characters of the validation books
WEIGHTS = ("E", "W_x", "W_h", "b", "c")
UNITS: list[dict[str, Any]] = [{"seed": seed} for seed in range(3)]


@cache
def characters() -> tuple[Characters, Tensor]:
    """Return the tokenizer of the training books, and their ids."""
    text = kjv_text().train
    tokenizer = Characters.of(text)
    return tokenizer, torch.tensor(tokenizer.encode(text))


def held_out() -> str:
    """Return the beginning of the validation books, without unknown characters."""
    known = set(characters()[0].characters)
    return "".join(c for c in kjv_text().validation[:SCORED] if c in known)


def loss_fn(model: RNNLM, batch: Batch) -> Tensor:
    """Return the mean surprise of the next character, in nats."""
    return cross_entropy(model(batch.x), batch.y)


def steps(seed: int) -> Iterator[tuple[int, Tensor, RNNLM]]:
    """Train one network; yield each update's number, its loss and the network."""
    seed_all(seed)
    tokenizer, text = characters()
    model = RNNLM(RNNLMConfig(n_tokens=len(tokenizer), d_model=D, cell="rnn"))
    draws = generator(seed)
    batches = (
        sampled_windows(text, ROWS, width=WIDTH, generator=draws) for _ in range(STEPS)
    )
    for update, loss in training_steps(model, loss_fn, batches, TRAIN):
        yield update, loss, model


def bits_per_byte(model: RNNLM) -> float:
    """Return the bits a byte of the held-out text."""
    return score_text(
        model, characters()[0], held_out(), width=257, stride=128
    ).bits_per_byte


def run_unit(unit: dict[str, Any], folder: Path) -> dict[str, Any]:
    """Train one network; keep its losses, mean by mean, and its bits a byte."""
    losses: list[float] = []
    life, model = [], None
    for update, loss, trained in steps(unit["seed"]):
        losses.append(loss.item())
        if update % EVERY == 0:
            recent = losses[-EVERY:]
            life.append({"update": update, "nats": sum(recent) / len(recent)})
        model = trained
    assert model is not None
    exact = bits_per_byte(model)
    model.half().float()
    path = folder / f"seed-{unit['seed']}.safetensors"
    checkpoints.save(path, model, characters()[0])
    return {
        "first": losses[:10],
        "life": life,
        "bits per byte": exact,
        "bits per byte, rounded": bits_per_byte(model),
    }


def summarise(units: list[dict[str, Any]]) -> dict[str, Any]:
    """Return how the seeds end."""
    ends = [unit["bits per byte"] for unit in units]
    return {
        "characters": len(characters()[0]),
        "bits per byte, least": min(ends),
        "bits per byte, most": max(ends),
        "exported": units[0]["bits per byte, rounded"],
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
