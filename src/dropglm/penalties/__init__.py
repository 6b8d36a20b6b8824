"""The noising penalty R(β) = Σ_i E[A(η̃_i)] - A(η_i), by several methods.

``PENALTIES`` is the table of what there is: method by family. A combination that it lacks does not exist.
"""

from dropglm.penalties.base import Penalty, RowPenalty
from dropglm.penalties.exact_logistic import ExactLogistic
from dropglm.penalties.exact_poisson import ExactPoisson
from dropglm.penalties.gaussian import GaussianLogistic, GaussianPoisson
from dropglm.penalties.monte_carlo import MonteCarlo
from dropglm.penalties.multinomial_quadratic import MultinomialQuadratic
from dropglm.penalties.quadratic import Quadratic

PENALTIES: dict[str, dict[str, type[Penalty]]] = {
    "quadratic": {
        "linear": Quadratic,
        "logistic": Quadratic,
        "poisson": Quadratic,
        "multinomial": MultinomialQuadratic,
    },
    # A is a parabola for the linear family, and its second-order expansion is the expectation itself.
    "gaussian": {
        "linear": Quadratic,
        "logistic": GaussianLogistic,
        "poisson": GaussianPoisson,
    },
    "exact": {
        "linear": Quadratic,
        "logistic": ExactLogistic,
        "poisson": ExactPoisson,
    },
    "monte_carlo": {
        "linear": MonteCarlo,
        "logistic": MonteCarlo,
        "poisson": MonteCarlo,
        "multinomial": MonteCarlo,
    },
}

__all__ = ["PENALTIES", "Penalty", "RowPenalty"]
