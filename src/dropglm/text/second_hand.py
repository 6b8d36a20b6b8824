"""Second-hand labels: answers of rules, a language model or other annotators, for texts without a label.

Each source has a probability π_ks of the answer s given the class k. Sources are taken to err independently
of each other and of the text, so a text x with answers s, t, … has

    q_k = P(k | x, s, t, …) ∝ P(k | x) π_ks π'_kt …,

where P(k | x) is what a model predicts that has not been trained on this text. Model, tables and q are found
by expectation and maximisation (Dawid and Skene, 1979; Raykar and others, 2010): the first model and tables
are those of the labels by hand; then a model is trained on q as labels, with the labels by hand where there
are any, its predictions for held-out texts take the place of P(k | x), and

    π_ks = (n_ks + m_ks + a p_ks) / Σ_t (n_kt + m_kt + a p_kt),    p_ks = r [s = k] + (1 - r) n_s / n,

where n_ks counts texts of class k with the answer s that have a label by hand, m_ks is the sum of q_k over
the others, and r is how much more often than by chance the source is right in all classes together (Cohen's
κ). With the predictions of the first model alone, from few labels, tables would not be improved but spoilt,
so each step of the tables has its fit.

A source is left out unless it predicts the labels by hand, each from the others, better than the shares of
the classes do, by a factor of 20 in the likelihood of all of them: answers that say nothing would only blur
the model's own predictions. All are left out if the loss of texts with a label by hand, when they are held
out, is clearly less without them; such texts have no part in anything that the model has learnt from, q and
the tables included.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple, Self

import numpy as np

from dropglm.base import checks
from dropglm.base.errors import InputError
from dropglm.base.progress import begin_stage
from dropglm.places.labels import has_several, is_missing
from dropglm.places.rows import TrainingData
from dropglm.search.held_out import FOLDS, folds_from, group_numbers
from dropglm.search.scoring import wilson_interval
from dropglm.text.columns import plain_texts
from dropglm.text.embeddings import embed
from dropglm.text.fitted_model import FittedTextModel
from dropglm.text.guarantees import Evidence
from dropglm.text.labels import check_text_labels
from dropglm.text.training import (
    TextsInMemory,
    check_text_settings,
    draws_folds,
    fit_to_texts,
    text_groups,
)

PRIOR = 4.0  # a, in texts
EVIDENCE = 3.0  # that a source says something: the logarithm of the ratio of the likelihoods
CLEARLY = 0.5  # standard errors of the difference of the losses
ROUNDS = 3  # of expectation and maximisation


class Source(NamedTuple):
    """A source of second-hand labels.

    Attributes
    ----------
    number_of : dict
        The number of each answer; those of the classes come first.
    counts : ndarray of shape (K, answers)
        n_ks, the number of texts with a label by hand, by class and answer.
    prior : ndarray of shape (K, answers)
        a p_ks.
    agreement : float or None
        The share of the labels by hand with which it agrees; None if it has no answer for these texts.
    evidence : float
        By how much the log likelihood of the labels by hand, each given its answer and all others, is better
        than that of the class shares.
    """

    number_of: dict[Any, int]
    counts: np.ndarray
    prior: np.ndarray
    agreement: float | None
    evidence: float

    @classmethod
    def of(cls, column: np.ndarray, y: np.ndarray, rows: np.ndarray, classes: np.ndarray) -> Self:
        """Return the source with these answers, given the classes y of some rows; None means no answer.

        Examples
        --------
        >>> answers = np.array(["a", "b", "a", "b", None], object)
        >>> found = Source.of(answers, np.array([0, 1, 0, 1]), np.arange(4), np.array(["a", "b"]))
        >>> found.agreement, found.table().round(2)[0]
        (1.0, array([0.93, 0.07]))
        """
        # Answers that are not classes may still say something about the classes.
        answers = dict.fromkeys([*classes.tolist(), *(one for one in column if one is not None)])
        number_of, K = {one: s for s, one in enumerate(answers)}, len(classes)
        both = [
            (k, number_of[one]) for k, one in zip(y.tolist(), column[rows], strict=True) if one is not None
        ]
        counts, n = np.zeros((K, len(number_of))), len(both)
        for k, s in both:
            counts[k, s] += 1.0
        sizes, overall = counts.sum(axis=1), (counts.sum(axis=0) + 1.0 / len(number_of)) / (n + 1.0)
        log_shares = log_class_shares(y, K)
        chance = float(np.exp(log_shares) @ overall[:K])
        r = max(0.0, ((np.trace(counts) + chance) / (n + 1.0) - chance) / (1.0 - chance))
        prior = PRIOR * (r * np.eye(K, len(number_of)) + (1.0 - r) * overall)

        evidence = 0.0
        for k, s in both:
            own = np.arange(K) == k
            eta = log_shares + np.log((counts[:, s] - own + prior[:, s]) / (sizes - own + PRIOR))
            evidence += float(eta[k] - np.logaddexp.reduce(eta) - log_shares[k])
        return cls(number_of, counts, prior, float(np.trace(counts) / n) if n else None, evidence)

    def table(self, numbers: Any = (), q: Any = ()) -> np.ndarray:
        """Return π, given the answers of texts without a label by hand, by number, and q of these texts."""
        sums = np.zeros(self.counts.shape[::-1])
        np.add.at(sums, np.asarray(numbers, np.intp), np.reshape(q, (-1, len(self.counts))))
        found = self.counts + sums.T + self.prior
        return np.asarray(found / found.sum(axis=1, keepdims=True))

    def answers(self, column: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return the rows of a column that have an answer, and the numbers of their answers."""
        rows = [row for row, one in enumerate(column) if one is not None]
        return np.array(rows, np.intp), np.array([self.number_of[column[row]] for row in rows], np.intp)


def expectation(
    tables: Sequence[np.ndarray], answers: Sequence[tuple[np.ndarray, np.ndarray]], p: np.ndarray
) -> np.ndarray:
    """Return q, given π and the answers of each source, and P(k | x); shape (n, K).

    Examples
    --------
    >>> table, answers = np.array([[0.8, 0.2], [0.4, 0.6]]), (np.array([0]), np.array([1]))
    >>> expectation([table], [answers], np.array([[0.5, 0.5], [0.9, 0.1]]))
    array([[0.25, 0.75],
           [0.9 , 0.1 ]])
    """
    eta = np.log(np.maximum(p, np.finfo(float).tiny))
    for table, (rows, numbers) in zip(tables, answers, strict=True):
        eta[rows] += np.log(table[:, numbers]).T
    return np.asarray(np.exp(eta - np.logaddexp.reduce(eta, axis=1, keepdims=True)))


def log_class_shares(y: np.ndarray, K: int) -> np.ndarray:
    """Return the logarithms of the shares of the classes, as if there were one more text of all of them."""
    return np.asarray(np.log((np.bincount(y, minlength=K) + 1.0 / K) / (len(y) + 1.0)))


def answers_of(given: Any, n: int) -> dict[str, np.ndarray]:
    """Return the answers of each source for n texts, None where there is none.

    Examples
    --------
    >>> answers_of(["a", None], 2)
    {'source 1': array(['a', None], dtype=object)}
    """
    if isinstance(given, Mapping) or hasattr(given, "columns"):
        names = list(given if isinstance(given, Mapping) else given.columns)
        columns = {str(name): given[name] for name in names}
    else:
        array = np.asarray(given, object)
        array = array[:, None] if array.ndim == 1 else array
        if array.ndim != 2:
            raise InputError(f"second_labels has {array.ndim} dimensions; give one column per source.")
        columns = {f"source {k + 1}": column for k, column in enumerate(array.T)}
    found = {}
    for name, column in columns.items():
        entries = [one.item() if isinstance(one, np.generic) else one for one in column]
        if len(entries) != n:
            raise InputError(f"second_labels has {len(entries)} entries, but X has {n} texts.")
        found[name] = np.empty(n, object)
        found[name][:] = [None if is_missing(one) else one for one in entries]
    return found


def fit_with_second_labels(classifier: Any, texts: dict[str, Any], second_labels: Any) -> FittedTextModel:
    """Fit a classifier without the second-hand labels, then to the probabilities of the classes with them.

    ``texts`` are the arguments of ``TextsInMemory``.
    """
    check_text_settings(classifier)
    if has_several(texts["y"]) or texts["label_probabilities"] is not None:
        raise InputError("second_labels needs y with one label per text, or None.")
    labels, by_hand = check_text_labels(texts["y"], len(texts["X"]))
    if not len(labels):
        raise InputError("No text of X has a label; second_labels needs some texts with both.")
    if by_hand is None:
        raise InputError("second_labels needs texts without a label: None in y.")
    if not classifier.tune:
        raise InputError("second_labels needs tune=True: held-out texts decide how far they count.", "tune")
    if not draws_folds(classifier):
        raise InputError("second_labels needs a number of folds as cv, or None.")

    classes, y = np.unique(labels, return_inverse=True)
    columns = answers_of(second_labels, len(texts["X"]))
    if classifier.embedder is not None and texts["embeddings"] is None:  # once for all fits
        every = plain_texts(classifier._columns, [*texts["X"], *texts["X_unlabeled"]])
        E = embed(classifier.embedder, every, shown=bool(classifier.verbose))
        n = len(texts["X"])
        texts |= {"embeddings": E[:n], "embeddings_unlabeled": E[n:] if len(E) > n else None}
    first = fit_to_texts(classifier, TextsInMemory(classifier, **texts))
    if first.search is None:
        raise InputError("There are too few labels to decide how far second_labels count.")
    given = _AnsweredTexts(classifier, texts, by_hand, y, classes, columns)
    fitted, p = first, first.search.cv_probabilities_
    loss_without = losses = _losses(p, y)
    sources, used, asked = given.sources()
    if len(asked):
        begin_stage("Second-hand labels, held-out texts")
        p_with = given.held_out()
        if not clearly_less(loss_without, _losses(p_with, y)):
            fitted, p = given.fit(first, ROUNDS), p_with
            losses = _losses(p, y)
    found = {
        "sources": list(sources),
        "texts": len(asked),
        "agreement": [source.agreement for source in sources.values()],
        "used": [fitted is not first and name in used for name in sources],
        "score": -float(np.nanmean(losses)),
        "score_without": -float(np.nanmean(loss_without)),
    }
    weights = checks.weights(texts["sample_weight"], len(by_hand))[by_hand]
    return _about_labels_by_hand(fitted, first, p, y, weights, found)


class _AnsweredTexts(NamedTuple):
    """Texts with labels by hand, or with answers of sources, or both.

    Attributes
    ----------
    classifier : TextClassifier
    texts : dict
        The arguments of ``TextsInMemory``.
    by_hand : ndarray of bool of shape (n,)
        Which texts of X have a label by hand.
    y : ndarray
        The numbers of these labels.
    classes : ndarray of shape (K,)
    columns : dict of ndarray of shape (n,)
        The answers of each source.
    """

    classifier: Any
    texts: dict[str, Any]
    by_hand: np.ndarray
    y: np.ndarray
    classes: np.ndarray
    columns: dict[str, np.ndarray]

    def sources(self) -> tuple[dict[str, Source], list[str], np.ndarray]:
        """Return the sources, the names of those that say something, and the rows for which these answer."""
        own = np.flatnonzero(self.by_hand)
        found = {name: Source.of(column, self.y, own, self.classes) for name, column in self.columns.items()}
        used = [name for name, source in found.items() if source.evidence > EVIDENCE]
        answered = np.zeros(len(self.by_hand), np.bool_)
        for name in used:
            answered[found[name].answers(self.columns[name])[0]] = True
        return found, used, np.flatnonzero(answered & ~self.by_hand)

    def fit(self, first: FittedTextModel, rounds: int) -> FittedTextModel:
        """Return the model after some rounds, given that of the labels by hand; that one without answers."""
        sources, used, asked = self.sources()
        if not len(asked):
            return first
        fitted, p = first, first.predict_proba(*self._rows(asked))
        P = np.full((len(self.by_hand), len(self.classes)), np.nan)
        P[self.by_hand] = np.eye(len(self.classes))[self.y]
        answers = [sources[name].answers(self.columns[name][asked]) for name in used]
        tables = [sources[name].table() for name in used]
        for number in range(rounds):
            begin_stage(f"Second-hand labels, round {number + 1} of {rounds}")
            P[asked] = q = expectation(tables, answers, p)
            tables = [
                sources[name].table(numbers, q[rows])
                for name, (rows, numbers) in zip(used, answers, strict=True)
            ]
            soft = {"y": None, "label_probabilities": dict(zip(self.classes.tolist(), P.T, strict=True))}
            fitted = fit_to_texts(self.classifier, TextsInMemory(self.classifier, **self.texts | soft))
            assert fitted.search is not None
            # The texts of the fit are those with a row of P, in their order.
            held_out = fitted.search.cv_probabilities_[~self.by_hand[~np.isnan(P[:, 0])]]
            p = np.where(np.isnan(held_out), p, held_out)
        return fitted

    def held_out(self) -> np.ndarray:
        """Return the predictions for texts with a label by hand by models that know nothing of them.

        Answers for other texts would tell such a model about their labels, since q follows from models of all
        labels by hand. So first model, tables and q are those of the other texts, and there is one round, to
        save time. Copies of these texts, and texts of the same group, are left out as well.
        """
        own, n = np.flatnonzero(self.by_hand), len(self.y)
        y = np.zeros(len(self.by_hand), np.intp)
        y[own] = self.y
        groups = text_groups(self.classifier, self.texts["X"], y, self.texts["groups"]).labels
        groups = np.arange(len(y)) if groups is None else group_numbers(groups)
        data = TrainingData(
            None, self.y, {}, np.ones(n), np.ones(n), classes=self.classes, groups=groups[own]
        )
        p = np.full((n, len(self.classes)), np.nan)
        for fold in folds_from(FOLDS, data, every_class=False):
            part = self._part(~np.isin(groups, groups[own[fold.test]]))
            first = fit_to_texts(self.classifier, TextsInMemory(self.classifier, **part.texts))
            p[fold.test] = part.fit(first, 1).predict_proba(*self._rows(own[fold.test]))
        return p

    def _rows(self, rows: np.ndarray) -> tuple[list[str], np.ndarray | None]:
        """Return some texts and their embeddings, if there are any."""
        E = self.texts["embeddings"]
        return [self.texts["X"][row] for row in rows], None if E is None else np.asarray(E)[rows]

    def _part(self, kept: np.ndarray) -> Self:
        """Return some of the texts."""
        rows = np.flatnonzero(kept)
        X, E = self._rows(rows)
        labels = np.full(len(kept), None, object)
        labels[self.by_hand] = self.classes[self.y]
        own = {"X": X, "y": labels[rows], "embeddings": E}
        for name in ("sample_weight", "groups"):
            values = self.texts[name]
            own[name] = values if values is None or np.ndim(values) == 0 else [values[row] for row in rows]
        return self._replace(
            texts=self.texts | own,
            by_hand=self.by_hand[rows],
            y=self.y[kept[self.by_hand]],
            columns={name: column[rows] for name, column in self.columns.items()},
        )


def _about_labels_by_hand(
    fitted: FittedTextModel,
    first: FittedTextModel,
    p: np.ndarray,
    y: np.ndarray,
    weights: np.ndarray,
    second_hand: dict[str, Any],
) -> FittedTextModel:
    """Return a fitted model whose scores are those of texts with a label by hand, when they were held out."""
    summary = replace(
        fitted.summary,
        texts=first.summary.texts,
        copies=first.summary.copies,
        contradictory=first.summary.contradictory,
        second_hand=second_hand,
    )
    if fitted is not first:
        assert fitted.search is not None
        rows = ~np.isnan(p[:, 0]) & (weights > 0.0)
        accuracy = float(np.average(p[rows].argmax(axis=1) == y[rows], weights=weights[rows]))
        n, losses = int(rows.sum()), _losses(p, y)[rows]
        own = {"accuracy": accuracy, "accuracy_interval": [*wilson_interval(accuracy * n, n)]}
        if fitted.search.scoring == "neg_log_loss":
            score = -float(np.average(losses, weights=weights[rows]))
            own |= {"score": score, "standard_error": float(losses.std() / np.sqrt(n))}
        kept = {name: first.summary.search[name] for name in ("score_of_shares", "never_held_out")}
        summary = replace(summary, search=summary.search | kept | own)
        fitted.search._set_fitted(cv_probabilities_=p)
        fitted.evidence = Evidence.of(p[rows], y[rows], "estimate")
    fitted.summary = summary
    return fitted


def _losses(p: np.ndarray, y: np.ndarray) -> np.ndarray:
    """Return the log loss of each text; NaN if it was never held out."""
    return np.asarray(-np.log(np.maximum(p[np.arange(len(y)), y], np.finfo(float).tiny)))


def clearly_less(losses: np.ndarray, others: np.ndarray) -> bool:
    """Return whether the mean loss is less by more than half of the standard error of the difference.

    Examples
    --------
    >>> clearly_less(np.array([0.1, 0.2]), np.array([0.5, 0.7]))
    True
    >>> clearly_less(np.ones(2), np.array([0.5, 2.0]))
    False
    """
    known = ~(np.isnan(losses) | np.isnan(others))
    behind = others[known] - losses[known]
    return bool(behind.mean() > CLEARLY * behind.std() / np.sqrt(len(behind)))
