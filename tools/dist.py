"""Pack what can be handed out: the built book, and the notebooks with their package."""

import subprocess
import zipfile
from pathlib import Path

from tqdm import tqdm

ROOT = Path(__file__).resolve().parents[1]
DIST = ROOT / "dist"
NOTEBOOKS = (
    "README.md", "LICENSE", "CITATION.cff", "requirements.txt", "code", "chapters",
    "book/_toc.yml", "book/_static", "book/results",
)  # fmt: skip


def pack(name: str, files: dict[str, Path]) -> Path:
    """Write ``files``, name inside to path, as ``dist/NAME.zip`` in one folder."""
    target = DIST / f"{name}.zip"
    beside = target.with_name(target.name + ".writing")
    with zipfile.ZipFile(beside, "w", zipfile.ZIP_DEFLATED) as archive:
        for inside, path in tqdm(sorted(files.items()), desc=target.name, unit="file"):
            stamp = zipfile.ZipInfo(f"{name}/{inside}", date_time=(2026, 1, 1, 0, 0, 0))
            stamp.compress_type, stamp.external_attr = zipfile.ZIP_DEFLATED, 0o644 << 16
            archive.writestr(stamp, path.read_bytes())
    beside.replace(target)
    return target


def main() -> None:
    """Pack both, from the built book and from the files that git knows."""
    DIST.mkdir(exist_ok=True)
    built = ROOT / "_build" / "html"
    book = {str(p.relative_to(built)): p for p in built.rglob("*") if p.is_file()}
    listed = subprocess.run(
        ["git", "ls-files", "-z", *NOTEBOOKS],
        cwd=ROOT, check=True, capture_output=True, text=True,
    )  # fmt: skip
    notebooks = {name: ROOT / name for name in listed.stdout.split("\0") if name}
    for name, files in {"unrolled-book": book, "unrolled-notebooks": notebooks}.items():
        path = pack(name, files)
        print(f"{path} ({path.stat().st_size / 1e6:.1f} MB, {len(files)} files)")
    print("Open the book by unpacking it and opening index.html: no network is needed.")


if __name__ == "__main__":
    main()
