"""The examples of the data cards: text, pixels and lines, as nodes.

Pixels become a PNG inside the page. Lines take the colour of the text, so that they are
seen in both themes.
"""

import base64
import struct
import zlib
from html import escape
from typing import Any

from docutils import nodes

SCALE = {8: 10, 32: 4}  # how many pixels of the page to a pixel of ours, by width


def example(shown: dict[str, Any]) -> list[nodes.Node]:
    """Return the nodes of an example of any form, with its words below a picture."""
    if shown["form"] == "text":
        look = {"language": "none", "classes": ["data-example"]}
        return [nodes.literal_block(shown["text"], shown["text"], **look)]
    picture = _image(shown) if shown["form"] == "image" else _drawing(shown)
    return [
        nodes.raw("", picture, format="html"),
        nodes.paragraph(text=shown["alt"]),
    ]


def png(width: int, height: int, channels: int, pixels: bytes) -> bytes:
    """Return a PNG of grey (1 channel) or coloured (3) pixels, row by row."""
    row = width * channels
    if len(pixels) != row * height or channels not in (1, 3):
        raise ValueError(f"{len(pixels)} bytes must be {height} rows of {row}")
    rows = b"".join(b"\0" + pixels[i : i + row] for i in range(0, len(pixels), row))
    colour = {1: 0, 3: 2}[channels]
    head = struct.pack(">IIBBBBB", width, height, 8, colour, 0, 0, 0)
    chunks = ((b"IHDR", head), (b"IDAT", zlib.compress(rows, 9)), (b"IEND", b""))
    return b"\x89PNG\r\n\x1a\n" + b"".join(
        struct.pack(">I", len(data)) + kind + data
        + struct.pack(">I", zlib.crc32(kind + data))
        for kind, data in chunks
    )  # fmt: skip


def _image(shown: dict[str, Any]) -> str:
    width, height = shown["width"], shown["height"]
    data = png(width, height, shown["channels"], bytes.fromhex(shown["pixels"]))
    scale = SCALE.get(width, 1)
    return (
        f'<img class="data-picture" alt="{escape(shown["alt"])}" '
        f'width="{width * scale}" height="{height * scale}" '
        f'src="data:image/png;base64,{base64.b64encode(data).decode()}">'
    )


def _points(path: list[list[float]]) -> str:
    return " ".join(f"{x:g},{y:g}" for x, y in path)


def _drawing(shown: dict[str, Any]) -> str:
    width, height = shown["width"], shown["height"]
    lines = "".join(f'<polyline points="{_points(p)}"/>' for p in shown["paths"])
    dots = "".join(
        f'<circle cx="{x:g}" cy="{y:g}" r="2.5" fill="currentColor" stroke="none" '
        f'opacity="{0.25 + 0.75 * (i + 1) / len(shown["dots"]):.2f}"/>'
        for i, (x, y) in enumerate(shown["dots"])
    )
    frame = (
        f'<rect x="1" y="1" width="{width - 2}" height="{height - 2}"/>'
        if shown["frame"]
        else ""
    )
    return (
        f'<svg class="data-picture" role="img" aria-label="{escape(shown["alt"])}" '
        f'viewBox="0 0 {width} {height}" width="{width}" height="{height}" '
        'fill="none" stroke="currentColor" stroke-width="1.2" '
        f'stroke-linecap="round" stroke-linejoin="round">{frame}{lines}{dots}</svg>'
    )
