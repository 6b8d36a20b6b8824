"""What the page of ``dropglm label`` shows: the session as objects that JSON can express."""

import secrets
from typing import Any

from starlette.exceptions import HTTPException

from dropglm.labelling.export_job import Exports
from dropglm.labelling.panels import (
    FEWEST_OUTCOMES,
    accuracy_curve,
    known_accuracy,
    none_suspicious,
    progress,
    surest,
    suspects,
)
from dropglm.labelling.search import search
from dropglm.labelling.session import LabellingSession
from dropglm.labelling.snapshot import Guess
from dropglm.labelling.upcoming import Item
from dropglm.text.top_ngrams import only_words

CUT = 20_000  # characters of a text that are shown at first
EXCERPT = 400  # characters of a text in a list
SHOWN_WORDS = 10  # of a class
SHOWN_ANSWERS = 6  # in the list of recent answers


class LabelViews:
    """The views of the page.

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
