"""The package reference, read out of the package itself.

- ``{layers}`` lists the layers of the package and what each imports.
- ``{equations}`` lists which equation of the book is computed where.
- ``{modules} PART`` documents the public modules of a layer, or of a folder in it.
- ``{commands}`` documents the command line.
"""

import ast
import hashlib
import re
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import typer.main
from docutils import nodes
from docutils.statemachine import StringList
from sphinx import addnodes
from sphinx.application import Sphinx
from sphinx.environment import BuildEnvironment
from sphinx.util.docutils import SphinxDirective

import unrolled
from unrolled.chapters.pages import all_pages
from unrolled.cli import app as command_line
from unrolled_book.tables import table

PACKAGE = Path(unrolled.__file__).parent
DOCUMENTS = "documents-modules"  # what Sphinx keeps of a page with such a list
# From below to above: a layer may import those before it (tests/package/test_layering).
ORDER = (
    "shapes runtime data layers models losses training decoding evaluation recipes "
    "figures widgets book chapters grading cli"
).split()


def module_name(path: Path, package: Path = PACKAGE) -> str:
    """Return the dotted name of the module in ``path``."""
    parts = path.relative_to(package.parent).with_suffix("").parts
    return ".".join(part for part in parts if part != "__init__")


def modules_of(part: str, package: Path = PACKAGE) -> list[Path]:
    """Return the files of a part's own public modules, the part itself first.

    A part is a layer, such as "data", or a folder in one, such as "data.made".
    """
    folder = package.joinpath(*part.split("."))
    if folder.with_suffix(".py").is_file():
        return [folder.with_suffix(".py")]
    public = (path for path in folder.glob("*.py") if not path.name.startswith("_"))
    return [*folder.glob("__init__.py"), *sorted(public)]


def layers(package: Path = PACKAGE) -> list[str]:
    """Return the layers that exist, in their order."""
    return [layer for layer in ORDER if modules_of(layer, package)]


def in_a_room(path: Path, package: Path = PACKAGE) -> bool:
    """Say whether a file belongs to one chapter alone: the reference leaves it out."""
    return bool(re.match(r"chapters/c\d\d_", path.relative_to(package).as_posix()))


def parts(package: Path = PACKAGE) -> list[str]:
    """Return the layers and the folders in them, each folder after its layer."""
    found = []
    for layer in layers(package):
        inside = sorted((package / layer).rglob("__init__.py"))
        inside = [path for path in inside if not in_a_room(path, package)]
        names = [module_name(path, package) for path in inside]
        found += [name.partition(".")[2] for name in names] or [layer]
    return found


def first_line(path: Path) -> str:
    """Return the first line of a module's docstring."""
    text = ast.get_docstring(ast.parse(path.read_text(encoding="utf-8"))) or ""
    return text.split("\n")[0]


def imported_layers(layer: str, package: Path = PACKAGE) -> list[str]:
    """Return the layers that a layer imports from, in their order."""
    folder = package / layer
    files = [*folder.rglob("*.py")] if folder.is_dir() else modules_of(layer, package)
    text = "\n".join(path.read_text(encoding="utf-8") for path in files)
    found = set(re.findall(r"^\s*(?:from|import) unrolled\.(\w+)", text, re.M))
    return [other for other in ORDER if other in found and other != layer]


def citations(package: Path = PACKAGE) -> Iterator[tuple[str, str]]:
    """Yield each equation that a docstring cites, with the name of what cites it."""
    for path in sorted(package.rglob("*.py")):
        if in_a_room(path, package):
            continue
        tree = ast.parse(path.read_text(encoding="utf-8"))
        yield from _citations(tree, module_name(path, package))


def _citations(
    node: ast.Module | ast.ClassDef | ast.FunctionDef, name: str
) -> Iterator[tuple[str, str]]:
    for label in re.findall(r":eq:`([^`]+)`", ast.get_docstring(node) or ""):
        yield label, name
    for child in node.body:
        if isinstance(child, ast.ClassDef | ast.FunctionDef):
            yield from _citations(child, f"{name}.{child.name}")


def equations(root: Path) -> dict[str, str]:
    """Return the labelled equations of all chapters, with the chapter's name."""
    return {
        label: page.docname
        for page in all_pages(root)
        for label in re.findall(
            r"^:label: (\S+)$", page.source.read_text("utf-8"), re.M
        )
    }


def commands() -> Iterator[tuple[str, Any]]:
    """Yield the commands of ``unrolled`` with their names, such as "data fetch"."""
    waiting = [("", typer.main.get_command(command_line))]
    while waiting:
        name, command = waiting.pop(0)
        inside = getattr(command, "commands", {})
        waiting[:0] = [(f"{name} {part}".strip(), inside[part]) for part in inside]
        if not inside:
            yield name, command


class _Reference(SphinxDirective):
    """What the directives share."""

    def words(self, text: str) -> list[nodes.Node]:
        """Return ``text``, a line of the book's markup, as nodes."""
        return self.state.inline_text(text, self.lineno)[0]


class Layers(_Reference):
    """The table of layers."""

    def run(self) -> list[nodes.Node]:
        """Build it from the sources, at every build."""
        self.env.note_reread()
        rows = [
            (
                self.words(f"[{layer}](layer-{layer})"),
                self.words(first_line(modules_of(layer)[0]).replace("``", "`")),
                ", ".join(imported_layers(layer)) or "none",
            )
            for layer in layers()
        ]
        return [table(("layer", "what it is", "imports"), rows)]


class Equations(_Reference):
    """The table of equations."""

    def run(self) -> list[nodes.Node]:
        """Build it from docstrings and chapters, at every build."""
        self.env.note_reread()
        cited = defaultdict(list)
        for label, name in citations():
            cited[label].append(name)
        known = equations(Path(self.env.srcdir))
        rows = [
            (
                self.words(f"{{eq}}`{label}`"),
                self._chapter(docname),
                self.words(", ".join(self._code(name) for name in cited[label])),
            )
            for label, docname in known.items()
            if label in cited and docname in self.env.found_docs
        ]
        return [table(("equation", "chapter", "computed by"), rows)]

    def _code(self, name: str) -> str:
        """Name a class or a method by itself, a module with its layer."""
        modules = {module_name(path) for path in PACKAGE.rglob("*.py")}
        home = max((m for m in modules if f"{name}.".startswith(f"{m}.")), key=len)
        shown = name.removeprefix("unrolled" if name == home else home)[1:]
        return f"{{py:obj}}`{shown} <{name}>`"

    def _chapter(self, docname: str) -> nodes.Node:
        uri = self.env.app.builder.get_relative_uri(self.env.docname, docname)
        number = int(docname.split("/")[-1].split("-")[0])
        return nodes.reference(text=str(number), refuri=uri, internal=True)


class Modules(_Reference):
    """The public modules of a part, each with all that is documented in it."""

    required_arguments = 1

    def run(self) -> list[nodes.Node]:
        """Document them, anew if the package or an equation that it cites changed."""
        self.env.metadata[self.env.docname][DOCUMENTS] = "yes"
        files = modules_of(self.arguments[0])
        if not files:
            raise self.error(f"no part {self.arguments[0]!r} in {PACKAGE}")
        found: list[nodes.Node] = []
        for path in files:
            name = module_name(path)
            if path is files[0]:  # the part itself stands under the page's heading
                holder: nodes.Element = nodes.container()
            else:
                holder = nodes.section(ids=[nodes.make_id(f"of-{name}")], names=[name])
                holder += nodes.title("", "", nodes.literal(text=name))
            # A name is documented where it is defined, wherever else it can be had.
            options = ["   :members:", "   :ignore-module-all:"]
            lines = ["```{eval-rst}", f".. automodule:: {name}", *options, "```"]
            self.state.nested_parse(StringList(lines, str(path)), 0, holder)
            found += (
                holder.children if isinstance(holder, nodes.container) else [holder]
            )
        return found


class Commands(_Reference):
    """The commands, as the program itself explains them."""

    def run(self) -> list[nodes.Node]:
        """Build a section for each command."""
        for path in modules_of("cli"):
            self.env.note_dependency(str(path))
        return [self._command(name, command) for name, command in commands()]

    def _command(self, name: str, command: Any) -> nodes.section:
        label = f"command-{name.replace(' ', '-')}"
        section = nodes.section(ids=[label], names=[label])
        section["support_smartquotes"] = False  # a terminal's quotes are straight
        section += nodes.title("", "", nodes.literal(text=f"unrolled {name}"))
        for paragraph in (command.help or "").split("\n\n"):
            words = self._said(" ".join(paragraph.split()))
            section += nodes.paragraph("", "", *words)
        rows = [(self._names(p), self._said(p.help or "")) for p in command.params]
        if rows:
            section += table(("say", "and it will"), rows)
        return section

    def _names(self, parameter: Any) -> list[nodes.Node]:
        if parameter.param_type_name == "argument":
            return [nodes.literal(text=parameter.name.upper())]
        names = [*parameter.opts, *parameter.secondary_opts]
        return self.words(", ".join(f"`{name}`" for name in names))

    def _said(self, text: str) -> list[nodes.Node]:
        """Return a help text; in code what is typed, or dashes and quotes change."""
        if typed := re.fullmatch(r"Try: (.+)", text):
            return [nodes.Text("Try: "), nodes.literal(text=typed[1])]
        return self.words(re.sub(r"(?<!\S)--[\w-]+", r"`\g<0>`", text))


def drop_theme(
    app: Sphinx,
    what: str,
    name: str,
    obj: Any,
    options: Any,
    signature: str,
    returns: str,
) -> tuple[str, str] | None:
    """Show a drawing function as it is called: its theme is given by ``@themed``."""
    if signature and re.match(r"\(theme: Theme\b(, )?", signature):
        called = re.sub(r"^\(theme: Theme\b(, )?", "(", signature)
        return called, "ThemedFigure"
    return None


def drop_aliases(
    app: Sphinx, what: str, name: str, obj: Any, options: Any, lines: list[str]
) -> None:
    """Take back what Python says of a field of which nothing is said: its number."""
    if lines and lines[0].startswith("Alias for field number"):
        lines.clear()


def drop_values(
    app: Sphinx, domain: str, kind: str, content: addnodes.desc_content
) -> None:
    """Leave out a value that cannot be written down, such as ``<function ...>``."""
    if kind not in ("data", "attribute"):
        return
    for note in list(content.parent.findall(addnodes.desc_annotation)):
        text = note.astext().strip()
        if text.startswith("=") and "<" in text:
            note.parent.remove(note)


def pages_to_document(
    app: Sphinx,
    env: BuildEnvironment,
    added: set[str],
    changed: set[str],
    removed: set[str],
) -> list[str]:
    """Return the pages that document modules, if these are others than before.

    They take a third of a build; so they are not read again for nothing.
    """
    files = sorted(PACKAGE.rglob("*.py"))
    parts = [part for f in files for part in (str(f).encode(), f.read_bytes())]
    parts.append(repr(equations(Path(app.srcdir))).encode())
    now = hashlib.sha256(b"\0".join(parts)).hexdigest()
    before, env.unrolled_package = getattr(env, "unrolled_package", ""), now
    if before == now:
        return []
    return [name for name, said in env.metadata.items() if DOCUMENTS in said]


def setup(app: Sphinx) -> None:
    """Register the directives."""
    app.setup_extension("sphinx.ext.autodoc")
    app.connect("env-get-outdated", pages_to_document)
    app.connect("autodoc-process-docstring", drop_aliases)
    app.connect("object-description-transform", drop_values)
    app.connect("autodoc-process-signature", drop_theme)
    app.add_directive("layers", Layers)
    app.add_directive("equations", Equations)
    app.add_directive("modules", Modules)
    app.add_directive("commands", Commands)
