"""A text model that learns from a stream of texts, without scikit-learn."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Self

import numpy as np

from dropglm.base.errors import InputError, InputTypeError
from dropglm.base.registry import lookup
from dropglm.core.online import RULES, ProgressiveScores, State
from dropglm.core.online.learner import BETA_TOTAL, SUM, UPDATED
from dropglm.core.predictions import FittedLogistic
from dropglm.linear.online_model import OnlineModel
from dropglm.text.explanation import NgramWeight, top_ngrams
from dropglm.text.file_contents import FEATURES, NGRAMS, STEPS, saved_setting, saved_settings
from dropglm.text.fitted_model import FittedTextModel
from dropglm.text.ngrams.hashed import HashedFeatures, NamedRows, Room
from dropglm.text.summary import OnlineSummary


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
    model: OnlineModel

    def __init__(self, vectorizer: Any, model: OnlineModel, counts: np.ndarray | None = None) -> None:
        super().__init__(vectorizer, model)
        self.counts = np.empty(0, np.int64) if counts is None else counts

    @classmethod
    def new(
        cls,
        settings: Mapping[str, Any],
        features: type[HashedFeatures] = HashedFeatures,
        model: type[OnlineModel] = OnlineModel,
    ) -> Self:
        """Return a model of hashed n-grams with these settings, which has not seen any texts."""
        ngrams, steps = (
            {name: settings[name] for name in names if name in settings}
            for names in (("bits", *NGRAMS, "n_jobs", "verbose"), STEPS)
        )
        new = cls(features(**ngrams), model(**steps))
        new.n_jobs, new.verbose = settings.get("n_jobs"), settings.get("verbose", 0)
        return new

    @classmethod
    def start_from(cls, fitted: FittedTextModel, model: OnlineModel) -> Self:
        """Return a model with the n-grams and coefficients of another one, to continue from."""
        if fitted.head is not None:
            raise InputError("The classifier was trained with embeddings, which an online model cannot use.")
        model._start_from(fitted.model)
        return cls(fitted.vectorizer, model, np.zeros(len(fitted.classes_), np.int64))

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
        return OnlineSummary.of(self)

    def top_features(self, k: int = 10) -> dict[Any, list[NgramWeight]]:
        """List the n-grams with the strongest influence on each class."""
        if not isinstance(self.vectorizer, HashedFeatures):
            return super().top_features(k)
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
        settings = self.current_settings
        ngrams = vectorizer.ngrams_._to_state()
        return {
            "settings": saved_settings(settings) | {"rule": _saved_rule(settings["rule"])},
            "classes": np.asarray(model.classes_),
            "counts": self.counts,
            "state": _used_columns(state),
            "seen": np.array(model._progressive_scores),
            "n_texts": vectorizer.n_texts_,
            "columns": self._columns(),
        } | (
            {"buckets": ngrams}
            if settings["bits"] is not None
            # With the settings of a TextClassifier's n-grams, most of which an online classifier lacks.
            else {
                "vocabulary": ngrams,
                "vectorizer": {
                    name: saved_setting(name, getattr(vectorizer, name))
                    for name in (*FEATURES, "ngram_weight")
                },
            }
        )

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
        self.room = Room()
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
