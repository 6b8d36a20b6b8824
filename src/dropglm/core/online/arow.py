"""AROW (Crammer, Kulesza and Dredze), with a diagonal covariance Σ = diag(1 / a_j).

    β_{t+1} = argmin_β ½ (β - β_t)ᵀ Σ⁻¹ (β - β_t) + (w / 2r) max(0, 1 - ỹ η)²,   ỹ = 2y - 1
    β_{t+1} = β_t + Σ x ỹ w (1 - ỹ η_t) / (r + w xᵀΣx),   1/Σ_jj ← 1/Σ_jj + w x_j² / r,   if ỹ η_t < 1

The metric depends on how often a feature occurred, not on how confident the model was.
"""

from typing import Any, NamedTuple

from dropglm.core.online.rule import Rule


class _Settings(NamedTuple):
    rate: float = 1.0
    r: float = 1.0
    initial: float = 1.0


class Arow(Rule, _Settings):
    """Adaptive regularisation of weights, on the squared hinge loss.

    Parameters
    ----------
    rate : float, default=1.0
        Step size; with 1, the step is the exact minimum of the problem above.
    r : float, default=1.0
        The larger r, the less a single row changes the model.
    initial : float, default=1.0
        1/Σ_jj before the first row.

    See Also
    --------
    Rule : The interface.
    dropglm.OnlineLogisticRegression : Learns by a rule.

    Examples
    --------
    >>> from dropglm import OnlineLogisticRegression
    >>> from dropglm.core.online import Arow
    >>> model = OnlineLogisticRegression(rule=Arow(r=0.5))
    >>> model.fit([[0.0], [1.0]], ["a", "b"]).predict([[1.0]])
    array(['b'], dtype='<U1')
    """

    __slots__ = ()

    def slope(self, eta: float, y: float, weight: float, variance: float) -> Any:
        """Return the step along x in the metric, -ỹ w (1 - ỹ η) / (r + w xᵀΣx), or 0 beyond the margin."""
        sign = 2.0 * y - 1.0
        loss = 1.0 - sign * eta
        return -sign * weight * loss / (self.r + weight * variance) if loss > 0.0 else 0.0

    def increment(self, slope: float, weight: float, curvature: float) -> Any:
        """Return w / r, or 0 beyond the margin."""
        return weight / self.r if slope != 0.0 else 0.0

    def initial_sum(self, c2: float) -> Any:
        """Return 1/Σ_jj before the first row."""
        return self.initial

    def metric(self, s: float, t: Any) -> Any:
        """Return s_j = 1/Σ_jj."""
        return s

    def updates_metric_after_step(self) -> Any:
        """Return True: the step uses Σ as it was before the row."""
        return True
