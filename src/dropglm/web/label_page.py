"""The page of ``dropglm label``: requests in, calls of the session and views of it out."""

import asyncio
import secrets
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Any

from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import FileResponse, Response
from starlette.routing import Route

from dropglm.base.errors import InputError
from dropglm.base.model_files import Kind
from dropglm.labelling import panels
from dropglm.labelling.background_trainer import WORDS, Guess, Item
from dropglm.labelling.journal import JournalError
from dropglm.labelling.output_files import Exports
from dropglm.labelling.session import FEWEST_OUTCOMES, ChangedError, LabellingSession
from dropglm.text.explanation import only_words
from dropglm.web.application import json_answer, page_routes, read_json

CUT = 20_000  # characters of a text that are shown at first
EXCERPT = 400  # characters of a text in a list
LENGTHS = 500  # texts whose lengths are looked at
SHOWN_WORDS = 10  # of a class
SHOWN_ANSWERS = 6  # in the list of recent answers
MAX_BYTES = 1 << 20  # of a request


def _is_label(given: object) -> bool:
    return isinstance(given, list) and len(given) == 2 and type(given[0]) is int and isinstance(given[1], str)


# What requests consist of.
TEXT = Kind("a text", lambda given: isinstance(given, str))
NUMBER = Kind("the number of a text", lambda given: type(given) is int)
NUMBER_OR_NONE = NUMBER._replace(accepts=lambda given: given is None or type(given) is int)
LABELS = Kind(
    "a list of pairs, the number of a text and its class",
    lambda given: isinstance(given, list) and all(map(_is_label, given)),
)
VERSION = Kind("the version that the page has seen", lambda given: type(given) is int)


class LabelPage:
    """The requests of the page.

    Parameters
    ----------
    session : LabellingSession
    exports : Exports
    name : str
        Name of the table, for the title.
    columns : mapping of str to sequence of str or None
        Further columns of the table that are shown with each text; of copies, those of the first. The model
        does not see them.
    """

    def __init__(
        self,
        session: LabellingSession,
        exports: Exports,
        name: str = "",
        columns: Mapping[str, Sequence[str | None]] | None = None,
    ) -> None:
        self.session, self.exports, self.name, self.columns = session, exports, name, columns or {}
        # Nine in ten texts are not longer: the page gives them so much room, and the same to all others.
        lengths = sorted(_width(text[:CUT]) for text in session.texts[:LENGTHS])
        self.usual_length = lengths[9 * len(lengths) // 10]
        self.run = secrets.token_hex(4)  # a page notices that the server was started again
        # One action at a time, in the order of arrival, while other requests are answered: disks may be slow.
        self._actions = ThreadPoolExecutor(1, "actions")

    def routes(self) -> list[Route]:
        """Return the routes of the page and of its requests."""
        seen = {"seen": VERSION}
        session = self.session
        actions: dict[str, tuple[Callable[..., object], dict[str, Kind]]] = {
            "answer": (session.answer, {"label": TEXT, "number": NUMBER_OR_NONE} | seen),
            "answer_all": (self._answer_all, {"labels": LABELS} | seen),
            "skip": (session.skip, {"number": NUMBER_OR_NONE} | seen),
            "undo": (session.undo, seen),
            "keep": (session.keep, {"number": NUMBER} | seen),
            "add_class": (session.add_class, {"name": TEXT} | seen),
            "rename_class": (session.rename_class, {"old": TEXT, "new": TEXT} | seen),
            "remove_class": (session.remove_class, {"name": TEXT} | seen),
            "export": (self.exports.start, {"what": TEXT}),
        }
        views: dict[str, Callable[[Request], Any]] = {
            "state": lambda request: self.state(),
            "panels": lambda request: self.panels(),
            "text/{number:int}": lambda request: self.whole(request.path_params["number"]),
            "listed/{number:int}": lambda request: self.listed(request.path_params["number"]),
            "labels": lambda request: self.labels(request.query_params.get("of", "")),
            "answered/{place:int}": lambda request: self.answered(request.path_params["place"]),
            "suspects": lambda request: self.suspects(),
            "surest": lambda request: self.surest(request.query_params.get("label", "")),
            "search": lambda request: self.search(request.query_params.get("words", "")),
        }
        gets = {path: partial(_answer, view=view) for path, view in views.items()}
        posts = {name: partial(self._act, *action) for name, action in actions.items()}
        return [
            *page_routes("label"),
            *(Route(f"/api/{path}", endpoint, methods=["GET"]) for path, endpoint in gets.items()),
            *(Route(f"/api/{path}", endpoint, methods=["POST"]) for path, endpoint in posts.items()),
            Route("/api/download/{what}", self._download, methods=["GET"]),
        ]

    def _answer_all(self, labels: list[tuple[int, str]], seen: int) -> None:
        self.session.accept(dict(labels), seen=seen)

    async def _act(
        self, action: Callable[..., object], fields: dict[str, Kind], request: Request
    ) -> Response:
        given = await read_json(request, MAX_BYTES)
        if not isinstance(given, dict):
            raise HTTPException(400, "The request must be a JSON object.")
        values = {name: given.get(name) for name in fields}
        for name, kind in fields.items():
            if not kind.accepts(values[name]):
                raise HTTPException(400, f"{name} must be {kind.what}.")

        def act() -> Response:
            try:
                action(**values)
            except ChangedError as error:
                return json_answer({"error": str(error), "state": self.state()}, 409)
            return json_answer(self.state())

        try:
            return await asyncio.get_running_loop().run_in_executor(self._actions, act)
        except JournalError as error:
            raise HTTPException(507, str(error)) from None
        except InputError as error:
            raise HTTPException(400, str(error)) from None

    async def _download(self, request: Request) -> Response:
        path = self.exports.paths.get(request.path_params["what"])
        if path is None or not path.is_file():
            raise HTTPException(404)
        return FileResponse(path, filename=path.name, media_type="application/octet-stream")

    def state(self) -> dict[str, Any]:
        """Return what every answer changes: the current text and the numbers of labels."""
        session = self.session
        with session.lock:
            export = self.exports.state
            places = self._places()
            last = session.answers.last
            return {
                "run": self.run,
                "version": session.version,
                "name": self.name,
                "usual_length": self.usual_length,
                "file": str(session.path),
                "current": session.current and self._item(session.current),
                **panels.label_counts(session)._asdict(),
                "n_answered": len(places),
                "undo": None if last is None else last.sentence(session.answers),
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
                and export._asdict() | {"path": str(export.path), "kept": export.kept and export.kept.name},
            }

    def panels(self) -> dict[str, Any]:
        """Return the estimate of accuracy and the words of the classes."""
        points, more = panels.accuracy_curve(self.session)
        snapshot = self.session.snapshot
        words = {} if snapshot is None else snapshot.words
        with self.session.lock:
            names, n_random = dict(self.session.answers.names), len(self.session.answers.outcomes())
        return {
            "curve": [[n_labels, *found] for n_labels, found in points],
            "more": more,
            "n_random": n_random,
            "n_needed": FEWEST_OUTCOMES,
            "words": [
                [name, _without_punctuation(words.get(number, []))[:SHOWN_WORDS]]
                for number, name in names.items()
            ],
        }

    def _item(self, item: Item) -> dict[str, Any]:
        found = {**self._whole(item.number), "source": item.source, "guess": self._guess(item.guess)}
        # A text that is asked again as a check is shown as if it had no answer.
        return found | ({"label": None, "is_answered": False} if item.source == "check" else {})

    def _guess(self, guess: Guess | None) -> dict[str, Any] | None:
        names = self.session.answers.names
        if guess is None or guess.label not in names:
            return None
        return {
            "label": names[guess.label],
            "probability": guess.probability,
            "words": _without_punctuation(guess.words),
        }

    def _likeliest(self, number: int) -> str | None:
        """Return the class that the newest model finds most likely for a text."""
        snapshot, names = self.session.snapshot, self.session.answers.names
        if snapshot is None or not snapshot.is_useful or not self.session.is_free(number):
            return None
        return names.get(snapshot.classes[int(snapshot.probabilities[number].argmax())])

    def _own_guess(self, number: int) -> dict[str, Any] | None:
        """Return the guess for a text without an answer, which the newest model has not learnt from."""
        snapshot = self.session.snapshot
        if snapshot is None or number in snapshot.labelled or not self.session.is_free(number):
            return None
        return self._guess(snapshot.guess(number, WORDS))

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
            return self._whole(number, cut)

    def _whole(self, number: int, cut: int | None = CUT) -> dict[str, Any]:
        columns = {name: (values[number] or "")[:CUT] for name, values in self.columns.items()}
        return self._text(number, cut) | {"columns": columns}

    def _places(self) -> dict[int, int]:
        """Return the places of the texts in the order in which they were first answered."""
        numbers = (number for number in self.session.answers.by_text if number >= 0)
        return {number: place for place, number in enumerate(numbers)}

    def listed(self, number: int) -> dict[str, Any]:
        """Return a text of a list, with its place if it was answered."""
        with self.session.lock:
            text = self.whole(number, CUT)
            return text | {"place": self._places().get(number), "guess": self._own_guess(number)}

    def labels(self, numbers: str) -> dict[str, Any]:
        """Return the answers that some texts have now, by number; ``numbers`` has commas between them."""
        with self.session.lock:
            by_text, names = self.session.answers.by_text, self.session.answers.names
            copy_of = self.session.answers.numbers.copy_of
            found = {
                number: by_text[copy_of[int(number)]]
                for number in numbers.split(",")
                if number.isdecimal() and int(number) < len(copy_of) and copy_of[int(number)] in by_text
            }
            return {
                number: {
                    "label": None if answer.label is None else names[answer.label],
                    "is_kept": answer.kept,
                }
                for number, answer in found.items()
            }

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
                self._excerpt(one.row) | {"predicted": one.predicted, "probability": one.probability}
                for one in panels.suspects(self.session)
            ]
            looking = self.session.is_learning
        known = panels.known_accuracy(self.session) if found else panels.none_suspicious(self.session)
        return {"texts": found, "is_looking": looking, "known": known}

    def surest(self, label: str) -> dict[str, Any]:
        """Return the texts of whose class the model is surest."""
        found = panels.surest(self.session, label)
        with self.session.lock:
            texts = [self._excerpt(number) | {"probability": round(p, 4)} for number, p in found]
        right, why_not = panels.right_among_surest(self.session, label, found), self.session.why_not_accept
        return {
            "texts": texts,
            "known": right.sentence()
            if right is not None
            else why_not or panels.known_accuracy(self.session),
            "right": None if right is None else right._asdict(),
            "why_not_accept": why_not,
        }

    def search(self, words: str) -> dict[str, Any]:
        """Return the texts that contain some words."""
        found = panels.search(self.session.answers.numbers, words)
        with self.session.lock:
            texts = [
                self._excerpt(number, start=found.near(self.session.texts[number]))
                | {"guess": self._likeliest(number)}
                for number in found.numbers
            ]
        return {"texts": texts, "total": found.total, "words": found.wanted}


def _width(text: str) -> int:
    """Return about how many Latin letters are as wide as a text; those of Chinese count twice."""
    return len(text) + sum(letter > "\u2e7f" for letter in text)


def _without_punctuation(words: list[tuple[str, float]]) -> list[tuple[str, float]]:
    """Return the n-grams that consist of words; punctuation says little to a reader."""
    return [(word, weight) for word, weight in words if only_words(word)]


async def _answer(request: Request, view: Callable[[Request], Any]) -> Response:
    return json_answer(await run_in_threadpool(view, request))
