"""The page of ``dropglm label``: requests in, calls of the session and views of it out."""

import asyncio
import secrets
from collections.abc import Awaitable, Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import FileResponse, Response
from starlette.routing import Route
from starlette.types import ASGIApp

from dropglm.errors import InputError
from dropglm.labelling.exports import Exports
from dropglm.labelling.journal import JournalError
from dropglm.labelling.panels import (
    FEWEST_OUTCOMES,
    accuracy_curve,
    known_accuracy,
    none_suspicious,
    progress,
    search,
    surest,
    suspects,
)
from dropglm.labelling.session import ChangedError, LabellingSession
from dropglm.labelling.snapshot import Guess
from dropglm.labelling.upcoming import Item
from dropglm.text.top_ngrams import only_words
from dropglm.web.application import application, page_routes
from dropglm.web.json_messages import json_answer, read_json
from dropglm.web.security import AllowedHosts

CUT = 20_000  # characters of a text that are shown at first
EXCERPT = 400  # characters of a text in a list
SHOWN_WORDS = 10  # of a class
SHOWN_ANSWERS = 6  # in the list of recent answers
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
        self.session, self.exports, self.name = session, exports, name
        self.run = secrets.token_hex(4)  # a page notices that the server was started again
        # One action at a time, in the order of arrival, while other requests are answered: disks may be slow.
        self._actions = ThreadPoolExecutor(1, "actions")

    def routes(self) -> list[Route]:
        """Return the routes of the page and of its requests."""
        actions: dict[str, Callable[[dict[str, Any]], object]] = {
            "answer": lambda given: self.session.answer(
                _text(given, "label"), _number(given), seen=_seen(given)
            ),
            "answer_all": self._answer_all,
            "skip": lambda given: self.session.skip(_number(given), seen=_seen(given)),
            "undo": lambda given: self.session.undo(seen=_seen(given)),
            "keep": lambda given: self.session.keep(_number(given, needed=True), seen=_seen(given)),
            "add_class": lambda given: self.session.add_class(_text(given, "name"), seen=_seen(given)),
            "rename_class": lambda given: self.session.rename_class(
                _text(given, "old"), _text(given, "new"), seen=_seen(given)
            ),
            "remove_class": lambda given: self.session.remove_class(_text(given, "name"), seen=_seen(given)),
            "export": lambda given: self.exports.start(_text(given, "what")),
        }
        views: dict[str, Callable[[Request], Any]] = {
            "state": lambda request: self.state(),
            "panels": lambda request: self.panels(),
            "text/{number:int}": lambda request: self.whole(request.path_params["number"]),
            "listed/{number:int}": lambda request: self.listed(request.path_params["number"]),
            "answered/{place:int}": lambda request: self.answered(request.path_params["place"]),
            "suspects": lambda request: self.suspects(),
            "surest": lambda request: self.surest(request.query_params.get("label", "")),
            "search": lambda request: self.search(request.query_params.get("words", "")),
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

    def _answer_all(self, given: dict[str, Any]) -> None:
        labels = given.get("labels")
        if not isinstance(labels, list) or not all(map(_is_label, labels)):
            raise HTTPException(400, "labels must be a list of pairs, the number of a text and its class.")
        self.session.answer_all(dict(labels), seen=_seen(given))

    def _action(self, action: Callable[[dict[str, Any]], object]) -> Callable[[Request], Awaitable[Response]]:
        def answer(given: Any) -> Response:
            if not isinstance(given, dict):
                raise HTTPException(400, "The request must be a JSON object.")
            try:
                action(given)
            except ChangedError as error:
                return json_answer({"error": str(error), "state": self.state()}, 409)
            except JournalError as error:
                raise HTTPException(507, str(error)) from None
            except InputError as error:
                raise HTTPException(400, str(error)) from None
            return json_answer(self.state())

        async def endpoint(request: Request) -> Response:
            given = await read_json(request, MAX_BYTES)
            return await asyncio.get_running_loop().run_in_executor(self._actions, answer, given)

        return endpoint

    async def _download(self, request: Request) -> Response:
        path = self.exports.paths.get(request.path_params["what"])
        if path is None or not path.is_file():
            raise HTTPException(404)
        return FileResponse(path, filename=path.name, media_type="application/octet-stream")

    def state(self) -> dict[str, Any]:
        """Return what every answer changes: the current text and the numbers of labels."""
        session = self.session
        with session.lock:
            numbers = progress(session)
            export = self.exports.state
            places = self._places()
            last = session.answers.last
            return {
                "run": self.run,
                "version": session.version,
                "name": self.name,
                "file": str(session.path),
                "current": None if session.current is None else self._item(session.current),
                "n_texts": numbers.n_texts,
                "n_rows": numbers.n_rows,
                "n_labels": numbers.n_labels,
                "n_skipped": numbers.n_skipped,
                "n_answered": len(places),
                "undo": None if last is None else last.sentence(session.answers),
                "per_minute": numbers.per_minute,
                "classes": numbers.by_class,
                "recent": [
                    self._excerpt(number, 120) | {"place": places[number]}
                    for number in session.answers.recent(SHOWN_ANSWERS)
                ],
                "is_ready": session.is_ready,
                "is_learning": session.is_learning,
                "learnt": None if session.snapshot is None else session.snapshot.version,
                "is_useful": session.snapshot is not None and session.snapshot.is_useful,
                "problem": session.problem,
                "notices": session.notices,
                "export": export
                and {
                    "what": export.what,
                    "path": str(export.path),
                    "kept": None if export.kept is None else export.kept.name,
                    "is_running": export.is_running,
                    "problem": export.problem,
                },
            }

    def panels(self) -> dict[str, Any]:
        """Return the estimate of accuracy and the words of the classes."""
        points, more = accuracy_curve(self.session)
        snapshot = self.session.snapshot
        words = {} if snapshot is None else snapshot.words
        with self.session.lock:
            names, n_random = dict(self.session.answers.names), len(self.session.answers.outcomes())
        return {
            "curve": [[one.n_labels, one.accuracy, one.low, one.high, one.n] for one in points],
            "more": more,
            "n_random": n_random,
            "n_needed": FEWEST_OUTCOMES,
            "words": [[name, _first_words(words.get(number, []))] for number, name in names.items()],
        }

    def _item(self, item: Item) -> dict[str, Any]:
        return {**self._text(item.number), "source": item.source, "guess": self._guess(item.guess)}

    def _guess(self, guess: Guess | None) -> dict[str, Any] | None:
        if guess is None or guess.label not in self.session.answers.names:
            return None
        return {
            "label": self.session.answers.names[guess.label],
            "probability": guess.probability,
            "words": [(word, weight) for word, weight in guess.words if only_words(word)],
        }

    def _text(self, number: int, cut: int | None = CUT) -> dict[str, Any]:
        text, answer = self.session.texts[number], self.session.answers.by_text.get(number)
        label = None if answer is None or answer.label is None else self.session.answers.names[answer.label]
        return {
            "number": number,
            "text": text[:cut],
            "length": len(text),
            "label": label,
            "is_answered": answer is not None,
        }

    def _excerpt(self, number: int, cut: int = EXCERPT, start: int = 0) -> dict[str, Any]:
        # Blanks are joined only in a part of the text, which may be very long.
        part = self.session.texts[number][start : start + 4 * cut]
        text = ("…" if start else "") + " ".join(part.split())
        return self._text(number, 0) | {"text": text if len(text) <= cut else f"{text[: cut - 1]}…"}

    def whole(self, number: int, cut: int | None = None) -> dict[str, Any]:
        """Return a text in full, or its first characters."""
        if number >= len(self.session.texts):
            raise HTTPException(404, "There is no such text.")
        with self.session.lock:
            return self._text(number, cut)

    def _places(self) -> dict[int, int]:
        """Return the places of the texts in the order in which they were first answered."""
        numbers = (number for number in self.session.answers.by_text if number >= 0)
        return {number: place for place, number in enumerate(numbers)}

    def listed(self, number: int) -> dict[str, Any]:
        """Return a text of a list, with its place if it was answered."""
        with self.session.lock:
            return self.whole(number, CUT) | {"place": self._places().get(number), "guess": None}

    def answered(self, place: int) -> dict[str, Any]:
        """Return a text that was answered, by its place in the order of answers."""
        with self.session.lock:
            numbers = list(self._places())
            if place >= len(numbers):
                raise HTTPException(404, "There is no such answer.")
            return self.listed(numbers[place])

    def suspects(self) -> dict[str, Any]:
        """Return the labels that may be wrong, and look for them if they have changed."""
        self.session.look_for_suspects()
        with self.session.lock:
            found = [
                self._excerpt(one.number) | {"predicted": one.predicted, "probability": one.probability}
                for one in suspects(self.session)
            ]
            looking = self.session.is_learning
        known = known_accuracy(self.session) if found else none_suspicious(self.session)
        return {"texts": found, "is_looking": looking, "known": known}

    def surest(self, label: str) -> dict[str, Any]:
        """Return the texts of whose class the model is surest."""
        found = surest(self.session, label)
        with self.session.lock:
            texts = [self._excerpt(number) | {"probability": round(p, 4)} for number, p in found]
        return {"texts": texts, "known": known_accuracy(self.session)}

    def search(self, words: str) -> dict[str, Any]:
        """Return the texts that contain some words."""
        found = search(self.session.answers.numbers, words)
        with self.session.lock:
            texts = [
                self._excerpt(number, start=found.near(self.session.texts[number]))
                for number in found.numbers
            ]
        return {"texts": texts, "total": found.total, "words": found.wanted}


def _first_words(words: list[tuple[str, float]]) -> list[tuple[str, float]]:
    """Return the first n-grams that consist of words; punctuation says little to a reader."""
    return [(word, weight) for word, weight in words if only_words(word)][:SHOWN_WORDS]


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
