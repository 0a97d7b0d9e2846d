"""The user's own settings for package indexes, read as pip reads them.

Whoever could install the book has them right already: pip's configuration files and
``PIP_...`` variables, or uv's variables. They may hold passwords, so nothing here is
ever put into a message.
"""

import configparser
import os
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import platformdirs

from unrolled.data.fetch.errors import DataError

_ON, _OFF = ("y", "yes", "t", "true", "on", "1"), ("n", "no", "f", "false", "off", "0")


@dataclass(frozen=True, kw_only=True, slots=True)
class Settings:
    """Where to look for files, and how to get through to there."""

    indexes: tuple[str, ...]  # none at all: the user forbids them
    find_links: tuple[str, ...] = ()  # folders, and pages on the web
    cert: str | None = None
    client_cert: str | None = None
    proxy: str | None = None
    trusted_hosts: tuple[str, ...] = ()
    timeout: float = 30.0


def pip_files() -> list[Path]:
    """Return pip's configuration files, those that win last."""
    windows, mac = sys.platform == "win32", sys.platform == "darwin"
    name = "pip.ini" if windows else "pip.conf"
    chosen = os.environ.get("PIP_CONFIG_FILE")
    if chosen == os.devnull:
        return []
    if mac:
        system = [platformdirs.site_data_path("pip", appauthor=False)]
        user = platformdirs.user_data_path("pip", appauthor=False)
        user = user if user.is_dir() else Path.home() / ".config" / "pip"
    else:
        every = platformdirs.site_config_dir("pip", appauthor=False, multipath=True)
        system = [Path(folder) for folder in every.split(os.pathsep)]
        system += [] if windows else [Path("/etc")]
        user = platformdirs.user_config_path("pip", appauthor=False, roaming=True)
    legacy = Path.home() / ("pip" if windows else ".pip")
    own = [] if chosen and Path(chosen).exists() else [legacy, user]
    files = [folder / name for folder in (*system, *own, Path(sys.prefix))]
    return [*files, Path(chosen)] if chosen else files


def _from_files() -> dict[str, str]:
    """Return what the files say for ``pip install``, which stops at a broken one too.

    Another index than the user's must not be asked because a file has a slip in it.
    """
    found: dict[str, dict[str, str]] = {"global": {}, "install": {}}
    for path in pip_files():
        parser = configparser.RawConfigParser()
        try:
            parser.read(path, encoding="utf-8")
        except (configparser.Error, UnicodeDecodeError) as error:
            kind = type(error).__name__
            raise DataError(
                f"pip's settings in {path} cannot be read ({kind}), so no index is "
                "known. Mend the file and try again"
            ) from None
        for section, values in found.items():
            if parser.has_section(section):
                values |= {k.replace("_", "-"): v for k, v in parser.items(section)}
    return found["global"] | found["install"]


def pip_settings(environment: Mapping[str, str]) -> dict[str, str]:
    """Return pip's settings by their long names: ``index-url``, ``cert``, ..."""
    variables = {
        key[4:].lower().replace("_", "-"): value
        for key, value in environment.items()
        if key.startswith("PIP_") and value
    }
    return _from_files() | variables


def _uv_indexes(text: str) -> list[str]:
    """Return the addresses of uv's list, in which each may be named: NAME=ADDRESS."""
    return [
        word.partition("=")[2] if "=" in word.split("://")[0] else word
        for word in text.split()
    ]


def _is_forbidden(said: str) -> bool:
    """Tell whether ``no-index`` is set, in any of the words that pip takes."""
    if said.lower() not in (*_ON, *_OFF, ""):
        raise DataError("pip's setting no-index is neither yes nor no. Mend it")
    return said.lower() in _ON


def read_settings(default_index: str) -> Settings:
    """Return the settings of pip, those of uv where pip has none, or the default."""
    pip, uv = pip_settings(os.environ), os.environ
    first = pip.get("index-url", "").split()
    for variable in ("UV_DEFAULT_INDEX", "UV_INDEX_URL"):
        first = first or _uv_indexes(uv.get(variable, ""))
    more = pip.get("extra-index-url", "").split()
    for variable in ("UV_INDEX", "UV_EXTRA_INDEX_URL"):
        more += _uv_indexes(uv.get(variable, ""))
    try:
        timeout = float(pip.get("timeout") or pip.get("default-timeout") or 30)
    except ValueError:
        timeout = 30.0
    forbidden = _is_forbidden(pip.get("no-index", ""))
    everywhere = [*(first or [default_index]), *more]
    return Settings(
        indexes=() if forbidden else tuple(dict.fromkeys(everywhere)),
        find_links=tuple(pip.get("find-links", "").split()),
        cert=pip.get("cert"),
        client_cert=pip.get("client-cert"),
        proxy=pip.get("proxy"),
        trusted_hosts=tuple(pip.get("trusted-host", "").split()),
        timeout=min(300.0, max(1.0, timeout)),
    )
