"""Dropout descent: A_t = diag(H_t) with H_t = Σ_{i ≤ t} ∇²ℓ_i, the dropout penalty in place of the L2
penalty.

    β_{t+1,j} = β_{t,j} - ρ g_j / (ε c² + Σ_i h_ij),   h_ij = A''(η_i) x_ij²

Each h_ij is evaluated at the η_i that was predicted when row i arrived. Like G_t of AdaGrad, H_t / t
approaches the Fisher information on well-specified data. The sum of a feature starts at ε c², a fraction ε
of the squared size of a row, so that a first row, all of whose features are new, changes η by about 1 / ε
times its slope, whatever its length.

AdaGrad takes the square root of its sum, which makes its steps larger. ``power`` = ½ does the same here:
the metric is √(ε + Σ_i h_ij), and as in AdaGrad the gradient is divided by c.
"""

from typing import Any, NamedTuple

import numpy as np

from dropglm.core.online.rule import Rule


class _Settings(NamedTuple):
    rate: float = 0.75
    initial: float = 0.1
    power: float = 1.0


class DropoutDescent(Rule, _Settings):
    """Steps scaled by the curvature that each feature has accumulated.

    Parameters
    ----------
    rate : float, default=0.75
        Step size ρ.
    initial : float, default=0.1
        The ε of the formula: the curvature before the first row; it acts as an L2 penalty around the
        starting point.
    power : {1, 0.5}, default=1
        Exponent of the sum; ½ is for comparison with AdaGrad.

    See Also
    --------
    Rule : The interface.
    dropglm.OnlineLogisticRegression : Learns by a rule.

    Examples
    --------
    >>> from dropglm import OnlineLogisticRegression
    >>> from dropglm.core.online import DropoutDescent
    >>> model = OnlineLogisticRegression(rule=DropoutDescent(rate=0.5))
    >>> model.fit([[0.0], [1.0]], ["a", "b"]).predict([[1.0]])
    array(['b'], dtype='<U1')
    """

    __slots__ = ()

    def increment(self, slope: float, weight: float, curvature: float) -> Any:
        """Return w p (1 - p), so that s_j sums the curvatures."""
        return curvature

    def initial_sum(self, c2: float) -> Any:
        """Return ε c², or ε for the square root."""
        return self.initial * c2 if self.power == 1.0 else self.initial

    def metric(self, s: float, t: Any) -> Any:
        """Return s_j, or its square root."""
        return s if self.power == 1.0 else np.sqrt(s)

    def gradient_divisor(self, c: float) -> Any:
        """Return 1: a curvature has the right scale; c for the square root."""
        return 1.0 if self.power == 1.0 else c
