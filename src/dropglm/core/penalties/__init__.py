"""The noising penalty R(β) = Σ_i E[A(η̃_i)] - A(η_i), by several methods.

``EXPECTATIONS`` turns the name of a method into an ``Expectation``, which has a penalty class for each family
that the method supports.
"""

from dropglm.core.families import Family, Linear, Logistic, Multinomial, Poisson
from dropglm.core.penalties.base import Expectation, Penalty, RowPenalty
from dropglm.core.penalties.closed_forms import (
    GaussianLogistic,
    GaussianPoisson,
    MultinomialQuadratic,
    Quadratic,
    gaussian_logistic,
    gaussian_poisson,
    quadratic,
)
from dropglm.core.penalties.exact import ExactLogistic, ExactPoisson
from dropglm.core.penalties.monte_carlo import MonteCarlo

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

# Row penalties at a single row, for compiled loops on the CPU and on GPUs: each function takes η, s² and the
# family's A'' and A''' at η, and returns r and its derivatives with respect to η and s². ``rows`` has the
# same formulas for arrays; tests compare the two. Other penalties have no compiled form.
POINTWISE_PENALTIES = {
    Quadratic: quadratic,
    GaussianLogistic: gaussian_logistic,
    GaussianPoisson: gaussian_poisson,
}

__all__ = ["EXPECTATIONS", "Expectation", "MonteCarlo", "Penalty", "RowPenalty"]
