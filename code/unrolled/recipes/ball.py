"""Networks learn where a ball goes next, from 1 to 8 frames and with four noises.

Each unit trains a network for every number of frames and every noise, side by side, in
one of two worlds: in the open a ball flies straight on, in the box it meets walls. They
all see the same throws. The answer asked for is the true place at the next frame.
"""

import json
from pathlib import Path
from typing import Any

import torch
from safetensors.torch import load_file, save_file
from torch import Tensor, nn

from unrolled.data.batch import Batch
from unrolled.data.made.ball import Flights, balls, fly
from unrolled.data.made.draws import stream_batches
from unrolled.runtime import generator, seed_all
from unrolled.training.loop import TrainConfig, training_steps
from unrolled.training.optimizers import AdamW
from unrolled.training.schedules import WarmupCosine

FRAMES = tuple(range(1, 9))
NOISES = (0.0, 0.01, 0.03, 0.1)
INTERVAL, SPEED = 0.1, (0.5, 1.5)
MOST = max(FRAMES)
WIDTH = 32
TRAIN = TrainConfig(
    steps=2000, lr=0.004, clip_norm=1e9, optimizer=AdamW(fused=False),
    schedule=WarmupCosine(warmup=50, steps=2000, floor=0.0),
)  # fmt: skip
N_TEST = 5000
UNITS: list[dict[str, Any]] = [
    {"world": world, "seed": seed} for world in ("open", "box") for seed in range(3)
]
SHOWN = (4, 0.03)  # frames and noise of the network that the lab shows


class BallNets(nn.Module):
    r"""Many networks at once, each for so many frames: a line and what bends it.

    .. math:: \mathbf{o} = \mathbf{x}\mathbf{A} + \mathbf{c}
        + \operatorname{relu}(\operatorname{relu}(\mathbf{x}\mathbf{W}_1 + \mathbf{b}_1)
        \mathbf{W}_2 + \mathbf{b}_2) \mathbf{V}

    where x holds the frames from where the last was seen, and that place itself. All
    lengths are in units of what a ball of speed 1 flies between two frames.
    """

    def __init__(self, frames: list[int], *, place: bool) -> None:
        super().__init__()
        self.visible: Tensor
        d_in, n = 2 * MOST + 2, len(frames)

        def weight(*shape: int, scale: float) -> nn.Parameter:
            return nn.Parameter(torch.randn(n, *shape) * scale)

        self.A = weight(d_in, 2, scale=0.0)
        self.c = weight(1, 2, scale=0.0)
        self.W_1 = weight(d_in, WIDTH, scale=d_in**-0.5)
        self.b_1 = weight(1, WIDTH, scale=0.3)
        self.W_2 = weight(WIDTH, WIDTH, scale=(2 / WIDTH) ** 0.5)
        self.b_2 = weight(1, WIDTH, scale=0.0)
        self.V = weight(WIDTH, 2, scale=0.1 * WIDTH**-0.5)
        visible = torch.zeros(n, 1, MOST, 1)
        for row, count in zip(visible, frames, strict=True):
            row[0, MOST - count :] = 1
        self.register_buffer("visible", visible)
        self.place = place

    def forward(self, seen: Tensor) -> Tensor:
        """Return the next place (N, B, 2) for ``seen`` (N, B, T, 2)."""
        last = seen[:, :, -1]  # (N, B, 2)
        since = (seen - last[:, :, None]) / INTERVAL * self.visible
        here = (last - 0.5) / 0.5 if self.place else torch.zeros_like(last)
        x = torch.cat([since.flatten(2), here], dim=-1)  # (N, B, 2 T + 2)
        h = torch.relu(x @ self.W_1 + self.b_1)
        h = torch.relu(h @ self.W_2 + self.b_2)
        return last + INTERVAL * (x @ self.A + self.c + h @ self.V)


def throw(n_rows: int, world: str, *, generator: torch.Generator) -> Flights:
    """Throw balls for one frame more than is ever seen; ``seen`` has noise of 1."""
    settings: dict[str, Any] = {"interval": INTERVAL, "speed": SPEED, "noise": 1.0}
    if world == "box":
        return balls(n_rows, MOST + 1, generator=generator, **settings)
    # Far from every wall: a box so large that none is met from its middle.
    drawn = balls(n_rows, MOST + 1, generator=generator, **settings)
    middle = torch.full((n_rows, 2), 10.0)
    flown = fly(middle, drawn.velocities[:, 0], drawn.times, box=(20.0, 20.0))
    noise = drawn.seen - drawn.positions
    return Flights(
        times=flown.times, positions=flown.positions, seen=flown.positions + noise,
        velocities=flown.velocities, bounces=flown.bounces,
        bounce_times=flown.bounce_times,
    )  # fmt: skip


def batch_of(n_rows: int, world: str, *, generator: torch.Generator) -> Batch:
    """Return true frames and their noise, (B, T, 4), and the true next places."""
    flights = throw(n_rows, world, generator=generator)
    noise = flights.seen - flights.positions
    x = torch.cat([flights.positions, noise], dim=-1)[:, :-1]
    return Batch(x=x.float(), y=flights.positions[:, -1].float())


def cells(
    frames: tuple[int, ...] = FRAMES, noises: tuple[float, ...] = NOISES
) -> list[tuple[int, float]]:
    """Return every number of frames with every noise, in the order of the networks."""
    return [(count, noise) for noise in noises for count in frames]


def seen_by(chosen: list[tuple[int, float]], x: Tensor) -> Tensor:
    """Return what each network sees, (N, B, T, 2), of ``x`` (B, T, 4)."""
    noises = x.new_tensor([noise for _, noise in chosen])
    return x[..., :2] + noises[:, None, None, None] * x[..., 2:]


def train(
    world: str, seed: int, chosen: list[tuple[int, float]], config: TrainConfig = TRAIN
) -> BallNets:
    """Train a network for each of the ``chosen`` cells."""
    seed_all(seed)
    nets = BallNets([count for count, _ in chosen], place=world == "box")

    def loss_fn(model: BallNets, batch: Batch) -> Tensor:
        """Return the sum over the networks: none of them feels another's."""
        away = (model(seen_by(chosen, batch.x)) - batch.y) / INTERVAL
        return away.square().sum(dim=-1).mean(dim=1).sum()

    batches = stream_batches(batch_of, 64, world, generator=generator(seed))
    for _ in training_steps(nets, loss_fn, batches, config):
        pass
    return nets.requires_grad_(False)


def errors(nets: BallNets, world: str, chosen: list[tuple[int, float]]) -> list[float]:
    """Return each network's root mean squared distance on throws kept for that."""
    test = batch_of(N_TEST, world, generator=generator(10_000))
    away = nets(seen_by(chosen, test.x)) - test.y
    return away.double().square().sum(dim=-1).mean(dim=1).sqrt().tolist()


def run_unit(unit: dict[str, Any], folder: Path) -> dict[str, Any]:
    """Train all networks of one world and seed; keep their errors by noise."""
    chosen = cells()
    nets = train(unit["world"], unit["seed"], chosen)
    if unit["world"] == "box" and unit["seed"] == 0:
        at = chosen.index(SHOWN)
        one = {name: p[at].contiguous() for name, p in nets.named_parameters()}
        save_file(one, folder / "ball.safetensors")
    found = errors(nets, unit["world"], chosen)
    table: dict[str, list[float]] = {}
    for (_, noise), error in zip(chosen, found, strict=True):
        table.setdefault(f"{noise:g}", []).append(error)
    return {"errors": table}


def summarise(units: list[dict[str, Any]]) -> dict[str, Any]:
    """Return the mean error of the seeds, by world and noise, over the frames."""
    table: dict[str, dict[str, list[float]]] = {}
    for world in ("open", "box"):
        runs = [unit["errors"] for unit in units if unit["world"] == world]
        table[world] = {
            key: torch.tensor([run[key] for run in runs]).mean(dim=0).tolist()
            for key in runs[0]
        }
    return table


def export(folder: Path, target: Path) -> None:
    """Write one network of the box as a script for the lab."""
    tensors = load_file(folder / "ball.safetensors")
    rounded = {
        name: torch.round(value.double() * 1e5).div(1e5).tolist()
        for name, value in tensors.items()
    }
    for name in ("A", "W_1"):
        rounded[name] = rounded[name][2 * (MOST - SHOWN[0]) :]  # frames it never sees
    (target / "ball.js").write_text(
        "window.UnrolledLab = window.UnrolledLab || {};\n"
        "window.UnrolledLab.models = window.UnrolledLab.models || {};\n"
        f'window.UnrolledLab.models["ball"] = {json.dumps(rounded)};\n',
        encoding="utf-8",
        newline="\n",
    )
