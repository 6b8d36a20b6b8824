"""Quasi-Newton steps that begin with a multiple of the identity, as in plain L-BFGS.

The library's solver begins with the Fisher diagonal, which takes most of the way in a step or two. Where the
way itself is of interest, or where a fit stops early, the paper's authors had another one.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np

from dropglm.objective import Objective


@dataclass(frozen=True)
class Unscaled:
    """An objective whose preconditioner is its own mean: what L-BFGS knows of the scales, it has to learn."""

    objective: Objective

    @property
    def passes(self) -> int:
        """Passes over the data, so far."""
        return self.objective.passes

    def at(self, theta: np.ndarray) -> Any:
        """Value and gradient at θ."""
        return self.objective.at(theta)

    def along(self, point: Any, direction: np.ndarray) -> Any:
        """The objective along a ray."""
        return self.objective.along(point, direction)

    def preconditioner(self, point: Any) -> np.ndarray:
        """The mean of the diagonal, everywhere."""
        diagonal = self.objective.preconditioner(point)
        return np.full_like(diagonal, diagonal.mean())
