"""Open the chapters in JupyterLab, as copies that belong to the reader.

The notebooks in ``chapters/`` are made, and made anew; what a reader writes goes into
``my-chapters/``, which git ignores. A copy that is there is never touched: it may hold
the reader's work. New copies are signed, so that JupyterLab trusts their outputs; only
those, since a signature on anything else would run scripts that are not ours.
"""

import shutil
import subprocess
import sys
from pathlib import Path

import nbformat
from nbformat.sign import NotebookNotary

from unrolled.chapters.pages import all_pages

ROOT = Path(__file__).resolve().parents[1]
MINE = "my-chapters"


def make_copies(root: Path, notary: NotebookNotary) -> list[Path]:
    """Copy and sign every notebook that the reader has no copy of; return those."""
    folder, made = root / MINE, []
    folder.mkdir(exist_ok=True)
    for page in all_pages(root):
        copy = folder / page.notebook.name
        if page.notebook.is_file() and not copy.exists():
            shutil.copyfile(page.notebook, copy)
            notary.sign(nbformat.read(copy, as_version=4))
            made.append(copy)
    return made


def main() -> None:
    """Make the copies that are missing, say where they are, and open JupyterLab."""
    made = make_copies(ROOT, NotebookNotary())
    kept = len(list((ROOT / MINE).glob("*.ipynb"))) - len(made)
    print(f"Your copies are in {MINE}/: {len(made)} new, {kept} kept as they are.")
    print("For a fresh copy of a page, rename or remove yours and say this again.")
    lab = [sys.executable, "-m", "jupyterlab", f"--notebook-dir={ROOT / MINE}"]
    sys.exit(subprocess.run(lab, check=False).returncode)


if __name__ == "__main__":
    main()
