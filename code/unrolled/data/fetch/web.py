"""Questions asked on the web, and what goes wrong with them in plain words."""

import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any
from urllib.parse import urlsplit

import requests
import urllib3
from requests.adapters import HTTPAdapter
from requests.auth import AuthBase, HTTPBasicAuth

PIECE = 1 << 16
_PORTS = {"http": 80, "https": 443}


class UnavailableError(Exception):
    """The file is not to be had here; another place might have it."""


class LostError(Exception):
    """The connection failed; the same question may be answered in a moment."""


class SilentError(LostError):
    """Nobody answered at all."""


def plain(text: str) -> str:
    """Return a text as fit to be shown: servers wrote some of it.

    Nothing in it steers a terminal, and it is not too long.
    """
    return "".join(letter if letter.isprintable() else "?" for letter in text[:500])


def origin(address: str) -> tuple[str, str, int]:
    """Return scheme, host and port of an address, as they are in the end asked."""
    parts = urlsplit(requests.Request("GET", address).prepare().url or "")
    return parts.scheme, parts.hostname or "", parts.port or _PORTS[parts.scheme]


class OnlyThere(AuthBase):
    """Name and password for one place, and for no other that it links to."""

    def __init__(self, address: str, auth: HTTPBasicAuth) -> None:
        self.place, self.auth = origin(address), auth

    def __call__(self, request: requests.PreparedRequest) -> requests.PreparedRequest:
        """Add them to a request that goes there."""
        there = origin(request.url or "") == self.place
        return self.auth(request) if there else request


class Trusting(HTTPAdapter):
    """An adapter that asks no certificate of hosts which the user trusts without.

    ``hosts`` are as pip takes them: ``host``, or ``host:port``.
    """

    def __init__(self, hosts: tuple[str, ...]) -> None:
        super().__init__()
        self.hosts = {host.lower() for host in hosts}

    def send(
        self, request: requests.PreparedRequest, *args: Any, **kwargs: Any
    ) -> requests.Response:
        """Send a request, verifying by the host it goes to."""
        _, host, port = origin(request.url or "")
        name = f"[{host}]" if ":" in host else host
        if self.hosts & {name, f"{name}:{port}"}:
            kwargs["verify"] = False
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", urllib3.exceptions.InsecureRequestWarning)
            return super().send(request, *args, **kwargs)


def check_status(response: requests.Response) -> None:
    """Tell an error that may pass from one that will not."""
    status = response.status_code
    host, reason = urlsplit(response.url).hostname, (response.reason or "")[:80]
    said = f"{host} answers HTTP {status} {reason}".rstrip()
    if status in (408, 425, 429) or status >= 500:
        raise LostError(said)
    if status >= 400:
        raise UnavailableError(said)


@contextmanager
def network(host: str) -> Iterator[None]:
    """Turn what goes wrong on the way into plain words, without any address."""
    try:
        yield
    except requests.exceptions.SSLError:
        raise UnavailableError(
            f"the certificate of {host} is not trusted here; see pip's setting cert"
        ) from None
    except requests.exceptions.ProxyError:
        raise SilentError(f"the proxy does not let us through to {host}") from None
    except (requests.exceptions.Timeout, urllib3.exceptions.TimeoutError):
        raise SilentError(f"{host} does not answer in time") from None
    except requests.exceptions.ConnectionError:
        raise SilentError(f"no connection to {host}, or it was lost") from None
    except urllib3.exceptions.DecodeError:
        raise UnavailableError(f"{host} sends what cannot be unpacked") from None
    except (requests.exceptions.ChunkedEncodingError, urllib3.exceptions.HTTPError):
        raise LostError(f"the connection to {host} was lost") from None
    except (requests.exceptions.RequestException, ValueError) as error:
        # ValueError: where it sends us on to is no address
        kind = type(error).__name__
        raise UnavailableError(f"{host} cannot be asked ({kind})") from None
    except OSError as error:  # requests looks for certificates before it asks
        raise UnavailableError(
            f"{error}; look at pip's settings cert (PIP_CERT) and client-cert "
            "(PIP_CLIENT_CERT), and at REQUESTS_CA_BUNDLE"
        ) from None


def pieces(
    response: requests.Response, host: str, *, decode: bool = False
) -> Iterator[bytes]:
    """Yield an answer piece by piece: as it was sent, unless it is to be decoded."""
    stream = response.raw.stream(PIECE, decode_content=decode)
    while True:
        with network(host):
            piece = next(stream, b"")
        if not piece:
            return
        yield piece
