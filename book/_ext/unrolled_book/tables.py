"""Plain tables, made of nodes."""

from collections.abc import Iterable, Sequence
from typing import Any

from docutils import nodes


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
