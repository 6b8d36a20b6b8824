"""What an annotator can look at besides the texts: progress, accuracy, words, suspicious labels.

The accuracy of the model is estimated from texts that were drawn at random and predicted before they were
labelled. The model improves while texts are labelled, so early outcomes are too pessimistic. Outcome i of m
gets the weight (i/m)²: if accuracy grows by b with every e-fold of labels, the weighted mean is b/3 too low,
instead of b with equal weights, and its variance is that of 5/9 m outcomes. A window of the last half has
about the same bias and the variance of m/2 outcomes.
"""

import re
import time
from collections import Counter
from collections.abc import Sequence
from statistics import NormalDist
from typing import TYPE_CHECKING, NamedTuple
from unicodedata import normalize

import numpy as np

from dropglm.base.errors import InputError
from dropglm.labelling.answers import TextNumbers
from dropglm.labelling.calibration import Calibration, RightAmong, right_among
from dropglm.labelling.session import FEWEST_OUTCOMES, LabellingSession

if TYPE_CHECKING:
    from dropglm.text.metrics import Disagreement

POWER = 2  # of the weights of outcomes
FEWEST_FOR_CURVE = 20  # fewer say nothing about how the curve continues
LEVEL = 0.05  # at which the curve must be found to rise, one-sided
# Mean and standard deviation of the exponent of learning curves: with 100 to 300 labels, it was 0.11 to 0.48
# on six data sets (dropglm reproduce labelling). Without this prior, slopes that are just significant are
# mostly too large, and the number of labels was 0.4 of the true one in the median.
EXPONENT, SPREAD = 0.3, 0.15
FARTHEST = 10.0  # a curve is not continued to more than so many times as many labels


class AccuracyEstimate(NamedTuple):
    """An estimate of accuracy with its interval.

    Attributes
    ----------
    accuracy : float
        The weighted share of correct predictions.
    low, high : float
        Bounds of the interval.
    n : int
        Number of outcomes.

    See Also
    --------
    estimate_accuracy : Returns an estimate.

    Examples
    --------
    >>> from dropglm.labelling import estimate_accuracy
    >>> estimate_accuracy([True, False, True, True]).n
    4
    """

    accuracy: float
    low: float
    high: float
    n: int


def estimate_accuracy(correct: Sequence[bool], *, confidence: float = 0.95) -> AccuracyEstimate:
    """Estimate the accuracy of the present model for texts like those of the pool.

    It rests on texts that were drawn at random and predicted before they were labelled. Texts that the model
    has chosen are harder than others and must not be among them. For the texts that are left without a label
    the estimate is a little too low once a large part of a small pool has been labelled.

    Parameters
    ----------
    correct : sequence of bool
        For each text drawn at random, in the order of labelling, whether the model predicted its label
        before it was labelled.
    confidence : float, default=0.95
        Nominal coverage of the interval, between 0 and 1.

    Returns
    -------
    AccuracyEstimate
        The weight of an outcome grows with the square of its place, since the model was worse when the first
        ones were predicted. The interval is Wilson's [1]_, with as many outcomes as an unweighted mean of the
        same variance would have. Without outcomes, the accuracy is NaN and the interval is [0, 1].

    See Also
    --------
    labels_for_one_point : How many more labels raise the accuracy.

    References
    ----------
    .. [1] E. B. Wilson (1927). Probable inference, the law of succession, and statistical inference. Journal
       of the American Statistical Association 22.

    Examples
    --------
    >>> found = estimate_accuracy([False, True, False, True, True, True, True, False, True, True])
    >>> print(f"{found.accuracy:.2f}, between {found.low:.2f} and {found.high:.2f}")
    0.81, between 0.41 and 0.96
    """
    if not 0.0 < confidence < 1.0:
        raise InputError(f"confidence must be between 0 and 1, got {confidence}.")
    outcomes = np.asarray(correct, np.float64)
    m = len(outcomes)
    if not m:
        return AccuracyEstimate(float("nan"), 0.0, 1.0, 0)
    weights = np.arange(1.0, m + 1.0) ** POWER
    weights /= weights.sum()
    share, n = float(weights @ outcomes), float(1.0 / (weights @ weights))
    z2 = NormalDist().inv_cdf((1.0 + confidence) / 2.0) ** 2
    middle = (share + z2 / (2.0 * n)) / (1.0 + z2 / n)
    half = np.sqrt(z2 * (share * (1.0 - share) / n + z2 / (4.0 * n * n))) / (1.0 + z2 / n)
    low, high = max(float(middle - half), 0.0), min(float(middle + half), 1.0)
    # Rounding would put a share of 1 above the upper bound, which is 1 as well.
    return AccuracyEstimate(share, min(low, share), max(high, share), m)


def labels_for_one_point(n_labels: Sequence[int], correct: Sequence[bool]) -> int | None:
    """Estimate how many more labels raise the accuracy by one percentage point.

    The odds of a wrong prediction are taken to fall as a power of the number of labels. The exponent is
    estimated from the outcomes and from what is usual for learning curves (a normal prior with mean 0.3 and
    standard deviation 0.15).

    Parameters
    ----------
    n_labels : sequence of int
        For each text drawn at random, in the order of labelling, the number of labels when it was labelled.
    correct : sequence of bool
        Whether the model predicted its label before, as in ``estimate_accuracy``.

    Returns
    -------
    int or None
        None while the outcomes do not support a number: if there are fewer than 20, if their trend test [1]_
        does not find at a level of 5 per cent that the accuracy rises, or if one point more would take more
        than ten times as many labels.

    See Also
    --------
    estimate_accuracy : The accuracy so far.

    Notes
    -----
    With outcomes drawn by the accuracies of the 60 sessions of ``dropglm reproduce labelling``, one label in
    five at random, a number is returned in 19, 24 and 28 per cent of the cases at 120, 200 and 300 labels;
    94, 90 and 96 per cent of these numbers are between a third and three times the true one.

    References
    ----------
    .. [1] P. Armitage (1955). Tests for linear trends in proportions and frequencies. Biometrics 11.

    Examples
    --------
    >>> n_labels = range(5, 205, 5)
    >>> labels_for_one_point(n_labels, [True, False] * 20)  # no better than at first
    >>> labels_for_one_point(n_labels, [True, False] * 10 + [True] * 20)
    40
    """
    n, wrong = np.asarray(n_labels, np.float64), 1.0 - np.asarray(correct, np.float64)
    if n.shape != wrong.shape:
        raise InputError(f"n_labels and correct must have the same length, got {len(n)} and {len(wrong)}.")
    if len(n) < FEWEST_FOR_CURVE or _trend(np.log(n), wrong) > NormalDist().inv_cdf(LEVEL):
        return None
    log_odds, exponent = _odds_law(np.log(n / n[-1]), wrong)
    goal = 1.0 / (1.0 + np.exp(-log_odds)) - 0.01
    if goal <= 0.0 or exponent <= 0.0:
        return None
    log_factor = (log_odds - np.log(goal / (1.0 - goal))) / exponent
    return int(np.ceil(n[-1] * np.expm1(log_factor))) if log_factor <= np.log(FARTHEST) else None


def _trend(x: np.ndarray, wrong: np.ndarray) -> float:
    """Return the slope of wrong predictions over x, divided by its standard error if there were no trend."""
    share, x = wrong.mean(), x - x.mean()
    variance = share * (1.0 - share) * (x @ x)
    return float(x @ wrong / np.sqrt(variance)) if variance > 0.0 else 0.0


def _odds_law(x: np.ndarray, wrong: np.ndarray) -> tuple[float, float]:
    """Return a and c of the logistic model with log odds a - c x, with the prior of c."""
    Z = np.column_stack([np.ones_like(x), -x])
    prior, precision = np.array([0.0, EXPONENT]), np.diag([0.0, SPREAD**-2])
    found = prior.copy()
    for _ in range(50):
        p = 1.0 / (1.0 + np.exp(-Z @ found))
        gradient = Z.T @ (wrong - p) - precision @ (found - prior)
        step = np.linalg.solve((Z.T * (p * (1.0 - p))) @ Z + precision, gradient)
        found += step / max(1.0, np.abs(step).max())  # a full step could be too long
        if np.abs(step).max() < 1e-9:
            break
    return float(found[0]), float(found[1])


RECENT = 300.0  # seconds over which the speed of labelling is measured
POINTS = 60  # of the curve, at most
FOUND = 50  # texts that a search lists
# A label is doubted only if another class has at least this probability. Of 60, 200 and 600 right labels,
# 2.9, 2.8 and 2.8 % are listed instead of 19.1, 23.4 and 15.8 % (python -m benchmarks.suspicious --sure).
SURE = 0.8
BEFORE = 50  # characters of an excerpt before the first word that was found
PARTS = re.compile(r'[“”„"]([^“”„"]*)(?:[“”„"]|$)|([^\s“”„"]+)')  # keyboards of phones type curly marks


class LabelCounts(NamedTuple):
    """Numbers of labels.

    Attributes
    ----------
    n_texts, n_labels, n_skipped : int
        Numbers of different texts: copies, equal but for case and white space, count once.
    n_rows : int
        Number of texts with all copies.
    classes : list of (str, int)
        Names of the classes and their numbers of labels.
    per_minute : float or None
        Labels per minute in the last five minutes; None if there were fewer than two.
    """

    n_texts: int
    n_labels: int
    n_skipped: int
    n_rows: int
    classes: list[tuple[str, int]]
    per_minute: float | None


def label_counts(session: LabellingSession, now: float | None = None) -> LabelCounts:
    """Return the numbers of labels, and the speed of labelling."""
    with session.lock:
        labels = session.answers.class_numbers()
        names = dict(session.answers.names)
        times = [answer.time for answer in session.answers.by_text.values() if answer.label is not None]
        n_answered = sum(number >= 0 for number in session.answers.by_text)
    counts = Counter(labels.values())
    now = time.time() if now is None else now
    recent = sorted(moment for moment in times if now - moment < RECENT)
    per_minute = None
    if len(recent) > 1 and recent[-1] > recent[0]:
        per_minute = 60.0 * (len(recent) - 1) / (recent[-1] - recent[0])
    return LabelCounts(
        session.answers.numbers.n_different,
        len(labels),
        n_answered - len(labels),
        len(session.texts),
        [(name, counts[number]) for number, name in names.items()],
        per_minute,
    )


def accuracy_curve(session: LabellingSession) -> tuple[list[tuple[int, AccuracyEstimate]], int | None]:
    """Return the estimated accuracy over the number of labels, and the labels needed for one more point.

    The estimate rests on the texts that were drawn at random and predicted before they were labelled; there
    is none while there are fewer than ten of them. The labels needed are None unless at least twenty of them
    show that the accuracy rises; see ``labels_for_one_point``.
    """
    with session.lock:
        places = {number: place for place, number in enumerate(session.answers.class_numbers(), 1)}
        outcomes = session.answers.outcomes()
    outcomes = [(places[number], right) for number, right in outcomes if number in places]
    right = [one for _, one in outcomes]
    ends = np.unique(np.linspace(FEWEST_OUTCOMES, len(outcomes), POINTS).astype(int)).tolist()
    points = [
        (outcomes[end - 1][0], estimate_accuracy(right[:end]))
        for end in ends
        if FEWEST_OUTCOMES <= end <= len(outcomes)
    ]
    return points, labels_for_one_point([place for place, _ in outcomes], right)


def known_accuracy(session: LabellingSession) -> str:
    """Return a sentence about how good the model is known to be, for lists that rest on it."""
    points, _ = accuracy_curve(session)
    if not points:
        n = len(session.answers.outcomes())
        return (
            f"The accuracy of the model is not known yet ({n} of {FEWEST_OUTCOMES} random texts answered); "
            "this list may be mostly wrong."
        )
    share, low, high = (f"{100 * value:.0f} %" for value in points[-1][1][:3])
    return f"The model is right for about {share} of the texts ({low} to {high})."


def none_suspicious(session: LabellingSession) -> str:
    """Return a sentence for an empty list of suspicious labels: why there are none."""
    found, (points, _) = session.suspects, accuracy_curve(session)
    if found is None or not found.is_telling:
        return "The model is not good enough yet to tell wrong labels from right ones."
    if not points:
        return "No label looks wrong to the model, whose accuracy is not known yet."
    return f"No label looks wrong. {known_accuracy(session)}"


def suspects(session: LabellingSession, k: int = 20) -> "list[Disagreement]":
    """Return the labels that look most wrong, as far as they were neither changed nor kept since.

    The model must be sure of another class; otherwise most labels would be listed that are right.
    Their classes have the names that they have now.
    ``LabellingSession.look_for_suspects`` looks for them in the background.
    """
    with session.lock:
        names, by_text = session.answers.names, session.answers.by_text
        return [
            one._replace(label=names[int(one.label)], predicted=names[int(one.predicted)])
            for one in (session.suspects.found if session.suspects is not None else [])
            if one.row in by_text and by_text[one.row].label == int(one.label) and not by_text[one.row].kept
            if int(one.predicted) in names and one.probability >= SURE
        ][:k]


def surest(session: LabellingSession, name: str, k: int = 20) -> list[tuple[int, float]]:
    """Return the texts without labels of whose class the model is surest, with their probabilities.

    A text whose label was taken back is not among them until there is a model that has not learnt from it.

    Parameters
    ----------
    session : LabellingSession
    name : str
        Name of the class.
    k : int, default=20
        Maximal number of texts.
    """
    with session.lock:
        snapshot, by_text = session.snapshot, set(session.answers.by_text)
        label = session.answers.find_class(name)
    if snapshot is None or not snapshot.is_useful or label not in snapshot.classes:
        return []
    p = snapshot.probabilities[:, snapshot.classes.index(label)]
    copy_of = session.answers.numbers.copy_of
    found: list[tuple[int, float]] = []
    for number in np.argsort(-p, kind="stable").tolist():
        if number in by_text or number in snapshot.labelled or copy_of[number] != number:
            continue
        found.append((number, float(p[number])))
        if len(found) == k:
            break
    return found


def right_among_surest(
    session: LabellingSession, name: str, found: Sequence[tuple[int, float]]
) -> RightAmong | None:
    """Estimate how many of the surest texts of a class belong to it; None as long as nothing is known.

    It rests on the calibrated probabilities, on the texts drawn at random that the model is as sure of, and
    on the texts of such lists that were accepted and asked again.

    Parameters
    ----------
    session : LabellingSession
    name : str
        Name of the class.
    found : sequence of (int, float)
        From ``surest``.
    """
    with session.lock:
        label, snapshot = session.answers.find_class(name), session.snapshot
        if not found or snapshot is None or label is None or session.why_not_accept is not None:
            return None
        checks = session.answers.checks(label)
    return right_among([p for _, p in found], snapshot.calibration or Calibration(), checks)


class FoundTexts(NamedTuple):
    """What a query finds.

    Attributes
    ----------
    numbers : list of int
        Numbers of the first texts.
    total : int
        Number of all texts.
    wanted : list of list of str
        The words and phrases that were searched for, each as a list of words.
    """

    numbers: list[int]
    total: int
    wanted: list[list[str]]

    def near(self, text: str) -> int:
        """Return where an excerpt of a text starts that shows one of the words or phrases.

        Examples
        --------
        >>> found = search(TextNumbers(["a film"]), "film")
        >>> found.near("a film"), found.near("so " * 100 + "film")
        (0, 250)
        """
        first = re.search("|".join(map(_pattern, self.wanted)), _comparable(text))
        return first.start() - BEFORE if first is not None and first.start() > 2 * BEFORE else 0


def search(numbers: TextNumbers, query: str, k: int = FOUND) -> FoundTexts:
    """Return the texts that contain all words of a query, in any order and in any case; of copies, the first.

    Parameters
    ----------
    numbers : TextNumbers
        The texts.
    query : str
        Words, or parts of words. Words in quotation marks are a phrase, which must occur as it is but for
        the blanks between the words.
    k : int, default=50
        Maximal number of texts that are listed.

    Examples
    --------
    >>> texts = TextNumbers(["A great, great film", "a film that is not great", "great fun"])
    >>> search(texts, "film GREAT")
    FoundTexts(numbers=[0, 1], total=2, wanted=[['film'], ['great']])
    >>> search(texts, '"great film"')
    FoundTexts(numbers=[0], total=1, wanted=[['great', 'film']])
    """
    wanted = [words for parts in PARTS.findall(query) if (words := _comparable("".join(parts)).split())]
    words = [part[0] for part in wanted if len(part) == 1]
    phrases = [re.compile(_pattern(part)) for part in wanted if len(part) > 1]
    if not wanted:
        return FoundTexts([], 0, [])
    found = [
        number
        for number, text in enumerate(map(_comparable, numbers.texts))
        if numbers.copy_of[number] == number
        and all(word in text for word in words)
        and all(phrase.search(text) for phrase in phrases)
    ]
    return FoundTexts(found[:k], len(found), wanted)


def _comparable(text: str) -> str:
    return normalize("NFC", text).casefold()


def _pattern(words: list[str]) -> str:
    return r"\s+".join(map(re.escape, words))
