"""The user's package index: where a file of the table is to be had.

An address may carry a name and a password. They are taken off it at once and sent to
that place only, so that no message and no other host can see them. A path may be secret
too: messages name scheme and host, and no more.
"""

import json
import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from urllib.parse import unquote, urlsplit, urlunsplit

import pypi_simple
import requests
from requests.auth import HTTPBasicAuth

from unrolled.data.fetch.settings import Settings, read_settings
from unrolled.data.fetch.sources import Archive
from unrolled.data.fetch.web import (
    OnlyThere,
    Trusting,
    UnavailableError,
    check_status,
    network,
    pieces,
)

_PAGE = 64 << 20  # bytes of a page; the longest pages of real projects have a few MB
_JSON = "application/vnd.pypi.simple.v1+json"
_HTML = ("application/vnd.pypi.simple.v1+html", "text/html")


@dataclass(frozen=True, kw_only=True, slots=True)
class Index:
    """A package index that can be asked: its bare address and a session for it."""

    address: str
    host: str
    session: requests.Session
    timeout: float

    @property
    def shown(self) -> str:
        """Return what messages call it."""
        return f"{urlsplit(self.address).scheme}://{self.host}/..."


def _session(settings: Settings) -> requests.Session:
    """Return a session with the user's certificate, proxy and trusted hosts."""
    session = requests.Session()
    session.headers["User-Agent"] = pypi_simple.client.USER_AGENT
    session.headers["Accept-Encoding"] = "identity"  # the file itself is what we hash
    if settings.cert:
        session.verify = settings.cert
    if settings.client_cert:
        session.cert = settings.client_cert
    if settings.proxy:
        session.proxies = {"http": settings.proxy, "https": settings.proxy}
        session.trust_env = False  # else the environment's proxy would win
    session.mount("https://", Trusting(settings.trusted_hosts))
    return session


def _is_web(address: str) -> bool:
    """Tell whether an address is one that we can ask."""
    try:
        parts = urlsplit(address)
    except ValueError:
        return False
    return parts.scheme in ("http", "https") and bool(parts.hostname)


def _index(address: str, settings: Settings) -> Index:
    """Return the index at an address, whose name and password go to the session."""
    parts = urlsplit(address)
    if not _is_web(address) or parts.port == 0 or "@" in parts.path:
        raise ValueError("this is no address on the web")
    host = parts.netloc.rpartition("@")[2]
    bare = urlunsplit((parts.scheme, host, parts.path, "", ""))
    session = _session(settings)
    if parts.username is not None:
        name, password = unquote(parts.username), unquote(parts.password or "")
        auth = HTTPBasicAuth(name.encode(), password.encode())
        session.auth = OnlyThere(bare, auth)
    return Index(address=bare, host=host, session=session, timeout=settings.timeout)


def indexes() -> Iterator[Index]:
    """Yield the user's indexes in their order, but for folders on the disk.

    An address that is none is left out in silence: it may be all password.
    """
    settings = read_settings(pypi_simple.PYPI_SIMPLE_ENDPOINT)
    for address in settings.indexes:
        try:
            index = _index(address, settings)
        except ValueError:
            continue
        with index.session:
            yield index


def _answer(index: Index, project: str) -> tuple[str, str, bytes]:
    """Return the address, the kind and the bytes of an index's page of a project."""
    client = pypi_simple.PyPISimple(index.address, session=index.session)
    with network(index.host):
        response = index.session.get(
            client.get_project_url(project),
            headers={"Accept": pypi_simple.ACCEPT_ANY},
            timeout=index.timeout,
            stream=True,
        )
    with response:
        if response.status_code == 404:
            raise UnavailableError(f"{index.host} has no project {project}")
        check_status(response)
        body = bytearray()
        for piece in pieces(response, index.host, decode=True):
            body += piece
            if len(body) > _PAGE:
                raise UnavailableError(
                    f"the page of {project} at {index.host} is longer than "
                    f"{_PAGE:,} bytes"
                )
        kind = response.headers.get("Content-Type", "text/html").partition(";")[0]
        return response.url, kind.strip().lower(), bytes(body)


def _page(index: Index, project: str) -> pypi_simple.ProjectPage:
    """Return an index's page of a project, be it JSON or HTML."""
    address, kind, body = _answer(index, project)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", pypi_simple.UnexpectedRepoVersionWarning)
            if kind == _JSON:
                return pypi_simple.ProjectPage.from_json_data(json.loads(body), address)
            if kind in _HTML:
                return pypi_simple.ProjectPage.from_html(project, body, address)
        why = f"it is of the kind {kind!r}"
    except (
        pypi_simple.UnsupportedRepoVersionError,
        ValueError,
        LookupError,
        TypeError,
        AttributeError,
        RecursionError,
    ) as error:
        why = type(error).__name__
    raise UnavailableError(
        f"the page of {project} at {index.host} cannot be read ({why})"
    )


def locate(index: Index, archive: Archive) -> pypi_simple.DistributionPackage:
    """Return the entry of an archive in an index, if it is the file of our table."""
    for entry in _page(index, archive.project).packages:
        if entry.filename == archive.filename:
            break
    else:
        raise UnavailableError(f"{index.host} has {archive.project} without this file")
    digest = entry.digests.get("sha256", archive.sha256).lower()
    size = archive.size if entry.size is None else entry.size
    if (digest, size) != (archive.sha256, archive.size):
        raise UnavailableError(
            f"{index.host} has another file of this name: {size:,} bytes, sha256 "
            f"{digest[:8]}..., but the book's has {archive.size:,} and "
            f"{archive.sha256[:8]}..."
        )
    if not _is_web(entry.url):
        raise UnavailableError(f"{index.host} gives no web address for this file")
    return entry
