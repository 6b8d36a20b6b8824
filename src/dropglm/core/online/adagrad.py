"""AdaGrad (Duchi, Hazan and Singer): A_t = diag(G_t)^½ with G_t = Σ_{i ≤ t} g_i g_iᵀ.

β_{t+1,j} = β_{t,j} - (ρ / c) g_j / √(ε + Σ_i g_ij²)
"""

from typing import Any, NamedTuple

import numpy as np

from dropglm.core.online.rule import Rule


class _Settings(NamedTuple):
    rate: float = 1.0
    initial: float = 1e-2


class AdaGrad(Rule, _Settings):
    """Larger steps for features whose gradients have been small so far, rare features above all.

    Parameters
    ----------
    rate : float, default=1.0
        Step size ρ.
    initial : float, default=0.01
        The ε of the formula: the value of the sum before the first row.

    See Also
    --------
    Rule : The interface.
    dropglm.OnlineLogisticRegression : Learns by a rule.

    Examples
    --------
    >>> from dropglm import OnlineLogisticRegression
    >>> from dropglm.core.online import AdaGrad
    >>> model = OnlineLogisticRegression(rule=AdaGrad(rate=0.5))
    >>> model.fit([[0.0], [1.0]], ["a", "b"]).predict([[1.0]])
    array(['b'], dtype='<U1')
    """

    __slots__ = ()

    def increment(self, slope: float, weight: float, curvature: float) -> Any:
        """Return r², so that s_j sums the squared gradients."""
        return slope * slope

    def initial_sum(self, c2: float) -> Any:
        """Return ε."""
        return self.initial

    def metric(self, s: float, t: Any) -> Any:
        """Return √s_j."""
        return np.sqrt(s)

    def gradient_divisor(self, c: float) -> Any:
        """Return c: the metric is a square root."""
        return c
