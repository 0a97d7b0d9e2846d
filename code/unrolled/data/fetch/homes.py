"""Downloads from elsewhere, for readers with a network who ask for them.

No chapter needs them and nothing calls `fetch_from_home` by itself: the reader does, or
``unrolled data elsewhere NAME``. Files come by HTTPS with `pooch`, are checked by
sha256, and lie in a folder of their own, so that a second call needs no network.
"""

import hashlib
import os
from pathlib import Path

import pooch
from filelock import FileLock
from requests.exceptions import HTTPError, RequestException
from tqdm.auto import tqdm

from unrolled.data.fetch.errors import DataError
from unrolled.data.fetch.homes_table import HOMES, Home, HomeFile
from unrolled.data.fetch.store import data_folder

TIMEOUT = 30  # seconds of silence from a server, not of the whole download


class HomeError(DataError):
    """A file could not be had from its home; the message says what to do."""


def home_folder(name: str) -> Path:
    """Return the folder of what came from the home ``name``; it may not exist yet."""
    _home(name)
    return data_folder() / "elsewhere" / name


def home_file(name: str, filename: str) -> Path:
    """Return a file that was fetched before; readers call this and never download."""
    path = home_folder(name) / filename
    if not path.is_file():
        raise HomeError(
            f"{name}: {filename} is not in {path.parent}. The book never needs it. To "
            f"get it ({_megabytes(_home(name))}) run 'unrolled data elsewhere {name}'"
        )
    return path


def fetch_from_home(name: str, *, progress: bool = True) -> Path:
    """Download the files of ``name`` that are not here yet and return their folder.

    ``name`` is a key of `HOMES`. ``UNROLLED_OFFLINE=1`` forbids all downloads.
    """
    home, folder = _home(name), home_folder(name)
    folder.mkdir(parents=True, exist_ok=True)
    with FileLock(folder.with_suffix(".lock")):
        _sweep(folder, home)
        for file in home.files:
            if not _is_intact(folder / file.filename, file):
                _download(home, file, folder, progress=progress)
    return folder


def _home(name: str) -> Home:
    if name not in HOMES:
        raise ValueError(f"{name=} is not one of {', '.join(HOMES)}")
    return HOMES[name]


def _megabytes(home: Home) -> str:
    return f"{home.size / 1e6:.1f} MB"


def _sweep(folder: Path, home: Home) -> None:
    """Remove what a killed download left; the lock says that nobody is writing it."""
    known = {file.filename for file in home.files}
    for path in folder.iterdir():
        if path.name not in known:
            path.unlink()


def _is_intact(path: Path, file: HomeFile) -> bool:
    if not path.is_file():
        return False
    with path.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest() == file.sha256


def _download(home: Home, file: HomeFile, folder: Path, *, progress: bool) -> None:
    """Download one file to a temporary name, and rename it once its digest is right."""
    if os.environ.get("UNROLLED_OFFLINE", "0") not in ("", "0"):
        why, remedy = "UNROLLED_OFFLINE forbids downloads", "Unset it and try again"
        raise HomeError(_message(home, file, folder, why, remedy))
    looks = {"desc": file.filename, "unit": "B", "unit_scale": True}
    try:
        with tqdm(total=file.size, disable=not progress, **looks) as bar:
            pooch.retrieve(
                file.url,
                known_hash=f"sha256:{file.sha256}",
                fname=file.filename,
                path=folder,
                # named, so that no other protocol is ever spoken
                downloader=pooch.HTTPDownloader(progressbar=bar, timeout=TIMEOUT),
            )
    except (RequestException, ValueError) as error:
        if isinstance(error, HTTPError) and error.response is not None:
            error.response.close()  # pooch leaves the connection of a refusal open
        why, remedy = _reason(error)
        raise HomeError(_message(home, file, folder, why, remedy)) from error


def _reason(error: RequestException | ValueError) -> tuple[str, str]:
    """Return why a download failed, and what the reader can do about it."""
    again = "Look at your network or proxy and try again: what has arrived is kept"
    if isinstance(error, HTTPError) and error.response is not None:
        status = error.response.status_code
        answer = f"the server answers {status} {error.response.reason}"
        later = "Try again later: what has arrived is kept"
        return answer, later if status >= 500 else "The file may have moved"
    if isinstance(error, RequestException):
        return f"no whole answer came ({type(error).__name__})", again
    changed = "Try again; if it stays so, the home has changed the file"
    return "what came has another sha256, and is deleted", changed


def _message(home: Home, file: HomeFile, folder: Path, why: str, remedy: str) -> str:
    """Say which file, from where, why, that the book can do without, what to do."""
    return (
        f"{home.name}: {file.filename} could not be had from {file.url}: {why}. The "
        f"book never needs it. {remedy}. A copy from elsewhere will do as "
        f"{folder / file.filename}, if its sha256 is {file.sha256}"
    )
