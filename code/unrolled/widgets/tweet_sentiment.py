"""Message sentiment, with ipywidgets: one judge reads, the other counts.

Their weights are those that the page carries. Axes: T words.
"""

from functools import cache
from html import escape

import ipywidgets
import torch
from safetensors.torch import load_file
from torch import Tensor, nn

from unrolled.recipes._reading_data import LONGEST, judged
from unrolled.recipes._reading_models import build
from unrolled.runtime import book_folder


@cache
def judges() -> tuple[nn.Module, dict[str, Tensor]]:
    """Return the reader, and the weights of the bag of words."""
    path = book_folder() / "_static" / "models" / "reading-tasks.safetensors"
    weights = load_file(path)
    bag = {name: weights.pop(name) for name in ("bag", "bag_bias")}
    reader = build("last", len(bag["bag"])).eval()
    reader.load_state_dict(weights)
    return reader, bag


@torch.no_grad()
def verdicts(text: str) -> tuple[list[float], float]:
    """Return the reader's probability of praise after each word, and the bag's."""
    ids = torch.tensor([judged("tweets")[0].encode(text.casefold())[:LONGEST]])
    reader, bag = judges()
    if not ids.numel():
        return [], 0.5
    read = [
        reader(ids[:, : t + 1]).softmax(dim=-1)[0, 1].item()
        for t in range(ids.shape[1])
    ]
    score = bag["bag"][ids[0]].mean() + bag["bag_bias"][0]
    return read, torch.sigmoid(score).item()


def live() -> ipywidgets.VBox:
    """Return a box to type in, and what both judges make of it."""
    box = ipywidgets.Textarea(value="good not bad at all", description="Text")
    shown = ipywidgets.HTML()

    def refresh(_: object = None) -> None:
        read, bag = verdicts(box.value)
        words = judged("tweets")[0].encode(box.value.casefold())[:LONGEST]
        names = judged("tweets")[0].tokens
        lines = [
            f"{escape(names[word])}: {p:.2f}"
            for word, p in zip(words, read, strict=True)
        ]
        shown.value = (
            "<br>".join(lines)
            + f"<p>Praise: reader <b>{read[-1] if read else 0.5:.2f}</b>, "
            f"bag of words <b>{bag:.2f}</b></p>"
        )

    box.observe(refresh, names="value")
    refresh()
    return ipywidgets.VBox([box, shown])
