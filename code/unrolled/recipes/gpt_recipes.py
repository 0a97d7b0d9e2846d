"""Two ways to train one GPT on Shakespeare: how much sooner is the modern one there?

Both have four layers of 128 and read 12 windows of 64 characters a step. The plain one
has learned positions, LayerNorm, GELU and AdamW with a cosine, over 2,000 steps. The
modern one has rotary positions, queries and keys of one length, RMSNorm, squared ReLU,
a read-out of its own, blocks that start at zero, and Muon with a trapezoid. Then it is
taken apart: each part in turn is exchanged for its plain counterpart.

The loss is that of the whole validation part, in windows of 64. Times are of the
processor, on one thread, without validation.
"""

import shutil
import time
from collections.abc import Iterable
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from unrolled.data.batch import Batch
from unrolled.data.corpora.shakespeare import shakespeare
from unrolled.data.made.draws import stream
from unrolled.data.tokens.characters import Characters
from unrolled.data.windows import sampled_windows
from unrolled.evaluation.intervals import paired_t_interval
from unrolled.evaluation.language_model import text_log_probabilities
from unrolled.losses import cross_entropy
from unrolled.models.checkpoints import save
from unrolled.models.gpt import GPT, GPTConfig
from unrolled.runtime import generator, seed_all
from unrolled.training.config import TrainConfig
from unrolled.training.loop import training_steps
from unrolled.training.optimizers import AdamW, MuonAdamW
from unrolled.training.schedules import Trapezoid, WarmupCosine

N_CHARACTERS = 1_000_000  # of the training part
B, T = 12, 64
SIZES = {"n_positions": T, "d_model": 128, "n_heads": 4, "n_layers": 4}
SEEDS = range(10, 15)  # others served to choose the settings
PLAIN_STEPS, SHORT, LONG = 2000, (300, 350), 1500
APART, SEEDS_APART = 350, SEEDS[:3]  # when the modern recipe is taken apart
PARTS: dict[str, dict[str, Any]] = {  # what takes the place of a modern part
    "learned positions": {"positions": "learned"},
    "LayerNorm": {"norm": "layer"},
    "GELU": {"activation": "gelu"},
    "no QK-norm": {"qk_norm": False},
    "blocks start small": {"zero_init": False},
    "biases": {"bias": True},
    "tied read-out": {"tied": True},
}
OPTIMIZERS = ("AdamW", "cosine")  # and of its training


def _units() -> list[dict[str, Any]]:
    """Return all runs; those of a seed follow each other, so that times compare."""
    found: list[dict[str, Any]] = []
    for seed in SEEDS:
        found.append({"recipe": "plain", "seed": seed, "steps": PLAIN_STEPS})
        found += [
            {"recipe": "modern", "seed": seed, "steps": n} for n in (*SHORT, LONG)
        ]
        if seed in SEEDS_APART:
            found += [
                {"recipe": part, "seed": seed, "steps": APART}
                for part in (*PARTS, *OPTIMIZERS)
            ]
    return found


UNITS = _units()
TIMES = ("cpu seconds",)


@cache
def texts() -> tuple[Characters, Tensor, Tensor]:
    """Return the alphabet, and the ids of what is trained on and of what is not."""
    works = shakespeare()
    train = "\n\n".join(work.text for work in works.train)[:N_CHARACTERS]
    validation = "\n\n".join(work.text for work in works.validation)
    characters = Characters.of(train + validation)
    return (
        characters,
        torch.tensor(characters.encode(train)),
        torch.tensor(characters.encode(validation)),
    )


def settings(recipe: str, steps: int) -> tuple[GPTConfig, TrainConfig]:
    """Return the model and the training of a recipe, or of one without a part."""
    sizes: dict[str, Any] = {"n_tokens": len(texts()[0]), **SIZES}
    cosine = WarmupCosine(warmup=steps // 20, steps=steps)
    if recipe == "plain":
        return GPTConfig(**sizes), TrainConfig(steps=steps, lr=1e-3, schedule=cosine)
    model = replace(GPTConfig.modern(**sizes, tied=False), **PARTS.get(recipe, {}))
    adamw = AdamW(betas=(0.8, 0.95))
    training = TrainConfig(
        steps=steps,
        lr=0.01,
        optimizer=MuonAdamW(lr=0.015, momentum=0.8, n_rounds=3, adamw=adamw),
        schedule=Trapezoid(warmup=0, cooldown=7 * steps // 10, steps=steps),
    )
    if recipe == "AdamW":
        return model, replace(training, lr=2e-3, optimizer=adamw)
    if recipe == "cosine":
        return model, replace(training, schedule=cosine)
    return model, training


def loss_fn(model: GPT, batch: Batch) -> Tensor:
    """Return the mean surprise at the next character, in nats."""
    return cross_entropy(model(batch.x), batch.y)


def train(unit: dict[str, Any]) -> tuple[GPT, float]:
    """Train one model; return it and the seconds that the processor took."""
    config, training = settings(unit["recipe"], unit["steps"])
    seed_all(unit["seed"])
    model = GPT(config)
    draws = generator(unit["seed"])
    batches = stream(sampled_windows, texts()[1], B, width=T + 1, generator=draws)
    start = time.process_time()
    for _ in training_steps(model, loss_fn, batches, training):
        pass
    return model, time.process_time() - start


def validation_loss(model: GPT, n_characters: int | None = None) -> float:
    """Return the mean surprise at every character of the validation part but one.

    ``n_characters`` are read of it, all unless told.
    """
    ids = texts()[2][:n_characters]
    log_p = text_log_probabilities(model, ids, width=T + 1, stride=T, n_rows=128)
    return -log_p.double().mean().item()


def run_unit(unit: dict[str, Any], folder: Path) -> dict[str, Any]:
    """Train and validate; keep the first of the long modern runs."""
    model, seconds = train(unit)
    loss = validation_loss(model)
    if (unit["recipe"], unit["seed"], unit["steps"]) == ("modern", SEEDS[0], LONG):
        save(folder / "shakespeare.safetensors", model, texts()[0])
    return {"loss": round(loss, 4), "cpu seconds": round(seconds, 2)}


def replay_unit(unit: dict[str, Any], folder: Path) -> dict[str, Any]:
    """Train for two steps, and validate on little."""
    model, _ = train(unit)
    weights = torch.cat([p.detach().flatten() for p in model.parameters()])
    return {"loss": validation_loss(model, 5000), "norm": weights.norm().item()}


def export(folder: Path, target: Path) -> None:
    """Write the model that ``unrolled sample shakespeare`` reads."""
    shutil.copyfile(
        folder / "shakespeare.safetensors", target / "shakespeare.safetensors"
    )


def summarise(units: list[dict[str, Any]]) -> dict[str, Any]:
    """Set every recipe beside the plain one, and every part beside the whole."""
    plain, whole = Runs(units, "plain", PLAIN_STEPS), Runs(units, "modern", APART)
    return {
        "plain": plain.against(plain),
        "modern": {
            str(n): Runs(units, "modern", n).against(plain) for n in (*SHORT, LONG)
        },
        "apart": {
            part: Runs(units, part, APART).against(whole)
            for part in (*PARTS, *OPTIMIZERS)
        },
    }


class Runs:
    """The runs of one recipe, by seed."""

    def __init__(self, units: list[dict[str, Any]], recipe: str, steps: int) -> None:
        mine = [u for u in units if (u["recipe"], u["steps"]) == (recipe, steps)]
        self.losses = {u["seed"]: u["loss"] for u in mine}
        self.seconds = {u["seed"]: u["cpu seconds"] for u in mine}

    def against(self, others: "Runs") -> dict[str, float]:
        """Return loss and time, set against other runs of the same seeds."""
        loss, other_loss = _paired(self.losses, others.losses)
        seconds, other_seconds = _paired(self.seconds, others.seconds)
        above = paired_t_interval(loss, other_loss)
        found = {
            "seeds": len(loss),
            "loss": loss.mean().item(),
            "above": above.estimate,
            "above, low": above.low,
            "above, high": above.high,
            "share of time": (seconds / other_seconds).mean().item(),
        }
        return {name: round(value, 4) for name, value in found.items()}


def _paired(ours: dict[int, float], theirs: dict[int, float]) -> Iterable[Tensor]:
    """Return two vectors, one value for each of our seeds."""
    pairs = [(value, theirs[seed]) for seed, value in ours.items()]
    return torch.tensor(pairs, dtype=torch.float64).unbind(dim=1)
