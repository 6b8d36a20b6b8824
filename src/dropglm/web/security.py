"""Checks before each request, headers of each response, and a log.

Other sites, which the user may have open in the same browser, can send requests to this computer. They must
neither read answers (``AllowedHosts``) nor cause anything: requests other than GET and HEAD need our own
origin, if they have one, and with a token every address contains it. Pages run our own scripts only, and load
nothing from elsewhere.
"""

import asyncio
import hmac
import os
import re
import secrets
import socket
import sys
import time
from collections.abc import Iterable
from ipaddress import ip_address
from pathlib import Path
from typing import Any
from urllib.parse import quote

from starlette.responses import RedirectResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from dropglm.web.json_messages import error_answer

POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self' data:; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
HEADERS = [
    (name.encode(), value.encode())
    for name, value in {
        "content-security-policy": POLICY,
        "x-content-type-options": "nosniff",
        "x-frame-options": "DENY",
        "referrer-policy": "no-referrer",
        "cross-origin-resource-policy": "same-origin",
        "cache-control": "no-store",
    }.items()
]
READING = ("GET", "HEAD")
LOOPBACK = ("127.0.0.1", "localhost", "[::1]")
HOST = re.compile(r"(\[[0-9a-f:.]+\]|[a-z0-9._-]+)(?::\d{1,5})?", re.IGNORECASE)
KEY_BYTES = 16


class AllowedHosts:
    """The names that requests may give as their host.

    A page of another site can give its own name the address of this computer (DNS rebinding) and then read
    our answers as its own. Such requests have the name of that site in their Host header.

    Parameters
    ----------
    host : str, default="127.0.0.1"
        The name or address that the server listens on. Loopback names are always allowed. If others can
        reach the server, its address in numbers and the name of the computer are allowed as well: nobody
        can give numbers another meaning.
    further : iterable of str, default=()
        More names, such as that of a proxy.

    Examples
    --------
    >>> hosts = AllowedHosts()
    >>> "localhost:8000" in hosts, "[::1]" in hosts, "example.com:8000" in hosts, "192.0.2.1" in hosts
    (True, True, False, False)
    >>> hosts = AllowedHosts("0.0.0.0", ["example.com"])
    >>> "192.0.2.1:8000" in hosts, "example.com" in hosts, "example.org" in hosts
    (True, True, False)
    """

    def __init__(self, host: str = "127.0.0.1", further: Iterable[str] = ()) -> None:
        self.names = {name.lower() for name in (*LOOPBACK, in_address(host), *further)}
        self.is_local = is_loopback(host)
        if not self.is_local:
            self.names |= {socket.gethostname().lower(), socket.getfqdn().lower()}

    def __contains__(self, header: str) -> bool:
        """Return whether a Host header, with or without a port, has an allowed name."""
        found = HOST.fullmatch(header)
        if found is None:
            return False
        name = found[1].lower()
        return name in self.names or (not self.is_local and _number(name) is not None)


def is_loopback(host: str) -> bool:
    """Return whether only this computer can reach a server on that host.

    Examples
    --------
    >>> [is_loopback(host) for host in ("localhost", "127.0.0.1", "::1", "0.0.0.0", "example.com")]
    [True, True, True, False, False]
    """
    address = _number(host)
    return host.lower() == "localhost" if address is None else address.is_loopback


def in_address(host: str) -> str:
    """Return a host as web addresses have it.

    Examples
    --------
    >>> in_address("localhost"), in_address("::1")
    ('localhost', '[::1]')
    """
    return f"[{host}]" if ":" in host else host


def _number(host: str):  # type: ignore[no-untyped-def]  # the type of addresses has no public name
    try:
        return ip_address(host.strip("[]"))
    except ValueError:
        return None


def page_token(purpose: str, folder: Path | None = None) -> str:
    """Return a secret for the address of a page, the same each time for the same purpose and user.

    A page that is open when the server stops can thus be used again when the server is back. The secret is
    derived from a random key in a file that only the user can read; without such a file it is new each time.

    Parameters
    ----------
    purpose : str
        What the page is for, such as the file that it edits.
    folder : Path, optional
        Folder of the key; by default that of the user's cache.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     one, again, other = (page_token(purpose, Path(folder)) for purpose in ("a", "a", "b"))
    >>> one == again, one == other
    (True, False)
    """
    try:
        key = _key((folder or cache_folder()) / "page-key")
    except OSError:
        key = secrets.token_bytes(KEY_BYTES)
    return hmac.new(key, purpose.encode("utf-8", "surrogateescape"), "sha256").hexdigest()[: 2 * KEY_BYTES]


def cache_folder() -> Path:
    """Return the folder for files of this user that can be made again."""
    base = os.environ.get("XDG_CACHE_HOME") or os.environ.get("LOCALAPPDATA") or Path.home() / ".cache"
    return Path(base) / "dropglm"


def _key(path: Path) -> bytes:
    """Return the key in a file, which is made if it does not exist or has another owner's permissions."""
    path.parent.mkdir(parents=True, exist_ok=True)
    try:
        private = os.name != "posix" or path.stat().st_mode & 0o077 == 0
        key = path.read_bytes()
        if private and len(key) == KEY_BYTES:
            return key
        path.unlink()
    except FileNotFoundError:
        pass
    key = secrets.token_bytes(KEY_BYTES)
    file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with open(file, "wb") as stream:
        stream.write(key)
    return key


class Gate:
    """Middleware that all requests pass: it refuses those of other sites, and adds headers to responses.

    A request that the server cancels because it stops is answered as well, with status 503.

    Parameters
    ----------
    app : ASGI application
    hosts : AllowedHosts
    token : str or None, default=None
        If given, addresses start with it, as in ``/token/`` and ``/token/static/page.css``; the application
        sees them without.
    log : bool, default=False
        Write a line about each request to standard error: the time, the client, the method, the path without
        the token, the status of the response and the time taken. If the client went away before the response,
        there is a dash in place of the status.
    """

    def __init__(
        self, app: ASGIApp, hosts: AllowedHosts, token: str | None = None, *, log: bool = False
    ) -> None:
        self.app, self.hosts, self.token, self.log = app, hosts, token, log

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Check the request and pass it on."""
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        start, status = time.perf_counter(), "-"

        async def send_with_headers(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = str(message["status"])
                message["headers"] = [*message.get("headers", ()), *HEADERS]
            await send(message)

        answer, passed_on = self._refusal(scope), scope
        if answer is None and self.token is not None:
            answer, passed_on = self._without_token(scope, self.token)
        try:
            await (answer or self.app)(passed_on, receive, send_with_headers)
        except asyncio.CancelledError:
            if status == "-":
                stopping = error_answer(503, "The server is stopping.", {"connection": "close"})
                await stopping(scope, receive, send_with_headers)
        finally:
            if self.log:
                sys.stderr.write(self._line(scope, status, time.perf_counter() - start))

    def _line(self, scope: Scope, status: str, seconds: float) -> str:
        path = quote(scope["path"])[:200]  # without line ends
        if self.token:
            path = path.replace(quote(self.token), "…")
        client = scope["client"][0] if scope.get("client") else "-"
        request = f"{time.strftime('%H:%M:%S')} {client} {scope['method']} {path}"
        return f"{request} {status} {1e3 * seconds:.1f} ms\n"

    def _refusal(self, scope: Scope) -> ASGIApp | None:
        """Return the answer to a request that is refused."""
        headers: dict[bytes, bytes] = dict(scope["headers"])
        host = headers.get(b"host", b"").decode("latin-1")
        if host not in self.hosts:
            return error_answer(421, "This server does not answer to the host name of the request.")
        if scope["method"] in READING:
            return None
        origin = headers.get(b"origin")
        if origin is None:  # not a browser, or an old one
            is_own = headers.get(b"sec-fetch-site", b"none") in (b"none", b"same-origin")
        else:
            scheme, _, rest = origin.decode("latin-1").lower().partition("://")
            is_own = scheme in ("http", "https") and rest == host.lower()
        return None if is_own else error_answer(403, "Requests from pages of other sites are refused.")

    @staticmethod
    def _without_token(scope: Scope, token: str) -> tuple[ASGIApp | None, Scope]:
        """Return the request with the token taken from its address, or the answer if it has another."""
        path: str = scope["path"]
        given, slash, rest = path[1:].partition("/")
        if not hmac.compare_digest(given.encode(errors="replace"), token.encode()):
            return error_answer(
                403, "Open the address that the command has printed; it has a key in it."
            ), scope
        if not slash:  # the page's links are relative to its folder
            return RedirectResponse(f"{token}/"), scope
        changed: dict[str, Any] = {**scope, "path": f"/{rest}"}
        changed.pop("raw_path", None)
        return None, changed
