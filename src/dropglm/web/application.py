"""Applications: routes behind the checks that all of them need, and the files of pages."""

from collections.abc import Sequence
from importlib.resources import files
from typing import Any

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Route
from starlette.types import ASGIApp

from dropglm.web.json_messages import HANDLERS
from dropglm.web.security import AllowedHosts, Gate

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
) -> ASGIApp:
    """Return an application that refuses requests of other sites and says in JSON what is wrong.

    Parameters
    ----------
    routes : sequence of routes
    hosts : AllowedHosts, default=None
        Names under which the server may be addressed; None means those of this computer only.
    token : str or None, default=None
        A secret with which all addresses start; see ``Gate``.
    log : bool, default=True
        Write one line per request to standard error.

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
    app = Starlette(routes=routes, exception_handlers=HANDLERS)
    return Gate(app, hosts or AllowedHosts(), token, log=log)


def page_routes(folder: str) -> list[Route]:
    """Return the routes of a page: ``/`` is its ``index.html``, and ``/static/name`` any other file.

    Parameters
    ----------
    folder : str
        Folder of ``dropglm/web/static``. The files of ``shared`` belong to every page. Links in pages are
        relative, as in ``static/base.css``.
    """
    contents = _contents(SHARED) | _contents(folder)

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
