"""The files of a page, which are part of the package."""

from importlib.resources import files
from typing import Any

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

TYPES = {
    "html": "text/html; charset=utf-8",
    "css": "text/css; charset=utf-8",
    "js": "text/javascript; charset=utf-8",
    "svg": "image/svg+xml",
}
SHARED = "shared"


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
