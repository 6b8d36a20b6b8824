"""What a solver asks of a function, and what it answers."""

from collections.abc import Callable
from dataclasses import dataclass, field
from enum import Enum
from typing import Any, NamedTuple, Protocol

import numpy as np


class Place(Protocol):
    """Value and gradient of a function at θ."""

    @property
    def theta(self) -> np.ndarray:
        """θ."""

    @property
    def value(self) -> float:
        """f(θ)."""

    @property
    def gradient(self) -> np.ndarray:
        """∇f(θ)."""


class Ray(Protocol):
    """A function along a ray."""

    def value_and_slope(self, step: float) -> tuple[float, float]:
        """The value at that step, and its derivative with respect to the step."""

    def arrive(self, step: float) -> Place:
        """The place at that step."""


class Function(Protocol):
    """A smooth function of a vector θ."""

    @property
    def passes(self) -> int:
        """Passes over the data, so far."""

    def at(self, theta: np.ndarray) -> Place:
        """Value and gradient at θ."""

    def along(self, point: Any, direction: np.ndarray) -> Ray:
        """The function along a ray."""

    def preconditioner(self, point: Any) -> np.ndarray:
        """A positive diagonal that is close to the Hessian's."""


class Status(Enum):
    """How a minimisation ended; the value says it in words."""

    CONVERGED = "converged"
    MAX_ITER = "stopped at the largest number of iterations"
    STALLED = "stopped where rounding hides any further descent"
    CALLBACK = "stopped by a callback"


class History(NamedTuple):
    """What was seen at the start and after each iteration; arrays of length n_iter + 1."""

    objective: np.ndarray
    gradient_norm: np.ndarray
    step: np.ndarray  # multiple of the direction that led here, nan at the start


@dataclass(frozen=True)
class Result:
    """How a minimisation went.

    ``gradient_norm`` is √(gᵀHg / 2f), f the objective and H an inverse of its curvature. Its square estimates
    the share of the objective that is still to be gained.
    """

    status: Status
    n_iter: int
    passes: int  # over the data
    objective: float
    gradient_norm: float
    history: History = field(repr=False)


# Called after each iteration with its number and where it led; true ends the minimisation.
Callback = Callable[[int, Any], bool]
