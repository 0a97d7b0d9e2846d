"""Downloads from elsewhere, for readers with a network who ask for them.

No chapter needs them and nothing calls `fetch_from_home` by itself: the reader does, or
``unrolled data elsewhere NAME``. Files come by HTTPS with `pooch`, are checked by
sha256, and lie in a folder of their own, so that a second call needs no network.
"""

import os
import shutil
from collections.abc import Callable
from pathlib import Path
from urllib.parse import urlsplit

import pooch
import requests
from tqdm.auto import tqdm

from unrolled.data.fetch.digests import is_right
from unrolled.data.fetch.errors import DataError
from unrolled.data.fetch.home_files import Home, HomeFile
from unrolled.data.fetch.places import data_folder, is_offline, writing
from unrolled.data.fetch.web import (
    LostError,
    UnavailableError,
    check_status,
    network,
    pieces,
    plain,
)

TIMEOUT = 30  # seconds of silence from a server, not of the whole download


class HomeError(DataError):
    """A file could not be had from its home; the message says what to do."""


def home_folder(home: Home) -> Path:
    """Return the folder of what came from a home; it may not exist yet."""
    return data_folder() / "elsewhere" / home.name


def home_file(home: Home, filename: str) -> Path:
    """Return a file that was fetched before; readers call this and never download."""
    path = home_folder(home) / filename
    if not path.is_file():
        raise HomeError(
            f"{home.name}: {filename} is not in {path.parent}. The book never needs "
            f"it. To get it ({_megabytes(home)}) run 'unrolled data elsewhere "
            f"{home.name}'"
        )
    return path


def fetch_from_home(home: Home, *, progress: bool = True) -> Path:
    """Download the files of a home that are not here yet and return their folder.

    ``UNROLLED_OFFLINE=1`` forbids all downloads.
    """
    folder = home_folder(home)
    for file in home.files:
        target = folder / file.filename
        if is_right(file, target):
            continue
        if is_offline():
            why = "UNROLLED_OFFLINE forbids downloads"
            raise _error(home, file, folder, why, "Unset it and try again")
        with writing(target, f"unrolled data elsewhere {home.name}"):
            if not is_right(file, target):  # else another process was at it
                _download(home, file, folder, progress=progress)
    return folder


def _megabytes(home: Home) -> str:
    return f"{home.size / 1e6:.1f} MB"


def _download(home: Home, file: HomeFile, folder: Path, *, progress: bool) -> None:
    """Download one file in a folder of its own, and move it out once it is right."""
    scratch = folder / f".{file.filename}.tmp"
    if scratch.exists():  # a killed download left it; we hold the lock
        shutil.rmtree(scratch)
    try:
        pooch.retrieve(
            file.url,
            known_hash=f"sha256:{file.sha256}",
            fname=file.filename,
            path=scratch,
            downloader=_stream(file, progress=progress),
        )
        os.replace(scratch / file.filename, folder / file.filename)
    except LostError as error:
        remedy = "Look at your network or proxy, or try later: whole files are kept"
        raise _error(home, file, folder, str(error), remedy) from error
    except UnavailableError as error:
        remedy = "The file may have moved"
        raise _error(home, file, folder, str(error), remedy) from error
    except ValueError as error:
        why = "what came has another sha256, and is deleted"
        remedy = "Try again; if it stays so, the home has changed the file"
        raise _error(home, file, folder, why, remedy) from error
    finally:
        shutil.rmtree(scratch, ignore_errors=True)


def _stream(file: HomeFile, *, progress: bool) -> Callable[[str, str, object], None]:
    """Return a downloader for pooch that takes the bytes as sent, and not too many."""

    def download(url: str, output: str, _: object) -> None:
        host = urlsplit(url).hostname or ""
        headers = {"Accept-Encoding": "identity"}
        with network(host):
            response = requests.get(url, stream=True, timeout=TIMEOUT, headers=headers)
        looks = {"desc": file.filename, "unit": "B", "unit_scale": True}
        bar = tqdm(total=file.size, disable=not progress, **looks)
        with response, open(output, "wb") as out, bar:
            check_status(response)
            for piece in pieces(response, host):
                if out.tell() + len(piece) > file.size:
                    raise UnavailableError(
                        f"{host} sends more than {file.size:,} bytes"
                    )
                out.write(piece)
                bar.update(len(piece))

    return download


def _error(
    home: Home, file: HomeFile, folder: Path, why: str, remedy: str
) -> HomeError:
    """Say which file, from where, why, that the book can do without, what to do."""
    return HomeError(
        f"{home.name}: {file.filename} could not be had from {file.url}: {plain(why)}. "
        f"The book never needs it. {remedy}. A copy from elsewhere will do as "
        f"{folder / file.filename}, if its sha256 is {file.sha256}"
    )
