"""A text model that learns from a stream of texts, without scikit-learn; and its training on a table.

Training reads the table as a stream, and can be resumed from checkpoints.
"""

import os
import zlib
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from functools import partial
from itertools import chain
from os import PathLike
from typing import Any, NamedTuple, Self

import numpy as np

from dropglm.base import checks, model_files
from dropglm.base.errors import InputError, InputTypeError
from dropglm.base.progress import Progress
from dropglm.base.registry import lookup
from dropglm.base.threads import ahead
from dropglm.core.online import RULES, DivergenceError, ProgressiveScores, State
from dropglm.core.online.learner import BETA_TOTAL, SUM, UPDATED
from dropglm.core.predictions import FittedLogistic
from dropglm.linear.online_model import OnlineModel
from dropglm.tables import Batch, Table, TableError, class_names, no_labels, row_weights, to_classes
from dropglm.tables.errors import listed
from dropglm.text.explanation import NgramWeight, top_ngrams
from dropglm.text.file_contents import CHECKPOINTS, FEATURES, NGRAMS, STEPS, saved_setting, saved_settings
from dropglm.text.fitted_model import FittedTextModel, format_class_counts
from dropglm.text.ngrams.hashed import HashedFeatures, HashingBuffers, NamedRows


@dataclass(frozen=True)
class OnlineSummary:
    """Summary of an ``OnlineTextClassifier``; ``print`` it.

    Attributes
    ----------
    texts : dict
        Number of texts of each class.
    features : int
        Number of columns.
    used : int
        Number of columns that occurred in a text.
    hashed : bool
        Whether n-grams are hashed to columns; if not, the vocabulary is fixed.
    settings : dict
        The rule and its settings.
    progressive_accuracy, progressive_log_loss : float
        Scores of the predictions that were made for each text before learning from it; None if the model
        has learnt from none.
    """

    texts: dict[str, int]
    features: int
    used: int
    hashed: bool
    settings: dict[str, Any]
    progressive_accuracy: float | None
    progressive_log_loss: float | None

    def to_dict(self) -> dict[str, Any]:
        """Return the summary in plain types, for JSON."""
        return asdict(self)

    def lines(self) -> list[tuple[str, str]]:
        """Return the summary as pairs of a heading and its text."""
        features = f"{self.features:,}"
        if self.hashed:
            features = f"hashed to {self.features:,} columns, {self.used:,} of them in use"
        settings = ", ".join(f"{name} {value}" for name, value in self.settings.items())
        scores = "no texts yet"
        if self.progressive_accuracy is not None and self.progressive_log_loss is not None:
            scores = f"accuracy {self.progressive_accuracy:.4f}, log loss {self.progressive_log_loss:.4f}"
        return [
            ("texts", f"{sum(self.texts.values()):,} ({format_class_counts(self.texts)})"),
            ("n-grams", features),
            ("settings", settings),
            ("progressive", scores),
        ]

    def __str__(self) -> str:
        return "\n".join(f"{heading:<18}{statement}" for heading, statement in self.lines())


@dataclass(eq=False, repr=False)
class OnlineTextModel(FittedTextModel):
    """A text model that learns text by text; its settings are those of its vectorizer and of its model.

    Parameters
    ----------
    vectorizer : HashedFeatures or NgramFeatures
        Hashed n-grams, or the fixed vocabulary of a ``TextClassifier``.
    model : OnlineModel
        The model of the n-grams.
    counts : ndarray of shape (K,)
        Number of texts of each class so far.
    """

    kind = "OnlineTextClassifier"
    learns_on = True
    model: OnlineModel
    counts: np.ndarray = field(default_factory=partial(np.empty, 0, np.int64))

    @classmethod
    def new(
        cls,
        settings: Mapping[str, Any],
        features: type[HashedFeatures] = HashedFeatures,
        model: type[OnlineModel] = OnlineModel,
    ) -> Self:
        """Return a model of hashed n-grams with these settings, which has not seen any texts."""
        ngrams, steps, run = (
            {name: settings[name] for name in names if name in settings}
            for names in (("bits", *NGRAMS), STEPS, ("n_jobs", "verbose"))
        )
        return cls(features(**ngrams, **run), model(**steps), **run)

    @classmethod
    def start_from(cls, fitted: FittedTextModel, model: OnlineModel) -> Self:
        """Return a model with the n-grams and coefficients of another one, to continue from."""
        if fitted.head is not None:
            raise InputError("The classifier was trained with embeddings, which an online model cannot use.")
        if fitted.multilabel_:
            raise InputError("The classifier predicts several labels per text; an online model learns one.")
        if fitted.characters is not None:
            raise InputError(
                "The classifier counts n-grams of characters, which an online model cannot learn; train it "
                "with characters=None.",
                "characters",
            )
        if fitted.row_of is not None:
            raise InputError("The classifier takes several columns; an online model takes texts.")
        model._start_from(fitted.model)
        return cls(fitted.vectorizer, model, counts=np.zeros(len(fitted.classes_), np.int64))

    @property
    def current_settings(self) -> dict[str, Any]:
        """The settings of the vectorizer and of the model; ``bits`` is None with a fixed vocabulary."""
        ngrams = {name: getattr(self.vectorizer, name) for name in NGRAMS}
        steps = {name: getattr(self.model, name) for name in STEPS}
        return {"bits": getattr(self.vectorizer, "bits", None)} | ngrams | steps

    @property
    def is_new(self) -> bool:
        """Whether the model has no classes yet."""
        return not len(self.counts)

    @property
    def summary_(self) -> OnlineSummary:
        """The data, the settings and the progressive scores."""
        model, vectorizer, d = self.model, self.vectorizer, int(self.model.n_features_in_)
        rule, hashed = model._unchanged_rule(), isinstance(vectorizer, HashedFeatures)
        name = model.rule if isinstance(model.rule, str) else type(rule).__name__
        settings = {"rule": name, "rate": float(rule.rate), "l2": float(model.l2)}
        settings |= {"power": float(rule.power)} if hasattr(rule, "power") else {}
        settings |= {"average": True} if model.average else {}
        has_learnt = model._check_fitted()._progressive_scores.weight > 0.0
        return OnlineSummary(
            texts={str(c): int(n) for c, n in zip(model.classes_, self.counts, strict=True)},
            features=d,
            used=int(np.count_nonzero(vectorizer.ngrams_.lengths)) if hashed else d,
            hashed=hashed,
            settings=settings,
            progressive_accuracy=model.progressive_accuracy_ if has_learnt else None,
            progressive_log_loss=model.progressive_log_loss_ if has_learnt else None,
        )

    def _top_features(self, k: int = 10) -> dict[Any, list[NgramWeight]]:
        """Return what ``top_features`` does."""
        if not isinstance(self.vectorizer, HashedFeatures):
            return super()._top_features(k)
        # Most hashed columns have not occurred, and are left out. The others are ranked by weight times √s_j,
        # since their frequencies are not counted: the sum s_j is close to the information that the texts hold
        # about a weight, so this is its distance from 0 in standard errors. A rule with the same step size
        # for all n-grams gives the largest weights to frequent ones, so they need no scale.
        model, buckets = self.model, self.vectorizer.ngrams_
        columns = np.flatnonzero(buckets.lengths)
        coef = model._coefficients_at(columns)
        part = FittedLogistic(model.classes_, coef, model.intercept_, "ovr", len(columns))
        alike = model._unchanged_rule().same_metric_for_all()
        scale = np.ones(1) if alike else np.sqrt(model._state.cells[:, columns, SUM])
        return top_ngrams(lambda chosen: buckets.names(columns[chosen]), part, np.ones(1), scale, k)

    def reset(self, classes: Any) -> Self:
        """Discard what was learnt, and prepare for texts of these classes."""
        known = np.unique(np.asarray(classes))
        self.vectorizer._forget_names()
        # In float64: in float32, the sum of a word that every text contains stops growing after 17 million
        # texts.
        self.model._reset(known, len(self.vectorizer.ngrams_), np.float64)
        self.counts = np.zeros(len(known), np.int64)
        return self

    def prepare(self, texts: Sequence[str]) -> Iterator[NamedRows]:
        """Yield the features of the texts in chunks; the model learns from them before the next texts."""
        vectorizer = self._own_vectorizer()
        if isinstance(vectorizer, HashedFeatures):
            yield from vectorizer._hash(texts, vectorizer.ngrams_, vectorizer.n_texts_)
        else:
            yield _with_fixed_vocabulary(vectorizer, texts)

    def preparers(self, n: int) -> list[Callable[[Sequence[str]], list[NamedRows]]]:
        """Return functions that prepare texts ahead, each for a thread of its own; at most n.

        The model has to learn from what they return in the order of the texts.
        """
        vectorizer = self._own_vectorizer()
        if isinstance(vectorizer, HashedFeatures):
            return [_Hasher(vectorizer) for _ in range(n)]
        return [lambda texts: [_with_fixed_vocabulary(vectorizer, texts)]]  # with several threads itself

    def learn(self, prepared: NamedRows, numbers: np.ndarray, weights: np.ndarray) -> None:
        """Learn from texts with these class numbers, in the order in which they were prepared."""
        if isinstance(self.vectorizer, HashedFeatures):
            self.vectorizer._add(prepared)
        self.model._learn_rows(prepared.rows, numbers, weights)
        self.counts += np.bincount(numbers, minlength=len(self.counts))

    def to_state(self) -> dict[str, Any]:
        """Return what a file has to hold to continue learning as if uninterrupted."""
        model, vectorizer = self.model, self.vectorizer
        state = model._check_fitted()._state
        model._unchanged_rule()  # raises if the steps were taken with other settings
        if state.histories.shape[1] or not np.isfinite(state.cells).all():
            model._coefficients()  # raises if they are not finite
        settings, ngrams = self.current_settings, vectorizer.ngrams_._to_state()
        features = {"buckets": ngrams}
        if settings["bits"] is None:
            # With the settings of a TextClassifier's n-grams, most of which an online classifier lacks.
            names = (*FEATURES, "ngram_weight")
            own = {name: saved_setting(name, getattr(vectorizer, name)) for name in names}
            features = {"vocabulary": ngrams, "vectorizer": own}
        return {
            "settings": saved_settings(settings) | {"rule": _saved_rule(settings["rule"])},
            "classes": np.asarray(model.classes_),
            "counts": self.counts,
            "state": _used_columns(state),
            "seen": np.array(model._progressive_scores),
            "n_texts": vectorizer.n_texts_,
            "columns": self._columns(),
        } | features

    @classmethod
    def from_state(cls, state: dict[str, Any]) -> Self:
        """Rebuild the model from what a file holds, after checking that its parts fit together."""
        settings = state["settings"] | {"rule": _restored_rule(state["settings"]["rule"])}
        if (settings["bits"] is None) != ("vocabulary" in state and "vectorizer" in state):
            raise InputError("bits must be None if there is a vocabulary, and only then")
        restored = cls.new(settings)
        if settings["bits"] is None:
            # Imported here, since they take longer than what hashed n-grams need.
            from dropglm.text.ngrams.features import NgramFeatures

            restored.vectorizer = NgramFeatures._from_state(
                state["vectorizer"], state["vocabulary"], state["n_texts"]
            )
        else:
            restored.vectorizer._restore_names(state["buckets"], state["n_texts"])
        classes, counts, totals = state["classes"], state["counts"], state["seen"]
        if not (
            (np.sort(classes) == classes).all() and counts.shape == classes.shape and totals.shape == (3,)
        ):
            raise InputError("the classes do not match their counts")
        model, saved = restored.model, state["state"]
        model._reset(classes, len(restored.vectorizer.ngrams_), saved["cells"].dtype)
        _restore_steps(model._state, saved)
        model._progressive_scores = ProgressiveScores(*totals.tolist())
        model._coefficients_at(saved["used"])  # raises if they are not finite
        restored.counts = counts
        return restored._with_columns(state)


class _Hasher:
    """Hashes texts with marks of its own; they do not depend on which texts other threads have hashed."""

    def __init__(self, features: HashedFeatures) -> None:
        self.features = features
        self.buckets = features.ngrams_.with_own_marks()
        self.room = HashingBuffers()
        self.n_texts = 0

    def __call__(self, texts: Sequence[str]) -> list[NamedRows]:
        found = list(self.features._hash(texts, self.buckets, self.n_texts, self.room))
        self.n_texts += len(texts)
        return found


def _with_fixed_vocabulary(vectorizer: Any, texts: Sequence[str]) -> NamedRows:
    from dropglm.core.design import Design

    return NamedRows(Design(vectorizer.transform(texts)).rows)


def _saved_rule(rule: Any) -> Any:
    """Return the rule in types that a file can hold: its name, or its name and its settings."""
    if isinstance(rule, str):
        return rule
    names = [name for name, kind in RULES.items() if type(rule) is kind]
    if not names:
        raise InputTypeError(
            f"A model with the rule {type(rule).__name__} cannot be saved, since model files do not hold "
            "code; use joblib, or a rule of dropglm."
        )
    return {"name": names[0], "settings": [float(setting) for setting in rule]}


def _restored_rule(saved: Any) -> Any:
    """Return the rule as it was before it was saved."""
    if not isinstance(saved, dict):
        return saved
    kind = lookup(RULES, saved["name"], "rule")
    if len(saved["settings"]) != len(kind._fields):
        raise InputError(f"the rule {saved['name']} has {len(kind._fields)} settings")
    return kind(*saved["settings"])


def _used_columns(state: State) -> dict[str, np.ndarray]:
    """Return the state of the columns that have occurred; of hashed columns, often few have."""
    occurred, lazy = (state.cells != 0).any(axis=(0, 2)), state.histories.shape[1] > 0
    if lazy:
        occurred |= (state.histories[:, :, BETA_TOTAL] != 0).any(axis=0)
    used = np.flatnonzero(occurred)
    histories = state.histories[:, used] if lazy else state.histories
    return {"used": used, "cells": state.cells[:, used], "past": histories, "time": state.time}


def _restore_steps(state: State, saved: dict[str, np.ndarray]) -> None:
    """Write the saved columns into a new state, after checking their shapes and values."""
    used = saved["used"]
    if not (
        (used[1:] > used[:-1]).all()  # a difference could overflow
        and (not len(used) or used[-1] < state.cells.shape[1])
    ):
        raise InputError("the used columns are not sorted, or out of range")
    K, lazy = len(state.cells), state.histories.shape[1] > 0
    past, time = saved["past"], saved["time"]
    if not (
        saved["cells"].shape == (K, len(used), 2)
        and past.shape == (K, len(used) if lazy else 0, 2)
        and time.shape == state.time.shape
    ):
        raise InputError("the coefficients do not match the features and the classes")
    # The clock of averages starts at 1.
    if (saved["cells"][:, :, SUM] < 0.0).any() or (past[:, :, UPDATED] > time[1] + 1.0).any():
        raise InputError("a sum is negative, or a coefficient was updated after the last step")
    state.cells[:, used], state.time[:] = saved["cells"], saved["time"]
    if lazy:
        state.histories[:, used] = saved["past"]


KIND = "OnlineTraining"
MOST_LISTED = 10  # bad rows whose messages are kept
MAX_CLASSES = 1000
CHARACTERS = 1 << 20  # of the texts of a batch
MOST_WORKERS = 3  # threads that prepare texts, with the one that learns; learning takes half the time
# The fields of a training that are in its checkpoint, besides the model
SAVED = tuple(name for name in CHECKPOINTS[KIND].parts if name != "model")


def table_settings(table: Table) -> dict[str, Any]:
    """Return how a table is read, with the format and delimiter that apply if none are given."""
    return {
        "text": table.text,
        "label": table.label,
        "weight": table.weight,
        "format": table.found_format.name,
        "encoding": table.encoding,
        "delimiter": table.separator,
    }


def find_classes(table: Table, *, skip_bad: bool) -> Counter[str]:
    """Return the names of all classes of a table and their numbers of rows, from one pass over it."""
    found: Counter[Any] = Counter()
    with Progress("rows", shown=False) as progress:
        for batch in table.batches(skip_bad=skip_bad):
            found.update(batch.labels)
            del found[None]  # rows without a label
            if len(found) > MAX_CLASSES:
                raise TableError(
                    f"{table.name}: the column {table.label!r} has more than {MAX_CLASSES:,} different "
                    "labels; choose the column that holds the classes, or list the classes."
                )
            progress.advance(len(batch.labels))
    if not found:
        raise no_labels(table)
    if len(found) < 2:
        raise TableError(
            f"{table.name}: all rows have the label {min(found)!r}; at least two classes are needed."
        )
    return found


class _PreparedBatch(NamedTuple):
    """The rows of a batch, ready to learn from."""

    numbers: np.ndarray  # the class of each row, or -1
    known: np.ndarray  # the rows with a class
    features: list[NamedRows]  # of these rows


def _prepare(
    batch: Batch, features_of: Callable[[Sequence[str]], list[NamedRows]], classes: np.ndarray
) -> tuple[Batch, _PreparedBatch]:
    from dropglm.text.labels import find_class_numbers  # not needed to predict

    numbers = find_class_numbers(batch.labels, classes)
    known = np.flatnonzero(numbers >= 0)
    texts = batch.texts if len(known) == len(numbers) else batch.take(known.tolist()).texts
    return batch, _PreparedBatch(numbers, known, features_of(texts) if len(known) else [])


@dataclass
class OnlineTraining:
    """A model in training, and its position in the table.

    Attributes
    ----------
    model : OnlineTextModel
        The classifier that is being trained.
    origin : dict
        What else the result depends on, such as the columns of the table. Whoever resumes from a checkpoint
        can compare it.
    epoch, row : int
        Number of completed passes, and of rows already processed in the current pass.
    bad_rows : int
        Number of rows that were skipped.
    first_bad_rows : list of str
        Messages about the first ten of them.
    unlabeled_rows : int
        Number of rows of the table without a label so far. They are skipped, since a step needs a label.
    class_changes : int
        Number of rows whose class differs from that of the row before.
    last_class : int
        Class number of the last row.
    last_learnt_row, last_learnt_checksum : int
        Number and checksum of the last row that was learnt from.
    """

    model: OnlineTextModel
    origin: dict[str, Any] = field(default_factory=dict)
    epoch: int = 0
    row: int = 0
    bad_rows: int = 0
    first_bad_rows: list[str] = field(default_factory=list)
    unlabeled_rows: int = 0
    class_changes: int = 0
    last_class: int = -1
    last_learnt_row: int = 0
    last_learnt_checksum: int = 0

    @classmethod
    def start(
        cls, model: OnlineTextModel, names: Sequence[str], origin: dict[str, Any] | None = None
    ) -> "OnlineTraining":
        """Return a training of a new model for classes of these names, at the first row."""
        return cls(model.reset(to_classes(names).tolist()), origin or {})

    @property
    def class_names(self) -> list[str]:
        """The names of the classes, in the order of the model."""
        return class_names(self.model.classes_.tolist())

    @property
    def progressive_counts(self) -> tuple[float, float]:
        """Number of rows predicted before learning from them, and number of correct predictions."""
        scores = self.model.model._progressive_scores
        return scores.weight, scores.correct

    def learn(
        self, source: Table, *, epochs: int = 1, on_bad: Callable[[str], None] | None = None
    ) -> Iterator[None]:
        """Complete the passes over the table; yield after each batch.

        ``on_bad`` is called with a message about each bad row, which is then skipped; None raises the first
        error.
        """
        while self.epoch < epochs:
            for batch, prepared in self._prepared(source, skip_bad=on_bad is not None):
                messages = [(bad.row, str(bad)) for bad in batch.bad]
                messages += self._learn(source, batch, prepared, strict=on_bad is None)
                for _, message in sorted(messages):
                    self.bad_rows += 1
                    if self.bad_rows <= MOST_LISTED:
                        self.first_bad_rows.append(message)
                    if on_bad is not None:
                        on_bad(message)
                if not self.epoch:
                    self.unlabeled_rows += batch.labels.count(None)
                self.row = batch.last_row
                yield
            self.epoch, self.row, self.last_learnt_row = self.epoch + 1, 0, 0

    def _remaining(self, source: Table, *, skip_bad: bool) -> Iterator[Batch]:
        """Yield the rest of the table, after checking that the last row learnt from is still the same."""
        start = self.last_learnt_row - 1 if self.last_learnt_row else self.row
        batches = source.batches(skip_bad=skip_bad, start=start, characters=CHARACTERS)
        if not self.last_learnt_row:
            yield from batches
            return
        first = next(batches, None)
        if first is None or list(first.rows[:1]) != [self.last_learnt_row]:
            raise TableError(
                f"{source.name}: the table ends before row {self.last_learnt_row:,}, where training stopped; "
                "continue with the same table."
            )
        if _checksum(first, 0) != self.last_learnt_checksum:
            raise TableError(
                f"{source.name}: row {self.last_learnt_row:,}, where training stopped, has changed; "
                "continue with the same table."
            )
        # The rows between the last one learnt from and the last one processed were bad, and are already
        # counted.
        processed = self.row
        for batch in chain([first], batches):
            rest = batch.after(processed)
            if rest.rows or rest.bad:
                yield rest

    def _prepared(self, source: Table, *, skip_bad: bool) -> Iterator[tuple[Batch, _PreparedBatch]]:
        """Yield the rest of the table and the features of its texts.

        With several threads, others read and prepare the next batches while this one learns. A pipe is not
        read ahead: its next row may arrive late or never, and stopping would have to wait for it.
        """
        threads = checks.threads(self.model.n_jobs)
        in_parallel = threads > 1 and os.path.isfile(source.name)
        workers = [
            partial(_prepare, features_of=features_of, classes=self.model.classes_)
            for features_of in self.model.preparers(min(threads, MOST_WORKERS) if in_parallel else 1)
        ]
        batches = self._remaining(source, skip_bad=skip_bad)
        yield from ahead(batches, workers) if in_parallel else map(workers[0], batches)

    def _learn(
        self, source: Table, batch: Batch, prepared: "_PreparedBatch", *, strict: bool
    ) -> list[tuple[int, str]]:
        """Learn from the rows with known classes; return row numbers of and messages about other labels."""
        numbers, known = prepared.numbers, prepared.known
        given = row_weights(source, batch)
        weights = np.ones(len(numbers)) if given is None else np.array(given)
        messages = [
            (
                batch.rows[k],
                f"{source.name}: {batch.place(k)} has the label {batch.labels[k]!r}, which is not one of the "
                f"classes {listed(self.class_names)}.",
            )
            for k in np.flatnonzero(numbers < 0).tolist()
            if batch.labels[k] is not None
        ]
        if messages and strict:
            raise TableError(messages[0][1])
        if len(known):
            n, steps = 0, self.model.model.t_
            try:
                for features in prepared.features:
                    part = known[n : n + features.n_texts]
                    self.model.learn(features, numbers[part], weights[part])
                    n += features.n_texts
            except DivergenceError as error:
                k = int(known[max(error.step - steps, 1) - 1])
                raise TableError(
                    f"{source.name}: training has diverged at {batch.place(k)}, because the coefficients "
                    f"overflow; lower rate (now {error.rate:g}).",
                    "rate",
                ) from None
            sequence = np.append(self.last_class, numbers[known])
            self.class_changes += int((sequence[1:] != sequence[:-1]).sum())
            self.last_class = int(sequence[-1])
            last = int(known[-1])
            self.last_learnt_row, self.last_learnt_checksum = batch.rows[last], _checksum(batch, last)
        return messages

    @property
    def sorted_by_class(self) -> bool:
        """Whether most rows follow a row of their own class: too few changes for a model to learn online."""
        counts = self.model.counts
        expected_changes = counts.sum() * (1.0 - ((counts / max(counts.sum(), 1)) ** 2).sum())
        return bool(self.class_changes < 0.2 * expected_changes)

    def save(self, path: str | PathLike[str]) -> None:
        """Write a checkpoint; training that is resumed from it gives a bit-identical model."""
        saved = {name: getattr(self, name) for name in SAVED}
        model_files.write(path, KIND, {"model": self.model.to_state()} | saved, CHECKPOINTS[KIND])

    @classmethod
    def load(cls, path: str | PathLike[str], *, trust: bool = False) -> "OnlineTraining":
        """Read a checkpoint; see ``load_model`` for ``trust``."""
        _, state = model_files.read(path, CHECKPOINTS, trust=trust)
        with model_files.reporting_damage(path):
            fields = {name: state[name] for name in SAVED if name in state}
            fields |= {"first_bad_rows": list(state["first_bad_rows"])}
            return cls(OnlineTextModel.from_state(state["model"]), **fields)


def _checksum(batch: Batch, k: int) -> int:
    return zlib.crc32(f"{batch.labels[k]}\n{batch.texts[k]}".encode())
