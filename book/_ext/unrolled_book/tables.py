"""Tables: plain ones, and those that become stacks of cards on a narrow page."""

from collections.abc import Iterable, Sequence
from html import escape
from typing import Any, NamedTuple

from docutils import nodes

Cell = str | list[nodes.Node]  # HTML, or what MyST made of some words


def table(head: Sequence[Any], rows: Iterable[Sequence[Any]]) -> nodes.table:
    """Return a table; a cell is a node, a list of nodes, or something to print."""
    group = nodes.tgroup(cols=len(head))
    group += [nodes.colspec(colwidth=1) for _ in head]
    group += nodes.thead("", _row(head))
    group += nodes.tbody("", *map(_row, rows))
    return nodes.table("", group)


def _row(cells: Sequence[Any]) -> nodes.row:
    entries = (nodes.entry("", nodes.paragraph("", "", *_inline(c))) for c in cells)
    return nodes.row("", *entries)


def _inline(cell: Any) -> list[nodes.Node]:
    if isinstance(cell, list):
        return cell
    return [cell if isinstance(cell, nodes.Node) else nodes.Text(str(cell))]


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


def stacked_table(
    label: str, columns: list[str], rows: list[Row], *, kind: str = "cards"
) -> list[nodes.Node]:
    """Return a table called ``label`` that is a stack of cards on a narrow page.

    Style turns rows and cells into blocks there, and a browser then forgets that they
    were a table; so every part says by its role what it is, and every cell carries the
    name of its column. ``kind`` tells the style how to stack them.
    """
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
