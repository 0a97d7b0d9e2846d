"""What every export takes along: the package itself, and the versions it was made with.

The package holds no exercise: sources are beside it, in ``exercises/``.
"""

import io
import zipfile
from importlib.metadata import distributions, version
from pathlib import Path

import unrolled

#: What grading a notebook imports, and what a student's checks need.
GRADING = ("torch", "numpy", "pyyaml")
CHECKING = (
    *GRADING, "nbformat", "typer", "platformdirs", "pooch", "requests", "filelock",
    "tqdm", "matplotlib", "jupyterlab",
)  # fmt: skip
_TOOLS = {"pip", "setuptools", "wheel", "unrolled"}
_WHEN = (2026, 1, 1, 0, 0, 0)  # zips are the same whenever they are packed


def package_files() -> dict[str, bytes]:
    """Return the package as ``code/…``: every file that Python or pip needs.

    Raises:
        FileNotFoundError: It was not installed from its folder.
    """
    package = Path(unrolled.__file__).parent
    project = package.parent / "pyproject.toml"
    if not project.is_file():
        raise FileNotFoundError(
            f"no {project}: exports are made from a clone of the repository, where the "
            "package is installed by 'pip install -e ./code'"
        )
    files = {
        f"code/{path.relative_to(package.parent).as_posix()}": path.read_bytes()
        for path in sorted(package.rglob("*"))
        if path.is_file() and not _left(path)
    }
    return {"code/pyproject.toml": project.read_bytes(), **files}


def _left(path: Path) -> bool:
    """Return whether a run or an editor left this file."""
    left = path.suffix in (".pyc", ".writing") or path.name.endswith("~")
    return left or path.name.startswith(".")


def pin(name: str) -> str:
    """Return a requirement of just the version that is installed here."""
    return f"{name}=={version(name).partition('+')[0]}"


def requirements(names: tuple[str, ...]) -> str:
    """Return a requirements file: torch first, all pinned."""
    return "".join(f"{pin(name)}\n" for name in names)


def constraints() -> str:
    """Return pins of all that is installed here, so that nothing newer is pulled in."""
    found = {
        one.name.lower().replace("_", "-"): one.version.partition("+")[0]
        for one in distributions()
    }
    kept = sorted(name for name in found if name not in _TOOLS)
    return "".join(f"{name}=={found[name]}\n" for name in kept)


def zipped(files: dict[str, bytes], programs: tuple[str, ...] = ()) -> bytes:
    """Return a zip of some files; ``programs`` can be run. Same files, same bytes."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in sorted(files.items()):
            entry = zipfile.ZipInfo(name, date_time=_WHEN)
            entry.compress_type = zipfile.ZIP_DEFLATED
            entry.external_attr = (0o755 if name in programs else 0o644) << 16
            archive.writestr(entry, content)
    return buffer.getvalue()
