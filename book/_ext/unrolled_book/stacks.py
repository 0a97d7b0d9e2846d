"""Tables that become stacks of cards on a narrow page.

A narrow page turns rows and cells into blocks by style, and a browser then forgets that
they were a table; so every part says by its role what it is, and every cell carries the
name of its column.
"""

from html import escape
from typing import NamedTuple

from docutils import nodes

Cell = str | list[nodes.Node]  # HTML, or what MyST made of some words


class Row(NamedTuple):
    """A row: its anchor, its cells, and what filters may ask of it."""

    anchor: str
    cells: list[Cell]
    data: dict[str, str] | None = None


def _raw(html: str) -> nodes.raw:
    return nodes.raw("", html, format="html")


def _cell(name: str, cell: Cell, *, first: bool) -> list[nodes.Node]:
    tag, role = ("th", "rowheader") if first else ("td", "cell")
    scope = ' scope="row"' if first else ""
    start = f'<{tag}{scope} role="{role}" data-label="{escape(name)}">'
    inside = [_raw(cell)] if isinstance(cell, str) else cell
    return [_raw(start), *inside, _raw(f"</{tag}>")]


def table(
    label: str, columns: list[str], rows: list[Row], *, kind: str = "cards"
) -> list[nodes.Node]:
    """Return a table called ``label``; ``kind`` tells the style how to stack it."""
    name = escape(label)
    head = "".join(
        f'<th scope="col" role="columnheader">{escape(column)}</th>'
        for column in columns
    )
    parts: list[nodes.Node] = [
        _raw(
            f'<div class="ledger" data-kind="{kind}" tabindex="0" role="region" '
            f'aria-label="{name}">'
            f'<table role="table" aria-label="{name}"><thead role="rowgroup">'
            f'<tr role="row">{head}</tr></thead><tbody role="rowgroup">'
        )
    ]
    for row in rows:
        data = (row.data or {}).items()
        known = "".join(f' data-{key}="{escape(value)}"' for key, value in data)
        parts.append(_raw(f'<tr role="row" id="{row.anchor}"{known}>'))
        for number, (column, cell) in enumerate(zip(columns, row.cells, strict=True)):
            parts += _cell(column, cell, first=number == 0)
        parts.append(_raw("</tr>"))
    return [*parts, _raw("</tbody></table></div>")]
