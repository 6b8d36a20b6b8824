"""Applications: routes behind the checks that all of them need, the files of pages, and a log."""

import asyncio
import sys
import time
from collections.abc import Sequence
from importlib.resources import files
from typing import Any
from urllib.parse import quote

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Route
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from dropglm.web.json_messages import HANDLERS, error_answer
from dropglm.web.security import AllowedHosts, Security

TYPES = {
    "html": "text/html; charset=utf-8",
    "css": "text/css; charset=utf-8",
    "js": "text/javascript; charset=utf-8",
    "svg": "image/svg+xml",
}
SHARED = "shared"


def application(
    routes: Sequence[BaseRoute],
    hosts: AllowedHosts | None = None,
    *,
    token: str | None = None,
    log: bool = True,
    **settings: Any,
) -> ASGIApp:
    """Return an application that refuses requests of other sites and says in JSON what is wrong.

    Parameters
    ----------
    routes : sequence of routes
    hosts : AllowedHosts, default=None
        Names under which the server may be addressed; None means those of this computer only.
    token : str or None, default=None
        A secret with which all addresses start; see ``Security``.
    log : bool, default=True
        Write one line per request to standard error.
    **settings
        Passed to ``Starlette``, such as ``lifespan``.

    Examples
    --------
    >>> from urllib.request import urlopen
    >>> from starlette.routing import Route
    >>> from dropglm.web.json_messages import json_answer
    >>> from dropglm.web.running import serving
    >>> async def health(request):
    ...     return json_answer({"status": "ok"})
    >>> with serving(application([Route("/health", health)], log=False)) as address:
    ...     urlopen(f"{address}health").read()
    b'{"status":"ok"}'
    """
    # Around the application, not its middleware: answers to errors of ours must have the headers as well.
    app: ASGIApp = Starlette(routes=routes, exception_handlers=HANDLERS, **settings)
    app = Security(AnswersWhenStopped(app), hosts or AllowedHosts(), token)
    return RequestLog(app, token) if log else app


def page_routes(folder: str) -> list[Route]:
    """Return the routes of a page: ``/`` is its ``index.html``, and ``/static/name`` any other file.

    Parameters
    ----------
    folder : str
        Folder of ``dropglm/web/static``. The files of ``shared`` belong to every page. Links in pages are
        relative, as in ``static/base.css``.
    """
    contents = _contents(SHARED) | _contents(folder)

    async def index(request: Request) -> Response:
        return _answer("index.html")

    async def static(request: Request) -> Response:
        return _answer(request.path_params["name"])

    def _answer(name: str) -> Response:
        if name not in contents:
            raise HTTPException(404)
        return Response(contents[name], media_type=TYPES[name.rpartition(".")[2]])

    return [Route("/", index, methods=["GET"]), Route("/static/{name}", static, methods=["GET"])]


def _contents(folder: str) -> dict[str, bytes]:
    """Return the files of a folder by name."""
    place: Any = files("dropglm.web") / "static" / folder
    return {file.name: file.read_bytes() for file in place.iterdir() if file.name.rpartition(".")[2] in TYPES}


class RequestLog:
    """Middleware that writes a line about each request to standard error.

    A line has the time, the client, the method, the path, the status of the answer and the time taken. If
    the client went away before the answer, there is a dash in place of the status.

    Parameters
    ----------
    app : ASGI application
    secret : str or None, default=None
        Part of the paths that is not written.
    """

    def __init__(self, app: ASGIApp, secret: str | None = None) -> None:
        self.app, self.secret = app, secret

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass the request on, and write the line when it has been answered."""
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        start, status = time.perf_counter(), "-"

        async def noting_status(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = str(message["status"])
            await send(message)

        try:
            await self.app(scope, receive, noting_status)
        finally:
            path = quote(scope["path"])[:200]  # without line ends
            if self.secret:
                path = path.replace(quote(self.secret), "…")
            client = scope["client"][0] if scope.get("client") else "-"
            took = 1e3 * (time.perf_counter() - start)
            line = f"{time.strftime('%H:%M:%S')} {client} {scope['method']} {path} {status} {took:.1f} ms\n"
            sys.stderr.write(line)


class AnswersWhenStopped:
    """Middleware that answers requests which the server cancels because it stops, instead of failing.

    Parameters
    ----------
    app : ASGI application
    """

    def __init__(self, app: ASGIApp) -> None:
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass the request on."""
        started = False

        async def noting_start(message: Message) -> None:
            nonlocal started
            started = started or message["type"] == "http.response.start"
            await send(message)

        try:
            await self.app(scope, receive, noting_start)
        except asyncio.CancelledError:
            if scope["type"] != "http":
                raise
            if not started:
                answer = error_answer(503, "The server is stopping.", {"connection": "close"})
                await answer(scope, receive, send)
