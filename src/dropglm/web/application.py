"""Applications: routes behind the checks that all of them need, messages in JSON, and the files of pages.

Other sites, which the user may have open in the same browser, can send requests to this computer. They must
neither read answers (``AllowedHosts``) nor cause anything: requests other than GET and HEAD need our own
origin, if they have one, and with a token every address contains it. Pages run our own scripts only, and load
nothing from elsewhere.

There are limits on the size of a request and on the time that it takes to arrive. Errors are
``{"error": "One sentence."}`` with their HTTP status.
"""

import asyncio
import hmac
import json
import math
import os
import re
import secrets
import socket
import sys
import time
from collections.abc import AsyncIterator, Iterable, Sequence
from contextlib import asynccontextmanager
from importlib.resources import files
from ipaddress import ip_address
from pathlib import Path
from typing import Any, NoReturn
from urllib.parse import quote

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect, Request
from starlette.responses import RedirectResponse, Response
from starlette.routing import BaseRoute, Route
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from dropglm.base.errors import InputError
from dropglm.base.files import user_cache

POLICY = (
    b"default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self' data:; "
    b"base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
HEADERS = [
    (b"content-security-policy", POLICY),
    (b"x-content-type-options", b"nosniff"),
    (b"x-frame-options", b"DENY"),
    (b"referrer-policy", b"no-referrer"),
    (b"cross-origin-resource-policy", b"same-origin"),
    (b"cache-control", b"no-store"),
]
READING = ("GET", "HEAD")
LOOPBACK = ("127.0.0.1", "localhost", "[::1]")
HOST = re.compile(r"(\[[0-9a-f:.]+\]|[a-z0-9._-]+)(?::\d{1,5})?", re.IGNORECASE)
KEY_BYTES = 16
SENTENCES = {404: "There is nothing at this address.", 405: "This address does not take such requests."}
MAX_BYTES = 32 << 20
MAX_SECONDS = 60.0
TYPES = {
    "html": "text/html; charset=utf-8",
    "css": "text/css; charset=utf-8",
    "js": "text/javascript; charset=utf-8",
    "svg": "image/svg+xml",
}


def application(
    routes: Sequence[BaseRoute],
    hosts: "AllowedHosts | None" = None,
    *,
    token: str | None = None,
    log: bool = True,
) -> ASGIApp:
    """Return an application that refuses requests of other sites and says in JSON what is wrong.

    Parameters
    ----------
    routes : sequence of routes
    hosts : AllowedHosts, default=None
        Names under which the server may be addressed; None means those of this computer only.
    token : str or None, default=None
        A secret with which all addresses start; see ``SecurityMiddleware``.
    log : bool, default=True
        Write one line per request to standard error.

    Examples
    --------
    >>> from urllib.request import urlopen
    >>> from starlette.routing import Route
    >>> from dropglm.web.running import serving
    >>> async def health(request):
    ...     return json_answer({"status": "ok"})
    >>> with serving(application([Route("/health", health)], log=False)) as address:
    ...     urlopen(f"{address}health").read()
    b'{"status":"ok"}'
    """
    # Around the application, not its middleware: answers to errors of ours must have the headers as well.
    handlers: Any = {HTTPException: _http_error, Exception: _internal_error}
    app = Starlette(routes=routes, exception_handlers=handlers)
    return SecurityMiddleware(app, hosts or AllowedHosts(), token, log=log)


def page_routes(folder: str) -> list[Route]:
    """Return the routes of a page: ``/`` is its ``index.html``, and ``/static/name`` any other file.

    Parameters
    ----------
    folder : str
        Folder of ``dropglm/web/static``. The files of ``shared`` belong to every page. Links in pages are
        relative, as in ``static/base.css``.
    """
    contents = _contents("shared") | _contents(folder)

    async def file(request: Request) -> Response:
        name = request.path_params.get("name", "index.html")
        if name not in contents:
            raise HTTPException(404)
        return Response(contents[name], media_type=TYPES[name.rpartition(".")[2]])

    return [Route(path, file, methods=["GET"]) for path in ("/", "/static/{name}")]


def _contents(folder: str) -> dict[str, bytes]:
    """Return the files of a folder by name."""
    place: Any = files("dropglm.web") / "static" / folder
    return {file.name: file.read_bytes() for file in place.iterdir() if file.name.rpartition(".")[2] in TYPES}


# Requests and answers in JSON.


def json_answer(content: Any, status: int = 200, headers: dict[str, str] | None = None) -> Response:
    r"""Return a response in JSON.

    It is written in ASCII: texts may contain halves of a surrogate pair, which UTF-8 cannot express.

    Examples
    --------
    >>> json_answer({"text": "\ud800"}).body
    b'{"text":"\\ud800"}'
    """
    body = json.dumps(content, allow_nan=False, separators=(",", ":")).encode()
    return Response(body, status, headers, "application/json")


def error_answer(status: int, sentence: str, headers: dict[str, str] | None = None) -> Response:
    """Return a response that says what is wrong."""
    return json_answer({"error": sentence}, status, headers)


def _http_error(request: Request, error: HTTPException) -> Response:
    """Return the response to an error that the application raised."""
    sentence = SENTENCES.get(error.status_code, error.detail)
    return error_answer(error.status_code, sentence, dict(error.headers or {}))


def _internal_error(request: Request, error: Exception) -> Response:
    """Return the response to a mistake of ours; the log has its traceback."""
    return error_answer(500, "Internal error; the log of the server says more.")


class RequestBodies:
    """Bodies of requests that together take at most so many bytes of memory.

    If a body needs more, the one that has been arriving for longest is given up: clients that send slowly, or
    stop in the middle, must not keep others waiting.

    Parameters
    ----------
    max_bytes : int
        Size that a body may have.
    max_total : float, default=inf
        Size that all bodies may have together that are arriving or in use.
    """

    def __init__(self, max_bytes: int = MAX_BYTES, max_total: float = math.inf) -> None:
        self.max_bytes, self.max_total = max_bytes, max_total
        self._total = 0
        self._arriving: dict[asyncio.Timeout, bytearray] = {}  # the oldest first

    @asynccontextmanager
    async def read(self, request: Request, max_seconds: float = MAX_SECONDS) -> AsyncIterator[bytearray]:
        """Read the body of a request, which is in use until the context ends.

        Raises
        ------
        HTTPException
            With status 413 if it is too large, 408 if it takes too long and 503 if it is given up; 400 if the
            client goes away.
        """
        body = bytearray()
        try:
            await self._receive(request, body, max_seconds)
            yield body
        finally:
            self._total -= len(body)

    async def _receive(self, request: Request, body: bytearray, max_seconds: float) -> None:
        too_large = HTTPException(413, f"The request is larger than {self.max_bytes:,} bytes.")
        announced = int(request.headers.get("content-length", 0))  # digits, as the server has checked
        if announced > self.max_bytes:
            raise too_large
        timeout = asyncio.timeout(max_seconds)
        self._arriving[timeout] = body
        is_late = False
        try:
            async with timeout:
                async for part in request.stream():
                    body += part
                    self._total += len(part)
                    if len(body) > self.max_bytes:
                        raise too_large
                    self._make_room()
        except TimeoutError:
            is_late = True
        except ClientDisconnect:
            raise HTTPException(400, "The client closed the connection.") from None
        finally:
            is_given_up = self._arriving.pop(timeout, None) is None
        if is_given_up:
            sentence = "The server has too many large requests at the moment; send this one again later."
            raise HTTPException(503, sentence, {"connection": "close"})
        if is_late:
            sentence = f"The request did not arrive within {max_seconds:g} seconds."
            raise HTTPException(408, sentence, {"connection": "close"})

    def _make_room(self) -> None:
        while self._total > self.max_total and self._arriving:
            timeout = next(iter(self._arriving))
            body = self._arriving.pop(timeout)
            self._total -= len(body)
            body.clear()
            if not timeout.expired():
                timeout.reschedule(0.0)  # ends its reading


def parse_json(body: bytes | bytearray) -> Any:
    """Return the content of a body that is JSON as RFC 8259 has it.

    ``NaN`` and ``Infinity`` are refused, and so are names that occur twice in an object, of which parsers
    keep different ones.

    Raises
    ------
    HTTPException
        With status 400 if it is not JSON.

    Examples
    --------
    >>> parse_json(b'{"texts": ["a"]}')
    {'texts': ['a']}
    >>> parse_json(b'{"texts": NaN}')
    Traceback (most recent call last):
    starlette.exceptions.HTTPException: 400: The request is not valid JSON: NaN is not a value.
    """
    try:
        return json.loads(body, parse_constant=_refuse_constant, object_pairs_hook=_without_duplicates)
    except UnicodeDecodeError:
        raise HTTPException(400, "The request is not valid JSON: it is not UTF-8.") from None
    except RecursionError:
        raise HTTPException(400, "The request is not valid JSON: it is nested too deeply.") from None
    except ValueError as error:
        raise HTTPException(400, f"The request is not valid JSON: {error}.") from None


async def read_json(request: Request, max_bytes: int = MAX_BYTES, max_seconds: float = MAX_SECONDS) -> Any:
    """Read the body of a request, and return its content; see ``RequestBodies`` and ``parse_json``."""
    async with RequestBodies(max_bytes).read(request, max_seconds) as body:
        return parse_json(body)


def _refuse_constant(name: str) -> NoReturn:
    raise InputError(f"{name} is not a value")


def _without_duplicates(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    content = dict(pairs)
    if len(content) < len(pairs):
        raise InputError("a name occurs twice in an object")
    return content


# Who may send requests.


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
    >>> [AllowedHosts(host).is_local for host in ("localhost", "127.0.0.1", "::1", "0.0.0.0", "example.com")]
    [True, True, True, False, False]
    """

    def __init__(self, host: str = "127.0.0.1", further: Iterable[str] = ()) -> None:
        self.names = {name.lower() for name in (*LOOPBACK, in_address(host), *further)}
        number = _number(host)
        self.is_local = host.lower() == "localhost" if number is None else number.is_loopback
        if not self.is_local:
            self.names |= {socket.gethostname().lower(), socket.getfqdn().lower()}

    def __contains__(self, header: str) -> bool:
        """Return whether a Host header, with or without a port, has an allowed name."""
        found = HOST.fullmatch(header)
        if found is None:
            return False
        name = found[1].lower()
        return name in self.names or (not self.is_local and _number(name) is not None)


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
        key = _key((folder or user_cache()) / "page-key")
    except OSError:
        key = secrets.token_bytes(KEY_BYTES)
    return hmac.new(key, purpose.encode("utf-8", "surrogateescape"), "sha256").hexdigest()[: 2 * KEY_BYTES]


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


class SecurityMiddleware:
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
            why = "Wrong or missing access token; use the whole address that the command printed."
            return error_answer(403, why), scope
        if not slash:  # the page's links are relative to its folder
            return RedirectResponse(f"{token}/"), scope
        changed: dict[str, Any] = {**scope, "path": f"/{rest}"}
        changed.pop("raw_path", None)
        return None, changed
