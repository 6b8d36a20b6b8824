"""Second-hand labels: answers of rules, a language model or other annotators, for texts without a label.

Each source has a probability of every answer given the true class. It is estimated on the texts that also
have a label by hand:

    P(answer s | class k) = (n_ks + a q_ks) / (n_k + a),    q_ks = r [s = k] + (1 - r) n_s / n,

where n_ks counts texts of class k with the answer s, and r is how much more often than by chance the source
is right in all classes together (Cohen's κ). A source is left out unless it predicts the labels by hand, each
from the others, better than the shares of the classes do, by a factor of 20 in the likelihood of all of them:
answers that say nothing would pull predictions towards these shares. Sources are taken to err independently,
so a text with answers s, t, … has

    P(k | s, t, …) ∝ P(k) P(s | k) P(t | k) …

and is trained on with these probabilities as labels, times a factor. Texts with a label by hand keep it. Only
these are held out, and their cross-validated loss decides between several factors. With 0, where texts with
second-hand labels are unlabelled texts, it has to be clearly less: the sources that are left have shown that
they say something, and the loss of a few texts is little more than chance.
"""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple, Self

import numpy as np

from dropglm.base.errors import InputError
from dropglm.places.labels import Guests, has_several, is_missing
from dropglm.text.fitted_model import FittedTextModel
from dropglm.text.labels import check_text_labels
from dropglm.text.training import TextsInMemory, check_text_settings, fit_to_texts

FACTORS = (0.0, 0.1, 0.3, 1.0)
PRIOR = 4.0  # a, in texts
EVIDENCE = 3.0  # that a source says something: the logarithm of the ratio of the likelihoods
CLEARLY = 0.5  # standard errors of the difference of the losses


class Source(NamedTuple):
    """A source of second-hand labels.

    Attributes
    ----------
    number_of : dict
        The number of each answer; those of the classes come first.
    log_table : ndarray of shape (K, answers)
        log P(s | k).
    agreement : float or None
        The share of the labels by hand with which it agrees; None if it has no answer for these texts.
    evidence : float
        By how much the log likelihood of the labels by hand, each given its answer and all others, is better
        than that of the class shares.
    """

    number_of: dict[Any, int]
    log_table: np.ndarray
    agreement: float | None
    evidence: float

    @classmethod
    def of(cls, column: np.ndarray, y: np.ndarray, rows: np.ndarray, classes: np.ndarray) -> Self:
        """Return the source with these answers, given the classes y of some rows; None is no answer.

        Examples
        --------
        >>> answers = np.array(["a", "b", "a", "b", None], object)
        >>> found = Source.of(answers, np.array([0, 1, 0, 1]), np.arange(4), np.array(["a", "b"]))
        >>> found.agreement, np.exp(found.log_table).round(2)[0]
        (1.0, array([0.93, 0.07]))
        """
        # Answers that are no class may still say something about the classes.
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
        log_table = np.log((counts + prior) / (sizes[:, None] + PRIOR))
        return cls(number_of, log_table, float(np.trace(counts) / n) if n else None, evidence)

    def log_likelihoods(self, column: np.ndarray) -> np.ndarray:
        """Return log P(s | k) of every answer, 0 for those that are missing; shape (n, K)."""
        found = np.zeros((len(column), len(self.log_table)))
        rows = [row for row, one in enumerate(column) if one is not None]
        found[rows] = self.log_table[:, [self.number_of[column[row]] for row in rows]].T
        return found


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
    """Fit a classifier with each factor of the second-hand labels, and return the best model.

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

    # The probabilities of the classes, by the sources that say something.
    classes, y = np.unique(labels, return_inverse=True)
    answers = answers_of(second_labels, len(texts["X"]))
    rows = np.flatnonzero(by_hand)
    sources = {name: Source.of(column, y, rows, classes) for name, column in answers.items()}
    used = [name for name, source in sources.items() if source.evidence > EVIDENCE]
    eta = np.tile(log_class_shares(y, len(classes)), (len(by_hand), 1))
    answered = np.zeros(len(by_hand), np.bool_)
    for name in used:
        eta += sources[name].log_likelihoods(answers[name])
        answered |= np.array([one is not None for one in answers[name]])
    P = np.exp(eta - np.logaddexp.reduce(eta, axis=1, keepdims=True))
    P[by_hand | ~answered] = np.nan

    # A fit with each factor, and the losses of texts with a label by hand when they were held out.
    fits, losses = [], []
    for factor in FACTORS if used else FACTORS[:1]:
        own = TextsInMemory(classifier, **texts, guests=Guests(P, factor) if factor else None)
        fits.append(fit_to_texts(classifier, own))
        if fits[-1].search is None:
            raise InputError("There are too few labels to decide how far second_labels count.")
        held_out = fits[-1].search.cv_probabilities_[np.arange(len(y)), y]
        losses.append(-np.log(np.maximum(held_out[~np.isnan(held_out)], np.finfo(float).tiny)))
    best = best_factor(losses)
    fitted = fits[best]
    assert fitted.search is not None
    fitted.search._set_fitted(cv_probabilities_=fitted.search.cv_probabilities_[: len(y)])
    fitted.summary = fitted.summary.with_second_hand(
        {
            "sources": list(sources),
            "texts": int((~np.isnan(P[:, 0])).sum()),
            "agreement": [source.agreement for source in sources.values()],
            "used": [name in used for name in sources],
            "factor": FACTORS[best],
            "score": -float(losses[best].mean()),
            "score_without": -float(losses[0].mean()),
        }
    )
    return fitted


def best_factor(losses: Sequence[np.ndarray]) -> int:
    """Return the number of the factor with the least mean loss; the first, 0, only if that is clearly less.

    Examples
    --------
    >>> best_factor([np.array([0.4, 0.6]), np.array([0.7, 0.5]), np.array([0.5, 0.51])])
    2
    """
    best = 1 + int(np.argmin([own.mean() for own in losses[1:]])) if len(losses) > 1 else 0
    behind = losses[best] - losses[0]
    return 0 if behind.mean() > CLEARLY * behind.std() / np.sqrt(len(behind)) else best
