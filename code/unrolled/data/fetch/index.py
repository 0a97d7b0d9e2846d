"""The user's package index: where a file of the table is to be had.

An address may carry a name and a password. They are taken off it at once and sent to
that host only, so that no message and no other host can see them.
"""

import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any
from urllib.parse import unquote, urlsplit, urlunsplit

import pypi_simple
import requests
import urllib3
from requests.adapters import HTTPAdapter
from requests.auth import AuthBase, HTTPBasicAuth

from unrolled.data.fetch.pins import Archive
from unrolled.data.fetch.settings import Settings, read_settings

_WEB = ("https://", "http://")


class UnavailableError(Exception):
    """This index does not give the file; another might."""


class LostError(Exception):
    """The connection failed; the same question may be answered in a moment."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Index:
    """A package index that can be asked: its bare address and a session for it."""

    address: str
    host: str
    session: requests.Session
    timeout: float


class _OnlyThere(AuthBase):
    """Name and password for one host, and for no other that it links to."""

    def __init__(self, host: str, auth: HTTPBasicAuth) -> None:
        self.host, self.auth = host, auth

    def __call__(self, request: requests.PreparedRequest) -> requests.PreparedRequest:
        there = urlsplit(request.url or "").netloc == self.host
        return self.auth(request) if there else request


class _Trusting(HTTPAdapter):
    """An adapter for hosts that the user trusts without a certificate."""

    def send(self, *args: Any, **kwargs: Any) -> requests.Response:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", urllib3.exceptions.InsecureRequestWarning)
            return super().send(*args, **kwargs | {"verify": False})


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
    for host in settings.trusted_hosts:
        session.mount(f"https://{host}/", _Trusting())
        if ":" not in host:
            session.mount(f"https://{host}:", _Trusting())
    return session


def _is_web(address: str) -> bool:
    """Tell whether an address is one that we can ask."""
    try:
        return address.startswith(_WEB) and bool(urlsplit(address).hostname)
    except ValueError:
        return False


def _index(address: str, settings: Settings) -> Index:
    """Return the index at an address, whose name and password go to the session."""
    parts = urlsplit(address)
    if not _is_web(address) or parts.port == 0 or "@" in parts.path:
        raise ValueError("this is no address on the web")
    host = parts.netloc.rpartition("@")[2]
    session = _session(settings)
    if parts.username is not None:
        name, password = unquote(parts.username), unquote(parts.password or "")
        auth = HTTPBasicAuth(name.encode(), password.encode())
        session.auth = _OnlyThere(host, auth)
    bare = urlunsplit((parts.scheme, host, parts.path, "", ""))
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


def check_status(response: requests.Response) -> None:
    """Tell an error that may pass from one that will not."""
    status = response.status_code
    said = f"{urlsplit(response.url).hostname} answers HTTP {status} {response.reason}"
    if status in (408, 425, 429) or status >= 500:
        raise LostError(said)
    if status >= 400:
        raise UnavailableError(said)


@contextmanager
def network(host: str) -> Iterator[None]:
    """Turn what goes wrong on the way into plain words, without any address."""
    try:
        yield
    except requests.exceptions.HTTPError as error:
        if error.response is not None:
            check_status(error.response)
        raise
    except requests.exceptions.SSLError:
        raise UnavailableError(
            f"the certificate of {host} is not trusted here"
        ) from None
    except requests.exceptions.ProxyError:
        raise LostError(f"the proxy does not let us through to {host}") from None
    except (requests.exceptions.Timeout, urllib3.exceptions.TimeoutError):
        raise LostError(f"{host} does not answer in time") from None
    except (
        requests.exceptions.ConnectionError,
        requests.exceptions.ChunkedEncodingError,
        urllib3.exceptions.HTTPError,
    ):
        raise LostError(f"no connection to {host}, or it was lost") from None
    except requests.exceptions.RequestException as error:
        kind = type(error).__name__
        raise UnavailableError(f"{host} cannot be asked ({kind})") from None


def _page(index: Index, project: str) -> pypi_simple.ProjectPage:
    """Return an index's page of a project, be it JSON or HTML."""
    client = pypi_simple.PyPISimple(index.address, session=index.session)
    try:
        with network(index.host), warnings.catch_warnings():
            warnings.simplefilter("ignore", pypi_simple.UnexpectedRepoVersionWarning)
            return client.get_project_page(project, timeout=index.timeout)
    except pypi_simple.NoSuchProjectError:
        raise UnavailableError(f"{index.host} has no project {project}") from None
    except (
        pypi_simple.UnsupportedRepoVersionError,
        ValueError,
        KeyError,
        TypeError,
    ) as error:
        kind = type(error).__name__
        raise UnavailableError(
            f"the page of {project} at {index.host} cannot be read ({kind})"
        ) from None


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
