"""How the names and numbers that users give become families, noise and penalties; and ``noising_penalty``.

The kinds of noise themselves, and what they do to a predictor, are in ``noise``.
"""

from typing import Any, Literal, TypedDict, Unpack, overload

import numpy as np
from scipy import sparse

from dropglm.base import checks
from dropglm.base.blocks import Blocks, PerBlock, block_count, values_by_block
from dropglm.base.errors import InputError
from dropglm.base.registry import lookup, quoted
from dropglm.core.design import BlockDesign, Design
from dropglm.core.families import FAMILIES, Family
from dropglm.core.noise import Dropout, Gaussian, Noise, NoiseByBlock, Together
from dropglm.core.penalties import EXPECTATIONS, Expectation, Penalty

# Noised copies of each row in a fit with expectation="monte_carlo"; every iteration passes over all of them.
TRAINING_SAMPLES = 100


class _Settings(TypedDict, total=False):
    family: str | type[Family]
    dropout: float | Noise | PerBlock
    noise_std: float | PerBlock
    expectation: str | Expectation | type[Penalty]
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
    family: str | type[Family] = "logistic",
    dropout: float | Noise | PerBlock = 0.0,
    noise_std: float | PerBlock = 0.0,
    expectation: str | Expectation | type[Penalty] = "gaussian",
    intercept: Any = 0.0,
    sample_weight: Any = None,
    n_samples: int = 1000,
    random_state: Any = None,
    return_gradient: bool = False,
    n_jobs: int | None = None,
) -> float | tuple[float, np.ndarray]:
    """Compute R(β) = Σ_i w_i (E[A(x̃_i·β + b)] - A(x_i·β + b)), the expected increase of the loss under noise.

    The penalty does not depend on labels and is never negative (except for sampling and rounding error). It
    turns training with noise into ordinary training: the mean loss over noised copies of the rows is the
    plain loss plus R.

    Parameters
    ----------
    coef : array-like of shape (d,) or (1, d); (K, d) for the multinomial family
        Coefficients β.
    X : array-like, sparse or Blocks of shape (n, d)
        Features, float32 or float64; other types are converted to float64. X is never modified. Coefficients
        are rounded to its precision, so finite differences of the value need float64. If X is Blocks,
        ``dropout`` and ``noise_std`` may be PerBlock.
    family : {"linear", "logistic", "poisson", "multinomial"} or a Family class, default="logistic"
        The exponential family, given by its log-partition function A.
    dropout : float in [0, 1), Noise or PerBlock, default=0.0
        Probability that a feature is dropped; features that are kept are scaled up to preserve the mean. A
        ``dropglm.core.noise.Noise`` object is used in place of dropout.
    noise_std : float >= 0 or PerBlock, default=0.0
        Standard deviation of Gaussian noise added to every feature, on top of dropout.
    expectation : {"gaussian", "exact", "quadratic", "monte_carlo"}, default="gaussian"
        How the expectation over the noise is computed:

        - "gaussian" approximates the noised predictor as normal, in closed form (logistic: to an absolute
          error of 8.2e-9 per row);
        - "exact" makes no approximation (logistic: to 1e-11 per row, while noised predictors stay within
          11,900);
        - "quadratic" is the paper's second-order expansion;
        - "monte_carlo" is the mean over sampled copies.

        The multinomial family supports "quadratic" and "monte_carlo". A
        ``dropglm.core.penalties.Penalty`` class is accepted in place of a name.
    intercept : float, or array-like of shape (K,) for the multinomial family, default=0.0
        The intercept b, which is neither noised nor penalised.
    sample_weight : array-like of shape (n,), default=None
        Weights w; a row of weight 2 counts like two rows.
    n_samples : int, default=1000
        Noised copies of each row, for "monte_carlo".
    random_state : int, RandomState, Generator or None, default=None
        Seed of the copies, for "monte_carlo"; the same int gives the same smooth function of β.
    return_gradient : bool, default=False
        Whether to return ∇R(β) as well.
    n_jobs : int, default=None
        Number of threads; None means 1, -1 all cores.

    Returns
    -------
    value : float
        R(β).
    gradient : ndarray of coef's shape and X's dtype
        ∇R(β); only with ``return_gradient=True``.

    See Also
    --------
    LogisticRegression : Minimises the loss plus this penalty.

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
    A = family_from(family)
    noise = noise_from(dropout, noise_std, block_count(X))
    method = expectation_from(expectation)
    penalty = penalty_from(method, A, noise, n_samples=n_samples, random_state=random_state)
    threads = checks.threads(n_jobs)
    X = checks.features_or_blocks(X)
    coef = checks.numbers(coef, "coef")
    beta = _coefficients(coef, X.shape[1], A, X.dtype)
    b = _intercepts(intercept, beta.shape[1])
    weights = checks.weights(sample_weight, X.shape[0])
    if not weights.all():
        X = _with_rows_set_to_zero(X, weights == 0)

    value, gradient = 0.0, np.zeros_like(beta)
    if noise.parts:
        parts = [Design(part, threads=threads) for part in (X.blocks if isinstance(X, Blocks) else [X])]
        design = BlockDesign(parts) if isinstance(X, Blocks) else parts[0]
        with np.errstate(over="ignore", invalid="ignore"):
            if return_gradient:
                value, (gradient, _) = penalty.value_and_gradient(design, beta, b, weights)
            else:
                value = penalty.value(design, beta, b, weights)
    if not (np.isfinite(value) and np.isfinite(gradient).all()):
        raise InputError(
            f"The {method.name} penalty of the {A.name()} family overflows at these coefficients: its value "
            f"or its gradient exceeds the range of {np.dtype(X.dtype)}; scale down the coefficients, the "
            "features or the noise."
        )
    return (value, gradient.T.reshape(coef.shape)) if return_gradient else value


def family_from(family: str | type[Family]) -> type[Family]:
    """Return the family of that name, or the Family class itself."""
    if isinstance(family, type) and issubclass(family, Family):
        return family
    return lookup(FAMILIES, family, "family")


def noise_from(dropout: Any, noise_std: Any, blocks: int | None = None) -> Noise:
    """Return dropout (or the Noise object given in its place) followed by additive Gaussian noise.

    A setting may be a ``PerBlock`` if X has several blocks.
    """
    if isinstance(dropout, PerBlock) or isinstance(noise_std, PerBlock):
        by_block = zip(
            values_by_block(dropout, blocks, "dropout"),
            values_by_block(noise_std, blocks, "noise_std"),
            strict=True,
        )
        return NoiseByBlock(tuple(noise_from(*values) for values in by_block))
    first = dropout if isinstance(dropout, Noise) else Dropout(dropout)
    parts = (*first.parts, *Gaussian(noise_std).parts)
    return Together(tuple(part for part in parts if part.relative or part.absolute))


def expectation_from(expectation: str | Expectation | type[Penalty]) -> Expectation:
    """Return the method of that name, the Expectation itself, or one that uses this Penalty class."""
    if isinstance(expectation, Expectation):
        return expectation
    if isinstance(expectation, type) and issubclass(expectation, Penalty):
        return Expectation(expectation.__name__, {Family: expectation})
    return lookup(EXPECTATIONS, expectation, "expectation")


def penalty_from(
    method: Expectation,
    family: type[Family],
    noise: Noise,
    *,
    n_samples: int = 1000,
    random_state: Any = None,
) -> Penalty:
    """Return the method's penalty for this family and noise."""
    penalty_class = method.penalty_class(family)
    if penalty_class is None:
        others = [name for name, other in EXPECTATIONS.items() if other.penalty_class(family)]
        raise InputError(
            f"expectation={method.name!r} is not available for the {family.name()} family; use one of "
            f"{quoted(others)}.",
            "expectation",
        )
    checks.whole_number(n_samples, "n_samples", least=1)
    checks.seed_or_none(random_state)
    return penalty_class.build(family, noise, n_samples=int(n_samples), random_state=random_state)


def training_penalty(
    method: Expectation, family: type[Family], noise: Noise, random_state: Any
) -> Penalty | None:
    """Return the penalty of a fit, or None if there is no noise."""
    if not noise.parts:
        return None
    return penalty_from(method, family, noise, n_samples=TRAINING_SAMPLES, random_state=random_state)


def _coefficients(coef: np.ndarray, d: int, family: type[Family], dtype: np.dtype) -> np.ndarray:
    """Return β in shape (d, K)."""
    K = 1 if coef.ndim == 1 else len(coef)
    if coef.ndim not in (1, 2) or coef.shape[-1] != d:
        raise InputError(f"coef has shape {coef.shape}, but X has {d} columns.")
    if family.several and K < 2:
        raise InputError(
            f"The {family.name()} family needs coef of shape (K, {d}) with K >= 2, got {coef.shape}."
        )
    if not family.several and K != 1:
        raise InputError(
            f"The {family.name()} family needs coef of shape ({d},), got {coef.shape}; "
            "several rows of coefficients are for the multinomial family."
        )
    if np.abs(coef).max() > np.finfo(dtype).max:
        raise InputError(f"coef contains {np.abs(coef).max():.4g}, which is too large for X's dtype {dtype}.")
    return np.ascontiguousarray(coef.reshape(K, d).T, dtype=dtype)


def _with_rows_set_to_zero(X: Any, rows: np.ndarray) -> Any:
    """Return X with these rows set to 0: a row of weight 0 must not matter, even if it would overflow."""
    if isinstance(X, Blocks):
        return Blocks(*(_with_rows_set_to_zero(block, rows) for block in X.blocks))
    kept = (~rows).astype(X.dtype)[:, None]
    return X.multiply(kept).tocsr() if sparse.issparse(X) else X * kept


def _intercepts(intercept: Any, K: int) -> np.ndarray:
    """Return b in shape (K,)."""
    b = checks.numbers(intercept, "intercept")
    if b.shape not in ((1,), (K,)):
        raise InputError(f"intercept has shape {b.shape}, expected a number or shape ({K},).")
    return np.broadcast_to(b, (K,))
