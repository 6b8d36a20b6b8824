"""The public door to the penalty: checks the input, turns names into objects, calls the mathematics."""

from typing import Any, Literal, TypedDict, Unpack, overload

import numpy as np
from scipy import sparse

from dropglm import checks
from dropglm.design import Design
from dropglm.families import FAMILIES
from dropglm.noise import Dropout, Gaussian, Noise, Together
from dropglm.penalties import PENALTIES, Penalty
from dropglm.penalties.monte_carlo import MonteCarlo
from dropglm.registry import lookup, quoted


class _Settings(TypedDict, total=False):
    family: str
    dropout: float
    noise_std: float
    expectation: str
    intercept: Any
    sample_weight: Any
    n_samples: int
    random_state: Any
    n_jobs: int | None


@overload
def noising_penalty(
    coef: Any, X: Any, *, return_gradient: Literal[False] = ..., **settings: Unpack[_Settings]
) -> float: ...
@overload
def noising_penalty(
    coef: Any, X: Any, *, return_gradient: Literal[True], **settings: Unpack[_Settings]
) -> tuple[float, np.ndarray]: ...
@overload
def noising_penalty(
    coef: Any, X: Any, *, return_gradient: bool, **settings: Unpack[_Settings]
) -> float | tuple[float, np.ndarray]: ...
def noising_penalty(
    coef: Any,
    X: Any,
    *,
    family: str = "logistic",
    dropout: float = 0.0,
    noise_std: float = 0.0,
    expectation: str = "gaussian",
    intercept: Any = 0.0,
    sample_weight: Any = None,
    n_samples: int = 1000,
    random_state: Any = None,
    return_gradient: bool = False,
    n_jobs: int | None = None,
) -> float | tuple[float, np.ndarray]:
    """R(β) = Σ_i w_i (E[A(x̃_i·β + b)] - A(x_i·β + b)): what feature noise adds to the loss.

    The penalty does not depend on labels, is never negative (but for sampling and rounding error), and
    turns noised training into ordinary training: the mean loss over noised copies of the rows is the
    plain loss plus R.

    Parameters
    ----------
    coef : array-like of shape (d,) or (1, d); (K, d) for the multinomial family
        Coefficients β.
    X : array-like or sparse of shape (n, d)
        Features, float32 or float64; anything else is converted to float64. Never written to. Coefficients
        are rounded to its precision: finite differences of the value need float64.
    family : {"linear", "logistic", "poisson", "multinomial"}
        Which log-partition function A.
    dropout : float in [0, 1)
        Each feature is dropped with this probability, and scaled up to keep its mean where it stays.
    noise_std : float >= 0
        Standard deviation of normal noise that is added to every feature, on top of dropout.
    expectation : {"quadratic", "gaussian", "exact", "monte_carlo"}
        The paper's second-order expansion; the predictor's noise taken as normal (logistic: to an absolute
        error of 8.2e-9 a row); no approximation (logistic: while noised predictors stay within 11,900, to
        1e-11 a row); the mean over sampled copies. The multinomial family has quadratic and monte_carlo.
    intercept : float, or array-like of shape (K,) for the multinomial family
        b, which is neither noised nor penalised.
    sample_weight : array-like of shape (n,), optional
        w; a weight of 2 is the row twice.
    n_samples : int
        Noised copies of each row, for monte_carlo.
    random_state : int, RandomState, Generator or None
        Seed of the copies, for monte_carlo; the same int gives the same smooth function of β.
    return_gradient : bool
        Whether to return ∇R(β) as well.
    n_jobs : int, optional
        Threads; None is 1, -1 all cores.

    Returns
    -------
    value : float
    gradient : ndarray of coef's shape and X's dtype
        Only with ``return_gradient=True``.

    References
    ----------
    Wager, Wang and Liang (2013), "Dropout Training as Adaptive Regularization".

    Examples
    --------
    >>> import numpy as np
    >>> from dropglm import noising_penalty
    >>> X = np.array([[1.0, 0.0, 2.0], [0.0, 1.0, 1.0]])
    >>> beta = [0.5, -1.0, 0.25]
    >>> noising_penalty(beta, X, dropout=0.5, expectation="exact")
    0.1604
    >>> value, gradient = noising_penalty(beta, X, dropout=0.5, return_gradient=True)
    >>> value
    0.1554
    >>> gradient.round(3)
    array([ 0.074, -0.159,  0.225])
    """
    lookup(FAMILIES, family, "family")
    noise = noise_from(dropout, noise_std)
    penalty = penalty_from(expectation, family, noise, n_samples=n_samples, random_state=random_state)
    threads = checks.threads(n_jobs)
    X = checks.features(X)
    coef = checks.numbers(coef, "coef")
    beta = _coefficients(coef, X.shape[1], family, X.dtype)
    b = _intercepts(intercept, beta.shape[1])
    weights = checks.weights(sample_weight, X.shape[0])
    if not weights.all():
        X = _emptied(X, weights == 0)

    value, gradient = 0.0, np.zeros_like(beta)
    if noise.parts:
        design = Design(X, threads=threads)
        with np.errstate(over="ignore", invalid="ignore"):
            if return_gradient:
                value, (gradient, _) = penalty.value_and_gradient(design, beta, b, weights)
            else:
                value = penalty.value(design, beta, b, weights)
    if not (np.isfinite(value) and np.isfinite(gradient).all()):
        raise ValueError(
            f"The {expectation} penalty of the {family} family overflows at these coefficients: it or its "
            f"gradient exceeds {np.dtype(X.dtype)}; scale the coefficients, the features or the noise down."
        )
    return (value, gradient.T.reshape(coef.shape)) if return_gradient else value


def noise_from(dropout: float, noise_std: float) -> Noise:
    """Dropout and additive noise together, from the two numbers that users give."""
    checks.number(dropout, "dropout")
    checks.number(noise_std, "noise_std")
    if not 0.0 <= dropout < 1.0:
        raise ValueError(f"dropout must lie in [0, 1), got {dropout}.")
    if not 0.0 <= noise_std < np.inf:
        raise ValueError(f"noise_std must be finite and not negative, got {noise_std}.")
    noises = (Dropout(float(dropout)), Gaussian(float(noise_std)))
    return Together(tuple(noise for noise in noises if noise.relative or noise.absolute))


def penalty_from(
    expectation: str, family: str, noise: Noise, *, n_samples: int = 1000, random_state: Any = None
) -> Penalty:
    """The penalty of that expectation for that family, from the table ``PENALTIES``."""
    by_family = lookup(PENALTIES, expectation, "expectation")
    if family not in by_family:
        others = [name for name, families in PENALTIES.items() if family in families]
        raise ValueError(f"The {family} family has no {expectation} penalty; it has {quoted(others)}.")
    checks.whole_number(n_samples, "n_samples")
    if n_samples < 1:
        raise ValueError(f"n_samples must be above 0, got {n_samples}.")
    checks.seed_or_none(random_state)
    penalty = by_family[family]
    if issubclass(penalty, MonteCarlo):
        seed = checks.seed(random_state)
        return penalty(FAMILIES[family], noise, n_samples=int(n_samples), seed=seed)
    return penalty(FAMILIES[family], noise)


def _coefficients(coef: np.ndarray, d: int, family: str, dtype: np.dtype) -> np.ndarray:
    """β of shape (d, K)."""
    K = 1 if coef.ndim == 1 else len(coef)
    if coef.ndim not in (1, 2) or coef.shape[-1] != d:
        raise ValueError(f"coef has shape {coef.shape}, but X has {d} columns.")
    several = FAMILIES[family].several
    if several and K < 2:
        raise ValueError(f"The {family} family needs coef of shape (K, {d}) with K >= 2, got {coef.shape}.")
    if not several and K != 1:
        raise ValueError(
            f"The {family} family needs coef of shape ({d},), got {coef.shape}; "
            "several rows of coefficients are for the multinomial family."
        )
    if np.abs(coef).max() > np.finfo(dtype).max:
        raise ValueError(f"coef holds {np.abs(coef).max():.4g}, too large for X's {dtype}.")
    return np.ascontiguousarray(coef.reshape(K, d).T, dtype=dtype)


def _emptied(X: Any, rows: np.ndarray) -> Any:
    """X with zeros in these rows: a row of weight 0 counts for nothing, even if it would overflow."""
    kept = (~rows).astype(X.dtype)[:, None]
    return X.multiply(kept).tocsr() if sparse.issparse(X) else X * kept


def _intercepts(intercept: Any, K: int) -> np.ndarray:
    b = checks.numbers(intercept, "intercept")
    if b.shape not in ((1,), (K,)):
        raise ValueError(f"intercept has shape {b.shape}, expected a number or shape ({K},).")
    return np.broadcast_to(b, (K,))
