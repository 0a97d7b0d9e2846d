"""Pack what can be handed out: the built book, and the notebooks with their package."""

import subprocess
import sys
import zipfile
from pathlib import Path

from tqdm import tqdm

ROOT = Path(__file__).resolve().parents[1]
DIST = ROOT / "dist"
NOTEBOOKS = (
    "LICENSE", "CITATION.cff", "requirements.txt", "code", "chapters",
    "book/_toc.yml", "book/_static", "book/results",
)  # fmt: skip
BOOK_README = """*Unrolled*, sequence models from recurrence to attention: the book.

Unpack it and open index.html in a browser: no network is needed.
Text CC BY 4.0, code Apache-2.0; see LICENSE.
"""
NOTEBOOKS_README = """The notebooks of *Unrolled*, with the package they import.

You need Python 3.11 or later. In this folder:
  python3 -m venv .venv
  . .venv/bin/activate          (on Windows: .venv\\Scripts\\activate)
  pip install torch==2.13.0
  pip install -r requirements.txt
  jupyter lab chapters

Copy a notebook before you change it: then you can always go back.
"""


def pack(name: str, files: dict[str, Path], readme: str = "") -> Path:
    """Write ``files``, name inside to path, as ``dist/NAME.zip`` in one folder."""
    target = DIST / f"{name}.zip"
    beside = target.with_name(target.name + ".writing")
    with zipfile.ZipFile(beside, "w", zipfile.ZIP_DEFLATED) as archive:
        if readme:
            archive.writestr(_entry(f"{name}/README.txt"), readme)
        for inside, path in tqdm(sorted(files.items()), desc=target.name, unit="file"):
            archive.writestr(_entry(f"{name}/{inside}"), path.read_bytes())
    beside.replace(target)
    return target


def _entry(inside: str) -> zipfile.ZipInfo:
    """Return an entry that is the same whenever and wherever it is packed."""
    entry = zipfile.ZipInfo(inside, date_time=(2026, 1, 1, 0, 0, 0))
    entry.compress_type, entry.external_attr = zipfile.ZIP_DEFLATED, 0o644 << 16
    return entry


def main() -> None:
    """Pack both, from the built book and from the files that git knows."""
    DIST.mkdir(exist_ok=True)
    built = ROOT / "_build" / "html"
    book = {str(p.relative_to(built)): p for p in built.rglob("*") if p.is_file()}
    book["LICENSE"] = ROOT / "LICENSE"
    listed = subprocess.run(
        ["git", "ls-files", "-z", *NOTEBOOKS],
        cwd=ROOT, check=False, capture_output=True, encoding="utf-8",
    )  # fmt: skip
    if listed.returncode:
        sys.exit(f"git ls-files failed: {listed.stderr.strip()}")
    notebooks = {name: ROOT / name for name in listed.stdout.split("\0") if name}
    packed = [
        pack("unrolled-book", book, readme=BOOK_README),
        pack("unrolled-notebooks", notebooks, readme=NOTEBOOKS_README),
    ]
    for path in packed:
        print(f"{path} ({path.stat().st_size / 1e6:.1f} MB)")
    print("Open the book by unpacking it and opening index.html: no network is needed.")


if __name__ == "__main__":
    main()
