"""The interface between a solver and the function it minimises, and the result."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple, Protocol, Self

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
        """Return the value at that step and its derivative with respect to the step."""

    def arrive(self, step: float) -> Place:
        """Return the place at that step."""


class Function(Protocol):
    """A smooth function of a vector θ."""

    @property
    def passes(self) -> int:
        """Number of passes over the data so far."""

    def at(self, theta: np.ndarray) -> Place:
        """Return value and gradient at θ."""

    def along(self, point: Any, direction: np.ndarray) -> Ray:
        """Return the function along the ray from this point."""

    def preconditioner(self, point: Any) -> np.ndarray:
        """Return a positive diagonal close to that of the Hessian."""


class Status:
    """How a minimisation ended, in words; plain strings, so that any serialiser can store a result."""

    CONVERGED = "converged"
    MAX_ITER = "stopped at the maximum number of iterations"
    STALLED = "stopped because rounding error hides any further descent"
    CALLBACK = "stopped by a callback"


class History(NamedTuple):
    """Values at the start and after each iteration; arrays of length n_iter + 1."""

    objective: np.ndarray
    gradient_norm: np.ndarray
    step: np.ndarray  # step length that led here, NaN at the start


@dataclass(frozen=True)
class Result:
    """The result of a minimisation.

    Attributes
    ----------
    status : str
        Why the solver stopped, one of the constants of ``Status``.
    n_iter : int
        Number of iterations.
    passes : int
        Number of passes over the data.
    objective : float
        Final value f.
    gradient_norm : float
        √(gᵀHg / 2f), where H is the inverse of the curvature. Its square estimates by which share the
        objective could still be reduced.
    history : History
        Objective, gradient norm and step length of each iteration.
    """

    status: str
    n_iter: int
    passes: int
    objective: float
    gradient_norm: float
    history: History = field(repr=False)

    @classmethod
    def of(cls, status: str, passes: int, seen: Sequence[tuple[float, float, float]]) -> Self:
        """Return the result, given the objective, the gradient norm and the step of each iteration."""
        history = History(*map(np.array, zip(*seen, strict=True)))
        value, norm, _ = seen[-1]
        return cls(status, len(seen) - 1, passes, value, norm, history)


class Store(Protocol):
    """Where a solver keeps its state after each iteration, so that a later process can continue."""

    def load(self) -> dict[str, Any] | None:
        """Return the last state: arrays and numbers by name; None if there is none."""

    def save(self, state: dict[str, Any]) -> None:
        """Keep a state in place of the last one."""


# Called after each iteration with its number and the new point; a true return value stops the solver.
Callback = Callable[[int, Any], bool]
