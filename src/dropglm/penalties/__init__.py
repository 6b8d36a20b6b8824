"""The noising penalty R(β) = Σ_i E[A(η̃_i)] - A(η_i), by several methods.

``EXPECTATIONS`` turns the name of a method into an ``Expectation``, which has a penalty class for each family
that the method supports.
"""

from dropglm.families import Family, Linear, Logistic, Multinomial, Poisson
from dropglm.penalties.base import Expectation, Penalty, RowPenalty
from dropglm.penalties.exact import ExactLogistic, ExactPoisson
from dropglm.penalties.gaussian import GaussianLogistic, GaussianPoisson
from dropglm.penalties.monte_carlo import MonteCarlo
from dropglm.penalties.quadratic import MultinomialQuadratic, Quadratic

# For the linear family A is a parabola, so its second-order expansion is the expectation itself.
EXPECTATIONS: dict[str, Expectation] = {
    method.name: method
    for method in (
        Expectation("quadratic", {Family: Quadratic, Multinomial: MultinomialQuadratic}),
        Expectation("gaussian", {Linear: Quadratic, Logistic: GaussianLogistic, Poisson: GaussianPoisson}),
        Expectation("exact", {Linear: Quadratic, Logistic: ExactLogistic, Poisson: ExactPoisson}),
        Expectation("monte_carlo", {Family: MonteCarlo, Multinomial: MonteCarlo}),
    )
}

__all__ = ["EXPECTATIONS", "Expectation", "MonteCarlo", "Penalty", "RowPenalty"]
