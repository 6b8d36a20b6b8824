"""The folds of a cross-validation, their held-out rows, and the scores of predictors of these rows."""

import warnings
from collections.abc import Callable, Sequence
from functools import cached_property
from numbers import Integral
from typing import Any, NamedTuple, Self

import numpy as np

from dropglm.base.errors import InputError
from dropglm.base.threads import each
from dropglm.core.families import Multinomial
from dropglm.core.l2_weights import L2Weights
from dropglm.core.predictions import MULTILABEL, softmax_predictors
from dropglm.linear.logistic import LogisticRegression
from dropglm.places.candidate_fits import Candidate, FoldFit
from dropglm.places.rows import Fold, TrainingData, TrainingRows
from dropglm.search.blend import (
    PRIORS,
    PRIORS_BESIDE_OTHERS,
    Blend,
    BlendFitter,
    FoldRows,
    Priors,
    predictors_of_shares,
    targets_of,
)
from dropglm.search.naive_bayes import padded_with_zeros, ratios_from_totals
from dropglm.search.scoring import row_scorer_of, scorer_from, takes_weights

FOLDS = 5
# By default folds are drawn 400 / (rows · classes) times, at least once and at most four times: scores of few
# rows are noisy, and fits to them are fast.
ROWS_TIMES_CLASSES = 400
MAX_REPEATS = 4


def stratified_splits(
    y: np.ndarray, n_folds: int, repeats: int = 1, groups: np.ndarray | None = None
) -> list[tuple[np.ndarray, np.ndarray]]:
    """Return the training and test rows of folds in which classes have about the same shares.

    Without groups they are those of scikit-learn's ``StratifiedKFold`` or, if repeated, of
    ``RepeatedStratifiedKFold`` with ``random_state=0``, whose import takes 0.4 s. Groups of several rows are
    distributed first, the largest ones before others, each to the fold that has the smallest shares of its
    classes so far. The other rows then make the folds as even as possible; those of a class are consecutive
    in each fold, unless repeated.

    Parameters
    ----------
    y : ndarray of shape (n,)
        Numbers of the classes.
    n_folds : int
        At most the number of rows, or groups that can be held out, of the largest class.
    repeats : int, default=1
        How often the folds are drawn; they are shuffled if this is more than 1.
    groups : ndarray of shape (n,), optional
        Numbers of the groups, from 0 on. A group of several rows with all rows of a class is in no fold.

    Examples
    --------
    >>> [test.tolist() for _, test in stratified_splits(np.array([0, 0, 1, 1, 0, 0]), 2)]
    [[0, 1, 2], [3, 4, 5]]
    >>> y, groups = np.array([0, 0, 1, 1, 0, 0]), np.array([0, 1, 2, 3, 0, 2])
    >>> [test.tolist() for _, test in stratified_splits(y, 2, groups=groups)]
    [[0, 3, 4], [1, 2, 5]]
    """
    _, first, codes = np.unique(y, return_index=True, return_inverse=True)
    codes = np.argsort(np.argsort(first))[codes]
    units = RowGroups(codes, np.arange(len(y)) if groups is None else groups)
    rng, splits = np.random.RandomState(0), []  # scikit-learn's generator
    for _ in range(repeats):
        shuffle = rng.shuffle if repeats > 1 else lambda _: None
        fold_of, sizes = units.distribute(n_folds, shuffle)
        for code in range(len(first)):
            own = units.is_single & (codes == code)
            before, sizes[:, code] = sizes[:, code].copy(), evened(sizes, code, int(own.sum()))
            of_class = np.arange(n_folds).repeat(sizes[:, code] - before)
            shuffle(of_class)
            fold_of[own] = of_class
        for k in range(n_folds):
            splits.append((np.flatnonzero(fold_of != k), np.flatnonzero(fold_of == k)))
    return splits


class RowGroups:
    """Rows by class and group.

    Parameters
    ----------
    y : ndarray of shape (n,)
        Numbers of the classes, which all occur.
    groups : ndarray of shape (n,)
        Numbers of the groups, from 0 on.

    Attributes
    ----------
    is_single : ndarray of shape (n,)
        Whether each row is the only one of its group.
    is_free : ndarray of shape (n,)
        Whether the group of each row can be held out, since other groups have rows of the same classes.
    group_counts, free_counts : ndarrays of shape (K,)
        Number of groups with rows of each class, and of those among them that can be held out.
    n_mixed : int
        Number of groups with rows of several classes.
    """

    def __init__(self, y: np.ndarray, groups: np.ndarray) -> None:
        self.y, self.groups, self.K = y, groups, int(y.max()) + 1
        # Each pair of a group and a class that occurs, and its number of rows.
        pairs, self._counts = np.unique(groups * self.K + y, return_counts=True)
        self._group, self._class = np.divmod(pairs, self.K)
        self.sizes = np.bincount(groups)
        self.group_counts = np.bincount(self._class, minlength=self.K)
        bound = np.zeros(len(self.sizes), np.bool_)
        bound[self._group[self.group_counts[self._class] == 1]] = True
        self.free_counts = np.bincount(self._class[~bound[self._group]], minlength=self.K)
        self.is_single, self.is_free = self.sizes[groups] == 1, ~bound[groups]
        self.n_mixed = int(np.sum(np.bincount(self._group) > 1))
        self._bound = bound

    def distribute(
        self, n_folds: int, shuffle: Callable[[np.ndarray], None]
    ) -> tuple[np.ndarray, np.ndarray]:
        """Return the folds of the groups of several rows, and their rows by fold and class.

        The fold of other rows, and of groups that cannot be held out, is -1.
        """
        rows_of_class = np.bincount(self.y, minlength=self.K)
        fold_of_group, sizes = np.full(len(self.sizes), -1), np.zeros((n_folds, self.K), np.intp)
        several = np.flatnonzero((self.sizes > 1) & ~self._bound)
        shuffle(several)
        starts = np.searchsorted(self._group, several)
        stops = np.searchsorted(self._group, several, side="right")
        totals = np.zeros(n_folds, np.intp)
        for place in np.argsort(-self.sizes[several], kind="stable"):
            classes = self._class[starts[place] : stops[place]]
            counts = self._counts[starts[place] : stops[place]]
            # What a fold adds to the sum of all squared shares, half of the part that depends on the fold.
            growth = sizes[:, classes] @ (counts / rows_of_class[classes] ** 2)
            fold = np.lexsort((totals, growth))[0]
            fold_of_group[several[place]] = fold
            sizes[fold, classes] += counts
            totals[fold] += counts.sum()
        return fold_of_group[self.groups], sizes

    def with_all_classes(self, held_out: np.ndarray) -> np.ndarray:
        """Return the rows to hold out, without the groups that must stay so that every class is trained on.

        Of several groups that would do, the smallest stays.
        """
        held_out = held_out & self.is_free
        while True:
            missing = np.bincount(self.y[~held_out], minlength=self.K) == 0
            if not missing.any():
                return held_out
            able = self._group[self._class == missing.argmax()]
            held_out = held_out & (self.groups != able[self.sizes[able].argmin()])


def evened(sizes: np.ndarray, code: int, count: int) -> np.ndarray:
    """Return the rows of a class in each fold after ``count`` more, as even as possible.

    Of folds with as many rows of the class, those with fewer rows of all classes come first. With no rows to
    begin with, and one class after the other, they are those of scikit-learn's ``StratifiedKFold``.

    Parameters
    ----------
    sizes : ndarray of shape (n_folds, K)
        Number of rows of each class in each fold so far.
    code : int
        Number of the class.
    count : int

    Returns
    -------
    ndarray of shape (n_folds,)

    Examples
    --------
    >>> evened(np.array([[5, 0], [1, 0], [2, 0]]), 0, 4)
    array([5, 4, 3])
    """
    own = sizes[:, code].copy()
    order = np.argsort(own, kind="stable")
    # With the first k folds at the level of the next one, so many rows are needed.
    needed = np.arange(len(own)) * own[order] - np.cumsum(own[order]) + own[order]
    lowest = order[: np.searchsorted(needed, count, side="right")]
    level, extra = divmod(count + int(own[lowest].sum()), len(lowest))
    first = lowest[np.lexsort((lowest, sizes.sum(axis=1)[lowest]))]
    own[lowest] = level
    own[first[:extra]] += 1
    return own


def group_numbers(groups: np.ndarray) -> np.ndarray:
    """Return the number of each row's group, from 0 on in the order of their first rows.

    Examples
    --------
    >>> group_numbers(np.array(["b", "a", "b", 3], object))
    array([0, 1, 0, 2])
    """
    numbers: dict[Any, int] = {}
    return np.array([numbers.setdefault(label, len(numbers)) for label in groups.tolist()], np.intp)


def fold_count(cv: int, units: RowGroups, classes: np.ndarray, *, every_class: bool) -> int:
    """Return the number of folds, limited by the largest class, or by the smallest if folds need every class.

    The size of a class is the number of its rows or, with groups, of its groups that can be held out.

    Parameters
    ----------
    cv : int
    units : RowGroups
    classes : ndarray of shape (K,)
    every_class : bool
        Whether the score of a fold needs rows of every class.

    Raises
    ------
    ValueError
        If a class has too few rows or groups.
    """
    rows, groups = np.bincount(units.y, minlength=len(classes)), units.free_counts
    advice = ", or choose the settings by log loss or accuracy"
    if rows.max() < 2 or (every_class and rows.min() < 2):
        raise InputError(
            f"Class {classes[rows.argmin()]!s} has only one row, too few for cross-validation; "
            f"add rows of this class{'' if rows.max() < 2 else advice}."
        )
    if groups.max() < 2:
        raise InputError(
            "There are too few groups of rows, such as copies of a text, for cross-validation: no class has "
            "two that can be held out while all classes stay in the training rows; add other rows, or use "
            "smaller groups."
        )
    if every_class and groups.min() < 2:
        raise InputError(
            f"Class {classes[groups.argmin()]!s} has fewer than two groups that can be held out, too few for "
            f"cross-validation; add rows of this class in other groups{advice}."
        )
    return min(cv, int(groups.min() if every_class else groups.max()))


def _splits(cv: Any, data: TrainingData) -> list[Any]:
    """Return the training and test rows of a splitter or an iterable, or raise scikit-learn's error."""
    from sklearn.model_selection import check_cv

    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "The least populated class", UserWarning)
        warnings.filterwarnings("ignore", "The number of unique classes", UserWarning)
        rows = np.zeros((len(data.y), 1)) if data.X is None else data.X
        return list(check_cv(cv, data.y, classifier=True).split(rows, data.y, data.groups))


def repeats_of(n: int, K: int) -> int:
    """Return how often folds are drawn by default: several times if there are few rows."""
    return int(np.clip(ROWS_TIMES_CLASSES // (n * K), 1, MAX_REPEATS))


def occurring(data: TrainingData) -> tuple[np.ndarray, np.ndarray]:
    """Return names and numbers of the classes by which folds are stratified, without those of no row.

    These are the likeliest class of each row or, of several labels, the rarest one.
    """
    found, strata = np.unique(data.y, return_inverse=True)
    names = np.array([*data.classes.tolist(), "without labels"], object)  # the number of rows without any
    return names[found], strata


def folds_from(cv: Any, data: TrainingData, *, every_class: bool) -> list[Fold]:
    """Return the folds that scikit-learn's ``cv`` describes.

    Parameters
    ----------
    cv : int, splitter, iterable or None
        A number of folds is limited by the largest class or, if every class has to be in every fold, by the
        smallest. The only row of a class, or the only group with rows of it, is then never held out, since a
        fit needs all classes. None means five folds; if there are few rows, they are shuffled and drawn
        several times. A splitter is given the groups.
    data : TrainingData
    every_class : bool
        Whether the score of a fold needs rows of every class.

    Returns
    -------
    list of Fold
    """
    n, K = len(data.y), len(data.classes)
    repeats, units = repeats_of(n, K) if cv is None else 1, None
    cv = FOLDS if cv is None else cv
    names, strata = (data.classes, data.y) if data.membership is None else occurring(data)
    if isinstance(cv, Integral):
        groups = np.arange(n) if data.groups is None else group_numbers(data.groups)
        units = RowGroups(strata, groups)
        cv = fold_count(int(cv), units, names, every_class=every_class)
    drawn = units is not None and cv > 1
    splits = stratified_splits(strata, cv, repeats, groups) if drawn else _splits(cv, data)
    folds, memberships = [], data.memberships
    for number, (train, test) in enumerate(splits):
        train, test = (np.arange(n)[rows] for rows in (train, test))
        if units is not None:
            held_out = np.zeros(n, np.bool_)
            held_out[test] = True
            held_out = units.with_all_classes(held_out)
            train, test = np.flatnonzero(~held_out), np.flatnonzero(held_out)
        fold = Fold(np.bincount(train, minlength=n).astype(np.float64), test)
        weighted = (fold.times * data.weights) @ memberships
        if not (weighted.all() or data.multilabel):
            raise InputError(
                f"Split {number} has no row of class {data.classes[weighted.argmin()]} to train on; use "
                "fewer folds, or pass other splits as cv."
            )
        if not data.sample_weights[test].any():
            raise InputError(f"Split {number} has no row of positive weight to score.")
        folds.append(fold)
    if not folds:
        raise InputError("cv has no folds.")
    return folds


class CandidateResult(NamedTuple):
    """The results of a candidate: its fits, how they are blended, and the scores by fold.

    A candidate that has dropped out has fits to the first folds only; its scores of the others are NaN.
    """

    fits: tuple[FoldFit, ...]
    blend: Blend
    eta: np.ndarray  # blended predictors of the held-out rows of these folds
    scores: np.ndarray
    row_scores: np.ndarray | None = None  # of the same rows, if the score is a mean over rows

    def without_coefficients(self) -> Self:
        """Return the outcome without the coefficients of its fits, which need memory."""
        return self._replace(fits=tuple(fit._replace(by_problem=()) for fit in self.fits))


class HeldOutRows:
    """The held-out rows, fold by fold.

    Predictors are those of all held-out rows, or of the held-out rows of the first folds.

    Parameters
    ----------
    rows : TrainingRows
        All labelled rows, prepared for the fits to the folds.
    estimator : LogisticRegressionCV
        With ``scoring``, ``calibrate`` and ``naive_bayes``: how predictors are blended and scored. If the
        score is a mean over rows, each row is scored, else the scorer of scikit-learn is called.
    priors : Priors or None
        Those of the two factors of the blend, for candidates that use no embeddings; None means those for the
        number of blocks of a candidate.
    encoders : int
        How many of the blocks, the last ones, are embeddings.
    """

    def __init__(
        self, rows: TrainingRows, estimator: Any, priors: Priors | None = None, encoders: int = 0
    ) -> None:
        self.rows, self.features, self.priors = rows, rows.features, priors
        count = len(rows.features.widths)
        self.embeddings = frozenset(range(count - encoders, count))
        self.data = data = rows.data
        self.folds = folds = rows.folds
        self.scorer = scorer_from(estimator.scoring, estimator)
        self.row_scorer = row_scorer_of(estimator.scoring)
        self.weighted = bool((data.sample_weights != 1.0).any()) and takes_weights(self.scorer)
        self.calibrate, self.naive_bayes = estimator.calibrate, estimator.naive_bayes
        self.row_indices = np.concatenate([fold.test for fold in folds])
        self.ends = np.cumsum([len(fold.test) for fold in folds])
        self.targets = targets_of(data).take(self.row_indices)
        times = np.bincount(self.row_indices, minlength=len(data.y))
        self.several_times = bool(times.max(initial=0) > 1)  # whether a row is held out by several folds
        self.weights = (data.weights / np.maximum(times, 1))[self.row_indices]  # a row counts once
        self._score_weights = self.score_weights[self.row_indices]
        self._starts = np.concatenate([[0], self.ends[:-1]])
        self._weight_sums = np.add.reduceat(self._score_weights, self._starts)
        self._nu: list[np.ndarray] = []  # naive Bayes' predictors, fold by fold
        self.softmax = rows.family.several or self.calibrate or self.naive_bayes or data.multilabel
        self.identity = identity_model(data.classes, softmax=self.softmax, multilabel=data.multilabel)
        if data.membership is not None and not data.multilabel and self.row_scorer is None:
            raise InputError(
                "Probabilities of labels need a score that is a mean over rows; use scoring='neg_log_loss'."
            )

    def naive_bayes_ratios(self, folds: Sequence[int | None]) -> list[np.ndarray]:
        """Return naive Bayes' log ratios of the rows that each fold trains on; None means all rows."""
        _, columns, _ = self.features.blocks[0]
        d = sum(own.stop - own.start for _, own, _ in self.features.blocks)
        how: Any = {"threads": self.features.threads, "multilabel": self.data.multilabel}
        return [
            padded_with_zeros(ratios_from_totals(totals, **how), columns, d)
            for totals in self.rows.class_totals(folds)
        ]

    def prepare(self, stop: int) -> None:
        """Compute naive Bayes' predictors of the held-out rows of the first folds, without their labels."""
        folds = range(len(self._nu), stop if self.naive_bayes else 0)
        if folds:
            ratios = [own.astype(self.features.dtype) for own in self.naive_bayes_ratios(folds)]
            self._nu += self.rows.collect_predictors(map(self.rows.held_out_predictors, folds, ratios))

    def outcomes(self, items: Sequence[tuple[Candidate, tuple[FoldFit, ...]]]) -> list[CandidateResult]:
        """Return the outcomes of candidates, given their fits to the same first folds."""
        stop = len(items[0][1])
        n = int(self.ends[stop - 1])
        adding = {self._adds_nu(candidate.l2_weights) for candidate, _ in items}
        nu = {adds: np.concatenate(self._nu[:stop]) if adds else None for adds in adding}
        targets = self.targets.take(slice(n))
        blends = {adds: BlendFitter(nu[adds], targets, self.weights[:n]) for adds in adding}

        def outcome(item: tuple[Candidate, tuple[FoldFit, ...]]) -> CandidateResult:
            """Blend the held-out predictors of a candidate, and score them."""
            candidate, fits = item
            adds = self._adds_nu(candidate.l2_weights)
            eta = np.concatenate([fit.eta for fit in fits])
            priors = self._priors_of(candidate.l2_weights)
            blend = blends[adds].fit(eta, calibrate=self.calibrate, priors=priors)
            eta = blend(eta, nu[adds])
            row_scores = self.row_scores(eta)
            return CandidateResult(fits, blend, eta, self.scores(eta, row_scores), row_scores)

        return each(outcome, items, self.features.threads)

    @cached_property
    def fold_rows(self) -> FoldRows:
        """The held-out rows by fold."""
        return FoldRows.of([fold.test for fold in self.folds], self.weights)

    def honest_predictors(self, candidate: Candidate, fits: Sequence[FoldFit]) -> np.ndarray:
        """Return a candidate's blended predictors, with factors that do not know a row's label.

        ``fits`` are those to all folds.
        """
        nu = np.concatenate(self._nu) if self._adds_nu(candidate.l2_weights) else None
        eta = np.concatenate([fit.eta for fit in fits])
        blend = BlendFitter(nu, self.targets, self.weights).cross_fit(
            eta,
            self.fold_rows,
            calibrate=self.calibrate,
            priors=self._priors_of(candidate.l2_weights),
        )
        return blend(eta, nu)

    def _adds_nu(self, l2_weights: L2Weights) -> bool:
        """Return whether naive Bayes, which is of the first block, is added to a candidate's predictors."""
        return self.naive_bayes and 0 not in l2_weights.left_out

    def _priors_of(self, l2_weights: L2Weights) -> Priors:
        if self.priors is not None and self.embeddings <= l2_weights.left_out:
            return self.priors
        blocks = len(self.features.widths) - len(l2_weights.left_out)
        return PRIORS_BESIDE_OTHERS if blocks > 1 else PRIORS

    @property
    def score_weights(self) -> np.ndarray:
        """Weights of the labelled rows within the score of a fold."""
        return self.data.sample_weights if self.weighted else np.ones(len(self.data.y))

    def scores(self, eta: np.ndarray, row_scores: np.ndarray | None = None) -> np.ndarray:
        """Return the score of every fold; NaN for folds without predictors.

        ``row_scores`` are those of the same rows, if they are known.
        """
        scores = np.full(len(self.folds), np.nan)
        n, count = len(eta), int(np.searchsorted(self.ends, len(eta), side="right"))
        if row_scores is None:
            row_scores = self.row_scores(eta)
        if row_scores is not None:
            sums = np.add.reduceat(self._score_weights[:n] * row_scores, self._starts[:count])
            scores[:count] = sums / self._weight_sums[:count]
            return scores
        for fold, part in enumerate(np.split(eta, self.ends[: count - 1])):
            rows = self.folds[fold].test
            weights = {"sample_weight": self.data.sample_weights[rows]} if self.weighted else {}
            many = self.data.multilabel
            y = self.data.memberships[rows].astype(int) if many else self.data.classes[self.data.y[rows]]
            scores[fold] = self.scorer(self.identity, part, y, **weights)
        return scores

    def row_scores(self, eta: np.ndarray) -> np.ndarray | None:
        """Return the score of every row, if the score is their mean."""
        if self.row_scorer is None:
            return None
        return self.row_scorer(
            softmax_predictors(eta, softmax=self.softmax), self.targets.take(slice(len(eta)))
        )

    def accuracy(self, outcome: CandidateResult, folds: int) -> float:
        """Return the share of the held-out rows of the first folds with the right prediction.

        A row counts once.
        """
        eta = outcome.eta[: self.ends[folds - 1]]
        if not self.several_times:
            return float(self.targets.take(slice(len(eta))).hits(eta).mean())
        return self.accuracy_of(self.probabilities(eta))

    def score_of_shares(self) -> float | None:
        """Return the mean score of predicting the shares of the classes in a fold's training rows."""
        if self.row_scorer is None:
            return None
        predictors = []
        for number, fold in enumerate(self.folds):
            totals = self.rows.weights(number) @ self.rows.class_columns
            own = predictors_of_shares(totals, multilabel=self.data.multilabel)
            predictors.append(np.tile(own, (len(fold.test), 1)))
        eta = np.concatenate(predictors)
        return float(self.scores(eta, self.row_scorer(eta, self.targets)).mean())

    def probabilities(self, eta: np.ndarray) -> np.ndarray:
        """Return the probabilities of each labelled row when it was held out; NaN if it never was."""
        total, times = self._log_probabilities(eta)
        with np.errstate(invalid="ignore"):
            mean = total / np.where(times, times, np.nan)[:, None]
            return np.exp(mean) if self.data.multilabel else Multinomial.mean(mean)

    def hits(self, probabilities: np.ndarray) -> np.ndarray:
        """Return the probability that each row's prediction is right; NaN if it was never held out."""
        known = ~np.isnan(probabilities[:, 0])
        found = np.full(len(known), np.nan)
        p = probabilities[known]
        eta = p - 0.5 if self.data.multilabel else p if p.shape[1] > 2 else p[:, 1:] - p[:, :1]
        found[known] = targets_of(self.data).take(known).hits(eta)
        return found

    def accuracy_of(self, probabilities: np.ndarray) -> float:
        """Return the weighted share of right predictions among the rows held out, each counted once."""
        hits = self.hits(probabilities)
        held_out = ~np.isnan(hits)
        return float(np.average(hits[held_out], weights=self.data.sample_weights[held_out]))

    def _log_probabilities(self, eta: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return the sums of the log probabilities of each labelled row, and how often it was held out."""
        log_p = self.identity.predict_log_proba(eta)
        rows = self.row_indices[: len(eta)]
        times = np.bincount(rows, minlength=len(self.data.y))
        total = np.zeros((len(self.data.y), log_p.shape[1]))
        if self.several_times:
            np.add.at(total, rows, log_p)
        else:
            total[rows] = log_p
        return total, times


def identity_model(classes: np.ndarray, *, softmax: bool, multilabel: bool = False) -> LogisticRegression:
    """Return a model that is given predictors instead of features, and returns them unchanged.

    With it, any scorer of scikit-learn scores predictors. ``softmax`` says whether the probabilities of more
    than two classes are softmax(η); several labels have σ(η) each.
    """
    K = 1 if len(classes) == 2 and not multilabel else len(classes)
    model = LogisticRegression()
    model.multi_class_ = MULTILABEL if multilabel else "multinomial" if softmax else "ovr"
    model.classes_, model.n_features_in_ = classes, K
    model.coef_, model.intercept_ = np.eye(K), np.zeros(K)
    return model
