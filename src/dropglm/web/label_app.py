"""The page of ``dropglm label``: requests in, calls of the session out."""

import asyncio
from collections.abc import Awaitable, Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import FileResponse, Response
from starlette.routing import Route
from starlette.types import ASGIApp

from dropglm.labelling.export_job import Exports
from dropglm.labelling.journal import JournalError
from dropglm.labelling.session import ChangedError, LabellingSession
from dropglm.web.application import application
from dropglm.web.hosts import AllowedHosts
from dropglm.web.json_answers import json_answer
from dropglm.web.json_bodies import read_json
from dropglm.web.label_views import LabelViews
from dropglm.web.pages import page_routes

MAX_BYTES = 1 << 20  # of a request


class LabelPage:
    """The requests of the page.

    Parameters
    ----------
    session : LabellingSession
    exports : Exports
    name : str
        Name of the table, for the title.
    """

    def __init__(self, session: LabellingSession, exports: Exports, name: str = "") -> None:
        self.session, self.exports = session, exports
        self.views = LabelViews(session, exports, name)
        # One action at a time, in the order of arrival, while other requests are answered: disks may be slow.
        self._actions = ThreadPoolExecutor(1, "actions")

    def routes(self) -> list[Route]:
        """Return the routes of the page and of its requests."""
        actions: dict[str, Callable[[dict[str, Any]], object]] = {
            "answer": self._answer,
            "answer_all": self._answer_all,
            "skip": lambda given: self.session.skip(_number(given), seen=_seen(given)),
            "undo": self._undo,
            "keep": lambda given: self.session.keep(_number(given, needed=True), seen=_seen(given)),
            "add_class": lambda given: self.session.add_class(_text(given, "name"), seen=_seen(given)),
            "rename_class": lambda given: self.session.rename_class(
                _text(given, "old"), _text(given, "new"), seen=_seen(given)
            ),
            "remove_class": lambda given: self.session.remove_class(_text(given, "name"), seen=_seen(given)),
            "export": lambda given: self.exports.start(_text(given, "what")),
        }
        views: dict[str, Callable[[Request], Any]] = {
            "state": lambda request: self.views.state(),
            "panels": lambda request: self.views.panels(),
            "text/{number:int}": lambda request: self.views.whole(request.path_params["number"]),
            "listed/{number:int}": lambda request: self.views.listed(request.path_params["number"]),
            "answered/{place:int}": lambda request: self.views.answered(request.path_params["place"]),
            "suspects": lambda request: self.views.suspects(),
            "surest": lambda request: self.views.surest(request.query_params.get("label", "")),
            "search": lambda request: self.views.search(request.query_params.get("words", "")),
        }
        return [
            *page_routes("label"),
            *(Route(f"/api/{path}", _view(view), methods=["GET"]) for path, view in views.items()),
            *(
                Route(f"/api/{path}", self._action(action), methods=["POST"])
                for path, action in actions.items()
            ),
            Route("/api/download/{what}", self._download, methods=["GET"]),
        ]

    def _answer(self, given: dict[str, Any]) -> None:
        number = _number(given)
        self.session.answer(_text(given, "label"), number, seen=_seen(given))

    def _answer_all(self, given: dict[str, Any]) -> None:
        labels = given.get("labels")
        if not isinstance(labels, list) or not all(map(_is_label, labels)):
            raise HTTPException(400, "labels must be a list of pairs, the number of a text and its class.")
        self.session.answer_all(dict(labels), seen=_seen(given))

    def _undo(self, given: dict[str, Any]) -> None:
        self.session.undo(seen=_seen(given))

    def _action(self, action: Callable[[dict[str, Any]], object]) -> Callable[[Request], Awaitable[Response]]:
        def answer(given: Any) -> Response:
            if not isinstance(given, dict):
                raise HTTPException(400, "The request must be a JSON object.")
            try:
                action(given)
            except ChangedError as error:
                return json_answer({"error": str(error), "state": self.views.state()}, 409)
            except JournalError as error:
                raise HTTPException(507, str(error)) from None
            except ValueError as error:
                raise HTTPException(400, str(error)) from None
            return json_answer(self.views.state())

        async def endpoint(request: Request) -> Response:
            given = await read_json(request, MAX_BYTES)
            return await asyncio.get_running_loop().run_in_executor(self._actions, answer, given)

        return endpoint

    async def _download(self, request: Request) -> Response:
        path = self.exports.paths.get(request.path_params["what"])
        if path is None or not path.is_file():
            raise HTTPException(404)
        return FileResponse(path, filename=path.name, media_type="application/octet-stream")


def label_app(
    session: LabellingSession,
    exports: Exports,
    *,
    name: str = "",
    hosts: AllowedHosts | None = None,
    token: str | None = None,
    log: bool = False,
) -> ASGIApp:
    """Return the application of the page.

    Parameters
    ----------
    session : LabellingSession
    exports : Exports
    name : str
        Name of the table, for the title.
    hosts : AllowedHosts, default=None
        Names under which the page may be addressed; None means those of this computer only.
    token : str or None, default=None
        A secret with which all addresses start.
    log : bool, default=False
        Write a line about each request to standard error.
    """
    return application(LabelPage(session, exports, name).routes(), hosts, token=token, log=log)


def _view(view: Callable[[Request], Any]) -> Callable[[Request], Awaitable[Response]]:
    async def endpoint(request: Request) -> Response:
        return json_answer(await run_in_threadpool(view, request))

    return endpoint


def _is_label(given: object) -> bool:
    return isinstance(given, list) and len(given) == 2 and type(given[0]) is int and isinstance(given[1], str)


def _seen(given: dict[str, Any]) -> int:
    seen = given.get("seen")
    if type(seen) is not int:
        raise HTTPException(400, "seen must be the version that the page has seen.")
    return seen


def _text(given: dict[str, Any], name: str) -> str:
    text = given.get(name)
    if not isinstance(text, str):
        raise HTTPException(400, f"{name} must be a text.")
    return text


def _number(given: dict[str, Any], *, needed: bool = False) -> Any:
    number = given.get("number")
    if type(number) is not int and (needed or number is not None):
        raise HTTPException(400, "number must be the number of a text.")
    return number
