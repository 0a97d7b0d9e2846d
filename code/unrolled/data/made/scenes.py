"""Scenes: small pictures of coloured shapes, and a caption that is true of them.

One to three shapes, in two sizes, lie apart on a shaded grey ground. The caption names
the first and says where it lies from each of the others: "a small red circle above a
large blue square and left of a small green cross". *Above*, *below*, *left of* and
*right of* name the direction in which the two centres are farther apart, and the boxes
are apart in that direction. Axes: B scenes, then channel, row (downwards) and column.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations

import torch
from torch import Tensor

from unrolled.shapes import at_least

SIDE = 32  # pixels
MOST = 3  # shapes in a scene
COLOURS = {
    "red": (0.90, 0.10, 0.10),
    "green": (0.10, 0.75, 0.15),
    "blue": (0.15, 0.25, 0.95),
    "yellow": (0.95, 0.90, 0.10),
    "purple": (0.65, 0.10, 0.80),
}
SHAPES = ("circle", "square", "triangle", "cross")
SIZES = {"small": 3, "large": 5}  # from the centre to the edge; 7 and 11 pixels wide
RELATIONS = (("left", "of"), ("right", "of"), ("above",), ("below",))
TILT = 0.1  # how much brighter or darker the ground may be at the edge
TINT = 0.05  # how far a colour may stray from its name

Kind = tuple[str, str]  # colour and shape
Box = tuple[int, int, int, int]  # x0, y0, x1, y1: the pixels x0 <= x < x1, y0 <= y < y1
ALL: tuple[Kind, ...] = tuple((c, s) for c in COLOURS for s in SHAPES)
# Each of these shapes and colours is in SEEN too, but not together.
HELD_OUT: tuple[Kind, ...] = (
    ("red", "triangle"),
    ("green", "circle"),
    ("blue", "cross"),
    ("yellow", "square"),
)
SEEN: tuple[Kind, ...] = tuple(kind for kind in ALL if kind not in HELD_OUT)


@dataclass(frozen=True, kw_only=True, slots=True)
class Thing:
    """One shape of a scene."""

    size: str
    colour: str
    shape: str
    box: Box


@dataclass(frozen=True, kw_only=True, slots=True)
class Caption:
    """The words, and for each the place in ``things`` of what it names, or None."""

    words: tuple[str, ...]
    names: tuple[int | None, ...]
    things: tuple[Thing, ...]


@dataclass(frozen=True, kw_only=True, slots=True)
class Scenes:
    """Images (B, 3, 32, 32) from 0 to 1, and their captions."""

    images: Tensor
    captions: tuple[Caption, ...]


def _apart(x: Tensor, y: Tensor, reach: Tensor, counts: Tensor) -> Tensor:
    """Return which rows (B,) have every pair of shapes clearly placed."""
    fine = torch.ones(len(x), dtype=torch.bool)
    for i, j in combinations(range(x.shape[1]), 2):
        dx, dy = (x[:, i] - x[:, j]).abs(), (y[:, i] - y[:, j]).abs()
        # A pixel between the boxes, and no doubt which direction it is.
        far = torch.maximum(dx, dy) > reach[:, i] + reach[:, j] + 1
        fine &= (far & ((dx - dy).abs() >= 2)) | (counts <= j)
    return fine


def _places(
    reach: Tensor, counts: Tensor, generator: torch.Generator
) -> tuple[Tensor, Tensor]:
    """Draw centres until all lie apart: columns x and rows y, (B, n) each."""
    x, y = torch.zeros_like(reach), torch.zeros_like(reach)
    todo = torch.arange(len(reach))
    while len(todo):
        room = SIDE - 2 * reach[todo]
        for place in (x, y):
            share = torch.rand(room.shape, generator=generator)
            place[todo] = reach[todo] + (share * room).long()
        todo = todo[~_apart(x[todo], y[todo], reach[todo], counts[todo])]
    return x, y


def _masks(shape: Tensor, x: Tensor, y: Tensor, reach: Tensor) -> Tensor:
    """Return the pixels of each shape: (B, n) of all four to (B, n, 32, 32)."""
    grid = torch.arange(SIDE)
    dx = grid - x[..., None, None]  # (B, n, 1, 32)
    dy = grid[:, None] - y[..., None, None]  # (B, n, 32, 1)
    r = reach[..., None, None]
    inside = (dx.abs() <= r) & (dy.abs() <= r)
    circle = dx**2 + dy**2 <= r**2 + 1
    triangle = 2 * dx.abs() <= dy + r  # the point is up
    cross = (dx.abs() <= 1) | (dy.abs() <= 1)
    forms = torch.stack([circle, inside, triangle, cross])  # (4, B, n, 32, 32)
    own = torch.arange(len(SHAPES))[:, None, None] == shape
    return (forms & own[..., None, None]).any(dim=0) & inside


def _ground(n_rows: int, generator: torch.Generator) -> Tensor:
    """Return grey grounds (B, 1, 32, 32), a little brighter towards one side."""
    grey = 0.15 + 0.3 * torch.rand(n_rows, 1, 1, generator=generator)
    tilt = TILT * (2 * torch.rand(2, n_rows, 1, 1, generator=generator) - 1)
    ramp = torch.linspace(-1, 1, SIDE)
    return (grey + tilt[0] * ramp + tilt[1] * ramp[:, None])[:, None]


def _things(
    count: int, large: list[int], kinds: list[Kind], boxes: list[list[int]]
) -> tuple[Thing, ...]:
    found = []
    for i in range(count):
        (colour, shape), (x0, y0, x1, y1) = kinds[i], boxes[i]
        size, box = tuple(SIZES)[large[i]], (x0, y0, x1, y1)
        found.append(Thing(size=size, colour=colour, shape=shape, box=box))
    return tuple(found)


def _caption(things: tuple[Thing, ...]) -> Caption:
    words: list[str] = []
    names: list[int | None] = []

    def say(*said: str, of: int | None = None) -> None:
        words.extend(said)
        names.extend([of] * len(said))

    for i, thing in enumerate(things):
        if i:
            say(*(["and"] if i > 1 else []), *relation(things[0].box, thing.box))
        say("a")
        say(thing.size, thing.colour, thing.shape, of=i)
    return Caption(words=tuple(words), names=tuple(names), things=things)


def relation(a: Box, b: Box) -> tuple[str, ...]:
    """Return the words for where box ``a`` lies from box ``b``."""
    dx, dy = a[0] + a[2] - b[0] - b[2], a[1] + a[3] - b[1] - b[3]
    if abs(dx) > abs(dy):
        return RELATIONS[0] if dx < 0 else RELATIONS[1]
    return RELATIONS[2] if dy < 0 else RELATIONS[3]


def scenes(
    n_rows: int,
    *,
    fewest: int = 1,
    most: int = MOST,
    kinds: Sequence[Kind] = ALL,
    noise: float = 0.03,
    generator: torch.Generator,
) -> Scenes:
    """Draw scenes with ``fewest`` to ``most`` shapes, no two alike in colour and shape.

    Colours and shapes are drawn from ``kinds``: train on SEEN and test on HELD_OUT to
    ask for combinations that were never shown. ``noise`` is the standard deviation
    of the noise on every pixel.
    """
    at_least(1, n_rows=n_rows, fewest=fewest)
    if not fewest <= most <= MOST:
        raise ValueError(f"{most=} must lie between {fewest=} and {MOST}")
    if len(set(kinds)) < most or not set(kinds) <= set(ALL):
        raise ValueError(f"kinds must be at least {most=} of ALL, got {list(kinds)}")
    if noise < 0:
        raise ValueError(f"{noise=} is a standard deviation and must be at least 0")
    counts = torch.randint(fewest, most + 1, (n_rows,), generator=generator)
    large = torch.randint(2, (n_rows, most), generator=generator)
    reach = torch.tensor(list(SIZES.values()))[large]
    x, y = _places(reach, counts, generator)
    order = torch.rand(n_rows, len(kinds), generator=generator).argsort(dim=1)
    picks = [[kinds[k] for k in row] for row in order[:, :most].tolist()]
    boxes = torch.stack([x - reach, y - reach, x + reach + 1, y + reach + 1], dim=2)
    rows = zip(counts.tolist(), large.tolist(), picks, boxes.tolist(), strict=True)
    captions = tuple(_caption(_things(*row)) for row in rows)
    shape = torch.tensor([[SHAPES.index(s) for _, s in row] for row in picks])
    paint = torch.tensor([[COLOURS[c] for c, _ in row] for row in picks])  # (B, n, 3)
    paint += TINT * (2 * torch.rand(paint.shape, generator=generator) - 1)
    masks = _masks(shape, x, y, reach)
    masks &= (torch.arange(most) < counts[:, None])[..., None, None]
    images = _ground(n_rows, generator) * ~masks.any(dim=1, keepdim=True)
    images = images + torch.einsum("bnc,bnyx->bcyx", paint, masks.float())
    images += noise * torch.randn(images.shape, generator=generator)
    return Scenes(images=images.clamp(0, 1), captions=captions)
