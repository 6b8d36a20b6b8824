"""What every family offers: A and its derivatives at the natural parameter η, and draws of y.

p(y | η) = h(y) exp(y η - A(η)), so that A' is the mean of y, A'' its variance and A''' its third cumulant.
The methods are pure functions of arrays; a family knows neither the features nor the noise.
"""

from abc import ABC, abstractmethod
from typing import ClassVar

import numpy as np


class Family(ABC):
    """A one-parameter family acts entry by entry; a family with K classes on the last axis of η."""

    several: ClassVar[bool] = False  # whether η has K entries for each row

    @staticmethod
    @abstractmethod
    def log_partition(eta: np.ndarray) -> np.ndarray:
        """A(η)."""

    @staticmethod
    @abstractmethod
    def mean(eta: np.ndarray) -> np.ndarray:
        """A'(η)."""

    @staticmethod
    @abstractmethod
    def variance(eta: np.ndarray) -> np.ndarray:
        """A''(η)."""

    @staticmethod
    @abstractmethod
    def third_cumulant(eta: np.ndarray) -> np.ndarray:
        """A'''(η)."""

    @classmethod
    def own_variance(cls, eta: np.ndarray) -> np.ndarray:
        """The diagonal of A''(η) where it is a matrix, else A''(η); shape of eta."""
        return cls.variance(eta)

    @staticmethod
    @abstractmethod
    def natural_parameter(mean: np.ndarray) -> np.ndarray:
        """η with A'(η) = mean, for a mean inside the range of A'."""

    @staticmethod
    @abstractmethod
    def conjugate(y: np.ndarray) -> np.ndarray:
        """A*(y) = sup_η yη - A(η), so that the loss A(η) - yη + A*(y) is 0 for a perfect fit; shape (…)."""

    @staticmethod
    @abstractmethod
    def sample(eta: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        """Draws of y given η."""
