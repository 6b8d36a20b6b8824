"""Stochastic gradient descent: a_j = √t for every feature.

β_{t+1} = β_t - (ρ / c √t) g_t
"""

from typing import Any, NamedTuple

import numpy as np

from dropglm.core.online.rule import Rule


class _Settings(NamedTuple):
    rate: float = 4.0


class Sgd(Rule, _Settings):
    """The same step size for frequent and for rare features.

    Parameters
    ----------
    rate : float, default=4.0
        Step size ρ.

    See Also
    --------
    Rule : The interface.
    dropglm.OnlineLogisticRegression : Learns by a rule.

    Examples
    --------
    >>> from dropglm import OnlineLogisticRegression
    >>> from dropglm.core.online import Sgd
    >>> model = OnlineLogisticRegression(rule=Sgd(rate=2.0))
    >>> model.fit([[0.0], [1.0]], ["a", "b"]).predict([[1.0]])
    array(['b'], dtype='<U1')
    """

    __slots__ = ()

    def increment(self, slope: float, weight: float, curvature: float) -> Any:
        """Return 0: there is nothing to sum."""
        return 0.0

    def initial_sum(self, c2: float) -> Any:
        """Return 1, which is not used."""
        return 1.0

    def metric(self, s: float, t: Any) -> Any:
        """Return √t."""
        return np.sqrt(t)

    def gradient_divisor(self, c: float) -> Any:
        """Return c: the metric is a square root."""
        return c

    def same_metric_for_all(self) -> Any:
        """Return True."""
        return True
