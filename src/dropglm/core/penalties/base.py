"""The interface of a penalty, the chain rule that most penalties share, and the choice by family."""

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np

from dropglm.base.threads import each, even_ranges
from dropglm.core.design import AnyDesign
from dropglm.core.families import Family
from dropglm.core.noise import Noise

# Rows per piece: few enough for the cache, enough to hide the overhead of NumPy's calls.
PIECE = 1 << 12


class PenaltyGradient(NamedTuple):
    """The gradient of a penalty."""

    beta: np.ndarray  # (d, K), in the design's dtype
    intercept: np.ndarray  # (K,)


class Penalty(ABC):
    """R(β) = Σ_i w_i (E[A(η̃_i)] - A(η_i)) with η̃_i = x̃_i·β + b: a sum over rows, the intercept not noised.

    Coefficients have shape (d, K), intercepts (K,); K is 1 except for the multinomial family.

    Parameters
    ----------
    family : Family class
        The distribution of y.
    noise : Noise
        The noise on the features.

    See Also
    --------
    RowPenalty : A penalty that depends on the noise only through its variance.
    dropglm.noising_penalty : R(β) as a function.

    Examples
    --------
    >>> import numpy as np
    >>> from dropglm.core.design import Design
    >>> from dropglm.core.families import Logistic
    >>> from dropglm.core.noise import Dropout
    >>> from dropglm.core.penalties import EXPECTATIONS
    >>> penalty = EXPECTATIONS["quadratic"].penalty_class(Logistic)(Logistic, Dropout(0.5))
    >>> penalty.value(Design(np.eye(2)), np.ones((2, 1)), np.zeros(1), np.ones(2))
    0.1966
    """

    # Two ways in which a classifier without l2 can have no finite minimum. The penalty tends to 0 as the
    # coefficients grow, so separable rows make them diverge:
    vanishes: ClassVar[bool] = False
    # The penalty does not bound the coefficient of a feature that occurs in one class only, because sampled
    # noise never changes its sign:
    spares_one_sided: ClassVar[bool] = False

    def __init__(self, family: type[Family], noise: Noise) -> None:
        self.family = family
        self.noise = noise

    @classmethod
    def build(cls, family: type[Family], noise: Noise, *, n_samples: int, random_state: Any) -> Self:
        """Return the penalty; the last two settings are for penalties that draw samples."""
        return cls(family, noise)

    def value(self, design: AnyDesign, beta: np.ndarray, intercept: np.ndarray, weights: np.ndarray) -> float:
        """Return R(β); a penalty that can compute it without the gradient overrides this."""
        return self.value_and_gradient(design, beta, intercept, weights)[0]

    @abstractmethod
    def value_and_gradient(
        self, design: AnyDesign, beta: np.ndarray, intercept: np.ndarray, weights: np.ndarray
    ) -> tuple[float, PenaltyGradient]:
        """Return R(β) and its derivatives with respect to β and the intercept."""


class RowPenalty(Penalty):
    """A penalty Σ_i w_i r(η_i, s²_i) that depends on the noise only through the predictor's variance s².

    Parameters
    ----------
    family : Family class
        The distribution of y.
    noise : Noise
        The noise on the features.

    See Also
    --------
    Penalty : The interface of all penalties.

    Examples
    --------
    >>> import numpy as np
    >>> from dropglm.core.families import Logistic
    >>> from dropglm.core.noise import Dropout
    >>> from dropglm.core.penalties import EXPECTATIONS
    >>> penalty = EXPECTATIONS["gaussian"].penalty_class(Logistic)(Logistic, Dropout(0.5))
    >>> penalty.rows(np.zeros(1), np.ones(1))[0].round(3)
    array([0.113])
    """

    @abstractmethod
    def rows(self, eta: np.ndarray, s2: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return r(η, s²) and its derivatives with respect to η and s², each of shape (n,)."""

    def weighted_rows(
        self, eta: np.ndarray, s2: np.ndarray, weights: np.ndarray
    ) -> tuple[float, np.ndarray, np.ndarray]:
        """Return Σ_i w_i r(η_i, s²_i), and its derivatives with respect to each η and s²."""
        r, r_eta, r_s2 = self.rows(eta, s2)
        return float(np.sum(weights * r)), weights * r_eta, weights * r_s2

    def value(self, design: AnyDesign, beta: np.ndarray, intercept: np.ndarray, weights: np.ndarray) -> float:
        """Return R(β) in one pass over the rows."""
        return self._forward(design, beta, intercept, weights)[0]

    def value_and_gradient(
        self, design: AnyDesign, beta: np.ndarray, intercept: np.ndarray, weights: np.ndarray
    ) -> tuple[float, PenaltyGradient]:
        """Return R(β) and ∇R(β) = Xᵀ r_η + (∂s²/∂β)ᵀ r_s², for any noise and storage."""
        value, slopes = self._forward(design, beta, intercept, weights)
        gradient = self.noise.pull_back(design, beta[:, 0], slopes)
        return value, PenaltyGradient(gradient[:, None], slopes[:, 0].sum(keepdims=True))

    def _forward(
        self, design: AnyDesign, beta: np.ndarray, intercept: np.ndarray, weights: np.ndarray
    ) -> tuple[float, np.ndarray]:
        """Return R(β) and, per row, w ∂r/∂η and w ∂r/∂s² as the columns of an (n, 2) array."""
        eta, s2 = self.noise.moments(design, beta[:, 0])
        slopes = np.empty((len(eta), 2))

        def piece(bounds: tuple[int, int]) -> float:
            rows = slice(*bounds)
            weighted = self.weighted_rows(eta[rows] + intercept[0], s2[rows], weights[rows])
            value, slopes[rows, 0], slopes[rows, 1] = weighted
            return value

        return sum(each(piece, even_ranges(len(eta), PIECE), design.threads)), slopes


@dataclass(frozen=True)
class Expectation:
    """A method to compute the expectation over the noise.

    Attributes
    ----------
    name : str
        As users write it.
    penalties : mapping of Family classes to Penalty classes
        A family that is not listed uses the entry of its nearest base class. The entry of ``Family`` itself
        serves every family with one predictor per row.

    See Also
    --------
    Penalty : What computes R(β) for one family.

    Examples
    --------
    >>> from dropglm.core.families import Logistic, Multinomial
    >>> from dropglm.core.penalties import EXPECTATIONS
    >>> EXPECTATIONS["gaussian"].penalty_class(Logistic).__name__
    'GaussianLogistic'
    >>> EXPECTATIONS["gaussian"].penalty_class(Multinomial) is None
    True
    """

    name: str
    penalties: Mapping[type, type[Penalty]]

    def penalty_class(self, family: type[Family]) -> type[Penalty] | None:
        """Return the penalty class for this family, or None if the method does not support it."""
        bases = [base for base in family.__mro__ if not (base is Family and family.several)]
        return next((self.penalties[base] for base in bases if base in self.penalties), None)
