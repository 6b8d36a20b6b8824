"""The last step of a search: predictors are scaled, and those of naive Bayes added, to fit held-out rows.

    η' = t η + c ν

η are the predictors of a model with noise, ν = X r those of naive Bayes. Both are linear in the features, so
their blend is a linear model as well: β' = t β + c r. t and c minimise the log loss of held-out rows, whose η
and ν come from fits without them. t corrects the size of η: noise makes predictors too small, especially
those of one class against the rest. c is the share of naive Bayes, which is the better of the two if there
are few labels.

Factors that were fitted to the rows that they are judged by look better than they are. So every fold has
factors of its own, fitted to the rows that other folds hold out (``CrossFit``); these give the scores that
are reported.
"""

import math
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple, Self

import numpy as np

from dropglm.core.families import Logistic
from dropglm.core.maths.compile import fused_kernel
from dropglm.core.maths.softplus import exp_of_nonpositive, softplus
from dropglm.core.objective import Coefficients
from dropglm.core.predictions import MULTILABEL, all_classes
from dropglm.places.rows import TrainingData


class Prior(NamedTuple):
    """Normal prior of a factor: its mean, the inverse of its variance, and a lower bound of the factor."""

    mean: float
    strength: float
    smallest: float


# Of t without ν, or if the model has features besides those of ν: it is expected to be right as it is.
PRIOR_ALONE = Prior(mean=1.0, strength=1.0, smallest=0.15)


class Priors(NamedTuple):
    """Priors of the two factors: of t, of c times the spread of ν, and of t where there is no ν."""

    scale: Prior
    naive_bayes: Prior
    alone: Prior = PRIOR_ALONE


# The strength matters where few rows are held out: with 50, the log loss of seven sets of texts is 0.01
# smaller than with strength 1. The lower bound: where held-out rows show no gain, the intercept alone should
# not decide the class.
HALF = Prior(mean=0.5, strength=10.0, smallest=0.15)
PRIORS = Priors(HALF, HALF)
# Naive Bayes need not be of any use to a model with embeddings. With 100 labels and embeddings of 384
# numbers, the log loss of rt is 0.604; with strength 10 it is 0.608 (three splits).
PRIORS_BESIDE_OTHERS = Priors(PRIOR_ALONE, Prior(mean=0.0, strength=30.0, smallest=0.0))
# ν with a smaller spread is rounding error: held-out rows share no informative feature with the others.
SMALLEST_SPREAD = 1e-6
MAX_NEWTON = 50  # iterations; five are usual


class Targets(NamedTuple):
    """The labels that predictors of rows are compared with.

    Attributes
    ----------
    y : ndarray of shape (n,), or of the shape of the predictors
        Numbers of the classes; or probabilities of the classes, of two classes that of the second; or, if
        rows have several labels, 1 for those that they have.
    multilabel : bool
        Whether each column of the predictors is that of a label, and a row has any number of these.
    """

    y: np.ndarray
    multilabel: bool = False

    @classmethod
    def of(cls, y: "np.ndarray | Targets") -> Self:
        """Return targets as they are, or those with these numbers or probabilities."""
        return cls(*y) if isinstance(y, Targets) else cls(y)

    def losses(self, eta: np.ndarray) -> np.ndarray:
        """Return the log loss of each row; of several labels, their mean."""
        if self.multilabel:
            return np.mean(Logistic.log_partition(eta) - self.y * eta, axis=1)
        return losses_of(eta, self.y)

    def hits(self, eta: np.ndarray) -> np.ndarray:
        """Return the probability that the prediction for each row is right; 1 or 0 if labels are certain."""
        if self.multilabel:
            return ((eta > 0.0) == self.y).all(axis=1).astype(np.float64)
        best = eta[:, 0] > 0.0 if eta.shape[1] == 1 else eta.argmax(axis=1)
        if self.y.ndim == 1:
            return (best == self.y).astype(np.float64)
        own = all_shares(self.y)
        return own[np.arange(len(own)), best.astype(np.intp)]

    def take(self, rows: Any) -> Self:
        """Return those of some rows."""
        return self._replace(y=self.y[rows])

    def label(self, k: int) -> "Targets":
        """Return those of one of several labels."""
        return Targets(self.y[:, [k]])


def targets_of(data: TrainingData) -> Targets:
    """Return the labels of all labelled rows, in the shape of their predictors if they are not certain."""
    if data.membership is None:
        return Targets(data.y)
    one = len(data.classes) == 2 and not data.multilabel
    return Targets(data.membership[:, 1:] if one else data.membership, data.multilabel)


def all_shares(y: np.ndarray) -> np.ndarray:
    """Return the probabilities of all classes, given those of all or of the second of two; shape (n, K)."""
    return np.hstack([1.0 - y, y]) if y.shape[1] == 1 else y


class Blend(NamedTuple):
    """The factors t of the model's predictors and c of naive Bayes'; arrays with one number per label."""

    scale: Any = 1.0
    naive_bayes: Any = 0.0

    def __call__(self, eta: np.ndarray, nu: np.ndarray | None) -> np.ndarray:
        """Return t η + c ν; ν may be None if it is not part of the blend."""
        return self.scale * eta if nu is None else self.scale * eta + self.naive_bayes * nu

    def coefficients(self, model: Coefficients, other: Coefficients | None, first: int = 0) -> Coefficients:
        """Return those of t η + c ν, given those of η, and of ν for the features from the first one on.

        β has the shape (d, K).
        """
        beta, intercept = model
        scaled, moved = self.scale * beta, self.scale * intercept
        if other is not None:
            r, by_intercept = other
            scaled[first : first + len(r)] += self.naive_bayes * r
            moved = moved + self.naive_bayes * by_intercept
        return scaled.astype(beta.dtype, copy=False), moved.astype(intercept.dtype)

    def apply_to(self, model: Any, ratios: np.ndarray | None) -> None:
        """Blend the coefficients of a fitted model with ratios of its first features, of shape (K, d')."""
        other = None if ratios is None else (ratios.T, np.zeros_like(model.intercept_))
        beta, model.intercept_ = self.coefficients((model.coef_.T, model.intercept_), other)
        model.coef_ = beta.T
        if model.multi_class_ != MULTILABEL:
            model.multi_class_ = "multinomial"


class CrossFit(NamedTuple):
    """A blend that was fitted to all held-out rows, and one per fold that was fitted without its rows."""

    blend: Blend
    by_fold: tuple[Blend, ...]
    ends: np.ndarray  # where the held-out rows of each fold end

    def __call__(self, eta: np.ndarray, nu: np.ndarray | None) -> np.ndarray:
        """Return t η + c ν of all held-out rows, with the factors that do not know a row's label."""
        parts = [None] * len(self.ends) if nu is None else np.split(nu, self.ends[:-1])
        by_fold = zip(self.by_fold, np.split(eta, self.ends[:-1]), parts, strict=True)
        return np.concatenate([blend(own, part) for blend, own, part in by_fold])


class BlendFitter:
    """Finds the blends of several models with the least loss of the same held-out rows.

        minimise  Σ_i w_i loss_i(o + t η_i + c ν_i) + 5 (t - ½)² + 5 (s c - ½)²  over t, s c ≥ 0.15,

    where s is the standard deviation of ν over rows and classes, which makes the prior independent of scale.
    These are the priors by default. Without ν, the prior of t is ½ (t - 1)².

    Parameters
    ----------
    nu : ndarray of shape (n, K), or (n, 1) for two classes, or None
        Predictors of naive Bayes for held-out rows; if None or the same for all classes, c = 0.
    y : ndarray of shape (n,), or Targets
        Numbers of the classes, or what else the labels are. Several labels have blends of their own.
    weights : ndarray of shape (n,)
    offset : ndarray of shape (K,), or (1,) for two classes, optional
        o, which is added to all predictors; by default 0.
    spread : float, optional
        s; by default the standard deviation of ν.

    Examples
    --------
    >>> import numpy as np
    >>> eta, y = np.tile([[1.0], [-1.0]], (5000, 1)), np.tile([1, 0], 5000)
    >>> y[:1000] = 1 - y[:1000]  # nine in ten are right: log 9 = 2.2
    >>> round(BlendFitter(None, y, np.ones(10000)).fit(eta, calibrate=True).scale, 2)
    2.2
    """

    def __init__(
        self,
        nu: np.ndarray | None,
        y: np.ndarray | Targets,
        weights: np.ndarray,
        offset: np.ndarray | None = None,
        spread: float | None = None,
    ) -> None:
        targets = Targets.of(y)
        self.by_label: list[BlendFitter] = []
        if targets.multilabel:
            self.by_label = [
                BlendFitter(
                    None if nu is None else nu[:, [k]],
                    targets.label(k),
                    weights,
                    None if offset is None else offset[[k]],
                    spread,
                )
                for k in range(targets.y.shape[1])
            ]
            return
        self.y, self.weights, self.offset = targets.y, weights, offset
        found = 0.0 if nu is None else predictor_std(nu) if spread is None else spread
        self.spread = found if found > SMALLEST_SPREAD else 0.0
        self.nu = nu if self.spread else None

    def fit(
        self, eta: np.ndarray, *, calibrate: bool, priors: Priors = PRIORS, weights: np.ndarray | None = None
    ) -> Blend:
        """Return the blend of a model with predictors η, shaped like ν; unless ``calibrate``, t = 1.

        ``weights`` are those of the rows, if others than for all fits.
        """
        if self.by_label:
            how: Any = {"calibrate": calibrate, "priors": priors, "weights": weights}
            blends = (one.fit(eta[:, [k]], **how) for k, one in enumerate(self.by_label))
            return Blend(*map(np.array, zip(*blends, strict=True)))
        adds_nu = self.nu is not None
        used = [priors.scale if adds_nu else priors.alone] * calibrate + [priors.naive_bayes] * adds_nu
        if not used:
            return Blend()
        weights = self.weights if weights is None else weights
        spread = self.spread or 1.0
        rows = BlendedRows(eta, self.nu, self.y, weights, self.offset, calibrate=calibrate, spread=spread)
        factors = best_factors(rows.loss, used)
        return Blend(factors[0] if calibrate else 1.0, factors[-1] / spread if adds_nu else 0.0)

    def cross_fit(
        self, eta: np.ndarray, folds: "FoldRows", *, calibrate: bool, priors: Priors = PRIORS
    ) -> CrossFit:
        """Return the blend of all held-out rows, and those that are fitted without the rows of a fold."""
        fits = (self.fit(eta, calibrate=calibrate, priors=priors, weights=w) for w in folds.weights_without)
        whole = self.fit(eta, calibrate=calibrate, priors=priors)
        return CrossFit(whole, tuple(fits), folds.ends)


class FoldRows(NamedTuple):
    """The held-out rows of a cross-validation, fold by fold.

    Attributes
    ----------
    ends : ndarray of shape (folds,)
        Where the rows of each fold end.
    weights_without : list of ndarray
        For each fold, the weights of all held-out rows, 0 for those that this fold holds out, also where
        another fold holds them out again.
    """

    ends: np.ndarray
    weights_without: list[np.ndarray]

    @classmethod
    def of(cls, rows: Sequence[np.ndarray], weights: np.ndarray) -> "FoldRows":
        """Return them, given the numbers of the rows that each fold holds out, and all weights.

        Examples
        --------
        >>> FoldRows.of([np.array([0, 1]), np.array([2]), np.array([1, 2])], np.ones(5)).weights_without
        [array([0., 0., 1., 0., 1.]), array([1., 1., 0., 1., 0.]), array([1., 0., 0., 0., 0.])]
        """
        every = np.concatenate(rows)
        return cls(np.cumsum([len(own) for own in rows]), [weights * ~np.isin(every, own) for own in rows])


# The strength is flat from 30 on: log loss .8600 and .8607 with 30 and 100, .8608 with 1 (100 labels with
# unlabelled texts, means over ten sets).
SHARE = Prior(mean=0.5, strength=30.0, smallest=0.0)
COMBINED = Priors(SHARE, SHARE, alone=SHARE._replace(mean=1.0))


class Combination(NamedTuple):
    """One or two models and the shares of the classes, combined: o + Σ_v t_v (η_v - o).

    o are the logarithms of the shares of the classes. With t = 0, where no model is better than these, they
    are what is predicted. t minimises the log loss of held-out rows.

    Attributes
    ----------
    factors : tuple of float
        t_v.
    offset : ndarray of shape (K,), or (1,) for two classes
        o.
    eta : ndarray
        The predictors of held-out rows, with factors that do not know a row's label.
    """

    factors: tuple[float, ...]
    offset: np.ndarray
    eta: np.ndarray

    @classmethod
    def of(
        cls,
        models: Sequence[np.ndarray],
        y: np.ndarray | Targets,
        weights: np.ndarray,
        folds: FoldRows,
        totals: np.ndarray,
    ) -> "Combination":
        """Combine one or two models, given their predictors of held-out rows.

        ``totals`` are the weights of all labelled rows of each class, some of which may never be held out; if
        rows have several labels, the last one is the weight of all rows.
        """
        o = predictors_of_shares(totals, multilabel=Targets.of(y).multilabel)
        first, second = models[0] - o, models[1] - o if len(models) > 1 else None
        fitter = BlendFitter(second, y, weights, o, spread=1.0)
        fit = fitter.cross_fit(first, folds, calibrate=True, priors=COMBINED)
        return cls(fit.blend[: len(models)], o, o + fit(first, second))

    @property
    def by_row(self) -> list[np.ndarray]:
        """The factors of rows of coefficients: one for all, or one per label."""
        return [np.reshape(factor, (-1, 1)) for factor in self.factors]

    def intercept(self, intercepts: Sequence[np.ndarray]) -> np.ndarray:
        """Return that of the combination, given those of the models."""
        parts = [t * own for t, own in zip(self.factors, intercepts, strict=True)]
        return sum(parts, (1.0 - sum(self.factors)) * self.offset)


def predictors_of_shares(totals: np.ndarray, *, multilabel: bool = False) -> np.ndarray:
    """Return the predictors that are the shares of the classes, given the weights of their rows.

    Of several labels, the last weight is that of all rows. A label that no row has, or each, counts as if
    half a row were different.

    Examples
    --------
    >>> np.exp(predictors_of_shares(np.array([1.0, 3.0])))
    array([3.])
    >>> np.exp(predictors_of_shares(np.array([1.0, 3.0, 4.0, 4.0]), multilabel=True)).round(3)
    array([0.333, 3.   , 7.   ])
    """
    if multilabel:
        n = totals[-1]
        own = np.clip(totals[:-1], 0.5, n - 0.5)
        return np.asarray(np.log(own / (n - own)))
    shares = np.log(totals / totals.sum())
    return np.asarray(shares[1:] - shares[:1] if len(totals) == 2 else shares)


class ValueGradientHessian(NamedTuple):
    """Value, gradient and Hessian of a function at a point.

    They are plain numbers: with two factors, NumPy would take longer than the loss of 25,000 rows.
    """

    value: float
    gradient: list[float]
    hessian: list[list[float]]


Loss = Callable[[Sequence[float]], ValueGradientHessian]


def best_factors(loss: Loss, priors: Sequence[Prior]) -> list[float]:
    """Return the factors that minimise a loss and the penalties of their priors, one of each."""
    if not priors:
        return []

    def penalised(factors: Sequence[float]) -> ValueGradientHessian:
        value, gradient, hessian = loss(factors)
        deviations = [factor - prior.mean for factor, prior in zip(factors, priors, strict=True)]
        slopes = [prior.strength * deviation for prior, deviation in zip(priors, deviations, strict=True)]
        return ValueGradientHessian(
            value + 0.5 * _dot(slopes, deviations),
            [own + slope for own, slope in zip(gradient, slopes, strict=True)],
            [
                [own + prior.strength * (j == k) for j, own in enumerate(row)]
                for k, (row, prior) in enumerate(zip(hessian, priors, strict=True))
            ],
        )

    smallest = [prior.smallest for prior in priors]
    return _minimum(penalised, [max(prior.mean, prior.smallest) for prior in priors], smallest)


def _minimum(function: Loss, start: list[float], smallest: list[float]) -> list[float]:
    """Return the minimum of a strictly convex function with lower bounds, by Newton's method."""
    x, here = start, function(start)
    for _ in range(MAX_NEWTON):
        free = [k for k in range(len(x)) if x[k] > smallest[k] or here.gradient[k] < 0.0]
        if not free:
            break
        step = _newton_step(here, free)
        # A full step that is clipped at a bound still descends, once it is short enough.
        for halvings in range(MAX_NEWTON):
            ends = (a + 0.5**halvings * b for a, b in zip(x, step, strict=True))
            moved = [max(end, low) for end, low in zip(ends, smallest, strict=True)]
            there = function(moved)
            slope = _dot(here.gradient, [b - a for a, b in zip(x, moved, strict=True)])
            rounding = 1e-13 * abs(here.value)
            if there.value <= here.value + 1e-4 * slope + rounding:
                break
        # The error after a step is about the square of that before.
        decrement, x, here = -_dot(here.gradient, step), moved, there
        if not decrement > 1e-9 * abs(here.value):
            break
    return x


def _newton_step(here: ValueGradientHessian, free: list[int]) -> list[float]:
    """Return the Newton step of one or two factors, of which only those that are free move."""
    _, g, h = here
    if len(free) == 2:
        determinant = h[0][0] * h[1][1] - h[0][1] * h[1][0]
        return [
            (h[0][1] * g[1] - h[1][1] * g[0]) / determinant,
            (h[1][0] * g[0] - h[0][0] * g[1]) / determinant,
        ]
    return [-g[k] / h[k][k] if k in free else 0.0 for k in range(len(g))]


def _dot(a: Sequence[float], b: Sequence[float]) -> float:
    return sum(x * y for x, y in zip(a, b, strict=True))


class BlendedRows:
    """Held-out rows with predictors o + t η + c ν, and their loss.

    Parameters
    ----------
    eta, nu, y, weights, offset
        As for ``BlendFitter``; η are the predictors of a model.
    calibrate : bool
        Whether t is one of the factors; else t = 1.
    spread : float
        s; the other factor, if there is ν, is s c.

    Attributes
    ----------
    losses : ndarray of shape (n,)
        The losses of the rows where ``loss`` was evaluated last.
    """

    def __init__(
        self,
        eta: np.ndarray,
        nu: np.ndarray | None,
        y: np.ndarray,
        weights: np.ndarray,
        offset: np.ndarray | None = None,
        *,
        calibrate: bool,
        spread: float = 1.0,
    ) -> None:
        self._calibrate, self._adds_nu = calibrate, nu is not None
        self._spread = 1.0 if nu is None else spread
        parts = [np.ascontiguousarray(part, np.float64) for part in (eta, eta if nu is None else nu)]
        self._loop = two_classes if parts[0].shape[1] == 1 else several_classes
        self._parts = [part.ravel() for part in parts] if self._loop is two_classes else parts
        certain = y.ndim == 1
        if self._loop is two_classes:
            self._labels: tuple[np.ndarray, ...] = (
                np.ascontiguousarray(y if certain else y[:, 0], np.float64),
            )
        else:
            own = y if certain else y.argmax(axis=1)
            shares = np.empty((0, 0)) if certain else np.ascontiguousarray(y, np.float64)
            self._labels = np.ascontiguousarray(own, np.int64), shares
        self._weights = np.ascontiguousarray(weights, np.float64)
        self._offset = np.zeros(parts[0].shape[1]) if offset is None else offset
        self.losses = np.empty(len(y))

    def loss(self, factors: Sequence[float]) -> ValueGradientHessian:
        """Return the loss as a function of the factors: of t if calibrated, and of s c if there is ν."""
        t = float(factors[0]) if self._calibrate else 1.0
        s = self._spread
        c = float(factors[-1]) / s if self._adds_nu else 0.0
        sums = np.empty(6)
        self._loop(t, c, self._offset, *self._parts, *self._labels, self._weights, self.losses, sums)
        value, by_t, by_c, tt, tc, cc = sums.tolist()
        gradient, hessian = [by_t, by_c / s], [[tt, tc / s], [tc / s, cc / (s * s)]]
        used = slice(0 if self._calibrate else 1, 2 if self._adds_nu else 1)
        return ValueGradientHessian(value, gradient[used], [row[used] for row in hessian[used]])


def losses_of(eta: np.ndarray, y: np.ndarray) -> np.ndarray:
    """Return the log loss of each row, -log P(own class) = log Σ_k e^(η_k - η_own), or its expectation.

    Parameters
    ----------
    eta : ndarray of shape (n, K), or (n, 1) for two classes
        Predictors, or log probabilities.
    y : ndarray of shape (n,), or of that of the predictors
        Numbers of the classes, or probabilities of the classes.

    Returns
    -------
    ndarray of shape (n,)

    Examples
    --------
    >>> losses_of(np.array([[0.0], [2.0]]), np.array([1, 0])).round(3)
    array([0.693, 2.127])
    """
    rows = BlendedRows(eta, None, y, np.ones(len(y)), calibrate=False)
    rows.loss(())
    return rows.losses


def predictor_std(nu: np.ndarray) -> float:
    """Return the standard deviation of predictors over rows and classes, less the mean of each row."""
    parts = all_classes(nu)
    return float((parts - parts.mean(axis=1, keepdims=True)).std())


# The loops over rows replace thirty calls of NumPy, between which threads wait for the interpreter's lock: on
# two threads, the blends of a search took longer than on one. With two classes, a row takes 4 ns. Each loop
# is compiled when it is first used, in half a second.
#
# With δ_k = o_k + t a_k + c b_k, where o, a and b are those of a row less those of its own class, the loss is
# log Σ_k e^δ_k. Its derivatives by t and c are the means and covariances of a and b under p_k ∝ e^δ_k.
# ``sums`` are those over the rows, times weights, of the loss, of both first and of the three second
# derivatives.
BLOCK = 1024  # rows whose derivatives are kept at a time


@fused_kernel
def two_classes(t, c, offset, eta, nu, y, weights, losses, sums):
    """Set the losses of rows, and the sums; η and ν are (n,), those of class 1 less those of class 0.

    y is the probability of class 1.
    """
    scratch, o = np.empty((2, BLOCK)), offset[0]
    value, by_t, by_c, by_tt, by_tc, by_cc = 0.0, 0.0, 0.0, 0.0, 0.0, 0.0
    for first in range(0, losses.size, BLOCK):
        # Loops over slices, which start at 0, are vectorised; sums are not, so they have their own.
        last = min(first + BLOCK, losses.size)
        a, b, w, own = eta[first:last], nu[first:last], weights[first:last], losses[first:last]
        y_part, slopes, curvatures = y[first:last], scratch[0], scratch[1]
        for i in range(own.size):
            z = o + t * a[i] + c * b[i]
            log_partition, p, variance = softplus(z)
            own[i] = log_partition - y_part[i] * z
            slopes[i], curvatures[i] = w[i] * (p - y_part[i]), w[i] * variance
        for i in range(own.size):
            value += w[i] * own[i]
            by_t += slopes[i] * a[i]
            by_c += slopes[i] * b[i]
            by_tt += curvatures[i] * a[i] * a[i]
            by_tc += curvatures[i] * a[i] * b[i]
            by_cc += curvatures[i] * b[i] * b[i]
    sums[0], sums[1], sums[2], sums[3], sums[4], sums[5] = value, by_t, by_c, by_tt, by_tc, by_cc


@fused_kernel
def several_classes(t, c, offset, eta, nu, y, shares, weights, losses, sums):
    """Set the losses of rows, and the sums; η and ν are (n, K).

    y are numbers of classes. If there are shares, the probabilities of the classes, the loss of a row is
    expected: log Σ_k e^δ_k - Σ_k q_k δ_k, where the second term is 0 if the row is certainly of class y.
    """
    e = np.empty(eta.shape[1])
    value, by_t, by_c, by_tt, by_tc, by_cc = 0.0, 0.0, 0.0, 0.0, 0.0, 0.0
    for i in range(losses.size):
        eta_i, nu_i, w = eta[i], nu[i], weights[i]
        eta_own, nu_own, own = eta_i[y[i]], nu_i[y[i]], offset[y[i]]
        largest = 0.0  # of the row's own class
        for k in range(e.size):
            e[k] = offset[k] - own + t * (eta_i[k] - eta_own) + c * (nu_i[k] - nu_own)
            largest = max(largest, e[k])
        for k in range(e.size):
            e[k] = exp_of_nonpositive(e[k] - largest)
        partition, mean_a, mean_b, mean_aa, mean_ab, mean_bb = 0.0, 0.0, 0.0, 0.0, 0.0, 0.0
        for k in range(e.size):
            a, b = eta_i[k] - eta_own, nu_i[k] - nu_own
            partition += e[k]
            mean_a += e[k] * a
            mean_b += e[k] * b
            mean_aa += e[k] * a * a
            mean_ab += e[k] * a * b
            mean_bb += e[k] * b * b
        share, expected_a, expected_b = 1.0 / partition, 0.0, 0.0
        mean_a *= share
        mean_b *= share
        losses[i] = largest + math.log(partition)
        if shares.size:
            for k in range(e.size):
                a, b, q = eta_i[k] - eta_own, nu_i[k] - nu_own, shares[i, k]
                losses[i] -= q * (offset[k] - own + t * a + c * b)
                expected_a += q * a
                expected_b += q * b
        value += w * losses[i]
        by_t += w * (mean_a - expected_a)
        by_c += w * (mean_b - expected_b)
        by_tt += w * (mean_aa * share - mean_a * mean_a)
        by_tc += w * (mean_ab * share - mean_a * mean_b)
        by_cc += w * (mean_bb * share - mean_b * mean_b)
    sums[0], sums[1], sums[2], sums[3], sums[4], sums[5] = value, by_t, by_c, by_tt, by_tc, by_cc
