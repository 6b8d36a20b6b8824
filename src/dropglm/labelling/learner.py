"""A thread that learns from the labels while more texts are labelled.

Compiled kernels and most of NumPy release the interpreter's lock, so that answers do not wait for a fit.
"""

import atexit
import contextlib
import sys
import threading
import time
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from dropglm.labelling.choice import choose_texts
from dropglm.labelling.snapshot import Snapshot, StartModel, take_snapshot
from dropglm.labelling.upcoming import WORDS, Item

if TYPE_CHECKING:
    from dropglm.labelling.pool import PoolModel, TextPool
    from dropglm.text.fitted_model import AnyTextModel
    from dropglm.text.label_check import Disagreement

LAST_SECONDS = 1.0  # until the end, if the thread may be compiling
QUEUE = 10  # texts that are ready to be shown, of each kind


class Lesson(NamedTuple):
    """What there is to learn from: the labels as numbers of classes, and the texts not to ask for again."""

    version: int
    labels: dict[int, int]
    answered: list[int]
    start_classes: dict[str, int]


class Learnt(NamedTuple):
    """What was learnt: a model, and the texts to show next."""

    snapshot: Snapshot
    chosen: list[Item]
    random: list[Item]
    seconds: float


class Suspects(NamedTuple):
    """Labels that a model disagrees with; classes are numbers, as strings.

    If ``is_telling`` is False, the model is not good enough to tell wrong labels from right ones.
    """

    version: int
    found: "list[Disagreement]"
    is_telling: bool


class Learner:
    """Learns in the background; the newest labels win.

    Parameters
    ----------
    texts : sequence of str
        All texts.
    tell : callable
        Called with each ``Learnt`` and ``Suspects``, in the thread.
    copy_of : sequence of int
        For each text, the number of the first equal one; only these are asked for.
    start_from : FittedTextModel, TextClassifier, OnlineTextClassifier or None
        A trained classifier to start from.
    n_jobs : int or None
        Number of threads of a fit.
    seed : int or None
        Seed of the texts that are drawn at random.

    Attributes
    ----------
    pool : TextPool or None
        None while the features are computed.
    is_ready : bool
        Whether models can be fitted without delay: features are computed, and functions are compiled.
    problem : str or None
        Why nothing was learnt from the last labels, in a sentence; None if nothing is wrong.
    """

    def __init__(
        self,
        texts: Sequence[str],
        tell: "Callable[[Learnt | Suspects], None]",
        *,
        copy_of: Sequence[int],
        start_from: "AnyTextModel | None" = None,
        n_jobs: int | None = None,
        seed: int | None = None,
    ) -> None:
        self.pool: TextPool | None = None
        self.is_ready = False
        self.problem: str | None = None
        self._texts, self._tell, self._start_from, self._n_jobs = texts, tell, start_from, n_jobs
        self._is_copy = np.asarray(copy_of) != np.arange(len(texts))
        self._rng = np.random.default_rng(seed)
        self._changed = threading.Condition()
        self._lesson: Lesson | None = None
        self._to_check: Lesson | None = None
        self._checked = -1  # version that was checked last, or is to be checked
        self._is_busy, self._is_closed = True, False
        self._model: PoolModel | None = None
        self._start: StartModel | None = None
        self._thread = threading.Thread(target=self._run, name="learner", daemon=True)
        self._thread.start()
        # Python must not end while the thread compiles or runs machine code, which would be unloaded: now and
        # then the process crashed.
        atexit.register(self._end)

    @property
    def is_busy(self) -> bool:
        """Whether there is something that was not learnt yet."""
        return self._is_busy or self._lesson is not None or self._to_check is not None

    def learn(self, lesson: Lesson) -> None:
        """Learn from these labels next, instead of from those that wait."""
        with self._changed:
            if not self._is_closed:  # nobody would learn from it
                self._lesson = lesson
                self._changed.notify_all()

    def check(self, lesson: Lesson) -> None:
        """Look for suspicious labels when there is nothing else to learn, once for each version of them."""
        with self._changed:
            if self._is_closed or lesson.version == self._checked:
                return
            self._checked, self._to_check = lesson.version, lesson
            self._changed.notify_all()

    def wait(self, timeout: float | None = None) -> bool:
        """Wait until everything is learnt; return False if that takes longer than the timeout."""
        with self._changed:
            return self._changed.wait_for(lambda: not self.is_busy or self._is_closed, timeout)

    @property
    def has_ended(self) -> bool:
        """Whether the thread has ended."""
        return not self._thread.is_alive()

    def close(self) -> None:
        """Stop after what is being learnt and wait for that, but not for functions that are compiled.

        Python waits for these when it ends.
        """
        self._end(None if self.is_ready else LAST_SECONDS)
        if self.has_ended:
            atexit.unregister(self._end)

    def _end(self, timeout: float | None = None) -> None:
        with self._changed:
            self._is_closed = True
            self._changed.notify_all()
        if threading.current_thread() is not self._thread:
            self._thread.join(timeout)

    def _run(self) -> None:
        while True:
            with self._changed:
                self._is_busy = False
                self._changed.notify_all()
                self._changed.wait_for(lambda: self._is_closed or self.is_busy)
                if self._is_closed:
                    self._lesson = self._to_check = None
                    return
                lesson, self._lesson = self._lesson, None
                to_check = None
                if lesson is None:
                    to_check, self._to_check = self._to_check, None
                self._is_busy = True
            try:
                self._work(lesson, to_check)
            except Exception as error:  # labelling goes on, and the next label is another chance
                self._say(error)

    def _work(self, lesson: Lesson | None, to_check: Lesson | None) -> None:
        if self.pool is None:
            self._prepare()
        if lesson is not None:
            self._tell(self._learnt(lesson))
            self.problem = None
            if not self.is_ready:
                self._compile()
                self.is_ready = True
        if to_check is not None:
            self._tell(self._suspects(to_check))

    def _say(self, error: Exception) -> None:
        """Keep a problem for the page, and write it to standard error unless it was the last one as well."""
        reason = " ".join(str(error).split()).rstrip(".") or type(error).__name__
        sentence = f"The model could not be fitted ({reason}); the next label starts another attempt."
        if sentence != self.problem:
            self.problem = sentence
            with contextlib.suppress(OSError):
                print(f"dropglm: {sentence}", file=sys.stderr, flush=True)

    def _prepare(self) -> None:
        from dropglm.labelling.pool import TextPool

        pool = TextPool(self._texts, n_jobs=self._n_jobs)
        if self._start_from is not None:
            self._start = StartModel(self._start_from, pool.texts)
        self.pool = pool

    def _compile(self) -> None:
        """Fit a model to made-up labels, so that the first real one need not wait for functions to compile.

        After an installation this takes 14 s, in which the first texts are labelled; later, their machine
        code is read from a file.
        """
        assert self.pool is not None
        with contextlib.suppress(Exception):  # it says nothing about fits to real labels
            self.pool.fit({number: str(number % 2) for number in range(min(4, len(self.pool)))})

    def _learnt(self, lesson: Lesson) -> Learnt:
        assert self.pool is not None
        begin = time.perf_counter()
        labels = {number: str(label) for number, label in lesson.labels.items()}
        self._model = model = self.pool.fit(labels, self._model)
        names = {name: int(name) for name in model.classes}
        snapshot = take_snapshot(
            lesson.version, model, names, frozenset(labels), self._start, lesson.start_classes
        )
        _ = snapshot.words  # computed here, so that nobody waits for them
        excluded = self._is_copy.copy()
        excluded[lesson.answered] = True
        chosen = choose_texts(
            snapshot.probabilities, self.pool.latent, list(labels), size=QUEUE, excluded=excluded
        )
        free = np.flatnonzero(~excluded)
        random = self._rng.choice(free, min(QUEUE, len(free)), replace=False)
        items = [
            [Item(number, source, snapshot.guess(number, WORDS)) for number in numbers.tolist()]
            for source, numbers in (("chosen", chosen), ("random", random))
        ]
        return Learnt(snapshot, items[0], items[1], time.perf_counter() - begin)

    def _suspects(self, lesson: Lesson) -> Suspects:
        from dropglm.labelling.pool import look_for_suspicious

        assert self.pool is not None
        labels = {number: str(label) for number, label in lesson.labels.items()}
        return Suspects(lesson.version, *look_for_suspicious(self.pool, labels))
