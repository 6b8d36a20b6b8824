"""The last step of a search: predictors are scaled, and those of naive Bayes added, to fit held-out rows.

    η' = t η + c ν

η are the predictors of a model with noise, ν = X r those of naive Bayes. Both are linear in the features, so
their blend is a linear model as well: β' = t β + c r. t and c minimise the log loss of held-out rows, whose η
and ν come from fits without them. t corrects the size of η: noise makes predictors too small, especially
those of one class against the rest. c is the share of naive Bayes, which is the better of the two if there
are few labels.
"""

from collections.abc import Callable, Sequence
from itertools import product
from typing import Any, NamedTuple

import numpy as np

from dropglm.threads import each, even_ranges


class Prior(NamedTuple):
    """Normal prior of a factor: its mean, the inverse of its variance, and a lower bound of the factor."""

    mean: float
    strength: float
    smallest: float


class Priors(NamedTuple):
    """Priors of the two factors: of t, and of c times the spread of ν."""

    scale: Prior
    naive_bayes: Prior


# The strength matters where few rows are held out: with 50, the log loss of seven sets of texts is 0.01
# smaller than with strength 1. The lower bound: where held-out rows show no gain, the intercept alone should
# not decide the class.
HALF = Prior(mean=0.5, strength=10.0, smallest=0.15)
PRIORS = Priors(HALF, HALF)
# Of t without ν, or if the model has features besides those of ν: it is expected to be right as it is.
PRIOR_ALONE = Prior(mean=1.0, strength=1.0, smallest=0.15)
# In the second case: naive Bayes need not be of any use to a model with embeddings. With 100 labels and
# embeddings of 384 numbers, the log loss of rt is 0.604; with strength 10 it is 0.608 (three splits).
PRIORS_BESIDE_OTHERS = Priors(PRIOR_ALONE, Prior(mean=0.0, strength=30.0, smallest=0.0))
# ν with a smaller spread is rounding error: held-out rows share no informative feature with the others.
SMALLEST_SPREAD = 1e-6
MAX_NEWTON = 50  # iterations; five are usual
# Numbers per task. They fit into the cache, and with more than 10,000 rows BLAS would use threads of its own.
PIECE = 1 << 13


class Blend(NamedTuple):
    """The factors t of the model's predictors and c of naive Bayes'."""

    scale: float = 1.0
    naive_bayes: float = 0.0

    def __call__(self, eta: np.ndarray, nu: np.ndarray | None) -> np.ndarray:
        """Return t η + c ν; ν may be None if it is not part of the blend."""
        return self.scale * eta if nu is None else self.scale * eta + self.naive_bayes * nu

    def apply_to(self, model: Any, ratios: np.ndarray | None) -> None:
        """Blend the coefficients of a fitted model with ratios of its first features, of shape (K, d')."""
        coef = self.scale * model.coef_
        if ratios is not None:
            coef[:, : ratios.shape[1]] += self.naive_bayes * ratios
        model.coef_ = coef.astype(model.coef_.dtype)
        model.intercept_ = (self.scale * model.intercept_).astype(model.intercept_.dtype)
        model.multi_class_ = "multinomial"


def fit_blend(
    eta: np.ndarray,
    nu: np.ndarray | None,
    y: np.ndarray,
    weights: np.ndarray,
    *,
    calibrate: bool,
    priors: Priors = PRIORS,
    threads: int = 1,
) -> Blend:
    """Return the blend with the least loss of held-out rows.

        minimise  Σ_i w_i loss_i(t η_i + c ν_i) + 5 (t - ½)² + 5 (s c - ½)²  over t, s c ≥ 0.15,

    where s is the standard deviation of ν over rows and classes, which makes the prior independent of scale.
    These are the priors by default. Without ν, the prior of t is ½ (t - 1)².

    Parameters
    ----------
    eta : ndarray of shape (n, K), or (n, 1) for two classes
        Predictors of the model for held-out rows.
    nu : ndarray of the same shape, or None
        Those of naive Bayes; if None or the same for all classes, c = 0.
    y : ndarray of shape (n,)
        Numbers of the classes.
    weights : ndarray of shape (n,)
    calibrate : bool
        If False, t = 1.
    priors : Priors
        Those of t and of s c.
    threads : int
        Number of threads, which share the rows.

    Returns
    -------
    Blend

    Examples
    --------
    >>> import numpy as np
    >>> eta, y = np.tile([[1.0], [-1.0]], (5000, 1)), np.tile([1, 0], 5000)
    >>> y[:1000] = 1 - y[:1000]  # nine in ten are right: log 9 = 2.2
    >>> round(fit_blend(eta, None, y, np.ones(10000), calibrate=True).scale, 2)
    2.2
    """
    # The predictors are a fixed part plus factor · part: t η and (s c) (ν / s). Only differences from those
    # of the row's own class matter.
    eta = others(eta, y)
    parts = [eta] if calibrate else []
    spread = 0.0 if nu is None else _spread(nu)
    adds_nu = nu is not None and spread > SMALLEST_SPREAD
    if adds_nu:
        parts.append(others(nu, y) / spread)
    used = [priors.scale if adds_nu else PRIOR_ALONE] * calibrate + [priors.naive_bayes] * adds_nu
    pieces = even_ranges(len(y), max(1, PIECE // eta.shape[1]))

    def loss(factors: np.ndarray) -> Quadratic:
        def of_rows(bounds: tuple[int, int]) -> Quadratic:
            rows = slice(*bounds)
            start = 0.0 if calibrate else eta[rows]
            return loss_of_rows(factors, start, [part[rows] for part in parts], weights[rows])

        found = each(of_rows, pieces, threads)
        return Quadratic(*(sum(column) for column in zip(*found, strict=True)))

    factors = best_factors(loss, used)
    scale = float(factors[0]) if calibrate else 1.0
    return Blend(scale, float(factors[-1] / spread) if adds_nu else 0.0)


class Quadratic(NamedTuple):
    """Value, gradient and Hessian of a function at a point."""

    value: Any
    gradient: Any
    hessian: Any


def best_factors(loss: Callable[[np.ndarray], Quadratic], priors: Sequence[Prior]) -> np.ndarray:
    """Return the factors that minimise a loss and the penalties of their priors, one of each."""
    if not priors:
        return np.empty(0)
    mean, strength, smallest = np.transpose(priors)

    def penalised(factors: np.ndarray) -> Quadratic:
        value, gradient, hessian = loss(factors)
        deviation = factors - mean
        return Quadratic(
            value + float(0.5 * (strength * deviation) @ deviation),
            gradient + strength * deviation,
            hessian + np.diag(strength),
        )

    return _minimum(penalised, np.maximum(mean, smallest), smallest)


def loss_of_rows(factors: np.ndarray, start: Any, parts: list[np.ndarray], weights: np.ndarray) -> Quadratic:
    """Return the loss of some rows, whose predictors are a start plus factors times parts."""
    total = start + sum(factor * part for factor, part in zip(factors, parts, strict=True))
    # -log P(own class) = log (1 + Σ_k e^total_k). Sums over a single column would take most of the time.
    one = total.shape[1] == 1
    largest = np.maximum(total[:, 0] if one else total.max(axis=1), 0.0)
    p = np.exp(total - largest[:, None])
    partition = np.exp(-largest) + (p[:, 0] if one else p.sum(axis=1))
    p /= partition[:, None]
    expected = [np.einsum("ij,ij->i", p, part) for part in parts]
    hessian = np.empty((len(parts), len(parts)))
    for a, b in product(range(len(parts)), repeat=2):
        covariance = np.einsum("ij,ij,ij->i", p, parts[a], parts[b]) - expected[a] * expected[b]
        hessian[a, b] = weights @ covariance
    value = float(weights @ (largest + np.log(partition)))
    return Quadratic(value, np.array([weights @ mean for mean in expected]), hessian)


def _minimum(
    function: Callable[[np.ndarray], Quadratic], start: np.ndarray, smallest: np.ndarray
) -> np.ndarray:
    """Return the minimum of a strictly convex function with lower bounds, by Newton's method."""
    x, here = start, function(start)
    for _ in range(MAX_NEWTON):
        free = (x > smallest) | (here.gradient < 0.0)
        if not free.any():
            break
        step = np.zeros_like(x)
        step[free] = -np.linalg.solve(here.hessian[np.ix_(free, free)], here.gradient[free])
        # A full step that is clipped at a bound still descends, once it is short enough.
        for halvings in range(MAX_NEWTON):
            moved = np.maximum(x + 0.5**halvings * step, smallest)
            there = function(moved)
            rounding = 1e-13 * abs(here.value)
            if there.value <= here.value + 1e-4 * here.gradient @ (moved - x) + rounding:
                break
        # The error after a step is about the square of that before.
        decrement, x, here = -here.gradient @ step, moved, there
        if not decrement > 1e-9 * abs(here.value):
            break
    return x


def all_classes(eta: Any) -> np.ndarray:
    """Return predictors of all classes; for two classes, that of the first is 0."""
    eta = np.asarray(eta, np.float64)
    return np.hstack([np.zeros_like(eta), eta]) if eta.shape[1] == 1 else eta


def others(eta: Any, y: np.ndarray) -> np.ndarray:
    """Return the predictors of the other classes minus that of a row's own class; shape (n, K - 1)."""
    eta = all_classes(eta)
    own = np.zeros(eta.shape, np.bool_)
    own[np.arange(len(y)), y] = True
    return eta[~own].reshape(len(y), -1) - eta[own][:, None]


def _spread(nu: np.ndarray) -> float:
    """Return the standard deviation of predictors over rows and classes, less the mean of each row."""
    parts = all_classes(nu)
    return float((parts - parts.mean(axis=1, keepdims=True)).std())
