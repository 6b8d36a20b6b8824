"""When to trust a prediction: bounds on errors among answers, sets of labels, and texts of another kind.

A model answers where the probability of its best class is at least t. Of the m held-out rows where it is, k
are wrong, k ~ Bin(m, R(t)) with R(t) = P(wrong | answered), so the upper Clopper-Pearson bound of R(t) is

    U(k, m) = max{r : P(Bin(m, r) ≤ k) ≥ δ},  δ = 1 - confidence.

Thresholds are tested in a fixed sequence, from the surest rows down, and the last one before the first that
fails is used: R(t) ≤ max_error with probability at least 1 - δ, without a correction for their number. The
derivation is in docs/mathematics.md.
"""

import math
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any, NamedTuple, Self

import numpy as np

from dropglm.base.errors import InputError

MOST_ROWS = 10_000  # of the evidence in a model file
# The sequence starts at a tenth of the rows, if anything can be accepted there. If it starts where no error
# is accepted, one wrong row among the surest ends it: with 1,000 rows and max_error 0.05, the share of
# answers is then 0.27 instead of 0.45 (20 newsgroups, 600 draws). With 100 rows it is nearly the same.
FIRST_SHARE = 0.1
STEP = 0.05  # of the rows, the longest step between thresholds
ERRORS, CONFIDENCE = (0.01, 0.05, 0.1), 0.9  # with which reports give the share of answers
KINDS = ("estimate", "guarantee")
# Of the texts, the least typical ones; and of the batches without others, somewhat less than one in twenty,
# since texts of a thread resemble each other more than new ones.
TAIL, FALSE_ALARMS = 0.05, 0.03
MOST_TYPICAL = 500  # texts whose statistics a model keeps
FEWEST_TYPICAL = 20
MORE = (1.2, 1.5, 2.0, 3.0, 4.0, 6.0, 8.0, 12.0, 16.0)  # times as many rows, to say how many are needed


def check_share(value: Any, name: str) -> float:
    """Return a number between 0 and 1, or raise an error."""
    if isinstance(value, bool) or not isinstance(value, (int, float, np.number)) or not 0.0 < value < 1.0:
        raise InputError(f"{name} must be between 0 and 1, got {value!r}.")
    return float(value)


def upper_bound(wrong: Any, answered: Any, confidence: float) -> Any:
    """Return U(k, m), the upper Clopper-Pearson bound of a share of which k of m rows are.

    Examples
    --------
    >>> upper_bound(0, 45, 0.9).round(4), upper_bound(2, 2, 0.9)
    (np.float64(0.0499), np.float64(1.0))
    """
    from scipy.special import betaincinv

    k, m = np.asarray(wrong, np.float64), np.asarray(answered, np.float64)
    return np.where(k < m, betaincinv(k + 1.0, np.maximum(m - k, 1.0), confidence), 1.0)[()]


def interval(right: int, n: int, confidence: float = 0.95) -> tuple[float, float]:
    """Return the Clopper-Pearson interval of a share of which ``right`` of n rows are.

    Examples
    --------
    >>> interval(9, 10)
    (0.555, 0.9975)
    """
    one_sided = 0.5 + 0.5 * confidence
    low, high = 1.0 - upper_bound(n - right, n, one_sided), upper_bound(right, n, one_sided)
    return round(float(low), 4), round(float(high), 4)


def rows_needed(max_error: float, confidence: float, wrong: Any = 0) -> Any:
    """Return the smallest m with U(k, m) ≤ max_error, that is P(Bin(m, max_error) ≤ k) ≤ 1 - confidence.

    Examples
    --------
    >>> int(rows_needed(0.05, 0.9)), rows_needed(0.05, 0.9, [0, 1, 2])
    (45, array([ 45,  77, 105]))
    """
    from scipy.special import bdtr

    k = np.asarray(wrong, np.float64)
    low = np.floor(k)  # where the probability is 1
    high = np.ceil((k + 1.0) * 2.0 * math.log(2.0 / (1.0 - confidence)) / max_error) + 1.0
    while (high - low > 1.0).any():
        middle = np.floor((low + high) / 2.0)
        enough = bdtr(k, middle.astype(np.int64), max_error) <= 1.0 - confidence
        low, high = np.where(enough, low, middle), np.where(enough, middle, high)
    return high.astype(np.int64)[()]


def sequence_of_counts(n: int, max_error: float, confidence: float) -> np.ndarray:
    """Return how many of the surest of n rows are answered at the thresholds of the sequence.

    They are the numbers of rows at which one more error is accepted, others between them if they are far
    apart, and n.

    Examples
    --------
    >>> sequence_of_counts(44, 0.05, 0.9), sequence_of_counts(60, 0.05, 0.9)
    (array([], dtype=int64), array([45, 48, 51, 54, 57, 60]))
    """
    steps = rows_needed(max_error, confidence, np.arange(math.ceil(n * max_error) + 1))
    steps = steps[steps <= n]
    if not len(steps):
        return steps
    first = min(int(np.searchsorted(steps, FIRST_SHARE * n)), len(steps) - 1)
    ends = np.unique(np.append(steps[first:], n))
    between = [
        np.linspace(low, high, math.ceil((high - low) / (STEP * n)), endpoint=False)
        for low, high in pairwise(ends.tolist())
    ]
    return np.unique(np.concatenate([*between, ends]).round().astype(np.int64))


def last_accepted(
    wrong: np.ndarray, max_error: float, confidence: float, top: np.ndarray | None = None
) -> int:
    """Return how many rows are answered: the last count before the first that fails; 0 if there is none.

    ``wrong`` says of each row whether it is wrong, the surest row first. Rows with the same probability
    ``top``, which falls, are answered together.
    """
    from scipy.special import bdtr

    counts = sequence_of_counts(len(wrong), max_error, confidence)
    if top is not None and len(counts):
        counts = np.unique(np.searchsorted(-top, -top[counts - 1], side="right"))
    found = np.cumsum(wrong)[counts - 1].astype(np.float64)
    fails = bdtr(found, counts, max_error) > 1.0 - confidence
    passed = int(fails.argmax()) if fails.any() else len(counts)
    return int(counts[passed - 1]) if passed else 0


@dataclass(frozen=True, eq=False)
class Evidence:
    """What a model predicted for rows that were held out, on which its guarantees rest.

    Parameters
    ----------
    top, own : ndarray of shape (n,)
        The probability of the predicted class, and of the right one (0 if it is not a class of the model).
    right : ndarray of shape (n,)
        Whether the prediction is right.
    kind : {"estimate", "guarantee"}
        "guarantee" if nothing was chosen on these rows and they are a random sample of the texts to come;
        "estimate" if they were held out by folds that also chose the settings, or are not independent.
    """

    top: np.ndarray
    own: np.ndarray
    right: np.ndarray
    kind: str

    @classmethod
    def of(cls, probabilities: Any, truth: np.ndarray, kind: str) -> Self:
        """Return the evidence of rows with the numbers of their classes (-1: unknown); NaN is left out.

        Of more than 10,000 rows, as many are drawn.
        """
        p = np.asarray(probabilities, np.float64)
        rows = np.flatnonzero(~np.isnan(p[:, 0]))
        if len(rows) > MOST_ROWS:
            rows = np.sort(np.random.default_rng(0).choice(rows, MOST_ROWS, replace=False))
        p, truth = p[rows], np.asarray(truth)[rows]
        own = np.where(truth < 0, 0.0, p[np.arange(len(rows)), truth])
        return cls(p.max(axis=1).astype(np.float32), own.astype(np.float32), p.argmax(axis=1) == truth, kind)

    def __len__(self) -> int:
        return len(self.top)

    def to_state(self) -> dict[str, Any]:
        """Return what a model file holds."""
        return {"top": self.top, "own": self.own, "right": self.right.astype(np.uint8), "kind": self.kind}

    @classmethod
    def from_state(cls, state: dict[str, Any]) -> Self:
        """Rebuild the evidence from what a model file holds."""
        top, own, right = state["top"], state["own"], state["right"]
        if not len(top) == len(own) == len(right):
            raise InputError("the rows of the evidence do not match")
        return cls(top, own, right.astype(np.bool_), state["kind"])

    def selective(self, max_error: float = 0.05, confidence: float = 0.9) -> "Selective":
        """Return where to answer; see ``TextClassifier.selective``."""
        max_error, confidence = check_share(max_error, "max_error"), check_share(confidence, "confidence")
        top, wrong, n = *self._surest_first(), len(self)
        m = last_accepted(wrong, max_error, confidence, top)
        found: dict[str, Any] = {
            "max_error": max_error,
            "confidence": confidence,
            "kind": self.kind,
            "rows": n,
        }
        if not m:
            return Selective(**found, needed=self._needed(wrong, max_error, confidence))
        threshold = (
            0.0 if m == n else (top[m - 1] + top[m]) / 2.0
        )  # between two rows: rounding does not matter
        k = int(wrong[:m].sum())
        bound = float(upper_bound(k, m, confidence))
        return Selective(**found, threshold=float(threshold), answered=m, wrong=k, bound=bound)

    def _surest_first(self) -> tuple[np.ndarray, np.ndarray]:
        """Return the top probabilities in falling order, and which rows are wrong."""
        order = np.argsort(-self.top, kind="stable")
        return self.top[order].astype(np.float64), ~self.right[order]

    def _needed(self, wrong: np.ndarray, max_error: float, confidence: float) -> int | None:
        """Return how many rows would do if all were like these, the surest first; None if no number would."""
        n, least = len(wrong), int(rows_needed(max_error, confidence))
        if n < least:
            return least
        m = np.arange(least, n + 1)
        if (np.cumsum(wrong)[m - 1] >= max_error * m).all():
            return None
        for more in MORE:
            N = math.ceil(more * n)
            if last_accepted(wrong[np.arange(N) * n // N], max_error, confidence):
                return N
        return None

    def label_threshold(self, coverage: float = 0.9) -> float:
        """Return the probability from which a label belongs to the set of a text: split conformal prediction.

        It is the ⌈(n + 1) coverage⌉-th largest probability of the right class among the n rows, or 0.
        """
        rank = math.ceil((len(self) + 1) * check_share(coverage, "coverage") - 1e-9)
        return 0.0 if rank > len(self) else float(np.sort(self.own)[::-1][rank - 1])

    def label_sets(self, probabilities: np.ndarray, coverage: float = 0.9) -> list[list[int]]:
        """Return the numbers of the labels in the set of each row, the most probable one first, at least one.

        Probabilities are compared as a file stores them.
        """
        p = np.asarray(probabilities, np.float32)
        least = self.label_threshold(coverage)
        order = np.argsort(-p, axis=1, kind="stable")
        sizes = np.maximum(1, (p >= least).sum(axis=1))
        return [row[:size] for row, size in zip(order.tolist(), sizes.tolist(), strict=True)]

    def trust(self, accuracy_interval: Any = None) -> "Trust":
        """Return what the model may be used for; None means the Clopper-Pearson interval of the accuracy."""
        n, right = len(self), int(self.right.sum())
        top, wrong = self._surest_first()
        answered = {error: last_accepted(wrong, error, CONFIDENCE, top) for error in ERRORS}
        away = self.top.astype(np.float64) - self.right
        error = float(away.std() / math.sqrt(n))
        return Trust(
            rows=n,
            kind=self.kind,
            accuracy=right / n,
            interval=interval(right, n) if accuracy_interval is None else tuple(accuracy_interval),
            answered=[{"error": error, "share": m / n} for error, m in answered.items()],
            overconfidence=float(away.mean()),
            standard_error=error,
        )


@dataclass(frozen=True)
class Selective:
    """Where a model answers, and what is promised about its answers; ``print`` it.

    Parameters
    ----------
    max_error, confidence : float
        At most this share of the answers is wrong, with this confidence.
    kind : {"estimate", "guarantee"}
        Whether the rows behind it were held out from everything, or only by cross-validation.
    rows : int
        Number of held-out rows behind it.
    threshold : float or None
        The model answers where the probability of its best class is higher; None if nothing can be promised.
    answered, wrong : int
        Number of the rows that are answered, and how many of the tested ones are wrong.
    bound : float or None
        The upper Clopper-Pearson bound of the share of wrong answers at this threshold.
    needed : int or None
        If nothing can be promised: the number of rows with which something can be, at least or, where there
        are that many, about. None means that the surest rows are wrong too often.
    model : TextClassifier or FittedTextModel, default=None
        What ``predict`` predicts with.

    See Also
    --------
    dropglm.TextClassifier.selective : Choose the threshold.

    Examples
    --------
    >>> import numpy as np
    >>> from dropglm.text.guarantees import Evidence
    >>> top = np.linspace(0.5, 1.0, 200)
    >>> print(Evidence(top, top, top > 0.6, "guarantee").selective(0.1, 0.9))
    answers 85.0 % of texts, those whose best class has a probability above 0.574
    at most 10 % of the answers are wrong, with 90 % confidence (10 of 170 held-out texts; bound 0.089)
    """

    max_error: float
    confidence: float
    kind: str
    rows: int
    threshold: float | None = None
    answered: int = 0
    wrong: int = 0
    bound: float | None = None
    needed: int | None = None
    model: Any = field(default=None, repr=False, compare=False)

    @property
    def share(self) -> float:
        """The share of the texts that is expected to be answered."""
        return self.answered / self.rows if self.rows else 0.0

    @property
    def is_guarantee(self) -> bool:
        """Whether the rows behind it were held out from everything."""
        return self.kind == "guarantee"

    def answers(self, probabilities: Any) -> np.ndarray:
        """Return which rows of predicted probabilities are answered; the others are left open.

        Parameters
        ----------
        probabilities : array-like of shape (n, K)
            Predicted probabilities of the classes.

        Returns
        -------
        ndarray of shape (n,)
            Booleans.
        """
        p = np.asarray(probabilities)
        return p.max(axis=1) > (math.inf if self.threshold is None else self.threshold)

    def predict(self, X: Any, embeddings: Any = None) -> np.ndarray:
        """Predict the class of each text, or None where the model does not answer.

        Parameters
        ----------
        X : iterable of str
            Texts.
        embeddings : array-like of shape (n, k), default=None
            As in ``TextClassifier.predict``.

        Returns
        -------
        ndarray of shape (n,)
            Classes and None, of type object.
        """
        p = self.model.predict_proba(X, embeddings)
        labels = self.model.classes_[p.argmax(axis=1)].astype(object)
        labels[~self.answers(p)] = None
        return labels

    def to_dict(self) -> dict[str, Any]:
        """Return the fields and the share in plain types, for JSON.

        Returns
        -------
        dict
            Numbers and strings.
        """
        found = {name: value for name, value in vars(self).items() if name != "model"}
        return found | {"share": self.share}

    def __str__(self) -> str:
        aim = (
            f"at most {100 * self.max_error:g} % of the answers are wrong, with {100 * self.confidence:g} % "
        )
        if self.threshold is None:
            return f"answers nothing: that {aim}confidence cannot be promised{self._why_not()}"
        rule = f", those whose best class has a probability above {self.threshold:.3f}"
        kind = "" if self.is_guarantee else "; an estimate, since the folds also chose the settings"
        return (
            f"answers {100 * self.share:.1f} % of texts{rule if self.threshold else ''}\n{aim}confidence "
            f"({self.wrong:,} of {self.answered:,} held-out texts; bound {self.bound:.3f}{kind})"
        )

    def _why_not(self) -> str:
        texts = f"{self.rows:,} held-out text{'' if self.rows == 1 else 's'}"
        if self.needed is None:
            return f", since of {texts} the surest ones are wrong too often"
        about = "at least" if self.needed == rows_needed(self.max_error, self.confidence) else "about"
        return f" with {texts}; {about} {self.needed:,} are needed"


class Trust(NamedTuple):
    """What a model may be used for.

    Attributes
    ----------
    rows, kind : int, str
        The held-out rows behind it; see ``Evidence``.
    accuracy, interval : float, pair of float
        Share of right predictions, with an interval of 95 % confidence.
    answered : list of dict
        For an error of 1, 5 and 10 % among the answers ("error"): the share that is answered ("share").
    overconfidence, standard_error : float
        Mean probability of the predicted class minus accuracy, and its standard error.
    """

    rows: int
    kind: str
    accuracy: float
    interval: tuple[float, float]
    answered: list[dict[str, float]]
    overconfidence: float
    standard_error: float

    @property
    def is_calibrated(self) -> bool:
        """Whether mean probability and accuracy differ by at most two standard errors."""
        return abs(self.overconfidence) <= 2.0 * self.standard_error

    def to_dict(self) -> dict[str, Any]:
        """Return the fields in plain types, for JSON."""
        return self._asdict() | {"interval": [*self.interval], "calibrated": self.is_calibrated}

    def line(self) -> str:
        """Return one line for reports."""
        low, high = self.interval
        shares = {one["error"]: one["share"] for one in self.answered}
        share = f"answers {100 * shares[0.05]:.0f} %" if shares[0.05] else "cannot answer any text"
        away = (
            f"{100 * abs(self.overconfidence):.1f} points too {'high' if self.overconfidence > 0 else 'low'}"
        )
        probabilities = "can be trusted" if self.is_calibrated else f"are {away} on average"
        return (
            f"right on {100 * self.accuracy:.0f} % ({100 * low:.0f} to {100 * high:.0f}) of texts; {share} "
            f"with at most 5 % errors; probabilities {probabilities}"
        )


class Curve(NamedTuple):
    """Error against share answered: of rows in the order of their top probability, the surest first.

    Attributes
    ----------
    share, error : ndarray of shape (n,)
        The share of the rows that is answered, and the share of these that is wrong.
    """

    share: np.ndarray
    error: np.ndarray

    @classmethod
    def of(cls, probabilities: Any, truth: Any) -> Self:
        """Return the curve of rows with probabilities (n, K) and the numbers of their classes (-1: unknown).

        Rows with the same probability are answered together.

        Examples
        --------
        >>> Curve.of([[0.9, 0.1], [0.2, 0.8], [0.6, 0.4], [0.4, 0.6]], [0, 1, 1, 1])
        Curve(share=array([0.25, 0.5 , 1.  ]), error=array([0.  , 0.  , 0.25]))
        """
        p = np.asarray(probabilities, np.float64)
        order = np.argsort(-p.max(axis=1), kind="stable")
        top, wrong = p.max(axis=1)[order], (p.argmax(axis=1) != np.asarray(truth))[order]
        count = np.arange(1, len(p) + 1)
        last = np.append(top[:-1] != top[1:], np.ones(min(1, len(p)), np.bool_))
        return cls((count / max(len(p), 1))[last], (np.cumsum(wrong) / count)[last])

    def share_at(self, error: float) -> float:
        """Return the largest share at which at most this share of the answers is wrong."""
        return float(self.share[self.error <= error].max(initial=0.0))


@dataclass(frozen=True, eq=False)
class Typical:
    """How training texts look when they are new: statistics of some of them, each without its own text.

    Parameters
    ----------
    known : ndarray of shape (n,)
        Shares of words that are known, sorted.
    shared : ndarray of shape (n,)
        How much the n-grams of a text are those that many texts have, sorted: Σ k² f / √m over its m n-grams
        of k words, where f is the share of the texts that have one; a multiple of the cosine between both.
    """

    known: np.ndarray
    shared: np.ndarray

    @classmethod
    def of(cls, found: np.ndarray) -> Self | None:
        """Return those of texts with two statistics each; None if there are too few texts."""
        columns = np.sort(np.asarray(found, np.float32).T, axis=1)
        return cls(*columns) if columns.shape[1] >= FEWEST_TYPICAL else None

    def to_state(self) -> dict[str, Any]:
        """Return what a model file holds."""
        return {"known": self.known, "shared": self.shared}

    @classmethod
    def from_state(cls, state: dict[str, Any]) -> Self:
        """Rebuild it from what a model file holds."""
        known, shared = (np.sort(state[name]) for name in ("known", "shared"))
        if len(known) != len(shared) or len(known) < FEWEST_TYPICAL:
            raise InputError("the statistics of the training texts do not match")
        return cls(known, shared)

    def compare(self, found: np.ndarray) -> "Unlike":
        """Compare new texts, with two statistics each, with those of the training."""
        n, texts = len(self.known), len(found)
        rank = max(1, int(TAIL * (n + 1)))
        counts, p_values = [], []
        for own, new in zip((self.known, self.shared), np.asarray(found, np.float32).T, strict=True):
            # Fewer than the rank-th smallest one; equal ones do not count.
            counts.append(int((new < own[rank - 1]).sum()))
            p_values.append(tail_of_ranks(counts[-1], texts, rank, n))
        few_known, few_shared = counts
        return Unlike(texts, few_known, few_shared, min(1.0, len(p_values) * min(p_values)))


def tail_of_ranks(count: int, texts: int, rank: int, n: int) -> float:
    """Return P(at least ``count`` of the texts are below the ``rank``-th smallest of n others like them).

    The number is beta-binomial: the share below that one is Beta(rank, n + 1 - rank).

    Examples
    --------
    >>> tail_of_ranks(0, 50, 5, 100), round(tail_of_ranks(10, 50, 5, 100), 4)
    (1.0, 0.0026)
    """
    # P(k + 1) = P(k) (m - k)(k + a) / ((k + 1)(m - k - 1 + b)). It does not need scipy.special.
    a, b, m, k = rank, n + 1 - rank, texts, np.arange(max(count - 1, 0))
    steps = np.log((m - k) * (k + a)) - np.log((k + 1) * (m - k - 1.0 + b))
    first = math.lgamma(m + b) + math.lgamma(a + b) - math.lgamma(a + b + m) - math.lgamma(b)
    below = np.exp(first + np.append(0.0, np.cumsum(steps))).sum() if count else 0.0
    return float(min(1.0, max(0.0, 1.0 - below)))


class Unlike(NamedTuple):
    """How many of some texts are unlike the training texts.

    Attributes
    ----------
    texts : int
        Number of texts.
    few_known : int
        How many of them have fewer known words than 95 % of the training texts have when they are new.
    few_shared : int
        How many of them have less in common with the other texts than 95 % of the training texts have.
    p_value : float
        Probability of such numbers if the texts are like the training texts.

    See Also
    --------
    dropglm.TextClassifier.compare_with_training : Compare new texts with those of the training.

    Examples
    --------
    >>> from dropglm.text import Unlike
    >>> found = Unlike(texts=50, few_known=12, few_shared=9, p_value=0.0001)
    >>> found.is_unusual, found.line()[:40]
    (True, '12 of 50 texts have fewer known words th')
    """

    texts: int
    few_known: int
    few_shared: int
    p_value: float

    @property
    def is_unusual(self) -> bool:
        """Whether to warn: the numbers are not due to chance, and twice as large as they should be."""
        most = max(self.few_known, self.few_shared)
        return self.p_value <= FALSE_ALARMS and most >= 2.0 * TAIL * self.texts

    def to_dict(self) -> dict[str, Any]:
        """Return the fields in plain types, for JSON.

        Returns
        -------
        dict
            Numbers and strings.
        """
        return self._asdict() | {"unusual": self.is_unusual}

    def line(self) -> str:
        """Return the numbers in one sentence.

        Returns
        -------
        str
            The sentence, without a full stop.
        """
        return (
            f"{self.few_known:,} of {self.texts:,} texts have fewer known words than 95 % of the training "
            f"texts, and {self.few_shared:,} less in common with them; {TAIL * self.texts:.3g} are expected"
        )

    def warning(self) -> str:
        """Return what to tell users if the texts are unusual.

        Returns
        -------
        str
            Two sentences.
        """
        return (
            f"the texts are unlike the training texts: {self.line()}. Accuracy and guarantees may not hold."
        )
