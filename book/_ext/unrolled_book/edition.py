"""The reader's edition of a page: the notebook that people open.

JupyterLab, VS Code, Colab, GitHub and nbconvert show plain Markdown. So every construct
of MyST in the words of a page is replaced: numbers are put in, citations and references
become text with links into the book, boxes become quotations, equations and exercises
get the numbers that the page prints, and below a figure stands its caption. The records
among the outputs get their drawings. What cannot be resolved is an error that says
where it stands.
"""

import re
from collections.abc import Mapping
from functools import cached_property
from pathlib import Path
from typing import Any

import yaml
from myst_parser.config.main import MdParserConfig
from myst_parser.mdit_to_docutils.base import DocutilsRenderer
from myst_parser.parsers.mdit import create_md_parser
from nbformat import NotebookNode
from nbformat.v4 import new_markdown_cell
from pybtex.database import parse_file
from sphinxcontrib.bibtex.style.referencing.author_year import AuthorYearReferenceStyle

from unrolled.book.drawing import IN_NOTEBOOKS, draw, draw_figure
from unrolled.book.records import FIGURE
from unrolled_book import notebooks
from unrolled_book.blocks import Code, Directive, blocks
from unrolled_book.citations import tell_years_apart
from unrolled_book.claims import LEDGER, Entry, measured
from unrolled_book.labels import Label, all_labels

#: A role, or what may look like one or like a link and must be left alone.
INLINE = re.compile(
    r"(?P<escaped>\\.)"
    r"|\{(?P<role>[a-zA-Z][\w:-]*)\}(?P<ticks>`+)(?P<content>.+?)(?P=ticks)(?!`)"
    r"|(?P<span>`+)(?:.+?)(?P=span)(?!`)"
    r"|\$\$.+?\$\$|\$[^$]+?\$"
    r"|(?P<picture>!?)\[(?P<words>[^\]\[]*)\]\((?P<address>[^)\s]*)\)",
    re.S,
)
TITLED = re.compile(r"(?P<words>.+?)\s*<(?P<target>[^<>]+)>", re.S)
TARGET = re.compile(r"^\([^)\s]+\)=\n+", re.M)
COMMENT = re.compile(r"^%.*\n?", re.M)
DISPLAY = re.compile(r"\$\$.*?\$\$", re.S)
#: Boxes whose title is their name, as docutils has them.
NAMED_BOXES = ("note", "tip", "hint", "important", "warning", "caution", "seealso")
#: Tokens of MyST that a plain viewer would show as source.
UNRESOLVED = {
    "myst_role": "a role",
    "myst_target": "a target",
    "myst_line_comment": "a comment",
    "myst_block_break": "a cell break",
    "colon_fence": "a box",
    "math_block_label": "a labelled equation between dollars",
    "substitution_inline": "a substitution",
    "substitution_block": "a substitution",
    "footnote_ref": "a footnote",
    "footnote_block_open": "a footnote",
    "dl_open": "a list of definitions",
    "span_open": "words with attributes",
}


class EditionError(ValueError):
    """A construct that has no place in the edition."""


class Book:
    """What the editions of all pages look things up in."""

    def __init__(self, root: Path, claims: Mapping[str, Entry]) -> None:
        """Look at the book in ``root``, whose ``claims`` are those of the last run."""
        self.root, self.claims = root, claims

    @cached_property
    def labels(self) -> dict[str, Label]:
        """Every label of the book."""
        return all_labels(self.root)

    @cached_property
    def works(self) -> Mapping[str, Any]:
        """Every work of the bibliography."""
        entries = parse_file(self.root / "book" / "references.bib").entries
        tell_years_apart(entries)
        return entries

    @cached_property
    def address(self) -> str:
        """Where the book stands on the web."""
        text = (self.root / "_config.yml").read_text(encoding="utf-8")
        return yaml.safe_load(text)["html"]["baseurl"].rstrip("/")

    def url(self, docname: str, anchor: str = "") -> str:
        """Return the address of a page, or of a place there."""
        return f"{self.address}/{docname}.html" + (f"#{anchor}" if anchor else "")


class Edition:
    """Makes the edition of one page."""

    def __init__(self, book: Book, source: Path) -> None:
        """Take the page whose source is ``source``."""
        self.book, self.source = book, source
        self.docname = f"chapters/{source.stem}"

    def of(self, page: NotebookNode) -> NotebookNode:
        """Return the edition of ``page``, the source's cells with their outputs."""
        edition = page.copy()
        edition["cells"] = []
        for cell in page.cells:
            if cell.cell_type != "code":
                cell = cell.copy() | {"source": self._text(cell.source)}
                edition.cells.append(NotebookNode(cell))
                continue
            options = cell.metadata.get("mystnb", {})
            edition.cells.append(self._code(cell))
            if figure := options.get("figure"):
                caption = self._text(self._caption(figure), figure["caption"])
                edition.cells.append(new_markdown_cell(caption))
        first = edition.cells[0]
        first["source"] = self._with_origin(first["source"])
        for number, cell in enumerate(edition.cells):
            cell["id"] = f"cell-{number:03d}"  # the same from run to run
        return edition

    # ---- words ----

    def _text(self, text: str, where: str = "") -> str:
        """Return MyST text as plain Markdown, and make sure that it is."""
        try:
            plain = self.plain(text)
            for kind, what in _leftovers(plain):
                raise EditionError(f"{kind} that plain Markdown does not have: {what}")
        except (LookupError, ValueError) as error:
            shown = str(error.args[0] if error.args else error)
            raise EditionError(
                f"{self._place(shown, where or text)}: {shown}"
            ) from error
        return plain

    def plain(self, text: str) -> str:
        """Return MyST text as plain Markdown."""
        parts = []
        for block in blocks(text):
            if isinstance(block, Code):
                parts.append(block)
            elif isinstance(block, Directive):
                parts.append(self._directive(block))
            else:
                words = COMMENT.sub("", TARGET.sub("", block))
                parts.append(self._inline(words))
        return "\n".join(parts).strip("\n")

    def _with_origin(self, text: str) -> str:
        """Say under the title of the page where it comes from."""
        number = int(self.source.stem[:2])
        chapter = f", chapter {number}" if number else ""
        origin = (
            f"*From [Unrolled]({self.book.url('book/index')}){chapter}: "
            f"[read this page in the book]({self.book.url(self.docname)}). On Colab, "
            f"[run this first]({self.book.url('book/setup', 'colab')}).*"
        )
        return re.sub(r"\A\n*(# .+)$", rf"\1\n\n{origin}", text, count=1, flags=re.M)

    def _inline(self, text: str) -> str:
        return INLINE.sub(self._resolved, text)

    def _resolved(self, found: re.Match[str]) -> str:
        if found["role"]:
            return self._role(
                found["role"], " ".join(found["content"].split()), found[0]
            )
        if found["address"] is None:
            return found[0]
        address = found["address"]
        if re.match(r"https?://", address):
            return found[0]
        name = address.removeprefix("#")
        if found["picture"] or name not in self.book.labels:
            raise EditionError(f"{found[0]} leads to no label of the book")
        label = self.book.labels[name]
        return self._link(self._inline(found["words"]) or label.words, label)

    def _role(self, role: str, content: str, whole: str) -> str:
        if role == "measured":
            return measured(dict(self.book.claims), content)
        if role in ("cite:t", "cite:p"):
            return self._citation(role, content, whole)
        titled = TITLED.fullmatch(content)
        words, target = (titled["words"], titled["target"]) if titled else ("", content)
        if role == "claim":
            if target not in self.book.claims:
                raise EditionError(f"{whole}: no claim {target!r}")
            docname = self.book.claims[target].docname
            label = Label(docname, f"claim-{target}", "claim", target)
            return self._link(words or target, label)
        kinds = {
            "ref": ("section",),
            "numref": ("figure",),
            "eq": ("equation",),
            "doc": ("page",),
            "term": ("term",),
        }
        if role not in kinds:
            raise EditionError(f"{whole}: no role {role!r} in a reader's edition")
        found = self.book.labels.get(f"term {target}" if role == "term" else target)
        if found is None or found.kind not in kinds[role]:
            raise EditionError(f"{whole}: no {kinds[role][0]} has the label {target!r}")
        if role == "numref" and words:
            number = found.words.split()[-1]
            words = words.replace("%s", number).replace("{number}", number)
        return self._link(words or found.words, found)

    def _link(self, words: str, label: Label) -> str:
        """Return words that lead to another page; on the same page they just stand."""
        if label.docname == self.docname:
            return words
        return f"[{words}]({self.book.url(label.docname, label.anchor)})"

    def _citation(self, role: str, content: str, whole: str) -> str:
        cited = []
        for key in (key.strip() for key in content.split(",")):
            if key not in self.book.works:
                raise EditionError(f"{whole}: no work {key!r} in book/references.bib")
            work = self.book.works[key]
            style = AuthorYearReferenceStyle()
            names = style.person.author_or_editor_or_title(full=False)
            author = str(names.format_data({"entry": work, "style": style}))
            url = self.book.url("book/bibliography", key)
            cited.append((author, work.fields["year"], url))
        cited.sort()  # as the page does
        if role == "cite:t":
            return ", ".join(
                f"{author} [[{year}]({url})]" for author, year, url in cited
            )
        every = ", ".join(f"[{author}, {year}]({url})" for author, year, url in cited)
        return f"[{every}]"

    # ---- boxes and equations ----

    def _directive(self, block: Directive) -> str:
        if block.name == "math":
            return self._equation(block)
        if block.name == "exercise":
            number = self.book.labels[block.options["label"]].words
            title = f"**{number}** ({self._inline(block.argument)})"
            return _quoted(title, self.plain(block.body))
        if block.name in ("admonition", "margin"):
            name = self._inline(block.argument)
        elif block.name in NAMED_BOXES:
            name = "See also" if block.name == "seealso" else block.name.capitalize()
        else:
            raise EditionError(
                f"{{{block.name}}} {block.argument}: no directive {block.name!r} in a "
                "reader's edition"
            )
        body = self.plain(block.body)
        if "dropdown" in str(block.options.get("class", "")).split():
            return f"<details><summary>{name}</summary>\n\n{body}\n\n</details>\n"
        return _quoted(f"**{name}**" if name else "", body)

    def _equation(self, block: Directive) -> str:
        body = "\n".join(part for part in (block.argument, block.body) if part).strip()
        if "\\\\" in body and not body.startswith("\\begin{"):
            body = f"\\begin{{aligned}}\n{body}\n\\end{{aligned}}"
        if "label" in block.options:
            number = self.book.labels[block.options["label"]].words.strip("()")
            body += f" \\tag{{{number}}}"
        return f"$$\n{body}\n$$"

    # ---- code ----

    def _caption(self, figure: Mapping[str, str]) -> str:
        return f"**{self.book.labels[figure['name']].words}.** {figure['caption']}"

    def _code(self, cell: NotebookNode) -> NotebookNode:
        """Return a cell of code; how the page shows its figure is the source's part."""
        alt = cell.metadata.get("mystnb", {}).get("image", {}).get("alt", "")
        made = NotebookNode(cell | {"metadata": cell.metadata.copy(), "outputs": []})
        made.metadata.pop("mystnb", None)
        words = self._text(alt, alt) if alt else ""
        if words:  # for the figure that a reader draws by running the cell
            made.metadata["unrolled"] = {"alt": words}
        for output in cell.outputs:
            output = output.copy()
            if "data" in output:
                output["data"] = with_drawing(
                    output["data"],
                    alt=words,
                    ledger=self.book.url(LEDGER),
                    page=self.book.url(self.docname),
                )
            made.outputs.append(NotebookNode(output))
        return made

    def _place(self, what: str, where: str) -> str:
        """Return the line of the source where a construct, or its cell, stands."""
        text = self.source.read_text(encoding="utf-8")
        inside = text.find(where.strip().split("\n")[0]) if where.strip() else -1
        construct = re.search(
            r"\{[\w:-]+\}`[^`]*`|`[^`]+`|'[^']+'|\[[^\]]*\]\([^)]*\)", what
        )
        exact = text.find(construct[0].strip("'"), max(inside, 0)) if construct else -1
        at = exact if exact >= 0 else max(inside, 0)
        return f"{self.source.name}, line {text.count(chr(10), 0, at) + 1}"


def with_drawing(
    data: dict[str, Any], *, alt: str, ledger: str, page: str
) -> dict[str, Any]:
    """Return an output with the drawing of its record or figure, for a notebook."""
    for mime in IN_NOTEBOOKS.keys() & data.keys():
        html = draw(mime, data[mime], ledger=ledger, page=page, notebook=True)
        return data | {"text/html": html}
    if FIGURE in data and alt:
        return data | {"text/html": draw_figure(notebooks.text(data[FIGURE]), alt=alt)}
    return data


def _quoted(title: str, body: str) -> str:
    """Return a box as a quotation, which every viewer sets apart.

    An equation stands in one line: the marks of a quotation are no TeX.
    """
    body = DISPLAY.sub(lambda found: " ".join(found[0].split()), body)
    whole = f"{title}\n\n{body}" if title else body
    return "\n".join(f"> {line}".rstrip() for line in whole.split("\n")) + "\n"


_PARSER = create_md_parser(
    MdParserConfig(
        enable_extensions={
            "amsmath", "attrs_inline", "colon_fence", "deflist", "dollarmath",
            "substitution",
        }
    ),
    DocutilsRenderer,
)  # fmt: skip


def _leftovers(text: str) -> list[tuple[str, str]]:
    """Return the constructs of MyST in a text that should have none."""
    found = []
    tokens = list(_PARSER.parse(text))
    while tokens:
        token = tokens.pop()
        tokens += token.children or []
        if token.type in UNRESOLVED:
            found.append((UNRESOLVED[token.type], token.content))
        elif token.type == "fence" and token.info.startswith("{"):
            found.append(("a directive", token.info))
    return found
