"""Tag Portuguese words, and judge short messages and film snippets, against a count.

Every reader is an Elman network on words. The judges differ in what they hand to the
last layer: the last state, the mean of all states, a learned weighting of them, or all
of them side by side. The bag of words reads no order at all. Each is trained until its
validation loss has not improved for three epochs, and scored at its best. Which answers
are right is kept text by text, so that models can be compared on the same texts.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import torch
from safetensors.torch import load_file, save_file
from torch import Tensor, nn

from unrolled.data.batch import Batch
from unrolled.data.padding import buckets
from unrolled.losses import cross_entropy
from unrolled.recipes._reading_data import (
    batch_of,
    judged,
    tagged,
    texts_of,
    usual_tags,
)
from unrolled.recipes._reading_models import JUDGES, build, build_tagger
from unrolled.recipes.character_rnn import packed, script
from unrolled.runtime import generator, seed_all
from unrolled.training.loop import TrainConfig, training_steps
from unrolled.training.optimizers import AdamW

NAME = "reading-tasks"
VERSION = 2
ROWS, PATIENCE = 32, 3
EPOCHS = {"tags": 20, "tweets": 40, "films": 25}  # at most
RATES = {"tags": 5e-3, "tweets": 2e-3, "films": 2e-3}
LENGTHS = {"up to 12": (0, 12), "13 to 22": (13, 22), "23 and more": (23, 10**9)}
SEEDS = range(3)
UNITS: list[dict[str, Any]] = [
    *({"task": "tags", "model": "reader", "seed": seed} for seed in SEEDS),
    *(
        {"task": task, "model": model, "seed": seed}
        for task in ("tweets", "films")
        for model in JUDGES
        for seed in SEEDS
    ),
]


def loss_fn(model: nn.Module, batch: Batch) -> Tensor:
    """Return the cross-entropy of the labels, or of the tags of real words."""
    mask = batch.mask if batch.y.ndim == 2 else None
    return cross_entropy(model(batch.x, batch.mask), batch.y, mask)


@torch.no_grad()
def answers(model: nn.Module, task: str, part: str) -> tuple[Tensor, float]:
    """Return which answers are right, text by text and word by word, and the loss."""
    model.eval()
    right, losses = [], []
    rows = range(len(texts_of(task, part)))
    for start in range(0, len(rows), 128):
        batch = batch_of(task, part, rows[start : start + 128])
        logits = model(batch.x, batch.mask)
        hits = logits.argmax(dim=-1) == batch.y
        right.append(hits[batch.mask] if batch.y.ndim == 2 else hits)
        losses.append(loss_fn(model, batch).item() * len(batch))
    return torch.cat(right), sum(losses) / len(rows)


def train(task: str, model_name: str, seed: int) -> tuple[nn.Module, int]:
    """Train until three epochs bring nothing; return the best model and its epoch."""
    seed_all(seed)
    model: nn.Module = (
        build_tagger(len(tagged()[0]))
        if task == "tags"
        else build(model_name, len(judged(task)[0]))
    )
    lengths = [len(row) for row in texts_of(task, "train")]
    draws, per_epoch = generator(seed), -(-len(lengths) // ROWS)

    def batches() -> Iterator[Batch]:
        while True:
            for rows in buckets(lengths, ROWS, generator=draws):
                yield batch_of(task, "train", rows)

    config = TrainConfig(
        steps=EPOCHS[task] * per_epoch, lr=RATES[task], optimizer=AdamW(fused=False)
    )
    best, epoch, kept = float("inf"), 0, model.state_dict()
    for update, _ in training_steps(model, loss_fn, batches(), config):
        if update % per_epoch:
            continue
        loss = answers(model, task, "validation")[1]
        if loss < best:
            best, epoch = loss, update // per_epoch
            kept = {name: w.clone() for name, w in model.state_dict().items()}
        elif update // per_epoch - epoch >= PATIENCE:
            break
    model.load_state_dict(kept)
    return model.eval(), epoch


def run_unit(unit: dict[str, Any], folder: Path) -> dict[str, Any]:
    """Train one model; score it on the test texts, by length or by kind of word."""
    task, name, seed = unit["task"], unit["model"], unit["seed"]
    model, epoch = train(task, name, seed)
    right = answers(model, task, "test")[0]
    if task == "tweets" and seed == 0 and name in ("bag", "last"):
        weights = {key: w.contiguous() for key, w in model.state_dict().items()}
        save_file(weights, folder / f"{name}.safetensors")
    found = {"epoch": epoch, "accuracy": _share(right), "right": _digits(right)}
    if task == "tags":
        return found | _by_word(right)
    lengths = torch.tensor([len(row) for row in texts_of(task, "test")])
    return found | {
        "by length": {
            label: _share(right[(lengths >= low) & (lengths <= high)])
            for label, (low, high) in LENGTHS.items()
        }
    }


def replay_unit(unit: dict[str, Any], folder: Path) -> dict[str, Any]:
    """Run a unit without its single answers: of two all but tied, one may turn."""
    return {k: v for k, v in run_unit(unit, folder).items() if k != "right"}


def _share(right: Tensor) -> float:
    return right.float().mean().item()


def _digits(right: Tensor) -> str:
    return "".join(map(str, right.int().tolist()))


def _by_word(right: Tensor) -> dict[str, float]:
    """Compare the reader with each word's usual tag: over all, and where it varies."""
    known, _, tags = tagged()
    usual, vary = usual_tags()
    flat = [word for row in texts_of("tags", "test") for word in row]
    wanted = [tag for row in tags["test"] for tag in row]
    guessed = torch.tensor([usual[w] == t for w, t in zip(flat, wanted, strict=True)])
    kinds = {
        "words that vary": torch.tensor([word in vary for word in flat]),
        "unknown words": torch.tensor([word == known.ids["<unk>"] for word in flat]),
    }
    found = {"usual tag": _share(guessed)}
    for kind, where in kinds.items():
        found |= {f"share, {kind}": _share(where), kind: _share(right[where])}
        found[f"usual tag, {kind}"] = _share(guessed[where])
    return found


def summarise(units: list[dict[str, Any]]) -> dict[str, Any]:
    """Return the mean accuracy of each model at each task."""
    names = dict.fromkeys((unit["task"], unit["model"]) for unit in units)
    return {
        f"{task}, {model}": sum(found) / len(found)
        for task, model in names
        for found in [
            [u["accuracy"] for u in units if (u["task"], u["model"]) == (task, model)]
        ]
    }


def export(folder: Path, target: Path) -> None:
    """Write two judges of tweets for the lab: one that reads, and one that counts."""
    reader = {
        k: w.half().float() for k, w in load_file(folder / "last.safetensors").items()
    }
    bag = load_file(folder / "bag.safetensors")
    each = bag["embed.weight"] @ bag["read.weight"].T  # (V, 2)
    bias = bag["read.bias"]
    kept = reader | {"bag": (each[:, 1] - each[:, 0]), "bag_bias": bias[1:] - bias[:1]}
    kept = {name: w.half().float().contiguous() for name, w in kept.items()}
    save_file(kept, target / f"{NAME}.safetensors")
    weights = {name: packed(w) for name, w in kept.items()}
    model = {"words": list(judged("tweets")[0].tokens), "weights": weights}
    (target / f"{NAME}.js").write_text(
        script(NAME, model), encoding="utf-8", newline="\n"
    )
