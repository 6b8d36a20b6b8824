"""A thread that learns from the labels while more texts are labelled, and what it has learnt.

Compiled kernels and most of NumPy release the interpreter's lock, so that answers do not wait for a fit.
"""

import atexit
import contextlib
import sys
import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from dropglm.base import checks

if TYPE_CHECKING:
    from dropglm.labelling.calibration import Calibration
    from dropglm.labelling.pool import ExplainedTexts, PoolModel, TextPool
    from dropglm.text.fitted_model import AnyTextModel
    from dropglm.text.metrics import Disagreement

LAST_SECONDS = 1.0  # until the end, if the thread may be computing features
QUEUE = 10  # texts that are ready to be shown, of each kind
WORDS = 12  # behind a guess
WORDS_OF_CLASS = 30  # n-grams that are listed for a class
FEWEST_LABELS = 6  # with fewer, a model knows too little for its guesses to be shown
START_WORTH = 50  # the model to start from counts as much as this many labels


class LabelsToLearn(NamedTuple):
    """What there is to learn from: the labels, and the texts not to ask for again.

    The classes of the labels are numbers, as strings; those of the model to start from have their numbers.
    """

    version: int
    labels: dict[int, str]
    answered: list[int]
    start_classes: dict[str, int]
    drawn: list[int]  # the labelled texts that were drawn at random


class Guess(NamedTuple):
    """The predicted class of a text.

    Attributes
    ----------
    label : int
        Number of the class.
    probability : float
    words : list of (str, float)
        N-grams of the text with their weights towards this class, the largest first.
    """

    label: int
    probability: float
    words: list[tuple[str, float]]


class Item(NamedTuple):
    """A text to label.

    Attributes
    ----------
    number : int
        Number of the text.
    source : str
        ``"chosen"`` to learn from, ``"random"``, ``"check"`` if it was accepted together with others and is
        asked again, or how a text was found whose label was taken back.
    guess : Guess or None
        What the model predicts, before the text is labelled.
    """

    number: int
    source: str
    guess: Guess | None = None


@dataclass(frozen=True)
class Snapshot:
    """A fitted model and what it has learnt from.

    Attributes
    ----------
    version : int
        Number of entries of the journal that the model has learnt from.
    n_labels : int
        Number of labels that it has learnt from; the model to start from counts as 50.
    labelled : frozenset of int
        Numbers of the texts whose labels it has learnt from.
    classes : list of int
        Numbers of its classes.
    probabilities : ndarray of shape (n, K)
        Probabilities of these classes for all texts.
    model : ExplainedTexts
        Finds the words behind a guess.
    names : mapping of str to int
        Numbers of the classes by their names in the model.
    calibration : Calibration or None
        What the model has predicted for labelled texts that it had not seen.
    """

    version: int
    n_labels: int
    labelled: frozenset[int]
    classes: list[int]
    probabilities: np.ndarray
    model: "ExplainedTexts"
    names: Mapping[str, int]
    calibration: "Calibration | None" = None

    @property
    def is_useful(self) -> bool:
        """Whether the model can tell classes apart and has learnt from more than a few labels."""
        return len(self.classes) > 1 and self.n_labels >= FEWEST_LABELS

    def guess(self, number: int, k: int = 8) -> Guess | None:
        """Return the guess for a text, or None if the model knows too little."""
        if not self.is_useful:
            return None
        row = self.probabilities[number]
        best = int(row.argmax())
        return Guess(self.classes[best], float(row[best]), self.model.words_behind(number, k))

    @cached_property
    def words(self) -> dict[int, list[tuple[str, float]]]:
        """The n-grams that favour each class most, by number of the class."""
        if not self.is_useful:
            return {}
        return {
            self.names[name]: words for name, words in self.model.words_of_classes(WORDS_OF_CLASS).items()
        }


def take_snapshot(
    lesson: LabelsToLearn, model: "PoolModel", start: "ExplainedTexts | None" = None
) -> Snapshot:
    """Return the snapshot of a model, blended with the one to start from.

    The blend is w p + (1 - w) p', where p are the probabilities of the model to start from, p' those of the
    new one and w = 50 / (50 + number of labels).
    """
    labelled, names = frozenset(lesson.labels), {name: int(name) for name in model.classes}
    n_labels, classes = len(labelled), list(names.values())
    known = n_labels, labelled, classes, model.probabilities, model, names, model.calibration
    new = Snapshot(lesson.version, *known)
    if start is None:
        return new
    trained = len(model.classes) > 1
    w = START_WORTH / (START_WORTH + n_labels) if trained else 1.0
    classes = sorted({*classes, *lesson.start_classes.values()})
    column = {number: place for place, number in enumerate(classes)}
    p = np.zeros((len(start.probabilities), len(classes)))
    p[:, [column[lesson.start_classes[name]] for name in start.classes]] += w * start.probabilities
    if trained:
        p[:, [column[names[name]] for name in model.classes]] += (1.0 - w) * model.probabilities
    blend = replace(new, n_labels=n_labels + START_WORTH, classes=classes, probabilities=p)
    return replace(blend, model=start, names=lesson.start_classes) if w > 0.5 else blend


class SuspiciousLabels(NamedTuple):
    """Labels that a model disagrees with; classes are numbers, as strings.

    If ``is_telling`` is False, the model is not good enough to tell wrong labels from right ones.
    """

    version: int
    found: "list[Disagreement]"
    is_telling: bool


class BackgroundTrainer:
    """Learns in the background; the newest labels win.

    Parameters
    ----------
    texts : sequence of str
        All texts.
    show : callable
        Called with each ``Snapshot``, and with the texts to show next: those that it has chosen, and those
        that are drawn at random. The thread calls it.
    show_suspects : callable
        Called with ``SuspiciousLabels``, likewise.
    copy_of : sequence of int
        For each text, the number of the first equal one; only these are asked for.
    start_from : FittedTextModel, TextClassifier, OnlineTextClassifier or None
        A trained classifier to start from.
    embedder : str, callable, object with a method ``encode`` or None
        As in ``TextClassifier``. Models use n-grams alone until another thread has embedded all texts.
    n_jobs : int or None
        Number of threads of a fit.
    seed : int or None
        Seed of the texts that are drawn at random.

    Attributes
    ----------
    is_ready : bool
        Whether models can be fitted without delay: features are computed, and functions are compiled.
    problem : str or None
        Why nothing was learnt from the last labels, in a sentence; None if nothing is wrong.
    n_embedded : int
        Number of texts that have been embedded.
    """

    def __init__(
        self,
        texts: Sequence[str],
        show: Callable[[Snapshot, list[Item], list[Item]], None],
        show_suspects: Callable[[SuspiciousLabels], None],
        *,
        copy_of: Sequence[int],
        start_from: "AnyTextModel | None" = None,
        embedder: Any = None,
        n_jobs: int | None = None,
        seed: int | None = None,
    ) -> None:
        self.is_ready, self.n_embedded = False, 0
        self.problem: str | None = None
        self._texts, self._start_from, self._n_jobs = texts, start_from, n_jobs
        self._show, self._show_suspects = show, show_suspects
        self._is_copy = np.asarray(copy_of) != np.arange(len(texts))
        self._rng = np.random.default_rng(seed)
        self._changed = threading.Condition()
        self._waiting: dict[Callable[[LabelsToLearn], None], LabelsToLearn] = {}  # with the newest labels
        self._checked = -1  # version that was checked last, or is to be checked
        self._is_busy, self._is_closed = True, False
        self._model: PoolModel | None = None
        self._newest: LabelsToLearn | None = None
        self._embeddings: np.ndarray | None = None  # which the pool does not have yet
        self._threads = [threading.Thread(target=self._run, name="learner", daemon=True)]
        if embedder is not None:
            embed = partial(self._embed, embedder)
            self._threads.append(threading.Thread(target=embed, name="encoder", daemon=True))
        for thread in self._threads:
            thread.start()
        # Python must not end while the thread runs machine code, which would be unloaded: now and then the
        # process crashed.
        atexit.register(self._end)

    @property
    def is_busy(self) -> bool:
        """Whether there is something that was not learnt yet."""
        return self._is_busy or bool(self._waiting)

    def learn(self, lesson: LabelsToLearn) -> None:
        """Learn from these labels next, instead of from those that wait."""
        self._newest = lesson
        self._ask(self._fit, lesson)

    def check(self, lesson: LabelsToLearn) -> None:
        """Look for suspicious labels when there is nothing else to learn, once for each version of them."""
        if lesson.version != self._checked:
            self._checked = lesson.version
            self._ask(self._look_for_suspects, lesson)

    def _ask(self, work: Callable[[LabelsToLearn], None], lesson: LabelsToLearn) -> None:
        with self._changed:
            if not self._is_closed:  # nobody would do it
                self._waiting[work] = lesson
                self._changed.notify_all()

    def wait(self, timeout: float | None = None) -> bool:
        """Wait until everything is learnt; return False if that takes longer than the timeout."""
        with self._changed:
            return self._changed.wait_for(lambda: not self.is_busy or self._is_closed, timeout)

    @property
    def has_ended(self) -> bool:
        """Whether all threads have ended."""
        return not any(thread.is_alive() for thread in self._threads)

    def close(self) -> None:
        """Stop after what is being learnt and wait for that, but not for the features of all texts.

        Python waits for these when it ends.
        """
        self._end(None if self.is_ready else LAST_SECONDS)
        if self.has_ended:
            atexit.unregister(self._end)

    def _end(self, timeout: float | None = None) -> None:
        with self._changed:
            self._is_closed = True
            self._changed.notify_all()
        for thread in self._threads:
            if threading.current_thread() is not thread:
                thread.join(timeout)

    def _run(self) -> None:
        while True:
            with self._changed:
                self._is_busy = False
                self._changed.notify_all()
                self._changed.wait_for(lambda: self._is_closed or self.is_busy)
                if self._is_closed:
                    self._waiting.clear()
                    return
                work = self._fit if self._fit in self._waiting else self._look_for_suspects
                lesson = self._waiting.pop(work)
                self._is_busy = True
            try:
                work(lesson)
            except Exception as error:  # labelling goes on, and the next label is another chance
                self._say(error)

    def _say(self, error: Exception) -> None:
        """Keep a problem for the page, and write it to standard error unless it was the last one as well."""
        sentence = f"The model could not be fitted ({_reason(error)}); the next label starts another attempt."
        if sentence != self.problem:
            self.problem = sentence
            _report(sentence)

    def _embed(self, embedder: Any) -> None:
        """Embed all texts, a few at a time, and let the next model use the embeddings."""
        from dropglm.base.threads import Team
        from dropglm.text.embeddings import BATCH, embed

        parts = []
        try:
            with Team(checks.threads(self._n_jobs)):
                for start in range(0, len(self._texts), BATCH):
                    if self._is_closed:
                        return
                    parts.append(embed(embedder, self._texts[start : start + BATCH]))
                    self.n_embedded += len(parts[-1])
        except Exception as error:
            _report(f"Models use words only, since texts could not be embedded: {_reason(error)}.")
            return
        with self._changed:
            self._embeddings = np.concatenate(parts)
            newest = self._newest
        if newest is not None:
            self._ask(self._fit, newest)

    @cached_property
    def _pool(self) -> "TextPool":
        """The features of the texts, which the thread computes before anything else."""
        from dropglm.labelling.pool import TextPool

        return TextPool(self._texts, n_jobs=self._n_jobs)

    @cached_property
    def _start(self) -> "ExplainedTexts | None":
        """The predictions of the model to start from."""
        from dropglm.labelling.pool import ExplainedTexts

        return None if self._start_from is None else ExplainedTexts.of(self._start_from, self._pool.texts)

    def _fit(self, lesson: LabelsToLearn) -> None:
        from dropglm.labelling.pool import choose_texts

        with self._changed:
            embeddings, self._embeddings = self._embeddings, None
        if embeddings is not None:
            self._pool, self._model = self._pool.with_embeddings(embeddings), None
        self._model = model = self._pool.fit(lesson.labels, self._model, lesson.drawn)
        snapshot = take_snapshot(lesson, model, self._start)
        _ = snapshot.words  # computed here, so that nobody waits for them
        excluded = self._is_copy.copy()
        excluded[lesson.answered] = True
        p = (
            snapshot.probabilities
            if model.calibration is None
            else model.calibration.undo(snapshot.probabilities)
        )
        chosen = choose_texts(p, self._pool.latent, list(lesson.labels), size=QUEUE, excluded=excluded)
        free = np.flatnonzero(~excluded)
        random = self._rng.choice(free, min(QUEUE, len(free)), replace=False)
        items = (
            [Item(number, source, snapshot.guess(number, WORDS)) for number in numbers.tolist()]
            for source, numbers in (("chosen", chosen), ("random", random))
        )
        self._show(snapshot, *items)
        self.problem = None
        self.is_ready = True

    def _look_for_suspects(self, lesson: LabelsToLearn) -> None:
        from dropglm.labelling.pool import look_for_suspicious

        found = look_for_suspicious(self._pool, lesson.labels)
        self._show_suspects(SuspiciousLabels(lesson.version, *found))


def _reason(error: Exception) -> str:
    return " ".join(str(error).split()).rstrip(".") or type(error).__name__


def _report(sentence: str) -> None:
    """Write a sentence to standard error."""
    with contextlib.suppress(OSError):
        print(f"dropglm: {sentence}", file=sys.stderr, flush=True)
